//! Keccak-p\[1600\] with the Armv8.2 SHA3 instructions (FEAT_SHA3): one stream, or two lanes.
//!
//! `eor3` adds three, `rax1` makes D of two parities, `xar` adds D and rotates, `bcax` is χ: 66
//! instructions a round (10, 5, 24 and 25 of these, an exclusive or for the word that ρ leaves where
//! it is, one for ι), where Advanced SIMD takes 159. Apple's cores have four pipes for them: 17
//! clocks a round. Arm's own have one: 66 clocks, where Advanced SIMD takes 40 on four pipes, and one
//! stream in general registers about as long. So only Apple's choose this machine.
#![allow(unsafe_code)]

use ::core::arch::aarch64::*;

use super::{
    Kernel, Machine,
    body::{self, GROUP, Vector},
    dispatch::{Rounds, State, common_blocks},
    neon::transpose,
};
use crate::cpu::ArmSha3;

/// Inputs side by side.
pub(super) const LANES: usize = 2;

const KERNEL: Kernel = Kernel::new("sha3/armsha3", Machine::ArmSha3);

/// Its name says which of the two algorithms ran.
const STATE_KERNEL: Kernel = Kernel::new("sha3/armsha3-state", Machine::ArmSha3);

/// The functions of [`Vector`] that do not depend on how many words of a register are used.
macro_rules! operations {
    ($vector:ident) => {
        /// D itself.
        type Effect = Self;

        #[inline(always)]
        unsafe fn splat(x: u64) -> Self {
            // SAFETY: the caller's proof.
            $vector(unsafe { vdupq_n_u64(x) })
        }
        #[inline(always)]
        unsafe fn xor(self, other: Self) -> Self {
            // SAFETY: the caller's proof.
            $vector(unsafe { veorq_u64(self.0, other.0) })
        }
        #[inline(always)]
        unsafe fn xor3(self, y: Self, z: Self) -> Self {
            // SAFETY: the caller's proof.
            $vector(unsafe { veor3q_u64(self.0, y.0, z.0) })
        }
        #[inline(always)]
        unsafe fn chi(self, y: Self, z: Self) -> Self {
            // SAFETY: the caller's proof.
            $vector(unsafe { vbcaxq_u64(self.0, z.0, y.0) })
        }
        #[inline(always)]
        unsafe fn effect(self, right: Self) -> Self {
            // SAFETY: the caller's proof.
            $vector(unsafe { vrax1q_u64(self.0, right.0) })
        }
        #[inline(always)]
        unsafe fn theta(self, d: Self) -> Self {
            // SAFETY: the caller's proof.
            unsafe { self.xor(d) }
        }
        #[inline(always)]
        unsafe fn theta_rho<const N: i32, const RIGHT: i32>(self, d: Self) -> Self {
            // SAFETY: the caller's proof.
            $vector(unsafe { vxarq_u64::<RIGHT>(self.0, d.0) })
        }
    };
}

/// Two lanes.
#[derive(Clone, Copy)]
struct U64x2(uint64x2_t);

// SAFETY (all functions): callers prove FEAT_SHA3; `load` and `store` get two words.
impl Vector for U64x2 {
    operations!(U64x2);
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn load(lanes: *const u64) -> Self {
        // SAFETY: the caller's two words.
        U64x2(unsafe { vld1q_u64(lanes) })
    }
    #[inline(always)]
    unsafe fn store(self, lanes: *mut u64) {
        // SAFETY: the caller's two words.
        unsafe { vst1q_u64(lanes, self.0) }
    }
}

/// One lane; what is in the other half of the register does not matter.
#[derive(Clone, Copy)]
struct U64x1(uint64x2_t);

// SAFETY (all functions): callers prove FEAT_SHA3; `load` and `store` get one word.
impl Vector for U64x1 {
    operations!(U64x1);
    const LANES: usize = 1;

