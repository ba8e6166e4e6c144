//! The curve y² = x³ − 3x + b of SM2 (GB/T 32918.5-2017, clause 2; GB/T 32918.1-2016, clause 3.2
//! and Annex A). Its group has the prime order n, so every point but infinity has order n, and no
//! point has y = 0.
//!
//! Points are computed in Jacobian coordinates: (X, Y, Z) is (X/Z², Y/Z³), and Z = 0 is infinity.

use subtle::Choice;
use zeroize::DefaultIsZeroes;

use super::field::{Fe, Field, Near, Number};

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

/// A point. With Z² at hand, a sum or double starts with two products that do not wait for each other.
///
/// Where points of a table have a common denominator c, all coordinates may leave it out: the point is then
/// (X/(cZ)², Y/(cZ)³), and `zz` is (cZ)². A double needs no other change, as its Z² comes from the curve's a.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Jacobian {
    pub(super) x: Fe,
    pub(super) y: Near,
    pub(super) z: Near,
    pub(super) zz: Fe,
}

impl DefaultIsZeroes for Affine {}
impl DefaultIsZeroes for Jacobian {}

impl Affine {
    /// G.
    #[cfg(test)]
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
        let y = if root.is_odd(field) == is_odd { root } else { field.sub(&Fe::ZERO, &root) };
        Some(Affine { x, y })
    }

    /// x and y, as `from_words` takes them.
    pub(super) fn to_words(self) -> [u64; 8] {
        let ([x0, x1, x2, x3], [y0, y1, y2, y3]) = (self.x.0, self.y.0);
        [x0, x1, x2, x3, y0, y1, y2, y3]
    }

    /// −P if `negate`, else P.
    #[inline(always)]
    pub(super) fn neg_if(&self, f: impl Field, negate: Choice) -> Affine {
        Affine { x: self.x, y: f.neg_if(&self.y, negate) }
    }
}

/// x³ − 3x + b.
fn right_side(field: impl Field, x: &Fe) -> Fe {
    field.add(&field.sub(&field.mul(&field.sqr(x), x), &field.triple(x)), &B)
}

impl From<&Affine> for Jacobian {
    fn from(p: &Affine) -> Self {
        Jacobian::over(p, &Fe::ONE)
    }
}

impl Jacobian {
    pub(super) const INFINITY: Jacobian =
        Jacobian { x: Fe::ONE, y: Near(Fe::ONE.0), z: Near(Fe::ZERO.0), zz: Fe::ZERO };

    /// Q with a denominator left out whose square is `cc`.
    pub(super) fn over(q: &Affine, cc: &Fe) -> Jacobian {
        Jacobian { x: q.x, y: q.y.into(), z: Fe::ONE.into(), zz: *cc }
    }

    pub(super) fn is_infinity(&self) -> Choice {
        self.z.is_zero()
    }

    /// P = 2P. Infinity gives infinity (Z is a factor of Z₃), and no other exception exists: y ≠ 0.
    ///
    /// Points are changed in place here and below: a point that is returned is copied, in vectors that
    /// cannot be loaded before the stores of all their limbs are done.
    pub(super) fn double(&mut self, f: impl Field) {
        // With a = −3: M = 3(X − Z²)(X + Z²) / 2, S = XY², X₃ = M² − 2S, Y₃ = M(S − X₃) − Y⁴, Z₃ = YZ: the
        // usual formulas have 2YZ, which takes two more doublings and halvings. Z₃² is Y²Z², a product that
        // knows nothing of Z and makes a multiple 0.6 % slower than a square does, so that Z may lack a denominator. In an order in which no
        // product needs the one just before it, because a processor looks some three ahead.
        let m = f.mul(&f.add_near(&self.x, &self.zz), &f.sub(&self.x, &self.zz));
        let yy = f.sqr_near(&self.y);
        self.z = f.mul_near(&self.y, &self.z);
        let m = f.add_near(&m, &f.half(&m));
        let s = f.mul(&yy, &self.x);
        let mm = f.sqr(&m);
        self.zz = f.mul(&yy, &self.zz);
        self.x = f.sub(&f.sub(&mm, &s), &s);
        self.y = f.mul_sub_sqr_near(&m, &f.sub(&s, &self.x), &yy);
    }

    /// P = P + Q for Q ≠ ±P; infinity on either side is handled: `q_is_infinity` tells Q's.
    pub(super) fn add_affine(&mut self, f: impl Field, q: &Affine, q_is_infinity: Choice) {
        let (sum, ..) = self.sum(f, q, &self.z, &self.zz);
        let p_is_infinity = self.is_infinity();
        let p = *self;
        *self = sum;
        self.choose(f, &Jacobian::from(q), p_is_infinity);
        self.choose(f, &p, q_is_infinity);
    }

