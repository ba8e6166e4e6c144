//! A digest of any function, without an allocation.

use std::{fmt, ops::Deref};

use zeroize::Zeroize;

/// Bytes of the longest [`Digest`].
pub const MAX_DIGEST_LEN: usize = 64;

/// A digest of up to [`MAX_DIGEST_LEN`] bytes, kept in place. It is read as a slice.
#[derive(Clone, Copy)]
pub struct Digest {
    bytes: [u8; MAX_DIGEST_LEN],
    len: usize,
}

impl Digest {
    /// A digest of those bytes; none if they are more than [`MAX_DIGEST_LEN`].
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut digest = Digest { bytes: [0; MAX_DIGEST_LEN], len: bytes.len() };
        digest.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(digest)
    }

    /// Room for one of `len` bytes, for `write` to fill.
    pub(super) fn written(len: usize, write: impl FnOnce(&mut [u8])) -> Self {
        assert!(len <= MAX_DIGEST_LEN, "a digest of {len} bytes is kept elsewhere");
        let mut digest = Digest { bytes: [0; MAX_DIGEST_LEN], len };
        write(&mut digest.bytes[..len]);
        digest
    }
}

impl Deref for Digest {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Digest) -> bool {
        **self == **other
    }
}

impl Eq for Digest {}

impl PartialEq<[u8]> for Digest {
    fn eq(&self, other: &[u8]) -> bool {
        **self == *other
    }
}

impl<const N: usize> PartialEq<[u8; N]> for Digest {
    fn eq(&self, other: &[u8; N]) -> bool {
        **self == *other
    }
}

impl Zeroize for Digest {
    fn zeroize(&mut self) {
        self.bytes.zeroize();
    }
}

/// As hexadecimal digits.
impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
