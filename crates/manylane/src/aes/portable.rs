//! AES in plain Rust without a table: bits of many blocks side by side.
//!
//! Plane p holds bit p of every byte: sixteen bits a block, bit 4 r + c of which is that of row r and
//! column c; a word has four blocks. SubBytes is the circuit of Boyar and Peralta (*A depth-16 circuit
//! for the AES S-box*, 2011) on all bytes at once: 128 operations; the rest of a round moves bits
//! within each sixteen.
//!
//! A plane of 128 bits has eight blocks; one of 64 bits serves where a mode has a single block to offer.
#![allow(unsafe_code)]

mod bits;
mod sbox;

use self::{
    bits::{Bits, Wide},
    sbox::{inverse_sub_bytes, sub_bytes},
};
use super::{
    Block,
    schedule::{RoundKeys, StreamKeys, expand},
};
use crate::block::lanes::{InverseRounds, Rounds, kernels, serial, streams};

/// Proof of nothing: plain Rust needs none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

/// Messages of [`cbc_streams`].
pub(super) const LANES: usize = 8;

/// Eight planes: bits 0 to 7 of each byte.
type Planes<T> = [T; 8];

/// The bits of `mask`, of sixteen, in every sixteen.
#[inline(always)]
fn sixteens<T: Bits>(mask: u16) -> T {
    T::splat(u64::from(mask) * 0x0001_0001_0001_0001)
}

/// Row r is what row r + 1 was.
#[inline(always)]
fn one_row_up<T: Bits>(x: T) -> T {
    x.down::<4>() & sixteens(0x0fff) | x.up::<12>() & sixteens(0xf000)
}

/// Row r is what row r + 2 was.
#[inline(always)]
fn two_rows_up<T: Bits>(x: T) -> T {
    x.down::<8>() & sixteens(0x00ff) | x.up::<8>() & sixteens(0xff00)
}

/// Row r rotated to the left by r columns.
#[inline(always)]
fn shift_rows<T: Bits>(v: &mut Planes<T>) {
    for x in v {
        *x = *x & sixteens(0x000f)
            | x.down::<1>() & sixteens(0x0070)
            | x.up::<3>() & sixteens(0x0080)
            | x.down::<2>() & sixteens(0x0300)
            | x.up::<2>() & sixteens(0x0c00)
            | x.down::<3>() & sixteens(0x1000)
            | x.up::<1>() & sixteens(0xe000);
    }
}

/// Row r rotated to the right by r columns.
#[inline(always)]
fn inverse_shift_rows<T: Bits>(v: &mut Planes<T>) {
    for x in v {
        *x = *x & sixteens(0x000f)
            | x.down::<3>() & sixteens(0x0010)
            | x.up::<1>() & sixteens(0x00e0)
            | x.down::<2>() & sixteens(0x0300)
            | x.up::<2>() & sixteens(0x0c00)
            | x.down::<1>() & sixteens(0x7000)
            | x.up::<3>() & sixteens(0x8000);
    }
}

/// Twice every byte in AES's field.
#[inline(always)]
fn doubled<T: Bits>(v: &Planes<T>) -> Planes<T> {
    let [a, b, c, d, e, f, g, h] = *v;
    [h, a ^ h, b, c ^ h, d ^ h, e, f, g]
}

/// 2 a_r + 3 a_(r+1) + a_(r+2) + a_(r+3) in row r.
#[inline(always)]
fn mix_columns<T: Bits>(v: &mut Planes<T>) {
    let next = v.map(one_row_up);
    let mut sum = *v;
    for p in 0..8 {
        sum[p] = v[p] ^ next[p];
    }
    let double = doubled(&sum);
    for p in 0..8 {
        v[p] = double[p] ^ next[p] ^ two_rows_up(sum[p]);
    }
}

/// 14 a_r + 11 a_(r+1) + 13 a_(r+2) + 9 a_(r+3) in row r: MixColumns of a_r + 4 (a_r + a_(r+2)).
#[inline(always)]
fn inverse_mix_columns<T: Bits>(v: &mut Planes<T>) {
    let mut sum = *v;
    for p in 0..8 {
        sum[p] = v[p] ^ two_rows_up(v[p]);
    }
    let quadruple = doubled(&doubled(&sum));
    for p in 0..8 {
        v[p] = v[p] ^ quadruple[p];
    }
    mix_columns(v);
}

/// Adds a round key: `key(p)` is its plane p.
#[inline(always)]
fn add<T: Bits>(v: &mut Planes<T>, key: impl Fn(usize) -> T) {
    for p in 0..8 {
        v[p] = v[p] ^ key(p);
    }
}

