//! F_p of SM2 (GB/T 32918.5-2017, clause 2): p = 2²⁵⁶ − 2²²⁴ − 2⁹⁶ + 2⁶⁴ − 1.
//!
//! Elements are held in Montgomery form, a·2²⁵⁶ mod p, in four 64-bit limbs below p. Because
//! −p⁻¹ mod 2⁶⁴ = 1 and p is a sum of powers of two, the reduction needs shifts and additions but
//! no multiplication; see [`portable`]. Nothing here branches on an element unless its name ends
//! in `_vartime`.

#[cfg(target_arch = "x86_64")]
mod bmi2;
mod portable;

use std::sync::OnceLock;

use subtle::{Choice, ConstantTimeEq};
use zeroize::DefaultIsZeroes;

#[cfg(target_arch = "x86_64")]
use self::bmi2::Mulx;
use self::portable::Portable;
use super::{
    invert::Modulus,
    limbs::{self, Limbs},
};
#[cfg(target_arch = "x86_64")]
use crate::cpu;
use crate::{Error, cpu::Machine};

/// p.
pub(super) const P: Limbs =
    [0xffff_ffff_ffff_ffff, 0xffff_ffff_0000_0000, 0xffff_ffff_ffff_ffff, 0xffff_fffe_ffff_ffff];

/// 2⁵¹² mod p: takes a number into Montgomery form.
const R2: Fe = Fe([
    0x0000_0002_0000_0003,
    0x0000_0002_ffff_ffff,
    0x0000_0001_0000_0001,
    0x0000_0004_0000_0002,
]);

/// 2⁷⁶⁸ mod p: takes the inverse of a Montgomery form into that form.
const R3: Fe = Fe([
    0x0000_0012_0000_0016,
    0x0000_000e_ffff_fff8,
    0x0000_000a_0000_000c,
    0x0000_001b_0000_0009,
]);

static MODULUS: Modulus = Modulus::new(&P);

/// An element of F_p in Montgomery form, below p.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub(super) struct Fe(pub(super) Limbs);

impl DefaultIsZeroes for Fe {}

/// An element of F_p in Montgomery form that may be a little over p: below 2²⁵⁶ − 2²²⁴, p + 2⁹⁶ − 2⁶⁴ + 1. It takes
/// a look at the top limb to make one, not a comparison of four. The product of two is below 2²⁵⁶·p, as
/// reductions want; but nothing is subtracted that may be over p.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub(super) struct Near(pub(super) Limbs);

impl DefaultIsZeroes for Near {}

impl From<Fe> for Near {
    fn from(a: Fe) -> Self {
        Near(a.0)
    }
}

impl Near {
    /// The same element below p.
    #[inline(always)]
    pub(super) fn reduced(&self) -> Fe {
        Fe(limbs::reduce_once(&self.0, false, &P))
    }

    #[inline(always)]
    pub(super) fn is_zero(&self) -> Choice {
        limbs::is_zero(&self.0) | self.0.ct_eq(&P)
    }
}

/// An element as [`Fe`] or [`Near`].
pub(super) trait Number: Sized {
    /// A number below 2²⁵⁶ − 2²²⁴.
    fn limbs(&self) -> &Limbs;

    /// The element of limbs that one of this type had.
    fn same(limbs: Limbs) -> Self;
}

impl Number for Fe {
    #[inline(always)]
    fn limbs(&self) -> &Limbs {
        &self.0
    }

    #[inline(always)]
    fn same(limbs: Limbs) -> Self {
        Fe(limbs)
    }
}

impl Number for Near {
    #[inline(always)]
    fn limbs(&self) -> &Limbs {
        &self.0
    }

    #[inline(always)]
    fn same(limbs: Limbs) -> Self {
        Near(limbs)
    }
}

/// A machine's arithmetic. The value is the proof that the processor has the machine.
pub(super) trait Field: Copy {
    /// a·b.
    fn mul(self, a: &impl Number, b: &impl Number) -> Fe;

    /// a·b.
    #[inline(always)]
    fn mul_near(self, a: &impl Number, b: &impl Number) -> Near {
        self.mul(a, b).into()
    }

    /// a².
    fn sqr(self, a: &impl Number) -> Fe;

