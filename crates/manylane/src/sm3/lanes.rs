//! Many streams advanced together, for callers that feed blocks as they arrive.

use super::{
    Kernel,
    dispatch::{self, Cell, Portable, State},
};
use crate::{Error, cpu::Machine};

#[cfg(target_arch = "aarch64")]
use super::neon;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512, sse};

/// As many SM3 streams as the machine has lanes, each with a chaining value of its own.
///
/// This is the block level: the caller cuts messages into whole blocks and pads them
/// ([`pad`](super::pad())). [`hash_many`](super::hash_many) does both for messages in memory.
///
/// ```
/// use manylane::sm3::{self, Lanes};
///
/// let mut lanes = Lanes::new();
/// let mut last = [0; 128];
/// let blocks = sm3::pad(b"abc", 3, &mut last);
/// lanes.set(0, &sm3::IV);
/// lanes.compress(&vec![&last[..64 * blocks]; lanes.count()]);
/// assert_eq!(lanes.digest(0), sm3::hash(b"abc"));
/// ```
#[derive(Clone)]
pub struct Lanes(States);

/// A kernel's token beside the chaining values of its lanes.
#[allow(clippy::large_enum_variant, reason = "a box would be an allocation for each `Lanes`")]
#[derive(Clone)]
enum States {
    Portable(Portable, State<1>),
    #[cfg(target_arch = "x86_64")]
    Sse(crate::cpu::Sse, State<{ sse::LANES }>),
    #[cfg(target_arch = "x86_64")]
    Avx2(crate::cpu::Avx2, State<{ avx2::LANES }>),
    #[cfg(target_arch = "x86_64")]
    Avx512(crate::cpu::Avx512, State<{ avx512::LANES }>),
    #[cfg(target_arch = "aarch64")]
    Neon(crate::cpu::Neon, State<{ neon::LANES }>),
}

/// Runs an expression that is generic over the lanes.
macro_rules! with_states {
    ($states:expr, $token:pat, $state:ident => $body:expr) => {
        match $states {
            States::Portable($token, $state) => $body,
            #[cfg(target_arch = "x86_64")]
            States::Sse($token, $state) => $body,
            #[cfg(target_arch = "x86_64")]
            States::Avx2($token, $state) => $body,
            #[cfg(target_arch = "x86_64")]
            States::Avx512($token, $state) => $body,
            #[cfg(target_arch = "aarch64")]
            States::Neon($token, $state) => $body,
        }
    };
}

impl Lanes {
    /// Lanes of the widest machine there is, each at the initial value.
    pub fn new() -> Self {
        Lanes::of(Cell::best())
    }

    /// Lanes of one machine, for tests and comparisons.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the machine has no kernel for lanes, or this processor lacks
    /// it.
    pub fn new_on(machine: Machine) -> Result<Self, Error> {
        Ok(Lanes::of(Cell::on(machine)?))
    }

    fn of(cell: Cell) -> Self {
        Lanes(match cell {
            Cell::Portable(token) => States::Portable(token, State::splat(&super::IV)),
            #[cfg(target_arch = "x86_64")]
            Cell::Sse(token) => States::Sse(token, State::splat(&super::IV)),
            #[cfg(target_arch = "x86_64")]
            Cell::Avx2(token) => States::Avx2(token, State::splat(&super::IV)),
            #[cfg(target_arch = "x86_64")]
            Cell::Avx512(token) => States::Avx512(token, State::splat(&super::IV)),
            #[cfg(target_arch = "aarch64")]
            Cell::Neon(token) => States::Neon(token, State::splat(&super::IV)),
        })
    }

    /// Number of lanes.
    pub fn count(&self) -> usize {
        with_states!(&self.0, _, state => state.0[0].len())
    }

    /// Gives `lane` a chaining value: [`IV`](super::IV) starts a message.
    ///
    /// # Panics
    /// If `lane >= self.count()`.
    pub fn set(&mut self, lane: usize, v: &[u32; 8]) {
        with_states!(&mut self.0, _, state => state.set(lane, v));
    }

    /// The chaining value of `lane`.
    ///
    /// # Panics
    /// If `lane >= self.count()`.
    pub fn get(&self, lane: usize) -> [u32; 8] {
        with_states!(&self.0, _, state => state.get(lane))
    }

    /// The chaining value of `lane` as a digest, for a lane whose padded last block has been
    /// compressed.
    ///
    /// # Panics
    /// If `lane >= self.count()`.
    pub fn digest(&self, lane: usize) -> [u8; super::DIGEST_LEN] {
        {
            let mut digest = [0; super::DIGEST_LEN];
            super::write_bytes(&self.get(lane), &mut digest);
            digest
        }
    }

    /// Advances every lane over the blocks of its input. An idle lane is given any other lane's
    /// input; its chaining value is then without meaning.
    ///
    /// # Panics
    /// Unless there is one input a lane, all of one length, a multiple of 64 bytes.
    pub fn compress(&mut self, inputs: &[&[u8]]) -> Kernel {
        use dispatch::Lanes as _;
        assert_eq!(inputs.len(), self.count(), "inputs for the lanes");
        with_states!(&mut self.0, token, state => {
            let mut each = [&[][..]; _];
            each.copy_from_slice(inputs);
            token.compress_lanes(state, &each)
        })
    }
}

impl Default for Lanes {
    fn default() -> Self {
        Lanes::new()
    }
}

impl std::fmt::Debug for Lanes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lanes { ... }")
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        with_states!(&mut self.0, _, state => state.wipe());
    }
}

impl zeroize::ZeroizeOnDrop for Lanes {}
