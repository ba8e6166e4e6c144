//! Batches of any shape after any prefix, on every machine, against the portable stream.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use manylane::sm3::{self, Midstate};
use manylane_fuzz::{Batch, bytes, lane_machines, oracle};

#[derive(Debug, Arbitrary)]
struct Input {
    prefix: u8,
    from: u16,
    to: u16,
    batch: Batch,
}

fuzz_target!(|input: Input| {
    let prefix = bytes(usize::from(input.prefix), 3);
    let start = Midstate::after(&prefix);
    input.batch.with(|all| {
        let to = usize::from(input.to) % (all.len() + 1);
        let part = all.range(usize::from(input.from) % (to + 1), to);
        for messages in [*all, part] {
            let expected: Vec<[u8; 32]> =
                (0..messages.len()).map(|i| oracle(&[&prefix, messages.get(i)])).collect();
            let mut out = vec![[0xee; 32]; messages.len()];
            for machine in lane_machines() {
                let kernel = sm3::hash_many_on(machine, &start, &messages, &mut out).unwrap();
                assert!(out.is_empty() || kernel.unwrap().machine() == machine);
                assert_eq!(out, expected, "{machine}");
                out.fill([0xee; 32]);
            }
            sm3::hash_many_after(&start, &messages, &mut out).unwrap();
            assert_eq!(out, expected);
        }
    });
});
