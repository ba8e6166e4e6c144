//! Keccak-p\[1600\] in two lanes with AArch64's Advanced SIMD.
#![allow(unsafe_code)]

use ::core::arch::aarch64::*;

use super::{
    Kernel, Machine,
    body::{self, GROUP, Vector},
    dispatch::{Rounds, State, common_blocks},
};
use crate::cpu::Neon;

/// Inputs side by side.
pub(super) const LANES: usize = 2;

const KERNEL: Kernel = Kernel::new("sha3/neon", Machine::Neon);

#[derive(Clone, Copy)]
struct U64x2(uint64x2_t);

// SAFETY (all functions): callers prove Advanced SIMD; `load` and `store` get two words.
impl Vector for U64x2 {
    /// D itself.
    type Effect = Self;
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn splat(x: u64) -> Self {
        // SAFETY: the caller's proof.
        U64x2(unsafe { vdupq_n_u64(x) })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        U64x2(unsafe { veorq_u64(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { self.xor(y).xor(z) }
    }
    #[inline(always)]
    unsafe fn chi(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { self.xor(U64x2(vbicq_u64(z.0, y.0))) }
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
        // SAFETY: the caller's two words.
        U64x2(unsafe { vld1q_u64(lanes) })
    }
    #[inline(always)]
    unsafe fn store(self, lanes: *mut u64) {
        // SAFETY: the caller's two words.
        unsafe { vst1q_u64(lanes, self.0) }
    }
}

impl U64x2 {
    /// Rotation to the left by `N` bits, of which `RIGHT` is 64 - `N`.
    ///
    /// # Safety
    /// The processor has Advanced SIMD.
    #[inline(always)]
    unsafe fn rol<const N: i32, const RIGHT: i32>(self) -> Self {
        // SAFETY: the caller's proof.
        U64x2(unsafe { vsriq_n_u64::<RIGHT>(vshlq_n_u64::<N>(self.0), self.0) })
    }
}

/// For each `rate` bytes of every input: xors them into their lane's state, and permutes all.
pub(super) fn absorb_lanes(
    _: Neon,
    a: &mut State<LANES>,
    rounds: Rounds,
    rate: usize,
    inputs: &[&[u8]; LANES],
) -> Kernel {
    let blocks = common_blocks(rate, inputs);
    // SAFETY: the token proves the features; every input has `blocks` blocks of `rate` bytes.
    unsafe { absorb_two(a, &inputs.map(<[u8]>::as_ptr), rounds, rate, blocks) };
    KERNEL
}

/// Permutes every lane's state.
pub(super) fn permute_lanes(_: Neon, a: &mut State<LANES>, rounds: Rounds) -> Kernel {
    // SAFETY: the token proves the features.
    unsafe { permute_two(a, rounds) };
    KERNEL
}

// The feature is part of every target's baseline, so that, unlike on other machines, only the
// attribute keeps the function whole, for checks of the object code to find.
#[inline(never)]
#[target_feature(enable = "neon")]
fn permute_two(a: &mut State<LANES>, rounds: Rounds) {
    // SAFETY: the features are enabled here.
    unsafe { body::permute::<U64x2, LANES>(&mut a.0, rounds) }
}

/// # Safety
/// Each of `inputs` points to `blocks` blocks of `rate` bytes.
#[inline(never)]
#[target_feature(enable = "neon")]
unsafe fn absorb_two(
    a: &mut State<LANES>,
    inputs: &[*const u8; LANES],
    rounds: Rounds,
    rate: usize,
    blocks: usize,
) {
    // SAFETY: the features are enabled here; four words of each input are at the places asked for.
    unsafe {
        body::absorb::<U64x2, LANES>(&mut a.0, rounds, rate, blocks, |i| {
            transpose(inputs[0].add(i), inputs[1].add(i)).map(U64x2)
        });
    }
}

/// Four words from each of two rows, as four vectors of one word each.
///
/// # Safety
/// The processor has Advanced SIMD, and each row points to 32 bytes.
#[inline(always)]
pub(super) unsafe fn transpose(row0: *const u8, row1: *const u8) -> [uint64x2_t; GROUP] {
    // SAFETY: the caller's proof.
    unsafe {
        let words = |row: *const u8, i| vreinterpretq_u64_u8(vld1q_u8(row.add(i)));
        let (low0, high0) = (words(row0, 0), words(row0, 16));
        let (low1, high1) = (words(row1, 0), words(row1, 16));
        [
            vtrn1q_u64(low0, low1),
            vtrn2q_u64(low0, low1),
            vtrn1q_u64(high0, high1),
            vtrn2q_u64(high0, high1),
        ]
    }
}
