//! AES with AES-NI, a block in a register.
//!
//! Eight blocks side by side: an AESENC takes three or four clocks, and one or two start in each.
//! Blocks, and counters or tweaks, fill the sixteen registers; round keys are read where they are used.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{
    Block,
    schedule::{RoundKeys, StreamKeys, expand},
};
use crate::{
    block::lanes::{InverseRounds, Rounds, kernels, serial, streams},
    cpu::Aesni,
};

/// Messages of [`cbc_streams`].
pub(super) const LANES: usize = 8;

/// The round keys where they lie.
struct Keys<'a, const N: usize>(&'a RoundKeys<N>);

/// # Safety
/// The processor has SSE2.
#[inline(always)]
unsafe fn load(key: &Block) -> __m128i {
    // SAFETY: a block is read.
    unsafe { _mm_loadu_si128(key.as_ptr().cast()) }
}

// SAFETY: callers prove AES-NI.
impl<const N: usize, const G: usize> Rounds<__m128i, G> for Keys<'_, N> {
    #[inline(always)]
    unsafe fn encrypt(&self, mut v: [__m128i; G]) -> [__m128i; G] {
        let keys = &self.0.encrypt;
        // SAFETY: the caller's proof.
        unsafe {
            let key = load(&keys[0]);
            for i in 0..G {
                v[i] = _mm_xor_si128(v[i], key);
            }
            for round in 1..N - 1 {
                let key = load(&keys[round]);
                for i in 0..G {
                    v[i] = _mm_aesenc_si128(v[i], key);
                }
            }
            let key = load(&keys[N - 1]);
            for i in 0..G {
                v[i] = _mm_aesenclast_si128(v[i], key);
            }
        }
        v
    }
}

// SAFETY: callers prove the machine.
impl<const N: usize, const G: usize> InverseRounds<__m128i, G> for Keys<'_, N> {
    #[inline(always)]
    unsafe fn decrypt(&self, mut v: [__m128i; G]) -> [__m128i; G] {
        let keys = &self.0.decrypt;
        // SAFETY: the caller's proof.
        unsafe {
            let key = load(&keys[0]);
            for i in 0..G {
                v[i] = _mm_xor_si128(v[i], key);
            }
            for round in 1..N - 1 {
                let key = load(&keys[round]);
                for i in 0..G {
                    v[i] = _mm_aesdec_si128(v[i], key);
                }
            }
            let key = load(&keys[N - 1]);
            for i in 0..G {
                v[i] = _mm_aesdeclast_si128(v[i], key);
            }
        }
        v
    }
}

/// The round keys of each lane where they lie.
struct LaneKeys<'a, const N: usize>(&'a StreamKeys<N>);

// SAFETY: callers prove AES-NI.
impl<const N: usize> Rounds<__m128i, LANES> for LaneKeys<'_, N> {
    #[inline(always)]
    unsafe fn encrypt(&self, mut v: [__m128i; LANES]) -> [__m128i; LANES] {
        let keys = &self.0.rounds;
        // SAFETY: the caller's proof.
        unsafe {
            for i in 0..LANES {
                v[i] = _mm_xor_si128(v[i], load(&keys[0][i]));
            }
            for round in 1..N - 1 {
                for i in 0..LANES {
                    v[i] = _mm_aesenc_si128(v[i], load(&keys[round][i]));
                }
            }
            for i in 0..LANES {
                v[i] = _mm_aesenclast_si128(v[i], load(&keys[N - 1][i]));
            }
        }
        v
    }
}

kernels! {
    token: Aesni, attributes: [target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")],
    vector: __m128i, groups: 8, 1,
    key: [const N: usize] RoundKeys<N>, rounds: Keys,
}

serial! {
    token: Aesni, attributes: [target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")],
    vector: __m128i, key: [const N: usize] RoundKeys<N>, rounds: Keys,
}

streams! {
    token: Aesni, attributes: [target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")],
    vector: __m128i, lanes: 8 in 8, key: [const N: usize] StreamKeys<N>, rounds: LaneKeys,
}

/// The round keys of `key`, which has `N` − 7 words.
pub(super) fn expand_key<const N: usize>(_: Aesni, key: &[u8]) -> RoundKeys<N> {
    let mut keys = RoundKeys::zero();
    // SAFETY: the token proves the features.
    unsafe { expand_into(key, &mut keys) };
    keys
}

#[target_feature(enable = "aes,sse2")]
fn expand_into<const N: usize>(key: &[u8], keys: &mut RoundKeys<N>) {
    expand(key, &mut keys.encrypt, |word| {
        // Four equal columns are not changed by ShiftRows.
        let columns = _mm_set1_epi32(word.cast_signed());
        _mm_cvtsi128_si32(_mm_aesenclast_si128(columns, _mm_setzero_si128())).cast_unsigned()
    });
    keys.decrypt[0] = keys.encrypt[N - 1];
    keys.decrypt[N - 1] = keys.encrypt[0];
    for round in 1..N - 1 {
        // SAFETY: a block is read, and one is written.
        unsafe {
            let key = _mm_aesimc_si128(load(&keys.encrypt[N - 1 - round]));
            _mm_storeu_si128(keys.decrypt[round].as_mut_ptr().cast(), key);
        }
    }
}
