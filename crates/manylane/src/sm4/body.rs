//! The rounds over any vector of 32-bit words, each of another block, written once.
//!
//! A machine file implements [`Words`] for its vector, and instantiates [`Cipher`] through the macros
//! of [`block::lanes`](crate::block::lanes) inside functions with its `target_feature`. Words are named
//! Xᵢ as in clause 7.1 of GB/T 32907-2016; they are renamed from round to round, not moved.
#![allow(unsafe_code)]

use ::core::marker::PhantomData;

use super::schedule::{Keys, MAX_LANES, RoundKeys, StreamKeys};
use crate::block::lanes::{InverseRounds, Rounds, Vector};

/// A vector of words.
///
/// # Safety
/// Callers of every function prove that the processor has the machine's instructions.
pub(super) trait Words: Copy {
    /// Every word `word`.
    unsafe fn splat(word: u32) -> Self;
    /// As many words as a vector has.
    unsafe fn load(words: *const u32) -> Self;
    /// Exclusive or.
    unsafe fn xor(self, other: Self) -> Self;
    /// Exclusive or of three.
    #[inline(always)]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { self.xor(y).xor(z) }
    }
    /// A round: `self` is X₀, `t` is the sum of X₁, X₂ and X₃, and `k` the round key in the machine's
    /// form.
    unsafe fn round(self, t: Self, k: Self) -> Self;
}

/// A vector of words whose lanes are those of a vector of blocks.
///
/// # Safety
/// As for [`Words`].
pub(super) trait Turn: Words {
    /// A vector of as many bytes that holds whole blocks.
    type Blocks: Vector;

    /// Blocks as vectors of their four words, in the machine's form.
    unsafe fn from_blocks(blocks: [Self::Blocks; 4]) -> [Self; 4];
    /// The reverse.
    unsafe fn into_blocks(words: [Self; 4]) -> [Self::Blocks; 4];
}

/// A vector of words of which only the first is used, for one message of a mode that chains.
///
/// # Safety
/// As for [`Words`].
pub(super) trait Alone: Words {
    /// A vector of one block.
    type Block: Vector;

    /// The words of a block, in the machine's form.
    unsafe fn from_block(block: Self::Block) -> [Self; 4];
    /// The reverse.
    unsafe fn into_block(words: [Self; 4]) -> Self::Block;
}

/// Where round keys come from: one key for all lanes, or one a lane.
///
/// # Safety
/// As for [`Words`].
pub(super) trait Schedule<W> {
    /// The key of round `i`, 0 … 31, for the vector of group `g`.
    unsafe fn k(&self, i: usize, g: usize) -> W;
    /// What is added to X₃.
    unsafe fn before(&self, g: usize) -> W;
    /// What is added to X₃₂₊ⱼ, j = 0 … 2.
    unsafe fn after(&self, j: usize, g: usize) -> W;
}

impl<W: Words> Schedule<W> for RoundKeys {
    #[inline(always)]
    unsafe fn k(&self, i: usize, _: usize) -> W {
        // SAFETY: the caller's proof.
        unsafe { W::splat(self.k[i]) }
    }
    #[inline(always)]
    unsafe fn before(&self, _: usize) -> W {
        // SAFETY: the caller's proof.
        unsafe { W::splat(self.before) }
    }
    #[inline(always)]
    unsafe fn after(&self, j: usize, _: usize) -> W {
        // SAFETY: the caller's proof.
        unsafe { W::splat(self.after[j]) }
    }
}

/// The words of group `g` among those of all lanes.
///
/// # Safety
/// The processor has `W`'s machine.
#[inline(always)]
unsafe fn of_group<W: Words>(lanes: &[u32; MAX_LANES], g: usize) -> W {
    let words = size_of::<W>() / 4;
    assert!((g + 1) * words <= MAX_LANES);
    // SAFETY: just checked; the rest is the caller's proof.
    unsafe { W::load(lanes.as_ptr().add(g * words)) }
}

impl<W: Words> Schedule<W> for StreamKeys {
    #[inline(always)]
    unsafe fn k(&self, i: usize, g: usize) -> W {
        // SAFETY: the caller's proof.
        unsafe { of_group(&self.k[i], g) }
    }
    #[inline(always)]
    unsafe fn before(&self, g: usize) -> W {
        // SAFETY: the caller's proof.
        unsafe { of_group(&self.before, g) }
    }
    #[inline(always)]
    unsafe fn after(&self, j: usize, g: usize) -> W {
        // SAFETY: the caller's proof.
        unsafe { of_group(&self.after[j], g) }
    }
}

