"""Padding to whole blocks, with the interface of `cryptography.hazmat.primitives.padding`.

Whoever lets others see whether a padding was right, of a message that nothing else authenticates, lets them decrypt it.
"""

from __future__ import annotations

import hmac
from typing import Any

from manylane._manylane import AlreadyFinalized


class PKCS7:
    """PKCS #7: n bytes of the value n, at least one."""

    def __init__(self, block_size: int) -> None:
        """Takes the size of a block in bits."""
        if not 0 < block_size <= 2040 or block_size % 8:
            raise ValueError("block_size must be a multiple of 8 in 8..2040")
        self.block_size = block_size

    def padder(self) -> _Padder:
        """A context that pads one message."""
        return _Padder(self.block_size // 8)

    def unpadder(self) -> _Unpadder:
        """A context that takes the padding off one message."""
        return _Unpadder(self.block_size // 8)


class _Context:
    def __init__(self, size: int) -> None:
        self._size = size
        self._rest: bytes | None = b""

    def _take(self) -> bytes:
        if self._rest is None:
            raise AlreadyFinalized("Context was already finalized.")
        return self._rest


class _Padder(_Context):
    def update(self, data: Any) -> bytes:
        """The blocks that are whole."""
        joined = self._take() + bytes(memoryview(data))
        whole = len(joined) - len(joined) % self._size
        self._rest = joined[whole:]
        return joined[:whole]

    def finalize(self) -> bytes:
        """The last block."""
        rest, self._rest = self._take(), None
        count = self._size - len(rest)
        return rest + bytes([count]) * count


class _Unpadder(_Context):
    def update(self, data: Any) -> bytes:
        """The blocks that are whole, less the last one, which may have the padding."""
        joined = self._take() + bytes(memoryview(data))
        whole = max(0, (len(joined) - 1) // self._size * self._size)
        self._rest = joined[whole:]
        return joined[:whole]

    def finalize(self) -> bytes:
        """What is left of the last block; raises ValueError unless its padding is right."""
        rest, self._rest = self._take(), None
        count = rest[-1] if len(rest) == self._size else 0
        padding = bytes([count]) * count
        if not 0 < count <= self._size or not hmac.compare_digest(rest[-count:], padding):
            raise ValueError("Invalid padding bytes.")
        return rest[:-count]


__all__ = ["PKCS7"]
