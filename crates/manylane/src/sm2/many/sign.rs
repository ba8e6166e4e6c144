//! Many signatures to make and to verify.

use zeroize::Zeroizing;

use super::{
    super::{
        PublicKey, SecretKey, Signature, Signer, Verifier,
        lanes::Lanes,
        nonce,
        point::{Affine, Jacobian},
        scalar::Scalar,
    },
    WINDOW, check_counts,
};
use crate::{
    Error, Messages,
    sm3::{
        dispatch::{Cell, Stream},
        many::hash_many_own,
    },
};

/// Signs each message as its own signer, on the calling thread.
///
/// A message that cannot be signed gets its error, as of [`Signer::sign_digest`]; the others are not affected.
///
/// ```
/// use manylane::{Error, Messages, sm2::{self, DEFAULT_ID, SecretKey, Signer, Verifier}};
///
/// let key = SecretKey::generate()?;
/// let signer = Signer::new(&key, DEFAULT_ID)?;
/// let messages = Messages::slices(&[b"a message", b"another one"]);
/// let mut signatures = [Err(Error::Random), Err(Error::Random)];
/// sm2::sign_many(&[&signer; 2], &messages, &mut signatures)?;
///
/// let signatures = signatures.into_iter().collect::<Result<Vec<_>, _>>()?;
/// let verifier = Verifier::new(key.public_key(), DEFAULT_ID)?;
/// let mut verified = [Err(Error::Signature), Err(Error::Signature)];
/// sm2::verify_many(&[&verifier; 2], &messages, &signatures, &mut verified)?;
/// assert_eq!(verified, [Ok(()), Ok(())]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// [`Error::CountMismatch`] unless there are as many signers as messages, [`Error::OutputLength`] unless
/// `out` has as many places. Nothing is changed then.
pub fn sign_many(
    signers: &[&Signer<'_>],
    messages: &Messages<'_>,
    out: &mut [Result<Signature, Error>],
) -> Result<(), Error> {
    check_counts(signers.len(), messages.len(), out.len())?;
    for (first, (signers, out)) in windows(signers, out) {
        let messages = messages.range(first, first + signers.len());
        let e = hash_window(signers.iter().map(|signer| signer.z()), &messages);
        let e = &e[..signers.len()];
        sign_window(|i| signers[i].key(), e, out);
        for (i, out) in out.iter_mut().enumerate().filter(|(i, _)| signers[*i].verifies()) {
            if let Ok(signature) = out {
                let key = signers[i].key().public_key();
                *out = key.verify_digest(&e[i], signature).map(|()| *signature);
            }
        }
    }
    Ok(())
}

/// Signs each e = SM3(Z_A ‖ M) with its own key, on the calling thread.
///
/// # Errors
/// As [`sign_many`].
pub fn sign_digest_many(
    keys: &[&SecretKey],
    e: &[[u8; 32]],
    out: &mut [Result<Signature, Error>],
) -> Result<(), Error> {
    check_counts(keys.len(), e.len(), out.len())?;
    for (first, (keys, out)) in windows(keys, out) {
        sign_window(|i| keys[i], &e[first..first + keys.len()], out);
    }
    Ok(())
}

/// Whether each message is signed by its own user, on the calling thread: `Ok`, or [`Error::Signature`].
///
/// # Errors
/// [`Error::CountMismatch`] unless there are as many verifiers and signatures as messages,
/// [`Error::OutputLength`] unless `out` has as many places. Nothing is changed then.
pub fn verify_many(
    verifiers: &[&Verifier],
    messages: &Messages<'_>,
    signatures: &[Signature],
    out: &mut [Result<(), Error>],
) -> Result<(), Error> {
    check_counts(verifiers.len(), messages.len(), out.len())?;
    check_counts(signatures.len(), messages.len(), out.len())?;
    for (first, (verifiers, out)) in windows(verifiers, out) {
        let range = first..first + verifiers.len();
        let messages = messages.range(range.start, range.end);
        let e = hash_window(verifiers.iter().map(|verifier| verifier.z()), &messages);
        verify_window(|i| verifiers[i].key(), &e[..range.len()], &signatures[range], out);
    }
    Ok(())
}

/// Whether each signature holds for its own key and e = SM3(Z_A ‖ M), on the calling thread.
///
/// # Errors
/// As [`verify_many`], where the digests count as the messages do.
pub fn verify_digest_many(
    keys: &[&PublicKey],
    e: &[[u8; 32]],
    signatures: &[Signature],
    out: &mut [Result<(), Error>],
) -> Result<(), Error> {
    check_counts(keys.len(), e.len(), out.len())?;
    check_counts(signatures.len(), e.len(), out.len())?;
    for (first, (keys, out)) in windows(keys, out) {
        let range = first..first + keys.len();
        verify_window(|i| keys[i], &e[range.clone()], &signatures[range], out);
    }
    Ok(())
}

/// What is worked on together, and the index of its first.
fn windows<'a, T, U>(
    keys: &'a [T],
    out: &'a mut [U],
) -> impl Iterator<Item = (usize, (&'a [T], &'a mut [U]))> {
    (0..).step_by(WINDOW).zip(keys.chunks(WINDOW).zip(out.chunks_mut(WINDOW)))
}

