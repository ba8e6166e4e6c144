//! Multiples of eight points at a time with AVX-512 IFMA.
//!
//! The formulas are those of `point.rs`, and which additions have exceptions is what `mul.rs` and `base.rs`
//! say; but a lane cannot branch, and numbers are not below p ([`field`]). Infinity is therefore not
//! known by Z but by a bit of each lane: a sum is infinite until its first digit that is not zero.
//!
//! On a Xeon of the Emerald Rapids family with other work beside: 7.6 µs a multiple where one by one takes
//! 38, and 2.1 instead of 7.2 a multiple of G. Two vectors interleaved took 9.9: products of one fill both
//! multipliers' ports nearly, and two tables are larger than the first cache.
#![allow(unsafe_code)]

mod field;
mod generator;

use ::core::arch::{asm, x86_64::*};

use zeroize::optimization_barrier;

use self::field::{Element, ONE, from_words, to_words};
pub(super) use self::{field::LANES, generator::multiply_generator};
use super::base;
use crate::cpu::Ifma;

/// Bits of a window of [`multiply`], and the windows of 256 bits and a carry.
const W: u32 = 5;
const WINDOWS: u32 = 52;

/// Four limbs of as many numbers as there are lanes.
pub(super) type Numbers = [[u64; LANES]; 4];

/// A point in each lane: x and y.
pub(super) type Points = [Numbers; 2];

/// A sum in each lane: X, Y, Z and Z².
pub(super) type Sums = [Numbers; 4];

/// Sums of points. X < 2.1 p, Y < 5 p, Z and Z² < 1.5 p.
#[derive(Clone, Copy)]
struct Point {
    x: Element,
    y: Element,
    z: Element,
    zz: Element,
}

/// A multiple with Z³, which an addition needs too.
#[derive(Clone, Copy)]
struct Entry {
    point: Point,
    zzz: Element,
}

/// The eight numbers of a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn load(words: &[u64; LANES]) -> __m512i {
    // SAFETY: eight words are read.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn store(words: &mut [u64; LANES], v: __m512i) {
    // SAFETY: eight words are written.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), v) }
}

/// All ones in the lanes where `digit` is `wanted`, else zero. The compiler must not know what it is:
/// of a load and a mask it would make a load that is masked, and nobody promises that such a load
/// touches its cache line.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn equal(digit: __m512i, wanted: i64) -> __m512i {
    let chosen = _mm512_cmpeq_epi64_mask(digit, _mm512_set1_epi64(wanted));
    let mut mask = _mm512_maskz_mov_epi64(chosen, _mm512_set1_epi64(-1));
    // SAFETY: no instruction.
    unsafe {
        asm!("/* {} */", inout(zmm_reg) mask, options(pure, nomem, nostack, preserves_flags))
    };
    mask
}

/// a | (mask & b).
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn or_if(a: __m512i, mask: __m512i, b: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0xf8>(a, mask, b)
}

/// Twice the numbers, of which windows are cut.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn doubled(numbers: &Numbers) -> [__m512i; 5] {
    let mut out = [_mm512_setzero_si512(); 5];
    for i in 0..4 {
        let limb = load(&numbers[i]);
        out[i] = _mm512_or_si512(out[i], _mm512_slli_epi64::<1>(limb));
        out[i + 1] = _mm512_srli_epi64::<63>(limb);
    }
    out
}

/// The signed digits of a window of `w` bits.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn signed_digits(twice: &[__m512i; 5], w: u32, window: u32) -> (__mmask8, __m512i) {
    let at = w * window;
    let (index, shift) = ((at / 64) as usize, at % 64);
    let mut bits = _mm512_srl_epi64(twice[index], _mm_cvtsi32_si128(shift.cast_signed()));
    if index < 4 {
        // A shift by 64 leaves nothing.
        let left = _mm_cvtsi32_si128((64 - shift).cast_signed());
        bits = _mm512_or_si512(bits, _mm512_sll_epi64(twice[index + 1], left));
    }
    signed(bits, w)
}

