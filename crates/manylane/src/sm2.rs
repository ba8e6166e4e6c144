//! SM2 (GB/T 32918-2016, the curve of GB/T 32918.5-2017): signatures, encryption, key exchange.
//!
//! | want | call |
//! |---|---|
//! | a new key, or one from its number | [`SecretKey::generate`], [`SecretKey::from_bytes`] |
//! | a public key from its point | [`PublicKey::from_sec1_bytes`] |
//! | sign, verify | [`SecretKey::sign`], [`PublicKey::verify`] |
//! | many messages with one key, streams | [`Signer`], [`Verifier`] |
//! | agree on a key | [`Exchange`]; without proof of identity, [`SecretKey::diffie_hellman`] |
//! | read a key in whatever form | [`SecretKey::decode`], [`PublicKey::decode`] |
//! | write a key: PEM, DER, hexadecimal digits | [`SecretKey::to_pkcs8_pem`], [`PublicKey::to_pem`], … |
//! | a key under a password | [`SecretKey::to_encrypted_pkcs8_pem`], [`KeyEncryption`] |
//! | encrypt, decrypt | [`PublicKey::encrypt`], [`SecretKey::decrypt`] |
//! | the same in place, in parts | [`PublicKey::encrypt_in_place`], [`Encryptor`], [`Decryptor`] |
//! | the same on two threads | [`Encryptor::into_halves`], [`KeyStream`], [`MessageHash`] |
//! | many messages side by side | [`encrypt_many`], [`decrypt_many`], [`sign_many`], [`verify_many`], [`generate_many`], [`diffie_hellman_many`] |
//! | forms of signatures and ciphertexts | [`Signature::from_der`], [`Ciphertext`], [`CiphertextForm`] |
//!
//! ```
//! use manylane::sm2::{DEFAULT_ID, SecretKey};
//!
//! let key = SecretKey::generate()?;
//! let signature = key.sign(DEFAULT_ID, b"message")?;
//! key.public_key().verify(DEFAULT_ID, b"message", &signature)?;
//! # Ok::<(), manylane::Error>(())
//! ```
//!
//! Operations on secret keys and nonces take constant time. Those on public data do not, and need
//! not: verification, and reading of public keys.

mod base;
#[doc(hidden)]
pub mod comparators;
mod encoding;
mod encrypt;
mod exchange;
mod field;
mod id;
#[cfg(target_arch = "x86_64")]
mod ifma;
mod invert;
mod key;
mod lanes;
mod limbs;
mod many;
mod mul;
mod nonce;
mod point;
mod scalar;
mod sign;

use crate::cpu::Machine;

pub use self::{
    encoding::{
        Ciphertext, CiphertextForm, Head, KeyCipher, KeyEncryption, MAX_HEAD_LEN, MAX_ITERATIONS,
        Prf, ReadHead,
    },
    encrypt::{Decryptor, Encryptor, KeyStream, MAX_MESSAGE_LEN, MessageHash, Sealed},
    exchange::{Confirmation, Exchange},
    id::{DEFAULT_ID, MAX_ID_LEN},
    key::{PublicKey, SecretKey},
    many::{
        decrypt_many, diffie_hellman_many, encrypt_many, generate_many, sign_digest_many,
        sign_many, verify_digest_many, verify_many,
    },
    sign::{Signature, Signer, Verifier},
};

/// The machine whose arithmetic of numbers and points is used here. On BMI2 and AVX-512 it is the same
/// but for the reading of tables, and on IFMA but for multiples of G too, in lanes.
pub fn machine() -> Machine {
    field::Cell::best().machine()
}
