//! k·G of one number: eight of its windows side by side.
//!
//! Window 8r + j of `base.rs` is lane j's in round r. Of five rounds the first is a load, and the lanes are then added
//! up in three steps. A step has pairs of lanes for as many sums, so both terms' products, and later two
//! products of a sum, are one of vectors: nine, where a sum in each lane has sixteen.
//!
//! No addition is of equal or opposite points. Write the sum, or difference, of two terms as Σ eᵢ·2^(7i): no window is
//! in both terms, so eᵢ is a digit of k or its negative, |eᵢ| ≤ 64. If not all are zero, neither is the number: the
//! lowest of them is no multiple of 128. It is between −2n and 2n, and to be ±n, n = 2²⁵⁶ − 2²²⁴ − r with
//! 2¹²⁷ < r < 2¹²⁸, it needs e₃₆ = ±16, e₃₂ = ∓1 and e₁₈ = ∓2 or ∓3. These are windows of lanes 4, 0 and 2, which only the last
//! step brings together, as A + B with A of lanes 4 … 7 and B of lanes 0 … 3. A + B = k is below n. A − B can be n, as k's
//! top digit is not negative, but not −n; if it is, −1 is e₃₂ and zero e₃₃ … e₃₅, so B has a positive digit on top, B > 0,
//! and k = n + 2B would be above n. So a lane is infinite if its digits are all zero, and else it is not.
//!
//! On a Xeon of the Emerald Rapids family 9,300 clocks, where 37 additions one after another take 22,600:
//! the table's 148 KiB, read from the second-level cache, 4,500 (a plain reading of it 3,300), the rounds' additions
//! 2,400, the three steps 2,200. Reading the next round's entries between the products of an addition gained nothing.
#![allow(unsafe_code)]

use ::core::arch::{asm, x86_64::*};

use zeroize::optimization_barrier;

use super::{
    super::{
        base::{self, MULTIPLES, W, Window},
        limbs::{self, Limbs},
    },
    LANES, Numbers, Point,
    field::{Element, ONE, from_words, to_words},
    load, signed, store, zeros,
};
use crate::cpu::Ifma;

/// Rounds of 37 windows.
const ROUNDS: usize = 5;

// The places of a round's windows below.
const _: () = assert!(W == 7 && LANES == 8);

/// What [`multiple`] computes with.
struct Work {
    /// A window's entries of eight lanes.
    rows: [[u64; LANES]; LANES],
    /// All ones where an entry of a window is the wanted one.
    chosen: [u64; MULTIPLES],
    entry: Point,
    sum: Point,
    next: Point,
}

/// k·G of a number below n: the words of X, Y, Z and Z² in the first four lanes, Z = 0 for infinity.
#[inline]
pub(in super::super) fn multiply_generator(_: Ifma, k: &Limbs, out: &mut Numbers) {
    // SAFETY: vectors of zeros.
    let mut work: Work = unsafe { ::core::mem::zeroed() };
    // SAFETY: the token proves the features.
    unsafe { multiple(k, out, &mut work) };
    // SAFETY: as above.
    work = unsafe { ::core::mem::zeroed() };
    optimization_barrier(&work);
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn multiple(k: &Limbs, out: &mut Numbers, work: &mut Work) {
    let windows = base::windows();
    let mut infinite = entries(k, 0, &windows[..LANES], work);
    work.sum = work.entry;
    for round in 1..ROUNDS {
        let first = LANES * round;
        let none = entries(k, round, &windows[first..windows.len().min(first + LANES)], work);
        let Work { entry, sum, next, .. } = work;
        match round {
            1 => sum.affine_plus_affine(entry, next),
            _ => sum.plus_affine(entry, next),
        }
        sum.set_sum(next, entry, infinite, none);
        infinite &= none;
    }
    let lane = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    for (distance, high) in [(1, 0xaa), (2, 0xcc), (4, 0xf0)] {
        let other = _mm512_xor_si512(lane, _mm512_set1_epi64(distance));
        let of_other = infinite >> distance;
        work.sum.add_other(other, high, infinite, of_other);
        infinite &= of_other;
    }
    work.sum.store_first(infinite, out);
}

/// The entries of a round's windows, and the lanes whose digit is zero: entries are infinity there, or
/// what the round before left where there is no window.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn entries(k: &Limbs, round: usize, windows: &[Window], work: &mut Work) -> __mmask8 {
    // All windows of a round and the bit below them.
    let first = W as i32 * (LANES * round) as i32;
    let bits = limbs::bits(k, first - 1, LANES as u32 * W + 1);
    let places = _mm512_set_epi64(49, 42, 35, 28, 21, 14, 7, 0);
    let bits = _mm512_srlv_epi64(_mm512_set1_epi64(bits.cast_signed()), places);
    let (negative, digits) = signed(bits, W);
    for (lane, window) in windows.iter().enumerate() {
        let digit = _mm512_permutexvar_epi64(_mm512_set1_epi64(lane as i64), digits);
        lookup(window, digit, &mut work.chosen, &mut work.rows[lane]);
    }
    let (x, y) = transposed(&work.rows);
    let y = from_words(&y);
    let minus = Element::zero().sum().sub(&y.sum()).plus_p(3).carry();
    let one = Element::splat(&ONE);
    work.entry = Point { x: from_words(&x), y: y.select(&minus, negative), z: one, zz: one };
    zeros(digits)
}

