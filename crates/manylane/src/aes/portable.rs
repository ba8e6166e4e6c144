//! AES in plain Rust without a table: bits of many blocks side by side.
//!
//! Plane p holds bit p of every byte: sixteen bits a block, bit 4 r + c of which is that of row r and
//! column c; a word has four blocks. SubBytes is the circuit of Boyar and Peralta (*A depth-16 circuit
//! for the AES S-box*, 2011) on all bytes at once: 128 operations; the rest of a round moves bits
//! within each sixteen.
//!
//! Two words a plane, eight blocks, are what compilers make 128-bit vectors of; one word where a mode
//! has a single block to offer.
#![allow(unsafe_code)]

mod sbox;

use self::sbox::{inverse_sub_bytes, sub_bytes};
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

/// A plane of 4 `W` blocks.
#[derive(Clone, Copy)]
struct Plane<const W: usize>([u64; W]);

/// Eight planes: bits 0 to 7 of each byte.
type Planes<const W: usize> = [Plane<W>; 8];

macro_rules! operator {
    ($trait:ident, $function:ident, $operation:tt) => {
        impl<const W: usize> core::ops::$trait for Plane<W> {
            type Output = Self;
            #[inline(always)]
            fn $function(mut self, other: Self) -> Self {
                for i in 0..W {
                    self.0[i] = self.0[i] $operation other.0[i];
                }
                self
            }
        }
    };
}
operator!(BitXor, bitxor, ^);
operator!(BitAnd, bitand, &);
operator!(BitOr, bitor, |);

impl<const W: usize> core::ops::Not for Plane<W> {
    type Output = Self;
    #[inline(always)]
    fn not(mut self) -> Self {
        for i in 0..W {
            self.0[i] = !self.0[i];
        }
        self
    }
}

impl<const W: usize> Plane<W> {
    /// The bits of `mask`, of sixteen, moved up (or, if negative, down) by `by`.
    #[inline(always)]
    fn moved(mut self, by: i32, mask: u16) -> Self {
        let mask = u64::from(mask) * 0x0001_0001_0001_0001;
        for i in 0..W {
            let bits = self.0[i] & mask;
            self.0[i] = if by < 0 { bits >> -by } else { bits << by };
        }
        self
    }

    /// Each block's rows moved up by `R`: row r is what row r + `R` was.
    #[inline(always)]
    fn rows_up<const R: i32>(self) -> Self {
        let low = (1 << (4 * R)) - 1;
        self.moved(-4 * R, !low) | self.moved(16 - 4 * R, low)
    }
}

/// Row r rotated to the left by r columns, or to the right.
#[inline(always)]
fn shift_rows<const W: usize>(v: &mut Planes<W>, inverse: bool) {
    for x in v {
        let (one, three) = if inverse { (3, 1) } else { (1, 3) };
        let row = |row: u32, left: u32| {
            let mask = (0xf >> (4 - left) << (4 * row), 0xf << left & 0xf);
            let (wrapped, straight) = (mask.0 as u16, (mask.1 << (4 * row)) as u16);
            x.moved(-(left as i32), straight) | x.moved(4 - left as i32, wrapped)
        };
        *x = x.moved(0, 0x000f) | row(1, one) | row(2, 2) | row(3, three);
    }
}

/// Twice every byte in AES's field.
#[inline(always)]
fn doubled<const W: usize>(v: &Planes<W>) -> Planes<W> {
    let [a, b, c, d, e, f, g, h] = *v;
    [h, a ^ h, b, c ^ h, d ^ h, e, f, g]
}

/// 2 a_r + 3 a_(r+1) + a_(r+2) + a_(r+3) in row r.
#[inline(always)]
fn mix_columns<const W: usize>(v: &mut Planes<W>) {
    let next = v.map(Plane::rows_up::<1>);
    let mut sum = *v;
    for p in 0..8 {
        sum[p] = v[p] ^ next[p];
    }
    let double = doubled(&sum);
    for p in 0..8 {
        v[p] = double[p] ^ next[p] ^ sum[p].rows_up::<2>();
    }
}

