//! SM4 bit by bit, for processors without instructions that help: constant time in plain Rust.
//!
//! Bit p of all bytes of a word is one *plane*: 64 bits, sixteen for each of the four bytes, one for each
//! block. Turning words by bytes turns planes by sixteen bits. The S-box inverts in a tower of fields,
//! GF(4) = GF(2)\[w\]/(w² + w + 1), GF(16) = GF(4)\[z\]/(z² + z + w), GF(256) = GF(16)\[y\]/(y² + y + w z):
//! 36 products of planes and 79 sums. P and R of `affine` take 29 sums.
#![allow(unsafe_code)]

use super::{
    Block,
    affine::{S_CONSTANT, TOWER},
    body::{Schedule, Words, rounds},
    schedule::{self, Keys, RoundKeys, StreamKeys},
};
use crate::block::lanes::{InverseRounds, Rounds, kernels, serial, streams};

/// Messages of [`cbc_streams`].
pub(super) const LANES: usize = 16;

/// Proof of [`Machine::Portable`](crate::cpu::Machine::Portable), which needs none.
#[derive(Clone, Copy)]
pub(super) struct Portable;

/// The product in GF(4), (a₁ w + a₀) (b₁ w + b₀), of factors with their sums: a₁, a₀, a₁ + a₀.
#[inline(always)]
fn product4(a: [u64; 3], b: [u64; 3]) -> [u64; 2] {
    let low = a[1] & b[1];
    [a[2] & b[2] ^ low, a[0] & b[0] ^ low]
}

/// A factor in GF(16), with the sums that products need.
#[derive(Clone, Copy)]
struct Factor {
    high: [u64; 3],
    low: [u64; 3],
    sum: [u64; 3],
}

impl Factor {
    #[inline(always)]
    fn new([a3, a2, a1, a0]: [u64; 4]) -> Self {
        let (s1, s0) = (a3 ^ a1, a2 ^ a0);
        Factor { high: [a3, a2, a3 ^ a2], low: [a1, a0, a1 ^ a0], sum: [s1, s0, s1 ^ s0] }
    }

    /// (a z + b) (c z + d) = ((a + b) (c + d) + b d) z + b d + w a c.
    #[inline(always)]
    fn times(&self, other: &Self) -> [u64; 4] {
        let [h1, h0] = product4(self.high, other.high);
        let [l1, l0] = product4(self.low, other.low);
        let [s1, s0] = product4(self.sum, other.sum);
        [s1 ^ l1, s0 ^ l0, l1 ^ h1 ^ h0, l0 ^ h1]
    }
}

/// The inverse in GF(256) of x₇ … x₀, highest first, or 0 of 0.
#[inline(always)]
fn inverse([h3, h2, h1, h0, l3, l2, l1, l0]: [u64; 8]) -> [u64; 8] {
    let high = Factor::new([h3, h2, h1, h0]);
    let low = Factor::new([l3, l2, l1, l0]);
    let sum = [h3 ^ l3, h2 ^ l2, h1 ^ l1, h0 ^ l0];
    // Δ = w z h² + h l + l² = w z h² + l (h + l), and (h y + l)⁻¹ = h Δ⁻¹ y + (h + l) Δ⁻¹.
    let sum_factor = Factor::new(sum);
    let [d3, d2, d1, d0] = low.times(&sum_factor);
    // (a z + b)² = a² z + b² + w a², and w z (a z + b) = w (a + b) z + w² a, on pairs of bits.
    let (d3, d2) = (d3 ^ h3 ^ h0, d2 ^ h3 ^ h2 ^ h1);
    let (d1, d0) = (d1 ^ h3 ^ h2, d0 ^ h2);
    // In GF(16), δ = w a² + b (a + b), whose inverse is its square.
    let (s1, s0) = (d3 ^ d1, d2 ^ d0);
    let [e1, e0] = product4([d1, d0, d1 ^ d0], [s1, s0, s1 ^ s0]);
    let (e1, e0) = (e1 ^ d2, e0 ^ d3);
    let delta = [e1, e0 ^ e1, e0];
    let [i3, i2] = product4([d3, d2, d3 ^ d2], delta);
    let [i1, i0] = product4([s1, s0, s1 ^ s0], delta);
    let inverse = Factor::new([i3, i2, i1, i0]);
    let [r7, r6, r5, r4] = high.times(&inverse);
    let [r3, r2, r1, r0] = sum_factor.times(&inverse);
    [r7, r6, r5, r4, r3, r2, r1, r0]
}