    /// a².
    #[inline(always)]
    fn sqr_near(self, a: &impl Number) -> Near {
        self.sqr(a).into()
    }

    /// a + b.
    fn add(self, a: &Fe, b: &Fe) -> Fe;

    /// a + b.
    fn add_near(self, a: &impl Number, b: &Fe) -> Near;

    /// a − b.
    fn sub(self, a: &Fe, b: &Fe) -> Fe;

    /// a − b.
    fn sub_near(self, a: &impl Number, b: &Fe) -> Near;

    /// a·b − c·d.
    #[inline(always)]
    fn mul_sub_near(
        self,
        a: &impl Number,
        b: &impl Number,
        c: &impl Number,
        d: &impl Number,
    ) -> Near {
        self.sub(&self.mul(a, b), &self.mul(c, d)).into()
    }

    /// a·b − c².
    #[inline(always)]
    fn mul_sub_sqr_near(self, a: &impl Number, b: &impl Number, c: &impl Number) -> Near {
        self.sub(&self.mul(a, b), &self.sqr(c)).into()
    }

    /// b if `choice`, else a.
    fn select<T: Number>(self, a: &T, b: &T, choice: Choice) -> T;

    /// a / 2.
    fn half(self, a: &Fe) -> Fe;

    /// `table[index - 1]`, or zeros if `index` is 0 or past the end. Reads the whole table, so that
    /// neither time nor cache tells the index.
    fn lookup<const W: usize, const N: usize>(self, table: &[[u64; W]; N], index: u64) -> [u64; W];

    /// Proof of IFMA where that is to be used, which multiplies G in lanes.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn ifma(self) -> Option<cpu::Ifma> {
        None
    }

    /// a to the power of 2^n.
    #[inline]
    fn sqr_n(self, a: &Fe, n: u32) -> Fe {
        (0..n).fold(*a, |a, _| self.sqr(&a))
    }

    /// 2a.
    #[inline(always)]
    fn double(self, a: &Fe) -> Fe {
        self.add(a, a)
    }

    /// 3a.
    #[inline(always)]
    fn triple(self, a: &Fe) -> Fe {
        self.add(&self.double(a), a)
    }

    /// −a if `negate`, else a.
    #[inline(always)]
    fn neg_if(self, a: &Fe, negate: Choice) -> Fe {
        self.select(a, &self.sub(&Fe::ZERO, a), negate)
    }
}

/// The arithmetic of one machine, with the proof that it can run.
#[derive(Clone, Copy)]
pub(super) enum Cell {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Bmi2(Mulx),
}

impl Cell {
    /// Machines that have arithmetic of their own, the fastest last.
    const MACHINES: [Machine; 4] =
        [Machine::Portable, Machine::Bmi2, Machine::Avx512, Machine::Ifma];

    /// The fastest available.
    #[inline]
    pub(super) fn best() -> Self {
        static BEST: OnceLock<Cell> = OnceLock::new();
        *BEST.get_or_init(|| {
            let on = |machine| Cell::on(machine).ok();
            let portable = Cell::Portable(Portable);
            Cell::MACHINES.into_iter().rev().find_map(on).unwrap_or(portable)
        })
    }

    /// The machine whose arithmetic it is.
    pub(super) fn machine(self) -> Machine {
        match self {
            Cell::Portable(_) => Machine::Portable,
            #[cfg(target_arch = "x86_64")]
            Cell::Bmi2(Mulx { ifma: Some(_), .. }) => Machine::Ifma,
            #[cfg(target_arch = "x86_64")]
            Cell::Bmi2(Mulx { avx512: Some(_), .. }) => Machine::Avx512,
            #[cfg(target_arch = "x86_64")]
            Cell::Bmi2(_) => Machine::Bmi2,
        }
    }

