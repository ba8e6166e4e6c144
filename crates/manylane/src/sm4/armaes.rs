//! SM4 in four lanes with the S-box of the Arm AES instructions, as `aesni` has it of AES-NI.
//!
//! AESE adds a key, zero here, before SubBytes, and none after: so the constant of AES's S-box is in the
//! tables.
#![allow(unsafe_code)]

use ::core::arch::{aarch64::*, asm};

use super::{
    Block,
    affine::{AES, AES_SUB_BYTES, Matrix, S_CONSTANT, TURNED, after_sub_bytes},
    body::{Alone, Cipher, Lanes, Turn, Words},
    neon::turn,
    schedule::{self, Keys, StreamKeys},
};
use crate::{
    block::lanes::{kernels, serial, streams},
    cpu::Armaes,
};

/// Messages of [`cbc_streams`].
pub(super) const LANES: usize = 8;

/// Four words.
#[derive(Clone, Copy)]
struct W(uint8x16_t);

/// The tables of a map after AESE, with `constant` added.
const fn after_aese(map: &Matrix, constant: u8) -> [[u8; 16]; 2] {
    let map = after_sub_bytes(map);
    map.nibbles(map.apply(AES_SUB_BYTES.1) ^ constant)
}

/// The tables by halves of bytes.
static ENTER: [[u8; 16]; 2] = AES.enter.nibbles(0);
static LEAVE: [[u8; 16]; 2] = AES.leave.nibbles(0);
static P: [[u8; 16]; 2] = after_aese(&AES.p, 0);
static R: [[u8; 16]; 2] = after_aese(&AES.r, 0);
static ENTER_C1: [[u8; 16]; 2] = AES.enter.nibbles(AES.c1);
static A2_C: [[u8; 16]; 2] = after_aese(&AES.a2, S_CONSTANT);

/// AESE with the key zero. In assembly, because compilers take the intrinsic only where they see the feature
/// enabled, which they do no sooner than this is inlined.
///
/// # Safety
/// The processor has the AES instructions.
#[inline(always)]
unsafe fn aese(mut v: uint8x16_t) -> uint8x16_t {
    // SAFETY: the caller's proof; only operands are changed.
    unsafe {
        asm!(
            ".arch_extension aes",
            "aese {v:v}.16b, {zero:v}.16b",
            v = inout(vreg) v,
            zero = in(vreg) vdupq_n_u8(0),
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    v
}

/// A map of bytes by its tables.
///
/// # Safety
/// The processor has NEON.
#[inline(always)]
unsafe fn map(v: uint8x16_t, tables: &[[u8; 16]; 2]) -> uint8x16_t {
    // SAFETY: tables are read; the rest is the caller's proof.
    unsafe {
        let low = vqtbl1q_u8(vld1q_u8(tables[0].as_ptr()), vandq_u8(v, vdupq_n_u8(15)));
        let high = vqtbl1q_u8(vld1q_u8(tables[1].as_ptr()), vshrq_n_u8::<4>(v));
        veorq_u8(low, high)
    }
}

/// Bytes taken as one of [`TURNED`] tells.
///
/// # Safety
/// The processor has NEON.
#[inline(always)]
unsafe fn turned(v: uint8x16_t, by: usize) -> W {
    // SAFETY: sixteen bytes are read; the rest is the caller's proof.
    W(unsafe { vqtbl1q_u8(v, vld1q_u8(TURNED[by].as_ptr())) })
}

// SAFETY (all functions): callers prove NEON and the AES instructions.
impl Words for W {
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the caller's proof.
        W(unsafe { vreinterpretq_u8_u32(vdupq_n_u32(word)) })
    }
    #[inline(always)]
    unsafe fn load(words: *const u32) -> Self {
        // SAFETY: the caller's four words.
        W(unsafe { vreinterpretq_u8_u32(vld1q_u32(words)) })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        W(unsafe { veorq_u8(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn round(self, t: Self, k: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            let inverse = aese(t.0);
            let (p, r) = (map(inverse, &P), map(inverse, &R));
            let q = veorq_u8(p, r);
            let q = turned(q, 1).xor(turned(q, 2));
            self.xor(k).xor(turned(p, 0)).xor(q).xor(turned(r, 3))
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
            let word = |v| vreinterpretq_u32_u8(v);
            let [x0, x1, x2, x3] = turn([word(v[0]), word(v[1]), word(v[2]), word(v[3])]);
            let mapped = |x| W(map(vreinterpretq_u8_u32(x), &ENTER));
            [mapped(x0), mapped(x1), mapped(x2), mapped(x3)]
        }
    }
    #[inline(always)]
    unsafe fn into_blocks(x: [Self; 4]) -> [uint8x16_t; 4] {
        // SAFETY: the caller's proof.
        unsafe {
            let mapped = |x: W| vreinterpretq_u32_u8(map(x.0, &LEAVE));
            let v = turn([mapped(x[0]), mapped(x[1]), mapped(x[2]), mapped(x[3])]);
            let bytes = |v| vreinterpretq_u8_u32(v);
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
            let v = vreinterpretq_u32_u8(map(v, &ENTER));
            let word = |x| W(vreinterpretq_u8_u32(x));
            [
                word(v),
                word(vdupq_laneq_u32::<1>(v)),
                word(vdupq_laneq_u32::<2>(v)),
                word(vdupq_laneq_u32::<3>(v)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn into_block(x: [Self; 4]) -> uint8x16_t {
        // SAFETY: the caller's proof.
        unsafe {
            let word = |x: W| vreinterpretq_u32_u8(x.0);
            let low = vreinterpretq_u64_u32(vzip1q_u32(word(x[0]), word(x[1])));
            let high = vreinterpretq_u64_u32(vzip1q_u32(word(x[2]), word(x[3])));
            map(vreinterpretq_u8_u64(vzip1q_u64(low, high)), &LEAVE)
        }
    }
}

kernels! {
    token: Armaes, attributes: [target_feature(enable = "neon,aes")],
    vector: uint8x16_t, groups: 8, 4, key: [] Keys, rounds: Cipher::<W>::new,
}

serial! {
    token: Armaes, attributes: [target_feature(enable = "neon,aes")],
    vector: uint8x16_t, key: [] Keys, rounds: Cipher::<W>::new,
}

streams! {
    token: Armaes, attributes: [target_feature(enable = "neon,aes")],
    vector: uint8x16_t, lanes: 8 in 8, key: [] StreamKeys, rounds: Lanes::<W>::new,
}

/// The round keys of `key`.
pub(super) fn expand_key(_: Armaes, key: &Block) -> Keys {
    // SAFETY: the token proves the features.
    Keys::mapped(&AES, &schedule::expand(key, |word| unsafe { tau(word) }))
}

/// τ of clause 6.2.
#[target_feature(enable = "neon,aes")]
fn tau(word: u32) -> u32 {
    // SAFETY: the features are enabled here. Four equal columns are not changed by ShiftRows.
    unsafe {
        let v = map(vreinterpretq_u8_u32(vdupq_n_u32(word)), &ENTER_C1);
        let v = map(aese(v), &A2_C);
        vgetq_lane_u32::<0>(vreinterpretq_u32_u8(v))
    }
}
