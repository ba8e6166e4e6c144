//! The kernels of a ring's device, loaded as far as there is work for them.

use std::fmt;

use manylane::hash::Midstate;

use super::Ring;
use crate::{Error, Gpu, Sm3};

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
            _ => KernelSet::Sha3,
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
}

impl Kernels {
    /// Those that every ring has.
    pub(super) fn new(gpu: &Gpu) -> Result<Self, Error> {
        Ok(Kernels { sm3: Sm3::new(gpu)? })
    }
}

impl Ring {
    /// Whether these kernels are loaded, so that batches for them begin at once.
    pub fn has(&self, set: KernelSet) -> bool {
        set == KernelSet::Sm3
    }

    /// Loads kernels and lets them compute known answers, if the process has not done that yet. SM3's are
    /// there from the beginning; others are loaded by the first batch that needs them, unless this was called
    /// before.
    ///
    /// # Errors
    /// As for [`Sm3::new`]. The ring can still be used for other functions.
    pub fn load(&self, set: KernelSet) -> Result<(), Error> {
        match set {
            KernelSet::Sm3 => Ok(()),
            KernelSet::Sha3 => Err(Error::Input(manylane::Error::Shape("later"))),
        }
    }
}
