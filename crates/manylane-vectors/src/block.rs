//! `aes.json`, `sm4.json`, `aes_cavp.json`, and what others wrote with SM4: modes of operation as cases of one
//! form. `vectors/README.md` has the schema.

use serde::Deserialize;

use super::{Verdict, hex, hex_array, painted, read, sm2::interop};

/// The contents of `aes.json` or `sm4.json`.
#[derive(Debug)]
pub struct Cipher {
    /// `AES` or `SM4`.
    pub algorithm: String,
    /// The cipher alone, with its key expansion.
    pub blocks: Vec<Block>,
    /// A block encrypted again and again.
    pub iterated: Vec<Iterated>,
    /// Modes of operation: the standards' examples, and generated.
    pub cases: Vec<Case>,
}

/// A block that the standard encrypts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Standard and clause.
    pub source: String,
    /// The key.
    #[serde(deserialize_with = "hex")]
    pub key: Vec<u8>,
    /// The block.
    #[serde(deserialize_with = "hex_array")]
    pub plaintext: [u8; 16],
    /// The block encrypted.
    #[serde(deserialize_with = "hex_array")]
    pub ciphertext: [u8; 16],
    /// All round keys, one after another.
    #[serde(deserialize_with = "hex")]
    pub round_keys: Vec<u8>,
}

/// A block encrypted again and again under one key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Iterated {
    /// Standard and clause.
    pub source: String,
    /// The key.
    #[serde(deserialize_with = "hex_array")]
    pub key: [u8; 16],
    /// The block.
    #[serde(deserialize_with = "hex_array")]
    pub plaintext: [u8; 16],
    /// How often.
    pub iterations: u32,
    /// What comes out.
    #[serde(deserialize_with = "hex_array")]
    pub ciphertext: [u8; 16],
}

/// A mode of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the modes' own names")]
pub enum Mode {
    Ecb,
    Cbc,
    CbcPkcs7,
    Cfb,
    Cfb8,
    Ofb,
    Ctr32,
    Ctr64,
    Ctr128,
    Xts,
    XtsGb,
    Gcm,
    Ccm,
}

/// A message in a mode of operation.
#[derive(Debug)]
pub struct Case {
    /// Where it is from, or what it is.
    pub source: String,
    /// The mode.
    pub mode: Mode,
    /// The key; two of them for XTS.
    pub key: Vec<u8>,
    /// IV, nonce, first counter block or tweak; of no use to ECB.
    pub iv: Vec<u8>,
    /// Associated data, of GCM and CCM.
    pub aad: Vec<u8>,
    /// The message.
    pub plaintext: Vec<u8>,
    /// What it becomes.
    pub ciphertext: Ciphertext,
    /// The tag, of GCM and CCM.
    pub tag: Vec<u8>,
    /// Whether the tag is the message's. If not, `plaintext` says nothing.
    pub is_valid: bool,
}

/// A ciphertext, or its digest if it is long.
#[derive(Debug)]
#[expect(missing_docs, reason = "said above")]
pub enum Ciphertext {
    Bytes(Vec<u8>),
    Sm3([u8; 32]),
}

/// `vectors/aes.json`.
///
/// # Panics
/// If the file is missing or malformed.
pub fn aes() -> Cipher {
    File::cipher("aes.json")
}

/// `vectors/sm4.json`.
///
/// # Panics
/// If the file is missing or malformed.
pub fn sm4() -> Cipher {
    File::cipher("sm4.json")
}

/// `vectors/aes_cavp.json`.
///
/// # Panics
/// If the file is missing or malformed.
pub fn aes_cavp() -> Vec<Case> {
    let file: CavpFile = read("aes_cavp.json");
    assert_eq!(file.algorithm, "AES");
    file.modes.into_iter().map(Example::case).chain(file.aead.into_iter().map(Aead::case)).collect()
}

/// `vectors/sm4_gcm_wycheproof.json` and `vectors/sm4_ccm_wycheproof.json`.
///
/// # Panics
/// If a file is missing or malformed, or has not as many tests as it says.
pub fn sm4_wycheproof() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, mode) in [("gcm", Mode::Gcm), ("ccm", Mode::Ccm)] {
        let file: AeadFile = read(&format!("sm4_{name}_wycheproof.json"));
        assert_eq!(file.algorithm, format!("SM4-{}", name.to_uppercase()));
        let before = cases.len();
        for test in file.test_groups.into_iter().flat_map(|group| group.tests) {
            let source = format!("Wycheproof, {name} {}: {:?}", test.tc_id, test.flags);
            cases.push(Case {
                source,
                mode,
                key: test.key,
                iv: test.iv,
                aad: test.aad,
                plaintext: test.msg,
                ciphertext: Ciphertext::Bytes(test.ct),
                tag: test.tag,
                is_valid: match test.result {
                    Verdict::Valid => true,
                    Verdict::Invalid => false,
                    Verdict::Acceptable => panic!("what is acceptable must be decided"),
                },
            });
        }
        assert_eq!(cases.len() - before, file.number_of_tests, "tests in the Wycheproof file");
    }
    cases
}