/// 14 a_r + 11 a_(r+1) + 13 a_(r+2) + 9 a_(r+3) in row r: MixColumns of (a + 4 (a_r + a_(r+2))).
#[inline(always)]
fn inverse_mix_columns<const W: usize>(v: &mut Planes<W>) {
    let mut sum = *v;
    for p in 0..8 {
        sum[p] = v[p] ^ v[p].rows_up::<2>();
    }
    let quadruple = doubled(&doubled(&sum));
    for p in 0..8 {
        v[p] = v[p] ^ quadruple[p];
    }
    mix_columns(v);
}

/// Adds the round key of `key(p, w)`: bits of plane p's word w.
#[inline(always)]
fn add<const W: usize>(v: &mut Planes<W>, key: &impl Fn(usize, usize) -> u64) {
    for p in 0..8 {
        for w in 0..W {
            v[p].0[w] ^= key(p, w);
        }
    }
}

/// All rounds of 4 `W` blocks; `key(round, plane, word)`.
#[inline(always)]
fn encrypt<const W: usize>(
    blocks: &mut [[u128; 4]; W],
    rounds: usize,
    key: impl Fn(usize, usize, usize) -> u64,
) {
    let mut v = to_planes(blocks);
    add(&mut v, &|p, w| key(0, p, w));
    for round in 1..rounds {
        sub_bytes(&mut v);
        shift_rows(&mut v, false);
        mix_columns(&mut v);
        add(&mut v, &|p, w| key(round, p, w));
    }
    sub_bytes(&mut v);
    shift_rows(&mut v, false);
    add(&mut v, &|p, w| key(rounds, p, w));
    from_planes(&v, blocks);
}

/// The inverse of [`encrypt`].
#[inline(always)]
fn decrypt<const W: usize>(
    blocks: &mut [[u128; 4]; W],
    rounds: usize,
    key: impl Fn(usize, usize, usize) -> u64,
) {
    let mut v = to_planes(blocks);
    add(&mut v, &|p, w| key(rounds, p, w));
    for round in (1..rounds).rev() {
        shift_rows(&mut v, true);
        inverse_sub_bytes(&mut v);
        add(&mut v, &|p, w| key(round, p, w));
        inverse_mix_columns(&mut v);
    }
    shift_rows(&mut v, true);
    inverse_sub_bytes(&mut v);
    add(&mut v, &|p, w| key(0, p, w));
    from_planes(&v, blocks);
}

/// The bits of `low` swapped with those `by` places up: in two words of what shall be eight rows of
/// eight bits, turned around.
#[inline(always)]
fn swap(x: &mut u64, y: &mut u64, by: u32, low: u64) {
    let differ = (*x >> by ^ *y) & low;
    *y ^= differ;
    *x ^= differ << by;
}

/// Turns eight words around, seen as rows of eight bits: bit p of byte j of word k becomes bit k of byte j of
/// word p.
#[inline(always)]
fn transpose(w: &mut [u64; 8]) {
    let low = [0x5555_5555_5555_5555, 0x3333_3333_3333_3333, 0x0f0f_0f0f_0f0f_0f0f];
    for (step, low) in low.into_iter().enumerate() {
        let by = 1 << step;
        for k in 0..8 {
            if k & by == 0 {
                let (x, y) = w.split_at_mut(k + by);
                swap(&mut x[k], &mut y[0], by as u32, low);
            }
        }
    }
}

/// The bits of four blocks a word, as planes.
#[inline(always)]
fn to_planes<const W: usize>(blocks: &[[u128; 4]; W]) -> Planes<W> {
    let mut v = [Plane([0; W]); 8];
    for w in 0..W {
        // Byte 2 b + i of word 4 r + c is row 2 i + r, column c of block b.
        let mut words = [0; 8];
        for b in 0..4 {
            for c in 0..4 {
                let column = (blocks[w][b] >> (32 * c)) as u32;
                let even = column & 0xff | column >> 8 & 0xff00;
                let odd = column >> 8 & 0xff | column >> 16 & 0xff00;
                words[c] |= u64::from(even) << (16 * b);
                words[4 + c] |= u64::from(odd) << (16 * b);
            }
        }
        transpose(&mut words);
        for p in 0..8 {
            v[p].0[w] = words[p];
        }
    }
    v
}

