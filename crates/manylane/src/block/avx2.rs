//! Two blocks in a register of AVX2.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{Block, TweakOrder, lanes::Vector};

// SAFETY (all functions): callers prove AVX2, and two blocks to load and store.
impl Vector for __m256i {
    const BLOCKS: usize = 2;

    #[inline(always)]
    unsafe fn load(data: *const Block) -> Self {
        // SAFETY: the caller's blocks.
        unsafe { _mm256_loadu_si256(data.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, data: *mut Block) {
        // SAFETY: the caller's blocks.
        unsafe { _mm256_storeu_si256(data.cast(), self) }
    }
    #[inline(always)]
    unsafe fn splat(block: &Block) -> Self {
        // SAFETY: a block is read.
        unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(block.as_ptr().cast())) }
    }
    #[inline(always)]
    unsafe fn gather(blocks: [*mut Block; 4]) -> Self {
        // SAFETY: the caller's blocks.
        unsafe { _mm256_loadu2_m128i(blocks[1].cast(), blocks[0].cast()) }
    }
    #[inline(always)]
    unsafe fn scatter(self, blocks: [*mut Block; 4]) {
        // SAFETY: the caller's blocks.
        unsafe { _mm256_storeu2_m128i(blocks[1].cast(), blocks[0].cast(), self) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm256_xor_si256(self, other) }
    }
    #[inline(always)]
    unsafe fn after(self, before: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm256_permute2x128_si256::<0x21>(before, self) }
    }
    #[inline(always)]
    unsafe fn counting(counter: &Block) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            let first = _mm256_shuffle_epi8(Self::splat(counter), swap());
            _mm256_add_epi32(first, _mm256_setr_epi32(0, 0, 0, 0, 0, 0, 0, 1))
        }
    }
    #[inline(always)]
    unsafe fn advance<const N: u32>(self) -> Self {
        let n = N.cast_signed();
        // SAFETY: the caller's proof.
        unsafe { _mm256_add_epi32(self, _mm256_setr_epi32(0, 0, 0, n, 0, 0, 0, n)) }
    }
    #[inline(always)]
    unsafe fn to_blocks(self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm256_shuffle_epi8(self, swap()) }
    }
    #[inline(always)]
    unsafe fn times_alpha8(self, order: TweakOrder) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            // As in `sse`, but by shifts of sixteen bits: what multiplies two blocks is an extension of
            // its own.
            let moved = _mm256_bslli_epi128::<1>(self);
            let over = _mm256_bsrli_epi128::<15>(self);
            let more = match order {
                TweakOrder::Ieee => _mm256_xor_si256(
                    _mm256_xor_si256(over, _mm256_slli_epi16::<1>(over)),
                    _mm256_xor_si256(_mm256_slli_epi16::<2>(over), _mm256_slli_epi16::<7>(over)),
                ),
                TweakOrder::Gb => {
                    let high = _mm256_slli_epi16::<8>(over);
                    let product = _mm256_xor_si256(
                        _mm256_xor_si256(high, _mm256_srli_epi16::<1>(high)),
                        _mm256_xor_si256(
                            _mm256_srli_epi16::<2>(high),
                            _mm256_srli_epi16::<7>(high),
                        ),
                    );
                    let first =
                        _mm_setr_epi8(1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
                    _mm256_shuffle_epi8(product, _mm256_broadcastsi128_si256(first))
                }
            };
            _mm256_xor_si256(moved, more)
        }
    }
}

/// Turns the counters' bytes around and leaves the others.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn swap() -> __m256i {
    // SAFETY: the caller's proof.
    unsafe {
        let block = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 14, 13, 12);
        _mm256_broadcastsi128_si256(block)
    }
}
