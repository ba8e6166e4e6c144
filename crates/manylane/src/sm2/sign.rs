//! Signatures (GB/T 32918.2-2016).

use digest::Digest as _;
use zeroize::Zeroizing;

use super::{
    PublicKey, SecretKey, base,
    field::{Cell, Fe, Field, with_field},
    id::z_a,
    limbs::{self, Limbs},
    mul,
    scalar::{N, Scalar},
};
use crate::{Error, ct::reveal, sm3::Sm3};

/// A signature (r, s), both in [1, n − 1].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    r: [u8; 32],
    s: [u8; 32],
}

impl Signature {
    /// Of two big-endian numbers.
    ///
    /// # Errors
    /// [`Error::Signature`] unless both are in [1, n − 1] and their sum is not n: no other holds for
    /// any message (6.1, steps B1, B2 and B5).
    pub fn new(r: [u8; 32], s: [u8; 32]) -> Result<Self, Error> {
        let ((r_mod, r_below), (s_mod, s_below)) = (Scalar::from_bytes(&r), Scalar::from_bytes(&s));
        let bad = r_mod.is_zero() | s_mod.is_zero() | r_mod.add(&s_mod).is_zero();
        match bool::from(r_below & s_below & !bad) {
            true => Ok(Signature { r, s }),
            false => Err(Error::Signature),
        }
    }

    /// Of r ‖ s.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_bytes(bytes: &[u8; 64]) -> Result<Self, Error> {
        let mut halves = [[0; 32]; 2];
        halves.as_flattened_mut().copy_from_slice(bytes);
        Signature::new(halves[0], halves[1])
    }

    /// r ‖ s.
    pub fn to_bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&self.r);
        bytes[32..].copy_from_slice(&self.s);
        bytes
    }

    /// r, big-endian.
    pub fn r(&self) -> &[u8; 32] {
        &self.r
    }

    /// s, big-endian.
    pub fn s(&self) -> &[u8; 32] {
        &self.s
    }
}

impl SecretKey {
    /// Signs a message as the user `id`; [`DEFAULT_ID`](super::DEFAULT_ID) if there is none. For
    /// several messages, [`Signer`] computes Z_A once.
    ///
    /// # Errors
    /// [`Error::IdLength`] if the ID is too long; [`Error::Random`] if the operating system has no
    /// random bytes.
    pub fn sign(&self, id: &[u8], message: &[u8]) -> Result<Signature, Error> {
        Signer::new(self, id)?.sign(message)
    }

    /// Signs e = SM3(Z_A ‖ M).
    ///
    /// # Errors
    /// [`Error::Random`] if the operating system has no random bytes.
    pub fn sign_digest(&self, e: &[u8; 32]) -> Result<Signature, Error> {
        let mut nonces = self.hedge.nonces(e);
        let e = Scalar::from_bytes_reduced(e);
        loop {
            let k = nonces.next()?;
            if let Some(signature) = self.sign_with(&e, &k) {
                return Ok(signature);
            }
        }
    }

    /// The signature by the nonce k, unless it is one of those to throw away (6.1, steps A5 and A6).
    pub(super) fn sign_with(&self, e: &Scalar, k: &Scalar) -> Option<Signature> {
        let x1 = with_field!(Cell::best(), f => base::mul(f, k).to_affine(f).x.to_limbs(f));
        self.sign_at(e, k, &x1)
    }

    /// The same, given x₁ of k·G.
    pub(super) fn sign_at(&self, e: &Scalar, k: &Scalar, x1: &Limbs) -> Option<Signature> {
        let r = e.add(&Scalar::reduced(x1));
        // (1 + d)⁻¹(k − rd) = (1 + d)⁻¹(k + r) − r.
        let sum = Zeroizing::new(k.add(&r));
        let s = sum.mul(&self.inverse).sub(&r);
        // r + k = n is r + s = n, for then s = −r.
        let bad = r.is_zero() | s.is_zero() | sum.is_zero();
        reveal(!bad).then(|| Signature { r: r.to_bytes(), s: s.to_bytes() })
    }
}

impl PublicKey {
    /// Whether the user `id` with this key signed the message.
    ///
    /// # Errors
    /// [`Error::Signature`] if not; [`Error::IdLength`] if the ID is too long.
    pub fn verify(&self, id: &[u8], message: &[u8], signature: &Signature) -> Result<(), Error> {
        Verifier::new(self, id)?.verify(message, signature)
    }

