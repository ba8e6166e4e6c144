//! Reader of `vectors/`, for tests.
//!
//! One function a file, which returns it typed: [`sm3`], [`hmac_sm3_wycheproof`]. The schema and
//! the origin of each file are in `vectors/README.md`. Everything here panics, with the file's
//! name, where a file is missing or not as that schema says: a test has no better answer.
//!
//! ```
//! let vectors = manylane_vectors::sm3();
//! assert_eq!(vectors.examples[0].message, b"abc");
//! assert_eq!(vectors.painted[0].length, 0);
//! assert_eq!(manylane_vectors::painted(3, 250), [250, 0, 1]);
//! ```

pub mod block;
pub mod sha3;
pub mod sm2;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error};

/// `len` painted bytes: byte `i` is `(start + i) mod 251`.
pub fn painted(len: usize, start: usize) -> Vec<u8> {
    (start..start + len).map(|i| (i % 251) as u8).collect()
}

/// `vectors/sm3.json`.
///
/// # Panics
/// If the file is missing or malformed.
pub fn sm3() -> Sm3 {
    read("sm3.json")
}

/// `vectors/sm2.json`.
///
/// # Panics
/// If the file is missing or malformed.
pub fn sm2() -> sm2::Sm2 {
    read("sm2.json")
}

/// `vectors/sha3.json`.
///
/// # Panics
/// If the file is missing or malformed.
pub fn sha3() -> sha3::Sha3 {
    read("sha3.json")
}

/// `vectors/sha3_cavp.json`.
///
/// # Panics
/// If the file is missing or malformed.
pub fn sha3_cavp() -> sha3::Cavp {
    read("sha3_cavp.json")
}

/// `vectors/frame.json`, all its frames.
///
/// # Panics
/// If the file is missing or malformed, or of another version of the format.
pub fn frames() -> Vec<Frame> {
    let file: Frames = read("frame.json");
    assert_eq!(file.format, "mlframe 1");
    file.frames
}

/// `vectors/hmac_sm3_wycheproof.json`, all its groups.
///
/// # Panics
/// If the file is missing or malformed, or has not as many tests as it says.
pub fn hmac_sm3_wycheproof() -> Vec<MacGroup> {
    let file: MacFile = read("hmac_sm3_wycheproof.json");
    assert_eq!(file.algorithm, "HMACSM3");
    let tests: usize = file.test_groups.iter().map(|group| group.tests.len()).sum();
    assert_eq!(tests, file.number_of_tests, "tests in the Wycheproof file");
    file.test_groups
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Frames {
    format: String,
    frames: Vec<Frame>,
}

/// A frame of the message [`painted`]`(length, 0)` under the key `painted(…, 100)` and the AAD
/// `painted(aad_length, 50)`, with the salt `painted(32, 200)`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// The suite's name.
    pub suite: String,
    /// Two to the power of this is the length of a chunk in bytes.
    pub chunk_log2: u8,
    /// Length of the AAD in bytes.
    pub aad_length: usize,
    /// Length of the message in bytes.
    pub length: usize,
    /// The first bytes of the frame.
    #[serde(deserialize_with = "hex_array")]
    pub header: [u8; 76],
    /// SM3 of the whole frame.
    #[serde(deserialize_with = "hex_array")]
    pub frame_sm3: [u8; 32],
}

/// The contents of `sm3.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sm3 {
    /// Always `SM3`.
    pub algorithm: String,
    /// The examples of GB/T 32905-2016, Annex A.
    pub examples: Vec<Sm3Example>,
    /// Digests of painted messages.
    pub painted: Vec<Sm3Painted>,
    /// HMAC-SM3 of painted messages under painted keys.
    pub hmac: Vec<Sm3Hmac>,
    /// HKDF with HMAC-SM3.
    pub hkdf: Vec<Sm3Hkdf>,
    /// PBKDF2 with HMAC-SM3.
    pub pbkdf2: Vec<Sm3Pbkdf2>,
}

/// An example of the standard, with what it computes on the way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sm3Example {
    /// Standard and clause.
    pub source: String,
    /// The message.
    #[serde(deserialize_with = "hex")]
    pub message: Vec<u8>,
    /// Its digest.
    #[serde(deserialize_with = "hex_array")]
    pub digest: [u8; 32],
    /// W_0 … W_67 of the first block.
    #[serde(deserialize_with = "hex_words")]
    pub w: [u32; 68],
    /// W'_0 … W'_63 of the first block.
    #[serde(deserialize_with = "hex_words")]
    pub w_prime: [u32; 64],
    /// V(1) … V(n), the chaining value after each block.
    pub v: Vec<Words8>,
}

/// Eight words, such as a chaining value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Words8(#[serde(deserialize_with = "hex_words")] pub [u32; 8]);

/// The digest of [`painted`]`(length, 0)`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sm3Painted {
    /// Length of the message in bytes.
    pub length: usize,
    /// Its digest.
    #[serde(deserialize_with = "hex_array")]
    pub digest: [u8; 32],
}

/// HMAC-SM3 of [`painted`]`(length, 0)` under the key `painted(key_length, 100)`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sm3Hmac {
    /// Length of the key in bytes.
    pub key_length: usize,
    /// Length of the message in bytes.
    pub length: usize,
    /// The tag.
    #[serde(deserialize_with = "hex_array")]
    pub tag: [u8; 32],
}

impl Sm3Hmac {
    /// The key.
    pub fn key(&self) -> Vec<u8> {
        painted(self.key_length, 100)
    }

    /// The message.
    pub fn message(&self) -> Vec<u8> {
        painted(self.length, 0)
    }
}

