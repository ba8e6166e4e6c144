//! Every machine's field against big integers.

use num_bigint::BigUint;
use proptest::prelude::*;

use super::*;

fn big(limbs: &Limbs) -> BigUint {
    BigUint::from_bytes_be(&limbs::to_bytes(limbs))
}

fn p() -> BigUint {
    big(&P)
}

/// 2⁻²⁵⁶ mod p.
fn r_inverse() -> BigUint {
    (BigUint::from(1_u8) << 256_u32).modinv(&p()).unwrap()
}

/// Numbers below p with limbs at which carries and borrows turn.
fn edges() -> Vec<Limbs> {
    let limbs = [0, 1, 0xffff_ffff, 1 << 32, 0xffff_ffff_0000_0000, u64::MAX - 1, u64::MAX];
    let mut edges = Vec::new();
    for code in 0..limbs.len().pow(4) {
        let digit = |i| limbs[code / limbs.len().pow(i) % limbs.len()];
        edges.push([digit(0), digit(1), digit(2), digit(3)]);
    }
    for around in [P, super::super::scalar::N, Fe::ONE.0, R2.0] {
        for offset in 0..3 {
            edges.push(limbs::sub(&around, &[offset, 0, 0, 0]).0);
            edges.push(limbs::add(&around, &[offset, 0, 0, 0]).0);
        }
    }
    edges.retain(|edge| limbs::sub(edge, &P).1);
    edges
}

/// The machines that must run here.
fn cells() -> Vec<(Machine, Cell)> {
    let cells: Vec<_> =
        Machine::ALL.into_iter().filter_map(|m| Some((m, Cell::on(m).ok()?))).collect();
    for (machine, cell) in &cells {
        assert_eq!(cell.machine(), *machine);
    }
    for machine in Machine::ALL {
        let expected = Cell::MACHINES.contains(&machine) && machine.is_available();
        assert_eq!(cells.iter().any(|(m, _)| *m == machine), expected, "{machine}");
    }
    cells
}

/// Numbers that a [`Near`] may be: all of p … 2²⁵⁶ − 2²²⁴ − 1 that edges are made of, and those below.
fn near_edges() -> Vec<Limbs> {
    let top = 0xffff_fffe_ffff_ffff;
    let over = [
        [u64::MAX; 2],
        [u64::MAX, u64::MAX - 1],
        [0, 0xffff_ffff_0000_0000],
        [0, 0xffff_ffff_0000_0001],
        [u64::MAX, 0xffff_ffff_0000_0000],
        [1 << 63, u64::MAX],
    ];
    let over = over.map(|[low, high]| [low, high, u64::MAX, top]);
    let sums = (0..3).flat_map(|i| {
        [limbs::add(&P, &[i, 0, 0, 0]).0, limbs::sub(&over[0], &[i << 32, i, 0, 0]).0]
    });
    let edges = edges();
    let below = edges.iter().step_by(edges.len() / 40).copied();
    over.into_iter().chain(sums).chain(below).collect()
}

/// The number of a [`Near`] in its range, mod p.
#[track_caller]
fn near(a: Near) -> BigUint {
    assert!(a.0[3] >> 32 < 0xffff_ffff, "{:x?} is too far", a.0);
    assert_eq!(big(&a.reduced().0), big(&a.0) % p());
    assert_eq!(bool::from(a.is_zero()), a.reduced().0 == [0; 4]);
    big(&a.0) % p()
}

/// What takes numbers of p and a little more. `below` is below p.
#[track_caller]
fn check_near(machine: Machine, f: impl Field, a: &Limbs, b: &Limbs, below: &Limbs) {
    let (na, nb, fc) = (Near(*a), Near(*b), Fe(*below));
    let (big_a, big_b, big_c, p) = (big(a), big(b), big(below), p());
    let name = format!("{machine}: {big_a:x}, {big_b:x}, {big_c:x}");
    let product = &big_a * &big_b * r_inverse() % &p;
    assert_eq!(big(&f.mul(&na, &nb).0), product, "product of {name}");
    assert_eq!(near(f.mul_near(&na, &nb)), product, "product of {name}");
    let square = &big_a * &big_a * r_inverse() % &p;
    assert_eq!(big(&f.sqr(&na).0), square, "square of {name}");
    assert_eq!(near(f.sqr_near(&na)), square, "square of {name}");
    assert_eq!(near(f.add_near(&na, &fc)), (&big_a + &big_c) % &p, "sum of {name}");
    assert_eq!(near(f.sub_near(&na, &fc)), (&big_a + &p - &big_c) % &p, "difference of {name}");
    let squares = &big_b * &big_b;
    let multiple = &p * &p * 2_u8;
    let expected = (&big_a * &big_c + &multiple - &squares) * r_inverse() % &p;
    assert_eq!(near(f.mul_sub_sqr_near(&na, &fc, &nb)), expected, "squares of {name}");
    let expected = (&big_a * &big_c + &multiple - &big_a * &big_b) * r_inverse() % &p;
    assert_eq!(near(f.mul_sub_near(&na, &fc, &na, &nb)), expected, "products of {name}");
    for (choice, expected) in [(0, na), (1, nb)] {
        assert_eq!(f.select(&na, &nb, Choice::from(choice)).0, expected.0, "choice of {name}");
    }
}