/// What GmSSL encrypted with SM4, in `vectors/interop/gmssl`.
///
/// # Panics
/// If a file is missing or malformed.
pub fn sm4_gmssl() -> Vec<Case> {
    let file = |name: &str| interop(&format!("gmssl/sm4.{name}"));
    let keys: GmsslKeys = serde_json::from_slice(&file("json")).expect("keys as the schema says");
    let case = |name: &str, mode, plaintext: &str| Case {
        source: format!("GmSSL, {name}"),
        mode,
        key: keys.key.to_vec(),
        iv: keys.iv.to_vec(),
        aad: Vec::new(),
        plaintext: file(plaintext),
        ciphertext: Ciphertext::Bytes(file(&format!("{name}.bin"))),
        tag: Vec::new(),
        is_valid: true,
    };
    let aead = |name, mode| {
        let mut ciphertext = file(&format!("{name}.bin"));
        let tag = ciphertext.split_off(ciphertext.len() - 16);
        let (iv, aad) = (keys.nonce.to_vec(), keys.aad.to_vec());
        let ciphertext = Ciphertext::Bytes(ciphertext);
        Case { iv, aad, ciphertext, tag, ..case(name, mode, "plain.bin") }
    };
    let xts = case("xts", Mode::XtsGb, "blocks.bin");
    vec![
        case("ecb", Mode::Ecb, "blocks.bin"),
        case("cbc", Mode::Cbc, "blocks.bin"),
        case("cfb", Mode::Cfb, "plain.bin"),
        case("ofb", Mode::Ofb, "plain.bin"),
        case("ctr", Mode::Ctr128, "plain.bin"),
        Case { key: keys.xts_key.to_vec(), ..xts },
        aead("gcm", Mode::Gcm),
        aead("ccm", Mode::Ccm),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    algorithm: String,
    blocks: Vec<Block>,
    iterated: Vec<Iterated>,
    examples: Vec<Example>,
    aead_examples: Vec<Aead>,
    painted: Vec<Painted>,
    painted_aead: Vec<PaintedAead>,
}

impl File {
    fn cipher(name: &str) -> Cipher {
        let File { algorithm, blocks, iterated, examples, aead_examples, painted, painted_aead } =
            read(name);
        let lists = [examples.len(), aead_examples.len(), painted.len(), painted_aead.len()];
        assert!(lists.iter().all(|&len| len > 0), "{name} has an empty list");
        let cases = examples.into_iter().map(Example::case);
        let cases = cases.chain(aead_examples.into_iter().map(Aead::case));
        let cases = cases.chain(painted.into_iter().map(Painted::case));
        let cases = cases.chain(painted_aead.into_iter().map(PaintedAead::case)).collect();
        Cipher { algorithm, blocks, iterated, cases }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CavpFile {
    algorithm: String,
    modes: Vec<Example>,
    aead: Vec<Aead>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    source: String,
    mode: Mode,
    #[serde(deserialize_with = "hex")]
    key: Vec<u8>,
    #[serde(deserialize_with = "hex")]
    iv: Vec<u8>,
    #[serde(deserialize_with = "hex")]
    plaintext: Vec<u8>,
    #[serde(deserialize_with = "hex")]
    ciphertext: Vec<u8>,
}

impl Example {
    fn case(self) -> Case {
        let Example { source, mode, key, iv, plaintext, ciphertext } = self;
        let (aad, tag) = (Vec::new(), Vec::new());
        let ciphertext = Ciphertext::Bytes(ciphertext);
        Case { source, mode, key, iv, aad, plaintext, ciphertext, tag, is_valid: true }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Aead {
    source: String,
    mode: Mode,
    #[serde(deserialize_with = "hex")]
    key: Vec<u8>,
    #[serde(deserialize_with = "hex")]
    iv: Vec<u8>,
    #[serde(deserialize_with = "hex")]
    aad: Vec<u8>,
    #[serde(deserialize_with = "hex")]
    plaintext: Vec<u8>,
    #[serde(deserialize_with = "hex")]
    ciphertext: Vec<u8>,
    #[serde(deserialize_with = "hex")]
    tag: Vec<u8>,
    result: Option<Verdict>,
}

impl Aead {
    fn case(self) -> Case {
        let Aead { source, mode, key, iv, aad, plaintext, ciphertext, tag, result } = self;
        let is_valid = result.is_none_or(|result| result == Verdict::Valid);
        let ciphertext = Ciphertext::Bytes(ciphertext);
        Case { source, mode, key, iv, aad, plaintext, ciphertext, tag, is_valid }
    }
}

/// A [`painted`] message: of a key from 100, and associated data from 50.
#[derive(Deserialize)]
struct Painted {
    mode: Mode,
    key_length: usize,
    #[serde(deserialize_with = "hex")]
    iv: Vec<u8>,
    length: usize,
    #[serde(flatten)]
    ciphertext: Output,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Output {
    Bytes {
        #[serde(deserialize_with = "hex")]
        ciphertext: Vec<u8>,
    },
    Sm3 {
        #[serde(deserialize_with = "hex_array")]
        ciphertext_sm3: [u8; 32],
    },
}

impl Painted {
    fn case(self) -> Case {
        Case {
            source: format!("painted, {} bytes", self.length),
            mode: self.mode,
            key: painted(self.key_length, 100),
            // The whole of ECB needs none.
            iv: self.iv,
            aad: Vec::new(),
            plaintext: painted(self.length, 0),
            ciphertext: match self.ciphertext {
                Output::Bytes { ciphertext } => Ciphertext::Bytes(ciphertext),
                Output::Sm3 { ciphertext_sm3 } => Ciphertext::Sm3(ciphertext_sm3),
            },
            tag: Vec::new(),
            is_valid: true,
        }
    }
}

#[derive(Deserialize)]
struct PaintedAead {
    #[serde(flatten)]
    message: Painted,
    aad_length: usize,
    #[serde(deserialize_with = "hex")]
    tag: Vec<u8>,
}

impl PaintedAead {
    fn case(self) -> Case {
        Case { aad: painted(self.aad_length, 50), tag: self.tag, ..self.message.case() }
    }
}

/// Wycheproof's `aead_test_schema_v1`, as far as tests use it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AeadFile {
    algorithm: String,
    number_of_tests: usize,
    test_groups: Vec<AeadGroup>,
}

#[derive(Deserialize)]
struct AeadGroup {
    tests: Vec<AeadTest>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AeadTest {
    tc_id: u32,
    flags: Vec<String>,
    #[serde(deserialize_with = "hex")]
    key: Vec<u8>,
    #[serde(deserialize_with = "hex")]
    iv: Vec<u8>,
    #[serde(deserialize_with = "hex")]
    aad: Vec<u8>,
    #[serde(deserialize_with = "hex")]
    msg: Vec<u8>,
    #[serde(deserialize_with = "hex")]
    ct: Vec<u8>,
    #[serde(deserialize_with = "hex")]
    tag: Vec<u8>,
    result: Verdict,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GmsslKeys {
    #[serde(deserialize_with = "hex_array")]
    key: [u8; 16],
    #[serde(deserialize_with = "hex_array")]
    iv: [u8; 16],
    #[serde(deserialize_with = "hex_array")]
    nonce: [u8; 12],
    #[serde(deserialize_with = "hex")]
    aad: Vec<u8>,
    #[serde(deserialize_with = "hex_array")]
    xts_key: [u8; 32],
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_mode_has_cases() {
        let modes = |cases: &[Case]| -> BTreeSet<Mode> { cases.iter().map(|c| c.mode).collect() };
        let (aes, sm4) = (aes(), sm4());
        assert_eq!((aes.algorithm.as_str(), sm4.algorithm.as_str()), ("AES", "SM4"));
        assert_eq!((aes.blocks.len(), sm4.blocks.len(), sm4.iterated.len()), (6, 1, 1));
        // All but GB/T 17964's tweaks, which are SM4's.
        assert_eq!((modes(&aes.cases).len(), modes(&sm4.cases).len()), (12, 13));
        assert!(aes.cases.len() > 800 && sm4.cases.len() > 300);
        assert_eq!(modes(&aes_cavp()).len(), 8);
        assert_eq!(sm4_wycheproof().len(), 104 + 184);
        assert_eq!(sm4_gmssl().len(), 8);
        for cases in [aes_cavp(), sm4_wycheproof()] {
            assert!(cases.iter().any(|c| c.is_valid) && cases.iter().any(|c| !c.is_valid));
        }
    }
}
