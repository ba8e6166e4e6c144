//! Known answers on every machine there is.

use manylane::{
    Messages,
    cpu::Machine,
    sm2::machine,
    sm3::{self, Digest as _, Kernel, Lanes, Midstate, Sm3},
};
use manylane_cli::lines::hex_value;
use serde::{Deserialize, Serialize};

use super::{
    blocks,
    gpus::{self, GpuInfo},
    sha3, sm2,
};

/// The answers, in the only copy that there is of them.
const VECTORS: &str = include_str!("../../../../vectors/sm3.json");

/// What one kernel made of the questions.
#[derive(Serialize)]
pub(super) struct Tested {
    /// A machine of the processor, or a GPU.
    pub(super) machine: String,
    /// `lanes` or `stream` of SM3, `sha3 lanes`, `sha3 stream`, `aes`, `sm4` or `sm2`; on a GPU `messages`, `random`, `blocks` or `random blocks`.
    pub(super) work: &'static str,
    /// Answers that were compared.
    pub(super) answers: usize,
    /// What was wrong first.
    pub(super) failure: Option<String>,
}

/// The parts of `vectors/sm3.json` that are asked about; its README has the schema.
#[derive(Deserialize)]
struct Vectors {
    examples: Vec<Example>,
    painted: Vec<Painted>,
    hmac: Vec<Hmac>,
}

#[derive(Deserialize)]
struct Example {
    message: String,
    digest: String,
}

#[derive(Deserialize)]
struct Painted {
    length: usize,
    digest: String,
}

#[derive(Deserialize)]
struct Hmac {
    key_length: usize,
    length: usize,
    tag: String,
}

/// Questions with their answers.
pub(super) struct Known {
    pub(super) messages: Vec<Vec<u8>>,
    pub(super) digests: Vec<Vec<u8>>,
    pub(super) mac_keys: Vec<Vec<u8>>,
    pub(super) mac_messages: Vec<Vec<u8>>,
    pub(super) macs: Vec<Vec<u8>>,
}

impl Known {
    fn read() -> Result<Self, String> {
        let vectors: Vectors =
            serde_json::from_str(VECTORS).map_err(|error| format!("vectors: {error}"))?;
        let hex = |text: &String| hex(text).ok_or("vectors: not hexadecimal digits");
        let mut known = Known {
            messages: Vec::new(),
            digests: Vec::new(),
            mac_keys: Vec::new(),
            mac_messages: Vec::new(),
            macs: Vec::new(),
        };
        for example in &vectors.examples {
            known.messages.push(hex(&example.message)?);
            known.digests.push(hex(&example.digest)?);
        }
        for example in &vectors.painted {
            known.messages.push(painted(example.length, 0));
            known.digests.push(hex(&example.digest)?);
        }
        for example in &vectors.hmac {
            known.mac_keys.push(painted(example.key_length, 100));
            known.mac_messages.push(painted(example.length, 0));
            known.macs.push(hex(&example.tag)?);
        }
        Ok(known)
    }

    fn lanes(&self, machine: Machine) -> Result<usize, String> {
        let messages = slices(&self.messages);
        let mut digests = vec![[0; sm3::DIGEST_LEN]; messages.len()];
        let start = Midstate::default();
        let kernel = sm3::hash_many_on(machine, &start, &Messages::slices(&messages), &mut digests);
        ran_on(machine, kernel)?;
        compare("the digest", &messages, &digests, &self.digests)?;

        let (keys, messages) = (slices(&self.mac_keys), slices(&self.mac_messages));
        let mut macs = vec![[0; sm3::DIGEST_LEN]; messages.len()];
        let (keys, list) = (Messages::slices(&keys), Messages::slices(&messages));
        ran_on(machine, sm3::hmac_many_on(machine, &keys, &list, &mut macs))?;
        compare("the HMAC", &messages, &macs, &self.macs)?;
        Ok(digests.len() + macs.len())
    }

    fn stream(&self, machine: Machine) -> Result<usize, String> {
        for (message, digest) in self.messages.iter().zip(&self.digests) {
            let mut sm3 = Sm3::new_on(machine).map_err(|error| error.to_string())?;
            // A first piece that ends inside a block.
            let (first, rest) = message.split_at(message.len() / 3);
            sm3.update(first);
            sm3.update(rest);
            compare(
                "the digest",
                &[&message[..]],
                &[sm3.finalize().into()],
                std::slice::from_ref(digest),
            )?;
        }
        Ok(self.digests.len())
    }
}

