//! Keccak-p\[1600\] in plain Rust: one lane, any processor.

use super::{
    Kernel, Machine, RC,
    dispatch::{Portable, Rounds, State, common_blocks},
};

/// Inputs that [`absorb_lanes`] takes side by side.
pub(super) const LANES: usize = 1;

const KERNEL: Kernel = Kernel::new("sha3/portable", Machine::Portable);

/// The offsets of ρ (FIPS 202, table 2), modulo 64, of word x + 5 y.
const RHO: [u32; 25] =
    [0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14];

/// One round: ι ∘ χ ∘ π ∘ ρ ∘ θ of FIPS 202, clause 3.2.
#[inline(always)]
fn round(a: &[u64; 25], rc: u64) -> [u64; 25] {
    let c: [u64; 5] =
        ::core::array::from_fn(|x| a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20]);
    let d: [u64; 5] = ::core::array::from_fn(|x| c[(x + 4) % 5] ^ c[(x + 1) % 5].rotate_left(1));
    let mut e = [0; 25];
    for y in 0..5 {
        let b: [u64; 5] = ::core::array::from_fn(|x| {
            let column = (x + 3 * y) % 5;
            (a[column + 5 * x] ^ d[column]).rotate_left(RHO[column + 5 * x])
        });
        for x in 0..5 {
            e[x + 5 * y] = b[x] ^ (!b[(x + 1) % 5] & b[(x + 2) % 5]);
        }
    }
    e[0] ^= rc;
    e
}

/// Keccak-p\[1600, `rounds`\] (FIPS 202, clause 3.3), for the caller to compile with the features
/// it has.
#[inline(always)]
pub(super) fn permute_words(a: &mut [u64; 25], rounds: Rounds) {
    let mut b = *a;
    for [even, odd] in RC[rounds.first()..].as_chunks::<2>().0 {
        b = round(&round(&b, *even), *odd);
    }
    *a = b;
}

/// Xors each block of `rate` bytes into the state and permutes it, as [`permute_words`].
#[inline(always)]
pub(super) fn absorb_words(a: &mut [u64; 25], rounds: Rounds, rate: usize, blocks: &[u8]) {
    assert!(blocks.len().is_multiple_of(rate), "not whole blocks");
    for block in blocks.chunks_exact(rate) {
        for (word, bytes) in a.iter_mut().zip(block.as_chunks::<8>().0) {
            *word ^= u64::from_le_bytes(*bytes);
        }
        permute_words(a, rounds);
    }
}

/// For each `rate` bytes of `blocks`: xors them into the state, and permutes it.
pub(super) fn absorb(
    _: Portable,
    a: &mut [u64; 25],
    rounds: Rounds,
    rate: usize,
    blocks: &[u8],
) -> Kernel {
    absorb_words(a, rounds, rate, blocks);
    KERNEL
}

/// Permutes the state.
pub(super) fn permute(_: Portable, a: &mut [u64; 25], rounds: Rounds) -> Kernel {
    permute_words(a, rounds);
    KERNEL
}

/// [`absorb`] under the name and shape of the lane machines.
pub(super) fn absorb_lanes(
    token: Portable,
    a: &mut State<LANES>,
    rounds: Rounds,
    rate: usize,
    inputs: &[&[u8]; LANES],
) -> Kernel {
    common_blocks(rate, inputs);
    absorb(token, a.0.as_flattened_mut().try_into().expect("25 words"), rounds, rate, inputs[0])
}

/// [`permute`] under the name and shape of the lane machines.
pub(super) fn permute_lanes(token: Portable, a: &mut State<LANES>, rounds: Rounds) -> Kernel {
    permute(token, a.0.as_flattened_mut().try_into().expect("25 words"), rounds)
}
