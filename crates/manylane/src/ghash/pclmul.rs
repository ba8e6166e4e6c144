//! GHASH with PCLMULQDQ, a block in a register, eight blocks before a reduction.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{
    Block, POWERS, Powers,
    lanes::{self, Clmul},
};
use crate::cpu::Aesni;

/// Vectors before a reduction.
const GROUP: usize = 8;

// SAFETY (all functions): callers prove PCLMULQDQ and SSSE3, and blocks to load and store.
impl Clmul for __m128i {
    const BLOCKS: usize = 1;
    type One = __m128i;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm_setzero_si128() }
    }
    #[inline(always)]
    unsafe fn load(data: *const Block) -> Self {
        // SAFETY: the caller's block.
        unsafe { _mm_shuffle_epi8(_mm_loadu_si128(data.cast()), turn()) }
    }
    #[inline(always)]
    unsafe fn load_powers(data: *const Block) -> Self {
        // SAFETY: the caller's block.
        unsafe { _mm_loadu_si128(data.cast()) }
    }
    #[inline(always)]
    unsafe fn xor_first(self, one: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm_xor_si128(self, one) }
    }
    #[inline(always)]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm_xor_si128(self, _mm_xor_si128(y, z)) }
    }
    #[inline(always)]
    unsafe fn low(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm_clmulepi64_si128::<0x00>(self, other) }
    }
    #[inline(always)]
    unsafe fn high(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm_clmulepi64_si128::<0x11>(self, other) }
    }
    #[inline(always)]
    unsafe fn low_high(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm_clmulepi64_si128::<0x10>(self, other) }
    }
    #[inline(always)]
    unsafe fn high_low(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm_clmulepi64_si128::<0x01>(self, other) }
    }
    #[inline(always)]
    unsafe fn reduce(low: Self, cross: Self, high: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            let low = _mm_xor_si128(low, _mm_slli_si128::<8>(cross));
            let high = _mm_xor_si128(high, _mm_srli_si128::<8>(cross));
            // The lowest 64 bits are x¹⁹² and more: times x⁻¹²⁸ + x⁻¹²⁷ + x⁻¹²⁶ + x⁻¹²¹ they are 128 places
            // further up, and 127, 126 and 121. So twice.
            let poly = _mm_set_epi64x(0, 0xc2_u64.cast_signed() << 56);
            let low = _mm_xor_si128(
                _mm_shuffle_epi32::<0x4e>(low),
                _mm_clmulepi64_si128::<0x00>(low, poly),
            );
            let low = _mm_xor_si128(
                _mm_shuffle_epi32::<0x4e>(low),
                _mm_clmulepi64_si128::<0x00>(low, poly),
            );
            _mm_xor_si128(high, low)
        }
    }
    #[inline(always)]
    unsafe fn store(one: Self, data: *mut Block) {
        // SAFETY: the caller's block.
        unsafe { _mm_storeu_si128(data.cast(), _mm_shuffle_epi8(one, turn())) }
    }
    #[inline(always)]
    unsafe fn store_power(one: Self, data: *mut Block) {
        // SAFETY: the caller's block.
        unsafe { _mm_storeu_si128(data.cast(), one) }
    }
}

/// Turns a block's bytes around.
///
/// # Safety
/// The processor has SSE2.
#[inline(always)]
unsafe fn turn() -> __m128i {
    // SAFETY: the caller's proof.
    unsafe { _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0) }
}

/// Makes `count` powers of H.
pub(super) fn fill(_: Aesni, h: &Block, powers: &mut Powers, count: usize) {
    powers.0[POWERS - 1] = *h;
    // SAFETY: the token proves the features.
    unsafe { fill_powers(powers, count) }
}

#[target_feature(enable = "pclmulqdq,ssse3")]
fn fill_powers(powers: &mut Powers, count: usize) {
    // SAFETY: the features are enabled here.
    unsafe { lanes::fill::<__m128i>(powers, count) }
}

/// Makes the powers that [`update`] uses.
pub(super) fn prepare(token: Aesni, h: &Block, powers: &mut Powers) {
    fill(token, h, powers, GROUP);
}

/// y = (y + block) · H for every block.
pub(super) fn update(_: Aesni, powers: &Powers, y: &mut Block, blocks: &[Block]) {
    // SAFETY: the token proves the features.
    unsafe { kernel(powers, y, blocks) }
}

#[target_feature(enable = "pclmulqdq,ssse3")]
fn kernel(powers: &Powers, y: &mut Block, blocks: &[Block]) {
    // SAFETY: the features are enabled here; `prepare` made a group's powers.
    unsafe { lanes::update::<__m128i, GROUP>(powers, y, blocks) }
}
