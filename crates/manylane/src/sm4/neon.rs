//! SM4 in lanes of Advanced SIMD: the S-box is a table of 256 bytes in sixteen registers.
//!
//! No memory is indexed, so TBL and TBX take the same time for every byte. Two groups of four blocks and
//! the table fill the registers.
#![allow(unsafe_code)]

use ::core::arch::aarch64::*;

use super::{
    Block,
    affine::S,
    body::{Alone, Cipher, Lanes, Turn, Words},
    schedule::{self, Keys, StreamKeys},
};
use crate::{
    block::lanes::{kernels, serial, streams},
    cpu::Neon,
};

/// Messages of [`cbc_streams`].
pub(super) const LANES: usize = 8;

/// Four words.
#[derive(Clone, Copy)]
struct W(uint32x4_t);

/// The S-box of each byte.
///
/// # Safety
/// The processor has NEON.
#[inline(always)]
unsafe fn tau(v: uint32x4_t) -> uint32x4_t {
    // SAFETY: quarters of the table are read; the rest is the caller's proof.
    unsafe {
        let v = vreinterpretq_u8_u32(v);
        let quarter = vdupq_n_u8(64);
        let out = vqtbl4q_u8(vld1q_u8_x4(S.as_ptr()), v);
        let v = vsubq_u8(v, quarter);
        let out = vqtbx4q_u8(out, vld1q_u8_x4(S.as_ptr().add(64)), v);
        let v = vsubq_u8(v, quarter);
        let out = vqtbx4q_u8(out, vld1q_u8_x4(S.as_ptr().add(128)), v);
        let v = vsubq_u8(v, quarter);
        let out = vqtbx4q_u8(out, vld1q_u8_x4(S.as_ptr().add(192)), v);
        vreinterpretq_u32_u8(out)
    }
}

/// For each byte, the one to take for words turned to the left by 8 and by 24 bits.
static LEFT_8: [u8; 16] = [3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14];
static LEFT_24: [u8; 16] = [1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12];

/// Bytes taken as `from` tells.
///
/// # Safety
/// The processor has NEON.
#[inline(always)]
unsafe fn taken(v: uint32x4_t, from: &[u8; 16]) -> uint32x4_t {
    // SAFETY: sixteen bytes are read; the rest is the caller's proof.
    unsafe { vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(v), vld1q_u8(from.as_ptr()))) }
}

// SAFETY (all functions): callers prove NEON.
impl Words for W {
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the caller's proof.
        W(unsafe { vdupq_n_u32(word) })
    }
    #[inline(always)]
    unsafe fn load(words: *const u32) -> Self {
        // SAFETY: the caller's four words.
        W(unsafe { vld1q_u32(words) })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        W(unsafe { veorq_u32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn round(self, t: Self, k: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            let b = tau(veorq_u32(t.0, k.0));
            // L(B) = B + (B <<< 24) + (B + (B <<< 8) + (B <<< 16) <<< 2).
            let b16 = vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(b)));
            let sum = veorq_u32(veorq_u32(b, b16), taken(b, &LEFT_8));
            let sum = vsriq_n_u32::<30>(vshlq_n_u32::<2>(sum), sum);
            self.xor(W(b)).xor(W(taken(b, &LEFT_24))).xor(W(sum))
        }
    }
}

// SAFETY (all functions): as above.
impl Turn for W {
    type Blocks = uint8x16_t;

    #[inline(always)]
    unsafe fn from_blocks(v: [uint8x16_t; 4]) -> [Self; 4] {
        // SAFETY: the caller's proof.
        unsafe {
            let number = |v| vreinterpretq_u32_u8(vrev32q_u8(v));
            turn([number(v[0]), number(v[1]), number(v[2]), number(v[3])]).map(W)
        }
    }
    #[inline(always)]
    unsafe fn into_blocks(x: [Self; 4]) -> [uint8x16_t; 4] {
        // SAFETY: the caller's proof.
        unsafe {
            let bytes = |v| vrev32q_u8(vreinterpretq_u8_u32(v));
            let v = turn([x[0].0, x[1].0, x[2].0, x[3].0]);
            [bytes(v[0]), bytes(v[1]), bytes(v[2]), bytes(v[3])]
        }
    }
}

// SAFETY (all functions): as above.
impl Alone for W {
    type Block = uint8x16_t;

    #[inline(always)]
    unsafe fn from_block(v: uint8x16_t) -> [Self; 4] {
        // SAFETY: the caller's proof.
        unsafe {
            let v = vreinterpretq_u32_u8(vrev32q_u8(v));
            [
                W(v),
                W(vdupq_laneq_u32::<1>(v)),
                W(vdupq_laneq_u32::<2>(v)),
                W(vdupq_laneq_u32::<3>(v)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn into_block(x: [Self; 4]) -> uint8x16_t {
        // SAFETY: the caller's proof.
        unsafe {
            let (low, high) = (vzip1q_u32(x[0].0, x[1].0), vzip1q_u32(x[2].0, x[3].0));
            let low = vreinterpretq_u64_u32(low);
            let v = vzip1q_u64(low, vreinterpretq_u64_u32(high));
            vrev32q_u8(vreinterpretq_u8_u64(v))
        }
    }
}

/// Word j of block i becomes word i of vector j.
///
/// # Safety
/// The processor has NEON.
#[inline(always)]
pub(super) unsafe fn turn(v: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
    // SAFETY: the caller's proof.
    unsafe {
        let a = vreinterpretq_u64_u32(vzip1q_u32(v[0], v[1]));
        let b = vreinterpretq_u64_u32(vzip1q_u32(v[2], v[3]));
        let c = vreinterpretq_u64_u32(vzip2q_u32(v[0], v[1]));
        let d = vreinterpretq_u64_u32(vzip2q_u32(v[2], v[3]));
        [
            vreinterpretq_u32_u64(vzip1q_u64(a, b)),
            vreinterpretq_u32_u64(vzip2q_u64(a, b)),
            vreinterpretq_u32_u64(vzip1q_u64(c, d)),
            vreinterpretq_u32_u64(vzip2q_u64(c, d)),
        ]
    }
}

kernels! {
    token: Neon, attributes: [target_feature(enable = "neon")],
    vector: uint8x16_t, groups: 8, 4, key: [] Keys, rounds: Cipher::<W>::new,
}

serial! {
    token: Neon, attributes: [target_feature(enable = "neon")],
    vector: uint8x16_t, key: [] Keys, rounds: Cipher::<W>::new,
}

streams! {
    token: Neon, attributes: [target_feature(enable = "neon")],
    vector: uint8x16_t, lanes: 8 in 8, key: [] StreamKeys, rounds: Lanes::<W>::new,
}

/// The round keys of `key`.
pub(super) fn expand_key(_: Neon, key: &Block) -> Keys {
    let rk = schedule::expand(key, |word| {
        // SAFETY: the token proves NEON.
        unsafe { vgetq_lane_u32::<0>(tau(vdupq_n_u32(word))) }
    });
    Keys::plain(&rk)
}
