//! Multiples of any point: of a secret number in constant time, and of public numbers.

use subtle::Choice;
use zeroize::Zeroize;

use super::{
    base,
    field::{Fe, Field},
    limbs,
    point::{Affine, Jacobian},
    scalar::{N, Scalar},
};

/// Bits of a window of [`mul`].
const W: u32 = 5;

/// Windows of a number below 2²⁵⁵.
const WINDOWS: i32 = 51;

/// k·P.
///
/// Of k and n − k one is below 2²⁵⁵; that one, K, is what P or −P is multiplied by, and K + 1 if K is
/// even, from which P is subtracted at the end. An odd number below 2²⁵⁵ is Σ ±2ⁱ for i = 0 … 254 in one
/// way, and five such terms are an odd digit, −31 … 31: no digit is zero and the top one is positive.
///
/// So there is no exception. Before an addition of d·P the sum is 32a·P, where a is odd, positive and, as
/// 32a + d is K or K + 1 less its last bits, 31 < 32a < 2²⁵⁵ + 31; so neither 32a − d nor 32a + d is a multiple of
/// n, and neither term is infinity. At the end (K + 1)·P − P has the exception of equal points only if K + 2
/// is a multiple of n, which it is not; and for K = 0 the points are opposite, which gives Z₃ = 0, as it should.
pub(super) fn mul(f: impl Field, k: &Scalar, p: &Affine) -> Jacobian {
    let is_high = Choice::from((k.0[3] >> 63) as u8);
    let mut k = limbs::choose(&k.0, &limbs::sub(&N, &k.0).0, is_high);
    let is_even = Choice::from((!k[0] & 1) as u8);
    // The signs of the terms: bit i of K / 2 + 2²⁵⁴ is that of 2ⁱ.
    k = ::core::array::from_fn(|i| k[i] >> 1 | k.get(i + 1).map_or(1 << 62, |next| next << 63));
    let mut table = OddMultiples::<16>::of(f, &p.neg_if(f, is_high));
    let mut sum = Jacobian::default();
    for window in (0..WINDOWS).rev() {
        let signs = limbs::bits(&k, W as i32 * window, W);
        let negative = Choice::from((signs >> (W - 1) ^ 1) as u8);
        let index = (signs ^ limbs::mask(signs >> (W - 1) == 0)) & 15;
        let entry = Affine::from_words(&f.lookup(&table.words, index + 1)).neg_if(f, negative);
        if window == WINDOWS - 1 {
            sum = Jacobian::over(&entry, &f.sqr(&table.z));
            continue;
        }
        for _ in 0..W {
            sum.double(f);
        }
        sum.add_distinct(f, &entry);
    }
    let minus = Affine::from_words(&table.words[0]).neg_if(f, Choice::from(1));
    let mut less = sum;
    less.add_distinct(f, &minus);
    sum.choose(f, &less, is_even);
    sum.z = f.mul_near(&sum.z, &table.z);
    table.zeroize();
    k.zeroize();
    sum
}

/// P, 3P … (2·LEN − 1)P, all with the denominator `z`, in coordinates that leave it out.
#[derive(Clone, Copy)]
struct OddMultiples<const LEN: usize> {
    words: [[u64; 8]; LEN],
    z: Fe,
}

impl<const LEN: usize> Zeroize for OddMultiples<LEN> {
    fn zeroize(&mut self) {
        self.words.zeroize();
        self.z.zeroize();
    }
}

impl<const LEN: usize> OddMultiples<LEN> {
    /// Of a finite point.
    ///
    /// Each is the one before plus 2P, which is given the denominator of their sum on the way (Meloni,
    /// "New point addition formulae for ECC applications", 2007); the factors between the denominators then
    /// lead all to the last one. That is 171 products for sixteen, where multiples with denominators of their
    /// own take 158, and spares two in each addition, and 12 words of each entry that is read. No sum is of
    /// equal or opposite points: the factors of P are 2 and an odd number below 2·LEN.
    fn of(f: impl Field, p: &Affine) -> Self {
        // 2P as `Jacobian::double` has it, for Z = 1; P over the same denominator, y, is (S, y⁴).
        let mut of_last = [Affine::default(); LEN];
        let mut factors = [Fe::default(); LEN];
        let yy = f.sqr_near(&p.y);
        let m = f.mul(&f.add(&p.x, &Fe::ONE), &f.sub(&p.x, &Fe::ONE));
        let m = f.add(&m, &f.half(&m));
        let s = f.mul(&yy, &p.x);
        let mm = f.sqr(&m);
        let yyyy = f.sqr(&yy);
        let x = f.sub(&f.sub(&mm, &s), &s);
        let mut twice = Affine { x, y: f.sub(&f.mul(&m, &f.sub(&s, &x)), &yyyy) };
        of_last[0] = Affine { x: s, y: yyyy };
        factors[0] = p.y;
        for i in 1..LEN {
            let last = of_last[i - 1];
            let h = f.sub(&twice.x, &last.x);
            let r = f.sub(&twice.y, &last.y);
            let hh = f.sqr_near(&h);
            let rr = f.sqr(&r);
            let v = f.mul(&hh, &twice.x);
            let u = f.mul(&hh, &last.x);
            let w = f.sub(&v, &u);
            let x = f.sub(&f.sub(&rr, &v), &u);
            let t = f.mul(&w, &twice.y);
            let y = f.sub(&f.mul(&r, &f.sub(&v, &x)), &t);
            of_last[i] = Affine { x, y };
            twice = Affine { x: v, y: t };
            factors[i] = h;
        }
        let mut words = [[0; 8]; LEN];
        words[LEN - 1] = of_last[LEN - 1].to_words();
        let mut z = factors[LEN - 1];
        for i in (0..LEN - 1).rev() {
            let zz = f.sqr_near(&z);
            let x = f.mul(&of_last[i].x, &zz);
            let zzz = f.mul_near(&zz, &z);
            z = f.mul(&z, &factors[i]);
            words[i] = Affine { x, y: f.mul(&of_last[i].y, &zzz) }.to_words();
        }
        of_last.zeroize();
        factors.zeroize();
        OddMultiples { words, z }
    }
}

