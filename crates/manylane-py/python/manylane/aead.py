"""Authenticated encryption, with the interface of `cryptography.hazmat.primitives.ciphers.aead`.

A nonce must never be used twice under one key. The tag is at the end of the ciphertext; `decrypt` raises
`manylane.InvalidTag` if anything was altered.
"""

from __future__ import annotations

import os
from typing import Any

from manylane._manylane import Aead


class SM4GCM(Aead):
    """SM4 in Galois/Counter Mode (RFC 8998)."""

    def __new__(cls, key: Any) -> SM4GCM:
        """Takes a key of 16 bytes."""
        return super().__new__(cls, "sm4", "gcm", key, 16)

    @classmethod
    def generate_key(cls) -> bytes:
        """A new key from the operating system's generator."""
        return os.urandom(16)


class SM4CCM(Aead):
    """SM4 in Counter with CBC-MAC mode (RFC 8998)."""

    def __new__(cls, key: Any, tag_length: int = 16) -> SM4CCM:
        """Takes a key of 16 bytes."""
        return super().__new__(cls, "sm4", "ccm", key, tag_length)

    @classmethod
    def generate_key(cls) -> bytes:
        """A new key from the operating system's generator."""
        return os.urandom(16)


class AESGCM(Aead):
    """AES in Galois/Counter Mode (NIST SP 800-38D)."""

    def __new__(cls, key: Any) -> AESGCM:
        """Takes a key of 16, 24 or 32 bytes."""
        return super().__new__(cls, "aes", "gcm", key, 16)

    @classmethod
    def generate_key(cls, bit_length: int) -> bytes:
        """A new key of 128, 192 or 256 bits from the operating system's generator."""
        return _aes_key(bit_length)


class AESCCM(Aead):
    """AES in Counter with CBC-MAC mode (NIST SP 800-38C)."""

    def __new__(cls, key: Any, tag_length: int = 16) -> AESCCM:
        """Takes a key of 16, 24 or 32 bytes."""
        return super().__new__(cls, "aes", "ccm", key, tag_length)

    @classmethod
    def generate_key(cls, bit_length: int) -> bytes:
        """A new key of 128, 192 or 256 bits from the operating system's generator."""
        return _aes_key(bit_length)


def _aes_key(bit_length: int) -> bytes:
    if bit_length not in (128, 192, 256):
        raise ValueError("bit_length must be 128, 192, or 256")
    return os.urandom(bit_length // 8)


__all__ = ["AESCCM", "AESGCM", "SM4CCM", "SM4GCM"]