/// e of each message after its Z_A.
fn hash_window<'a>(
    z: impl Iterator<Item = &'a [u8; 32]>,
    messages: &Messages<'_>,
) -> [[u8; 32]; WINDOW] {
    let mut heads = [[0; 32]; WINDOW];
    for (head, z) in heads.iter_mut().zip(z) {
        *head = *z;
    }
    let mut e = [[0; 32]; WINDOW];
    let count = messages.len();
    hash_many_own(Cell::best(), Some(Stream::best()), &heads[..count], messages, &mut e[..count]);
    e
}

fn sign_window<'k>(
    key: impl Fn(usize) -> &'k SecretKey,
    e: &[[u8; 32]],
    out: &mut [Result<Signature, Error>],
) {
    let count = e.len();
    let mut random = Zeroizing::new([[0; 32]; WINDOW]);
    let mut nonces = Zeroizing::new([Scalar::ONE; WINDOW]);
    if let Err(error) = nonce::fill(random[..count].as_flattened_mut()) {
        return out.fill(Err(error));
    }
    for (i, nonce) in nonces[..count].iter_mut().enumerate() {
        match key(i).hedge.nonces(&e[i]).first(&random[i]) {
            Ok(k) => {
                *nonce = *k;
                // Any signature: the one that it is follows.
                out[i] = Err(Error::Signature);
            }
            Err(error) => out[i] = Err(error),
        }
    }
    let lanes = Lanes::best();
    let mut sums = Zeroizing::new([Jacobian::default(); WINDOW]);
    let mut points = Zeroizing::new([Affine::default(); WINDOW]);
    lanes.multiply_base(&nonces[..count], &mut sums[..count]);
    lanes.to_affine(&sums[..count], &mut points[..count]);
    for (i, out) in out.iter_mut().enumerate() {
        if let Err(Error::Signature) = out {
            let number = Scalar::from_bytes_reduced(&e[i]);
            // One that is to be thrown away is made anew, by itself: that happens to nobody.
            *out = match key(i).sign_at(&number, &nonces[i], &lanes.x_of(&points[i])) {
                Some(signature) => Ok(signature),
                None => key(i).sign_digest(&e[i]),
            };
        }
    }
}

