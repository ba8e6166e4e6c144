//! F_p in plain Rust: the reference of the differential tests, and what Arm runs.

use subtle::Choice;

use super::{Fe, Field, Near, Number, P};
use crate::sm2::limbs;

/// Proof of [`Machine::Portable`](crate::cpu::Machine::Portable), which needs none.
#[derive(Clone, Copy)]
pub(in crate::sm2) struct Portable;

impl Field for Portable {
    #[inline]
    fn mul(self, a: &impl Number, b: &impl Number) -> Fe {
        reduce(&limbs::mul_wide(a.limbs(), b.limbs()))
    }

    #[inline]
    fn sqr(self, a: &impl Number) -> Fe {
        reduce(&limbs::mul_wide(a.limbs(), a.limbs()))
    }

    #[inline(always)]
    fn add(self, a: &Fe, b: &Fe) -> Fe {
        Fe(limbs::add_mod(&a.0, &b.0, &P))
    }

    #[inline(always)]
    fn add_near(self, a: &impl Number, b: &Fe) -> Near {
        Near(limbs::add_mod(a.limbs(), &b.0, &P))
    }

    #[inline(always)]
    fn sub_near(self, a: &impl Number, b: &Fe) -> Near {
        Near(limbs::sub_mod(a.limbs(), &b.0, &P))
    }

    #[inline(always)]
    fn sub(self, a: &Fe, b: &Fe) -> Fe {
        Fe(limbs::sub_mod(&a.0, &b.0, &P))
    }

    #[inline(always)]
    fn select<T: Number>(self, a: &T, b: &T, choice: Choice) -> T {
        T::same(limbs::choose(a.limbs(), b.limbs(), choice))
    }

    #[inline(always)]
    fn half(self, a: &Fe) -> Fe {
        Fe(limbs::half_mod(&a.0, &P))
    }

    fn lookup<const W: usize, const N: usize>(self, table: &[[u64; W]; N], index: u64) -> [u64; W] {
        let mut entry = [0; W];
        for (i, candidate) in (1..).zip(table) {
            let mask = limbs::mask(i == index);
            for (word, candidate) in entry.iter_mut().zip(candidate) {
                *word |= candidate & mask;
            }
        }
        entry
    }
}

/// t / 2²⁵⁶ mod p, for t below 2²⁵⁶·p.
///
/// With m the lowest limb, t + m·p is a multiple of 2⁶⁴, because −p⁻¹ mod 2⁶⁴ = 1; and
/// m·p = m·2²⁵⁶ + m·2⁶⁴ − m·2⁹⁶ − m·2²²⁴ − m. So the four limbs above m become
/// t₁ + m − l, t₂ − h, t₃ − l, m − h with l = m·2³² mod 2⁶⁴ and h = ⌊m / 2³²⌋. The value is below
/// 2²⁵⁶ after each of the four steps, which is why the last limb's wrapping does no harm.
#[inline(always)]
fn reduce(t: &[u64; 8]) -> Fe {
    let mut low = [t[0], t[1], t[2], t[3]];
    for _ in 0..4 {
        let m = low[0];
        let (l, h) = (m << 32, m >> 32);
        let (s1, c) = low[1].overflowing_add(m);
        let (s2, c) = low[2].carrying_add(0, c);
        let (s3, c) = low[3].carrying_add(0, c);
        let s4 = m.wrapping_add(u64::from(c));
        let (s1, c) = s1.overflowing_sub(l);
        let (s2, c) = s2.borrowing_sub(h, c);
        let (s3, c) = s3.borrowing_sub(l, c);
        low = [s1, s2, s3, s4.wrapping_sub(h).wrapping_sub(u64::from(c))];
    }
    let (sum, carry) = limbs::add(&low, &[t[4], t[5], t[6], t[7]]);
    Fe(limbs::reduce_once(&sum, carry, &P))
}
