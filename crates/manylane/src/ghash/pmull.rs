//! GHASH with PMULL, a block in a register, eight blocks before a reduction.
#![allow(unsafe_code)]

use ::core::arch::{aarch64::*, asm};

use super::{
    Block, POWERS, Powers,
    lanes::{self, Clmul},
};
use crate::cpu::Armaes;

/// Vectors before a reduction.
const GROUP: usize = 8;

/// A product of two halves, without carries. Assembly, because the compiler's function for it is not inlined into
/// functions without its feature, such as those that are written once for all machines.
macro_rules! product {
    ($name:ident, $instruction:literal) => {
        /// # Safety
        /// The processor has PMULL.
        #[inline(always)]
        unsafe fn $name(x: uint8x16_t, y: uint8x16_t) -> uint8x16_t {
            let product;
            // SAFETY: registers alone are used; the rest is the caller's proof.
            unsafe {
                asm!(
                    $instruction,
                    product = lateout(vreg) product,
                    x = in(vreg) x,
                    y = in(vreg) y,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            product
        }
    };
}
product!(lower, "pmull {product:v}.1q, {x:v}.1d, {y:v}.1d");
product!(upper, "pmull2 {product:v}.1q, {x:v}.2d, {y:v}.2d");

/// The halves of a block the other way round.
///
/// # Safety
/// The processor has NEON.
#[inline(always)]
unsafe fn crossed(v: uint8x16_t) -> uint8x16_t {
    // SAFETY: the caller's proof.
    unsafe { vextq_u8::<8>(v, v) }
}

/// The bytes of a block turned around.
///
/// # Safety
/// The processor has NEON.
#[inline(always)]
unsafe fn turned(v: uint8x16_t) -> uint8x16_t {
    // SAFETY: the caller's proof.
    unsafe { crossed(vrev64q_u8(v)) }
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
        unsafe { lower(self, other) }
    }
    #[inline(always)]
    unsafe fn high(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { upper(self, other) }
    }
    #[inline(always)]
    unsafe fn low_high(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { lower(self, crossed(other)) }
    }
    #[inline(always)]
    unsafe fn high_low(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { upper(self, crossed(other)) }
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
            let low = veorq_u8(crossed(low), lower(low, poly));
            let low = veorq_u8(crossed(low), lower(low, poly));
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
    powers.0[POWERS - 1] = *h;
    // SAFETY: the token proves the features.
    unsafe { fill_powers(powers) }
}

#[target_feature(enable = "neon,aes")]
fn fill_powers(powers: &mut Powers) {
    // SAFETY: the features are enabled here.
    unsafe { lanes::fill::<uint8x16_t>(powers, GROUP) }
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
