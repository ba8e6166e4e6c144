//! SM4 in eight lanes of AVX2 with the S-box of AES-NI, as `aesni`; AESENCLAST takes the halves.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{
    Block,
    aesni::{self, ENTER, LEAVE, P, R},
    affine::{AES_SUB_BYTES, TURNED},
    body::{Cipher, Lanes, Turn, Words},
    schedule::{Keys, StreamKeys},
};
use crate::{
    block::lanes::{kernels, serial, streams},
    cpu::{Aesni, Avx2},
};

/// Messages of [`cbc_streams`].
pub(super) const LANES: usize = 16;

/// Eight words.
#[derive(Clone, Copy)]
struct W(__m256i);

/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn load(bytes: &[u8; 16]) -> __m256i {
    // SAFETY: sixteen bytes are read.
    unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes.as_ptr().cast())) }
}

/// The low and the high halves of bytes.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn halves(v: __m256i) -> [__m256i; 2] {
    // SAFETY: the caller's proof.
    unsafe {
        let low = _mm256_set1_epi8(15);
        [_mm256_and_si256(v, low), _mm256_and_si256(_mm256_srli_epi16::<4>(v), low)]
    }
}

/// A map of bytes by its tables.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn map([low, high]: [__m256i; 2], tables: &[[u8; 16]; 2]) -> __m256i {
    // SAFETY: the caller's proof.
    unsafe {
        let low = _mm256_shuffle_epi8(load(&tables[0]), low);
        _mm256_xor_si256(low, _mm256_shuffle_epi8(load(&tables[1]), high))
    }
}

// SAFETY (all functions): callers prove AES-NI and AVX2.
impl Words for W {
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the caller's proof.
        W(unsafe { _mm256_set1_epi32(word.cast_signed()) })
    }
    #[inline(always)]
    unsafe fn load(words: *const u32) -> Self {
        // SAFETY: the caller's eight words.
        W(unsafe { _mm256_loadu_si256(words.cast()) })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        W(unsafe { _mm256_xor_si256(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn round(self, t: Self, k: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            let constant = _mm_set1_epi8(AES_SUB_BYTES.1.cast_signed());
            let low = _mm_aesenclast_si128(_mm256_castsi256_si128(t.0), constant);
            let high = _mm_aesenclast_si128(_mm256_extracti128_si256::<1>(t.0), constant);
            let halves = halves(_mm256_set_m128i(high, low));
            let (p, r) = (map(halves, &P), map(halves, &R));
            let q = _mm256_xor_si256(p, r);
            let p = W(_mm256_shuffle_epi8(p, load(&TURNED[0])));
            let q8 = W(_mm256_shuffle_epi8(q, load(&TURNED[1])));
            let q16 = W(_mm256_shuffle_epi8(q, load(&TURNED[2])));
            let r24 = W(_mm256_shuffle_epi8(r, load(&TURNED[3])));
            self.xor(k).xor(p).xor(q8.xor(q16)).xor(r24)
        }
    }
}

// SAFETY (all functions): as above.
impl Turn for W {
    type Blocks = __m256i;

    #[inline(always)]
    unsafe fn from_blocks(v: [__m256i; 4]) -> [Self; 4] {
        // SAFETY: the caller's proof.
        unsafe {
            let v = turn(v);
            [
                W(map(halves(v[0]), &ENTER)),
                W(map(halves(v[1]), &ENTER)),
                W(map(halves(v[2]), &ENTER)),
                W(map(halves(v[3]), &ENTER)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn into_blocks(x: [Self; 4]) -> [__m256i; 4] {
        // SAFETY: the caller's proof.
        unsafe {
            turn([
                map(halves(x[0].0), &LEAVE),
                map(halves(x[1].0), &LEAVE),
                map(halves(x[2].0), &LEAVE),
                map(halves(x[3].0), &LEAVE),
            ])
        }
    }
}

/// Word j of block i of each half becomes word i of vector j.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn turn(v: [__m256i; 4]) -> [__m256i; 4] {
    // SAFETY: the caller's proof.
    unsafe {
        let a = _mm256_unpacklo_epi32(v[0], v[1]);
        let b = _mm256_unpacklo_epi32(v[2], v[3]);
        let c = _mm256_unpackhi_epi32(v[0], v[1]);
        let d = _mm256_unpackhi_epi32(v[2], v[3]);
        [
            _mm256_unpacklo_epi64(a, b),
            _mm256_unpackhi_epi64(a, b),
            _mm256_unpacklo_epi64(c, d),
            _mm256_unpackhi_epi64(c, d),
        ]
    }
}

kernels! {
    token: (Avx2, Aesni), attributes: [target_feature(enable = "aes,avx2")],
    vector: __m256i, groups: 16, 4, key: [] Keys, rounds: Cipher::<W>::new,
}

serial! {
    token: (Avx2, Aesni), attributes: [target_feature(enable = "aes,avx2")],
    vector: __m128i, key: [] Keys, rounds: Cipher::<aesni::W>::new,
}

streams! {
    token: (Avx2, Aesni), attributes: [target_feature(enable = "aes,avx2")],
    vector: __m256i, lanes: 16 in 8, key: [] StreamKeys, rounds: Lanes::<W>::new,
}