/// A linear map of each byte, of its planes.
macro_rules! map {
    ($matrix:expr, $x:ident) => {
        [
            map!(row $matrix.0[0], $x), map!(row $matrix.0[1], $x), map!(row $matrix.0[2], $x),
            map!(row $matrix.0[3], $x), map!(row $matrix.0[4], $x), map!(row $matrix.0[5], $x),
            map!(row $matrix.0[6], $x), map!(row $matrix.0[7], $x),
        ]
    };
    (row $row:expr, $x:ident) => {
        map!(sum $row, $x, 0 1 2 3 4 5 6 7)
    };
    (sum $row:expr, $x:ident, $($bit:literal)*) => {{
        let mut sum = 0_u64;
        $(if const { $row >> $bit & 1 != 0 } {
            sum ^= $x[$bit];
        })*
        sum
    }};
}

/// Words of sixteen blocks, bit by bit: plane p first has bit p of byte 0 of all words.
#[derive(Clone, Copy)]
struct W([u64; 8]);

/// The bytes of a word, sixteen bits apart.
#[inline(always)]
fn spread(word: u32) -> u64 {
    let word = u64::from(word);
    let word = (word | word << 16) & 0x0000_ffff_0000_ffff;
    (word | word << 8) & 0x00ff_00ff_00ff_00ff
}

/// The reverse of [`spread`].
#[inline(always)]
fn gathered(bytes: u64) -> u32 {
    let bytes = bytes & 0x00ff_00ff_00ff_00ff;
    let bytes = (bytes | bytes >> 8) & 0x0000_ffff_0000_ffff;
    (bytes | bytes >> 16) as u32
}

/// Turns the 8 × 8 bits that each byte of the eight words has: bit i of word j becomes bit j of word i.
#[inline(always)]
fn turn_bits(words: &mut [u64; 8]) {
    macro_rules! swap {
        ($shift:literal, $mask:literal, $($i:literal)*) => {$(
            let change = (words[$i] >> $shift ^ words[$i + $shift]) & $mask;
            words[$i] ^= change << $shift;
            words[$i + $shift] ^= change;
        )*};
    }
    swap!(4, 0x0f0f_0f0f_0f0f_0f0f, 0 1 2 3);
    swap!(2, 0x3333_3333_3333_3333, 0 1 4 5);
    swap!(1, 0x5555_5555_5555_5555, 0 2 4 6);
}

/// The planes of sixteen words.
#[inline(always)]
fn planes(words: impl Fn(usize) -> u32) -> [u64; 8] {
    let mut planes = [0; 8];
    for i in 0..8 {
        planes[i] = spread(words(i)) | spread(words(i + 8)) << 8;
    }
    turn_bits(&mut planes);
    planes
}

/// The reverse of [`planes`].
#[inline(always)]
fn words(mut planes: [u64; 8]) -> [u32; 16] {
    turn_bits(&mut planes);
    let mut words = [0; 16];
    for i in 0..8 {
        words[i] = gathered(planes[i]);
        words[i + 8] = gathered(planes[i] >> 8);
    }
    words
}

/// The first of the words that [`planes`] took.
#[inline(always)]
fn first(planes: [u64; 8]) -> u32 {
    let mut bytes = 0;
    for p in 0..8 {
        bytes |= (planes[p] & 0x0001_0001_0001_0001) << p;
    }
    gathered(bytes)
}

// SAFETY (all functions): only words to load are asked for.
impl Words for W {
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        let bytes = spread(word);
        let mut planes = [0; 8];
        for p in 0..8 {
            let bits = bytes >> p & 0x0001_0001_0001_0001;
            planes[p] = (bits << 16).wrapping_sub(bits);
        }
        W(planes)
    }
    #[inline(always)]
    unsafe fn load(lanes: *const u32) -> Self {
        // SAFETY: the caller's sixteen words.
        W(planes(|i| unsafe { *lanes.add(i) }))
    }
    #[inline(always)]
    unsafe fn xor(mut self, other: Self) -> Self {
        for p in 0..8 {
            self.0[p] ^= other.0[p];
        }
        self
    }
    #[inline(always)]
    unsafe fn round(self, t: Self, k: Self) -> Self {
        let [x0, x1, x2, x3, x4, x5, x6, x7] = t.0;
        let [x7, x6, x5, x4, x3, x2, x1, x0] = inverse([x7, x6, x5, x4, x3, x2, x1, x0]);
        let x = [x0, x1, x2, x3, x4, x5, x6, x7];
        let mut sum = self.0;
        let (p, r) = (map!(TOWER.p, x), map!(TOWER.r, x));
        for bit in 0..8 {
            // Byte i + 1 of a word is sixteen bits on.
            let q = p[bit] ^ r[bit];
            let turned = q.rotate_right(16) ^ q.rotate_right(32) ^ r[bit].rotate_right(48);
            sum[bit] ^= k.0[bit] ^ p[bit] ^ turned;
        }
        W(sum)
    }
}

