//! SM4 with the Armv8.2 SM4 instructions: four rounds of a block in one.
//!
//! In assembly, because the intrinsics are unstable. Eight blocks side by side hide the latency.
#![allow(unsafe_code)]

use ::core::arch::{aarch64::*, asm};

use super::{
    Block,
    schedule::{CK, FK, Keys, StreamKeys},
};
use crate::{
    block::lanes::{InverseRounds, Rounds, kernels, serial, streams},
    cpu::ArmCrypto,
};

/// Messages of [`cbc_streams`].
pub(super) const LANES: usize = 8;

/// Four rounds: `x` holds Xᵢ … Xᵢ₊₃, `rk` the four round keys.
///
/// # Safety
/// The processor has FEAT_SM4.
#[inline(always)]
unsafe fn sm4e(mut x: uint32x4_t, rk: uint32x4_t) -> uint32x4_t {
    // SAFETY: the caller's proof; only operands are changed.
    unsafe {
        asm!(
            ".arch_extension sm4",
            "sm4e {x:v}.4s, {rk:v}.4s",
            x = inout(vreg) x,
            rk = in(vreg) rk,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    x
}

/// Four round keys from the four before, or MK + FK, and CKᵢ … CKᵢ₊₃.
///
/// # Safety
/// The processor has FEAT_SM4.
#[inline(always)]
unsafe fn sm4ekey(k: uint32x4_t, ck: uint32x4_t) -> uint32x4_t {
    let rk;
    // SAFETY: the caller's proof; only operands are changed.
    unsafe {
        asm!(
            ".arch_extension sm4",
            "sm4ekey {rk:v}.4s, {k:v}.4s, {ck:v}.4s",
            rk = out(vreg) rk,
            k = in(vreg) k,
            ck = in(vreg) ck,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    rk
}

/// 32 rounds of each block; `keys(round, i)` are four round keys for block `i`.
///
/// # Safety
/// The processor has FEAT_SM4, and four words are where `keys` tells.
#[inline(always)]
unsafe fn crypt<const G: usize>(
    mut v: [uint8x16_t; G],
    keys: impl Fn(usize, usize) -> *const u32,
) -> [uint8x16_t; G] {
    // SAFETY: the caller's proof.
    unsafe {
        for i in 0..G {
            v[i] = vrev32q_u8(v[i]);
        }
        for round in (0..32).step_by(4) {
            for i in 0..G {
                let rk = vld1q_u32(keys(round, i));
                v[i] = vreinterpretq_u8_u32(sm4e(vreinterpretq_u32_u8(v[i]), rk));
            }
        }
        for i in 0..G {
            // X₃₅ … X₃₂ as bytes: all sixteen the other way around.
            let halves = vrev64q_u8(v[i]);
            v[i] = vextq_u8::<8>(halves, halves);
        }
        v
    }
}

/// The cipher on blocks.
struct Cipher<'a>(&'a Keys);

// SAFETY: callers prove FEAT_SM4; rounds 0, 4, … 28 have four keys.
impl<const G: usize> Rounds<uint8x16_t, G> for Cipher<'_> {
    #[inline(always)]
    unsafe fn encrypt(&self, v: [uint8x16_t; G]) -> [uint8x16_t; G] {
        let keys = self.0.encrypt.k.as_ptr();
        // SAFETY: the caller's proof.
        unsafe { crypt(v, |round, _| keys.wrapping_add(round)) }
    }
}

// SAFETY: as above.
impl<const G: usize> InverseRounds<uint8x16_t, G> for Cipher<'_> {
    #[inline(always)]
    unsafe fn decrypt(&self, v: [uint8x16_t; G]) -> [uint8x16_t; G] {
        let keys = self.0.decrypt.k.as_ptr();
        // SAFETY: the caller's proof.
        unsafe { crypt(v, |round, _| keys.wrapping_add(round)) }
    }
}

/// The cipher with the keys of messages side by side, which [`StreamKeys::set_fours`] ordered.
struct Lanes<'a>(&'a StreamKeys);

// SAFETY: callers prove FEAT_SM4; four rounds of sixteen lanes have 64 keys, four a lane.
impl Rounds<uint8x16_t, LANES> for Lanes<'_> {
    #[inline(always)]
    unsafe fn encrypt(&self, v: [uint8x16_t; LANES]) -> [uint8x16_t; LANES] {
        let keys = self.0.k.as_flattened().as_ptr();
        // SAFETY: the caller's proof.
        unsafe { crypt(v, |round, i| keys.wrapping_add(16 * round + 4 * i)) }
    }
}

kernels! {
    token: ArmCrypto, attributes: [target_feature(enable = "neon")],
    vector: uint8x16_t, groups: 8, 1, key: [] Keys, rounds: Cipher,
}

serial! {
    token: ArmCrypto, attributes: [target_feature(enable = "neon")],
    vector: uint8x16_t, key: [] Keys, rounds: Cipher,
}

streams! {
    token: ArmCrypto, attributes: [target_feature(enable = "neon")],
    vector: uint8x16_t, lanes: 8 in 8, key: [] StreamKeys, rounds: Lanes,
}

/// The round keys of `key`.
pub(super) fn expand_key(_: ArmCrypto, key: &Block) -> Keys {
    let mut rk = zeroize::Zeroizing::new([0; 32]);
    // SAFETY: the token proves FEAT_SM4. A key, FK and four words of CK are read, four of `rk` written.
    unsafe {
        let mk = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(key.as_ptr())));
        let mut k = veorq_u32(mk, vld1q_u32(FK.as_ptr()));
        for i in (0..32).step_by(4) {
            k = sm4ekey(k, vld1q_u32(CK[i..i + 4].as_ptr()));
            vst1q_u32(rk[i..i + 4].as_mut_ptr(), k);
        }
    }
    Keys::plain(&rk)
}