    /// P + Q for finite points, Q ≠ ±P; and H = X_Q − X_P and R = Y_P − Y_Q over a common
    /// denominator, which tell whether that was so. `z` and `zz` are P's denominator over Q's and its square.
    ///
    /// X₃ = R² − H³ − 2UH², Y₃ = R(X₃ − UH²) − SH³, Z₃ = ZH with U = X_P and S = Y_P. H and R differ in the
    /// order of their terms because X_P and Y_Q are below p, and X_Q and Y_P need not be.
    #[inline(always)]
    fn sum(
        &self,
        f: impl Field,
        q: &Affine,
        z: &impl Number,
        zz: &impl Number,
    ) -> (Jacobian, Near, Near) {
        let u2 = f.mul_near(&q.x, zz);
        let zzz = f.mul_near(zz, z);
        let h = f.sub_near(&u2, &self.x);
        let hh = f.sqr_near(&h);
        let s2 = f.mul(&zzz, &q.y);
        let r = f.sub_near(&self.y, &s2);
        let z = f.mul_near(&self.z, &h);
        let rr = f.sqr(&r);
        let hhh = f.mul(&hh, &h);
        let v = f.mul(&self.x, &hh);
        let zz = f.mul(&self.zz, &hh);
        let x = f.sub(&f.sub(&f.sub(&rr, &hhh), &v), &v);
        let y = f.mul_sub_near(&r, &f.sub(&x, &v), &self.y, &hhh);
        (Jacobian { x, y, z, zz }, h, r)
    }

    /// P = P + Q for finite points, Q ≠ P, with a common denominator left out. If Q = −P, Z₃ = 0 comes of
    /// itself, as H is its factor.
    pub(super) fn add_distinct(&mut self, f: impl Field, q: &Affine) {
        (*self, ..) = self.sum(f, q, &self.z, &f.sqr_near(&self.z));
    }

    /// P = P + Q for any public P and finite public Q, with a common denominator left out whose square is `cc`.
    pub(super) fn add_over_vartime(&mut self, f: impl Field, q: &Affine, cc: &Fe) {
        if bool::from(self.is_infinity()) {
            *self = Jacobian::over(q, cc);
            return;
        }
        let (sum, h, r) = self.sum(f, q, &self.z, &f.sqr_near(&self.z));
        self.set_sum_vartime(f, sum, &h, &r);
    }

    /// P = P + Q for any public P with a denominator `c` left out, and finite public Q with none.
    pub(super) fn add_affine_over_vartime(&mut self, f: impl Field, q: &Affine, c: &Fe, cc: &Fe) {
        if bool::from(self.is_infinity()) {
            let q = Affine { x: f.mul(&q.x, cc), y: f.mul(&q.y, &f.mul(cc, c)) };
            *self = Jacobian::over(&q, cc);
            return;
        }
        let (sum, h, r) = self.sum(f, q, &f.mul_near(&self.z, c), &self.zz);
        self.set_sum_vartime(f, sum, &h, &r);
    }

    /// P = P + Q for any public P and finite public Q.
    pub(super) fn add_affine_vartime(&mut self, f: impl Field, q: &Affine) {
        if bool::from(self.is_infinity()) {
            *self = Jacobian::from(q);
            return;
        }
        let (sum, h, r) = self.sum(f, q, &self.z, &self.zz);
        self.set_sum_vartime(f, sum, &h, &r);
    }

    /// P = `sum`, unless that is of equal or opposite points.
    #[inline(always)]
    fn set_sum_vartime(&mut self, f: impl Field, sum: Jacobian, h: &Near, r: &Near) {
        match (bool::from(h.is_zero()), bool::from(r.is_zero())) {
            (false, _) => *self = sum,
            (true, true) => self.double(f),
            (true, false) => *self = Jacobian::INFINITY,
        }
    }

    /// P = Q if `choice`.
    pub(super) fn choose(&mut self, f: impl Field, q: &Jacobian, choice: Choice) {
        self.x = f.select(&self.x, &q.x, choice);
        self.y = f.select(&self.y, &q.y, choice);
        self.z = f.select(&self.z, &q.z, choice);
        self.zz = f.select(&self.zz, &q.zz, choice);
    }

    /// The affine point; zeros for infinity.
    pub(super) fn to_affine(self, f: impl Field) -> Affine {
        let z1 = self.z.reduced().invert(f);
        let z2 = f.sqr(&z1);
        Affine { x: f.mul(&self.x, &z2), y: f.mul(&self.y, &f.mul(&z2, &z1)) }
    }
}