/// words = words | (mask & entry). Masks come from memory, as no port that computes then has to spread them, and eight
/// entries need one step of the loop: 1 clock an entry in the first-level cache, where a comparison,
/// a load and a choice for each take 1.9.
macro_rules! one {
    ($i:literal) => {
        concat!(
            "vpbroadcastq {mask}, [{chosen} + 8 * ",
            $i,
            "]\n",
            "vpternlogq {words}, {mask}, [{entries} + 64 * ",
            $i,
            "], 0xf8\n",
        )
    };
}

/// The entry of a digit, the same in all lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn lookup(table: &Window, digit: __m512i, chosen: &mut [u64; MULTIPLES], out: &mut [u64; LANES]) {
    let mut wanted = _mm512_set_epi64(8, 7, 6, 5, 4, 3, 2, 1);
    for chosen in chosen.as_chunks_mut::<LANES>().0 {
        let mask = _mm512_cmpeq_epi64_mask(digit, wanted);
        store(chosen, _mm512_maskz_mov_epi64(mask, _mm512_set1_epi64(-1)));
        wanted = _mm512_add_epi64(wanted, _mm512_set1_epi64(LANES as i64));
    }
    let mut words = _mm512_setzero_si512();
    for (entries, chosen) in table.as_chunks::<LANES>().0.iter().zip(chosen.as_chunks::<LANES>().0)
    {
        // SAFETY: the features are enabled; eight words and eight entries are read.
        unsafe {
            asm!(
                one!("0"),
                one!("1"),
                one!("2"),
                one!("3"),
                one!("4"),
                one!("5"),
                one!("6"),
                one!("7"),
                mask = out(zmm_reg) _,
                words = inout(zmm_reg) words,
                chosen = in(reg) chosen,
                entries = in(reg) entries,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
    }
    store(out, words);
}

/// The words of x and y, of eight entries one after another.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn transposed(rows: &[[u64; LANES]; LANES]) -> ([__m512i; 4], [__m512i; 4]) {
    let mut quarters = [[_mm512_setzero_si512(); 2]; 4];
    for i in 0..4 {
        let (even, odd) = (load(&rows[2 * i]), load(&rows[2 * i + 1]));
        quarters[i] = [_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd)];
    }
    let [a, b, c, d] = quarters;
    let (mut x, mut y) = ([_mm512_setzero_si512(); 4], [_mm512_setzero_si512(); 4]);
    for i in 0..2 {
        let (low, high) =
            (_mm512_shuffle_i64x2::<0x88>(a[i], b[i]), _mm512_shuffle_i64x2::<0x88>(c[i], d[i]));
        x[i] = _mm512_shuffle_i64x2::<0x88>(low, high);
        y[i] = _mm512_shuffle_i64x2::<0xdd>(low, high);
        let (low, high) =
            (_mm512_shuffle_i64x2::<0xdd>(a[i], b[i]), _mm512_shuffle_i64x2::<0xdd>(c[i], d[i]));
        x[i + 2] = _mm512_shuffle_i64x2::<0x88>(low, high);
        y[i + 2] = _mm512_shuffle_i64x2::<0xdd>(low, high);
    }
    (x, y)
}

