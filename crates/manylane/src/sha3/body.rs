//! Keccak-p\[1600\] over any vector of 64-bit lanes, written once.
//!
//! A machine file names its vector type, implements [`Vector`] for it, and instantiates
//! [`permute`] and [`absorb`] inside a function with its `target_feature`; everything here is
//! inlined there. Words are variables that π renames instead of moving.
#![allow(unsafe_code)]

use super::{RC, dispatch::Rounds};

/// Words of a block that a machine loads at once; each rate has at least as many.
pub(super) const GROUP: usize = 4;

/// A vector of 64-bit lanes.
///
/// # Safety
/// Callers of every function prove that the processor has the machine's instructions.
pub(super) trait Vector: Copy {
    /// What θ adds to a column: D of FIPS 202, clause 3.2.1, or the parities it is made of.
    type Effect: Copy;
    /// Words in a vector.
    const LANES: usize;

    /// Every lane `x`.
    unsafe fn splat(x: u64) -> Self;
    /// Lane-wise exclusive or.
    unsafe fn xor(self, other: Self) -> Self;
    /// Exclusive or of three.
    unsafe fn xor3(self, y: Self, z: Self) -> Self;
    /// χ: `self` xor (not `y`, and `z`).
    unsafe fn chi(self, y: Self, z: Self) -> Self;
    /// θ's effect on the column between those with the parities `self` and `right`.
    unsafe fn effect(self, right: Self) -> Self::Effect;
    /// θ's effect on a word that ρ leaves where it is.
    unsafe fn theta(self, d: Self::Effect) -> Self;
    /// θ's effect on a word, and ρ's rotation of it to the left by `N` bits, 0 < `N` < 64;
    /// `RIGHT` is 64 - `N`.
    unsafe fn theta_rho<const N: i32, const RIGHT: i32>(self, d: Self::Effect) -> Self;
    /// The words of `lanes`.
    unsafe fn load(lanes: *const u64) -> Self;
    /// Stores the words to `lanes`.
    unsafe fn store(self, lanes: *mut u64);
}

/// One round (FIPS 202, clause 3.2): ι ∘ χ ∘ π ∘ ρ ∘ θ.
///
/// # Safety
/// The processor has `V`'s machine.
#[inline(always)]
unsafe fn round<V: Vector>(a: &[V; 25], rc: u64) -> [V; 25] {
    // SAFETY: the caller's proof is all that `Vector` asks for.
    unsafe {
        let mut c = [a[0]; 5];
        for x in 0..5 {
            c[x] = a[x].xor3(a[x + 5], a[x + 10]).xor3(a[x + 15], a[x + 20]);
        }
        let mut d = [c[4].effect(c[1]); 5];
        for x in 1..5 {
            d[x] = c[x - 1].effect(c[(x + 1) % 5]);
        }
        let mut e = *a;
        // A row of χ, from the words that ρ and π bring there: word x + 5 y from word
        // (x + 3 y) mod 5 + 5 x.
        macro_rules! row {
            ($y:literal: $b0:expr, $b1:expr, $b2:expr, $b3:expr, $b4:expr) => {
                let (b0, b1, b2, b3, b4) = ($b0, $b1, $b2, $b3, $b4);
                e[5 * $y] = b0.chi(b1, b2);
                e[5 * $y + 1] = b1.chi(b2, b3);
                e[5 * $y + 2] = b2.chi(b3, b4);
                e[5 * $y + 3] = b3.chi(b4, b0);
                e[5 * $y + 4] = b4.chi(b0, b1);
            };
        }
        // Word $i, rotated by its offset of FIPS 202, table 2.
        macro_rules! b {
            ($i:literal, $n:literal) => {
                a[$i].theta_rho::<$n, { 64 - $n }>(d[$i % 5])
            };
        }
        row!(0: a[0].theta(d[0]), b!(6, 44), b!(12, 43), b!(18, 21), b!(24, 14));
        row!(1: b!(3, 28), b!(9, 20), b!(10, 3), b!(16, 45), b!(22, 61));
        row!(2: b!(1, 1), b!(7, 6), b!(13, 25), b!(19, 8), b!(20, 18));
        row!(3: b!(4, 27), b!(5, 36), b!(11, 10), b!(17, 15), b!(23, 56));
        row!(4: b!(2, 62), b!(8, 55), b!(14, 39), b!(15, 41), b!(21, 2));
        e[0] = e[0].xor(V::splat(rc));
        e
    }
}

/// Keccak-p\[1600, `rounds`\] (FIPS 202, clause 3.3).
///
/// # Safety
/// The processor has `V`'s machine.
#[inline(always)]
unsafe fn rounds<V: Vector>(a: &mut [V; 25], rounds: Rounds) {
    for [even, odd] in RC[rounds.first()..].as_chunks::<2>().0 {
        // SAFETY: the caller's proof.
        unsafe { *a = round(&round(a, *even), *odd) };
    }
}

/// Permutes every lane's state.
///
/// # Safety
/// The processor has `V`'s machine, and `V` has `L` lanes.
#[inline(always)]
pub(super) unsafe fn permute<V: Vector, const L: usize>(state: &mut [[u64; L]; 25], n: Rounds) {
    const { assert!(V::LANES == L) };
    // SAFETY: each row of `state` has the `L` words that `V` loads and stores; the rest is the
    // caller's proof.
    unsafe {
        let mut a = [V::splat(0); 25];
        for i in 0..25 {
            a[i] = V::load(state[i].as_ptr());
        }
        rounds(&mut a, n);
        for i in 0..25 {
            a[i].store(state[i].as_mut_ptr());
        }
    }
}

/// Xors `blocks` blocks of `rate` bytes into every lane's state, each before a permutation;
/// `words(i)` loads the four words of each input at byte `i`.
///
/// # Safety
/// The processor has `V`'s machine, `V` has `L` lanes, and `rate` is at least 32.
#[inline(always)]
pub(super) unsafe fn absorb<V: Vector, const L: usize>(
    state: &mut [[u64; L]; 25],
    n: Rounds,
    rate: usize,
    blocks: usize,
    words: impl Fn(usize) -> [V; GROUP],
) {
    const { assert!(V::LANES == L) };
    // SAFETY: as in `permute`.
    unsafe {
        let mut a = [V::splat(0); 25];
        for i in 0..25 {
            a[i] = V::load(state[i].as_ptr());
        }
        for k in 0..blocks {
            // Four words at a time; a rate's last one or two words with those before them, which
            // are not used again.
            macro_rules! group {
                ($first:literal, $from:literal) => {
                    let w = words(rate * k + 8 * $first);
                    for i in $from..GROUP {
                        a[$first + i] = a[$first + i].xor(w[i]);
                    }
                };
            }
            group!(0, 0);
            if rate >= 64 {
                group!(4, 0);
                if rate == 72 {
                    group!(5, 3);
                } else if rate >= 96 {
                    group!(8, 0);
                    if rate == 104 {
                        group!(9, 3);
                    } else if rate >= 128 {
                        group!(12, 0);
                        if rate == 136 {
                            group!(13, 3);
                        } else if rate == 144 {
                            group!(14, 2);
                        } else if rate >= 160 {
                            group!(16, 0);
                            if rate == 168 {
                                group!(17, 3);
                            }
                        }
                    }
                }
            }
            rounds(&mut a, n);
        }
        for i in 0..25 {
            a[i].store(state[i].as_mut_ptr());
        }
    }
}