/// All rounds of as many blocks as `T` has; `key(round, plane)`.
#[inline(always)]
fn encrypt<T: Bits, const G: usize>(
    blocks: &[u128; G],
    rounds: usize,
    key: impl Fn(usize, usize) -> T,
) -> [u128; G] {
    let mut v = to_planes(blocks);
    add(&mut v, |p| key(0, p));
    for round in 1..rounds {
        sub_bytes(&mut v);
        shift_rows(&mut v);
        mix_columns(&mut v);
        add(&mut v, |p| key(round, p));
    }
    sub_bytes(&mut v);
    shift_rows(&mut v);
    add(&mut v, |p| key(rounds, p));
    from_planes(&v)
}

/// The inverse of [`encrypt`].
#[inline(always)]
fn decrypt<T: Bits, const G: usize>(
    blocks: &[u128; G],
    rounds: usize,
    key: impl Fn(usize, usize) -> T,
) -> [u128; G] {
    let mut v = to_planes(blocks);
    add(&mut v, |p| key(rounds, p));
    for round in (1..rounds).rev() {
        inverse_shift_rows(&mut v);
        inverse_sub_bytes(&mut v);
        add(&mut v, |p| key(round, p));
        inverse_mix_columns(&mut v);
    }
    inverse_shift_rows(&mut v);
    inverse_sub_bytes(&mut v);
    add(&mut v, |p| key(0, p));
    from_planes(&v)
}

/// Swaps bits of `x` with those of `y` that are `N` places further down, which `low` has.
#[inline(always)]
fn swap<T: Bits, const N: i32>(v: &mut [T; 8], x: usize, y: usize, low: u64) {
    let differ = (v[x].down::<N>() ^ v[y]) & T::splat(low);
    v[y] = v[y] ^ differ;
    v[x] = v[x] ^ differ.up::<N>();
}

/// Turns eight words around, seen as rows of eight bits: bit p of byte j of word k becomes bit k of byte j of
/// word p.
#[inline(always)]
fn transpose<T: Bits>(v: &mut [T; 8]) {
    for (x, y) in [(0, 1), (2, 3), (4, 5), (6, 7)] {
        swap::<T, 1>(v, x, y, 0x5555_5555_5555_5555);
    }
    for (x, y) in [(0, 2), (1, 3), (4, 6), (5, 7)] {
        swap::<T, 2>(v, x, y, 0x3333_3333_3333_3333);
    }
    for (x, y) in [(0, 4), (1, 5), (2, 6), (3, 7)] {
        swap::<T, 4>(v, x, y, 0x0f0f_0f0f_0f0f_0f0f);
    }
}

/// Every second of sixteen bits, and every second of thirty-two.
const BYTES: u64 = 0x00ff_00ff_00ff_00ff;
const PAIRS: u64 = 0x0000_ffff_0000_ffff;

/// The bits of four blocks a word, as planes.
#[inline(always)]
fn to_planes<T: Bits, const G: usize>(blocks: &[u128; G]) -> Planes<T> {
    const { assert!(G == 4 * T::WORDS) };
    // Byte 2 b + i of word 4 r + c is row 2 i + r, column c of block b.
    let mut words = [[0; 2]; 8];
    for w in 0..T::WORDS {
        for half in 0..2 {
            for r in 0..2 {
                let two_columns = |b: usize| {
                    let x = (blocks[4 * w + b] >> (64 * half)) as u64 >> (8 * r) & BYTES;
                    (x | x >> 8) & PAIRS
                };
                let low = two_columns(0) | two_columns(1) << 16;
                let high = two_columns(2) | two_columns(3) << 16;
                words[4 * r + 2 * half][w] = low & 0xffff_ffff | high << 32;
                words[4 * r + 2 * half + 1][w] = low >> 32 | high >> 32 << 32;
            }
        }
    }
    let mut v = words.map(T::new);
    transpose(&mut v);
    v
}

/// The inverse of [`to_planes`].
#[inline(always)]
fn from_planes<T: Bits, const G: usize>(v: &Planes<T>) -> [u128; G] {
    let mut v = *v;
    transpose(&mut v);
    let words = v.map(T::words);
    let mut blocks = [0; G];
    for w in 0..T::WORDS {
        for half in 0..2 {
            for r in 0..2 {
                let (one, two) = (words[4 * r + 2 * half][w], words[4 * r + 2 * half + 1][w]);
                let low = one & 0xffff_ffff | two << 32;
                let high = one >> 32 | two >> 32 << 32;
                for b in 0..4 {
                    let columns = if b < 2 { low } else { high } >> (16 * (b % 2)) & PAIRS;
                    let bytes = (columns | columns << 8) & BYTES;
                    blocks[4 * w + b] |= u128::from(bytes << (8 * r)) << (64 * half);
                }
            }
        }
    }
    blocks
}

