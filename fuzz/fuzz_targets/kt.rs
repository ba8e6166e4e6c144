//! A tree put together from data in pieces and from chaining values computed apart, copied and
//! reset anywhere, on every machine, against RFC 9861's definition by TurboSHAKE.
#![no_main]

use arbitrary::Arbitrary;
use digest::{ExtendableOutput, Reset, Update, XofReader};
use libfuzzer_sys::fuzz_target;
use manylane::sha3::{self, Function, KT_CHUNK_LEN, Kt};
use manylane_fuzz::{MAX_BYTES, bytes, sha3_lane_machines};

#[derive(Debug, Arbitrary)]
struct Input {
    seed: u64,
    is_256: bool,
    customization: u16,
    output: u8,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    /// Absorbs so many bytes.
    Update(u16),
    /// Absorbs up to the end of a chunk, or a byte more or less, and so many chunks.
    Chunks(u8, i8),
    /// Pushes the chaining values of so many chunks, where that is allowed.
    Push(u8),
    /// Goes on with a copy.
    Copy,
    /// Starts anew.
    Reset,
}

/// RFC 9861, clause 3.2.
fn oracle<const RATE: usize>(message: &[u8], customization: &[u8], out: &mut [u8]) {
    let turboshake = |domain: u8, input: &[u8], out: &mut [u8]| {
        let function = match RATE {
            168 => Function::turboshake128(domain),
            _ => Function::turboshake256(domain),
        };
        sha3::hash(function.with_output_len(out.len()), input, out);
    };
    let length_encode = |x: usize| {
        let mut bytes = x.to_be_bytes().to_vec();
        bytes.drain(..x.leading_zeros() as usize / 8);
        bytes.push(bytes.len() as u8);
        bytes
    };
    let s = [message, customization, &length_encode(customization.len())].concat();
    if s.len() <= KT_CHUNK_LEN {
        return turboshake(7, &s, out);
    }
    let (first, others) = s.split_at(KT_CHUNK_LEN);
    let mut node = [first, &[3, 0, 0, 0, 0, 0, 0, 0]].concat();
    for leaf in others.chunks(KT_CHUNK_LEN) {
        let mut value = vec![0; 200 - RATE];
        turboshake(11, leaf, &mut value);
        node.extend(value);
    }
    node.extend(length_encode(others.len().div_ceil(KT_CHUNK_LEN)));
    node.extend([0xff, 0xff]);
    turboshake(6, &node, out);
}

fn check<const RATE: usize>(input: &Input) {
    let customization = bytes(usize::from(input.customization) % 20_000, input.seed);
    for machine in sha3_lane_machines() {
        let mut kt = Kt::<RATE>::new_on(machine, &customization).unwrap();
        let mut absorbed = Vec::new();
        for step in &input.steps {
            let left = MAX_BYTES - absorbed.len();
            let to_end = KT_CHUNK_LEN - absorbed.len() % KT_CHUNK_LEN;
            let seed = input.seed.wrapping_add(absorbed.len() as u64);
            let (len, is_pushed) = match *step {
                Step::Update(len) => (usize::from(len), false),
                Step::Chunks(chunks, more) => {
                    let len = to_end + usize::from(chunks % 20) * KT_CHUNK_LEN;
                    (len.saturating_add_signed((more % 2).into()), false)
                }
                Step::Push(chunks) => {
                    let is_allowed = to_end == KT_CHUNK_LEN && !absorbed.is_empty();
                    let chunks = usize::from(chunks % 10).min(left / KT_CHUNK_LEN);
                    (if is_allowed { chunks * KT_CHUNK_LEN } else { 0 }, is_allowed)
                }
                Step::Copy => {
                    kt = kt.clone();
                    continue;
                }
                Step::Reset => {
                    kt.reset();
                    absorbed.clear();
                    continue;
                }
            };
            let data = bytes(len.min(left), seed);
            if is_pushed {
                let mut values =
                    vec![0; data.len() / KT_CHUNK_LEN * Kt::<RATE>::CHAINING_VALUE_LEN];
                Kt::<RATE>::chaining_values(&data, &mut values).unwrap();
                kt.push_chaining_values(&values);
            } else {
                kt.update(&data);
            }
            absorbed.extend_from_slice(&data);
        }
        let mut out = vec![0; 2 * usize::from(input.output)];
        let mut expected = out.clone();
        oracle::<RATE>(&absorbed, &customization, &mut expected);
        kt.finalize_xof().read(&mut out);
        assert_eq!(out, expected, "{machine}: {} bytes", absorbed.len());
        let mut whole = Kt::<RATE>::new(&customization);
        whole.update(&absorbed);
        whole.finalize(&mut out);
        assert_eq!(out, expected, "{} bytes at once", absorbed.len());
    }
}

fuzz_target!(|input: Input| {
    if input.is_256 { check::<136>(&input) } else { check::<168>(&input) }
});