/// The 32 rounds of clause 7.1 on `N` / 4 groups of vectors X₀ … X₃, which become X₃₂ … X₃₅.
///
/// # Safety
/// The processor has `W`'s machine.
#[inline(always)]
pub(super) unsafe fn rounds<W: Words, S: Schedule<W>, const N: usize>(keys: &S, x: &mut [W; N]) {
    const { assert!(N.is_multiple_of(4)) };
    // SAFETY: the caller's proof is all that `Words` asks for.
    unsafe {
        for g in (0..N).step_by(4) {
            x[g + 3] = x[g + 3].xor(keys.before(g / 4));
        }
        macro_rules! round {
            ($i:expr, $x0:literal $x1:literal $x2:literal $x3:literal) => {
                for g in (0..N).step_by(4) {
                    let t = x[g + $x1].xor3(x[g + $x2], x[g + $x3]);
                    x[g + $x0] = x[g + $x0].round(t, keys.k($i, g / 4));
                }
            };
        }
        for i in (0..32).step_by(4) {
            round!(i, 0 1 2 3);
            round!(i + 1, 1 2 3 0);
            round!(i + 2, 2 3 0 1);
            round!(i + 3, 3 0 1 2);
        }
        for g in (0..N).step_by(4) {
            for j in 0..3 {
                x[g + j] = x[g + j].xor(keys.after(j, g / 4));
            }
        }
    }
}

/// The rounds and R of clause 7.1 on `N` vectors of blocks, a multiple of four.
///
/// # Safety
/// The processor has `W`'s machine.
#[inline(always)]
pub(super) unsafe fn crypt<W: Turn, S: Schedule<W>, const N: usize>(
    keys: &S,
    mut blocks: [W::Blocks; N],
) -> [W::Blocks; N] {
    // SAFETY: the caller's proof is all that is asked for.
    unsafe {
        let mut x = [W::splat(0); N];
        for g in (0..N).step_by(4) {
            let words = [blocks[g], blocks[g + 1], blocks[g + 2], blocks[g + 3]];
            x[g..g + 4].copy_from_slice(&W::from_blocks(words));
        }
        rounds(keys, &mut x);
        for g in (0..N).step_by(4) {
            let words = W::into_blocks([x[g + 3], x[g + 2], x[g + 1], x[g]]);
            blocks[g..g + 4].copy_from_slice(&words);
        }
        blocks
    }
}

/// The cipher on vectors `W`.
pub(super) struct Cipher<'a, W> {
    keys: &'a Keys,
    words: PhantomData<W>,
}

impl<'a, W: Words> Cipher<'a, W> {
    #[inline(always)]
    pub(super) fn new(keys: &'a Keys) -> Self {
        Cipher { keys, words: PhantomData }
    }
}

macro_rules! rounds {
    ($($n:literal)*) => {$(
        impl<W: Turn> Rounds<W::Blocks, $n> for Cipher<'_, W> {
            #[inline(always)]
            unsafe fn encrypt(&self, v: [W::Blocks; $n]) -> [W::Blocks; $n] {
                // SAFETY: the caller's proof.
                unsafe { crypt::<W, _, $n>(&self.keys.encrypt, v) }
            }
        }

        impl<W: Turn> InverseRounds<W::Blocks, $n> for Cipher<'_, W> {
            #[inline(always)]
            unsafe fn decrypt(&self, v: [W::Blocks; $n]) -> [W::Blocks; $n] {
                // SAFETY: the caller's proof.
                unsafe { crypt::<W, _, $n>(&self.keys.decrypt, v) }
            }
        }
    )*};
}
rounds!(4 8 16);

impl<W: Alone> Rounds<W::Block, 1> for Cipher<'_, W> {
    #[inline(always)]
    unsafe fn encrypt(&self, [v]: [W::Block; 1]) -> [W::Block; 1] {
        // SAFETY: the caller's proof.
        unsafe {
            let mut x = W::from_block(v);
            rounds(&self.keys.encrypt, &mut x);
            [W::into_block([x[3], x[2], x[1], x[0]])]
        }
    }
}

/// The cipher with the keys of messages side by side.
pub(super) struct Lanes<'a, W> {
    keys: &'a StreamKeys,
    words: PhantomData<W>,
}

impl<'a, W: Words> Lanes<'a, W> {
    #[inline(always)]
    pub(super) fn new(keys: &'a StreamKeys) -> Self {
        Lanes { keys, words: PhantomData }
    }
}

macro_rules! lanes {
    ($($n:literal)*) => {$(
        impl<W: Turn> Rounds<W::Blocks, $n> for Lanes<'_, W> {
            #[inline(always)]
            unsafe fn encrypt(&self, v: [W::Blocks; $n]) -> [W::Blocks; $n] {
                // SAFETY: the caller's proof.
                unsafe { crypt::<W, _, $n>(self.keys, v) }
            }
        }
    )*};
}
lanes!(4 8 16);