#[test]
fn edges_of_what_may_be_over_p() {
    let (near, edges) = (near_edges(), edges());
    for (machine, cell) in cells() {
        for (i, a) in near.iter().enumerate() {
            for (j, b) in near.iter().enumerate() {
                let below = &edges[(i * 61 + j * 997) % edges.len()];
                with_field!(cell, f => check_near(machine, f, a, b, below));
            }
        }
    }
}

#[track_caller]
fn check_pair(machine: Machine, f: impl Field, a: &Limbs, b: &Limbs) {
    let (fa, fb, big_a, big_b, p) = (Fe(*a), Fe(*b), big(a), big(b), p());
    let name = format!("{machine}: {big_a:x}, {big_b:x}");
    assert_eq!(big(&f.mul(&fa, &fb).0), &big_a * &big_b * r_inverse() % &p, "product of {name}");
    assert_eq!(big(&f.add(&fa, &fb).0), (&big_a + &big_b) % &p, "sum of {name}");
    assert_eq!(big(&f.sub(&fa, &fb).0), (&p + &big_a - &big_b) % &p, "difference of {name}");
    // Products and squares of these numbers and their sum, on either side.
    let (fc, big_c) = (f.add(&fa, &fb), (&big_a + &big_b) % &p);
    for (x, big_x, y, big_y) in [(fa, &big_a, fb, &big_b), (fb, &big_b, fc, &big_c)] {
        let expected = (big_x * big_x + &p * &p - big_y * big_y) * r_inverse() % &p;
        assert_eq!(near(f.mul_sub_sqr_near(&x, &x, &y)), expected, "squares of {name}");
        let expected = (big_x * &big_c + &p * &p - big_y * &big_a) * r_inverse() % &p;
        assert_eq!(near(f.mul_sub_near(&x, &fc, &y, &fa)), expected, "products of {name}");
    }
    for (choice, expected) in [(0, fa), (1, fb)] {
        assert_eq!(f.select(&fa, &fb, Choice::from(choice)).0, expected.0, "choice of {name}");
    }
}

#[track_caller]
fn check_one(machine: Machine, f: impl Field, a: &Limbs) {
    let (fa, big_a, p) = (Fe(*a), big(a), p());
    let name = format!("{machine}: {big_a:x}");
    assert_eq!(big(&f.sqr(&fa).0), &big_a * &big_a * r_inverse() % &p, "square of {name}");
    // A product with 1 leaves the four limbs that the reduction clears as they are given.
    assert_eq!(big(&fa.to_limbs(f)), &big_a * r_inverse() % &p, "reduction of {name}");
    assert_eq!(big(&f.half(&fa).0) * 2_u8 % &p, big_a, "half of {name}");
    assert_eq!(big(&f.double(&fa).0), &big_a * 2_u8 % &p, "double of {name}");
    assert_eq!(big(&f.triple(&fa).0), &big_a * 3_u8 % &p, "triple of {name}");
    assert_eq!(f.neg_if(&fa, Choice::from(0)).0, fa.0, "{name}");
    assert_eq!(big(&f.neg_if(&fa, Choice::from(1)).0), (&p - &big_a) % &p, "minus {name}");
    // a·2²⁵⁶ · a⁻¹·2²⁵⁶ / 2²⁵⁶ = 1·2²⁵⁶.
    let one = if big_a == BigUint::ZERO { Fe::ZERO } else { Fe::ONE };
    assert_eq!(f.mul(&fa.invert(f), &fa).0, one.0, "inverse of {name}");
    let number = Fe::from_limbs(f, a).unwrap();
    assert_eq!(big(&number.0), (&big_a << 256_u32) % &p, "{name}");
    assert_eq!(number.to_limbs(f), *a, "{name}");
    assert_eq!(number.is_odd(f), a[0] % 2 == 1, "{name}");
    let square = f.sqr(&number);
    let root = square.sqrt_vartime(f).unwrap();
    assert!(root.0 == number.0 || f.add(&root, &number).0 == [0; 4], "root of {name}");
    // −1 is no square: p = 3 mod 4.
    let none = f.neg_if(&square, Choice::from(1)).sqrt_vartime(f);
    assert_eq!(none.is_some(), big_a == BigUint::ZERO, "root of minus the square of {name}");
}