/// The rounds and R of clause 7.1 on sixteen blocks. A function of its own: it is large, a call costs nothing
/// beside, and every mode has it twice.
#[inline(never)]
fn crypt(keys: &impl Schedule<W>, v: [u128; 16]) -> [u128; 16] {
    let mut x = [W([0; 8]); 4];
    for j in 0..4 {
        let bits = planes(|i| (v[i] >> (32 * j)) as u32);
        x[j] = W(map!(TOWER.enter, bits));
    }
    // SAFETY: every processor has this machine.
    unsafe { rounds(keys, &mut x) };
    let mut out = [0; 16];
    for j in 0..4 {
        let bits = x[3 - j].0;
        let words = words(map!(TOWER.leave, bits));
        for i in 0..16 {
            out[i] |= u128::from(words[i]) << (32 * j);
        }
    }
    out
}

/// The same on one block, in sixteen places at once, which saves turning bits around.
#[inline(never)]
fn crypt_one(keys: &RoundKeys, v: u128) -> u128 {
    let mut x = [W([0; 8]); 4];
    for j in 0..4 {
        // SAFETY: every processor has this machine.
        let W(bits) = unsafe { W::splat((v >> (32 * j)) as u32) };
        x[j] = W(map!(TOWER.enter, bits));
    }
    // SAFETY: every processor has this machine.
    unsafe { rounds(keys, &mut x) };
    let mut out = 0;
    for j in 0..4 {
        let bits = x[3 - j].0;
        out |= u128::from(first(map!(TOWER.leave, bits))) << (32 * j);
    }
    out
}

/// The cipher on blocks.
struct Cipher<'a>(&'a Keys);

// SAFETY: nothing is asked for.
impl Rounds<u128, 16> for Cipher<'_> {
    #[inline(always)]
    unsafe fn encrypt(&self, v: [u128; 16]) -> [u128; 16] {
        crypt(&self.0.encrypt, v)
    }
}

// SAFETY: nothing is asked for.
impl InverseRounds<u128, 16> for Cipher<'_> {
    #[inline(always)]
    unsafe fn decrypt(&self, v: [u128; 16]) -> [u128; 16] {
        crypt(&self.0.decrypt, v)
    }
}

// SAFETY: nothing is asked for.
impl Rounds<u128, 1> for Cipher<'_> {
    #[inline(always)]
    unsafe fn encrypt(&self, [v]: [u128; 1]) -> [u128; 1] {
        [crypt_one(&self.0.encrypt, v)]
    }
}

/// The cipher with the keys of messages side by side.
struct Lanes<'a>(&'a StreamKeys);

// SAFETY: nothing is asked for.
impl Rounds<u128, LANES> for Lanes<'_> {
    #[inline(always)]
    unsafe fn encrypt(&self, v: [u128; LANES]) -> [u128; LANES] {
        crypt(self.0, v)
    }
}

kernels! {
    token: Portable, attributes: [inline(never)],
    vector: u128, groups: 16, 16, key: [] Keys, rounds: Cipher,
}

serial! {
    token: Portable, attributes: [inline(never)],
    vector: u128, key: [] Keys, rounds: Cipher,
}

streams! {
    token: Portable, attributes: [inline(never)],
    vector: u128, lanes: 16 in 16, key: [] StreamKeys, rounds: Lanes,
}

/// The round keys of `key`.
pub(super) fn expand_key(_: Portable, key: &Block) -> Keys {
    Keys::mapped(&TOWER, &schedule::expand(key, tau))
}

/// τ of clause 6.2.
pub(super) fn tau(word: u32) -> u32 {
    // c₁ may as well be added before A₁.
    let word = word ^ u32::from_ne_bytes([TOWER.leave.apply(TOWER.c1); 4]);
    // SAFETY: every processor has this machine.
    let W(x) = unsafe { W::splat(word) };
    let [x0, x1, x2, x3, x4, x5, x6, x7] = map!(TOWER.enter, x);
    let [x7, x6, x5, x4, x3, x2, x1, x0] = inverse([x7, x6, x5, x4, x3, x2, x1, x0]);
    let x = [x0, x1, x2, x3, x4, x5, x6, x7];
    let x = map!(TOWER.a2, x);
    first(x) ^ u32::from_ne_bytes([S_CONSTANT; 4])
}
