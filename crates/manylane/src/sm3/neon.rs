//! SM3 in eight lanes with AArch64's Advanced SIMD: two interleaved groups of four.
//!
//! A round's chain through TT2 and P_0 takes one group longer than its operations take a core with
//! four vector pipes; a second group fills the gaps. Both need more than the 32 registers, but
//! what is kept in memory is loaded and stored beside the vector pipes: cores with two of them
//! lose nothing.
#![allow(unsafe_code)]

use ::core::arch::{aarch64::*, asm};

use super::{
    DIGEST_LEN, Kernel, Machine,
    body::{self, Vector},
    counter::groups,
    dispatch::{Expanded, State, common_blocks},
};
use crate::cpu::Neon;

/// Messages side by side.
pub(super) const LANES: usize = 8;

const KERNEL: Kernel = Kernel::new("sm3/neon", Machine::Neon);

/// Lanes 0 … 3, and lanes 4 … 7.
#[derive(Clone, Copy)]
struct U32x8(uint32x4_t, uint32x4_t);

// SAFETY (all functions): callers prove Advanced SIMD; `load` and `store` get eight words.
impl Vector for U32x8 {
    #[inline(always)]
    unsafe fn splat(x: u32) -> Self {
        // SAFETY: the caller's proof.
        unsafe { U32x8(vdupq_n_u32(x), vdupq_n_u32(x)) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { U32x8(vaddq_u32(self.0, other.0), vaddq_u32(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { U32x8(veorq_u32(self.0, other.0), veorq_u32(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn rol<const N: i32>(self) -> Self {
        // SAFETY: the caller's proof. Negative counts of `vshlq_u32` shift to the right; in a vector
        // because `32 - N` is no constant expression, they fold into an immediate shift.
        unsafe {
            let right = vdupq_n_s32(N - 32);
            U32x8(
                vorrq_u32(vshlq_n_u32::<N>(self.0), vshlq_u32(self.0, right)),
                vorrq_u32(vshlq_n_u32::<N>(self.1), vshlq_u32(self.1, right)),
            )
        }
    }
    #[inline(always)]
    unsafe fn majority(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof. Where x and y differ, z decides; elsewhere they do.
        unsafe {
            let differ = self.xor(y);
            U32x8(select(differ.0, z.0, y.0), select(differ.1, z.1, y.1))
        }
    }
    #[inline(always)]
    unsafe fn choose(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { U32x8(vbslq_u32(self.0, y.0, z.0), vbslq_u32(self.1, y.1, z.1)) }
    }
    #[inline(always)]
    unsafe fn load(lanes: *const u32) -> Self {
        // SAFETY: the caller's eight words.
        unsafe { U32x8(vld1q_u32(lanes), vld1q_u32(lanes.add(4))) }
    }
    #[inline(always)]
    unsafe fn store(self, lanes: *mut u32) {
        // SAFETY: the caller's eight words.
        unsafe {
            vst1q_u32(lanes, self.0);
            vst1q_u32(lanes.add(4), self.1);
        }
    }
    #[inline(always)]
    unsafe fn xor_digests(v: [Self; 8], data: *mut u8) {
        // SAFETY: the caller's proof, and its 256 bytes.
        unsafe {
            for half in 0..2 {
                let words = |i: usize| v[4 * half + i];
                let groups = [
                    turn([words(0).0, words(1).0, words(2).0, words(3).0]),
                    turn([words(0).1, words(1).1, words(2).1, words(3).1]),
                ];
                for (lane, words) in groups.as_flattened().iter().enumerate() {
                    let data = data.add(32 * lane + 16 * half);
                    let words = vrev32q_u8(vreinterpretq_u8_u32(*words));
                    vst1q_u8(data, veorq_u8(vld1q_u8(data), words));
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn p1(self) -> Self {
        // SAFETY: the caller's proof. x ^ ((x ^ (x <<< 8)) <<< 15): five operations for six. It
        // is a longer chain, for which P_1 has the time that P_0 has not.
        unsafe { self.xor(self.xor(self.rol8()).rol::<15>()) }
    }
}

impl U32x8 {
    /// Rotation by eight bits, as one byte shuffle: cores that shift in one of two pipes shuffle
    /// in both.
    ///
    /// # Safety
    /// The processor has Advanced SIMD.
    #[inline(always)]
    unsafe fn rol8(self) -> Self {
        const BYTES: [u8; 16] = [3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14];
        // SAFETY: the caller's proof; sixteen bytes are there to load.
        unsafe {
            let bytes = vld1q_u8(BYTES.as_ptr());
            let rol8 = |x| vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(x), bytes));
            U32x8(rol8(self.0), rol8(self.1))
        }
    }
}

/// Each bit of `mask` chooses from `y` or `z`, by the instruction for it. The intrinsic is no more
/// than a hint: where the mask is itself an xor, the compiler makes three operations of it.
///
/// # Safety
/// The processor has Advanced SIMD.
#[inline(always)]
unsafe fn select(mut mask: uint32x4_t, y: uint32x4_t, z: uint32x4_t) -> uint32x4_t {
    // SAFETY: the caller's proof.
    unsafe {
        asm!(
            "bsl {mask:v}.16b, {y:v}.16b, {z:v}.16b",
            mask = inout(vreg) mask,
            y = in(vreg) y,
            z = in(vreg) z,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    mask
}

/// CF over the blocks of `inputs`, lane by lane.
pub(super) fn compress_lanes(_: Neon, v: &mut State<LANES>, inputs: &[&[u8]; LANES]) -> Kernel {
    let blocks = common_blocks(inputs);
    // SAFETY: the token proves the feature; every input has `blocks` blocks.
    unsafe { compress(v, &inputs.map(<[u8]>::as_ptr), blocks) };
    KERNEL
}

/// CF of one block that all lanes share.
pub(super) fn compress_constant(_: Neon, v: &mut State<LANES>, block: &Expanded) -> Kernel {
    // SAFETY: the token proves the feature.
    unsafe { constant(v, block) };
    KERNEL
}

/// CF of counter blocks, xored into `data`.
pub(super) fn xor_counters(
    _: Neon,
    v: &[u32; 8],
    counter: u32,
    data: &mut [[u8; DIGEST_LEN]],
) -> Kernel {
    // SAFETY: the token proves the feature.
    unsafe { counters(v, counter, data) };
    KERNEL
}

/// # Safety
/// Each of `inputs` points to `blocks` blocks.
// The feature is part of every target's baseline, so that, unlike on other machines, only the
// attribute keeps the function whole, for checks of the object code to find.
#[inline(never)]
#[target_feature(enable = "neon")]
unsafe fn compress(v: &mut State<LANES>, inputs: &[*const u8; LANES], blocks: usize) {
    // SAFETY: the feature is enabled here; block `k` of each input exists.
    unsafe {
        body::compress::<U32x8, LANES>(v, blocks, |k| {
            let mut w = [U32x8::splat(0); 16];
            for i in 0..4 {
                let row = |lane: usize| inputs[lane].add(64 * k + 16 * i);
                let low = transpose([row(0), row(1), row(2), row(3)]);
                let high = transpose([row(4), row(5), row(6), row(7)]);
                for n in 0..4 {
                    w[4 * i + n] = U32x8(low[n], high[n]);
                }
            }
            w
        });
    }
}

/// Four big-endian words from each of four rows, as four vectors of one word each.
///
/// # Safety
/// The processor has Advanced SIMD, and each row points to 16 bytes.
#[inline(always)]
unsafe fn transpose(rows: [*const u8; 4]) -> [uint32x4_t; 4] {
    // SAFETY: the caller's proof.
    unsafe {
        let row = |lane: usize| vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(rows[lane])));
        turn([row(0), row(1), row(2), row(3)])
    }
}

/// A matrix of four rows of four words, turned around.
///
/// # Safety
/// The processor has Advanced SIMD.
#[inline(always)]
unsafe fn turn([r0, r1, r2, r3]: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
    // SAFETY: the caller's proof.
    unsafe {
        let pairs = |words| vreinterpretq_u64_u32(words);
        let (even01, odd01) = (pairs(vtrn1q_u32(r0, r1)), pairs(vtrn2q_u32(r0, r1)));
        let (even23, odd23) = (pairs(vtrn1q_u32(r2, r3)), pairs(vtrn2q_u32(r2, r3)));
        [
            vreinterpretq_u32_u64(vtrn1q_u64(even01, even23)),
            vreinterpretq_u32_u64(vtrn1q_u64(odd01, odd23)),
            vreinterpretq_u32_u64(vtrn2q_u64(even01, even23)),
            vreinterpretq_u32_u64(vtrn2q_u64(odd01, odd23)),
        ]
    }
}

#[inline(never)]
#[target_feature(enable = "neon")]
fn constant(v: &mut State<LANES>, block: &Expanded) {
    // SAFETY: the feature is enabled here.
    unsafe { body::compress_constant::<U32x8, LANES>(v, block) }
}

#[inline(never)]
#[target_feature(enable = "neon")]
fn counters(v: &[u32; 8], counter: u32, data: &mut [[u8; DIGEST_LEN]]) {
    groups::<LANES>(counter, data, |words, data| {
        // SAFETY: the feature is enabled here; `data` has 32 bytes for each lane.
        unsafe { body::xor_counters::<U32x8, LANES>(v, words, data.as_mut_ptr().cast()) };
    });
}
