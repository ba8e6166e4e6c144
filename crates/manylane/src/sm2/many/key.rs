//! Many keys to make, and to agree on.

use zeroize::Zeroizing;

use super::{
    super::{
        PublicKey, SecretKey,
        lanes::{Lanes, shared_points},
        nonce,
        point::{Affine, Jacobian},
        scalar::Scalar,
    },
    WINDOW, check_counts,
};
use crate::Error;

/// `count` new keys from the operating system's generator, on the calling thread.
///
/// ```
/// let keys = manylane::sm2::generate_many(100)?;
/// assert_eq!(keys.len(), 100);
/// # Ok::<(), manylane::Error>(())
/// ```
///
/// # Errors
/// [`Error::Random`] if that gives nothing.
pub fn generate_many(count: usize) -> Result<Vec<SecretKey>, Error> {
    let mut keys = Vec::with_capacity(count);
    while keys.len() < count {
        let mut numbers = Zeroizing::new([Scalar::ONE; WINDOW]);
        let numbers = &mut numbers[..WINDOW.min(count - keys.len())];
        for d in numbers.iter_mut() {
            *d = *nonce::secret_key()?;
        }
        extend(&mut keys, numbers);
    }
    Ok(keys)
}

/// The keys of these numbers in [1, n − 2], at most [`WINDOW`].
fn extend(keys: &mut Vec<SecretKey>, numbers: &[Scalar]) {
    let lanes = Lanes::best();
    let count = numbers.len();
    let mut sums = Zeroizing::new([Jacobian::default(); WINDOW]);
    let mut points = [Affine::default(); WINDOW];
    lanes.multiply_base(numbers, &mut sums[..count]);
    lanes.to_affine(&sums[..count], &mut points[..count]);
    // 1 + d of all, and the products of those before each: one inversion for all (Montgomery).
    let mut sums = Zeroizing::new([Scalar::ONE; WINDOW]);
    let mut before = Zeroizing::new([Scalar::ONE; WINDOW]);
    let mut product = Zeroizing::new(Scalar::ONE);
    for (i, d) in numbers.iter().enumerate() {
        (sums[i], before[i]) = (d.add(&Scalar::ONE), *product);
        *product = product.mul(&Zeroizing::new(sums[i].to_factor()));
    }
    let mut inverse = Zeroizing::new(product.invert());
    let mut inverses = Zeroizing::new([Scalar::ONE; WINDOW]);
    for i in (0..count).rev() {
        let factor = Zeroizing::new(inverse.to_factor());
        inverses[i] = before[i].mul(&factor);
        *inverse = sums[i].mul(&factor);
    }
    for (i, d) in numbers.iter().enumerate() {
        keys.push(SecretKey::of_parts(d, &inverses[i], PublicKey { point: points[i] }));
    }
}

/// x of d·P, 32 bytes big-endian, of each key and peer, as [`SecretKey::diffie_hellman`], on the calling thread. What is in
/// `out` is secret; wiping it is the caller's.
///
/// # Errors
/// [`Error::CountMismatch`] unless there are as many keys as peers, [`Error::OutputLength`] unless `out` has as
/// many places. Nothing is changed then.
pub fn diffie_hellman_many(
    keys: &[&SecretKey],
    peers: &[&PublicKey],
    out: &mut [[u8; 32]],
) -> Result<(), Error> {
    check_counts(keys.len(), peers.len(), out.len())?;
    let mut numbers = Zeroizing::new([Scalar::ONE; WINDOW]);
    let mut points = [Affine::default(); WINDOW];
    let mut shared = Zeroizing::new([[0; 64]; WINDOW]);
    let parts = keys.chunks(WINDOW).zip(peers.chunks(WINDOW)).zip(out.chunks_mut(WINDOW));
    for ((keys, peers), out) in parts {
        let count = keys.len();
        for (i, (key, peer)) in keys.iter().zip(peers).enumerate() {
            (numbers[i], points[i]) = (key.d, peer.point);
        }
        shared_points(&numbers[..count], &points[..count], &mut shared[..count]);
        for (out, shared) in out.iter_mut().zip(shared.iter()) {
            out.copy_from_slice(&shared[..32]);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_many_numbers_are_those_of_each() {
        for count in [1, 2, 9, WINDOW] {
            let last = Scalar::default().sub(&Scalar([2, 0, 0, 0]));
            let mut numbers: Vec<Scalar> =
                (1..).map(|i| Scalar([i, 0, 0, 0])).take(count - 1).collect();
            numbers.push(last);
            let mut keys = Vec::new();
            extend(&mut keys, &numbers);
            for (key, d) in keys.iter().zip(&numbers) {
                let one = SecretKey::from_bytes(&d.to_bytes()).unwrap();
                assert_eq!(key.to_bytes(), one.to_bytes());
                assert_eq!(key.public_key(), one.public_key());
                // The inverse of 1 + d and the hedge of nonces: a signature holds, and they are the same.
                let k = Scalar([5, 6, 7, 8]);
                assert_eq!(key.sign_with(&last, &k), one.sign_with(&last, &k));
                let nonce = |key: &SecretKey| key.hedge.nonces(b"e").candidate(&[1; 32], &[2; 16]);
                assert_eq!(nonce(key), nonce(&one));
            }
        }
    }
}
