//! AES with VAES on AVX-512, four blocks in a register.
//!
//! The port that has a 512-bit AESENC starts one a clock, and the result is there after three or
//! four: eight vectors side by side keep it busy. What else a block needs (counting, turning bytes around,
//! two exclusive ors) is on the other port.
#![allow(unsafe_code)]

pub(super) mod gcm;

use ::core::arch::x86_64::*;

use super::{
    Block,
    schedule::{RoundKeys, StreamKeys},
};
use crate::{
    block::lanes::{InverseRounds, Rounds, kernels, streams},
    cpu::Vaes,
};

/// Messages of [`cbc_streams`], and the vectors that hold them.
pub(super) const LANES: usize = 16;
const GROUPS: usize = LANES / 4;

/// Round keys, each in all four blocks of a vector: of both directions, of which a kernel uses one, so
/// that the other is never loaded.
struct Keys<const N: usize> {
    encrypt: [__m512i; N],
    decrypt: [__m512i; N],
}

/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn broadcast<const N: usize>(keys: &RoundKeys<N>) -> Keys<N> {
    // SAFETY: blocks are read; the rest is the caller's proof.
    unsafe {
        let zero = _mm512_setzero_si512();
        let mut wide = Keys { encrypt: [zero; N], decrypt: [zero; N] };
        for round in 0..N {
            let key = _mm_loadu_si128(keys.encrypt[round].as_ptr().cast());
            wide.encrypt[round] = _mm512_broadcast_i32x4(key);
            let key = _mm_loadu_si128(keys.decrypt[round].as_ptr().cast());
            wide.decrypt[round] = _mm512_broadcast_i32x4(key);
        }
        wide
    }
}

// SAFETY: callers prove AVX-512 F and VAES.
impl<const N: usize, const G: usize> Rounds<__m512i, G> for Keys<N> {
    #[inline(always)]
    unsafe fn encrypt(&self, mut v: [__m512i; G]) -> [__m512i; G] {
        // SAFETY: the caller's proof.
        unsafe {
            for i in 0..G {
                v[i] = _mm512_xor_si512(v[i], self.encrypt[0]);
            }
            for round in 1..N - 1 {
                for i in 0..G {
                    v[i] = _mm512_aesenc_epi128(v[i], self.encrypt[round]);
                }
            }
            for i in 0..G {
                v[i] = _mm512_aesenclast_epi128(v[i], self.encrypt[N - 1]);
            }
        }
        v
    }
}

// SAFETY: callers prove the machine.
impl<const N: usize, const G: usize> InverseRounds<__m512i, G> for Keys<N> {
    #[inline(always)]
    unsafe fn decrypt(&self, mut v: [__m512i; G]) -> [__m512i; G] {
        // SAFETY: the caller's proof.
        unsafe {
            for i in 0..G {
                v[i] = _mm512_xor_si512(v[i], self.decrypt[0]);
            }
            for round in 1..N - 1 {
                for i in 0..G {
                    v[i] = _mm512_aesdec_epi128(v[i], self.decrypt[round]);
                }
            }
            for i in 0..G {
                v[i] = _mm512_aesdeclast_epi128(v[i], self.decrypt[N - 1]);
            }
        }
        v
    }
}

/// The round keys of each lane where they lie.
struct LaneKeys<'a, const N: usize>(&'a StreamKeys<N>);

impl<const N: usize> LaneKeys<'_, N> {
    /// # Safety
    /// The processor has AVX-512 F.
    #[inline(always)]
    unsafe fn key(&self, round: usize, i: usize) -> __m512i {
        // SAFETY: `i` is one of `GROUPS`, so four blocks are read.
        unsafe { _mm512_loadu_si512(self.0.rounds[round][4 * i..][..4].as_ptr().cast()) }
    }
}

// SAFETY: callers prove AVX-512 F and VAES.
impl<const N: usize> Rounds<__m512i, GROUPS> for LaneKeys<'_, N> {
    #[inline(always)]
    unsafe fn encrypt(&self, mut v: [__m512i; GROUPS]) -> [__m512i; GROUPS] {
        // SAFETY: the caller's proof.
        unsafe {
            for i in 0..GROUPS {
                v[i] = _mm512_xor_si512(v[i], self.key(0, i));
            }
            for round in 1..N - 1 {
                for i in 0..GROUPS {
                    v[i] = _mm512_aesenc_epi128(v[i], self.key(round, i));
                }
            }
            for i in 0..GROUPS {
                v[i] = _mm512_aesenclast_epi128(v[i], self.key(N - 1, i));
            }
        }
        v
    }
}

kernels! {
    token: Vaes,
    attributes: [target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq")],
    vector: __m512i, groups: 8, 1,
    key: [const N: usize] RoundKeys<N>, rounds: broadcast,
}

streams! {
    token: Vaes,
    attributes: [target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq")],
    vector: __m512i, lanes: 16 in 4, key: [const N: usize] StreamKeys<N>, rounds: LaneKeys,
}
