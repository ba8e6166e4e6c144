//! Batches of any shape after any prefix and before any foot, with any length of output, on every
//! machine, against one stream for each message.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use manylane::sha3::{self, Function, Midstate};
use manylane_fuzz::{Batch, bytes, sha3_lane_machines};

#[derive(Debug, Arbitrary)]
struct Input {
    function: u8,
    output_len: u16,
    prefix: u16,
    foot: u8,
    from: u16,
    to: u16,
    batch: Batch,
}

const FUNCTIONS: [Function; 8] = [
    Function::SHA3_224,
    Function::SHA3_256,
    Function::SHA3_384,
    Function::SHA3_512,
    Function::KECCAK_256,
    Function::SHAKE128,
    Function::SHAKE256,
    Function::turboshake128(0x1f),
];

fuzz_target!(|input: Input| {
    let mut function = FUNCTIONS[usize::from(input.function) % FUNCTIONS.len()];
    if function.is_xof() {
        function = function.with_output_len(usize::from(input.output_len) % 600);
    }
    let len = function.output_len();
    let prefix = bytes(usize::from(input.prefix) % 500, 3);
    let foot = bytes(usize::from(input.foot) % 33, 4);
    let start = Midstate::after(function, &prefix);
    input.batch.with(|all| {
        let to = usize::from(input.to) % (all.len() + 1);
        let part = all.range(usize::from(input.from) % (to + 1), to);
        for messages in [*all, part] {
            let mut expected = vec![0; messages.len() * len];
            for i in 0..messages.len() {
                let message = [&prefix[..], messages.get(i), &foot].concat();
                sha3::hash(function, &message, &mut expected[i * len..][..len]);
            }
            let mut out = vec![0xee; expected.len()];
            for machine in sha3_lane_machines() {
                let ran = sha3::hash_many_on(machine, &start, &messages, &foot, &mut out).unwrap();
                assert!(out.is_empty() || ran.unwrap().machine() == machine);
                assert_eq!(out, expected, "{machine}");
                out.fill(0xee);
            }
            sha3::hash_many_after(&start, &messages, &foot, &mut out).unwrap();
            assert_eq!(out, expected);
        }
    });
});
