"""SM2 (GB/T 32918): keys, signatures, encryption, key exchange."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from manylane import _manylane
from manylane._manylane import (
    Confirmation,
    Encryption,
    KeyExchange,
    PrivateKey,
    PublicKey,
    generate_private_key,
    private_key_from_bytes,
)

DEFAULT_ID = b"1234567812345678"
"""The user ID that signatures are made with unless another is given."""


def load_pem_private_key(data: Any, password: Any = None) -> PrivateKey:
    """The private key in PEM: PKCS #8, encrypted or not, or SEC 1."""
    return _manylane.load_private_key(data, password, "pem")


def load_der_private_key(data: Any, password: Any = None) -> PrivateKey:
    """The private key in DER: PKCS #8, encrypted or not, or SEC 1."""
    return _manylane.load_private_key(data, password, "der")


def load_pem_public_key(data: Any) -> PublicKey:
    """The public key in PEM: SubjectPublicKeyInfo, or a certificate's."""
    return _manylane.load_public_key(data, "pem")


def load_der_public_key(data: Any) -> PublicKey:
    """The public key in DER (SubjectPublicKeyInfo), or a point: 65, 64 or, compressed, 33 bytes."""
    return _manylane.load_public_key(data, "der")


def load_certificate(data: Any) -> PublicKey:
    """The public key of a certificate in PEM or DER. Nothing of the certificate is verified."""
    return _manylane.load_public_key(data, "certificate")


def load_private_key(path: str | os.PathLike[str], password: Any = None) -> PrivateKey:
    """The private key in a file, in whatever form: PEM, DER, hexadecimal digits."""
    # No descriptor, which would be closed.
    with open(os.fspath(path), "rb") as file:
        return _manylane.load_private_key(file.read(), password)


def sign_many(
    keys: PrivateKey | Sequence[PrivateKey],
    messages: Sequence[Any],
    *,
    user_id: Any = None,
    format: str = "der",
    threads: int | None = None,
) -> list[bytes]:
    """Signatures of many messages, by one key or one for each, on all cores."""
    return _manylane.sign_many(keys, messages, user_id, format, threads)


def verify_many(
    keys: PublicKey | Sequence[PublicKey],
    messages: Sequence[Any],
    signatures: Sequence[Any],
    *,
    user_id: Any = None,
    format: str = "der",
    threads: int | None = None,
) -> list[bool]:
    """Whether each signature holds, under one key or one for each, on all cores."""
    return _manylane.verify_many(keys, messages, signatures, user_id, format, threads)


__all__ = [
    "DEFAULT_ID",
    "Confirmation",
    "Encryption",
    "KeyExchange",
    "PrivateKey",
    "PublicKey",
    "generate_private_key",
    "load_certificate",
    "load_der_private_key",
    "load_der_public_key",
    "load_pem_private_key",
    "load_pem_public_key",
    "load_private_key",
    "private_key_from_bytes",
    "sign_many",
    "verify_many",
]
