//! Any hash function of this library, chosen at run time.
//!
//! [`sm3`](crate::sm3) and [`sha3`](crate::sha3) are for those who know which they want. Here the choice is a value: an
//! [`Algorithm`] by its name, and a [`Midstate`] that says what many messages start from, whichever
//! function that is of.
//!
//! ```
//! use manylane::{Messages, hash::{self, Algorithm, Midstate}};
//!
//! let algorithm: Algorithm = "sha3-256".parse()?;
//! let start = Midstate::new(algorithm);
//! let mut digests = vec![0; 2 * start.digest_len()];
//! hash::hash_many(&start, &Messages::slices(&[b"one", b"other"]), &mut digests)?;
//! assert_eq!(digests[32..], *hash::hash(algorithm, b"other"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod digest;
mod hasher;
mod lanes;
mod machines;
mod midstate;
mod tree;

pub use self::{
    algorithm::{Algorithm, UnknownAlgorithm},
    digest::{Digest, MAX_DIGEST_LEN},
    hasher::Hasher,
    lanes::Lanes,
    machines::Machines,
    midstate::{Midstate, hash_many},
    tree::Tree,
};

/// Bytes of the longest block: TurboSHAKE128's, SHAKE128's and KT128's.
pub const MAX_BLOCK_LEN: usize = 168;

/// Bytes of room for the padding of any function: two blocks, of which the longest is one.
pub const MAX_PADDING: usize = 2 * MAX_BLOCK_LEN;

/// The digest of one message, of the usual length.
///
/// ```
/// use manylane::{hash::{self, Algorithm}, sm3};
///
/// assert_eq!(hash::hash(Algorithm::Sm3, b"abc"), sm3::hash(b"abc"));
/// ```
pub fn hash(algorithm: Algorithm, message: &[u8]) -> Digest {
    let mut hasher = Hasher::new(algorithm);
    hasher.update(message);
    hasher.finish()
}
