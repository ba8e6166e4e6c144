//! Known answers of AES and SM4 on a machine: blocks both ways, and GCM, whose tag depends on every byte.

use manylane::{
    Error,
    aes::{Aes128, Aes192, Aes256},
    block::{BlockCipher, Gcm, ecb},
    cpu::Machine,
    sm4::Sm4,
};
use serde::Deserialize;

use super::self_test::{hex, painted};

/// The answers, in the only copy that there is of them.
const AES: &str = include_str!("../../../../vectors/aes.json");
const SM4: &str = include_str!("../../../../vectors/sm4.json");

/// Copies of a block that are computed at once: more than any machine's widest group, and some that remain.
const COPIES: usize = 133;

/// The parts of `vectors/aes.json` and `sm4.json` that are asked about; their README has the schema.
#[derive(Deserialize)]
struct Vectors {
    blocks: Vec<Block>,
    painted_aead: Vec<Sealed>,
}

#[derive(Deserialize)]
struct Block {
    key: String,
    plaintext: String,
    ciphertext: String,
}

#[derive(Deserialize)]
struct Sealed {
    mode: String,
    key_length: usize,
    iv: String,
    aad_length: usize,
    length: usize,
    tag: String,
}

/// Questions about one cipher with their answers.
pub(super) struct Known {
    work: &'static str,
    vectors: Vectors,
}

impl Known {
    /// Those of AES, then those of SM4.
    pub(super) fn read() -> Result<[Self; 2], String> {
        let read = |work, text| {
            let vectors = serde_json::from_str(text).map_err(|why| format!("vectors: {why}"))?;
            Ok::<_, String>(Known { work, vectors })
        };
        Ok([read("aes", AES)?, read("sm4", SM4)?])
    }

    /// The cipher's name in the report.
    pub(super) fn work(&self) -> &'static str {
        self.work
    }

    /// Asks all on that machine: the number of answers, or none if it has no cell for this cipher.
    pub(super) fn ask(&self, machine: Machine) -> Option<Result<usize, String>> {
        let cell = match self.work {
            "sm4" => Sm4::new_on(machine, &[0; 16]).is_ok(),
            _ => Aes128::new_on(machine, &[0; 16]).is_ok(),
        };
        cell.then(|| Ok(self.blocks(machine)? + self.sealed(machine)?))
    }

    fn blocks(&self, machine: Machine) -> Result<usize, String> {
        for block in &self.vectors.blocks {
            let [key, plain, coded] =
                [&block.key, &block.plaintext, &block.ciphertext].map(|text| bytes(text));
            let (key, plain, coded) = (key?, plain?.repeat(COPIES), coded?.repeat(COPIES));
            with(self.work, machine, &key, Blocks { plain: &plain, coded: &coded })?
                .map_err(|what| format!("{what} under a key of {} bits", 8 * key.len()))?;
        }
        Ok(2 * self.vectors.blocks.len())
    }

    fn sealed(&self, machine: Machine) -> Result<usize, String> {
        let messages = self.vectors.painted_aead.iter().filter(|sealed| sealed.mode == "gcm");
        let mut answers = 0;
        for sealed in messages {
            let message = Message {
                iv: &bytes(&sealed.iv)?,
                aad: &painted(sealed.aad_length, 50),
                plain: &painted(sealed.length, 0),
                tag: &bytes(&sealed.tag)?,
            };
            with(self.work, machine, &painted(sealed.key_length, 100), message)?
                .map_err(|what| format!("{what} of {} bytes", sealed.length))?;
            answers += 2;
        }
        Ok(answers)
    }
}

/// Work with a cipher of either kind: what was wrong.
trait Question {
    fn ask<C: BlockCipher>(self, cipher: C) -> Result<(), &'static str>;
}

/// Asks the cipher under a key of its length.
fn with(
    work: &str,
    machine: Machine,
    key: &[u8],
    question: impl Question,
) -> Result<Result<(), &'static str>, String> {
    let failed = |why: Error| why.to_string();
    Ok(match (work, key.len()) {
        ("sm4", 16) => question.ask(Sm4::new_on(machine, &array(key)).map_err(failed)?),
        ("aes", 16) => question.ask(Aes128::new_on(machine, &array(key)).map_err(failed)?),
        ("aes", 24) => question.ask(Aes192::new_on(machine, &array(key)).map_err(failed)?),
        ("aes", 32) => question.ask(Aes256::new_on(machine, &array(key)).map_err(failed)?),
        (_, len) => return Err(format!("vectors: a key of {len} bytes")),
    })
}

fn array<const N: usize>(key: &[u8]) -> [u8; N] {
    key.try_into().expect("the length was looked at")
}

fn bytes(text: &str) -> Result<Vec<u8>, String> {
    hex(text).ok_or_else(|| "vectors: not hexadecimal digits".to_owned())
}

struct Blocks<'a> {
    plain: &'a [u8],
    coded: &'a [u8],
}

impl Question for Blocks<'_> {
    fn ask<C: BlockCipher>(self, cipher: C) -> Result<(), &'static str> {
        let mut data = self.plain.to_vec();
        ecb::Encryptor::new(&cipher).update(&mut data).map_err(|_| "length of blocks")?;
        if data != self.coded {
            return Err("encryption of a block");
        }
        ecb::Decryptor::new(&cipher).update(&mut data).map_err(|_| "length of blocks")?;
        if data == self.plain { Ok(()) } else { Err("decryption of a block") }
    }
}

struct Message<'a> {
    iv: &'a [u8],
    aad: &'a [u8],
    plain: &'a [u8],
    tag: &'a [u8],
}

impl Question for Message<'_> {
    fn ask<C: BlockCipher>(self, cipher: C) -> Result<(), &'static str> {
        let Message { iv, aad, plain, tag } = self;
        let gcm = Gcm::new(cipher);
        let mut data = plain.to_vec();
        let got = gcm.encrypt_detached(iv, aad, &mut data).map_err(|_| "limits of GCM")?;
        if got.as_ref()[..tag.len()] != *tag {
            return Err("GCM's tag of a message");
        }
        let opened = gcm.decrypt_detached(iv, aad, &mut data, got.as_ref());
        if opened.is_ok() && data == plain { Ok(()) } else { Err("GCM, opened, of a message") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_answer_is_found() {
        let [mut aes, mut sm4] = Known::read().unwrap();
        for known in [&mut aes, &mut sm4] {
            let answers = known.ask(Machine::Portable).unwrap().unwrap();
            assert!(answers > 100, "{answers}");
            let sealed = known.vectors.painted_aead.iter_mut().rfind(|s| s.mode == "gcm").unwrap();
            sealed.tag.replace_range(0..2, if sealed.tag.starts_with("00") { "01" } else { "00" });
            assert!(known.ask(Machine::Portable).unwrap().unwrap_err().starts_with("GCM's tag"));
            let block = &mut known.vectors.blocks[0].ciphertext;
            block.replace_range(30..32, if block.ends_with("00") { "01" } else { "00" });
            assert!(known.ask(Machine::Portable).unwrap().unwrap_err().starts_with("encryption"));
            assert!(known.ask(Machine::Bmi2).is_none());
        }
    }
}
