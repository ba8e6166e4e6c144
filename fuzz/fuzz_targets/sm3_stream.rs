//! A stream cut, copied, saved and restored anywhere, on every machine, against the whole message
//! on the portable one.
#![no_main]

use arbitrary::Arbitrary;
use digest::common::hazmat::SerializableState;
use libfuzzer_sys::fuzz_target;
use manylane::sm3::{Digest, Midstate, Sm3};
use manylane_fuzz::{MAX_BYTES, bytes, oracle, stream_machines};

#[derive(Debug, Arbitrary)]
struct Input {
    seed: u64,
    skew: u8,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    /// Absorbs so many bytes.
    Update(u16),
    /// Absorbs so many blocks, and a byte more or less.
    Blocks(u8, bool),
    /// Goes on with a copy.
    Copy,
    /// Goes on with a hasher made of the serialized state.
    Restore,
    /// Starts anew.
    Reset,
}

fuzz_target!(|input: Input| {
    let skew = usize::from(input.skew % 64);
    for machine in stream_machines() {
        let mut sm3 = Sm3::new_on(machine).unwrap();
        let mut midstate = Midstate::default();
        let mut absorbed = Vec::new();
        for step in &input.steps {
            let len = match *step {
                Step::Update(len) => usize::from(len) % 3000,
                Step::Blocks(blocks, less) => {
                    (usize::from(blocks) % 40 * 64 + 1).saturating_sub(2 * usize::from(less))
                }
                Step::Copy => {
                    sm3 = sm3.clone();
                    0
                }
                Step::Restore => {
                    sm3 = Sm3::deserialize(&sm3.serialize()).unwrap();
                    0
                }
                Step::Reset => {
                    digest::Reset::reset(&mut sm3);
                    midstate = Midstate::default();
                    absorbed.clear();
                    0
                }
            };
            let seed = input.seed.wrapping_add(absorbed.len() as u64);
            let data = bytes(skew + len.min(MAX_BYTES - absorbed.len()), seed);
            let part = &data[skew..];
            sm3.update(part);
            midstate = midstate.then(part);
            absorbed.extend_from_slice(part);
        }
        let (at, expected) = (absorbed.len(), oracle(&[&absorbed]));
        assert_eq!(sm3.midstate().finish(b""), expected, "{machine}: midstate of {at} bytes");
        assert_eq!(midstate.finish(b""), expected, "midstate of {at} bytes");
        assert_eq!(sm3.finalize()[..], expected, "{machine}: {at} bytes");
    }
});