/// A word's part of a plane of a round key: the same sixteen bits for each block.
#[inline(always)]
fn spread(key: &Block, p: usize) -> u64 {
    u64::from(u16::from_le_bytes([key[2 * p], key[2 * p + 1]])) * 0x0001_0001_0001_0001
}

/// The round keys where they lie, each as eight planes of sixteen bits.
struct Keys<'a, const N: usize>(&'a RoundKeys<N>);

/// The rounds of as many blocks as `$bits` has.
macro_rules! rounds {
    ($bits:ty, $blocks:literal) => {
        // SAFETY: callers have nothing to prove.
        impl<const N: usize> Rounds<u128, $blocks> for Keys<'_, N> {
            #[inline(always)]
            unsafe fn encrypt(&self, v: [u128; $blocks]) -> [u128; $blocks] {
                let keys = &self.0.encrypt;
                encrypt(&v, N - 1, |round, p| <$bits>::splat(spread(&keys[round], p)))
            }
        }

        // SAFETY: callers have nothing to prove.
        impl<const N: usize> InverseRounds<u128, $blocks> for Keys<'_, N> {
            #[inline(always)]
            unsafe fn decrypt(&self, v: [u128; $blocks]) -> [u128; $blocks] {
                let keys = &self.0.encrypt;
                decrypt(&v, N - 1, |round, p| <$bits>::splat(spread(&keys[round], p)))
            }
        }
    };
}
rounds!(u64, 4);
rounds!(Wide, 8);

// SAFETY: callers have nothing to prove.
impl<const N: usize> Rounds<u128, 1> for Keys<'_, N> {
    #[inline(always)]
    unsafe fn encrypt(&self, v: [u128; 1]) -> [u128; 1] {
        // SAFETY: nothing is to be proved.
        let [block, ..] = unsafe { Rounds::<u128, 4>::encrypt(self, [v[0], 0, 0, 0]) };
        [block]
    }
}

/// The round keys of each lane where they lie.
struct LaneKeys<'a, const N: usize>(&'a StreamKeys<N>);

// SAFETY: callers have nothing to prove.
impl<const N: usize> Rounds<u128, LANES> for LaneKeys<'_, N> {
    #[inline(always)]
    unsafe fn encrypt(&self, v: [u128; LANES]) -> [u128; LANES] {
        encrypt(&v, N - 1, |round, p| {
            let bits = |lane: usize| {
                let key = &self.0.rounds[round][lane];
                u64::from(u16::from_le_bytes([key[2 * p], key[2 * p + 1]])) << (16 * (lane % 4))
            };
            let word = |w: usize| bits(4 * w) | bits(4 * w + 1) | bits(4 * w + 2) | bits(4 * w + 3);
            Wide::new([word(0), word(1)])
        })
    }
}

kernels! {
    token: Portable, attributes: [], vector: u128, groups: 8, 4,
    key: [const N: usize] RoundKeys<N>, rounds: Keys,
}

serial! {
    token: Portable, attributes: [], vector: u128,
    key: [const N: usize] RoundKeys<N>, rounds: Keys,
}

streams! {
    token: Portable, attributes: [], vector: u128, lanes: 8 in 8,
    key: [const N: usize] StreamKeys<N>, rounds: LaneKeys,
}

/// SubWord of clause 5.2.
pub(super) fn sub_word(word: u32) -> u32 {
    let mut v = to_planes::<u64, 4>(&[u128::from(word), 0, 0, 0]);
    sub_bytes(&mut v);
    let blocks: [u128; 4] = from_planes(&v);
    blocks[0] as u32
}

/// The round keys of `key`, which has `N` − 7 words, as planes.
pub(super) fn expand_key<const N: usize>(_: Portable, key: &[u8]) -> RoundKeys<N> {
    let mut keys = RoundKeys::zero();
    expand(key, &mut keys.encrypt, sub_word);
    for key in &mut keys.encrypt {
        let planes = to_planes::<u64, 4>(&[u128::from_le_bytes(*key), 0, 0, 0]);
        for (bytes, plane) in key.as_chunks_mut::<2>().0.iter_mut().zip(planes) {
            *bytes = (plane as u16).to_le_bytes();
        }
    }
    keys
}
