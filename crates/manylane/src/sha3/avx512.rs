//! Keccak-p\[1600\] in eight lanes with AVX-512: three-input logic and rotation in one
//! instruction each.
#![allow(unsafe_code)]

mod state;

use ::core::arch::x86_64::*;

use super::{
    Kernel, Machine,
    body::{self, GROUP, Vector},
    dispatch::{Rounds, State, common_blocks},
};
use crate::cpu::Avx512;

pub(super) use self::state::{absorb, permute};

/// Inputs side by side.
pub(super) const LANES: usize = 8;

const KERNEL: Kernel = Kernel::new("sha3/avx512", Machine::Avx512);

#[derive(Clone, Copy)]
struct U64x8(__m512i);

// SAFETY (all functions): callers prove AVX-512 F; `load` and `store` get eight words.
impl Vector for U64x8 {
    /// The parities to the left, and to the right rotated: three-input logic adds both.
    type Effect = (Self, Self);
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn splat(x: u64) -> Self {
        // SAFETY: the caller's proof.
        U64x8(unsafe { _mm512_set1_epi64(x.cast_signed()) })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        U64x8(unsafe { _mm512_xor_si512(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        U64x8(unsafe { _mm512_ternarylogic_epi64::<0x96>(self.0, y.0, z.0) })
    }
    #[inline(always)]
    unsafe fn chi(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        U64x8(unsafe { _mm512_ternarylogic_epi64::<0xd2>(self.0, y.0, z.0) })
    }
    #[inline(always)]
    unsafe fn effect(self, right: Self) -> (Self, Self) {
        // SAFETY: the caller's proof.
        (self, U64x8(unsafe { _mm512_rol_epi64::<1>(right.0) }))
    }
    #[inline(always)]
    unsafe fn theta(self, (left, right): (Self, Self)) -> Self {
        // SAFETY: the caller's proof.
        unsafe { self.xor3(left, right) }
    }
    #[inline(always)]
    unsafe fn theta_rho<const N: i32, const RIGHT: i32>(self, d: (Self, Self)) -> Self {
        // SAFETY: the caller's proof.
        U64x8(unsafe { _mm512_rol_epi64::<N>(self.theta(d).0) })
    }
    #[inline(always)]
    unsafe fn load(lanes: *const u64) -> Self {
        // SAFETY: the caller's eight words.
        U64x8(unsafe { _mm512_loadu_si512(lanes.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, lanes: *mut u64) {
        // SAFETY: the caller's eight words.
        unsafe { _mm512_storeu_si512(lanes.cast(), self.0) }
    }
}

/// For each `rate` bytes of every input: xors them into their lane's state, and permutes all.
pub(super) fn absorb_lanes(
    _: Avx512,
    a: &mut State<LANES>,
    rounds: Rounds,
    rate: usize,
    inputs: &[&[u8]; LANES],
) -> Kernel {
    let blocks = common_blocks(rate, inputs);
    // SAFETY: the token proves the features; every input has `blocks` blocks of `rate` bytes.
    unsafe { absorb_eight(a, &inputs.map(<[u8]>::as_ptr), rounds, rate, blocks) };
    KERNEL
}

/// Permutes every lane's state.
pub(super) fn permute_lanes(_: Avx512, a: &mut State<LANES>, rounds: Rounds) -> Kernel {
    // SAFETY: the token proves the features.
    unsafe { permute_eight(a, rounds) };
    KERNEL
}

#[target_feature(enable = "avx512f")]
fn permute_eight(a: &mut State<LANES>, rounds: Rounds) {
    // SAFETY: the feature is enabled here.
    unsafe { body::permute::<U64x8, LANES>(&mut a.0, rounds) }
}

/// # Safety
/// Each of `inputs` points to `blocks` blocks of `rate` bytes.
#[target_feature(enable = "avx512f")]
unsafe fn absorb_eight(
    a: &mut State<LANES>,
    inputs: &[*const u8; LANES],
    rounds: Rounds,
    rate: usize,
    blocks: usize,
) {
    // SAFETY: the feature is enabled here; four words of each input are at the places asked for.
    unsafe {
        body::absorb::<U64x8, LANES>(&mut a.0, rounds, rate, blocks, |i| {
            transpose(|lane| inputs[lane].add(i))
        });
    }
}

/// Four words from each of eight rows, as four vectors of one word each. Halves of vectors come
/// from memory, where they cost no shuffle.
///
/// # Safety
/// The processor has AVX-512 F, and each row points to 32 bytes.
#[inline(always)]
unsafe fn transpose(row: impl Fn(usize) -> *const u8) -> [U64x8; GROUP] {
    // SAFETY: the caller's proof.
    unsafe {
        let pair = |low: usize| {
            let half = _mm512_castsi256_si512(_mm256_loadu_si256(row(low).cast()));
            _mm512_inserti64x4::<1>(half, _mm256_loadu_si256(row(low + 2).cast()))
        };
        let (r02, r13, r46, r57) = (pair(0), pair(1), pair(4), pair(5));
        let (even03, odd03) = (_mm512_unpacklo_epi64(r02, r13), _mm512_unpackhi_epi64(r02, r13));
        let (even47, odd47) = (_mm512_unpacklo_epi64(r46, r57), _mm512_unpackhi_epi64(r46, r57));
        [
            U64x8(_mm512_shuffle_i64x2::<0x88>(even03, even47)),
            U64x8(_mm512_shuffle_i64x2::<0x88>(odd03, odd47)),
            U64x8(_mm512_shuffle_i64x2::<0xdd>(even03, even47)),
            U64x8(_mm512_shuffle_i64x2::<0xdd>(odd03, odd47)),
        ]
    }
}
