//! Inverses modulo an odd number in constant time, by divsteps (Bernstein and Yang, "Fast
//! constant-time gcd computation and modular inversion", 2019).
//!
//! Counted against a power: a^(p − 2) is a chain of 255 squarings, each of which waits for the one
//! before it, 4.3 µs; 620 divsteps are 620 chains of six operations on words, and 40 products of a
//! word and a number: 1.8 µs, measured on the same core.
//!
//! Numbers are signed, in five limbs of 62 bits: all but the top one are in [0, 2⁶²).

use super::limbs::Limbs;

/// Bits of a limb, and divsteps of a batch.
const BITS: u32 = 62;

const MASK: u64 = (1 << BITS) - 1;

/// Batches. For a modulus below 2²⁵⁶, 590 divsteps from δ = 1/2 always reach g = 0 (Wuille's bound by
/// convex hulls, 2021; Bernstein and Yang prove 741 from δ = 1); ten batches are 620.
const BATCHES: usize = 10;

type Signed = [i64; 5];

/// What is known of a modulus.
pub(super) struct Modulus {
    m: Signed,
    /// m⁻¹ mod 2⁶².
    inverse: u64,
}

/// 2⁶² times the matrix of a batch: (u, v; q, r).
struct Matrix {
    u: i64,
    v: i64,
    q: i64,
    r: i64,
}

impl Modulus {
    /// Of an odd number.
    pub(super) const fn new(m: &Limbs) -> Self {
        // Newton's iteration doubles the right bits: m is right for three.
        let mut inverse = m[0];
        let mut bits = 3;
        while bits < BITS {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(m[0].wrapping_mul(inverse)));
            bits *= 2;
        }
        Modulus { m: split(m), inverse: inverse & MASK }
    }

    /// a⁻¹ mod m, for a below m; 0 for 0.
    pub(super) fn invert(&self, a: &Limbs) -> Limbs {
        // Invariants: f = d·a and g = e·a mod m, up to powers of two that the updates divide out.
        let (mut f, mut g) = (self.m, split(a));
        let (mut d, mut e) = ([0; 5], [1, 0, 0, 0, 0]);
        let mut zeta = -1;
        for _ in 0..BATCHES {
            let matrix;
            (zeta, matrix) = divsteps(zeta, f[0], g[0]);
            self.update_mod(&mut d, &mut e, &matrix);
            update(&mut f, &mut g, &matrix);
        }
        // Now g = 0 and f = ±1, or ±m for a = 0: then d = 0.
        join(&self.in_range(&d, f[4] >> 63))
    }

    /// (d, e) = matrix·(d, e) / 2⁶² mod m. All are in (−2m, m) before and after: what is negative gets
    /// m once, then multiples of m that clear the lowest limb, at most m·2⁶² below, are subtracted.
    fn update_mod(&self, d: &mut Signed, e: &mut Signed, t: &Matrix) {
        let (d_sign, e_sign) = (d[4] >> 63, e[4] >> 63);
        let clear = |from_signs: i64, low: i128| {
            let low = (low as u64).wrapping_mul(self.inverse);
            from_signs - (low.wrapping_add(from_signs.cast_unsigned()) & MASK).cast_signed()
        };
        let mut sum_d = wide(t.u, d[0]) + wide(t.v, e[0]);
        let mut sum_e = wide(t.q, d[0]) + wide(t.r, e[0]);
        let m_d = clear((t.u & d_sign) + (t.v & e_sign), sum_d);
        let m_e = clear((t.q & d_sign) + (t.r & e_sign), sum_e);
        sum_d = (sum_d + wide(self.m[0], m_d)) >> BITS;
        sum_e = (sum_e + wide(self.m[0], m_e)) >> BITS;
        for i in 1..5 {
            let (d_i, e_i) = (d[i], e[i]);
            sum_d += wide(t.u, d_i) + wide(t.v, e_i) + wide(self.m[i], m_d);
            sum_e += wide(t.q, d_i) + wide(t.r, e_i) + wide(self.m[i], m_e);
            d[i - 1] = low(sum_d);
            e[i - 1] = low(sum_e);
            sum_d >>= BITS;
            sum_e >>= BITS;
        }
        d[4] = sum_d as i64;
        e[4] = sum_e as i64;
    }

    /// d, or −d where `negate` is all ones, in [0, m); d is in (−2m, m).
    fn in_range(&self, d: &Signed, negate: i64) -> Signed {
        let add_if = |d: &Signed, mask: i64| carried(|i| d[i] + (self.m[i] & mask));
        let d = add_if(d, d[4] >> 63);
        let d = carried(|i| (d[i] ^ negate) - negate);
        add_if(&d, d[4] >> 63)
    }
}

