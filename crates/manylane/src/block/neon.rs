//! A block in a register of NEON.
#![allow(unsafe_code)]

use ::core::arch::aarch64::*;

use super::{Block, TweakOrder, lanes::Vector};

// SAFETY (all functions): callers prove NEON, and blocks to load and store.
impl Vector for uint8x16_t {
    const BLOCKS: usize = 1;

    #[inline(always)]
    unsafe fn load(data: *const Block) -> Self {
        // SAFETY: the caller's block.
        unsafe { vld1q_u8(data.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, data: *mut Block) {
        // SAFETY: the caller's block.
        unsafe { vst1q_u8(data.cast(), self) }
    }
    #[inline(always)]
    unsafe fn splat(block: &Block) -> Self {
        // SAFETY: a block is read.
        unsafe { vld1q_u8(block.as_ptr()) }
    }
    #[inline(always)]
    unsafe fn gather(blocks: [*mut Block; 4]) -> Self {
        // SAFETY: the caller's block.
        unsafe { Self::load(blocks[0]) }
    }
    #[inline(always)]
    unsafe fn scatter(self, blocks: [*mut Block; 4]) {
        // SAFETY: the caller's block.
        unsafe { self.store(blocks[0]) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { veorq_u8(self, other) }
    }
    #[inline(always)]
    unsafe fn after(self, before: Self) -> Self {
        before
    }
    #[inline(always)]
    unsafe fn counting(counter: &Block) -> Self {
        // SAFETY: the caller's proof.
        unsafe { vrev32q_u8(Self::splat(counter)) }
    }
    #[inline(always)]
    unsafe fn advance<const N: u32>(self) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            let n = vsetq_lane_u32::<3>(N, vdupq_n_u32(0));
            vreinterpretq_u8_u32(vaddq_u32(vreinterpretq_u32_u8(self), n))
        }
    }
    #[inline(always)]
    unsafe fn to_blocks(self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { vrev32q_u8(self) }
    }
    #[inline(always)]
    unsafe fn times_alpha8(self, order: TweakOrder) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            // The last byte times what x¹²⁸ is, x⁷ + x² + x + 1, into the first two.
            let zero = vdupq_n_u8(0);
            let moved = vextq_u8::<15>(zero, self);
            let over = vget_low_u8(vextq_u8::<15>(self, zero));
            let product = |by| vmull_p8(vreinterpret_p8_u8(over), vdup_n_p8(by));
            let more = match order {
                TweakOrder::Ieee => vreinterpretq_u8_p16(product(0x87)),
                TweakOrder::Gb => {
                    // The highest bit is x⁰ in both factors: 16 bits with x⁰ in the highest.
                    let product = vreinterpretq_u16_p16(product(0xe1));
                    vrev16q_u8(vreinterpretq_u8_u16(vshlq_n_u16::<1>(product)))
                }
            };
            veorq_u8(moved, more)
        }
    }
}