    /// That of one machine.
    pub(super) fn on(machine: Machine) -> Result<Self, Error> {
        match machine {
            Machine::Portable => Some(Cell::Portable(Portable)),
            #[cfg(target_arch = "x86_64")]
            Machine::Bmi2 => {
                cpu::Bmi2::get().map(|bmi2| Cell::Bmi2(Mulx { bmi2, avx512: None, ifma: None }))
            }
            #[cfg(target_arch = "x86_64")]
            Machine::Avx512 => cpu::Bmi2::get()
                .zip(cpu::Avx512::get())
                .map(|(bmi2, avx512)| Cell::Bmi2(Mulx { bmi2, avx512: Some(avx512), ifma: None })),
            #[cfg(target_arch = "x86_64")]
            Machine::Ifma => cpu::Bmi2::get().zip(cpu::Avx512::get()).zip(cpu::Ifma::get()).map(
                |((bmi2, avx512), ifma)| {
                    Cell::Bmi2(Mulx { bmi2, avx512: Some(avx512), ifma: Some(ifma) })
                },
            ),
            _ => None,
        }
        .ok_or(Error::Unavailable(machine))
    }
}

/// Runs an expression that is generic over [`Field`] with the arithmetic of a [`Cell`].
macro_rules! with_field {
    ($cell:expr, $field:ident => $body:expr) => {
        match $cell {
            $crate::sm2::field::Cell::Portable($field) => $body,
            #[cfg(target_arch = "x86_64")]
            $crate::sm2::field::Cell::Bmi2($field) => $body,
        }
    };
}
pub(super) use with_field;

impl Fe {
    pub(super) const ZERO: Fe = Fe([0; 4]);

    /// 1, that is 2²⁵⁶ mod p.
    pub(super) const ONE: Fe = Fe([
        0x0000_0000_0000_0001,
        0x0000_0000_ffff_ffff,
        0x0000_0000_0000_0000,
        0x0000_0001_0000_0000,
    ]);

    /// The element of a big-endian number; none if it is p or more.
    pub(super) fn from_bytes(field: impl Field, bytes: &[u8; 32]) -> Option<Fe> {
        Fe::from_limbs(field, &limbs::from_bytes(bytes))
    }

    /// The element of a public number; none if it is p or more.
    pub(super) fn from_limbs(field: impl Field, number: &Limbs) -> Option<Fe> {
        let (_, below) = limbs::sub(number, &P);
        below.then(|| field.mul(&Fe(*number), &R2))
    }

    /// The number as big-endian bytes.
    pub(super) fn to_bytes(self, field: impl Field) -> [u8; 32] {
        limbs::to_bytes(&self.to_limbs(field))
    }

    /// The number, below p.
    pub(super) fn to_limbs(self, field: impl Field) -> Limbs {
        field.mul(&self, &Fe([1, 0, 0, 0])).0
    }

    /// Whether the number is odd, as compressed points tell.
    pub(super) fn is_odd(self, field: impl Field) -> bool {
        self.to_limbs(field)[0] & 1 == 1
    }

    /// a⁻¹; 0 for 0.
    pub(super) fn invert(&self, field: impl Field) -> Fe {
        // What is inverted is a·2²⁵⁶.
        field.mul(&Fe(MODULUS.invert(&self.0)), &R3)
    }

    /// a^(2³² − 1).
    fn ones(&self, field: impl Field) -> Fe {
        let x2 = field.mul(&field.sqr(self), self);
        let x3 = field.mul(&field.sqr(&x2), self);
        let x6 = field.mul(&field.sqr_n(&x3, 3), &x3);
        let x12 = field.mul(&field.sqr_n(&x6, 6), &x6);
        let x15 = field.mul(&field.sqr_n(&x12, 3), &x3);
        let x30 = field.mul(&field.sqr_n(&x15, 15), &x15);
        field.mul(&field.sqr_n(&x30, 2), &x2)
    }

    /// A square root, if there is one: a^((p + 1) / 4), for p = 3 mod 4. The exponent is
    /// 2⁶² (2³² − 1) (2¹⁶⁰ − 1).
    pub(super) fn sqrt_vartime(&self, field: impl Field) -> Option<Fe> {
        let x = self.ones(field);
        let y2 = field.mul(&field.sqr_n(&x, 1), &x);
        let y4 = field.mul(&field.sqr_n(&y2, 2), &y2);
        let y5 = field.mul(&field.sqr(&y4), &x);
        let mut y = y5;
        for n in [5, 10, 20, 40, 80] {
            y = field.mul(&field.sqr_n(&y, n), &y);
        }
        let root = field.sqr_n(&y, 62);
        (field.sqr(&root).0 == self.0).then_some(root)
    }
}

impl ConstantTimeEq for Fe {
    #[inline(always)]
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

#[cfg(test)]
mod tests;