fn verify_window<'k>(
    key: impl Fn(usize) -> &'k PublicKey,
    e: &[[u8; 32]],
    signatures: &[Signature],
    out: &mut [Result<(), Error>],
) {
    let lanes = Lanes::best();
    if !lanes.are_many() {
        for (i, out) in out.iter_mut().enumerate() {
            *out = key(i).verify_digest(&e[i], &signatures[i]);
        }
        return;
    }
    let count = e.len();
    let (mut s, mut t) = ([Scalar::ONE; WINDOW], [Scalar::ONE; WINDOW]);
    let mut keys = [Affine::default(); WINDOW];
    for (i, signature) in signatures.iter().enumerate() {
        let r = Scalar::from_bytes_reduced(signature.r());
        s[i] = Scalar::from_bytes_reduced(signature.s());
        // In [1, n − 1]: no other signature can be made.
        t[i] = r.add(&s[i]);
        keys[i] = key(i).point;
    }
    let mut of_keys = [Jacobian::default(); WINDOW];
    let mut of_base = [Jacobian::default(); WINDOW];
    let mut affine = [Affine::default(); WINDOW];
    lanes.multiply(&t[..count], &keys[..count], &mut of_keys[..count]);
    lanes.multiply_base(&s[..count], &mut of_base[..count]);
    lanes.to_affine(&of_base[..count], &mut affine[..count]);
    for (i, out) in out.iter_mut().enumerate() {
        let r = Scalar::from_bytes_reduced(signatures[i].r());
        let x1 = r.sub(&Scalar::from_bytes_reduced(&e[i]));
        *out = match lanes.sum_has_x_vartime(&of_keys[i], &affine[i], &x1) {
            true => Ok(()),
            false => Err(Error::Signature),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm2::{base, field::Cell, field::with_field};

    fn signature(r: &Scalar, s: &Scalar) -> Signature {
        Signature::new(r.to_bytes(), s.to_bytes()).unwrap()
    }

    /// s·G and t·P that are one point, and opposite ones, whose sum has no x: of t and d, s = ±td.
    #[test]
    fn sums_with_exceptions() {
        let key = SecretKey::generate().unwrap();
        for t in 2..20 {
            let t = Scalar([t, 0, 0, 0]);
            let s = t.mul(&key.d.to_factor());
            let doubled = s.add(&s);
            let x1 =
                with_field!(Cell::best(), f => base::mul(f, &doubled).to_affine(f).x.to_limbs(f));
            let r = t.sub(&s);
            let e = r.sub(&Scalar::reduced(&x1)).to_bytes();
            let minus = Scalar::default().sub(&s);
            let of_opposite = signature(&t.sub(&minus), &minus);
            let others = [signature(&r, &s), of_opposite, signature(&r, &t)];
            let mut out = [const { Err(Error::Key) }; 3];
            let public = key.public_key();
            verify_digest_many(&[public; 3], &[e; 3], &others, &mut out).unwrap();
            assert_eq!(out, [Ok(()), Err(Error::Signature), Err(Error::Signature)]);
            let alone = others.each_ref().map(|signature| public.verify_digest(&e, signature));
            assert_eq!(out, alone);
        }
    }

    /// The nonces of a batch are those of the messages and keys that they are for.
    #[test]
    fn signatures_by_known_nonces() {
        for v in manylane_vectors::sm2().sign_examples {
            let key = SecretKey::from_bytes(&v.d).unwrap();
            let (k, e) = (Scalar::from_bytes(&v.k).0, Scalar::from_bytes_reduced(&v.e));
            let lanes = Lanes::best();
            let (mut sums, mut points) = ([Jacobian::default(); 3], [Affine::default(); 3]);
            lanes.multiply_base(&[k; 3], &mut sums);
            lanes.to_affine(&sums, &mut points);
            for point in &points {
                let made = key.sign_at(&e, &k, &lanes.x_of(point)).unwrap();
                assert_eq!((made.r(), made.s()), (&v.r, &v.s), "{}", v.source);
            }
        }
        // Those that must be thrown away.
        for v in manylane_vectors::sm2().sign_retries {
            let key = SecretKey::from_bytes(&v.d).unwrap();
            let (k, e) = (Scalar::from_bytes(&v.k).0, Scalar::from_bytes_reduced(&v.e));
            let lanes = Lanes::best();
            let (mut sums, mut points) = ([Jacobian::default(); 2], [Affine::default(); 2]);
            lanes.multiply_base(&[k; 2], &mut sums);
            lanes.to_affine(&sums, &mut points);
            assert!(key.sign_at(&e, &k, &lanes.x_of(&points[0])).is_none(), "{}", v.what);
        }
    }
}
