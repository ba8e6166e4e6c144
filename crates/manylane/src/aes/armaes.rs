//! AES with the Arm instructions, a block in a register.
//!
//! AESE adds the round key first, then does SubBytes and ShiftRows, so the last key is an exclusive or of
//! its own. AESE and AESMC (AESD and AESIMC) of the same register run as one where they stand side by side:
//! that is why they are written as one piece of assembly.
#![allow(unsafe_code)]

use ::core::arch::{aarch64::*, asm};

use super::{
    Block,
    schedule::{RoundKeys, StreamKeys, expand},
};
use crate::{
    block::lanes::{InverseRounds, Rounds, kernels, serial, streams},
    cpu::Armaes,
};

/// Messages of [`cbc_streams`].
pub(super) const LANES: usize = 8;

/// The round keys where they lie.
struct Keys<'a, const N: usize>(&'a RoundKeys<N>);

/// # Safety
/// The processor has NEON.
#[inline(always)]
unsafe fn load(key: &Block) -> uint8x16_t {
    // SAFETY: a block is read.
    unsafe { vld1q_u8(key.as_ptr()) }
}

/// AESE, and then AESMC if it is not the last: likewise AESD and AESIMC.
macro_rules! round {
    ($name:ident, $first:literal $(, $second:literal)?) => {
        /// # Safety
        /// The processor has the AES instructions.
        #[inline(always)]
        unsafe fn $name(mut v: uint8x16_t, key: uint8x16_t) -> uint8x16_t {
            // SAFETY: registers alone are used; the rest is the caller's proof.
            unsafe {
                asm!(
                    concat!($first, " {v:v}.16b, {key:v}.16b"),
                    $(concat!($second, " {v:v}.16b, {v:v}.16b"),)?
                    v = inout(vreg) v,
                    key = in(vreg) key,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            v
        }
    };
}
round!(encrypt_round, "aese", "aesmc");
round!(encrypt_last, "aese");
round!(decrypt_round, "aesd", "aesimc");
round!(decrypt_last, "aesd");

// SAFETY: callers prove the AES instructions.
impl<const N: usize, const G: usize> Rounds<uint8x16_t, G> for Keys<'_, N> {
    #[inline(always)]
    unsafe fn encrypt(&self, mut v: [uint8x16_t; G]) -> [uint8x16_t; G] {
        let keys = &self.0.encrypt;
        // SAFETY: the caller's proof.
        unsafe {
            for round in 0..N - 2 {
                let key = load(&keys[round]);
                for i in 0..G {
                    v[i] = encrypt_round(v[i], key);
                }
            }
            let (key, last) = (load(&keys[N - 2]), load(&keys[N - 1]));
            for i in 0..G {
                v[i] = veorq_u8(encrypt_last(v[i], key), last);
            }
        }
        v
    }
}

// SAFETY: callers prove the AES instructions.
impl<const N: usize, const G: usize> InverseRounds<uint8x16_t, G> for Keys<'_, N> {
    #[inline(always)]
    unsafe fn decrypt(&self, mut v: [uint8x16_t; G]) -> [uint8x16_t; G] {
        let keys = &self.0.decrypt;
        // SAFETY: the caller's proof.
        unsafe {
            for round in 0..N - 2 {
                let key = load(&keys[round]);
                for i in 0..G {
                    v[i] = decrypt_round(v[i], key);
                }
            }
            let (key, last) = (load(&keys[N - 2]), load(&keys[N - 1]));
            for i in 0..G {
                v[i] = veorq_u8(decrypt_last(v[i], key), last);
            }
        }
        v
    }
}

/// The round keys of each lane where they lie.
struct LaneKeys<'a, const N: usize>(&'a StreamKeys<N>);

// SAFETY: callers prove the AES instructions.
impl<const N: usize> Rounds<uint8x16_t, LANES> for LaneKeys<'_, N> {
    #[inline(always)]
    unsafe fn encrypt(&self, mut v: [uint8x16_t; LANES]) -> [uint8x16_t; LANES] {
        let keys = &self.0.rounds;
        // SAFETY: the caller's proof.
        unsafe {
            for round in 0..N - 2 {
                for i in 0..LANES {
                    v[i] = encrypt_round(v[i], load(&keys[round][i]));
                }
            }
            for i in 0..LANES {
                let (key, last) = (load(&keys[N - 2][i]), load(&keys[N - 1][i]));
                v[i] = veorq_u8(encrypt_last(v[i], key), last);
            }
        }
        v
    }
}

kernels! {
    token: Armaes, attributes: [target_feature(enable = "neon,aes")],
    vector: uint8x16_t, groups: 8, 1,
    key: [const N: usize] RoundKeys<N>, rounds: Keys,
}

serial! {
    token: Armaes, attributes: [target_feature(enable = "neon,aes")],
    vector: uint8x16_t, key: [const N: usize] RoundKeys<N>, rounds: Keys,
}

streams! {
    token: Armaes, attributes: [target_feature(enable = "neon,aes")],
    vector: uint8x16_t, lanes: 8 in 8, key: [const N: usize] StreamKeys<N>, rounds: LaneKeys,
}

/// The round keys of `key`, which has `N` − 7 words.
pub(super) fn expand_key<const N: usize>(_: Armaes, key: &[u8]) -> RoundKeys<N> {
    let mut keys = RoundKeys::zero();
    // SAFETY: the token proves the features.
    unsafe { expand_into(key, &mut keys) };
    keys
}

#[target_feature(enable = "neon,aes")]
fn expand_into<const N: usize>(key: &[u8], keys: &mut RoundKeys<N>) {
    expand(key, &mut keys.encrypt, |word| {
        // Four equal columns are not changed by ShiftRows.
        let columns = vreinterpretq_u8_u32(vdupq_n_u32(word));
        vgetq_lane_u32::<0>(vreinterpretq_u32_u8(vaeseq_u8(columns, vdupq_n_u8(0))))
    });
    keys.decrypt[0] = keys.encrypt[N - 1];
    keys.decrypt[N - 1] = keys.encrypt[0];
    for round in 1..N - 1 {
        // SAFETY: a block is read, and one is written.
        unsafe {
            let key = vaesimcq_u8(load(&keys.encrypt[N - 1 - round]));
            vst1q_u8(keys.decrypt[round].as_mut_ptr(), key);
        }
    }
}
