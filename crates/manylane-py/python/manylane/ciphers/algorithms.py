"""Block ciphers with their keys."""

from __future__ import annotations

from typing import Any, ClassVar


class Algorithm:
    """A cipher with a key."""

    name: ClassVar[str]
    key_lengths: ClassVar[tuple[int, ...]]
    block_size: ClassVar[int] = 128

    def __init__(self, key: Any) -> None:
        """Takes a key; XTS takes two, one behind the other."""
        length = memoryview(key).nbytes
        if length not in self.key_lengths and (length % 2 or length // 2 not in self.key_lengths):
            lengths = ", ".join(str(length) for length in self.key_lengths)
            raise ValueError(f"a key of {length} bytes; {type(self).__name__} takes {lengths}")
        self.key = key

    @property
    def key_size(self) -> int:
        """Bits of the key."""
        return 8 * memoryview(self.key).nbytes

    def __repr__(self) -> str:
        """Nothing of the key."""
        return f"<{type(self).__name__}>"


class SM4(Algorithm):
    """SM4 (GB/T 32907-2016)."""

    name = "sm4"
    key_lengths = (16,)


class AES(Algorithm):
    """AES (FIPS 197)."""

    name = "aes"
    key_lengths = (16, 24, 32)


__all__ = ["AES", "SM4", "Algorithm"]
