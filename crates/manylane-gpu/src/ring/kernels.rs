//! The kernels of a ring's device, loaded as far as there is work for them.

use std::{fmt, sync::OnceLock};

use manylane::hash::Midstate;

use super::Ring;
use crate::{Error, Gpu, Sha3, Sm3};

/// Kernels that are loaded together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KernelSet {
    /// SM3's.
    Sm3,
    /// Those of all functions on Keccak-p\[1600\].
    Sha3,
}

impl KernelSet {
    /// All of them.
    pub const ALL: [KernelSet; 2] = [KernelSet::Sm3, KernelSet::Sha3];

    /// That of the midstate's function.
    pub fn of(start: &Midstate) -> Self {
        match start {
            Midstate::Sm3(_) => KernelSet::Sm3,
            Midstate::Sha3(_) => KernelSet::Sha3,
        }
    }
}

impl fmt::Display for KernelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            KernelSet::Sm3 => "SM3",
            KernelSet::Sha3 => "SHA-3",
        })
    }
}

/// What a ring has of them.
#[derive(Clone)]
pub(super) struct Kernels {
    pub(super) sm3: Sm3,
    sha3: OnceLock<Sha3>,
}

impl Kernels {
    /// Those that every ring has.
    pub(super) fn new(gpu: &Gpu) -> Result<Self, Error> {
        Ok(Kernels { sm3: Sm3::new(gpu)?, sha3: OnceLock::new() })
    }

    /// Those of SHA-3, loaded if they are not.
    pub(super) fn sha3(&self) -> Result<&Sha3, Error> {
        match self.sha3.get() {
            Some(sha3) => Ok(sha3),
            None => {
                // Another thread may do the same: they are loaded once for a device.
                let sha3 = Sha3::new(self.sm3.gpu())?;
                Ok(self.sha3.get_or_init(|| sha3))
            }
        }
    }
}

impl Ring {
    /// Whether these kernels are loaded, so that batches for them begin at once.
    pub fn has(&self, set: KernelSet) -> bool {
        match set {
            KernelSet::Sm3 => true,
            KernelSet::Sha3 => self.0.kernels.sha3.get().is_some(),
        }
    }

    /// Loads kernels and lets them compute known answers, if the process has not done that yet. SM3's are
    /// there from the beginning; others are loaded by the first batch that needs them, unless this was called
    /// before.
    ///
    /// # Errors
    /// As for [`Sm3::new`] and [`Sha3::new`]. After [`Error::Deadline`] the ring is lost; after others it can still be
    /// used for other functions.
    pub fn load(&self, set: KernelSet) -> Result<(), Error> {
        self.check_usable()?;
        let loaded = match set {
            KernelSet::Sm3 => Ok(()),
            KernelSet::Sha3 => self.0.kernels.sha3().map(|_| ()),
        };
        if let Err(Error::Deadline(_)) = loaded {
            // The device hangs: to wait for it, or to free what it has, would be without end.
            self.lose();
        }
        loaded
    }
}
