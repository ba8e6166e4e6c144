//! Known answers of the functions on Keccak-p[1600] on a machine: many messages in lanes, and one as a stream.

use std::collections::BTreeMap;

use manylane::{
    Messages,
    cpu::Machine,
    sha3::{self, Digest, Function, Lanes, Midstate, Sha3_224, Sha3_256, Sha3_384, Sha3_512},
};
use serde::Deserialize;

use super::self_test::{hex, painted, slices};

/// The answers, in the only copy that there is of them.
const VECTORS: &str = include_str!("../../../../vectors/sha3.json");

/// The parts of it that are asked about; its README has the schema.
#[derive(Deserialize)]
struct Vectors {
    hashes: Vec<Hash>,
}

#[derive(Deserialize)]
struct Hash {
    function: String,
    domain: Option<u8>,
    message: Bytes,
    #[serde(default)]
    skip: usize,
    output: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Bytes {
    Hex(String),
    Painted {
        painted: usize,
        #[serde(default)]
        from: usize,
    },
}

/// Bytes of the longest message that is asked about: longer ones take long on a machine without much.
const LONGEST: usize = 100_000;

/// Questions about one function, with outputs of one length, and their answers.
#[derive(Default)]
struct Questions {
    messages: Vec<Vec<u8>>,
    outputs: Vec<Vec<u8>>,
}

/// Questions with their answers, by the function's name, its domain, and the length of its output.
pub(super) struct Known(BTreeMap<(String, Option<u8>, usize), Questions>);

impl Known {
    pub(super) fn read() -> Result<Self, String> {
        let vectors: Vectors =
            serde_json::from_str(VECTORS).map_err(|why| format!("vectors: {why}"))?;
        let bytes = |text: &str| hex(text).ok_or("vectors: not hexadecimal digits");
        let mut known = BTreeMap::<_, Questions>::new();
        for Hash { function, domain, message, skip, output } in vectors.hashes {
            let message = match message {
                Bytes::Hex(text) => bytes(&text)?,
                Bytes::Painted { painted: len, from } if len <= LONGEST => painted(len, from),
                Bytes::Painted { .. } => continue,
            };
            let output = bytes(&output)?;
            if skip == 0 {
                let of = known.entry((function, domain, output.len())).or_default();
                of.messages.push(message);
                of.outputs.push(output);
            }
        }
        Ok(Known(known))
    }

    /// Asks for all side by side: the number of answers, or none if the machine has no lanes.
    pub(super) fn lanes(&self, machine: Machine) -> Option<Result<usize, String>> {
        let run = |start: &Midstate, messages: &[&[u8]]| {
            let mut outputs = vec![0; messages.len() * start.function().output_len()];
            let messages = Messages::slices(messages);
            let kernel = sha3::hash_many_on(machine, start, &messages, &[], &mut outputs);
            match kernel.map_err(|why| why.to_string())? {
                Some(kernel) if kernel.machine() == machine => Ok(outputs),
                _ => Err("another kernel ran instead".to_owned()),
            }
        };
        Lanes::new_on(Function::SHA3_256, machine).is_ok().then(|| self.ask(run))
    }

    /// Asks whoever computes the outputs of many messages, one after another: the number of answers.
    pub(super) fn ask(
        &self,
        run: impl Fn(&Midstate, &[&[u8]]) -> Result<Vec<u8>, String>,
    ) -> Result<usize, String> {
        let mut answers = 0;
        for ((name, domain, len), questions) in &self.0 {
            let start = Midstate::new(function(name, *domain, *len)?);
            let outputs = run(&start, &slices(&questions.messages));
            let outputs = outputs.map_err(|why| format!("{name}: {why}"))?;
            answers += compare(name, questions, outputs.chunks_exact(*len))?;
        }
        Ok(answers)
    }

    /// Asks for each by itself: the number of answers, or none if the machine has no stream.
    pub(super) fn stream(&self, machine: Machine) -> Option<Result<usize, String>> {
        let all = || {
            let mut answers = 0;
            for ((name, ..), questions) in &self.0 {
                let messages = &questions.messages;
                let outputs: Vec<Vec<u8>> = match &name[..] {
                    "SHA3-224" => digests(messages, || Sha3_224::new_on(machine))?,
                    "SHA3-256" => digests(messages, || Sha3_256::new_on(machine))?,
                    "SHA3-384" => digests(messages, || Sha3_384::new_on(machine))?,
                    "SHA3-512" => digests(messages, || Sha3_512::new_on(machine))?,
                    _ => continue,
                };
                answers += compare(name, questions, outputs.iter().map(|output| &output[..]))?;
            }
            Ok(answers)
        };
        Sha3_256::new_on(machine).is_ok().then(all)
    }
}

/// That of the vectors, with outputs of `len` bytes.
fn function(name: &str, domain: Option<u8>, len: usize) -> Result<Function, String> {
    let function = match (name, domain) {
        ("SHA3-224", _) => Function::SHA3_224,
        ("SHA3-256", _) => Function::SHA3_256,
        ("SHA3-384", _) => Function::SHA3_384,
        ("SHA3-512", _) => Function::SHA3_512,
        ("Keccak-224", _) => Function::KECCAK_224,
        ("Keccak-256", _) => Function::KECCAK_256,
        ("Keccak-384", _) => Function::KECCAK_384,
        ("Keccak-512", _) => Function::KECCAK_512,
        ("SHAKE128", _) => Function::SHAKE128,
        ("SHAKE256", _) => Function::SHAKE256,
        ("TurboSHAKE128", Some(domain)) => Function::turboshake128(domain),
        ("TurboSHAKE256", Some(domain)) => Function::turboshake256(domain),
        _ => return Err(format!("vectors: no function {name}")),
    };
    Ok(if function.is_xof() { function.with_output_len(len) } else { function })
}

/// The digests of these messages, each in two pieces, the first of which ends inside a block.
fn digests<H: Digest>(
    messages: &[Vec<u8>],
    new: impl Fn() -> Result<H, manylane::Error>,
) -> Result<Vec<Vec<u8>>, String> {
    let digest = |message: &Vec<u8>| {
        let mut hasher = new().map_err(|why| why.to_string())?;
        let (first, rest) = message.split_at(message.len() / 3);
        hasher.update(first);
        hasher.update(rest);
        Ok(hasher.finalize().to_vec())
    };
    messages.iter().map(digest).collect()
}

fn compare<'a>(
    name: &str,
    questions: &Questions,
    outputs: impl Iterator<Item = &'a [u8]>,
) -> Result<usize, String> {
    for ((message, expected), output) in
        questions.messages.iter().zip(&questions.outputs).zip(outputs)
    {
        if output != expected {
            return Err(format!("{name} of a message of {} bytes", message.len()));
        }
    }
    Ok(questions.outputs.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_answers_do_not_pass() {
        let mut known = Known::read().unwrap();
        let questions = known.0.get_mut(&("SHA3-256".to_owned(), None, 32)).unwrap();
        questions.outputs[20][31] ^= 1;
        assert!(known.lanes(Machine::Portable).unwrap().is_err());
        assert!(known.stream(Machine::Portable).unwrap().is_err());
    }
}
