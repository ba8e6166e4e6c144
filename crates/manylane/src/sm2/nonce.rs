//! Secret numbers that are used once.
//!
//! Each comes from the operating system, asked anew for every number: no state lives in this process,
//! so a fork or a restored snapshot repeats none. It is hedged: what the system gave is hashed
//! together with a secret and what the nonce is for, by HMAC-SM3(secret, random ‖ purpose ‖ attempt).
//! With a good generator the secret does no harm; with a broken one, even one that repeats itself,
//! different messages still get different nonces that nobody else can compute, as in RFC 6979.

use subtle::Choice;
use zeroize::Zeroizing;

use super::scalar::{N, Scalar};
use crate::{
    Error,
    ct::{reveal, wipe_bytes},
    sm3::Midstate,
};

/// HMAC-SM3 under the secret that nonces are hedged with.
#[derive(Clone)]
pub(super) struct Hedge {
    inner: Midstate,
    outer: Midstate,
}

impl Hedge {
    /// Under a secret of at most 64 bytes.
    ///
    /// # Panics
    /// If it is longer.
    pub(super) fn new(secret: &[u8]) -> Self {
        let padded = |pad: u8| {
            let mut block = Zeroizing::new([pad; 64]);
            assert!(secret.len() <= block.len(), "a secret of {} bytes", secret.len());
            for (byte, secret) in block.iter_mut().zip(secret) {
                *byte ^= secret;
            }
            Midstate::after(&*block)
        };
        Hedge { inner: padded(0x36), outer: padded(0x5c) }
    }

    /// Nonces for one purpose: what is to be signed, or encrypted to whom.
    pub(super) fn nonces<'a>(&'a self, purpose: &'a [u8]) -> Nonces<'a> {
        Nonces { hedge: self, purpose, attempt: 0 }
    }
}

/// Numbers in [1, n − 1] for one purpose; more than one are needed once in a blue moon.
pub(super) struct Nonces<'a> {
    hedge: &'a Hedge,
    purpose: &'a [u8],
    /// Differs even if the operating system's bytes do not.
    attempt: u32,
}

impl Nonces<'_> {
    /// The next one.
    pub(super) fn next(&mut self) -> Result<Zeroizing<Scalar>, Error> {
        loop {
            let mut random = Zeroizing::new([0; 32]);
            fill(&mut *random)?;
            let inner = self.hedge.inner.then(&*random).then(self.purpose);
            let inner = Zeroizing::new(inner.finish(&self.attempt.to_be_bytes()));
            let mut bytes = self.hedge.outer.finish(&*inner);
            self.attempt += 1;
            let (k, below_n) = Scalar::from_bytes(&bytes);
            wipe_bytes(&mut bytes);
            let k = Zeroizing::new(k);
            // Numbers that are thrown away say nothing about the one that is not.
            if reveal(below_n & !k.is_zero()) {
                return Ok(k);
            }
        }
    }
}

/// A secret key: a number in [1, n − 2] from the operating system.
pub(super) fn secret_key() -> Result<Zeroizing<Scalar>, Error> {
    loop {
        let mut random = Zeroizing::new([0; 32]);
        fill(&mut *random)?;
        let (d, below_n) = Scalar::from_bytes(&random);
        let d = Zeroizing::new(d);
        if reveal(below_n & is_secret_key(&d)) {
            return Ok(d);
        }
    }
}

/// Whether a number below n is in [1, n − 2].
pub(super) fn is_secret_key(d: &Scalar) -> Choice {
    // n − 1, the only other number whose 1 + d is not invertible.
    let last = Scalar([N[0] - 1, N[1], N[2], N[3]]);
    !d.is_zero() & !subtle::ConstantTimeEq::ct_eq(d, &last)
}

fn fill(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes).map_err(|_| Error::Random)
}
