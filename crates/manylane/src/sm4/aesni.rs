//! SM4 in four lanes with the S-box of AES-NI.
//!
//! AESENCLAST inverts each byte in AES's field, after ShiftRows and before a linear map. The latter is
//! merged into P and R of `affine`, which are looked up by halves of bytes in registers; ShiftRows is
//! undone where words are turned by bytes, which all but P's need be in any case.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{
    Block,
    affine::{AES, AES_SUB_BYTES, S_CONSTANT, TURNED, after_sub_bytes},
    body::{Alone, Cipher, Lanes, Turn, Words},
    schedule::{Keys, StreamKeys},
};
use crate::{
    block::lanes::{kernels, serial, streams},
    cpu::Aesni,
};

/// Messages of [`cbc_streams`].
pub(super) const LANES: usize = 8;

/// Four words.
#[derive(Clone, Copy)]
pub(super) struct W(__m128i);

/// The tables by halves of bytes.
pub(super) static ENTER: [[u8; 16]; 2] = AES.enter.nibbles(0);
pub(super) static LEAVE: [[u8; 16]; 2] = AES.leave.nibbles(0);
pub(super) static P: [[u8; 16]; 2] = after_sub_bytes(&AES.p).nibbles(0);
pub(super) static R: [[u8; 16]; 2] = after_sub_bytes(&AES.r).nibbles(0);
static ENTER_C1: [[u8; 16]; 2] = AES.enter.nibbles(AES.c1);
static A2_C: [[u8; 16]; 2] = after_sub_bytes(&AES.a2).nibbles(S_CONSTANT);

/// # Safety
/// The processor has SSE2.
#[inline(always)]
unsafe fn load(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: sixteen bytes are read.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// The low and the high halves of bytes.
///
/// # Safety
/// The processor has SSE2.
#[inline(always)]
unsafe fn halves(v: __m128i) -> [__m128i; 2] {
    // SAFETY: the caller's proof.
    unsafe {
        let low = _mm_set1_epi8(15);
        [_mm_and_si128(v, low), _mm_and_si128(_mm_srli_epi16::<4>(v), low)]
    }
}

/// A map of bytes by its tables.
///
/// # Safety
/// The processor has SSSE3.
#[inline(always)]
unsafe fn map([low, high]: [__m128i; 2], tables: &[[u8; 16]; 2]) -> __m128i {
    // SAFETY: the caller's proof.
    unsafe {
        let low = _mm_shuffle_epi8(load(&tables[0]), low);
        _mm_xor_si128(low, _mm_shuffle_epi8(load(&tables[1]), high))
    }
}

// SAFETY (all functions): callers prove AES-NI, SSSE3 and SSE4.1.
impl Words for W {
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the caller's proof.
        W(unsafe { _mm_set1_epi32(word.cast_signed()) })
    }
    #[inline(always)]
    unsafe fn load(words: *const u32) -> Self {
        // SAFETY: the caller's four words.
        W(unsafe { _mm_loadu_si128(words.cast()) })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        W(unsafe { _mm_xor_si128(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn round(self, t: Self, k: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            let inverse = _mm_aesenclast_si128(t.0, _mm_set1_epi8(AES_SUB_BYTES.1.cast_signed()));
            let halves = halves(inverse);
            let (p, r) = (map(halves, &P), map(halves, &R));
            let q = _mm_xor_si128(p, r);
            let p = W(_mm_shuffle_epi8(p, load(&TURNED[0])));
            let q8 = W(_mm_shuffle_epi8(q, load(&TURNED[1])));
            let q16 = W(_mm_shuffle_epi8(q, load(&TURNED[2])));
            let r24 = W(_mm_shuffle_epi8(r, load(&TURNED[3])));
            self.xor(k).xor(p).xor(q8.xor(q16)).xor(r24)
        }
    }
}

// SAFETY (all functions): as above.
impl Turn for W {
    type Blocks = __m128i;

    #[inline(always)]
    unsafe fn from_blocks(v: [__m128i; 4]) -> [Self; 4] {
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
    unsafe fn into_blocks(x: [Self; 4]) -> [__m128i; 4] {
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

// SAFETY (all functions): as above.
impl Alone for W {
    type Block = __m128i;

    #[inline(always)]
    unsafe fn from_block(v: __m128i) -> [Self; 4] {
        // SAFETY: the caller's proof.
        unsafe {
            let v = map(halves(v), &ENTER);
            [
                W(v),
                W(_mm_shuffle_epi32::<1>(v)),
                W(_mm_shuffle_epi32::<2>(v)),
                W(_mm_shuffle_epi32::<3>(v)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn into_block(x: [Self; 4]) -> __m128i {
        // SAFETY: the caller's proof.
        unsafe {
            let low = _mm_unpacklo_epi32(x[0].0, x[1].0);
            let v = _mm_unpacklo_epi64(low, _mm_unpacklo_epi32(x[2].0, x[3].0));
            map(halves(v), &LEAVE)
        }
    }
}

/// Word j of block i becomes word i of vector j.
///
/// # Safety
/// The processor has SSE2.
#[inline(always)]
unsafe fn turn(v: [__m128i; 4]) -> [__m128i; 4] {
    // SAFETY: the caller's proof.
    unsafe {
        let a = _mm_unpacklo_epi32(v[0], v[1]);
        let b = _mm_unpacklo_epi32(v[2], v[3]);
        let c = _mm_unpackhi_epi32(v[0], v[1]);
        let d = _mm_unpackhi_epi32(v[2], v[3]);
        [
            _mm_unpacklo_epi64(a, b),
            _mm_unpackhi_epi64(a, b),
            _mm_unpacklo_epi64(c, d),
            _mm_unpackhi_epi64(c, d),
        ]
    }
}

kernels! {
    token: Aesni, attributes: [target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")],
    vector: __m128i, groups: 16, 4, key: [] Keys, rounds: Cipher::<W>::new,
}

serial! {
    token: Aesni, attributes: [target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")],
    vector: __m128i, key: [] Keys, rounds: Cipher::<W>::new,
}

streams! {
    token: Aesni, attributes: [target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")],
    vector: __m128i, lanes: 8 in 8, key: [] StreamKeys, rounds: Lanes::<W>::new,
}

/// The round keys of `key`.
pub(super) fn expand_key(_: Aesni, key: &Block) -> Keys {
    // SAFETY: the token proves the features.
    unsafe { expand(key) }
}

/// τ of clause 6.2.
#[target_feature(enable = "aes,ssse3")]
fn tau(word: u32) -> u32 {
    // SAFETY: the features are enabled here. Four equal columns are not changed by ShiftRows.
    unsafe {
        let v = _mm_set1_epi32(word.cast_signed());
        let v = map(halves(v), &ENTER_C1);
        let v = _mm_aesenclast_si128(v, _mm_set1_epi8(AES_SUB_BYTES.1.cast_signed()));
        _mm_cvtsi128_si32(map(halves(v), &A2_C)).cast_unsigned()
    }
}

#[target_feature(enable = "aes,ssse3")]
fn expand(key: &Block) -> Keys {
    Keys::mapped(&AES, &super::schedule::expand(key, |word| tau(word)))
}
