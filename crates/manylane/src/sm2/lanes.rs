//! Multiples of many points at once: side by side in lanes where the processor can, and with one
//! inversion for all of them everywhere.

use zeroize::Zeroizing;

#[cfg(target_arch = "x86_64")]
use super::ifma;
use super::{
    PublicKey, base,
    field::{Cell, with_field},
    key::coordinates,
    limbs::Limbs,
    mul,
    point::{Affine, Jacobian, to_affine_all},
    scalar::Scalar,
    sign::is_x_mod_n,
};
#[cfg(target_arch = "x86_64")]
use crate::cpu::Ifma;

/// x ‖ y of k·P of each number in [1, n − 1] and point, as `key::multiple`.
///
/// # Panics
/// If there are not as many points and places as numbers.
pub(super) fn shared_points(k: &[Scalar], p: &[Affine], out: &mut [[u8; 64]]) {
    assert_eq!(k.len(), out.len(), "places for as many numbers");
    let lanes = Lanes::best();
    let mut sums = Zeroizing::new([Jacobian::default(); CHUNK]);
    let mut affine = Zeroizing::new([Affine::default(); CHUNK]);
    for ((k, p), out) in k.chunks(CHUNK).zip(p.chunks(CHUNK)).zip(out.chunks_mut(CHUNK)) {
        let (sums, affine) = (&mut sums[..k.len()], &mut affine[..k.len()]);
        lanes.multiply(k, p, sums);
        lanes.to_affine(sums, affine);
        for (out, point) in out.iter_mut().zip(affine) {
            *out = coordinates(point);
        }
    }
}

/// C1 and x ‖ y of k·P of each number in [1, n − 1] and point, as `key::Ephemeral`.
///
/// # Panics
/// If there are not as many points and places as numbers.
pub(super) fn ephemerals(k: &[Scalar], p: &[Affine], c1: &mut [[u8; 65]], shared: &mut [[u8; 64]]) {
    assert!(k.len() == c1.len() && k.len() == shared.len(), "places for as many numbers");
    let lanes = Lanes::best();
    let mut sums = Zeroizing::new([Jacobian::default(); 2 * CHUNK]);
    let mut affine = Zeroizing::new([Affine::default(); 2 * CHUNK]);
    for (i, (k, p)) in k.chunks(CHUNK).zip(p.chunks(CHUNK)).enumerate() {
        let count = k.len();
        let (sums, affine) = (&mut sums[..2 * count], &mut affine[..2 * count]);
        lanes.multiply_base(k, &mut sums[..count]);
        lanes.multiply(k, p, &mut sums[count..]);
        lanes.to_affine(sums, affine);
        for j in 0..count {
            c1[CHUNK * i + j] = PublicKey { point: affine[j] }.to_sec1_bytes();
            shared[CHUNK * i + j] = coordinates(&affine[count + j]);
        }
    }
}

/// Points that share an inversion: at as many it has 1 % of the time.
const CHUNK: usize = 64;

/// How points are multiplied on one processor.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    cell: Cell,
    #[cfg(target_arch = "x86_64")]
    ifma: Option<Ifma>,
}

impl Lanes {
    /// The fastest way.
    pub(super) fn best() -> Self {
        Lanes {
            cell: Cell::best(),
            #[cfg(target_arch = "x86_64")]
            ifma: Ifma::get(),
        }
    }

    /// k·P of each number in [1, n − 1] and point.
    ///
    /// # Panics
    /// If there are not as many points and places as numbers.
    pub(super) fn multiply(self, k: &[Scalar], p: &[Affine], out: &mut [Jacobian]) {
        assert!(k.len() == p.len() && k.len() == out.len(), "numbers, points and places");
        #[cfg(not(target_arch = "x86_64"))]
        let done = 0;
        #[cfg(target_arch = "x86_64")]
        let done = self.ifma.map_or(0, |ifma| {
            in_groups(k.len(), |range| {
                let (k, p, out) = (&k[range.clone()], &p[range.clone()], &mut out[range]);
                multiply(ifma, k, p, out);
            })
        });
        with_field!(self.cell, f => {
            for i in done..k.len() {
                out[i] = mul::mul(f, &k[i], &p[i]);
            }
        });
    }

