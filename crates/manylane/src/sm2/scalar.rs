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
