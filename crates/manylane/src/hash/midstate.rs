//! What many messages start from, of any function.

use super::{Algorithm, Digest, MAX_DIGEST_LEN, MAX_PADDING};
use crate::{
    Error, Messages,
    sha3::{self, Function},
    sm3,
};

/// A hash function after a prefix, mostly the empty one.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a box would be an allocation for each clone")]
pub enum Midstate {
    /// SM3.
    Sm3(sm3::Midstate),
    /// A function on Keccak-p\[1600\].
    Sha3(sha3::Midstate),
}

impl Midstate {
    /// The function after nothing, with digests of the usual length.
    ///
    /// # Panics
    /// If it is a [tree](Algorithm::is_tree).
    pub fn new(algorithm: Algorithm) -> Self {
        Midstate::with_digest_len(algorithm, algorithm.digest_len())
    }

    /// The same with digests of `len` bytes.
    ///
    /// # Panics
    /// If it has no digests of that length, or is a [tree](Algorithm::is_tree).
    pub fn with_digest_len(algorithm: Algorithm, len: usize) -> Self {
        assert!(len > 0, "digests of no bytes");
        assert!(
            algorithm.is_xof() || len == algorithm.digest_len(),
            "{algorithm} has no digests of {len} bytes"
        );
        let function = match algorithm {
            Algorithm::Sm3 => return Midstate::Sm3(sm3::Midstate::default()),
            Algorithm::Sha3_224 => Function::SHA3_224,
            Algorithm::Sha3_256 => Function::SHA3_256,
            Algorithm::Sha3_384 => Function::SHA3_384,
            Algorithm::Sha3_512 => Function::SHA3_512,
            Algorithm::Keccak256 => Function::KECCAK_256,
            Algorithm::Shake128 => Function::SHAKE128,
            Algorithm::Shake256 => Function::SHAKE256,
            Algorithm::TurboShake128 => Function::turboshake128(0x1f),
            Algorithm::TurboShake256 => Function::turboshake256(0x1f),
            Algorithm::Kt128 | Algorithm::Kt256 => {
                panic!("{algorithm} of a long message is a tree, not a chain of blocks")
            }
        };
        let function = if algorithm.is_xof() { function.with_output_len(len) } else { function };
        Midstate::Sha3(sha3::Midstate::new(function))
    }

    /// The same function after this prefix and `more`.
    pub fn then(&self, more: &[u8]) -> Self {
        match self {
            Midstate::Sm3(state) => Midstate::Sm3(state.then(more)),
            Midstate::Sha3(state) => Midstate::Sha3(state.then(more)),
        }
    }

    /// Goes on over `more`.
    pub(super) fn absorb(&mut self, more: &[u8]) {
        match self {
            Midstate::Sm3(state) => state.absorb(more, sm3::dispatch::Stream::best()),
            Midstate::Sha3(state) => {
                state.absorb(more, sha3::dispatch::Stream::best());
            }
        }
    }

    /// The digest of the prefix followed by `message`, into `out`.
    ///
    /// # Panics
    /// Unless `out.len() == self.digest_len()`.
    pub fn finish(&self, message: &[u8], out: &mut [u8]) {
        assert_eq!(out.len(), self.digest_len(), "room for a digest");
        match self {
            Midstate::Sm3(state) => out.copy_from_slice(&state.finish(message)),
            Midstate::Sha3(state) => state.finish(message, out),
        }
    }

    /// The same as a value.
    ///
    /// # Panics
    /// If digests have more than [`MAX_DIGEST_LEN`] bytes.
    pub fn digest(&self, message: &[u8]) -> Digest {
        Digest::written(self.digest_len(), |out| self.finish(message, out))
    }

    /// Bytes of a digest.
    pub fn digest_len(&self) -> usize {
        match self {
            Midstate::Sm3(_) => sm3::DIGEST_LEN,
            Midstate::Sha3(state) => state.function().output_len(),
        }
    }

    /// Bytes of a block.
    pub fn block_len(&self) -> usize {
        match self {
            Midstate::Sm3(_) => sm3::BLOCK_LEN,
            Midstate::Sha3(state) => state.function().rate(),
        }
    }

    /// Bytes of the prefix.
    pub fn prefix_len(&self) -> u64 {
        match self {
            Midstate::Sm3(state) => state.prefix_len(),
            Midstate::Sha3(state) => state.prefix_len(),
        }
    }

    /// The bytes after the prefix's last full block.
    pub fn rest(&self) -> &[u8] {
        match self {
            Midstate::Sm3(state) => state.rest(),
            Midstate::Sha3(state) => state.rest(),
        }
    }

    /// Whether digests are short enough for a [`Digest`].
    pub fn has_inline_digests(&self) -> bool {
        self.digest_len() <= MAX_DIGEST_LEN
    }

    /// Writes the end of a message of `total_len` bytes, the prefix included: `tail`, the bytes after the last
    /// full block, and the padding. Gives the number of bytes, whole blocks.
    ///
    /// # Panics
    /// Unless `tail` has as many bytes as are left of that length.
    pub fn pad(&self, tail: &[u8], total_len: u64, out: &mut [u8; MAX_PADDING]) -> usize {
        match self {
            Midstate::Sm3(_) => {
                let (out, _) = out.split_first_chunk_mut().expect("room for two blocks");
                sm3::BLOCK_LEN * sm3::pad(tail, total_len, out)
            }
            Midstate::Sha3(state) => {
                let function = state.function();
                let len = total_len % function.rate() as u64;
                assert_eq!(tail.len() as u64, len, "tail of a message of {total_len} bytes");
                let (out, _) = out.split_first_chunk_mut().expect("room for a block");
                sha3::pad(function, tail, out)
            }
        }
    }
}

impl From<sm3::Midstate> for Midstate {
    fn from(state: sm3::Midstate) -> Self {
        Midstate::Sm3(state)
    }
}

impl From<sha3::Midstate> for Midstate {
    fn from(state: sha3::Midstate) -> Self {
        Midstate::Sha3(state)
    }
}

impl From<Algorithm> for Midstate {
    /// [`Midstate::new`].
    fn from(algorithm: Algorithm) -> Self {
        Midstate::new(algorithm)
    }
}

/// The digest of each message after the midstate's prefix, in order and one after another, into `out`, on the
/// calling thread.
///
/// # Errors
/// [`Error::OutputLength`] unless `out` has [`digest_len`](Midstate::digest_len) bytes for each message.
pub fn hash_many(start: &Midstate, messages: &Messages, out: &mut [u8]) -> Result<(), Error> {
    let expected = messages.len().saturating_mul(start.digest_len());
    if out.len() != expected {
        return Err(Error::OutputLength { expected, got: out.len() });
    }
    match start {
        Midstate::Sm3(start) => sm3::hash_many_after(start, messages, out.as_chunks_mut().0),
        Midstate::Sha3(start) => sha3::hash_many_after(start, messages, b"", out),
    }
}
