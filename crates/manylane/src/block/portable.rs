//! A block as a number of 128 bits, for the bitsliced ciphers.
#![allow(unsafe_code)]

use super::{Block, TweakOrder, lanes::Vector};

// SAFETY (all functions): only blocks to load and store are asked for.
impl Vector for u128 {
    const BLOCKS: usize = 1;

    #[inline(always)]
    unsafe fn load(data: *const Block) -> Self {
        // SAFETY: the caller's block.
        u128::from_le_bytes(unsafe { data.read() })
    }
    #[inline(always)]
    unsafe fn store(self, data: *mut Block) {
        // SAFETY: the caller's block.
        unsafe { data.write(self.to_le_bytes()) }
    }
    #[inline(always)]
    unsafe fn splat(block: &Block) -> Self {
        u128::from_le_bytes(*block)
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
        self ^ other
    }
    #[inline(always)]
    unsafe fn after(self, before: Self) -> Self {
        before
    }
    #[inline(always)]
    unsafe fn counting(counter: &Block) -> Self {
        u128::from_be_bytes(*counter)
    }
    #[inline(always)]
    unsafe fn advance<const N: u32>(self) -> Self {
        self >> 32 << 32 | u128::from((self as u32).wrapping_add(N))
    }
    #[inline(always)]
    unsafe fn to_blocks(self) -> Self {
        self.swap_bytes()
    }
    #[inline(always)]
    unsafe fn times_alpha8(self, order: TweakOrder) -> Self {
        match order {
            TweakOrder::Ieee => {
                let over = self >> 120;
                self << 8 ^ over ^ over << 1 ^ over << 2 ^ over << 7
            }
            TweakOrder::Gb => {
                let t = self.swap_bytes();
                let over = t << 120;
                (t >> 8 ^ over ^ over >> 1 ^ over >> 2 ^ over >> 7).swap_bytes()
            }
        }
    }
}
