//! One stream of any function.

use digest::Update as _;

use super::{Algorithm, Digest, Midstate};
use crate::sha3::{Kt128, Kt256};

/// One message, fed piece by piece to the function that its [`Algorithm`] names.
///
/// ```
/// use manylane::hash::{self, Algorithm, Hasher};
///
/// let mut hasher = Hasher::new(Algorithm::Kt128);
/// hasher.update(b"a");
/// hasher.update(b"bc");
/// assert_eq!(hasher.finish(), hash::hash(Algorithm::Kt128, b"abc"));
/// ```
#[derive(Clone, Debug)]
pub struct Hasher {
    state: State,
    digest_len: usize,
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a box would be an allocation for each stream")]
enum State {
    Chain(Midstate),
    Kt128(Kt128),
    Kt256(Kt256),
}

impl Hasher {
    /// A stream of that function, for a digest of the usual length.
    pub fn new(algorithm: Algorithm) -> Self {
        Hasher::with_digest_len(algorithm, algorithm.digest_len())
    }

    /// The same for a digest of `len` bytes.
    ///
    /// # Panics
    /// If the function has no digests of that length.
    pub fn with_digest_len(algorithm: Algorithm, len: usize) -> Self {
        assert!(len > 0, "a digest of no bytes");
        let state = match algorithm {
            Algorithm::Kt128 => State::Kt128(Kt128::default()),
            Algorithm::Kt256 => State::Kt256(Kt256::default()),
            _ => State::Chain(Midstate::with_digest_len(algorithm, len)),
        };
        Hasher { state, digest_len: len }
    }

    /// Goes on over `piece`.
    pub fn update(&mut self, piece: &[u8]) {
        match &mut self.state {
            State::Chain(state) => state.update(piece),
            State::Kt128(state) => state.update(piece),
            State::Kt256(state) => state.update(piece),
        }
    }

    /// The digest.
    ///
    /// # Panics
    /// If it has more than [`MAX_DIGEST_LEN`](super::MAX_DIGEST_LEN) bytes:
    /// [`finish_into`](Self::finish_into) is for these.
    pub fn finish(self) -> Digest {
        Digest::written(self.digest_len, |out| self.finish_into(out))
    }

    /// The digest of any length, into `out`.
    ///
    /// # Panics
    /// Unless `out.len() == self.digest_len()`.
    pub fn finish_into(self, out: &mut [u8]) {
        assert_eq!(out.len(), self.digest_len, "room for a digest");
        match self.state {
            State::Chain(state) => state.finish(b"", out),
            State::Kt128(state) => state.finalize(out),
            State::Kt256(state) => state.finalize(out),
        }
    }

    /// Bytes of the digest.
    pub fn digest_len(&self) -> usize {
        self.digest_len
    }

    /// The stream so far, but for a digest of `len` bytes: whoever asks an [XOF](Algorithm::is_xof) for its output need
    /// not know before how much.
    ///
    /// ```
    /// use manylane::hash::{Algorithm, Hasher};
    ///
    /// for algorithm in [Algorithm::Shake128, Algorithm::Kt256] {
    ///     let mut hasher = Hasher::new(algorithm);
    ///     hasher.update(b"abc");
    ///     let mut of_ten = Hasher::with_digest_len(algorithm, 10);
    ///     of_ten.update(b"abc");
    ///     assert_eq!(hasher.into_digest_len(10).finish(), of_ten.finish());
    /// }
    /// ```
    ///
    /// # Panics
    /// If the function has no digests of that length.
    #[must_use]
    pub fn into_digest_len(self, len: usize) -> Self {
        assert!(len > 0, "a digest of no bytes");
        let state = match self.state {
            State::Chain(Midstate::Sha3(state)) if state.function().output_len() != len => {
                State::Chain(Midstate::Sha3(state.with_output_len(len)))
            }
            State::Chain(Midstate::Sm3(_)) => {
                assert_eq!(len, self.digest_len, "sm3 has digests of one length");
                self.state
            }
            state => state,
        };
        Hasher { state, digest_len: len }
    }

    /// Goes on as if the chunks of a [tree](super::Tree) had been fed whose chaining values these are.
    ///
    /// # Panics
    /// If the function is no tree; unless what was fed before is one whole chunk or more of them, and `values` has
    /// whole chaining values.
    pub fn push_chaining_values(&mut self, values: &[u8]) {
        match &mut self.state {
            State::Chain(_) => panic!("chaining values of a function that is no tree"),
            State::Kt128(state) => state.push_chaining_values(values),
            State::Kt256(state) => state.push_chaining_values(values),
        }
    }
}

impl From<Midstate> for Hasher {
    fn from(start: Midstate) -> Self {
        Hasher { digest_len: start.digest_len(), state: State::Chain(start) }
    }
}