/// The signed digits of windows of `w` bits and the bit below them, as `limbs::signed_digit`: signs and
/// magnitudes. What is above these bits does not matter.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn signed(bits: __m512i, w: u32) -> (__mmask8, __m512i) {
    let mask = _mm512_set1_epi64((2 << w) - 1);
    let bits = _mm512_and_si512(bits, mask);
    let negative = _mm512_test_epi64_mask(bits, _mm512_set1_epi64(1 << w));
    let bits = _mm512_mask_xor_epi64(bits, negative, bits, mask);
    (negative, _mm512_srli_epi64::<1>(_mm512_add_epi64(bits, _mm512_set1_epi64(1))))
}

/// The lanes whose digit is zero.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn zeros(digits: __m512i) -> __mmask8 {
    _mm512_testn_epi64_mask(digits, digits)
}

impl Point {
    /// P = 2P. In multiples of p: (X + Z²)(X − Z² + 2p) < 3.6 · 4.1, so M < 3.4; S < 1.4; Y < 4.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn double(&mut self) {
        let m = self
            .x
            .sum()
            .add(&self.zz.sum())
            .carry()
            .mul(&self.x.sum().sub(&self.zz.sum()).plus_p(2).carry());
        let yy = self.y.sqr().carry();
        self.z = self.y.mul(&self.z).carry();
        let m = m.add(&m.half()).carry();
        let s = self.x.mul(&yy);
        let mm = m.sqr();
        self.zz = self.z.sqr().carry();
        self.x = mm.sub(&s).sub(&s).plus_p(3).fold().carry();
        let t = s.sub(&self.x.sum()).plus_p(3).carry();
        self.y = m.mul(&t).sub(&yy.sqr()).plus_p(2).carry();
    }

    /// P + Q for finite points, Q ≠ ±P; and H and R, which tell whether that was so, below 3.4 p.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn plus(&self, Entry { point: q, zzz: q_zzz }: &Entry, sum: &mut Point) -> (Element, Element) {
        let u1 = self.x.mul(&q.zz);
        let zzz = self.zz.mul(&self.z).carry();
        let u2 = q.x.mul(&self.zz);
        let s1 = self.y.mul(q_zzz).carry();
        let s2 = zzz.mul(&q.y);
        let h = u2.sub(&u1).plus_p(2).carry();
        let r = s2.sub(&s1.sum()).plus_p(2).carry();
        let z = self.z.mul(&q.z).carry();
        chord(&u1.carry(), &s1, &h, &r, &z, sum, 4);
        (h, r)
    }

    /// As [`plus`](Self::plus), for a Q whose Z is 1. H < 4.3 p, R < 6.4 p.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn plus_affine(&self, q: &Point, sum: &mut Point) {
        let u2 = q.x.mul(&self.zz);
        let zzz = self.zz.mul(&self.z).carry();
        let s2 = zzz.mul(&q.y);
        let h = u2.sub(&self.x.sum()).plus_p(3).carry();
        let r = s2.sub(&self.y.sum()).plus_p(5).carry();
        chord(&self.x, &self.y, &h, &r, &self.z, sum, 5);
    }

    /// P = `sum`, unless one of its terms is infinity: then the other; `p` and `q` tell in which lanes.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn set_sum(&mut self, sum: &Point, other: &Point, p: __mmask8, q: __mmask8) {
        self.x = sum.x.select(&other.x, p).select(&self.x, q);
        self.y = sum.y.select(&other.y, p).select(&self.y, q);
        self.z = sum.z.select(&other.z, p).select(&self.z, q);
        self.zz = sum.zz.select(&other.zz, p).select(&self.zz, q);
    }

    /// P = `b` where the bit of `mask` is set.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn set(&mut self, b: &Point, mask: __mmask8) {
        self.x = self.x.select(&b.x, mask);
        self.y = self.y.select(&b.y, mask);
        self.z = self.z.select(&b.z, mask);
        self.zz = self.zz.select(&b.zz, mask);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn store(&self, out: &mut Sums) {
        let coordinates =
            [to_words(&self.x), to_words(&self.y), to_words(&self.z), to_words(&self.zz)];
        for (out, words) in out.iter_mut().zip(&coordinates) {
            for i in 0..4 {
                store(&mut out[i], words[i]);
            }
        }
    }
}

