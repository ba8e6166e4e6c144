//! `sm2.json` and the fixtures of `interop/`; `vectors/README.md` has the schema.

use serde::Deserialize;

use super::{hex, hex_array, painted};

/// The contents of `sm2.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sm2 {
    /// Always `SM2`.
    pub algorithm: String,
    /// The curve of GB/T 32918.5, clause 2.
    pub curve: Curve,
    /// GB/T 32918.5, Annex A.
    pub sign_examples: Vec<SignExample>,
    /// GB/T 32918.5, Annex C.
    pub encrypt_examples: Vec<EncryptExample>,
    /// Key pairs.
    pub keys: Vec<KeyPair>,
    /// Bytes that are no public key.
    pub bad_points: Vec<BadPoint>,
    /// Signatures of painted messages.
    pub signatures: Vec<Signed>,
    /// Signatures of digests.
    pub digest_signatures: Vec<DigestSigned>,
    /// Nonces that signing must refuse.
    pub sign_retries: Vec<SignRetry>,
    /// Signatures that verifying must refuse.
    pub bad_signatures: Vec<BadSignature>,
    /// Bytes that are no signature in DER.
    pub bad_signature_der: Vec<BadDer>,
    /// The key derivation function.
    pub kdf: Vec<Kdf>,
    /// Ciphertexts of painted messages.
    pub ciphertexts: Vec<Ciphertext>,
    /// Nonces that encrypting must refuse, for t is all zero.
    pub zero_kdf: Vec<ZeroKdf>,
    /// Ciphertexts that decrypting must refuse.
    pub bad_ciphertexts: Vec<BadCiphertext>,
    /// Bytes that are no ciphertext in DER.
    pub bad_ciphertext_der: Vec<BadDer>,
    /// Key exchanges with confirmation; the first is GB/T 32918.5, Annex B.
    pub exchanges: Vec<Exchange>,
    /// Key exchanges that must fail.
    pub bad_exchanges: Vec<BadExchange>,
    /// Diffie-Hellman on the curve.
    pub ecdh: Vec<Ecdh>,
}

/// The curve, as big-endian numbers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the standard's letters")]
pub struct Curve {
    #[serde(deserialize_with = "hex_array")]
    pub p: [u8; 32],
    #[serde(deserialize_with = "hex_array")]
    pub a: [u8; 32],
    #[serde(deserialize_with = "hex_array")]
    pub b: [u8; 32],
    #[serde(deserialize_with = "hex_array")]
    pub n: [u8; 32],
    #[serde(deserialize_with = "hex_array")]
    pub gx: [u8; 32],
    #[serde(deserialize_with = "hex_array")]
    pub gy: [u8; 32],
}

/// A signature that the standard prints.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignExample {
    /// Standard and clause.
    pub source: String,
    /// Private key.
    #[serde(deserialize_with = "hex_array")]
    pub d: [u8; 32],
    /// Public key, uncompressed.
    #[serde(deserialize_with = "hex_array")]
    pub point: [u8; 65],
    /// User ID.
    #[serde(deserialize_with = "hex")]
    pub id: Vec<u8>,
    /// Message.
    #[serde(deserialize_with = "hex")]
    pub message: Vec<u8>,
    /// Z_A.
    #[serde(deserialize_with = "hex_array")]
    pub z: [u8; 32],
    /// Digest of Z_A and the message.
    #[serde(deserialize_with = "hex_array")]
    pub e: [u8; 32],
    /// Nonce.
    #[serde(deserialize_with = "hex_array")]
    pub k: [u8; 32],
    /// First number of the signature.
    #[serde(deserialize_with = "hex_array")]
    pub r: [u8; 32],
    /// Second number of the signature.
    #[serde(deserialize_with = "hex_array")]
    pub s: [u8; 32],
}

/// A ciphertext that the standard prints.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncryptExample {
    /// Standard and clause.
    pub source: String,
    /// Private key.
    #[serde(deserialize_with = "hex_array")]
    pub d: [u8; 32],
    /// Public key, uncompressed.
    #[serde(deserialize_with = "hex_array")]
    pub point: [u8; 65],
    /// Message.
    #[serde(deserialize_with = "hex")]
    pub message: Vec<u8>,
    /// Nonce.
    #[serde(deserialize_with = "hex_array")]
    pub k: [u8; 32],
    /// C1, uncompressed.
    #[serde(deserialize_with = "hex_array")]
    pub c1: [u8; 65],
    /// C3.
    #[serde(deserialize_with = "hex_array")]
    pub c3: [u8; 32],
    /// C2.
    #[serde(deserialize_with = "hex")]
    pub c2: Vec<u8>,
}

/// A private key, its public key in both forms and its Z_A under the default ID.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyPair {
    /// What is special about it.
    pub what: String,
    /// Private key.
    #[serde(deserialize_with = "hex_array")]
    pub d: [u8; 32],
    /// Public key, uncompressed.
    #[serde(deserialize_with = "hex_array")]
    pub point: [u8; 65],
    /// Public key, compressed.
    #[serde(deserialize_with = "hex_array")]
    pub compressed: [u8; 33],
    /// Z_A.
    #[serde(deserialize_with = "hex_array")]
    pub z: [u8; 32],
}

