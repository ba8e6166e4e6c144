//! SHA-3: secret messages and secret prefixes, in lanes and in one stream.

use std::array;

use hmac::{KeyInit as _, Mac as _};
use manylane::{
    Messages,
    cpu::Machine,
    sha3::{self, Function, HmacSha3_256, Kmac128, Lanes, Midstate},
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
        // Taken from where they lie, and of all lengths; more output than a block.
        for (name, lens) in [("64 bytes", [64; COUNT]), ("all lengths", array::from_fn(|i| 9 * i))]
        {
            let name = format!("{machine}: KMAC128 of many, secret key and messages of {name}");
            let secret = bytes(34, 32 + lens.iter().sum::<usize>());
            self.constant_time(&name, &secret, |secret| {
                let (key, mut rest) = secret.split_at(32);
                let messages = lens.map(|len| rest.split_off(..len).expect("as long as all"));
                let mut out = vec![0; COUNT * 200];
                let ran = Kmac128::new(key, b"")
                    .tag_many_on(machine, &Messages::slices(&messages), 200, &mut out)
                    .expect("runs");
                assert_eq!(ran.map(sha3::Kernel::machine), Some(machine), "another kernel ran");
                out
            });
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
        for (key_len, message_len) in [(32, 100), (200, 300)] {
            let name = format!("{machine}: HMAC and KMAC, key {key_len}, message {message_len}");
            self.constant_time(&name, &bytes(35, key_len + message_len), |secret| {
                let (key, message) = secret.split_at(key_len);
                let mut hmac = HmacSha3_256::new_from_slice(key).expect("any length");
                hmac.update(message);
                let mut tags = hmac.finalize().into_bytes().to_vec();
                let kmac = Kmac128::new(key, b"customization").chain_update(message);
                tags.resize(32 + 40, 0);
                kmac.clone().tag(&mut tags[32..]);
                let verified = kmac.verify_tag(&tags[32..]).is_ok();
                tags.push(u8::from(verified));
                tags
            });
        }
    }
}
