//! The algorithms of `manylane sum`, and the length of their digests.

use clap::{ValueEnum, builder::PossibleValue};
use manylane::hash::{self, MAX_DIGEST_LEN};
use manylane_cli::lines::Kind;
use manylane_engine::Function;

/// An algorithm, by the names that the command line has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Algorithm(pub(super) hash::Algorithm);

impl ValueEnum for Algorithm {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: [Algorithm; hash::Algorithm::ALL.len()] = {
            let mut all = [Algorithm(hash::Algorithm::Sm3); _];
            let mut i = 0;
            while i < all.len() {
                all[i] = Algorithm(hash::Algorithm::ALL[i]);
                i += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).aliases(self.0.aliases()))
    }
}

/// What is computed of files: what was asked for, and what follows from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// That of `-a`, if it was given.
    asked: Option<hash::Algorithm>,
    /// Bytes of `--length`, if it was given.
    len: Option<usize>,
    pub(super) is_hmac: bool,
}

impl Choice {
    /// # Errors
    /// Why there is no such digest.
    pub(super) fn new(
        algorithm: Option<Algorithm>,
        bits: Option<usize>,
        is_hmac: bool,
    ) -> Result<Self, String> {
        let choice =
            Choice { asked: algorithm.map(|a| a.0), len: bits.map(|bits| bits / 8), is_hmac };
        let name = choice.algorithm();
        if let Some(bits) = bits {
            let most = 8 * MAX_DIGEST_LEN;
            if !bits.is_multiple_of(8) || !(8..=most).contains(&bits) {
                return Err(format!("--length: {bits} is no multiple of 8 from 8 to {most}"));
            }
            if !name.is_xof() && bits != 8 * name.digest_len() {
                let due = 8 * name.digest_len();
                return Err(format!("--length: digests of {name} have {due} bits, not {bits}"));
            }
        }
        if is_hmac && !name.has_hmac() {
            return Err(format!("--hmac-key-file: there is no HMAC with {name}"));
        }
        Ok(choice)
    }

    /// That of `-a`, or the usual one.
    fn algorithm(&self) -> hash::Algorithm {
        self.asked.unwrap_or(hash::Algorithm::Sm3)
    }

    /// What digests are of where nothing else says it.
    pub(super) fn kind(&self) -> Kind {
        Kind { algorithm: self.algorithm(), is_hmac: self.is_hmac }
    }

    /// Bytes of digests where nothing else says how many.
    pub(super) fn digest_len(&self) -> usize {
        self.len.unwrap_or(self.algorithm().digest_len())
    }

    /// Whether a digest may be of that algorithm, where a line says so.
    pub(super) fn allows(&self, algorithm: hash::Algorithm) -> bool {
        self.asked.is_none_or(|asked| asked == algorithm)
    }

    /// Whether a digest of that algorithm may have so many bytes, where a line says of which it is.
    pub(super) fn allows_len(&self, algorithm: hash::Algorithm, len: usize) -> bool {
        match self.len {
            Some(asked) if algorithm.is_xof() => len == asked,
            _ => true,
        }
    }
}

/// The function whose digests of `len` bytes are of that kind, under `key` for HMACs.
pub(super) fn function(kind: Kind, len: usize, key: Option<&[u8]>) -> Function {
    match key {
        Some(key) => Function::hmac(kind.algorithm, key),
        None => Function::with_digest_len(kind.algorithm, len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_in_bits_and_of_digests_that_there_are() {
        let choice = |algorithm, bits, is_hmac| {
            Choice::new(Some(Algorithm(algorithm)), bits, is_hmac).map(|choice| choice.digest_len())
        };
        assert_eq!(choice(hash::Algorithm::Shake128, None, false), Ok(32));
        assert_eq!(choice(hash::Algorithm::Shake128, Some(8), false), Ok(1));
        assert_eq!(choice(hash::Algorithm::Shake256, Some(512), false), Ok(64));
        assert_eq!(choice(hash::Algorithm::Sha3_384, Some(384), true), Ok(48));
        for bits in [0, 7, 12, 520, usize::MAX] {
            assert!(choice(hash::Algorithm::Shake128, Some(bits), false).is_err(), "{bits}");
        }
        assert!(choice(hash::Algorithm::Sm3, Some(512), false).is_err());
        assert!(choice(hash::Algorithm::Shake128, None, true).is_err());
    }
}
