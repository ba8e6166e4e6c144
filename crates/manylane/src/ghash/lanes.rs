//! GHASH over any vector of blocks that a machine multiplies without carries, written once.
//!
//! A block's bytes are turned around, so that bit 127 is the coefficient of x⁰. The product of two such
//! numbers is then a place too far down, which the powers of H make up for: they are held divided by x.
//! The sum of the products of many blocks is reduced once.
#![allow(unsafe_code)]

use super::{Block, POWERS, Powers};
use crate::ct::wipe_array;

/// A vector of one or more blocks whose bytes are turned around.
///
/// # Safety
/// Callers of every function prove that the processor has the machine's instructions.
pub(crate) trait Clmul: Copy {
    /// Blocks of a vector: 1 or 4.
    const BLOCKS: usize;
    /// A vector of one block.
    type One: Clmul;

    /// All zero.
    unsafe fn zero() -> Self;
    /// The `BLOCKS` blocks at `data`, turned around.
    unsafe fn load(data: *const Block) -> Self;
    /// The `BLOCKS` powers at `data`, as they are.
    unsafe fn load_powers(data: *const Block) -> Self;
    /// Exclusive or with the first block.
    unsafe fn xor_first(self, one: Self::One) -> Self;
    /// Exclusive or of three.
    unsafe fn xor3(self, y: Self, z: Self) -> Self;
    /// The product of the lower halves.
    unsafe fn low(self, other: Self) -> Self;
    /// The product of the upper halves.
    unsafe fn high(self, other: Self) -> Self;
    /// The product of the lower half and the upper half of `other`.
    unsafe fn low_high(self, other: Self) -> Self;
    /// The product of the upper half and the lower half of `other`.
    unsafe fn high_low(self, other: Self) -> Self;
    /// low + cross · x⁶⁴ + high · x¹²⁸, summed over the blocks and reduced.
    unsafe fn reduce(low: Self, cross: Self, high: Self) -> Self::One;
    /// Stores a block, turned around again.
    unsafe fn store(one: Self::One, data: *mut Block);
    /// Stores a power as it is.
    unsafe fn store_power(one: Self::One, data: *mut Block);
}

/// The sum of products, not yet reduced.
#[derive(Clone, Copy)]
pub(crate) struct Sum<V> {
    pub(crate) low: V,
    pub(crate) cross: V,
    pub(crate) high: V,
}

// SAFETY (all functions): callers prove that the processor has `V`'s machine.
impl<V: Clmul> Sum<V> {
    /// One product.
    #[inline(always)]
    pub(crate) unsafe fn of(x: V, power: V) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            let cross = x.low_high(power).xor3(x.high_low(power), V::zero());
            Sum { low: x.low(power), cross, high: x.high(power) }
        }
    }

    /// The sum and one more product.
    #[inline(always)]
    pub(crate) unsafe fn plus(self, x: V, power: V) -> Self {
        // SAFETY: the caller's proof.
        unsafe {
            Sum {
                low: self.low.xor3(x.low(power), V::zero()),
                cross: self.cross.xor3(x.low_high(power), x.high_low(power)),
                high: self.high.xor3(x.high(power), V::zero()),
            }
        }
    }

    /// The sum and two more products: exclusive ors of three save a third of them.
    #[inline(always)]
    pub(crate) unsafe fn plus_two(self, x: [V; 2], powers: [V; 2]) -> Self {
        let ([x, y], [a, b]) = (x, powers);
        // SAFETY: the caller's proof.
        unsafe {
            let cross = self.cross.xor3(x.low_high(a), x.high_low(a));
            Sum {
                low: self.low.xor3(x.low(a), y.low(b)),
                cross: cross.xor3(y.low_high(b), y.high_low(b)),
                high: self.high.xor3(x.high(a), y.high(b)),
            }
        }
    }

    /// The sum as an element of the field.
    #[inline(always)]
    pub(crate) unsafe fn reduce(self) -> V::One {
        // SAFETY: the caller's proof.
        unsafe { V::reduce(self.low, self.cross, self.high) }
    }
}

