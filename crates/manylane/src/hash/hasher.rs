//! One stream of any function.

use super::{Algorithm, Digest, Midstate};

/// One message, fed piece by piece to the function that its [`Algorithm`] names.
///
/// ```
/// use manylane::hash::{self, Algorithm, Hasher};
///
/// let mut hasher = Hasher::new(Algorithm::Sha3_512);
/// hasher.update(b"a");
/// hasher.update(b"bc");
/// assert_eq!(hasher.finish(), hash::hash(Algorithm::Sha3_512, b"abc"));
/// ```
#[derive(Clone, Debug)]
pub struct Hasher(Midstate);

impl Hasher {
    /// A stream of that function, for a digest of the usual length.
    pub fn new(algorithm: Algorithm) -> Self {
        Hasher(Midstate::new(algorithm))
    }

    /// Goes on over `piece`.
    pub fn update(&mut self, piece: &[u8]) {
        self.0 = self.0.then(piece);
    }

    /// The digest.
    ///
    /// # Panics
    /// If it has more than [`MAX_DIGEST_LEN`](super::MAX_DIGEST_LEN) bytes.
    pub fn finish(self) -> Digest {
        self.0.digest(b"")
    }
}

impl From<Midstate> for Hasher {
    fn from(start: Midstate) -> Self {
        Hasher(start)
    }
}