#[test]
fn edges_of_one() {
    for (machine, cell) in cells() {
        for a in edges() {
            with_field!(cell, f => check_one(machine, f, &a));
        }
    }
}

#[test]
fn edges_of_two() {
    let edges = edges();
    for (machine, cell) in cells() {
        for (i, a) in edges.iter().enumerate() {
            // Each with itself and with others from all over.
            for j in [i, i * 7 + 1, i * 31 + 5, edges.len() - 1 - i] {
                with_field!(cell, f => check_pair(machine, f, a, &edges[j % edges.len()]));
            }
        }
    }
}

#[test]
fn numbers_of_p_and_more_are_refused() {
    for (machine, cell) in cells() {
        for offset in [0, 1, 2, u64::MAX] {
            let (number, carry) = limbs::add(&P, &[offset, 0, 0, 0]);
            assert!(!carry);
            with_field!(cell, f => {
                assert!(Fe::from_limbs(f, &number).is_none(), "{machine}");
                assert!(Fe::from_bytes(f, &limbs::to_bytes(&number)).is_none(), "{machine}");
            });
        }
        with_field!(cell, f => assert!(Fe::from_limbs(f, &[u64::MAX; 4]).is_none(), "{machine}"));
    }
}

fn check_lookup<const W: usize, const N: usize>(machine: Machine, f: impl Field) {
    let word = |i: usize, j: usize| (1 + i * W + j) as u64;
    let entry = |i: usize| -> [u64; W] {
        ::core::array::from_fn(|j| word(i, j).wrapping_mul(0x0123_4567_89ab_cdef))
    };
    let table: [[u64; W]; N] = ::core::array::from_fn(entry);
    for i in 0..N {
        assert_eq!(f.lookup(&table, i as u64 + 1), entry(i), "{machine}: entry {i} of {N}");
    }
    for none in [0, N as u64 + 1, 1 << 32 | 1, u64::MAX] {
        assert_eq!(f.lookup(&table, none), [0; W], "{machine}: entry {none} of {N}");
    }
}

#[test]
fn lookups() {
    for (machine, cell) in cells() {
        with_field!(cell, f => {
            check_lookup::<8, 64>(machine, f);
            check_lookup::<20, 16>(machine, f);
            check_lookup::<4, 3>(machine, f);
        });
    }
}

fn element() -> impl Strategy<Value = Limbs> {
    any::<Limbs>().prop_map(|limbs| limbs::reduce_once(&limbs, false, &P))
}

proptest! {
    #[test]
    fn any_one(a in element()) {
        for (machine, cell) in cells() {
            with_field!(cell, f => check_one(machine, f, &a));
        }
    }

    #[test]
    fn any_two(a in element(), b in element()) {
        for (machine, cell) in cells() {
            with_field!(cell, f => {
                check_pair(machine, f, &a, &b);
                check_near(machine, f, &a, &b, &a);
            });
        }
    }

    #[test]
    fn bits_are_those_of_the_number(a in any::<Limbs>(), at in -8_i32..260, count in 1_u32..58) {
        let shifted = if at < 0 { big(&a) << at.unsigned_abs() } else { big(&a) >> at.unsigned_abs() };
        let expected = shifted % (BigUint::from(1_u8) << count);
        prop_assert_eq!(BigUint::from(limbs::bits(&a, at, count)), expected);
    }

    #[test]
    fn signed_digits_sum_up(a in any::<Limbs>(), w in 2_u32..9) {
        let mut sum = num_bigint::BigInt::ZERO;
        for i in (0..256 / w as i32 + 1).rev() {
            let at = w as i32 * i - 1;
            let (negative, digit) = limbs::signed_digit(w, limbs::bits(&a, at, w + 1));
            prop_assert!(digit <= 1 << (w - 1));
            let digit = num_bigint::BigInt::from(digit);
            sum = (sum << w) + if bool::from(negative) { -digit } else { digit };
        }
        prop_assert_eq!(sum, big(&a).into());
    }
}
