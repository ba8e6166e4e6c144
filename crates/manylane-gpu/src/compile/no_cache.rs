//! Where there are no owners and modes of files to check, nothing is kept.

use std::io;

use super::Key;

/// No cache can be made.
pub(super) enum Cache {}

impl Cache {
    pub(super) fn open() -> Option<Self> {
        None
    }

    pub(super) fn load(&self, _: &Key) -> Option<Vec<u8>> {
        match *self {}
    }

    pub(super) fn store(&self, _: &Key, _: &[u8]) -> io::Result<()> {
        match *self {}
    }
}