/// The sum of points, as `point.rs` has it. `k` times p is more than H³ + 2UH² may be: with u < 2.1 p, s < 5 p, h < 4.3 p and
/// r < 6.4 p, H³ < 1.6, UH² < 1.3 and SH³ < 1.5 p; so Y < 5 p.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn chord(u: &Element, s: &Element, h: &Element, r: &Element, z: &Element, sum: &mut Point, k: i64) {
    let hh = h.sqr().carry();
    let z = z.mul(h).carry();
    let rr = r.sqr();
    let hhh = hh.mul(h);
    let v = u.mul(&hh);
    let zz = z.sqr().carry();
    let x = rr.sub(&hhh).sub(&v).sub(&v).plus_p(k).fold().carry();
    let t = v.sub(&x.sum()).plus_p(3).carry();
    sum.x = x;
    sum.y = r.mul(&t).sub(&s.mul(&hhh.carry())).plus_p(2).carry();
    (sum.z, sum.zz) = (z, zz);
}

/// The entry of each lane's digit from a table that is read as a whole, with the sign of the digit;
/// zeros for a digit of zero.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn lookup(table: &[Entry; 16], digits: __m512i, negative: __mmask8, out: &mut Entry) {
    let zero = Element::zero();
    let (mut x, mut y, mut z, mut zz, mut zzz) = (zero, zero, zero, zero, zero);
    for (Entry { point, zzz: entry_zzz }, wanted) in table.iter().zip(1..) {
        let mask = equal(digits, wanted);
        for i in 0..5 {
            x.0[i] = or_if(x.0[i], mask, point.x.0[i]);
            y.0[i] = or_if(y.0[i], mask, point.y.0[i]);
            z.0[i] = or_if(z.0[i], mask, point.z.0[i]);
            zz.0[i] = or_if(zz.0[i], mask, point.zz.0[i]);
            zzz.0[i] = or_if(zzz.0[i], mask, entry_zzz.0[i]);
        }
    }
    let minus = zero.sum().sub(&y.sum()).plus_p(5).carry();
    out.point = Point { x, y: y.select(&minus, negative), z, zz };
    out.zzz = zzz;
}

/// 1 … 16 times the points.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn tabulate(p: &Points, table: &mut [Entry; 16]) {
    let zero = _mm512_setzero_si512();
    let (mut x, mut y) = ([zero; 4], [zero; 4]);
    for i in 0..4 {
        (x[i], y[i]) = (load(&p[0][i]), load(&p[1][i]));
    }
    let one = Element::splat(&ONE);
    table[0].point = Point { x: from_words(&x), y: from_words(&y), z: one, zz: one };
    table[1].point = table[0].point;
    table[1].point.double();
    for i in 2..16 {
        // Of points with different factors below n: no exception.
        let (before, from) = table.split_at_mut(i);
        before[i - 1].point.plus_affine(&before[0].point, &mut from[0].point);
    }
    for entry in table {
        entry.zzz = entry.point.zz.mul(&entry.point.z).carry();
    }
}

/// What [`multiples`] computes with: in its caller's frame, as it is too large for one that is probed
/// page by page, where the check of the object code would lose sight of it.
struct Work {
    table: [Entry; 16],
    entry: Entry,
    sum: Point,
    next: Point,
    twice: Point,
}

fn wipe(work: &mut Work) {
    // SAFETY: vectors of zeros.
    *work = unsafe { ::core::mem::zeroed() };
    optimization_barrier(work);
}

