"""Bulk cryptography: SM3, SHA-3, SM2, SM4 and AES in many lanes, on CPUs and GPUs.

Hash functions have the interface of `hashlib`; `hash_many` and `hmac_many` take many messages at once, in lists, NumPy and
Arrow arrays and arrays on GPUs. Ciphers (`manylane.aead`, `manylane.ciphers`) have that of pyca/cryptography; SM2 is in
`manylane.sm2`.
"""

from manylane import _manylane, aead, ciphers, sm2
from manylane._bulk import file_digest, hash_file, hash_many, hmac_many
from manylane._device import Device, devices, explain, use_device
from manylane._manylane import (
    AlreadyFinalized,
    AlreadyUpdated,
    DecryptionError,
    DeviceArray,
    DeviceError,
    Error,
    Hash,
    InvalidSignature,
    InvalidTag,
    NotYetFinalized,
    free_memory,
    hmac,
    new,
    sha3_224,
    sha3_256,
    sha3_384,
    sha3_512,
    shake_128,
    shake_256,
    sm3,
)

__version__ = _manylane.__version__

algorithms_guaranteed: frozenset[str] = frozenset(_manylane.names)
"""Names that `new` takes, on every platform."""

algorithms_available: frozenset[str] = algorithms_guaranteed
"""Names that `new` takes here: the same, as nothing depends on the platform."""

__all__ = [
    "AlreadyFinalized",
    "AlreadyUpdated",
    "DecryptionError",
    "Device",
    "DeviceArray",
    "DeviceError",
    "Error",
    "Hash",
    "InvalidSignature",
    "InvalidTag",
    "NotYetFinalized",
    "__version__",
    "aead",
    "algorithms_available",
    "algorithms_guaranteed",
    "ciphers",
    "devices",
    "explain",
    "file_digest",
    "free_memory",
    "hash_file",
    "hash_many",
    "hmac",
    "hmac_many",
    "new",
    "sha3_224",
    "sha3_256",
    "sha3_384",
    "sha3_512",
    "shake_128",
    "shake_256",
    "sm2",
    "sm3",
    "use_device",
]
