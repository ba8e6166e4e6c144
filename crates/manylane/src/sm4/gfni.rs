//! SM4 in sixteen lanes with GFNI and AVX-512: an inversion and a linear map of 64 bytes in one instruction.
//!
//! A round of sixteen blocks takes ten operations: three maps of inverses (P, Q and R of `affine`), which one
//! port has, one a clock with a latency of three; three turns by bytes; four exclusive ors of three. On two ports that
//! is five clocks, and with the turning of blocks into words and back 1.4 bytes a clock at best. A round alone takes
//! eight or nine clocks from word to word, so groups take turns: 0.80 bytes a clock for one group, 1.13 for
//! two, 1.24 for four, measured on a Xeon of the Emerald Rapids family. `planar` has more for 128 blocks and on.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{
    Block,
    affine::{AES, Matrix},
    body::{Alone, Cipher, Lanes, Turn, Words},
    schedule::{Keys, StreamKeys},
};
use crate::{
    block::{
        TweakOrder,
        kernels::plus,
        lanes::{kernels, serial, streams},
    },
    cpu::Gfni,
};

mod planar;

/// Messages of [`cbc_streams`].
pub(super) const LANES: usize = 16;

/// Sixteen words.
#[derive(Clone, Copy)]
struct W(__m512i);

/// A matrix, for each eight bytes.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn matrix(matrix: &Matrix) -> __m512i {
    // SAFETY: the caller's proof.
    unsafe { _mm512_set1_epi64(matrix.gfni()) }
}

/// A linear map of each byte.
macro_rules! affine {
    ($v:expr, $matrix:expr) => {
        _mm512_gf2p8affine_epi64_epi8::<0>($v, matrix($matrix))
    };
}

/// A linear map of the inverse of each byte.
macro_rules! affine_inverse {
    ($v:expr, $matrix:expr) => {
        _mm512_gf2p8affineinv_epi64_epi8::<0>($v, matrix($matrix))
    };
}

/// Q of `affine`.
const Q: Matrix = AES.p.plus(&AES.r);

