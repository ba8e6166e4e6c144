//! Messages under keys, both of any shape, on every machine, against RFC 2104 on the portable
//! stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use manylane::{Error, sm3};
use manylane_fuzz::{Batch, hmac_oracle, lane_machines};

fuzz_target!(|input: (Batch, Batch)| {
    input.0.with(|keys| {
        input.1.with(|messages| {
            if keys.len() != messages.len() {
                let mut out = vec![[0xee; 32]; messages.len()];
                let error = Error::CountMismatch { keys: keys.len(), messages: messages.len() };
                assert_eq!(sm3::hmac_many(keys, messages, &mut out), Err(error));
                assert!(out.iter().all(|tag| *tag == [0xee; 32]));
            }
            let count = keys.len().min(messages.len());
            let (keys, messages) = (keys.range(0, count), messages.range(0, count));
            let expected: Vec<[u8; 32]> =
                (0..count).map(|i| hmac_oracle(keys.get(i), messages.get(i))).collect();
            let mut out = vec![[0xee; 32]; count];
            for machine in lane_machines() {
                let kernel = sm3::hmac_many_on(machine, &keys, &messages, &mut out).unwrap();
                assert!(out.is_empty() || kernel.unwrap().machine() == machine);
                assert_eq!(out, expected, "{machine}");
                out.fill([0xee; 32]);
            }
            sm3::hmac_many(&keys, &messages, &mut out).unwrap();
            assert_eq!(out, expected);
        });
    });
});
