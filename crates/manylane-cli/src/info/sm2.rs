//! Known answers of SM2, by the machine that it runs on.

use manylane::{
    Error,
    sm2::{Ciphertext, CiphertextForm, PublicKey, Sealed, SecretKey, Signature, decrypt_many},
};
use serde::Deserialize;

use super::self_test::{hex, painted};

/// The answers, in the only copy that there is of them.
const VECTORS: &str = include_str!("../../../../vectors/sm2.json");

/// The parts of `vectors/sm2.json` that are asked about; its README has the schema.
#[derive(Deserialize)]
pub(super) struct Known {
    keys: Vec<Key>,
    ecdh: Vec<Agreement>,
    digest_signatures: Vec<Signed>,
    ciphertexts: Vec<Encrypted>,
}

#[derive(Deserialize)]
struct Key {
    d: String,
    point: String,
}

#[derive(Deserialize)]
struct Agreement {
    d: String,
    e: String,
    x: String,
}

#[derive(Deserialize)]
struct Signed {
    d: String,
    e: String,
    r: String,
    s: String,
}

#[derive(Deserialize)]
struct Encrypted {
    d: String,
    length: usize,
    /// Absent where the message is long and the vectors have digests only.
    der: Option<String>,
}

impl Known {
    pub(super) fn read() -> Result<Self, String> {
        serde_json::from_str(VECTORS).map_err(|error| format!("vectors: {error}"))
    }

    /// Asks all: the number of answers.
    pub(super) fn ask(&self) -> Result<usize, String> {
        let answers = [self.points()?, self.agreements()?, self.signatures()?, self.messages()?];
        Ok(answers.iter().sum())
    }

    /// d·G.
    fn points(&self) -> Result<usize, String> {
        for Key { d, point } in &self.keys {
            let right = secret_key(d)?.public_key().to_sec1_bytes()[..] == bytes(point)?;
            expect(right, "the public key", d)?;
        }
        Ok(self.keys.len())
    }

    /// d·P.
    fn agreements(&self) -> Result<usize, String> {
        for Agreement { d, e, x } in &self.ecdh {
            let shared = secret_key(d)?.diffie_hellman(secret_key(e)?.public_key());
            expect(shared[..] == bytes(x)?, "the shared point", d)?;
        }
        Ok(self.ecdh.len())
    }

    /// u·G + v·P; each signature, and the same with another digest, which must not hold.
    fn signatures(&self) -> Result<usize, String> {
        for Signed { d, e, r, s } in &self.digest_signatures {
            let key: PublicKey = *secret_key(d)?.public_key();
            let signature = Signature::new(array(&bytes(r)?)?, array(&bytes(s)?)?).map_err(say)?;
            let mut digest: [u8; 32] = array(&bytes(e)?)?;
            expect(key.verify_digest(&digest, &signature).is_ok(), "a signature", d)?;
            digest[31] ^= 1;
            expect(key.verify_digest(&digest, &signature).is_err(), "a wrong signature", d)?;
        }
        Ok(2 * self.digest_signatures.len())
    }

    /// Messages that are decrypted side by side.
    fn messages(&self) -> Result<usize, String> {
        let (mut keys, mut sealed, mut data, mut expected) = (vec![], vec![], vec![], vec![]);
        for Encrypted { d, length, der } in &self.ciphertexts {
            let Some(der) = der else { continue };
            let der = bytes(der)?;
            let parts = Ciphertext::parse(CiphertextForm::Asn1, &der).map_err(say)?;
            keys.push(secret_key(d)?);
            sealed.push(Sealed { c1: parts.c1, c3: parts.c3 });
            data.push(parts.c2.to_vec());
            expected.push(painted(*length, 0));
        }
        let keys: Vec<&SecretKey> = keys.iter().collect();
        let mut results = vec![Ok::<(), Error>(()); keys.len()];
        let mut in_place: Vec<&mut [u8]> = data.iter_mut().map(|data| &mut data[..]).collect();
        decrypt_many(&keys, &sealed, &mut in_place, &mut results).map_err(say)?;
        expect(results.iter().all(Result::is_ok) && data == expected, "decryption", "a batch")?;
        Ok(keys.len())
    }
}

fn expect(is_right: bool, what: &str, of: &str) -> Result<(), String> {
    if is_right { Ok(()) } else { Err(format!("{what} of {of}")) }
}

fn say(error: Error) -> String {
    error.to_string()
}

fn secret_key(d: &str) -> Result<SecretKey, String> {
    SecretKey::from_bytes(&array(&bytes(d)?)?).map_err(say)
}

fn bytes(text: &str) -> Result<Vec<u8>, String> {
    hex(text).ok_or_else(|| "vectors: not hexadecimal digits".to_owned())
}

fn array(bytes: &[u8]) -> Result<[u8; 32], String> {
    bytes.try_into().map_err(|_| "vectors: not 32 bytes".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_answers_are_seen() {
        let known = || Known::read().unwrap();
        assert!(known().ask().unwrap() > 80);
        let mut wrong = known();
        wrong.keys[0].point = wrong.keys[1].point.clone();
        assert!(wrong.ask().is_err());
        let mut wrong = known();
        wrong.ecdh[0].x = wrong.ecdh[1].x.clone();
        assert!(wrong.ask().is_err());
        let mut wrong = known();
        wrong.digest_signatures[0].e = wrong.digest_signatures[1].e.clone();
        assert!(wrong.ask().is_err());
        let mut wrong = known();
        wrong.ciphertexts[0].length += 1;
        assert!(wrong.ask().is_err());
    }
}
