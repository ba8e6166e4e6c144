//! Tags of [`gcm`](super::gcm) and [`ccm`](super::ccm).

use subtle::{Choice, ConstantTimeEq};

use super::Block;
use crate::{Error, ct::reveal};

/// A tag: bytes that go with a ciphertext and tell whether it was altered. It is no secret, but how much of it somebody has
/// guessed is: it is compared in constant time, by decryption or [`ConstantTimeEq`].
#[derive(Clone, Copy)]
pub struct Tag {
    bytes: Block,
    len: usize,
}

impl Tag {
    /// The first `len` bytes of a block.
    pub(super) fn new(bytes: Block, len: usize) -> Self {
        Tag { bytes, len }
    }

    /// Whether `tag`, as long as it is, is this.
    pub(super) fn verify(&self, tag: &[u8]) -> Result<(), Error> {
        match reveal(self.as_ref().ct_eq(tag)) {
            true => Ok(()),
            false => Err(Error::Decryption),
        }
    }
}

impl AsRef<[u8]> for Tag {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Tags of different lengths are different, at once.
impl ConstantTimeEq for Tag {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.as_ref().ct_eq(other.as_ref())
    }
}

impl core::fmt::Debug for Tag {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Tag(")?;
        self.as_ref().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}
