//! `sha3.json` and `sha3_cavp.json`. `vectors/README.md` has the schema.

use serde::{Deserialize, Deserializer};

use super::{hex, hex_array, painted};

/// The contents of `sha3.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sha3 {
    /// Always `SHA-3`.
    pub algorithm: String,
    /// The permutation alone.
    pub permutations: Vec<Permutation>,
    /// Hash functions and XOFs of a message.
    pub hashes: Vec<Hash>,
    /// cSHAKE.
    pub cshake: Vec<CShake>,
    /// KMAC and KMACXOF.
    pub kmac: Vec<Kmac>,
    /// KT128 and KT256.
    pub kt: Vec<Kt>,
}

/// The contents of `sha3_cavp.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cavp {
    /// Always `SHA-3`.
    pub algorithm: String,
    /// Messages and their outputs.
    pub hashes: Vec<Hash>,
    /// Monte Carlo tests.
    pub monte: Vec<Monte>,
}

/// The name of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[expect(missing_docs, reason = "the functions' own names")]
pub enum Function {
    #[serde(rename = "SHA3-224")]
    Sha3_224,
    #[serde(rename = "SHA3-256")]
    Sha3_256,
    #[serde(rename = "SHA3-384")]
    Sha3_384,
    #[serde(rename = "SHA3-512")]
    Sha3_512,
    #[serde(rename = "Keccak-224")]
    Keccak224,
    #[serde(rename = "Keccak-256")]
    Keccak256,
    #[serde(rename = "Keccak-384")]
    Keccak384,
    #[serde(rename = "Keccak-512")]
    Keccak512,
    #[serde(rename = "SHAKE128")]
    Shake128,
    #[serde(rename = "SHAKE256")]
    Shake256,
    #[serde(rename = "TurboSHAKE128")]
    TurboShake128,
    #[serde(rename = "TurboSHAKE256")]
    TurboShake256,
    #[serde(rename = "cSHAKE128")]
    CShake128,
    #[serde(rename = "cSHAKE256")]
    CShake256,
    #[serde(rename = "KMAC128")]
    Kmac128,
    #[serde(rename = "KMAC256")]
    Kmac256,
    #[serde(rename = "KMACXOF128")]
    KmacXof128,
    #[serde(rename = "KMACXOF256")]
    KmacXof256,
    #[serde(rename = "KT128")]
    Kt128,
    #[serde(rename = "KT256")]
    Kt256,
}

/// Bytes of an entry, which take memory only once they are asked for: the longest are many megabytes.
#[derive(Clone, Debug)]
pub struct Bytes(Form);

#[derive(Clone, Debug)]
enum Form {
    Hex(Vec<u8>),
    Painted { len: usize, start: usize },
}

impl Bytes {
    /// The bytes.
    pub fn get(&self) -> Vec<u8> {
        match &self.0 {
            Form::Hex(bytes) => bytes.clone(),
            Form::Painted { len, start } => painted(*len, *start),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Hex(bytes) => bytes.len(),
            Form::Painted { len, .. } => *len,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Hex(#[serde(deserialize_with = "hex")] Vec<u8>),
            Painted(Painted),
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Painted {
            painted: usize,
            #[serde(default)]
            from: usize,
        }
        Ok(Bytes(match Either::deserialize(deserializer)? {
            Either::Hex(bytes) => Form::Hex(bytes),
            Either::Painted(Painted { painted: len, from: start }) => Form::Painted { len, start },
        }))
    }
}

/// Keccak-p\[1600\] of a state.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permutation {
    /// 24 or 12.
    pub rounds: u32,
    /// The state before.
    #[serde(deserialize_with = "hex_array")]
    pub input: [u8; 200],
    /// The state after.
    #[serde(deserialize_with = "hex_array")]
    pub output: [u8; 200],
}

/// A hash function or XOF of a message.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hash {
    /// Where it is from.
    pub source: String,
    /// The function.
    pub function: Function,
    /// TurboSHAKE's domain separation byte.
    pub domain: Option<u8>,
    /// The message.
    pub message: Bytes,
    /// Bytes of output before `output`.
    #[serde(default)]
    pub skip: usize,
    /// Output, up to the length asked for.
    #[serde(deserialize_with = "hex")]
    pub output: Vec<u8>,
}

