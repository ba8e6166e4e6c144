//! SHA-3: secret messages and secret prefixes, in lanes and in one stream.

use manylane::{
    Messages,
    cpu::Machine,
    sha3::{self, Function, Lanes, Midstate},
};
use manylane_ct::bytes;

use super::{COUNT, Checks};

/// A function of each rate and of both numbers of rounds.
const FUNCTIONS: [(&str, Function); 6] = [
    ("SHA3-224", Function::SHA3_224),
    ("SHA3-256", Function::SHA3_256),
    ("SHA3-384", Function::SHA3_384),
    ("SHA3-512", Function::SHA3_512),
    ("SHAKE128", Function::SHAKE128),
    ("TurboSHAKE256", Function::turboshake256(0x1f)),
];

impl Checks {
    /// Many messages in the lanes of the machine, if it has lanes.
    pub(super) fn sha3_many(&mut self, machine: Machine) {
        if Lanes::new_on(Function::SHA3_256, machine).is_err() {
            println!("        {machine} has no kernel for lanes of SHA-3");
            return;
        }
        for (name, function) in FUNCTIONS {
            for len in [0, 100, 500] {
                let name =
                    format!("{machine}: {name} of many, secret prefix and messages of {len}");
                self.constant_time(&name, &bytes(31, 200 + COUNT * len), |secret| {
                    let (prefix, messages) = secret.split_at(200);
                    let messages = Messages::strided(messages, len, len, COUNT).expect("fits");
                    let mut out = vec![0; COUNT * function.output_len()];
                    let start = Midstate::after(function, prefix);
                    let ran = sha3::hash_many_on(machine, &start, &messages, &[7; 3], &mut out)
                        .expect("runs");
                    assert_eq!(ran.map(sha3::Kernel::machine), Some(machine), "another kernel ran");
                    out
                });
            }
        }
    }

    /// One stream, on the machine that `MANYLANE_MACHINE` leaves.
    pub(super) fn sha3_stream(&mut self, machine: Machine) {
        for (name, function) in FUNCTIONS {
            for len in [0, 71, 200, 1000] {
                let name = format!("{machine}: {name}, secret message of {len}");
                self.constant_time(&name, &bytes(32, len), |message| {
                    let mut out = vec![0; function.output_len()];
                    sha3::hash(function, message, &mut out);
                    out
                });
            }
        }
        let name = format!("{machine}: SHAKE256, secret message, output of three blocks");
        self.constant_time(&name, &bytes(33, 300), |message| {
            let mut out = vec![0; 400];
            sha3::hash(Function::SHAKE256.with_output_len(400), message, &mut out);
            out
        });
    }
}
