//! Four blocks in a register of AVX-512.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{Block, TweakOrder, lanes::Vector};

// SAFETY (all functions): callers prove AVX-512 F, BW and VPCLMULQDQ, and four blocks to load and
// store.
impl Vector for __m512i {
    const BLOCKS: usize = 4;

    #[inline(always)]
    unsafe fn load(data: *const Block) -> Self {
        // SAFETY: the caller's blocks.
        unsafe { _mm512_loadu_si512(data.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, data: *mut Block) {
        // SAFETY: the caller's blocks.
        unsafe { _mm512_storeu_si512(data.cast(), self) }
    }
    #[inline(always)]
    unsafe fn splat(block: &Block) -> Self {
        // SAFETY: a block is read.
        unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(block.as_ptr().cast())) }
    }
    #[inline(always)]
    unsafe fn gather(blocks: [*mut Block; 4]) -> Self {
        // SAFETY: the caller's blocks.
        unsafe {
            let v = _mm512_castsi128_si512(_mm_loadu_si128(blocks[0].cast()));
            let v = _mm512_inserti32x4::<1>(v, _mm_loadu_si128(blocks[1].cast()));
            let v = _mm512_inserti32x4::<2>(v, _mm_loadu_si128(blocks[2].cast()));
            _mm512_inserti32x4::<3>(v, _mm_loadu_si128(blocks[3].cast()))
        }
    }
    #[inline(always)]
    unsafe fn scatter(self, blocks: [*mut Block; 4]) {
        // SAFETY: the caller's blocks.
        unsafe {
            _mm_storeu_si128(blocks[0].cast(), _mm512_castsi512_si128(self));
            _mm_storeu_si128(blocks[1].cast(), _mm512_extracti32x4_epi32::<1>(self));
            _mm_storeu_si128(blocks[2].cast(), _mm512_extracti32x4_epi32::<2>(self));
            _mm_storeu_si128(blocks[3].cast(), _mm512_extracti32x4_epi32::<3>(self));
        }
    }
    #[inline(always)]
    unsafe fn gather_lines(places: [*mut Block; 4]) -> [Self; 4] {
        // SAFETY: the caller's blocks.
        unsafe {
            turn([
                Self::load(places[0]),
                Self::load(places[1]),
                Self::load(places[2]),
                Self::load(places[3]),
            ])
        }
    }
    #[inline(always)]
    unsafe fn scatter_lines(v: [Self; 4], places: [*mut Block; 4]) {
        // SAFETY: the caller's blocks.
        unsafe {
            let v = turn(v);
            for i in 0..4 {
                v[i].store(places[i]);
            }
        }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm512_xor_si512(self, other) }
    }
    #[inline(always)]
    unsafe fn after(self, before: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm512_alignr_epi64::<6>(self, before) }
    }
    #[inline(always)]
    unsafe fn counting(counter: &Block) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            let first = _mm512_shuffle_epi8(Self::splat(counter), swap());
            let count = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3);
            _mm512_add_epi32(first, count)
        }
    }
    #[inline(always)]
    unsafe fn advance<const N: u32>(self) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            let n = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0, 0, N.cast_signed()));
            _mm512_add_epi32(self, n)
        }
    }
    #[inline(always)]
    unsafe fn to_blocks(self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { _mm512_shuffle_epi8(self, swap()) }
    }
    #[inline(always)]
    unsafe fn times_alpha8(self, order: TweakOrder) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            // As in `sse`: the last byte of each block comes back into its first two.
            let moved = _mm512_bslli_epi128::<1>(self);
            let over = _mm512_bsrli_epi128::<15>(self);
            let more = match order {
                TweakOrder::Ieee => _mm512_clmulepi64_epi128::<0>(over, _mm512_set1_epi64(0x87)),
                TweakOrder::Gb => {
                    let product = _mm512_clmulepi64_epi128::<0>(over, _mm512_set1_epi64(0xe1 << 1));
                    let first =
                        _mm_setr_epi8(1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
                    _mm512_shuffle_epi8(product, _mm512_broadcast_i32x4(first))
                }
            };
            _mm512_xor_si512(moved, more)
        }
    }
}

/// Block i of vector j becomes block j of vector i.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn turn(v: [__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: the caller's proof.
    unsafe {
        let a = _mm512_shuffle_i32x4::<0x44>(v[0], v[1]);
        let b = _mm512_shuffle_i32x4::<0xee>(v[0], v[1]);
        let c = _mm512_shuffle_i32x4::<0x44>(v[2], v[3]);
        let d = _mm512_shuffle_i32x4::<0xee>(v[2], v[3]);
        [
            _mm512_shuffle_i32x4::<0x88>(a, c),
            _mm512_shuffle_i32x4::<0xdd>(a, c),
            _mm512_shuffle_i32x4::<0x88>(b, d),
            _mm512_shuffle_i32x4::<0xdd>(b, d),
        ]
    }
}

/// Turns the counters' bytes around and leaves the others.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn swap() -> __m512i {
    // SAFETY: the caller's proof.
    unsafe {
        let block = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 14, 13, 12);
        _mm512_broadcast_i32x4(block)
    }
}