/// Bytes that are no public key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BadPoint {
    /// What is wrong.
    pub what: String,
    /// The bytes.
    #[serde(deserialize_with = "hex")]
    pub bytes: Vec<u8>,
}

/// A signature of [`painted`]`(length, 0)` under a user ID.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// What is special about it.
    pub what: String,
    /// Private key.
    #[serde(deserialize_with = "hex_array")]
    pub d: [u8; 32],
    /// User ID.
    #[serde(deserialize_with = "hex")]
    pub id: Vec<u8>,
    /// Length of the message in bytes.
    pub length: usize,
    /// Nonce.
    #[serde(deserialize_with = "hex_array")]
    pub k: [u8; 32],
    /// Z_A.
    #[serde(deserialize_with = "hex_array")]
    pub z: [u8; 32],
    /// Digest of Z_A and the message.
    #[serde(deserialize_with = "hex_array")]
    pub e: [u8; 32],
    /// First number of the signature.
    #[serde(deserialize_with = "hex_array")]
    pub r: [u8; 32],
    /// Second number of the signature.
    #[serde(deserialize_with = "hex_array")]
    pub s: [u8; 32],
    /// The signature in DER.
    #[serde(deserialize_with = "hex")]
    pub der: Vec<u8>,
}

impl Signed {
    /// The message.
    pub fn message(&self) -> Vec<u8> {
        painted(self.length, 0)
    }
}

/// A signature of a digest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DigestSigned {
    /// What is special about it.
    pub what: String,
    /// Private key.
    #[serde(deserialize_with = "hex_array")]
    pub d: [u8; 32],
    /// Digest.
    #[serde(deserialize_with = "hex_array")]
    pub e: [u8; 32],
    /// Nonce.
    #[serde(deserialize_with = "hex_array")]
    pub k: [u8; 32],
    /// First number of the signature.
    #[serde(deserialize_with = "hex_array")]
    pub r: [u8; 32],
    /// Second number of the signature.
    #[serde(deserialize_with = "hex_array")]
    pub s: [u8; 32],
    /// The signature in DER.
    #[serde(deserialize_with = "hex")]
    pub der: Vec<u8>,
}

/// A nonce that signing must refuse.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignRetry {
    /// Which of the standard's conditions holds.
    pub what: String,
    /// Private key.
    #[serde(deserialize_with = "hex_array")]
    pub d: [u8; 32],
    /// Digest.
    #[serde(deserialize_with = "hex_array")]
    pub e: [u8; 32],
    /// The nonce.
    #[serde(deserialize_with = "hex_array")]
    pub k: [u8; 32],
}

/// A signature of a digest that is none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BadSignature {
    /// What is wrong.
    pub what: String,
    /// Private key, of which the public key is to be derived.
    #[serde(deserialize_with = "hex_array")]
    pub d: [u8; 32],
    /// Digest.
    #[serde(deserialize_with = "hex_array")]
    pub e: [u8; 32],
    /// First number of the signature.
    #[serde(deserialize_with = "hex_array")]
    pub r: [u8; 32],
    /// Second number of the signature.
    #[serde(deserialize_with = "hex_array")]
    pub s: [u8; 32],
}

/// Bytes that a parser must refuse.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BadDer {
    /// What is wrong.
    pub what: String,
    /// The bytes.
    #[serde(deserialize_with = "hex")]
    pub der: Vec<u8>,
}

/// The key that the KDF makes of [`painted`]`(z_length, 5)`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kdf {
    /// Length of Z in bytes.
    pub z_length: usize,
    /// Length of the key in bytes.
    pub length: usize,
    /// The key.
    #[serde(deserialize_with = "hex")]
    pub key: Vec<u8>,
}

impl Kdf {
    /// Z.
    pub fn z(&self) -> Vec<u8> {
        painted(self.z_length, 5)
    }
}

/// A ciphertext of [`painted`]`(length, 0)`.
#[derive(Debug, Deserialize)]
pub struct Ciphertext {
    /// What is special about it.
    pub what: String,
    /// Private key.
    #[serde(deserialize_with = "hex_array")]
    pub d: [u8; 32],
    /// Length of the message in bytes.
    pub length: usize,
    /// Nonce.
    #[serde(deserialize_with = "hex_array")]
    pub k: [u8; 32],
    /// C1, uncompressed.
    #[serde(deserialize_with = "hex_array")]
    pub c1: [u8; 65],
    /// C3.
    #[serde(deserialize_with = "hex_array")]
    pub c3: [u8; 32],
    /// C2 and the whole in DER.
    #[serde(flatten)]
    pub c2: C2,
}

impl Ciphertext {
    /// The message.
    pub fn message(&self) -> Vec<u8> {
        painted(self.length, 0)
    }
}

