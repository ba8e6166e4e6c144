//! Multiples of G.
//!
//! A number is cut into 37 windows of seven bits with signed digits; the table holds 1 … 64 times
//! 2^(7i)·G for each window i, so that a multiple takes 37 additions and no doubling. Wider windows
//! would leave the second-level cache: these 64 entries of 37 windows are 148 KiB.
//!
//! The table is a file, `base.bin`, that `ref/sm2_base.py` writes and a test here computes again
//! from G. Computing it when it is first needed would take a millisecond then, memory of every
//! process for itself, and a lock that a fork in another thread could leave locked.

use subtle::ConstantTimeEq as _;
#[cfg(target_arch = "x86_64")]
use zeroize::Zeroizing;

#[cfg(target_arch = "x86_64")]
use super::{field::Fe, ifma};
use super::{
    field::Field,
    limbs,
    point::{Affine, Jacobian},
    scalar::Scalar,
};
#[cfg(target_arch = "x86_64")]
use crate::cpu::Ifma;

/// Bits of a window.
pub(super) const W: u32 = 7;

/// Windows that a number of 256 bits needs, the last one for bits 252 … 255 and a carry.
const WINDOWS: usize = 37;

/// Multiples in a window: 1 … 2^(W − 1).
pub(super) const MULTIPLES: usize = 64;

pub(super) type Window = [[u64; 8]; MULTIPLES];

/// Entries on cache lines of their own.
#[repr(align(64))]
struct Table([Window; WINDOWS]);

static TABLE: Table = {
    let bytes: &[u8; WINDOWS * MULTIPLES * 64] = include_bytes!("base.bin");
    let words = bytes.as_chunks::<8>().0;
    let mut table = [[[0; 8]; MULTIPLES]; WINDOWS];
    let mut i = 0;
    while i < words.len() {
        table[i / 8 / MULTIPLES][i / 8 % MULTIPLES][i % 8] = u64::from_le_bytes(words[i]);
        i += 1;
    }
    Table(table)
};

/// k·G.
///
/// The additions' formula excludes Q = ±P, which cannot be. Before window i the sum is a·G with
/// |a| ≤ 64/127·2^(7i), and the window's multiple, unless it is infinity, has a factor d·2^(7i) of larger
/// magnitude. So a and ±d·2^(7i) differ, and as their difference is below n up to the last window but
/// one, they do modulo n. In the last window 1 ≤ d ≤ 16: a + d·2²⁵² is k, which is no multiple of n, and
/// d·2²⁵² − a = n is possible for d = 16 alone, where k = d·2²⁵² + a would be above n.
pub(super) fn mul(f: impl Field, k: &Scalar) -> Jacobian {
    #[cfg(target_arch = "x86_64")]
    if let Some(ifma) = f.ifma() {
        return in_lanes(ifma, k);
    }
    let mut sum = Jacobian::INFINITY;
    for (i, window) in (0..).zip(&TABLE.0) {
        let (negative, digit) = limbs::signed_digit(W, limbs::bits(&k.0, W as i32 * i - 1, W + 1));
        let entry = Affine::from_words(&f.lookup(window, digit)).neg_if(f, negative);
        sum.add_affine(f, &entry, digit.ct_eq(&0));
    }
    sum
}

/// k·G with eight windows side by side.
#[cfg(target_arch = "x86_64")]
fn in_lanes(ifma: Ifma, k: &Scalar) -> Jacobian {
    let mut words = Zeroizing::new([[0; ifma::LANES]; 4]);
    ifma::multiply_generator(ifma, &k.0, &mut words);
    let element = |lane: usize| Fe(::core::array::from_fn(|i| words[i][lane]));
    Jacobian { x: element(0), y: element(1).into(), z: element(2).into(), zz: element(3) }
}

/// The multiples of each window, the lowest one first: x and y, four limbs each.
#[cfg(target_arch = "x86_64")]
pub(super) fn windows() -> &'static [Window; WINDOWS] {
    &TABLE.0
}

/// digit·G for a public digit of 1 … 64.
pub(super) fn small_vartime(digit: u8) -> Affine {
    Affine::from_words(&TABLE.0[0][usize::from(digit) - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cpu::Machine,
        sm2::field::{Cell, with_field},
    };

    /// Every entry, by additions and doublings from G.
    #[test]
    fn the_table_is_what_it_says() {
        with_field!(Cell::best(), f => {
            let mut first = Jacobian::from(&Affine::GENERATOR);
            for window in &TABLE.0 {
                let base = first.to_affine(f);
                let mut multiple = Jacobian::from(&base);
                for (i, entry) in window.iter().enumerate() {
                    let affine = multiple.to_affine(f);
                    assert_eq!((affine.x.0.as_slice(), affine.y.0.as_slice()), entry.split_at(4), "{i}");
                    first = multiple;
                    multiple.add_affine_vartime(f, &base);
                }
                first.double(f);
            }
        });
    }

    /// Numbers around those at which windows carry or end, on every machine, against multiples by
    /// doubling and adding.
    #[test]
    fn multiples_of_every_machine() {
        let mut numbers: Vec<Scalar> = Vec::new();
        for bit in 0..256 {
            let power = ::core::array::from_fn(|i| u64::from(bit / 64 == i) << (bit % 64));
            let power = Scalar::reduced(&power);
            numbers.extend([power, power.sub(&Scalar::ONE), Scalar::default().sub(&power)]);
        }
        // Any two windows with a digit, all others without.
        let first_of_window = |i: usize| numbers[3 * W as usize * i];
        let pairs = (0..WINDOWS).flat_map(|i| (0..WINDOWS).map(move |j| (i, j)));
        let pairs: Vec<Scalar> =
            pairs.map(|(i, j)| first_of_window(i).sub(&first_of_window(j))).collect();
        numbers.extend(pairs);
        let by_doubling = |k: &Scalar| {
            with_field!(Cell::best(), f => {
                let mut multiple = Jacobian::INFINITY;
                for bit in (0..256).rev() {
                    multiple.double(f);
                    if limbs::bits(&k.0, bit, 1) == 1 {
                        multiple.add_affine_vartime(f, &Affine::GENERATOR);
                    }
                }
                multiple.to_affine(f)
            })
        };
        let expected: Vec<Affine> = numbers.iter().map(by_doubling).collect();
        for machine in Machine::ALL {
            let Ok(cell) = Cell::on(machine) else { continue };
            for (k, expected) in numbers.iter().zip(&expected) {
                let (product, is_infinite) = with_field!(cell, f => {
                    let product = mul(f, k);
                    (product.to_affine(f), bool::from(product.is_infinity()))
                });
                assert_eq!(is_infinite, k.0 == [0; 4], "{machine}: {:x?}", k.0);
                assert_eq!(product.x.0, expected.x.0, "{machine}: {:x?}", k.0);
                assert_eq!(product.y.0, expected.y.0, "{machine}: {:x?}", k.0);
            }
        }
    }
}