    /// Whether the signature holds for e = SM3(Z_A ‖ M).
    ///
    /// # Errors
    /// [`Error::Signature`] if not.
    pub fn verify_digest(&self, e: &[u8; 32], signature: &Signature) -> Result<(), Error> {
        // Both are in [1, n − 1], and t ≠ 0: no other signature can be made.
        let r = Scalar::from_bytes_reduced(&signature.r);
        let s = Scalar::from_bytes_reduced(&signature.s);
        let x1 = r.sub(&Scalar::from_bytes_reduced(e));
        let holds = with_field!(Cell::best(), f => {
            let sum = mul::mul_add_vartime(f, &s, &r.add(&s), &self.point);
            !bool::from(sum.is_infinity()) && is_x_mod_n(f, &sum.x, &sum.zz, &x1)
        });
        if holds { Ok(()) } else { Err(Error::Signature) }
    }
}

/// Whether X/Z² mod n is `x1`. A number below p that is `x1` mod n is x1 or, if that is below p,
/// x1 + n; comparing with X = x·Z² saves the inversion.
pub(super) fn is_x_mod_n(f: impl Field, x: &Fe, zz: &Fe, x1: &Scalar) -> bool {
    let is_x = |number: &Limbs| {
        Fe::from_limbs(f, number).is_some_and(|candidate| f.mul(&candidate, zz).0 == x.0)
    };
    let (second, carry) = limbs::add(&x1.0, &N);
    is_x(&x1.0) || !carry && is_x(&second)
}

/// Signs messages of one user: the key, and Z_A.
#[derive(Clone, Debug)]
pub struct Signer<'k> {
    key: &'k SecretKey,
    z: [u8; 32],
    verifies: bool,
}

impl<'k> Signer<'k> {
    /// For the user `id`.
    ///
    /// # Errors
    /// [`Error::IdLength`] if the ID is too long.
    pub fn new(key: &'k SecretKey, id: &[u8]) -> Result<Self, Error> {
        Ok(Signer { key, z: z_a(id, key.public_key())?, verifies: false })
    }

    /// Whether to verify each signature before it is given out: a fault of the processor or its memory
    /// while signing could otherwise give away the key. It costs a verification.
    pub fn verifying(self, verifies: bool) -> Self {
        Signer { verifies, ..self }
    }

    pub(super) fn key(&self) -> &'k SecretKey {
        self.key
    }

    pub(super) fn z(&self) -> &[u8; 32] {
        &self.z
    }

    pub(super) fn verifies(&self) -> bool {
        self.verifies
    }

    /// Signs a message.
    ///
    /// # Errors
    /// As [`sign_digest`](Self::sign_digest).
    pub fn sign(&self, message: &[u8]) -> Result<Signature, Error> {
        self.sign_digest(&self.hasher().chain_update(message).finalize().into())
    }

    /// SM3 after Z_A: what is fed with the message here gives the e for
    /// [`sign_digest`](Self::sign_digest).
    ///
    /// ```
    /// use manylane::{sm2::{DEFAULT_ID, SecretKey, Signer}, sm3::Digest};
    ///
    /// let key = SecretKey::generate()?;
    /// let signer = Signer::new(&key, DEFAULT_ID)?;
    /// let mut hasher = signer.hasher();
    /// hasher.update(b"mess");
    /// hasher.update(b"age");
    /// let signature = signer.sign_digest(&hasher.finalize().into())?;
    /// key.public_key().verify(DEFAULT_ID, b"message", &signature)?;
    /// # Ok::<(), manylane::Error>(())
    /// ```
    pub fn hasher(&self) -> Sm3 {
        Sm3::new_with_prefix(self.z)
    }

    /// Signs e = SM3(Z_A ‖ M).
    ///
    /// # Errors
    /// [`Error::Random`] if the operating system has no random bytes; [`Error::Signature`] if the
    /// signature is to be verified and does not hold.
    pub fn sign_digest(&self, e: &[u8; 32]) -> Result<Signature, Error> {
        let signature = self.key.sign_digest(e)?;
        if self.verifies {
            self.key.public_key().verify_digest(e, &signature)?;
        }
        Ok(signature)
    }
}

/// Verifies signatures of one user: the key, and Z_A.
#[derive(Clone, Debug)]
pub struct Verifier {
    key: PublicKey,
    z: [u8; 32],
}

