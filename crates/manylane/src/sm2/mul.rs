//! Multiples of any point: of a secret number in constant time, and of public numbers.

use subtle::Choice;
use zeroize::Zeroize as _;

use super::{
    base,
    field::Field,
    limbs,
    point::{Affine, Cached, Jacobian},
    scalar::Scalar,
};

/// Bits of a window of [`mul`].
const W: u32 = 5;

/// Windows that a number of 256 bits needs, the last one for bit 255 and a carry.
const WINDOWS: i32 = 52;

/// k·P.
///
/// Windows of five bits with signed digits d = −16 … 16, the top one first. Before all additions but the
/// last the sum is 32a·P where 32a + d is k / 2^(5i) rounded, i ≥ 1. If a = 0 it is infinity, which the
/// formula for distinct points knows; else 32 ≤ 32a < n/32 + 17, and neither 32a − d nor 32a + d is a
/// multiple of n. Only in the last addition can the sum come near n: k = n − 6 ends in
/// (n − 3)·P + (−3)·P. That one uses a formula without exception.
pub(super) fn mul(f: impl Field, k: &Scalar, p: &Affine) -> Jacobian {
    let mut table = [[0; 20]; 16];
    let mut multiples = [Jacobian::default(); 16];
    multiples[0] = Jacobian::from(p);
    for i in 1..16 {
        // Of points with different factors below n: no exception.
        multiples[i] = multiples[if i % 2 == 1 { i / 2 } else { i - 1 }];
        match i % 2 {
            1 => multiples[i].double(f),
            _ => multiples[i].add_affine(f, p, Choice::from(0)),
        }
    }
    for (words, multiple) in table.iter_mut().zip(&multiples) {
        *words = Cached::of(f, multiple).to_words();
    }
    let mut sum = Jacobian::INFINITY;
    for window in (0..WINDOWS).rev() {
        // Infinity, before the first window, is its own double.
        let doublings = if window == WINDOWS - 1 { 0 } else { W };
        for _ in 0..doublings {
            sum.double(f);
        }
        let at = W as i32 * window;
        let (negative, digit) = limbs::signed_digit(W, limbs::bits(&k.0, at - 1, W + 1));
        let entry = Cached::from_words(&f.lookup(&table, digit)).neg_if(f, negative);
        match window {
            0 => sum.add_complete(f, &entry),
            _ => sum.add_distinct(f, &entry),
        }
    }
    multiples.zeroize();
    table.zeroize();
    sum
}

/// u·G + v·P of public numbers, as a verification needs.
///
/// Non-adjacent forms share the doublings: G's of width 7, because the first window of the table of
/// G holds its multiples up to 64, P's of width 5, for which eight odd multiples are computed.
pub(super) fn mul_add_vartime(f: impl Field, u: &Scalar, v: &Scalar, p: &Affine) -> Jacobian {
    let mut twice = Jacobian::from(p);
    twice.double(f);
    let twice = Cached::of(f, &twice);
    let mut odd = [Jacobian::from(p); 8];
    for i in 1..8 {
        odd[i] = odd[i - 1];
        odd[i].add_vartime(f, &twice);
    }
    let odd = odd.map(|multiple| Cached::of(f, &multiple));
    let (of_g, of_p) = (non_adjacent_vartime::<7>(u), non_adjacent_vartime::<5>(v));
    let mut sum = Jacobian::INFINITY;
    for (digit_of_g, digit_of_p) in of_g.into_iter().zip(of_p).rev() {
        sum.double(f);
        if digit_of_p != 0 {
            let multiple = &odd[usize::from(digit_of_p.unsigned_abs() / 2)];
            let negative = Choice::from(u8::from(digit_of_p < 0));
            sum.add_vartime(f, &multiple.neg_if(f, negative));
        }
        if digit_of_g != 0 {
            let multiple = base::small_vartime(digit_of_g.unsigned_abs());
            let negative = Choice::from(u8::from(digit_of_g < 0));
            sum.add_affine_vartime(f, &multiple.neg_if(f, negative));
        }
    }
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
        let powers =
            (0..256).map(|i| ::core::array::from_fn(|j| u64::from(i / 64 == j) << (i % 64)));
        let mut state = 1_u64;
        let mut any = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state ^ state >> 29
        };
        let any: Vec<Limbs> = (0..100).map(|_| [any(), any(), any(), any()]).collect();
        near_n.chain(small).chain(powers).chain(any).map(|k| Scalar::reduced(&k)).collect()
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

    /// k = n − 6 is the only number whose last addition is of equal points; see [`mul`].
    #[test]
    fn the_last_addition_may_be_of_equal_points() {
        let k = Scalar(limbs::sub(&N, &[6, 0, 0, 0]).0);
        let (negative, digit) = limbs::signed_digit(W, limbs::bits(&k.0, -1, W + 1));
        assert!(bool::from(negative) && digit == 3, "the case that is meant");
        with_field!(Cell::best(), f => {
            let p = base::small_vartime(1);
            let product = mul(f, &k, &p).to_affine(f);
            assert_eq!(product.x.0, base::small_vartime(6).x.0);
            assert_eq!(product.y.0, base::small_vartime(6).neg_if(f, Choice::from(1)).y.0);
        });
    }
}
