//! A stream cut, copied, saved and restored anywhere, on every machine, against the whole message
//! on the portable one; an XOF's output read in pieces.
#![no_main]

use arbitrary::Arbitrary;
use digest::{ExtendableOutput, Reset, Update, XofReader, common::hazmat::SerializableState};
use libfuzzer_sys::fuzz_target;
use manylane::{
    cpu::Machine,
    sha3::{Digest, Function, Midstate, Sha3_256, Sha3_512, Shake128},
};
use manylane_fuzz::{MAX_BYTES, bytes};

#[derive(Debug, Arbitrary)]
struct Input {
    seed: u64,
    skew: u8,
    steps: Vec<Step>,
    reads: Vec<u16>,
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

/// Feeds a hasher as the input says: the bytes it has absorbed, and their midstate.
fn feed<H>(input: &Input, function: Function, hasher: &mut H) -> (Vec<u8>, Midstate)
where
    H: Update + Reset + Clone + SerializableState,
{
    let skew = usize::from(input.skew % 64);
    let (mut midstate, mut absorbed) = (Midstate::new(function), Vec::new());
    for step in &input.steps {
        let mut len = 0;
        match *step {
            Step::Update(bytes) => len = usize::from(bytes) % 3000,
            Step::Blocks(blocks, less) => {
                let whole = usize::from(blocks) % 20 * function.rate();
                len = (whole + 1).saturating_sub(2 * usize::from(less));
            }
            Step::Copy => *hasher = hasher.clone(),
            Step::Restore => *hasher = H::deserialize(&hasher.serialize()).unwrap(),
            Step::Reset => {
                hasher.reset();
                midstate = Midstate::new(function);
                absorbed.clear();
            }
        }
        let seed = input.seed.wrapping_add(absorbed.len() as u64);
        let data = bytes(skew + len.min(MAX_BYTES - absorbed.len()), seed);
        let part = &data[skew..];
        hasher.update(part);
        midstate = midstate.then(part);
        absorbed.extend_from_slice(part);
    }
    (absorbed, midstate)
}

fn machines() -> impl Iterator<Item = Machine> {
    Machine::ALL.into_iter().filter(|&machine| Sha3_256::new_on(machine).is_ok())
}

fuzz_target!(|input: Input| {
    for machine in machines() {
        macro_rules! fixed {
            ($hasher:ty) => {
                let mut hasher = <$hasher>::new_on(machine).unwrap();
                let function = <$hasher>::FUNCTION;
                let (absorbed, midstate) = feed(&input, function, &mut hasher);
                let whole = <$hasher>::new_on(Machine::Portable).unwrap();
                let expected = whole.chain_update(&absorbed).finalize();
                for midstate in [midstate, hasher.midstate()] {
                    let mut out = vec![0; function.output_len()];
                    midstate.finish(b"", &mut out);
                    assert_eq!(out[..], expected[..], "{machine}: midstate");
                }
                assert_eq!(hasher.finalize(), expected, "{machine}: {} bytes", absorbed.len());
            };
        }
        fixed!(Sha3_256);
        fixed!(Sha3_512);

        let mut hasher = Shake128::new_on(machine).unwrap();
        let (absorbed, midstate) = feed(&input, Shake128::FUNCTION, &mut hasher);
        let mut out = [0; 1000];
        let mut reader = hasher.finalize_xof();
        let mut at = 0;
        for read in &input.reads {
            let len = usize::from(read % 400).min(out.len() - at);
            reader.read(&mut out[at..at + len]);
            at += len;
        }
        reader.read(&mut out[at..]);
        let mut expected = [0; 1000];
        let whole = Shake128::new_on(Machine::Portable).unwrap();
        whole.chain(&absorbed).finalize_xof().read(&mut expected);
        assert_eq!(out, expected, "{machine}: {} bytes", absorbed.len());
        midstate.finish(b"", &mut out);
        assert_eq!(out, expected, "midstate of {} bytes", absorbed.len());
    }
});
