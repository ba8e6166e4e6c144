//! The curve y² = x³ − 3x + b of SM2 (GB/T 32918.5-2017, clause 2; GB/T 32918.1-2016, clause 3.2
//! and Annex A). Its group has the prime order n, so every point but infinity has order n, and no
//! point has y = 0.
//!
//! Points are computed in Jacobian coordinates: (X, Y, Z) is (X/Z², Y/Z³), and Z = 0 is infinity.

use subtle::{Choice, ConditionallySelectable};
use zeroize::DefaultIsZeroes;

use super::field::{Fe, Field};

/// b of the curve's equation.
const B: Fe = Fe([
    0x90d2_3063_2bc0_dd42,
    0x71cf_379a_e9b5_37ab,
    0x5279_8150_5ea5_1c3c,
    0x240f_e188_ba20_e2c8,
]);

/// A point that is not infinity.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Affine {
    pub(super) x: Fe,
    pub(super) y: Fe,
}

/// A point.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Jacobian {
    pub(super) x: Fe,
    pub(super) y: Fe,
    pub(super) z: Fe,
}

impl DefaultIsZeroes for Affine {}
impl DefaultIsZeroes for Jacobian {}

impl Affine {
    /// G.
    pub(super) const GENERATOR: Affine = Affine {
        x: Fe([
            0x6132_8990_f418_029e,
            0x3e79_81ed_dca6_c050,
            0xd6a1_ed99_ac24_c3c3,
            0x9116_7a5e_e1c1_3b05,
        ]),
        y: Fe([
            0xc135_4e59_3c2d_0ddd,
            0xc1f5_e578_8d32_95fa,
            0x8d4c_fb06_6e2a_48f8,
            0x63cd_65d4_81d7_35bd,
        ]),
    };

    /// The words of an entry of a table.
    pub(super) fn from_words(words: &[u64; 8]) -> Affine {
        let [x0, x1, x2, x3, y0, y1, y2, y3] = *words;
        Affine { x: Fe([x0, x1, x2, x3]), y: Fe([y0, y1, y2, y3]) }
    }

    /// The point of public coordinates; none if they are no numbers below p or not on the curve.
    pub(super) fn from_bytes(field: impl Field, x: &[u8; 32], y: &[u8; 32]) -> Option<Affine> {
        let (x, y) = (Fe::from_bytes(field, x)?, Fe::from_bytes(field, y)?);
        (field.sqr(&y).0 == right_side(field, &x).0).then_some(Affine { x, y })
    }

    /// The point of a public x and the lowest bit of y (GB/T 32918.1-2016, A.5.2); none if there is
    /// no such point.
    pub(super) fn from_compressed(field: impl Field, x: &[u8; 32], is_odd: bool) -> Option<Affine> {
        let x = Fe::from_bytes(field, x)?;
        let root = right_side(field, &x).sqrt_vartime(field)?;
        let y = if root.is_odd(field) == is_odd { root } else { root.neg() };
        Some(Affine { x, y })
    }

    /// −P.
    pub(super) fn neg(&self) -> Affine {
        Affine { x: self.x, y: self.y.neg() }
    }
}

/// x³ − 3x + b.
fn right_side(field: impl Field, x: &Fe) -> Fe {
    field.mul(&field.sqr(x), x).sub(&x.triple()).add(&B)
}

impl ConditionallySelectable for Jacobian {
    #[inline(always)]
    fn conditional_select(a: &Self, b: &Self, choice: Choice) -> Self {
        Jacobian {
            x: Fe::conditional_select(&a.x, &b.x, choice),
            y: Fe::conditional_select(&a.y, &b.y, choice),
            z: Fe::conditional_select(&a.z, &b.z, choice),
        }
    }
}

impl From<&Affine> for Jacobian {
    fn from(p: &Affine) -> Self {
        Jacobian { x: p.x, y: p.y, z: Fe::ONE }
    }
}

impl Jacobian {
    pub(super) const INFINITY: Jacobian = Jacobian { x: Fe::ONE, y: Fe::ONE, z: Fe::ZERO };

    pub(super) fn is_infinity(&self) -> Choice {
        self.z.is_zero()
    }

    /// 2P. Infinity gives infinity (Z is a factor of Z₃), and no other exception exists: y ≠ 0.
    #[inline]
    pub(super) fn double(&self, f: impl Field) -> Jacobian {
        // With a = −3: M = 3(X − Z²)(X + Z²), S = 4XY², X₃ = M² − 2S, Y₃ = M(S − X₃) − 8Y⁴.
        let zz = f.sqr(&self.z);
        let m = f.mul(&self.x.add(&zz), &self.x.sub(&zz)).triple();
        let y2 = self.y.double();
        let z = f.mul(&y2, &self.z);
        let yy4 = f.sqr(&y2);
        let s = f.mul(&yy4, &self.x);
        let x = f.sqr(&m).sub(&s.double());
        let y = f.mul(&m, &s.sub(&x)).sub(&f.sqr(&yy4).half());
        Jacobian { x, y, z }
    }

    /// P + Q for Q ≠ ±P; infinity on either side is handled: `q_is_infinity` tells Q's.
    #[inline]
    pub(super) fn add_affine(&self, f: impl Field, q: &Affine, q_is_infinity: Choice) -> Jacobian {
        let sum = self.add_affine_finite(f, q).0;
        let sum = Jacobian::conditional_select(&sum, &Jacobian::from(q), self.is_infinity());
        Jacobian::conditional_select(&sum, self, q_is_infinity)
    }