/// HKDF (RFC 5869) with HMAC-SM3.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sm3Hkdf {
    /// Input keying material.
    #[serde(deserialize_with = "hex")]
    pub ikm: Vec<u8>,
    /// Salt; empty if there is none.
    #[serde(deserialize_with = "hex")]
    pub salt: Vec<u8>,
    /// Context.
    #[serde(deserialize_with = "hex")]
    pub info: Vec<u8>,
    /// Output keying material, as long as it was asked for.
    #[serde(deserialize_with = "hex")]
    pub okm: Vec<u8>,
}

/// PBKDF2 (RFC 8018) with HMAC-SM3.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sm3Pbkdf2 {
    /// The password.
    #[serde(deserialize_with = "hex")]
    pub password: Vec<u8>,
    /// The salt.
    #[serde(deserialize_with = "hex")]
    pub salt: Vec<u8>,
    /// Iteration count.
    pub iterations: u32,
    /// The derived key, as long as it was asked for.
    #[serde(deserialize_with = "hex")]
    pub key: Vec<u8>,
}

/// Wycheproof's `mac_test_schema_v1`, as far as tests use it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MacFile {
    algorithm: String,
    number_of_tests: usize,
    test_groups: Vec<MacGroup>,
}

/// Wycheproof tests of one key and tag size.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MacGroup {
    /// Bits of every key.
    pub key_size: usize,
    /// Bits of every tag; a tag is cut to that size.
    pub tag_size: usize,
    /// The tests.
    pub tests: Vec<MacTest>,
}

/// A Wycheproof test of a message authentication code.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MacTest {
    /// Number of the test, unique in its file.
    pub tc_id: u32,
    /// What it tests.
    pub comment: String,
    /// The flaws that it hunts.
    pub flags: Vec<String>,
    /// The key.
    #[serde(deserialize_with = "hex")]
    pub key: Vec<u8>,
    /// The message.
    #[serde(deserialize_with = "hex")]
    pub msg: Vec<u8>,
    /// The tag.
    #[serde(deserialize_with = "hex")]
    pub tag: Vec<u8>,
    /// Whether the tag is the message's.
    pub result: Verdict,
}

/// What a Wycheproof test expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Every implementation must accept.
    Valid,
    /// Every implementation must reject.
    Invalid,
    /// Either is tolerable.
    Acceptable,
}

/// `vectors/`, wherever the crate that tests lies.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors")
}

/// Reads a file of JSON.
fn read<T: DeserializeOwned>(name: &str) -> T {
    let path = folder().join(name);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{} is not as its schema says: {error}", path.display()))
}

fn hex<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let digit = |c: u8| match c {
        b'0'..=b'9' => Ok(c - b'0'),
        b'a'..=b'f' => Ok(c - b'a' + 10),
        _ => Err(D::Error::custom(format!("{:?} in hexadecimal", char::from(c)))),
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return Err(D::Error::custom("odd number of hexadecimal digits"));
    }
    pairs.iter().map(|[high, low]| Ok(digit(*high)? << 4 | digit(*low)?)).collect()
}

fn hex_array<'de, D: Deserializer<'de>, const N: usize>(
    deserializer: D,
) -> Result<[u8; N], D::Error> {
    let bytes = hex(deserializer)?;
    let len = bytes.len();
    bytes.try_into().map_err(|_| D::Error::custom(format!("{len} bytes where {N} belong")))
}

fn hex_words<'de, D: Deserializer<'de>, const N: usize>(
    deserializer: D,
) -> Result<[u32; N], D::Error> {
    let bytes = hex(deserializer)?;
    if bytes.len() != 4 * N {
        return Err(D::Error::custom(format!("{} bytes where {N} words belong", bytes.len())));
    }
    let words = bytes.as_chunks().0;
    Ok(std::array::from_fn(|i| u32::from_be_bytes(words[i])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_is_strict() {
        let words = |text: &str| serde_json::from_str::<Words8>(&format!("{text:?}"));
        let eight = "0000000a".repeat(8);
        assert_eq!(words(&eight).unwrap(), Words8([10; 8]));
        for bad in [&eight[1..], &eight[2..], &eight.to_uppercase(), &eight.replace('a', "g")] {
            assert!(words(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_list_of_every_file_has_entries() {
        let sm3 = sm3();
        assert_eq!(sm3.algorithm, "SM3");
        assert_eq!(sm3.examples.len(), 2);
        let counts = [sm3.painted.len(), sm3.hmac.len(), sm3.hkdf.len(), sm3.pbkdf2.len()];
        assert!(counts.iter().all(|&count| count >= 7), "{counts:?}");
        let sm2 = sm2();
        assert_eq!(sm2.algorithm, "SM2");
        let counts = [
            (sm2.sign_examples.len(), 1),
            (sm2.encrypt_examples.len(), 1),
            (sm2.keys.len(), 30),
            (sm2.bad_points.len(), 20),
            (sm2.signatures.len(), 25),
            (sm2.digest_signatures.len(), 15),
            (sm2.sign_retries.len(), 3),
            (sm2.bad_signatures.len(), 15),
            (sm2.bad_signature_der.len(), 30),
            (sm2.kdf.len(), 15),
            (sm2.ciphertexts.len(), 30),
            (sm2.zero_kdf.len(), 3),
            (sm2.bad_ciphertexts.len(), 15),
            (sm2.bad_ciphertext_der.len(), 30),
            (sm2.exchanges.len(), 7),
            (sm2.bad_exchanges.len(), 1),
            (sm2.ecdh.len(), 10),
        ];
        assert!(counts.iter().all(|(count, least)| count >= least), "{counts:?}");
        let groups = hmac_sm3_wycheproof();
        for verdict in [Verdict::Valid, Verdict::Invalid] {
            assert!(groups.iter().flat_map(|group| &group.tests).any(|t| t.result == verdict));
        }
    }
}
