//! Multiples of many points at once: side by side in lanes where the processor can, and with one
//! inversion for all of them everywhere.

use zeroize::Zeroizing;

#[cfg(target_arch = "x86_64")]
use super::ifma;
use super::{
    PublicKey, base,
    field::{Cell, Fe, with_field},
    key::coordinates,
    mul,
    point::{Affine, Jacobian, to_affine_all},
    scalar::Scalar,
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
        let mut done = 0;
        #[cfg(target_arch = "x86_64")]
        if let Some(ifma) = self.ifma {
            done = in_groups(k.len(), |range| {
                let (k, p, out) = (&k[range.clone()], &p[range.clone()], &mut out[range]);
                multiply(ifma, k, p, out);
            });
        }
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
        let mut done = 0;
        #[cfg(target_arch = "x86_64")]
        if let Some(ifma) = self.ifma {
            done = in_groups(k.len(), |range| {
                let (k, out) = (&k[range.clone()], &mut out[range]);
                multiply_base(ifma, k, out);
            });
        }
        with_field!(self.cell, f => {
            for i in done..k.len() {
                out[i] = base::mul(f, &k[i]);
            }
        });
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
        let element = |c: usize| Fe(core::array::from_fn(|i| sums[c][i][lane]));
        *out = Jacobian { x: element(0), y: element(1), z: element(2), zz: element(3) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm2::{limbs, scalar::N};
    use std::time::Instant;

    /// Numbers that lead the windows to their ends, and any others.
    fn numbers() -> Vec<Scalar> {
        let near_n = (1..70).map(|i| limbs::sub(&N, &[i, 0, 0, 0]).0);
        let small = (1..70).map(|i| [i, 0, 0, 0]);
        let powers = (0..256).map(|i| core::array::from_fn(|j| u64::from(i / 64 == j) << (i % 64)));
        let mut state = 1_u64;
        let mut any = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state ^ state >> 29
        };
        let any: Vec<_> = (0..605).map(|_| [any(), any(), any(), any()]).collect();
        near_n.chain(small).chain(powers).chain(any).map(|k| Scalar::reduced(&k)).collect()
    }

    /// All counts of lanes, and all lanes, against one by one.
    #[test]
    fn side_by_side_as_one_by_one() {
        let lanes = Lanes::best();
        let numbers = numbers();
        let points = {
            let mut sums = vec![Jacobian::INFINITY; numbers.len()];
            with_field!(lanes.cell, f => for (k, sum) in numbers.iter().rev().zip(&mut sums) { *sum = base::mul(f, k) });
            let mut points = vec![Affine::default(); numbers.len()];
            lanes.to_affine(&sums, &mut points);
            with_field!(lanes.cell, f => for (sum, point) in sums.iter().zip(&points) {
                let affine = sum.to_affine(f);
                assert_eq!((affine.x.0, affine.y.0), (point.x.0, point.y.0));
            });
            points
        };
        let mut at = 0;
        for count in (0..=35).cycle() {
            if at + count > numbers.len() {
                break;
            }
            let (k, p) = (&numbers[at..at + count], &points[at..at + count]);
            at += count;
            let mut sums = vec![Jacobian::INFINITY; count];
            let mut affine = vec![Affine::default(); count];
            for base in [false, true] {
                match base {
                    false => lanes.multiply(k, p, &mut sums),
                    true => lanes.multiply_base(k, &mut sums),
                }
                lanes.to_affine(&sums, &mut affine);
                for i in 0..count {
                    let expected = with_field!(lanes.cell, f => match base {
                        false => mul::mul(f, &k[i], &p[i]).to_affine(f),
                        true => base::mul(f, &k[i]).to_affine(f),
                    });
                    assert_eq!(
                        (affine[i].x.0, affine[i].y.0),
                        (expected.x.0, expected.y.0),
                        "{i} of {count}, {:x?}, of G: {base}",
                        k[i].0
                    );
                }
            }
        }
    }

    #[test]
    fn speed() {
        let lanes = Lanes::best();
        let numbers = numbers();
        let mut sums = vec![Jacobian::INFINITY; 64];
        let k = &numbers[numbers.len() - 64..];
        let p = vec![base::small_vartime(3); 64];
        for (name, lanes) in [("ifma", lanes), ("one", Lanes { ifma: None, ..lanes })] {
            for n in [8, 16, 64] {
                let best = |f: &mut dyn FnMut()| {
                    (0..50)
                        .map(|_| {
                            let t = Instant::now();
                            f();
                            t.elapsed().as_nanos()
                        })
                        .min()
                        .unwrap() as f64
                        / n as f64
                        / 1000.0
                };
                let a = best(&mut || lanes.multiply(&k[..n], &p[..n], &mut sums[..n]));
                let b = best(&mut || lanes.multiply_base(&k[..n], &mut sums[..n]));
                let mut out = vec![Affine::default(); n];
                let c = best(&mut || lanes.to_affine(&sums[..n], &mut out));
                println!("{name} {n}: kP {a:.2} us, kG {b:.2} us, affine {c:.2}");
            }
        }
    }
}