/// C2 and the ciphertext in DER, or their SM3 digests if they are long.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum C2 {
    /// As they are.
    Whole {
        /// C2.
        #[serde(deserialize_with = "hex")]
        c2: Vec<u8>,
        /// SM2Cipher in DER.
        #[serde(deserialize_with = "hex")]
        der: Vec<u8>,
    },
    /// Their digests.
    Digests {
        /// SM3 of C2.
        #[serde(deserialize_with = "hex_array")]
        c2_sm3: [u8; 32],
        /// SM3 of the SM2Cipher in DER.
        #[serde(deserialize_with = "hex_array")]
        der_sm3: [u8; 32],
    },
}

/// A nonce for which t is all zero, and the next that will do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZeroKdf {
    /// Private key.
    #[serde(deserialize_with = "hex_array")]
    pub d: [u8; 32],
    /// Message of one byte.
    #[serde(deserialize_with = "hex")]
    pub message: Vec<u8>,
    /// Nonce to be refused.
    #[serde(deserialize_with = "hex_array")]
    pub k_refused: [u8; 32],
    /// Nonce for what follows.
    #[serde(deserialize_with = "hex_array")]
    pub k: [u8; 32],
    /// C1, uncompressed.
    #[serde(deserialize_with = "hex_array")]
    pub c1: [u8; 65],
    /// C3.
    #[serde(deserialize_with = "hex_array")]
    pub c3: [u8; 32],
    /// C2.
    #[serde(deserialize_with = "hex")]
    pub c2: Vec<u8>,
    /// C1 under the refused nonce: with `c3_refused` and the message as C2, to be refused.
    #[serde(deserialize_with = "hex_array")]
    pub c1_refused: [u8; 65],
    /// C3 under the refused nonce.
    #[serde(deserialize_with = "hex_array")]
    pub c3_refused: [u8; 32],
}

/// A ciphertext that decrypts to nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BadCiphertext {
    /// What is wrong.
    pub what: String,
    /// Private key.
    #[serde(deserialize_with = "hex_array")]
    pub d: [u8; 32],
    /// C1, or what stands there.
    #[serde(deserialize_with = "hex_array")]
    pub c1: [u8; 65],
    /// C3.
    #[serde(deserialize_with = "hex_array")]
    pub c3: [u8; 32],
    /// C2.
    #[serde(deserialize_with = "hex")]
    pub c2: Vec<u8>,
}

/// A key exchange with confirmation: A begins.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// What is special about it.
    pub what: String,
    /// A's private key.
    #[serde(deserialize_with = "hex_array")]
    pub d_a: [u8; 32],
    /// A's ephemeral private key.
    #[serde(deserialize_with = "hex_array")]
    pub r_a: [u8; 32],
    /// A's ID.
    #[serde(deserialize_with = "hex")]
    pub id_a: Vec<u8>,
    /// B's private key.
    #[serde(deserialize_with = "hex_array")]
    pub d_b: [u8; 32],
    /// B's ephemeral private key.
    #[serde(deserialize_with = "hex_array")]
    pub r_b: [u8; 32],
    /// B's ID.
    #[serde(deserialize_with = "hex")]
    pub id_b: Vec<u8>,
    /// The key, as long as it was asked for.
    #[serde(deserialize_with = "hex")]
    pub key: Vec<u8>,
    /// S_1 = S_B.
    #[serde(deserialize_with = "hex_array")]
    pub s1: [u8; 32],
    /// S_2 = S_A.
    #[serde(deserialize_with = "hex_array")]
    pub s2: [u8; 32],
}

/// A key exchange, both with the default ID, at which B must fail.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BadExchange {
    /// What is wrong.
    pub what: String,
    /// A's private key.
    #[serde(deserialize_with = "hex_array")]
    pub d_a: [u8; 32],
    /// A's ephemeral private key.
    #[serde(deserialize_with = "hex_array")]
    pub r_a: [u8; 32],
    /// B's private key.
    #[serde(deserialize_with = "hex_array")]
    pub d_b: [u8; 32],
    /// B's ephemeral private key.
    #[serde(deserialize_with = "hex_array")]
    pub r_b: [u8; 32],
}

/// Two private keys and what they share.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ecdh {
    /// One private key.
    #[serde(deserialize_with = "hex_array")]
    pub d: [u8; 32],
    /// The other.
    #[serde(deserialize_with = "hex_array")]
    pub e: [u8; 32],
    /// x of `[d][e]G`.
    #[serde(deserialize_with = "hex_array")]
    pub x: [u8; 32],
    /// y of it.
    #[serde(deserialize_with = "hex_array")]
    pub y: [u8; 32],
}

/// The password of every encrypted key in `vectors/interop`.
pub const INTEROP_PASSWORD: &str = "Tr0ub4dor&3";

/// The second user ID of the signatures in `vectors/interop`, whose names have `.id`.
pub const INTEROP_ID: &[u8] = b"ALICE123@YAHOO.COM";

/// A file of `vectors/interop`.
///
/// # Panics
/// If it cannot be read.
pub fn interop(name: &str) -> Vec<u8> {
    let path = super::folder().join("interop").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}