impl Verifier {
    /// For the user `id`.
    ///
    /// # Errors
    /// [`Error::IdLength`] if the ID is too long.
    pub fn new(key: &PublicKey, id: &[u8]) -> Result<Self, Error> {
        Ok(Verifier { key: *key, z: z_a(id, key)? })
    }

    pub(super) fn key(&self) -> &PublicKey {
        &self.key
    }

    pub(super) fn z(&self) -> &[u8; 32] {
        &self.z
    }

    /// Whether the user signed the message.
    ///
    /// # Errors
    /// [`Error::Signature`] if not.
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), Error> {
        self.verify_digest(&self.hasher().chain_update(message).finalize().into(), signature)
    }

    /// SM3 after Z_A, to be fed with a message piece by piece.
    pub fn hasher(&self) -> Sm3 {
        Sm3::new_with_prefix(self.z)
    }

    /// Whether the signature holds for e = SM3(Z_A ‖ M).
    ///
    /// # Errors
    /// [`Error::Signature`] if not.
    pub fn verify_digest(&self, e: &[u8; 32], signature: &Signature) -> Result<(), Error> {
        self.key.verify_digest(e, signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signature of e by the nonce k.
    fn sign_with(d: &[u8; 32], e: &[u8; 32], k: &[u8; 32]) -> Option<Signature> {
        let key = SecretKey::from_bytes(d).unwrap();
        key.sign_with(&Scalar::from_bytes_reduced(e), &Scalar::from_bytes(k).0)
    }

    #[test]
    fn known_answers() {
        let vectors = manylane_vectors::sm2();
        for v in vectors.sign_examples {
            assert_eq!(
                sign_with(&v.d, &v.e, &v.k),
                Some(Signature { r: v.r, s: v.s }),
                "{}",
                v.source
            );
        }
        for v in vectors.signatures {
            assert_eq!(
                sign_with(&v.d, &v.e, &v.k),
                Some(Signature { r: v.r, s: v.s }),
                "{}",
                v.what
            );
        }
        for v in vectors.digest_signatures {
            assert_eq!(
                sign_with(&v.d, &v.e, &v.k),
                Some(Signature { r: v.r, s: v.s }),
                "{}",
                v.what
            );
        }
    }

    /// Steps A5 and A6: r = 0, r + k = n, s = 0.
    #[test]
    fn some_nonces_are_thrown_away() {
        for v in manylane_vectors::sm2().sign_retries {
            assert_eq!(sign_with(&v.d, &v.e, &v.k), None, "{}", v.what);
            // By another nonce the same digest is signed.
            assert!(SecretKey::from_bytes(&v.d).unwrap().sign_digest(&v.e).is_ok(), "{}", v.what);
        }
    }

    /// Both numbers below p that are x₁ mod n are tried, as only one in 2⁶² points has a second one.
    #[test]
    fn x_may_be_n_or_more() {
        for machine in crate::cpu::Machine::ALL {
            let Ok(cell) = Cell::on(machine) else { continue };
            with_field!(cell, f => {
                let zz = Fe::from_limbs(f, &[3, 1, 4, 1]).unwrap();
                for small in [[0; 4], [5, 0, 0, 0]] {
                    let large = limbs::add(&small, &N).0;
                    for x in [small, large] {
                        let x = f.mul(&Fe::from_limbs(f, &x).unwrap(), &zz);
                        assert!(is_x_mod_n(f, &x, &zz, &Scalar(small)), "{machine}");
                        assert!(!is_x_mod_n(f, &x, &zz, &Scalar([6, 0, 0, 0])), "{machine}");
                    }
                }
                // n + (p − n) is p, which no coordinate is.
                let none = limbs::sub(&crate::sm2::field::P, &N).0;
                assert!(!is_x_mod_n(f, &Fe::ZERO, &zz, &Scalar(none)), "{machine}");
            });
        }
    }

    #[test]
    fn signatures_that_are_verified_come_out() {
        let key = SecretKey::generate().unwrap();
        let signer = Signer::new(&key, b"").unwrap().verifying(true);
        let signature = signer.sign(b"message").unwrap();
        assert_eq!(key.public_key().verify(b"", b"message", &signature), Ok(()));
        // What a fault makes is not given out: here, of a key whose halves do not belong together.
        let faulty = key.with_public_key(SecretKey::generate().unwrap().public_key());
        let signer = Signer::new(&faulty, b"").unwrap();
        assert!(signer.clone().sign(b"message").is_ok());
        assert_eq!(signer.verifying(true).sign(b"message"), Err(Error::Signature));
    }
}
