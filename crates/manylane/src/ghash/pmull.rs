//! GHASH with PMULL, a block in a register, eight blocks before a reduction.
#![allow(unsafe_code)]

use ::core::arch::aarch64::*;

use super::{
    Block, Powers,
    lanes::{self, Clmul},
};
use crate::cpu::Armaes;

/// Vectors before a reduction.
const GROUP: usize = 8;

/// A product of the halves `i` of `x` and `j` of `y`.
///
/// # Safety
/// The processor has PMULL.
#[inline(always)]
unsafe fn multiply<const I: i32, const J: i32>(x: uint8x16_t, y: uint8x16_t) -> uint8x16_t {
    // SAFETY: the caller's proof.
    unsafe {
        let x = vgetq_lane_p64::<I>(vreinterpretq_p64_u8(x));
        let y = vgetq_lane_p64::<J>(vreinterpretq_p64_u8(y));
        vreinterpretq_u8_p128(vmull_p64(x, y))
    }
}

/// The bytes of a block turned around.
///
/// # Safety
/// The processor has NEON.
#[inline(always)]
unsafe fn turned(v: uint8x16_t) -> uint8x16_t {
    // SAFETY: the caller's proof.
    unsafe {
        let halves = vrev64q_u8(v);
        vextq_u8::<8>(halves, halves)
    }
}

// SAFETY (all functions): callers prove PMULL, and blocks to load and store.
impl Clmul for uint8x16_t {
    const BLOCKS: usize = 1;
    type One = uint8x16_t;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller's proof.
        unsafe { vdupq_n_u8(0) }
    }
    #[inline(always)]
    unsafe fn load(data: *const Block) -> Self {
        // SAFETY: the caller's block.
        unsafe { turned(vld1q_u8(data.cast())) }
    }
    #[inline(always)]
    unsafe fn load_powers(data: *const Block) -> Self {
        // SAFETY: the caller's block.
        unsafe { vld1q_u8(data.cast()) }
    }
    #[inline(always)]
    unsafe fn xor_first(self, one: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { veorq_u8(self, one) }
    }
    #[inline(always)]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { veorq_u8(self, veorq_u8(y, z)) }
    }
    #[inline(always)]
    unsafe fn low(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { multiply::<0, 0>(self, other) }
    }
    #[inline(always)]
    unsafe fn high(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { multiply::<1, 1>(self, other) }
    }
    #[inline(always)]
    unsafe fn low_high(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { multiply::<0, 1>(self, other) }
    }
    #[inline(always)]
    unsafe fn high_low(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { multiply::<1, 0>(self, other) }
    }
    #[inline(always)]
    unsafe fn reduce(low: Self, cross: Self, high: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            let zero = vdupq_n_u8(0);
            let low = veorq_u8(low, vextq_u8::<8>(zero, cross));
            let high = veorq_u8(high, vextq_u8::<8>(cross, zero));
            // As in `pclmul`: what the lowest 64 bits are further up, twice.
            let poly = vreinterpretq_u8_u64(vdupq_n_u64(0xc2 << 56));
            let low = veorq_u8(vextq_u8::<8>(low, low), multiply::<0, 0>(low, poly));
            let low = veorq_u8(vextq_u8::<8>(low, low), multiply::<0, 0>(low, poly));
            veorq_u8(high, low)
        }
    }
    #[inline(always)]
    unsafe fn store(one: Self, data: *mut Block) {
        // SAFETY: the caller's block.
        unsafe { vst1q_u8(data.cast(), turned(one)) }
    }
    #[inline(always)]
    unsafe fn store_power(one: Self, data: *mut Block) {
        // SAFETY: the caller's block.
        unsafe { vst1q_u8(data.cast(), one) }
    }
}

/// Makes the powers that [`update`] uses.
pub(super) fn prepare(_: Armaes, h: &Block, powers: &mut Powers) {
    // SAFETY: the token proves the features.
    unsafe { fill_powers(h, powers) }
}

#[target_feature(enable = "neon,aes")]
fn fill_powers(h: &Block, powers: &mut Powers) {
    // SAFETY: the features are enabled here.
    unsafe { lanes::fill::<uint8x16_t>(h, powers, GROUP) }
}

/// y = (y + block) · H for every block.
pub(super) fn update(_: Armaes, powers: &Powers, y: &mut Block, blocks: &[Block]) {
    // SAFETY: the token proves the features.
    unsafe { kernel(powers, y, blocks) }
}

#[target_feature(enable = "neon,aes")]
fn kernel(powers: &Powers, y: &mut Block, blocks: &[Block]) {
    // SAFETY: the features are enabled here; `prepare` made a group's powers.
    unsafe { lanes::update::<uint8x16_t, GROUP>(powers, y, blocks) }
}
