//! Every machine's kernels against the portable one, block by block; known answers are in
//! `tests/`.

use super::{
    dispatch::{Cell, Lanes, Rounds, State, Stream, with_lanes},
    portable,
};
use crate::cpu::Machine;

/// Bytes of a block, of all functions.
const RATES: [usize; 5] = [168, 144, 136, 104, 72];

/// A state without a pattern, another for each `seed`.
fn state(seed: u64) -> [u64; 25] {
    core::array::from_fn(|i| {
        (25 * seed + i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(27)
    })
}

/// Bytes without a pattern.
fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| ((i * i + 31 * i) >> 3) as u8 ^ i as u8).collect()
}

/// Calls `check` with every number of rounds, rate, and small number of blocks.
fn for_each_shape(mut check: impl FnMut(Rounds, usize, usize)) {
    for rounds in [Rounds::Twelve, Rounds::TwentyFour] {
        for rate in RATES {
            for blocks in 0..4 {
                check(rounds, rate, blocks);
            }
        }
    }
}

#[test]
fn kernels_of_streams() {
    let data = bytes(3 * 168 + 1);
    for machine in Machine::ALL {
        let Ok(stream) = Stream::on(machine) else { continue };
        for_each_shape(|rounds, rate, blocks| {
            // From an odd address, as blocks of a message may be.
            let blocks = &data[1..][..rate * blocks];
            let (mut a, mut expected) = (state(0), state(0));
            assert_eq!(stream.absorb(&mut a, rounds, rate, blocks).machine(), machine);
            portable::absorb_words(&mut expected, rounds, rate, blocks);
            assert_eq!(a, expected, "{machine}, {rounds:?}, rate {rate}, {} bytes", blocks.len());
            assert_eq!(stream.permute(&mut a, rounds).machine(), machine);
            portable::permute_words(&mut expected, rounds);
            assert_eq!(a, expected, "{machine}: permute, {rounds:?}");
        });
    }
}

#[test]
fn kernels_of_lanes() {
    for machine in Machine::ALL {
        if let Ok(cell) = Cell::on(machine) {
            with_lanes!(cell, lanes => check_lanes(machine, lanes));
        }
    }
}

fn check_lanes<const L: usize, C: Lanes<L>>(machine: Machine, lanes: C) {
    let data = bytes(L * 520);
    for_each_shape(|rounds, rate, blocks| {
        // Each lane from another remainder of an alignment.
        let inputs: [&[u8]; L] =
            core::array::from_fn(|lane| &data[lane * 520 + lane % 8..][..rate * blocks]);
        let mut a = State([[0; L]; 25]);
        let mut expected: [[u64; 25]; L] = core::array::from_fn(|lane| state(lane as u64));
        for lane in 0..L {
            a.set(lane, &expected[lane]);
        }
        assert_eq!(lanes.absorb_lanes(&mut a, rounds, rate, &inputs).machine(), machine);
        for lane in 0..L {
            portable::absorb_words(&mut expected[lane], rounds, rate, inputs[lane]);
            let name = format!("{machine}, {rounds:?}, rate {rate}, {blocks} blocks, lane {lane}");
            assert_eq!(a.get(lane), expected[lane], "{name}");
        }
        assert_eq!(lanes.permute_lanes(&mut a, rounds).machine(), machine);
        for lane in 0..L {
            portable::permute_words(&mut expected[lane], rounds);
            assert_eq!(a.get(lane), expected[lane], "{machine}: permute, {rounds:?}, lane {lane}");
        }
    });
}