/// cSHAKE of a message.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CShake {
    /// Where it is from.
    pub source: String,
    /// The function.
    pub function: Function,
    /// Function-name string, N.
    pub name: Bytes,
    /// Customization string, S.
    pub customization: Bytes,
    /// The message.
    pub message: Bytes,
    /// Output, of the length asked for.
    #[serde(deserialize_with = "hex")]
    pub output: Vec<u8>,
}

/// KMAC or KMACXOF of a message.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kmac {
    /// Where it is from.
    pub source: String,
    /// The function.
    pub function: Function,
    /// The key.
    pub key: Bytes,
    /// Customization string, S.
    pub customization: Bytes,
    /// The message.
    pub message: Bytes,
    /// Bytes of output before `output`; they count in the length that was asked for.
    #[serde(default)]
    pub skip: usize,
    /// Output, up to the length asked for.
    #[serde(deserialize_with = "hex")]
    pub output: Vec<u8>,
}

/// KT128 or KT256 of a message.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kt {
    /// Where it is from.
    pub source: String,
    /// The function.
    pub function: Function,
    /// Customization string, C.
    pub customization: Bytes,
    /// The message.
    pub message: Bytes,
    /// Bytes of output before `output`.
    #[serde(default)]
    pub skip: usize,
    /// Output, up to the length asked for.
    #[serde(deserialize_with = "hex")]
    pub output: Vec<u8>,
}

/// A Monte Carlo test of CAVP: a chain of hashes, a thousand from one output to the next.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Monte {
    /// Name of the file.
    pub source: String,
    /// The function.
    pub function: Function,
    /// The first message.
    #[serde(deserialize_with = "hex")]
    pub seed: Vec<u8>,
    /// Least length of an XOF's output in bytes.
    pub minimum: Option<usize>,
    /// Greatest length of an XOF's output in bytes.
    pub maximum: Option<usize>,
    /// The outputs.
    pub outputs: Vec<Hex>,
}

/// Bytes in hexadecimal.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Hex(#[serde(deserialize_with = "hex")] pub Vec<u8>);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_function_has_entries() {
        let sha3 = crate::sha3();
        assert_eq!((sha3.algorithm.as_str(), sha3.permutations.len()), ("SHA-3", 4));
        let functions: BTreeSet<Function> = (sha3.hashes.iter().map(|v| v.function))
            .chain(sha3.cshake.iter().map(|v| v.function))
            .chain(sha3.kmac.iter().map(|v| v.function))
            .chain(sha3.kt.iter().map(|v| v.function))
            .collect();
        assert_eq!(functions.len(), 20);
        let rfc = "RFC 9861, 5";
        let printed = sha3.hashes.iter().filter(|v| v.source == rfc).count()
            + sha3.kt.iter().filter(|v| v.source == rfc).count();
        assert_eq!(printed, 31 + 36);
        let samples = sha3.kmac.iter().filter(|v| v.source.starts_with("SP 800-185")).count()
            + sha3.cshake.iter().filter(|v| v.source.starts_with("SP 800-185")).count();
        assert_eq!(samples, 12 + 4);
        let turbo = |f| matches!(f, Function::TurboShake128 | Function::TurboShake256);
        assert!(sha3.hashes.iter().all(|v| v.domain.is_some() == turbo(v.function)));
        let cavp = crate::sha3_cavp();
        assert!(cavp.hashes.len() > 900 && cavp.monte.len() == 6);
        assert!(cavp.monte.iter().all(|v| v.outputs.len() == 100));
    }

    #[test]
    fn bytes_are_as_long_as_they_say() {
        let bytes = |text: &str| serde_json::from_str::<Bytes>(text).unwrap();
        for (text, expected) in [
            ("\"\"", vec![]),
            ("\"0aff\"", vec![10, 255]),
            (r#"{"painted": 2, "from": 250}"#, vec![250, 0]),
        ] {
            let bytes = bytes(text);
            assert_eq!((bytes.len(), bytes.get()), (expected.len(), expected));
        }
        assert!(serde_json::from_str::<Bytes>(r#"{"painted": 2, "form": 1}"#).is_err());
    }
}