/// Tests every kernel of every machine that is available, and of the GPUs, these with so many
/// random batches besides.
pub(super) fn run(gpus: &[GpuInfo], random: u64) -> Vec<Tested> {
    let known = Known::read();
    let tested = |machine: Machine, work, result| {
        let (answers, failure) = match result {
            Ok(answers) => (answers, None),
            Err(why) => (0, Some(why)),
        };
        Tested { machine: machine.name().to_owned(), work, answers, failure }
    };
    let test = |machine, work, ask: fn(&Known, Machine) -> Result<usize, String>| {
        let result = known.as_ref().map_err(Clone::clone).and_then(|known| ask(known, machine));
        tested(machine, work, result)
    };
    let mut tests = Vec::new();
    for machine in Machine::ALL.into_iter().filter(|machine| machine.is_available()) {
        if Lanes::new_on(machine).is_ok() {
            tests.push(test(machine, "lanes", Known::lanes));
        }
        if Sm3::new_on(machine).is_ok() {
            tests.push(test(machine, "stream", Known::stream));
        }
    }
    match sha3::Known::read() {
        Ok(known) => {
            for machine in Machine::ALL.into_iter().filter(|machine| machine.is_available()) {
                let lanes = known.lanes(machine);
                tests.extend(lanes.map(|answers| tested(machine, "sha3 lanes", answers)));
                let stream = known.stream(machine);
                tests.extend(stream.map(|answers| tested(machine, "sha3 stream", answers)));
            }
        }
        Err(why) => tests.push(tested(Machine::Portable, "sha3", Err(why))),
    }
    match blocks::Known::read() {
        Ok(ciphers) => {
            for machine in Machine::ALL.into_iter().filter(|machine| machine.is_available()) {
                for cipher in &ciphers {
                    let asked = cipher.ask(machine);
                    tests.extend(asked.map(|answers| tested(machine, cipher.work(), answers)));
                }
            }
        }
        Err(why) => tests.push(tested(Machine::Portable, "aes and sm4", Err(why))),
    }
    tests.push(tested(machine(), "sm2", sm2::Known::read().and_then(|known| known.ask())));
    tests.extend(gpus::test(gpus, known.as_ref(), random));
    tests
}

pub(super) fn slices(list: &[Vec<u8>]) -> Vec<&[u8]> {
    list.iter().map(|message| &message[..]).collect()
}

/// A right answer from another kernel proves nothing.
fn ran_on(machine: Machine, kernel: Result<Option<Kernel>, manylane::Error>) -> Result<(), String> {
    match kernel.map_err(|error| error.to_string())? {
        Some(kernel) if kernel.machine() == machine => Ok(()),
        Some(kernel) => Err(format!("kernel {} ran instead", kernel.name())),
        None => Err("no kernel ran".to_owned()),
    }
}

pub(super) fn compare(
    what: &str,
    messages: &[&[u8]],
    got: &[[u8; sm3::DIGEST_LEN]],
    expected: &[Vec<u8>],
) -> Result<(), String> {
    for ((message, got), expected) in messages.iter().zip(got).zip(expected) {
        if got[..] != expected[..] {
            return Err(format!("{what} of a message of {} bytes", message.len()));
        }
    }
    Ok(())
}

/// The painted bytes of `vectors/README.md`.
pub(super) fn painted(len: usize, start: usize) -> Vec<u8> {
    (start..start + len).map(|i| (i % 251) as u8).collect()
}

pub(super) fn hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, odd) = text.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| Some(hex_value(*high)? << 4 | hex_value(*low)?);
    if odd.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_passes_and_wrong_answers_do_not() {
        let tests = run(&[], 0);
        assert!(tests.len() >= 3, "portable has lanes and a stream, and something SM2");
        for tested in tests {
            assert_eq!(tested.failure, None, "{} {}", tested.machine, tested.work);
            assert!(tested.answers > 80);
        }
        let mut known = Known::read().unwrap();
        known.digests[40][31] ^= 1;
        assert!(known.lanes(Machine::Portable).is_err());
        assert!(known.stream(Machine::Portable).is_err());
    }
}
