"""Block ciphers in modes of operation, with the interface of `cryptography.hazmat.primitives.ciphers`.

Take `manylane.aead` unless something else is asked for: of the modes here only GCM tells whether anything was altered.
"""

from __future__ import annotations

from typing import Any

from manylane._manylane import CipherContext
from manylane.ciphers import algorithms, modes, padding


class Cipher:
    """An algorithm with its key, in a mode with its IV.

    `encryptor()` and `decryptor()` give contexts with `update`, `update_into` and `finalize`; those of GCM have
    `authenticate_additional_data` too, the encryptor's `tag`, and the decryptor's `finalize_with_tag`. XTS takes a data
    unit as a whole, by one `update`.
    """

    def __init__(self, algorithm: algorithms.Algorithm, mode: modes.Mode) -> None:
        """Checks nothing: the contexts do."""
        if not isinstance(algorithm, algorithms.Algorithm):
            raise TypeError("expected an algorithm of manylane.ciphers.algorithms")
        if not isinstance(mode, modes.Mode):
            raise TypeError("expected a mode of manylane.ciphers.modes")
        self.algorithm = algorithm
        self.mode = mode

    def encryptor(self) -> CipherContext:
        """A context that encrypts one message."""
        if isinstance(self.mode, modes.GCM) and self.mode.tag is not None:
            raise ValueError("an encryptor makes the tag, and takes none")
        return self._context(encrypt=True)

    def decryptor(self) -> CipherContext:
        """A context that decrypts one message."""
        return self._context(encrypt=False)

    def _context(self, *, encrypt: bool) -> CipherContext:
        mode = self.mode
        of_gcm: dict[str, Any] = {}
        if isinstance(mode, modes.GCM):
            of_gcm = {"tag": mode.tag, "tag_length": mode.tag_length, "min_tag_length": mode.min_tag_length}
        gb = isinstance(mode, modes.XTS) and mode.gb
        return CipherContext(
            self.algorithm.name,
            mode.name,
            self.algorithm.key,
            mode.iv,
            encrypt=encrypt,
            gb=gb,
            **of_gcm,
        )


__all__ = ["Cipher", "CipherContext", "algorithms", "modes", "padding"]