/// u·G + v·P of public numbers, as a verification needs.
///
/// Non-adjacent forms share the doublings: G's of width 7, because the first window of the table of
/// G holds its multiples up to 64, P's of width 5, for which eight odd multiples are computed.
pub(super) fn mul_add_vartime(f: impl Field, u: &Scalar, v: &Scalar, p: &Affine) -> Jacobian {
    let odd = OddMultiples::<8>::of(f, p);
    let cc = f.sqr(&odd.z);
    let (of_g, of_p) = (non_adjacent_vartime::<7>(u), non_adjacent_vartime::<5>(v));
    let mut sum = Jacobian::INFINITY;
    for (digit_of_g, digit_of_p) in of_g.into_iter().zip(of_p).rev() {
        sum.double(f);
        if digit_of_p != 0 {
            let multiple =
                Affine::from_words(&odd.words[usize::from(digit_of_p.unsigned_abs() / 2)]);
            let negative = Choice::from(u8::from(digit_of_p < 0));
            sum.add_over_vartime(f, &multiple.neg_if(f, negative), &cc);
        }
        if digit_of_g != 0 {
            let multiple = base::small_vartime(digit_of_g.unsigned_abs());
            let negative = Choice::from(u8::from(digit_of_g < 0));
            sum.add_affine_over_vartime(f, &multiple.neg_if(f, negative), &odd.z, &cc);
        }
    }
    sum.z = f.mul_near(&sum.z, &odd.z);
    sum
}

/// The digits of width w, lowest first: zero or odd, below 2^(w − 1) in magnitude, and any two that
/// are not zero at least w apart.
fn non_adjacent_vartime<const WIDTH: u32>(k: &Scalar) -> [i8; 257] {
    let mut digits = [0; 257];
    let mut carry = 0;
    let mut at = 0;
    while at < 257 {
        let bit = limbs::bits(&k.0, at as i32, 1);
        if bit == carry {
            at += 1;
            continue;
        }
        let window = limbs::bits(&k.0, at as i32, WIDTH) + carry;
        carry = window >> (WIDTH - 1);
        digits[at] = (window as i32 - ((carry as i32) << WIDTH)) as i8;
        at += WIDTH as usize;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cpu::Machine,
        sm2::{
            field::{Cell, with_field},
            limbs::Limbs,
            scalar::N,
        },
    };

    /// Numbers that lead the windows and the non-adjacent forms to their ends, and any others.
    fn numbers() -> Vec<Scalar> {
        let near_n = (1..70).map(|i| limbs::sub(&N, &[i, 0, 0, 0]).0);
        let small = (0..70).map(|i| [i, 0, 0, 0]);
        // Up to 2²⁵⁵ k itself is multiplied by, from there on n − k.
        let half = (0..8).map(|i| limbs::sub(&[4, 0, 0, 1 << 63], &[i, 0, 0, 0]).0);
        let powers =
            (0..256).map(|i| ::core::array::from_fn(|j| u64::from(i / 64 == j) << (i % 64)));
        let mut state = 1_u64;
        let mut any = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state ^ state >> 29
        };
        let any: Vec<Limbs> = (0..100).map(|_| [any(), any(), any(), any()]).collect();
        near_n
            .chain(small)
            .chain(half)
            .chain(powers)
            .chain(any)
            .map(|k| Scalar::reduced(&k))
            .collect()
    }

    /// k·P in constant time, u·G + v·P, and the table of G, of one machine, against each other and
    /// the portable one. P is 2·G, so that all of them are multiples of G.
    #[test]
    fn multiples_of_every_machine() {
        for machine in Machine::ALL {
            let Ok(cell) = Cell::on(machine) else { continue };
            with_field!(cell, f => {
                let two = Scalar::ONE.add(&Scalar::ONE);
                let p = base::mul(f, &two).to_affine(f);
                for k in numbers() {
                    let same = |a: Jacobian, b: Jacobian, what| {
                        let (a, b) = (a.to_affine(f), b.to_affine(f));
                        assert_eq!((a.x.0, a.y.0), (b.x.0, b.y.0), "{machine}: {what}, {:x?}", k.0);
                    };
                    let (zero, twice) = (Scalar::default(), k.add(&k));
                    same(mul(f, &k, &p), base::mul(f, &twice), "constant time");
                    same(mul_add_vartime(f, &zero, &k, &p), base::mul(f, &twice), "of P");
                    same(mul_add_vartime(f, &k, &zero, &p), base::mul(f, &k), "of G");
                    let all = twice.add(&k);
                    same(mul_add_vartime(f, &k, &k, &p), base::mul(f, &all), "of both");
                    let minus = Scalar::default().sub(&twice);
                    let sum = mul_add_vartime(f, &minus, &k, &p);
                    assert!(bool::from(sum.is_infinity()), "{machine}: {:x?}", k.0);
                }
            });
        }
    }
}