    #[inline(always)]
    unsafe fn load(lanes: *const u64) -> Self {
        // SAFETY: the caller's word.
        U64x1(unsafe { vld1q_dup_u64(lanes) })
    }
    #[inline(always)]
    unsafe fn store(self, lanes: *mut u64) {
        // SAFETY: the caller's word.
        unsafe { vst1q_lane_u64::<0>(lanes, self.0) }
    }
}

/// For each `rate` bytes of every input: xors them into their lane's state, and permutes all.
pub(super) fn absorb_lanes(
    _: ArmSha3,
    a: &mut State<LANES>,
    rounds: Rounds,
    rate: usize,
    inputs: &[&[u8]; LANES],
) -> Kernel {
    let blocks = common_blocks(rate, inputs);
    // SAFETY: the token proves the features; every input has `blocks` blocks of `rate` bytes.
    unsafe { absorb_two(a, &inputs.map(<[u8]>::as_ptr), rounds, rate, blocks) };
    KERNEL
}

/// Permutes every lane's state.
pub(super) fn permute_lanes(_: ArmSha3, a: &mut State<LANES>, rounds: Rounds) -> Kernel {
    // SAFETY: the token proves the features.
    unsafe { permute_two(a, rounds) };
    KERNEL
}

#[target_feature(enable = "neon,sha3")]
fn permute_two(a: &mut State<LANES>, rounds: Rounds) {
    // SAFETY: the features are enabled here.
    unsafe { body::permute::<U64x2, LANES>(&mut a.0, rounds) }
}

/// # Safety
/// Each of `inputs` points to `blocks` blocks of `rate` bytes.
#[target_feature(enable = "neon,sha3")]
unsafe fn absorb_two(
    a: &mut State<LANES>,
    inputs: &[*const u8; LANES],
    rounds: Rounds,
    rate: usize,
    blocks: usize,
) {
    // SAFETY: the features are enabled here; four words of each input are at the places asked for.
    unsafe {
        body::absorb::<U64x2, LANES>(&mut a.0, rounds, rate, blocks, |i| {
            transpose(inputs[0].add(i), inputs[1].add(i)).map(U64x2)
        });
    }
}

/// For each `rate` bytes of `blocks`: xors them into the state, and permutes it.
pub(super) fn absorb(
    _: ArmSha3,
    a: &mut [u64; 25],
    rounds: Rounds,
    rate: usize,
    blocks: &[u8],
) -> Kernel {
    let count = common_blocks(rate, &[blocks]);
    // SAFETY: the token proves the features; there are `count` blocks of `rate` bytes.
    unsafe { absorb_one(a, blocks.as_ptr(), rounds, rate, count) };
    STATE_KERNEL
}

/// Permutes the state.
pub(super) fn permute(_: ArmSha3, a: &mut [u64; 25], rounds: Rounds) -> Kernel {
    // SAFETY: the token proves the features.
    unsafe { permute_one(a, rounds) };
    STATE_KERNEL
}

/// A state as that of one lane.
fn lane(a: &mut [u64; 25]) -> &mut [[u64; 1]; 25] {
    a.as_chunks_mut().0.try_into().expect("25 words")
}

#[target_feature(enable = "neon,sha3")]
fn permute_one(a: &mut [u64; 25], rounds: Rounds) {
    // SAFETY: the features are enabled here.
    unsafe { body::permute::<U64x1, 1>(lane(a), rounds) }
}

/// # Safety
/// `input` points to `blocks` blocks of `rate` bytes.
#[target_feature(enable = "neon,sha3")]
unsafe fn absorb_one(
    a: &mut [u64; 25],
    input: *const u8,
    rounds: Rounds,
    rate: usize,
    blocks: usize,
) {
    // SAFETY: the features are enabled here; four words of the input are at the places asked for.
    unsafe {
        body::absorb::<U64x1, 1>(lane(a), rounds, rate, blocks, |i| {
            ::core::array::from_fn::<_, GROUP, _>(|word| {
                let bytes = vld1_u8(input.add(i + 8 * word));
                U64x1(vreinterpretq_u64_u8(vcombine_u8(bytes, bytes)))
            })
        });
    }
}
