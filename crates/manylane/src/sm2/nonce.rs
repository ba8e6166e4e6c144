//! Secret numbers that are used once.
//!
//! Each comes from the operating system, asked anew for every number: with a good generator nothing
//! rests on what lives in this process, so a fork or a restored snapshot repeats no number. It is
//! hedged: HMAC-SM3(secret, random ‖ occasion ‖ purpose ‖ attempt) hashes what the system gave
//! together with a secret, a count of calls and the time, and what the nonce is for. With a good
//! generator none of this does harm; with a broken one, even one that repeats itself, a nonce still
//! differs from call to call and from one message to another, and without the secret nobody can
//! compute it, as in RFC 6979.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use subtle::Choice;
use zeroize::Zeroizing;

use super::scalar::{N, Scalar};
use crate::{Error, ct::reveal, sm3::Midstate};

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
            if let Some(k) = self.attempt(&random) {
                return Ok(k);
            }
        }
    }

    /// The next one, from bytes that the operating system gave for nothing else.
    pub(super) fn first(&mut self, random: &[u8; 32]) -> Result<Zeroizing<Scalar>, Error> {
        match self.attempt(random) {
            Some(k) => Ok(k),
            None => self.next(),
        }
    }

    fn attempt(&mut self, random: &[u8; 32]) -> Option<Zeroizing<Scalar>> {
        let bytes = self.candidate(random, &occasion());
        self.attempt += 1;
        let (k, below_n) = Scalar::from_bytes(&bytes);
        let k = Zeroizing::new(k);
        // Numbers that are thrown away say nothing about the one that is not.
        reveal(below_n & !k.is_zero()).then_some(k)
    }

    /// The bytes of a nonce, if they are a number in range.
    pub(super) fn candidate(&self, random: &[u8; 32], occasion: &[u8; 16]) -> Zeroizing<[u8; 32]> {
        let inner = self.hedge.inner.then(random).then(occasion).then(self.purpose);
        let inner = Zeroizing::new(inner.finish(&self.attempt.to_be_bytes()));
        Zeroizing::new(self.hedge.outer.finish(&*inner))
    }
}

/// What tells this call from all others if the generator does not: how many were before it in this
/// process, and nanoseconds since 1970, which tell it from those before a restart or a restored
/// snapshot. A long message's nonce depends on its ends only, and that of a key exchange on no message.
fn occasion() -> [u8; 16] {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let calls = CALLS.fetch_add(1, Ordering::Relaxed);
    // A clock that is set before 1970 counts as one that stands still.
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let mut occasion = [0; 16];
    occasion[..8].copy_from_slice(&calls.to_be_bytes());
    occasion[8..].copy_from_slice(&time.to_be_bytes());
    occasion
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

/// Bytes from the operating system.
pub(super) fn fill(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes).map_err(|_| Error::Random)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator that repeats itself repeats no nonce: all else that goes into one makes it differ.
    #[test]
    fn all_that_goes_into_a_nonce_counts() {
        let (hedges, random) = ([[1; 32], [2; 32]].map(|secret| Hedge::new(&secret)), [7; 32]);
        let nonces = |hedge: usize, purpose: &'static [u8], attempt| Nonces {
            hedge: &hedges[hedge],
            purpose,
            attempt,
        };
        let one = nonces(0, b"purpose", 0);
        let nonce = one.candidate(&random, &[0; 16]);
        assert_eq!(nonce, one.candidate(&random, &[0; 16]));
        assert_ne!(nonce, one.candidate(&[8; 32], &[0; 16]));
        assert_ne!(nonce, one.candidate(&random, &[1; 16]));
        for other in [nonces(1, b"purpose", 0), nonces(0, b"another", 0), nonces(0, b"purpose", 1)]
        {
            assert_ne!(nonce, other.candidate(&random, &[0; 16]));
        }
    }

    #[test]
    fn no_two_occasions_are_the_same() {
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(|| (0..1000).map(|_| occasion()).collect()))
            .collect();
        let all: Vec<Vec<[u8; 16]>> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        // The counts alone differ; and the clock does not stand still.
        let counts = |at: usize| -> std::collections::BTreeSet<_> {
            all.iter().flatten().map(|occasion| occasion.as_chunks::<8>().0[at]).collect()
        };
        assert_eq!(counts(0).len(), 4000);
        assert!(counts(1).len() > 1);
    }
}
