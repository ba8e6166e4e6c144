//! A block in a register of SSE.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{Block, TweakOrder, lanes::Vector};

// SAFETY (all functions): callers prove SSSE3, SSE4.1 and PCLMULQDQ, and blocks to load and store.
impl Vector for __m128i {
    const BLOCKS: usize = 1;

    #[inline(always)]
    unsafe fn load(data: *const Block) -> Self {
        // SAFETY: the caller's block.
        unsafe { _mm_loadu_si128(data.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, data: *mut Block) {
        // SAFETY: the caller's block.
        unsafe { _mm_storeu_si128(data.cast(), self) }
    }
    #[inline(always)]
    unsafe fn splat(block: &Block) -> Self {
        // SAFETY: a block is read.
        unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
    }
    #[inline(always)]
    unsafe fn gather(blocks: [*mut Block; 4]) -> Self {
        // SAFETY: the caller's block.
        unsafe { Self::load(blocks[0]) }
    }
    #[inline(always)]
    unsafe fn scatter(self, blocks: [*mut Block; 4]) {
        // SAFETY: the caller's block.
        unsafe { self.store(blocks[0]) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm_xor_si128(self, other) }
    }
    #[inline(always)]
    unsafe fn after(self, before: Self) -> Self {
        before
    }
    #[inline(always)]
    unsafe fn counting(counter: &Block) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm_shuffle_epi8(Self::splat(counter), swap()) }
    }
    #[inline(always)]
    unsafe fn advance<const N: u32>(self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm_add_epi32(self, _mm_setr_epi32(0, 0, 0, N.cast_signed())) }
    }
    #[inline(always)]
    unsafe fn to_blocks(self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm_shuffle_epi8(self, swap()) }
    }
    #[inline(always)]
    unsafe fn times_alpha8(self, order: TweakOrder) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            // The last byte times what x¹²⁸ is, x⁷ + x² + x + 1, into the first two.
            let moved = _mm_bslli_si128::<1>(self);
            let over = _mm_bsrli_si128::<15>(self);
            let more = match order {
                TweakOrder::Ieee => _mm_clmulepi64_si128::<0>(over, _mm_setr_epi32(0x87, 0, 0, 0)),
                TweakOrder::Gb => {
                    // The highest bit is x⁰ in both factors: 16 bits with x⁰ in the highest.
                    let product =
                        _mm_clmulepi64_si128::<0>(over, _mm_setr_epi32(0xe1 << 1, 0, 0, 0));
                    let first =
                        _mm_setr_epi8(1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
                    _mm_shuffle_epi8(product, first)
                }
            };
            _mm_xor_si128(moved, more)
        }
    }
}

/// Turns the counter's bytes around and leaves the others.
///
/// # Safety
/// The processor has SSE2.
#[inline(always)]
unsafe fn swap() -> __m128i {
    // SAFETY: the caller's proof.
    unsafe { _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 14, 13, 12) }
}
