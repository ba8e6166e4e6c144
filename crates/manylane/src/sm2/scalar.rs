//! Numbers modulo n, the order of SM2's group (GB/T 32918.5-2017, clause 2).
//!
//! A signature needs one multiplication mod n and a verification none, so this is plain Rust on
//! every machine: no speed is to be had here.

use subtle::{Choice, ConstantTimeEq};
use zeroize::DefaultIsZeroes;

use super::{
    invert::Modulus,
    limbs::{self, Limbs},
};

/// n.
pub(super) const N: Limbs =
    [0x53bb_f409_39d5_4123, 0x7203_df6b_21c6_052b, 0xffff_ffff_ffff_ffff, 0xffff_fffe_ffff_ffff];

/// −n⁻¹ mod 2⁶⁴.
const N_PRIME: u64 = 0x327f_9e88_7235_0975;

/// 2⁵¹² mod n.
const R2: Limbs =
    [0x9011_92af_7c11_4f20, 0x3464_504a_de6f_a2fa, 0x620f_c84c_3aff_e0d4, 0x1eb5_e412_a22b_3d3b];

static MODULUS: Modulus = Modulus::new(&N);

/// A number below n.
#[derive(Clone, Copy, Default)]
pub(crate) struct Scalar(pub(super) Limbs);

impl DefaultIsZeroes for Scalar {}

/// A factor: a·2²⁵⁶ mod n, so that a product with it takes one multiplication.
#[derive(Clone, Copy, Default)]
pub(super) struct Factor(Limbs);

impl DefaultIsZeroes for Factor {}

impl Scalar {
    pub(super) const ONE: Scalar = Scalar([1, 0, 0, 0]);

    /// The big-endian number, and whether it is below n; what the scalar is if not, is not told.
    pub(super) fn from_bytes(bytes: &[u8; 32]) -> (Scalar, Choice) {
        let number = limbs::from_bytes(bytes);
        let (_, below) = limbs::sub(&number, &N);
        (Scalar::reduced(&number), Choice::from(u8::from(below)))
    }

    /// The big-endian number mod n.
    pub(super) fn from_bytes_reduced(bytes: &[u8; 32]) -> Scalar {
        Scalar::reduced(&limbs::from_bytes(bytes))
    }

    /// A number mod n. One subtraction is enough: 2²⁵⁶ < 2n.
    pub(super) fn reduced(number: &Limbs) -> Scalar {
        Scalar(limbs::reduce_once(number, false, &N))
    }

    /// As big-endian bytes.
    pub(super) fn to_bytes(self) -> [u8; 32] {
        limbs::to_bytes(&self.0)
    }

    pub(super) fn add(&self, other: &Scalar) -> Scalar {
        Scalar(limbs::add_mod(&self.0, &other.0, &N))
    }

    pub(super) fn sub(&self, other: &Scalar) -> Scalar {
        Scalar(limbs::sub_mod(&self.0, &other.0, &N))
    }

    pub(super) fn mul(&self, factor: &Factor) -> Scalar {
        Scalar(montgomery(&self.0, &factor.0))
    }

    pub(super) fn to_factor(self) -> Factor {
        Factor(montgomery(&self.0, &R2))
    }

    pub(super) fn is_zero(&self) -> Choice {
        limbs::is_zero(&self.0)
    }

    /// a⁻¹; 0 for 0.
    pub(super) fn invert(&self) -> Scalar {
        Scalar(MODULUS.invert(&self.0))
    }
}

impl ConstantTimeEq for Scalar {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

/// a·b / 2²⁵⁶ mod n, for a below 2²⁵⁶ and b below n.
fn montgomery(a: &Limbs, b: &Limbs) -> Limbs {
    let mut t = limbs::mul_wide(a, b);
    let mut top = false;
    for i in 0..4 {
        let m = t[i].wrapping_mul(N_PRIME);
        let mut carry = 0;
        for j in 0..4 {
            (t[i + j], carry) = m.carrying_mul_add(N[j], t[i + j], carry);
        }
        (t[i + 4], top) = t[i + 4].carrying_add(carry, top);
    }
    limbs::reduce_once(&[t[4], t[5], t[6], t[7]], top, &N)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use proptest::prelude::*;

    use super::*;

    fn big(a: &Scalar) -> BigUint {
        BigUint::from_bytes_be(&a.to_bytes())
    }

    fn check(a: &Limbs, b: &Limbs) {
        let n = big(&Scalar(N));
        let (a, b) = (Scalar::reduced(a), Scalar::reduced(b));
        let (big_a, big_b) = (big(&a), big(&b));
        assert!(big_a < n);
        assert_eq!(big(&a.add(&b)), (&big_a + &big_b) % &n);
        assert_eq!(big(&a.sub(&b)), (&n + &big_a - &big_b) % &n);
        assert_eq!(big(&a.mul(&b.to_factor())), &big_a * &big_b % &n);
        let inverse = big_a.modinv(&n).unwrap_or_default();
        assert_eq!(big(&a.invert()), inverse, "inverse of {big_a:x}");
        assert_eq!(bool::from(a.is_zero()), big_a == BigUint::ZERO);
        assert_eq!(bool::from(a.ct_eq(&b)), big_a == big_b);
    }

    #[test]
    fn edges() {
        let around = |m: Limbs| {
            (0..3).flat_map(move |i| {
                [limbs::add(&m, &[i, 0, 0, 0]).0, limbs::sub(&m, &[i, 0, 0, 0]).0]
            })
        };
        let powers =
            (0..256).map(|i| ::core::array::from_fn(|j| u64::from(i / 64 == j) << (i % 64)));
        let ones = [0, 1, 2, 3].map(|j| {
            let mut limbs = [0; 4];
            limbs[j..].fill(u64::MAX);
            limbs
        });
        let edges: Vec<Limbs> =
            around(N).chain(around([0; 4])).chain(around(R2)).chain(powers).chain(ones).collect();
        for (i, a) in edges.iter().enumerate() {
            for j in [i, i * 5 + 1, edges.len() - 1 - i] {
                check(a, &edges[j % edges.len()]);
            }
        }
    }

    #[test]
    fn bytes_below_n_and_others() {
        for (offset, is_below) in [(1, true), (0, false)] {
            let number = limbs::sub(&N, &[offset, 0, 0, 0]).0;
            let (_, below) = Scalar::from_bytes(&limbs::to_bytes(&number));
            assert_eq!(bool::from(below), is_below);
        }
        let (one, below) = Scalar::from_bytes(&limbs::to_bytes(&[1, 0, 0, 0]));
        assert!(bool::from(below & one.ct_eq(&Scalar::ONE)));
        let bytes = limbs::to_bytes(&limbs::add(&N, &[5, 0, 0, 0]).0);
        assert_eq!(Scalar::from_bytes_reduced(&bytes).0, [5, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn any_two(a in any::<Limbs>(), b in any::<Limbs>()) {
            check(&a, &b);
        }
    }
}