/// The inverse of [`to_planes`].
#[inline(always)]
fn from_planes<const W: usize>(v: &Planes<W>, blocks: &mut [[u128; 4]; W]) {
    for w in 0..W {
        let mut words = [0; 8];
        for p in 0..8 {
            words[p] = v[p].0[w];
        }
        transpose(&mut words);
        for b in 0..4 {
            blocks[w][b] = 0;
            for c in 0..4 {
                let even = (words[c] >> (16 * b)) as u16;
                let odd = (words[4 + c] >> (16 * b)) as u16;
                let (even, odd) = (u32::from(even), u32::from(odd));
                let column =
                    even & 0xff | even << 8 & 0xff_0000 | (odd & 0xff | odd << 8 & 0xff_0000) << 8;
                blocks[w][b] |= u128::from(column) << (32 * c);
            }
        }
    }
}

/// A word's part of a plane of a round key: the same sixteen bits for each block.
#[inline(always)]
fn spread(key: &Block, p: usize) -> u64 {
    u64::from(u16::from_le_bytes([key[2 * p], key[2 * p + 1]])) * 0x0001_0001_0001_0001
}

/// The round keys where they lie, each as eight planes of sixteen bits.
struct Keys<'a, const N: usize>(&'a RoundKeys<N>);

/// [`Rounds`] of `4 * $words` blocks.
macro_rules! rounds {
    ($words:literal) => {
        // SAFETY: callers have nothing to prove.
        impl<const N: usize> Rounds<u128, { 4 * $words }> for Keys<'_, N> {
            #[inline(always)]
            unsafe fn encrypt(&self, v: [u128; 4 * $words]) -> [u128; 4 * $words] {
                let mut blocks = grouped::<$words, { 4 * $words }>(&v);
                let keys = &self.0.encrypt;
                encrypt(&mut blocks, N - 1, |round, p, _| spread(&keys[round], p));
                flat(&blocks)
            }
        }

        // SAFETY: callers have nothing to prove.
        impl<const N: usize> InverseRounds<u128, { 4 * $words }> for Keys<'_, N> {
            #[inline(always)]
            unsafe fn decrypt(&self, v: [u128; 4 * $words]) -> [u128; 4 * $words] {
                let mut blocks = grouped::<$words, { 4 * $words }>(&v);
                let keys = &self.0.encrypt;
                decrypt(&mut blocks, N - 1, |round, p, _| spread(&keys[round], p));
                flat(&blocks)
            }
        }
    };
}
rounds!(1);
rounds!(2);

/// Four blocks a word.
#[inline(always)]
fn grouped<const W: usize, const G: usize>(v: &[u128; G]) -> [[u128; 4]; W] {
    const { assert!(4 * W == G) };
    let mut blocks = [[0; 4]; W];
    blocks.as_flattened_mut().copy_from_slice(v);
    blocks
}

/// The inverse of [`grouped`].
#[inline(always)]
fn flat<const W: usize, const G: usize>(blocks: &[[u128; 4]; W]) -> [u128; G] {
    let mut v = [0; G];
    v.copy_from_slice(blocks.as_flattened());
    v
}

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
        let mut blocks = grouped::<2, LANES>(&v);
        encrypt(&mut blocks, N - 1, |round, p, w| {
            let bits = |b: usize| {
                let key = &self.0.rounds[round][4 * w + b];
                u64::from(u16::from_le_bytes([key[2 * p], key[2 * p + 1]])) << (16 * b)
            };
            bits(0) | bits(1) | bits(2) | bits(3)
        });
        flat(&blocks)
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

/// The round keys of `key`, which has `N` − 7 words, as planes.
pub(super) fn expand_key<const N: usize>(_: Portable, key: &[u8]) -> RoundKeys<N> {
    let mut keys = RoundKeys::zero();
    expand(key, &mut keys.encrypt, |word| {
        let mut blocks = [[u128::from(word), 0, 0, 0]];
        let mut v = to_planes(&blocks);
        sub_bytes(&mut v);
        from_planes(&v, &mut blocks);
        blocks[0][0] as u32
    });
    for key in &mut keys.encrypt {
        let planes = to_planes(&[[u128::from_le_bytes(*key), 0, 0, 0]]);
        for (bytes, plane) in key.as_chunks_mut::<2>().0.iter_mut().zip(planes) {
            *bytes = (plane.0[0] as u16).to_le_bytes();
        }
    }
    keys
}