    /// k·G of each number in [1, n − 1].
    ///
    /// # Panics
    /// If there are not as many places as numbers.
    pub(super) fn multiply_base(self, k: &[Scalar], out: &mut [Jacobian]) {
        assert_eq!(k.len(), out.len(), "places for as many numbers");
        #[cfg(not(target_arch = "x86_64"))]
        let done = 0;
        #[cfg(target_arch = "x86_64")]
        let done = self.ifma.map_or(0, |ifma| {
            in_groups(k.len(), |range| {
                let (k, out) = (&k[range.clone()], &mut out[range]);
                multiply_base(ifma, k, out);
            })
        });
        with_field!(self.cell, f => {
            for i in done..k.len() {
                out[i] = base::mul(f, &k[i]);
            }
        });
    }

    /// Whether points are multiplied side by side: else nothing but inversions is shared.
    pub(super) fn are_many(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.ifma.is_some();
        #[cfg(not(target_arch = "x86_64"))]
        return false;
    }

    /// x of a point as a number.
    pub(super) fn x_of(self, point: &Affine) -> Limbs {
        with_field!(self.cell, f => point.x.to_limbs(f))
    }

    /// Whether x of P + Q, of public points of which Q is not infinity, is `x1` modulo n.
    pub(super) fn sum_has_x_vartime(self, p: &Jacobian, q: &Affine, x1: &Scalar) -> bool {
        with_field!(self.cell, f => {
            let mut sum = *p;
            sum.add_affine_vartime(f, q);
            !bool::from(sum.is_infinity()) && is_x_mod_n(f, &sum.x, &sum.zz, x1)
        })
    }

    /// The affine points, with one inversion; zeros for infinity.
    ///
    /// # Panics
    /// If there are not as many places as points.
    pub(super) fn to_affine(self, points: &[Jacobian], out: &mut [Affine]) {
        with_field!(self.cell, f => to_affine_all(f, points, out));
    }
}

/// Gives out ranges of as many there are lanes; returns how many that are in all. A
/// last one by itself is not worth it.
#[cfg(target_arch = "x86_64")]
fn in_groups(count: usize, mut work: impl FnMut(std::ops::Range<usize>)) -> usize {
    let mut done = 0;
    while count - done > 1 {
        let end = count.min(done + ifma::LANES);
        work(done..end);
        done = end;
    }
    done
}

#[cfg(target_arch = "x86_64")]
fn multiply(ifma: Ifma, k: &[Scalar], p: &[Affine], out: &mut [Jacobian]) {
    let numbers = numbers_of_lanes(k);
    let mut points = [[[0; ifma::LANES]; 4]; 2];
    for lane in 0..ifma::LANES {
        let p = p[lane.min(p.len() - 1)];
        for i in 0..4 {
            points[0][i][lane] = p.x.0[i];
            points[1][i][lane] = p.y.0[i];
        }
    }
    let mut sums = Zeroizing::new([[[0; ifma::LANES]; 4]; 4]);
    ifma::multiply(ifma, &numbers, &points, &mut sums);
    from_lanes(&sums, out);
}

#[cfg(target_arch = "x86_64")]
fn multiply_base(ifma: Ifma, k: &[Scalar], out: &mut [Jacobian]) {
    let numbers = numbers_of_lanes(k);
    let mut sums = Zeroizing::new([[[0; ifma::LANES]; 4]; 4]);
    ifma::multiply_base(ifma, &numbers, &mut sums);
    from_lanes(&sums, out);
}

/// The numbers' limbs lane by lane; lanes that are left over get the last number again.
#[cfg(target_arch = "x86_64")]
fn numbers_of_lanes(k: &[Scalar]) -> Zeroizing<ifma::Numbers> {
    let mut numbers = Zeroizing::new([[0; ifma::LANES]; 4]);
    for lane in 0..ifma::LANES {
        let k = &k[lane.min(k.len() - 1)];
        for i in 0..4 {
            numbers[i][lane] = k.0[i];
        }
    }
    numbers
}