    /// P + Q for finite points, Q ≠ ±P; and H = X_Q − X_P and R = Y_Q − Y_P over a common
    /// denominator, which tell whether that was so.
    #[inline(always)]
    fn add_affine_finite(&self, f: impl Field, q: &Affine) -> (Jacobian, Fe, Fe) {
        let zz = f.sqr(&self.z);
        let h = f.mul(&q.x, &zz).sub(&self.x);
        let r = f.mul(&f.mul(&zz, &self.z), &q.y).sub(&self.y);
        (self.chord(f, &self.x, &self.y, &h, &r, &f.mul(&self.z, &h)), h, r)
    }

    /// As [`add_affine_finite`](Self::add_affine_finite) for a Q that has a Z.
    #[inline(always)]
    fn add_finite(&self, f: impl Field, q: &Cached) -> (Jacobian, Fe, Fe) {
        let zz = f.sqr(&self.z);
        let (u1, u2) = (f.mul(&self.x, &q.zz), f.mul(&q.x, &zz));
        let s1 = f.mul(&self.y, &q.zzz);
        let s2 = f.mul(&f.mul(&zz, &self.z), &q.y);
        let (h, r) = (u2.sub(&u1), s2.sub(&s1));
        let z = f.mul(&f.mul(&self.z, &q.z), &h);
        (self.chord(f, &u1, &s1, &h, &r, &z), h, r)
    }

    /// X₃ = R² − H³ − 2UH², Y₃ = R(UH² − X₃) − SH³.
    #[inline(always)]
    fn chord(&self, f: impl Field, u: &Fe, s: &Fe, h: &Fe, r: &Fe, z: &Fe) -> Jacobian {
        let hh = f.sqr(h);
        let hhh = f.mul(&hh, h);
        let v = f.mul(u, &hh);
        let x = f.sqr(r).sub(&hhh).sub(&v.double());
        let y = f.mul(r, &v.sub(&x)).sub(&f.mul(s, &hhh));
        Jacobian { x, y, z: *z }
    }

    /// P + Q for any public points.
    pub(super) fn add_vartime(&self, f: impl Field, q: &Cached) -> Jacobian {
        if bool::from(q.z.is_zero()) {
            return *self;
        }
        if bool::from(self.is_infinity()) {
            return Jacobian { x: q.x, y: q.y, z: q.z };
        }
        let (sum, h, r) = self.add_finite(f, q);
        self.unless_alike_vartime(f, sum, &h, &r)
    }

    /// P + Q for any public P and finite public Q.
    pub(super) fn add_affine_vartime(&self, f: impl Field, q: &Affine) -> Jacobian {
        if bool::from(self.is_infinity()) {
            return Jacobian::from(q);
        }
        let (sum, h, r) = self.add_affine_finite(f, q);
        self.unless_alike_vartime(f, sum, &h, &r)
    }

    fn unless_alike_vartime(&self, f: impl Field, sum: Jacobian, h: &Fe, r: &Fe) -> Jacobian {
        match (bool::from(h.is_zero()), bool::from(r.is_zero())) {
            (false, _) => sum,
            (true, true) => self.double(f),
            (true, false) => Jacobian::INFINITY,
        }
    }

    /// The affine point; zeros for infinity.
    pub(super) fn to_affine(self, f: impl Field) -> Affine {
        let z1 = self.z.invert(f);
        let z2 = f.sqr(&z1);
        Affine { x: f.mul(&self.x, &z2), y: f.mul(&self.y, &f.mul(&z2, &z1)) }
    }
}

/// A point with the powers of Z that an addition needs.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Cached {
    x: Fe,
    y: Fe,
    z: Fe,
    zz: Fe,
    zzz: Fe,
}

impl DefaultIsZeroes for Cached {}

impl Cached {
    pub(super) fn of(f: impl Field, p: &Jacobian) -> Cached {
        let zz = f.sqr(&p.z);
        Cached { x: p.x, y: p.y, z: p.z, zz, zzz: f.mul(&zz, &p.z) }
    }

    pub(super) fn neg_if(&self, negate: Choice) -> Cached {
        Cached { y: self.y.neg_if(negate), ..*self }
    }

    pub(super) fn to_words(self) -> [u64; 20] {
        let mut words = [0; 20];
        for (words, element) in
            words.as_chunks_mut::<4>().0.iter_mut().zip([self.x, self.y, self.z, self.zz, self.zzz])
        {
            *words = element.0;
        }
        words
    }

    pub(super) fn from_words(words: &[u64; 20]) -> Cached {
        let element = |i: usize| Fe(words.as_chunks::<4>().0[i]);
        Cached { x: element(0), y: element(1), z: element(2), zz: element(3), zzz: element(4) }
    }
}

impl Jacobian {
    /// P + Q for Q ≠ ±P, or either of them infinity.
    pub(super) fn add_distinct(&self, f: impl Field, q: &Cached) -> Jacobian {
        self.choose_finite(q, &self.add_finite(f, q).0)
    }

    /// P + Q for all points: if they are opposite, Z₃ = 0 comes of itself, as H is its factor; if they
    /// are equal, 2P is chosen.
    pub(super) fn add_complete(&self, f: impl Field, q: &Cached) -> Jacobian {
        let (sum, h, r) = self.add_finite(f, q);
        let sum = Jacobian::conditional_select(&sum, &self.double(f), h.is_zero() & r.is_zero());
        self.choose_finite(q, &sum)
    }

    /// `sum`, unless one of its terms, P and Q, is infinity: then the other.
    fn choose_finite(&self, q: &Cached, sum: &Jacobian) -> Jacobian {
        let other = Jacobian { x: q.x, y: q.y, z: q.z };
        let sum = Jacobian::conditional_select(sum, &other, self.is_infinity());
        Jacobian::conditional_select(&sum, self, q.z.is_zero())
    }
}