// SAFETY (all functions): callers prove AVX-512 F and BW and GFNI.
impl Words for W {
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the caller's proof.
        W(unsafe { _mm512_set1_epi32(word.cast_signed()) })
    }
    #[inline(always)]
    unsafe fn load(words: *const u32) -> Self {
        // SAFETY: the caller's sixteen words.
        W(unsafe { _mm512_loadu_si512(words.cast()) })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        W(unsafe { _mm512_xor_si512(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        W(unsafe { _mm512_ternarylogic_epi32::<0x96>(self.0, y.0, z.0) })
    }
    #[inline(always)]
    unsafe fn round(self, t: Self, k: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            let p = affine_inverse!(t.0, &AES.p);
            let q = affine_inverse!(t.0, &Q);
            let r = affine_inverse!(t.0, &AES.r);
            // Rotations by bytes, two where shuffles run and one where the maps do: five operations
            // for each of the two ports.
            let q8 = _mm512_shuffle_epi8(q, turned(1));
            let q16 = _mm512_ror_epi32::<16>(q);
            let r24 = _mm512_shuffle_epi8(r, turned(3));
            self.xor3(k, W(p)).xor(W(r24)).xor3(W(q8), W(q16))
        }
    }
}

// SAFETY (all functions): as above.
impl Turn for W {
    type Blocks = __m512i;

    #[inline(always)]
    unsafe fn from_blocks(v: [__m512i; 4]) -> [Self; 4] {
        // SAFETY: the caller's proof.
        unsafe {
            let v = turn(v);
            [
                W(affine!(v[0], &AES.enter)),
                W(affine!(v[1], &AES.enter)),
                W(affine!(v[2], &AES.enter)),
                W(affine!(v[3], &AES.enter)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn into_blocks(x: [Self; 4]) -> [__m512i; 4] {
        // SAFETY: the caller's proof.
        unsafe {
            turn([
                affine!(x[0].0, &AES.leave),
                affine!(x[1].0, &AES.leave),
                affine!(x[2].0, &AES.leave),
                affine!(x[3].0, &AES.leave),
            ])
        }
    }
}

/// A word, for one message of a mode that chains; its register has room for four.
#[derive(Clone, Copy)]
struct One(__m128i);

// SAFETY (all functions): callers prove AVX-512 F, BW and VL and GFNI.
impl Words for One {
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the caller's proof.
        One(unsafe { _mm_set1_epi32(word.cast_signed()) })
    }
    #[inline(always)]
    unsafe fn load(words: *const u32) -> Self {
        // SAFETY: the caller's four words.
        One(unsafe { _mm_loadu_si128(words.cast()) })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        One(unsafe { _mm_xor_si128(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        One(unsafe { _mm_ternarylogic_epi32::<0x96>(self.0, y.0, z.0) })
    }
    #[inline(always)]
    unsafe fn round(self, t: Self, k: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            let matrix = |m: &Matrix| _mm_set1_epi64x(m.gfni());
            let p = _mm_gf2p8affineinv_epi64_epi8::<0>(t.0, matrix(&AES.p));
            let q = _mm_gf2p8affineinv_epi64_epi8::<0>(t.0, matrix(&Q));
            let r = _mm_gf2p8affineinv_epi64_epi8::<0>(t.0, matrix(&AES.r));
            let (q8, q16) = (_mm_ror_epi32::<8>(q), _mm_ror_epi32::<16>(q));
            self.xor3(k, One(p)).xor3(One(q8), One(q16)).xor(One(_mm_ror_epi32::<24>(r)))
        }
    }
}

// SAFETY (all functions): as above.
impl Alone for One {
    type Block = __m128i;

    #[inline(always)]
    unsafe fn from_block(v: __m128i) -> [Self; 4] {
        // SAFETY: the caller's proof.
        unsafe {
            let v = _mm_gf2p8affine_epi64_epi8::<0>(v, _mm_set1_epi64x(AES.enter.gfni()));
            [
                One(v),
                One(_mm_shuffle_epi32::<1>(v)),
                One(_mm_shuffle_epi32::<2>(v)),
                One(_mm_shuffle_epi32::<3>(v)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn into_block(x: [Self; 4]) -> __m128i {
        // SAFETY: the caller's proof.
        unsafe {
            let low = _mm_unpacklo_epi32(x[0].0, x[1].0);
            let v = _mm_unpacklo_epi64(low, _mm_unpacklo_epi32(x[2].0, x[3].0));
            _mm_gf2p8affine_epi64_epi8::<0>(v, _mm_set1_epi64x(AES.leave.gfni()))
        }
    }
}

/// What brings byte i + `by` of each word to its byte i.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn turned(by: usize) -> __m512i {
    // SAFETY: the caller's proof.
    unsafe {
        _mm512_broadcast_i32x4(match by {
            1 => _mm_setr_epi8(1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12),
            _ => _mm_setr_epi8(3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14),
        })
    }
}

/// Word j of block i of each quarter becomes word i of vector j.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn turn(v: [__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: the caller's proof.
    unsafe {
        let a = _mm512_unpacklo_epi32(v[0], v[1]);
        let b = _mm512_unpacklo_epi32(v[2], v[3]);
        let c = _mm512_unpackhi_epi32(v[0], v[1]);
        let d = _mm512_unpackhi_epi32(v[2], v[3]);
        [
            _mm512_unpacklo_epi64(a, b),
            _mm512_unpackhi_epi64(a, b),
            _mm512_unpacklo_epi64(c, d),
            _mm512_unpackhi_epi64(c, d),
        ]
    }
}

/// Groups of four times sixteen blocks, then sixteen.
mod by_words {
    use super::{__m512i, Block, Cipher, Gfni, Keys, W, kernels};

    kernels! {
        token: Gfni,
        attributes: [target_feature(enable = "avx512f,avx512bw,avx512vl,gfni,vpclmulqdq")],
        vector: __m512i, groups: 16, 4, key: [] Keys, rounds: Cipher::<W>::new,
    }
}

/// Functions over groups of `planar` first, and the rest by words.
macro_rules! both {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*);)*) => {$(
        $(#[$doc])*
        pub(super) fn $name(token: Gfni, key: &Keys, $($argument: $type,)* data: &mut [Block]) {
            let (groups, rest) = data.as_chunks_mut();
            if !groups.is_empty() {
                planar::$name(token, key, $($argument,)* groups);
            }
            if !rest.is_empty() {
                by_words::$name(token, key, $($argument,)* rest);
            }
        }
    )*};
}

both! {
    /// Encrypts every block by itself.
    encrypt_blocks();
    /// Decrypts every block by itself.
    decrypt_blocks();
    /// Decrypts CBC; `iv` becomes the last ciphertext block.
    cbc_decrypt(iv: &mut Block);
    /// Decrypts CFB; `iv` becomes the last ciphertext block.
    cfb_decrypt(iv: &mut Block);
    /// Encrypts XTS blocks; `tweak` becomes that of the next.
    xts_encrypt(order: TweakOrder, tweak: &mut Block);
    /// Decrypts XTS blocks; `tweak` becomes that of the next.
    xts_decrypt(order: TweakOrder, tweak: &mut Block);
}

/// Xors the key stream of `counter` and on into `data`.
pub(super) fn xor_counters(token: Gfni, key: &Keys, counter: &Block, data: &mut [Block]) {
    let (groups, rest) = data.as_chunks_mut();
    if !groups.is_empty() {
        planar::xor_counters(token, key, counter, groups);
    }
    if !rest.is_empty() {
        by_words::xor_counters(token, key, &plus(counter, planar::GROUP * groups.len()), rest);
    }
}

serial! {
    token: Gfni, attributes: [target_feature(enable = "avx512f,avx512bw,avx512vl,gfni")],
    vector: __m128i, key: [] Keys, rounds: Cipher::<One>::new,
}

streams! {
    token: Gfni, attributes: [target_feature(enable = "avx512f,avx512bw,avx512vl,gfni,vpclmulqdq")],
    vector: __m512i, lanes: 16 in 4, key: [] StreamKeys, rounds: Lanes::<W>::new,
}
