"""Modes of operation with their IVs."""

from __future__ import annotations

from typing import Any, ClassVar


class Mode:
    """A mode, with what a message starts from."""

    name: ClassVar[str]

    def __init__(self, iv: Any) -> None:
        """Takes the IV, or what the mode has instead of one."""
        self.iv = iv


class ECB(Mode):
    """Every block by itself: equal blocks show. For key wrapping and for tests."""

    name = "ecb"

    def __init__(self) -> None:
        """There is no IV."""
        super().__init__(b"")


class CBC(Mode):
    """A chain of blocks; messages of other lengths need `padding`."""

    name = "cbc"


class CFB(Mode):
    """Cipher feedback with segments of a block."""

    name = "cfb"


class CFB8(Mode):
    """Cipher feedback with segments of a byte."""

    name = "cfb8"


class OFB(Mode):
    """Output feedback."""

    name = "ofb"


class CTR(Mode):
    """A counter of 128 bits."""

    name = "ctr"


class GCM(Mode):
    """Galois/Counter Mode. A decryptor needs the tag, here or in `finalize_with_tag`."""

    name = "gcm"

    def __init__(self, iv: Any, tag: bytes | None = None, min_tag_length: int = 16, *, tag_length: int = 16) -> None:
        """Refuses tags that are shorter than `min_tag_length`; an encryptor makes one of `tag_length` bytes."""
        super().__init__(iv)
        if min_tag_length < 4:
            raise ValueError("min_tag_length must be >= 4")
        if tag is not None and len(tag) < min_tag_length:
            raise ValueError(f"Authentication tag must be {min_tag_length} bytes or longer.")
        self.tag = tag
        self.tag_length = tag_length
        self.min_tag_length = min_tag_length


class XTS(Mode):
    """XTS with a tweak of 16 bytes, as IEEE 1619 has it or, with `gb`, as GB/T 17964-2021 does."""

    name = "xts"

    def __init__(self, tweak: Any, *, gb: bool = False) -> None:
        """Takes the data unit's tweak."""
        super().__init__(tweak)
        self.gb = gb


__all__ = ["CBC", "CFB", "CFB8", "CTR", "ECB", "GCM", "Mode", "OFB", "XTS"]