/// Two affine points with one inversion; zeros for both if one is infinity.
pub(super) fn to_affine_both(f: impl Field, p: &Jacobian, q: &Jacobian) -> (Affine, Affine) {
    let inverse = f.mul(&p.z, &q.z).invert(f);
    let affine = |point: &Jacobian, z1: &Fe| {
        let z2 = f.sqr(z1);
        Affine { x: f.mul(&point.x, &z2), y: f.mul(&point.y, &f.mul(&z2, z1)) }
    };
    (affine(p, &f.mul(&inverse, &q.z)), affine(q, &f.mul(&inverse, &p.z)))
}

/// The affine points with one inversion; zeros for infinity.
///
/// # Panics
/// If there are not as many places as points.
pub(super) fn to_affine_all(f: impl Field, points: &[Jacobian], out: &mut [Affine]) {
    assert_eq!(points.len(), out.len(), "places for as many points");
    let denominator = |p: &Jacobian| f.select(&p.z, &Fe::ONE.into(), p.is_infinity());
    let mut product = Fe::ONE;
    for (p, out) in points.iter().zip(out.iter_mut()) {
        // The product of those before it.
        out.x = product;
        product = f.mul(&product, &denominator(p));
    }
    let mut inverse = product.invert(f);
    for (p, out) in points.iter().zip(out).rev() {
        let z1 = f.select(&f.mul(&inverse, &out.x), &Fe::ZERO, p.is_infinity());
        inverse = f.mul(&inverse, &denominator(p));
        let z2 = f.sqr(&z1);
        *out = Affine { x: f.mul(&p.x, &z2), y: f.mul(&p.y, &f.mul(&z2, &z1)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cpu::Machine,
        sm2::{
            base,
            field::{Cell, with_field},
        },
    };

    /// The same point with another Z, so that X and Y differ.
    fn scaled(f: impl Field, p: &Jacobian, z: u64) -> Jacobian {
        let z = Fe::from_limbs(f, &[z, 1, 2, 3]).unwrap();
        let zz = f.sqr(&z);
        let zzz = f.mul(&zz, &z);
        Jacobian {
            x: f.mul(&p.x, &zz),
            y: f.mul_near(&p.y, &zzz),
            z: f.mul_near(&p.z, &z),
            zz: f.mul(&p.zz, &zz),
        }
    }

    fn words(f: impl Field, p: &Jacobian) -> ([u64; 4], [u64; 4]) {
        let affine = p.to_affine(f);
        (affine.x.0, affine.y.0)
    }

    #[test]
    fn two_points_with_one_inversion() {
        for machine in Machine::ALL {
            let Ok(cell) = Cell::on(machine) else { continue };
            with_field!(cell, f => {
                let p = scaled(f, &Jacobian::from(&base::small_vartime(3)), 5);
                let q = scaled(f, &Jacobian::from(&base::small_vartime(64)), 7);
                let (affine_p, affine_q) = to_affine_both(f, &p, &q);
                assert_eq!((affine_p.x.0, affine_p.y.0), words(f, &p), "{machine}");
                assert_eq!((affine_q.x.0, affine_q.y.0), words(f, &q), "{machine}");
            });
        }
    }

    /// All additions of a·G and b·G with |a|, |b| ≤ 4, infinity, equal and opposite points among them.
    #[test]
    fn sums() {
        for machine in Machine::ALL {
            let Ok(cell) = Cell::on(machine) else { continue };
            with_field!(cell, f => {
                let multiple = |a: i32| match a {
                    0 => Jacobian::INFINITY,
                    a => {
                        let negative = Choice::from(u8::from(a < 0));
                        let affine = base::small_vartime(a.unsigned_abs() as u8);
                        Jacobian::from(&affine.neg_if(f, negative))
                    }
                };
                for (a, b) in (-4..=4).flat_map(|a| (-4..=4).map(move |b| (a, b))) {
                    let (p, q) = (scaled(f, &multiple(a), 5), scaled(f, &multiple(b), 7));
                    let expected = words(f, &multiple(a + b));
                    let check = |what: &str, add: &dyn Fn(&mut Jacobian)| {
                        let mut sum = p;
                        add(&mut sum);
                        assert_eq!(words(f, &sum), expected, "{machine}: {what}, {a} and {b}");
                        assert_eq!(bool::from(sum.is_infinity()), a + b == 0, "{machine}: {what}");
                    };
                    let affine = q.to_affine(f);
                    if b != 0 {
                        check("add_affine_vartime", &|sum| sum.add_affine_vartime(f, &affine));
                    }
                    if a == b {
                        check("double", &|sum| sum.double(f));
                    }
                    if a.abs() != b.abs() || a == 0 {
                        let none = Choice::from(u8::from(b == 0));
                        check("add_affine", &|sum| sum.add_affine(f, &affine, none));
                    }
                }
            });
        }
    }
}