impl Point {
    /// P + Q for points whose Z is 1, Q ≠ ±P. H and R < 3.1 p, Z² < 1.6 p, H³ + 2V < 3.8 p. Z is
    /// H, twice what `plus_affine` expects, and still its H and R are below what it says.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn affine_plus_affine(&self, q: &Point, sum: &mut Point) {
        let h = q.x.sum().sub(&self.x.sum()).plus_p(2).carry();
        let r = q.y.sum().sub(&self.y.sum()).plus_p(2).carry();
        let hh = h.sqr().carry();
        let rr = r.sqr();
        let hhh = hh.mul(&h);
        let v = self.x.mul(&hh);
        let x = rr.sub(&hhh).sub(&v).sub(&v).plus_p(4).fold().carry();
        let t = v.sub(&x.sum()).plus_p(3).carry();
        sum.x = x;
        sum.y = r.mul(&t).sub(&self.y.mul(&hhh.carry())).plus_p(2).carry();
        (sum.z, sum.zz) = (h, hh);
    }

    /// In the lanes that are not `high`: P = P + Q for the lane Q that `other` says, Q ≠ ±P, or either
    /// of them infinity, as `p` and `q` say. High lanes are the others of these, and what they are then
    /// says nothing. A Z that was never multiplied is an H: Z < 3.1 p and Z² < 1.6 p, so U < 1.3 p, S < 1.5 p, H and
    /// R < 3.5 p, H³ + 2V < 4 p, and Z₃ < 1.5 p.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn add_other(&mut self, other: __m512i, high: __mmask8, p: __mmask8, q: __mmask8) {
        let zzz = self.zz.mul(&self.z).carry();
        let q_zz = self.zz.permute(other);
        let q_z = self.z.permute(other);
        // U₁ and U₂, S₁ and S₂.
        let u = self.x.mul(&q_zz).carry();
        let z = self.z.mul(&q_z).carry();
        let s = self.y.mul(&zzz.permute(other)).carry();
        let (q_u, q_s) = (u.permute(other), s.permute(other));
        let h = q_u.sum().sub(&u.sum()).plus_p(2).carry();
        let r = q_s.sum().sub(&s.sum()).plus_p(2).carry();
        // H² and R².
        let squares = h.select(&r, high).sqr().carry();
        let z = z.mul(&h).carry();
        let q_squares = squares.permute(other);
        // H³ and V = U₁H².
        let v = h.select(&q_u, high).mul(&squares.select(&q_squares, high)).carry();
        let zz = z.sqr().carry();
        let q_v = v.permute(other);
        let x = q_squares.sum().sub(&v.sum()).sub(&q_v.sum()).sub(&q_v.sum());
        let x = x.plus_p(4).fold().carry();
        let t = q_v.sum().sub(&x.sum()).plus_p(3).carry();
        // R(V − X₃) and S₁H³.
        let y = r.select(&q_s, high).mul(&t.select(&q_v, high)).carry();
        let y = y.sum().sub(&y.permute(other).sum()).plus_p(2).carry();
        let sum = Point { x, y, z, zz };
        let q_point =
            Point { x: self.x.permute(other), y: self.y.permute(other), z: q_z, zz: q_zz };
        self.set_sum(&sum, &q_point, p, q);
    }

    /// The words of the first lane's X, Y, Z and Z² in lanes 0 … 3; Z = 0 if it is infinite.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn store_first(&self, infinite: __mmask8, out: &mut Numbers) {
        let zero = Element::zero();
        let (z, zz) = (self.z.select(&zero, infinite), self.zz.select(&zero, infinite));
        let mut all = zero;
        let pairs = _mm512_set_epi64(0, 0, 0, 0, 9, 8, 1, 0);
        for i in 0..5 {
            let xy = _mm512_unpacklo_epi64(self.x.0[i], self.y.0[i]);
            let zs = _mm512_unpacklo_epi64(z.0[i], zz.0[i]);
            all.0[i] = _mm512_permutex2var_epi64(xy, pairs, zs);
        }
        for (out, words) in out.iter_mut().zip(to_words(&all)) {
            store(out, words);
        }
    }
}