/// Takes in `blocks`, `G` vectors before each reduction.
///
/// # Safety
/// The processor has `V`'s machine; `powers` are those of [`fill`] with at least as many as `G` vectors
/// have blocks.
#[inline(always)]
pub(super) unsafe fn update<V: Clmul, const G: usize>(
    powers: &Powers,
    y: &mut Block,
    blocks: &[Block],
) where
    V::One: Clmul<One = V::One>,
{
    const { assert!(G * V::BLOCKS <= POWERS) };
    let group = G * V::BLOCKS;
    let mut left = blocks.len();
    let mut at = blocks.as_ptr();
    // SAFETY: `at` has `left` blocks; the rest is the caller's proof.
    unsafe {
        let mut sum = V::One::load(y);
        while left >= group {
            let from = powers.0.as_ptr().add(POWERS - group);
            sum = products::<V>(at, from, G, sum);
            (at, left) = (at.add(group), left - group);
        }
        let part = left % V::BLOCKS;
        if part > 0 {
            // Zeros in front change nothing but the place of the sum.
            let mut first = [[0; 16]; 4];
            let start = V::BLOCKS - part;
            first.as_mut_ptr().add(start).copy_from_nonoverlapping(at, part);
            let mut place = [0; 16];
            V::One::store(sum, &mut place);
            crate::block::kernels::xor(&mut first[start], &place);
            let zero = V::One::zero();
            let from = powers.0.as_ptr().add(POWERS - V::BLOCKS);
            sum = products::<V>(first.as_ptr(), from, 1, zero);
            (at, left) = (at.add(part), left - part);
            // The hash so far, from which H can be computed.
            wipe_array(&mut first, [0; 16]);
            wipe_array(&mut place, 0);
        }
        if left > 0 {
            let from = powers.0.as_ptr().add(POWERS - left);
            sum = products::<V>(at, from, left / V::BLOCKS, sum);
        }
        V::One::store(sum, y);
    }
}

/// `y` and `vectors` of blocks at `data`, times the powers from `powers` on. The product that `y` is part of is
/// the last: all others need not wait for it.
///
/// # Safety
/// As of [`update`]; there are so many blocks, and powers, and not none.
#[inline(always)]
unsafe fn products<V: Clmul>(
    data: *const Block,
    powers: *const Block,
    vectors: usize,
    y: V::One,
) -> V::One {
    // SAFETY: the caller's proof.
    unsafe {
        let mut sum = Sum { low: V::zero(), cross: V::zero(), high: V::zero() };
        let mut i = 1;
        while i + 1 < vectors {
            let [a, b] = [V::BLOCKS * i, V::BLOCKS * (i + 1)];
            let x = [V::load(data.add(a)), V::load(data.add(b))];
            let powers = [V::load_powers(powers.add(a)), V::load_powers(powers.add(b))];
            sum = sum.plus_two(x, powers);
            i += 2;
        }
        if i < vectors {
            let at = V::BLOCKS * i;
            sum = sum.plus(V::load(data.add(at)), V::load_powers(powers.add(at)));
        }
        sum.plus(V::load(data).xor_first(y), V::load_powers(powers)).reduce()
    }
}

/// The powers of H up to the `count`, each divided by x: H itself, which is there as a block, becomes the last, the
/// others stand in front of it.
///
/// # Safety
/// The processor has `V`'s machine.
#[inline(always)]
pub(super) unsafe fn fill<V: Clmul<One = V>>(powers: &mut Powers, count: usize) {
    // Bits turned around: to divide by x is to move up, and x⁻¹ is x¹²⁷ + x⁶ + x + 1.
    let h = u128::from_be_bytes(powers.0[POWERS - 1]);
    let divided = h << 1 ^ (h >> 127).wrapping_neg() & (1 | 0xc2 << 120);
    powers.0[POWERS - 1] = divided.to_le_bytes();
    let mut a = 1;
    for i in 2..=count {
        // Of the two, one is a power of two, so that a product waits for few others.
        if i > 2 * a {
            a *= 2;
        }
        let [x, y] = [a, i - a].map(|i| &raw const powers.0[POWERS - i]);
        // SAFETY: powers are read and written; the rest is the caller's proof.
        unsafe {
            let product = Sum::of(V::load_powers(x), V::load_powers(y)).reduce();
            V::store_power(product, &mut powers.0[POWERS - i]);
        }
    }
}
