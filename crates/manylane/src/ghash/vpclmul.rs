//! GHASH with VPCLMULQDQ on AVX-512, four blocks in a register, thirty-two before a reduction.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{
    Block, POWERS, Powers,
    lanes::{self, Clmul},
    pclmul,
};
use crate::cpu::Vaes;

/// Vectors before a reduction.
const GROUP: usize = POWERS / 4;

// SAFETY (all functions): callers prove AVX-512 F, BW and VL, VPCLMULQDQ and what `pclmul` asks for, and four
// blocks to load and store.
impl Clmul for __m512i {
    const BLOCKS: usize = 4;
    type One = __m128i;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm512_setzero_si512() }
    }
    #[inline(always)]
    unsafe fn load(data: *const Block) -> Self {
        // SAFETY: the caller's blocks.
        unsafe {
            let turn = _mm512_broadcast_i32x4(_mm_setr_epi8(
                15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,
            ));
            _mm512_shuffle_epi8(_mm512_loadu_si512(data.cast()), turn)
        }
    }
    #[inline(always)]
    unsafe fn load_powers(data: *const Block) -> Self {
        // SAFETY: the caller's blocks.
        unsafe { _mm512_loadu_si512(data.cast()) }
    }
    #[inline(always)]
    unsafe fn xor_first(self, one: __m128i) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm512_xor_si512(self, _mm512_zextsi128_si512(one)) }
    }
    #[inline(always)]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm512_ternarylogic_epi64::<0x96>(self, y, z) }
    }
    #[inline(always)]
    unsafe fn low(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm512_clmulepi64_epi128::<0x00>(self, other) }
    }
    #[inline(always)]
    unsafe fn high(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm512_clmulepi64_epi128::<0x11>(self, other) }
    }
    #[inline(always)]
    unsafe fn low_high(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm512_clmulepi64_epi128::<0x10>(self, other) }
    }
    #[inline(always)]
    unsafe fn high_low(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm512_clmulepi64_epi128::<0x01>(self, other) }
    }
    #[inline(always)]
    unsafe fn reduce(low: Self, cross: Self, high: Self) -> __m128i {
        // SAFETY: the caller's proof.
        unsafe { __m128i::reduce(sum(low), sum(cross), sum(high)) }
    }
    #[inline(always)]
    unsafe fn store(one: __m128i, data: *mut Block) {
        // SAFETY: the caller's block.
        unsafe { __m128i::store(one, data) }
    }
    #[inline(always)]
    unsafe fn store_power(one: __m128i, data: *mut Block) {
        // SAFETY: the caller's block.
        unsafe { __m128i::store_power(one, data) }
    }
}

/// Exclusive or of the four blocks.
///
/// # Safety
/// The processor has AVX-512 F and VL.
#[inline(always)]
unsafe fn sum(v: __m512i) -> __m128i {
    // SAFETY: the caller's proof.
    unsafe {
        let two = _mm256_xor_si256(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64::<1>(v));
        _mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256::<1>(two))
    }
}

/// Makes the powers that [`update`] uses.
pub(super) fn prepare(token: Vaes, h: &Block, powers: &mut Powers) {
    pclmul::fill(token.aesni(), h, powers, POWERS);
}

/// y = (y + block) · H for every block.
pub(super) fn update(_: Vaes, powers: &Powers, y: &mut Block, blocks: &[Block]) {
    // SAFETY: the token proves the features.
    unsafe { kernel(powers, y, blocks) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,vpclmulqdq,pclmulqdq,ssse3")]
fn kernel(powers: &Powers, y: &mut Block, blocks: &[Block]) {
    // SAFETY: the features are enabled here; `prepare` made all powers.
    unsafe { lanes::update::<__m512i, GROUP>(powers, y, blocks) }
}
