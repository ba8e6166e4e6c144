//! Keccak-p\[1600\] in four lanes with AVX2.
//!
//! Sixteen registers do not hold 25 words, so that most of them live on the stack; their loads
//! and stores have ports of their own.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{
    Kernel, Machine,
    body::{self, GROUP, Vector},
    dispatch::{Rounds, State, common_blocks},
};
use crate::cpu::Avx2;

/// Inputs side by side.
pub(super) const LANES: usize = 4;

const KERNEL: Kernel = Kernel::new("sha3/avx2", Machine::Avx2);

#[derive(Clone, Copy)]
struct U64x4(__m256i);

// SAFETY (all functions): callers prove AVX2; `load` and `store` get four words.
impl Vector for U64x4 {
    /// D itself.
    type Effect = Self;
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn splat(x: u64) -> Self {
        // SAFETY: the caller's proof.
        U64x4(unsafe { _mm256_set1_epi64x(x.cast_signed()) })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        U64x4(unsafe { _mm256_xor_si256(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { self.xor(y).xor(z) }
    }
    #[inline(always)]
    unsafe fn chi(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { self.xor(U64x4(_mm256_andnot_si256(y.0, z.0))) }
    }
    #[inline(always)]
    unsafe fn effect(self, right: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { self.xor(right.rol::<1, 63>()) }
    }
    #[inline(always)]
    unsafe fn theta(self, d: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { self.xor(d) }
    }
    #[inline(always)]
    unsafe fn theta_rho<const N: i32, const RIGHT: i32>(self, d: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { self.xor(d).rol::<N, RIGHT>() }
    }
    #[inline(always)]
    unsafe fn load(lanes: *const u64) -> Self {
        // SAFETY: the caller's four words.
        U64x4(unsafe { _mm256_loadu_si256(lanes.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, lanes: *mut u64) {
        // SAFETY: the caller's four words.
        unsafe { _mm256_storeu_si256(lanes.cast(), self.0) }
    }
}

impl U64x4 {
    /// Rotation to the left by `N` bits, of which `RIGHT` is 64 - `N`; by whole bytes in one shuffle.
    ///
    /// # Safety
    /// The processor has AVX2.
    #[inline(always)]
    unsafe fn rol<const N: i32, const RIGHT: i32>(self) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            let bytes = match N {
                8 => _mm256_broadcastsi128_si256(_mm_setr_epi8(
                    7, 0, 1, 2, 3, 4, 5, 6, 15, 8, 9, 10, 11, 12, 13, 14,
                )),
                56 => _mm256_broadcastsi128_si256(_mm_setr_epi8(
                    1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11, 12, 13, 14, 15, 8,
                )),
                _ => {
                    let left = _mm256_slli_epi64::<N>(self.0);
                    return U64x4(_mm256_or_si256(left, _mm256_srli_epi64::<RIGHT>(self.0)));
                }
            };
            U64x4(_mm256_shuffle_epi8(self.0, bytes))
        }
    }
}

/// For each `rate` bytes of every input: xors them into their lane's state, and permutes all.
pub(super) fn absorb_lanes(
    _: Avx2,
    a: &mut State<LANES>,
    rounds: Rounds,
    rate: usize,
    inputs: &[&[u8]; LANES],
) -> Kernel {
    let blocks = common_blocks(rate, inputs);
    // SAFETY: the token proves the feature; every input has `blocks` blocks of `rate` bytes.
    unsafe { absorb_four(a, &inputs.map(<[u8]>::as_ptr), rounds, rate, blocks) };
    KERNEL
}

/// Permutes every lane's state.
pub(super) fn permute_lanes(_: Avx2, a: &mut State<LANES>, rounds: Rounds) -> Kernel {
    // SAFETY: the token proves the feature.
    unsafe { permute_four(a, rounds) };
    KERNEL
}

#[target_feature(enable = "avx2")]
fn permute_four(a: &mut State<LANES>, rounds: Rounds) {
    // SAFETY: the feature is enabled here.
    unsafe { body::permute::<U64x4, LANES>(&mut a.0, rounds) }
}

/// # Safety
/// Each of `inputs` points to `blocks` blocks of `rate` bytes.
#[target_feature(enable = "avx2")]
unsafe fn absorb_four(
    a: &mut State<LANES>,
    inputs: &[*const u8; LANES],
    rounds: Rounds,
    rate: usize,
    blocks: usize,
) {
    // SAFETY: the feature is enabled here; four words of each input are at the places asked for.
    unsafe {
        body::absorb::<U64x4, LANES>(&mut a.0, rounds, rate, blocks, |i| {
            transpose(|lane| inputs[lane].add(i))
        });
    }
}

/// Four words from each of four rows, as four vectors of one word each. Halves of vectors come
/// from memory, where they cost no shuffle.
///
/// # Safety
/// The processor has AVX2, and each row points to 32 bytes.
#[inline(always)]
unsafe fn transpose(row: impl Fn(usize) -> *const u8) -> [U64x4; GROUP] {
    // SAFETY: the caller's proof.
    unsafe {
        let pair = |low: usize, byte: usize| {
            let half = _mm256_castsi128_si256(_mm_loadu_si128(row(low).add(byte).cast()));
            _mm256_inserti128_si256::<1>(half, _mm_loadu_si128(row(low + 2).add(byte).cast()))
        };
        let (low02, low13) = (pair(0, 0), pair(1, 0));
        let (high02, high13) = (pair(0, 16), pair(1, 16));
        [
            U64x4(_mm256_unpacklo_epi64(low02, low13)),
            U64x4(_mm256_unpackhi_epi64(low02, low13)),
            U64x4(_mm256_unpacklo_epi64(high02, high13)),
            U64x4(_mm256_unpackhi_epi64(high02, high13)),
        ]
    }
}