#[cfg(target_arch = "x86_64")]
fn from_lanes(sums: &ifma::Sums, out: &mut [Jacobian]) {
    for (lane, out) in out.iter_mut().enumerate() {
        let element = |c: usize| super::field::Fe(core::array::from_fn(|i| sums[c][i][lane]));
        *out =
            Jacobian { x: element(0), y: element(1).into(), z: element(2).into(), zz: element(3) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm2::{key::Ephemeral, limbs, scalar::N};

    /// Numbers that lead the windows to their ends, those of equal points in the last sum among them,
    /// and any others.
    fn numbers() -> Vec<Scalar> {
        let near_n = (1..70).map(|i| limbs::sub(&N, &[i, 0, 0, 0]).0);
        let small = (1..70).map(|i| [i, 0, 0, 0]);
        let powers = (0..256).map(|i| core::array::from_fn(|j| u64::from(i / 64 == j) << (i % 64)));
        let mut state = 1_u64;
        let mut any = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state ^ state >> 29
        };
        let any: Vec<_> = (0..600).map(|_| [any(), any(), any(), any()]).collect();
        near_n.chain(small).chain(powers).chain(any).map(|k| Scalar::reduced(&k)).collect()
    }

    /// Every number by itself, and then in batches of all sizes, so that it comes to all lanes.
    #[test]
    fn side_by_side_as_one_by_one() {
        let lanes = Lanes::best();
        let numbers = numbers();
        let affine = |sum: &Jacobian| with_field!(lanes.cell, f => sum.to_affine(f));
        let words = |p: &Affine| (p.x.0, p.y.0);
        let of_base: Vec<Affine> = numbers
            .iter()
            .map(|k| affine(&with_field!(lanes.cell, f => base::mul(f, k))))
            .collect();
        let points: Vec<Affine> = of_base.iter().rev().copied().collect();
        let multiples: Vec<Affine> = numbers
            .iter()
            .zip(&points)
            .map(|(k, p)| affine(&with_field!(lanes.cell, f => mul::mul(f, k, p))))
            .collect();
        let mut start = 0;
        for count in (0..=19).cycle().take(200) {
            let range = start..start + count;
            let (k, p) = (&numbers[range.clone()], &points[range.clone()]);
            let mut sums = vec![Jacobian::default(); 2 * count];
            let mut results = vec![Affine::default(); 2 * count];
            lanes.multiply(k, p, &mut sums[..count]);
            lanes.multiply_base(k, &mut sums[count..]);
            lanes.to_affine(&sums, &mut results);
            for (i, expected) in multiples[range.clone()].iter().chain(&of_base[range]).enumerate()
            {
                let k = k[i % count].0;
                assert_eq!(words(&results[i]), words(expected), "{i} of {count}: {k:x?}");
            }
            start = (start + count) % (numbers.len() - 19);
        }
    }

    #[test]
    fn infinity_does_not_spoil_the_others_inverses() {
        let lanes = Lanes::best();
        let point = Jacobian::from(&base::small_vartime(5));
        let mut results = [Affine::default(); 3];
        lanes.to_affine(&[point, Jacobian::INFINITY, point], &mut results);
        let expected = base::small_vartime(5);
        for (result, expected) in results.iter().zip([expected, Affine::default(), expected]) {
            assert_eq!((result.x.0, result.y.0), (expected.x.0, expected.y.0));
        }
    }

    #[test]
    fn batches_of_any_size_are_shared_points_and_ephemerals() {
        let numbers = numbers();
        for count in [0, 1, 3, CHUNK, CHUNK + 1, 2 * CHUNK + 9] {
            let k = &numbers[..count];
            let p: Vec<Affine> =
                (0..count).map(|i| base::small_vartime(i as u8 % 64 + 1)).collect();
            let (mut points, mut shared) = (vec![[0; 64]; count], vec![[0; 64]; count]);
            let mut c1 = vec![[0; 65]; count];
            shared_points(k, &p, &mut points);
            ephemerals(k, &p, &mut c1, &mut shared);
            assert_eq!(points, shared);
            for i in 0..count {
                let one = Ephemeral::of(&PublicKey { point: p[i] }, &k[i]);
                assert_eq!((c1[i], shared[i]), (one.c1, *one.shared), "{i} of {count}");
            }
        }
    }
}
