//! Keccak-p\[1600\] of one stream in general registers: `rorx` rotates without a copy, `andn` is
//! χ's not-and.
#![allow(unsafe_code)]

use super::{Kernel, Machine, dispatch::Rounds, portable};
use crate::cpu::Bmi2;

const KERNEL: Kernel = Kernel::new("sha3/bmi2", Machine::Bmi2);

/// For each `rate` bytes of `blocks`: xors them into the state, and permutes it.
pub(super) fn absorb(
    _: Bmi2,
    a: &mut [u64; 25],
    rounds: Rounds,
    rate: usize,
    blocks: &[u8],
) -> Kernel {
    // SAFETY: the token proves the features.
    unsafe { absorb_blocks(a, rounds, rate, blocks) };
    KERNEL
}

/// Permutes the state.
pub(super) fn permute(_: Bmi2, a: &mut [u64; 25], rounds: Rounds) -> Kernel {
    // SAFETY: the token proves the features.
    unsafe { permute_state(a, rounds) };
    KERNEL
}

#[target_feature(enable = "bmi1,bmi2")]
fn absorb_blocks(a: &mut [u64; 25], rounds: Rounds, rate: usize, blocks: &[u8]) {
    portable::absorb_words(a, rounds, rate, blocks);
}

#[target_feature(enable = "bmi1,bmi2")]
fn permute_state(a: &mut [u64; 25], rounds: Rounds) {
    portable::permute_words(a, rounds);
}