/// 62 divsteps on the lowest limbs of f and g, where ζ = −(δ + 1/2).
///
/// One is: if δ > 0 and g is odd, (δ, f, g) = (1 − δ, g, (g − f) / 2); else
/// (1 + δ, f, (g + (g mod 2)·f) / 2).
fn divsteps(mut zeta: i64, f: i64, g: i64) -> (i64, Matrix) {
    let (mut f, mut g) = (f, g);
    let (mut u, mut v, mut q, mut r) = (1_i64, 0_i64, 0_i64, 1_i64);
    for _ in 0..BITS {
        let positive = zeta >> 63;
        let odd = -(g & 1);
        // g plus f, or less f if the two are going to change places.
        g += ((f ^ positive) - positive) & odd;
        q += ((u ^ positive) - positive) & odd;
        r += ((v ^ positive) - positive) & odd;
        let swap = positive & odd;
        zeta = (zeta ^ swap) - 1;
        f += g & swap;
        u += q & swap;
        v += r & swap;
        g >>= 1;
        u <<= 1;
        v <<= 1;
    }
    (zeta, Matrix { u, v, q, r })
}

/// (f, g) = matrix·(f, g) / 2⁶², which is exact.
fn update(f: &mut Signed, g: &mut Signed, t: &Matrix) {
    let mut sum_f = (wide(t.u, f[0]) + wide(t.v, g[0])) >> BITS;
    let mut sum_g = (wide(t.q, f[0]) + wide(t.r, g[0])) >> BITS;
    for i in 1..5 {
        let (f_i, g_i) = (f[i], g[i]);
        sum_f += wide(t.u, f_i) + wide(t.v, g_i);
        sum_g += wide(t.q, f_i) + wide(t.r, g_i);
        f[i - 1] = low(sum_f);
        g[i - 1] = low(sum_g);
        sum_f >>= BITS;
        sum_g >>= BITS;
    }
    f[4] = sum_f as i64;
    g[4] = sum_g as i64;
}

fn wide(a: i64, b: i64) -> i128 {
    i128::from(a) * i128::from(b)
}

/// The lowest limb.
fn low(a: i128) -> i64 {
    (a as u64 & MASK).cast_signed()
}

/// Limbs that may be out of their range, with the excess carried on.
fn carried(limb: impl Fn(usize) -> i64) -> Signed {
    let mut carry = 0;
    ::core::array::from_fn(|i| {
        let sum = limb(i) + carry;
        carry = sum >> BITS;
        if i < 4 { sum & MASK.cast_signed() } else { sum }
    })
}

const fn split(a: &Limbs) -> Signed {
    let limbs = [
        a[0] & MASK,
        (a[0] >> 62 | a[1] << 2) & MASK,
        (a[1] >> 60 | a[2] << 4) & MASK,
        (a[2] >> 58 | a[3] << 6) & MASK,
        a[3] >> 56,
    ];
    [
        limbs[0].cast_signed(),
        limbs[1].cast_signed(),
        limbs[2].cast_signed(),
        limbs[3].cast_signed(),
        limbs[4].cast_signed(),
    ]
}

fn join(a: &Signed) -> Limbs {
    let a = a.map(i64::cast_unsigned);
    [a[0] | a[1] << 62, a[1] >> 2 | a[2] << 60, a[2] >> 4 | a[3] << 58, a[3] >> 6 | a[4] << 56]
}