/// k·P of eight numbers in [1, n − 1] and points.
#[inline]
pub(super) fn multiply(_: Ifma, k: &Numbers, p: &Points, out: &mut Sums) {
    // SAFETY: vectors of zeros.
    let mut work: Work = unsafe { ::core::mem::zeroed() };
    // SAFETY: the token proves the features.
    unsafe { multiples(k, p, out, &mut work) };
    wipe(&mut work);
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn multiples(
    k: &Numbers,
    p: &Points,
    out: &mut Sums,
    Work { table, entry, sum, next, twice }: &mut Work,
) {
    tabulate(p, table);
    let numbers = doubled(k);
    let (negative, digits) = signed_digits(&numbers, W, WINDOWS - 1);
    lookup(table, digits, negative, entry);
    sum.set_sum(next, &entry.point, 0xff, 0);
    let mut infinite = zeros(digits);
    for window in (1..WINDOWS - 1).rev() {
        // Nonsense before the first digit, but in lanes that are infinite then.
        for _ in 0..W {
            sum.double();
        }
        let (negative, digits) = signed_digits(&numbers, W, window);
        lookup(table, digits, negative, entry);
        sum.plus(entry, next);
        sum.set_sum(next, &entry.point, infinite, zeros(digits));
        infinite &= zeros(digits);
    }
    for _ in 0..W {
        sum.double();
    }
    // The last one may be of equal points.
    let (negative, digits) = signed_digits(&numbers, W, 0);
    lookup(table, digits, negative, entry);
    let (h, r) = sum.plus(entry, next);
    let one = Element::splat(&ONE);
    let is_zero = |a: &Element| a.mul(&one).carry().canonical().is_zero();
    twice.set_sum(sum, sum, 0, 0);
    twice.double();
    next.set(twice, is_zero(&h) & is_zero(&r));
    sum.set_sum(next, &entry.point, infinite, zeros(digits));
    sum.store(out);
}

/// k·G of eight numbers in [1, n − 1].
pub(super) fn multiply_base(_: Ifma, k: &Numbers, out: &mut Sums) {
    // SAFETY: the token proves the features.
    unsafe { multiples_of_base(k, out) }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn multiples_of_base(k: &Numbers, out: &mut Sums) {
    let numbers = doubled(k);
    let (zero, one) = (Element::zero(), Element::splat(&ONE));
    let mut sum = Point { x: zero, y: zero, z: one, zz: one };
    let (mut next, mut entry) = (sum, sum);
    let mut infinite = 0xff;
    for (window, table) in (0..).zip(base::windows()) {
        let (negative, digits) = signed_digits(&numbers, base::W, window);
        lookup_base(table, digits, negative, &mut entry);
        sum.plus_affine(&entry, &mut next);
        sum.set_sum(&next, &entry, infinite, zeros(digits));
        infinite &= zeros(digits);
    }
    sum.store(out);
}

/// As [`lookup`], x and y from a window of the table of G.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn lookup_base(table: &base::Window, digits: __m512i, negative: __mmask8, out: &mut Point) {
    let zero = _mm512_setzero_si512();
    let (mut x, mut y) = ([zero; 4], [zero; 4]);
    for (entry, wanted) in table.iter().zip(1..) {
        let mask = equal(digits, wanted);
        for i in 0..4 {
            x[i] = or_if(x[i], mask, _mm512_set1_epi64(entry[i].cast_signed()));
            y[i] = or_if(y[i], mask, _mm512_set1_epi64(entry[4 + i].cast_signed()));
        }
    }
    let y = from_words(&y);
    let minus = Element::zero().sum().sub(&y.sum()).plus_p(3).carry();
    out.x = from_words(&x);
    out.y = y.select(&minus, negative);
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::sm2::field::P;

    /// Limbs of 52 bits: those around multiples of p and at the ends of limbs, and any others.
    fn numbers() -> Vec<[u64; 5]> {
        const MASK: u64 = (1 << 52) - 1;
        let p = BigUint::from_bytes_le(P.map(u64::to_le_bytes).as_flattened());
        let split = |a: &BigUint| {
            core::array::from_fn(|i| {
                let limb = (a >> (52 * i)) & BigUint::from(MASK);
                limb.to_u64_digits().first().copied().unwrap_or(0)
            })
        };
        let near = (0_u32..=15).flat_map(|k| {
            [0_u32, 1, 2].into_iter().flat_map(move |i| [(k, i, true), (k, i, false)])
        });
        let near = near.filter_map(|(k, i, above)| match above {
            true => Some(split(&(&p * k + i))),
            false => (k > 0).then(|| split(&(&p * k - i))),
        });
        let ends = (0..32).map(|set| core::array::from_fn(|i| (set >> i & 1) * MASK));
        let mut state = 1_u64;
        let any = core::iter::repeat_with(|| {
            core::array::from_fn(|_| {
                state =
                    state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                (state ^ state >> 29) & MASK
            })
        });
        near.chain(ends).chain(any.take(200)).collect()
    }

    fn big(limbs: &[i64; 5]) -> BigUint {
        let limb = |i: usize| BigUint::from(u64::try_from(limbs[i]).expect("not negative"));
        (0..5).map(|i| limb(i) << (52 * i)).sum()
    }

    /// The element of which each lane is one of `LANES` numbers.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn element(numbers: &[[u64; 5]]) -> Element {
        let mut limbs = [_mm512_setzero_si512(); 5];
        for i in 0..5 {
            limbs[i] = load(&core::array::from_fn(|lane| numbers[lane][i]));
        }
        Element(limbs)
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn lanes(a: &Element) -> [BigUint; LANES] {
        let mut limbs = [[0; LANES]; 5];
        for i in 0..5 {
            store(&mut limbs[i], a.0[i]);
        }
        core::array::from_fn(|lane| big(&core::array::from_fn(|i| limbs[i][lane].cast_signed())))
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn check_field() {
        let p = BigUint::from_bytes_le(P.map(u64::to_le_bytes).as_flattened());
        let r = BigUint::from(1_u32) << 260;
        let numbers = numbers();
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        for turn in 0..25 {
            order.rotate_left(turn);
            let other: Vec<[u64; 5]> = order.iter().map(|&i| numbers[i]).collect();
            for (a, b) in numbers.chunks_exact(LANES).zip(other.chunks_exact(LANES)) {
                let (a, b) = (element(a), element(b));
                let (numbers_a, numbers_b) = (lanes(&a), lanes(&b));
                let (product, square) = (lanes(&a.mul(&b).carry()), lanes(&a.sqr().carry()));
                let half = lanes(&a.mul(&b).half().carry());
                let difference = lanes(
                    &a.sum()
                        .fold()
                        .carry()
                        .sum()
                        .sub(&b.sum().fold().carry().sum())
                        .plus_p(3)
                        .carry(),
                );
                let canonical = a.sum().fold().carry().sum().fold().plus_p(-1).carry().canonical();
                let zeros = canonical.is_zero();
                let canonical = lanes(&canonical);
                for lane in 0..LANES {
                    let (a, b) = (&numbers_a[lane], &numbers_b[lane]);
                    assert!(&product[lane] * &r % &p == a * b % &p, "{a} times {b}");
                    assert!(&product[lane] * &r < a * b + &p * &r, "{a} times {b}");
                    assert!(&square[lane] * &r % &p == a * a % &p, "{a} squared");
                    assert!(
                        &half[lane] * 2_u32 % &p == &product[lane] % &p,
                        "half of {a} times {b}"
                    );
                    assert!((&difference[lane] + b) % &p == a % &p, "{a} less {b}");
                    assert!(canonical[lane] == a % &p, "{a}");
                    assert_eq!(zeros >> lane & 1 == 1, canonical[lane] == BigUint::ZERO, "{a}");
                }
            }
        }
    }

    /// Numbers of any size, below p or not, against a library of large numbers.
    #[test]
    fn field_operations() {
        if Ifma::get().is_some() {
            // SAFETY: the token proves the features.
            unsafe { check_field() }
        }
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn check_words() {
        let edges = [0, 1, 2, 1 << 52, (1 << 52) - 1, u64::MAX, u64::MAX - 1, 1 << 63];
        let p_less_one = [P[0] - 1, P[1], P[2], P[3]];
        for (a, b) in edges.into_iter().flat_map(|a| edges.map(|b| (a, b))) {
            let numbers = [[a, b, a, b >> 1], [b, a, a, 0], [a, a, b, a >> 1], p_less_one];
            let limb = |i: usize| core::array::from_fn(|lane| numbers[lane % 4][i]);
            let words = [load(&limb(0)), load(&limb(1)), load(&limb(2)), load(&limb(3))];
            let out = to_words(&from_words(&words));
            for i in 0..4 {
                let mut lanes = [0; LANES];
                store(&mut lanes, out[i]);
                assert_eq!(lanes, limb(i), "limb {i} of {a:#x}, {b:#x}");
            }
        }
    }

    #[test]
    fn words_come_back() {
        if Ifma::get().is_some() {
            // SAFETY: the token proves the features.
            unsafe { check_words() }
        }
    }
}
