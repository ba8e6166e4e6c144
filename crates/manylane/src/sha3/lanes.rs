//! Many streams advanced together, for callers that feed blocks as they arrive.

use super::{
    Function, Kernel,
    dispatch::{self, Cell, Portable, State},
};
use crate::{Error, cpu::Machine};

#[cfg(target_arch = "aarch64")]
use super::{armsha3, neon};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// As many sponges of one [`Function`] as the machine has lanes, each with a state of its own.
///
/// This is the block level: the caller cuts messages into blocks of the function's
/// [`rate`](Function::rate) and pads them ([`pad`](super::pad())). [`hash_many`](super::hash_many)
/// does both for messages in memory.
///
/// ```
/// use manylane::sha3::{self, Function, Lanes};
///
/// let mut lanes = Lanes::new(Function::SHA3_256);
/// let mut last = [0; 168];
/// let rate = sha3::pad(Function::SHA3_256, b"abc", &mut last);
/// lanes.absorb(&vec![&last[..rate]; lanes.count()]);
///
/// let (mut digest, mut expected) = ([0; 32], [0; 32]);
/// lanes.digest(0, &mut digest);
/// sha3::hash(Function::SHA3_256, b"abc", &mut expected);
/// assert_eq!(digest, expected);
/// ```
#[derive(Clone)]
pub struct Lanes {
    function: Function,
    states: States,
}

/// A kernel's token beside the states of its lanes.
#[allow(clippy::large_enum_variant, reason = "a box would be an allocation for each `Lanes`")]
#[derive(Clone)]
enum States {
    Portable(Portable, State<1>),
    #[cfg(target_arch = "x86_64")]
    Avx2(crate::cpu::Avx2, State<{ avx2::LANES }>),
    #[cfg(target_arch = "x86_64")]
    Avx512(crate::cpu::Avx512, State<{ avx512::LANES }>),
    #[cfg(target_arch = "aarch64")]
    Neon(crate::cpu::Neon, State<{ neon::LANES }>),
    #[cfg(target_arch = "aarch64")]
    ArmSha3(crate::cpu::ArmSha3, State<{ armsha3::LANES }>),
}

/// Runs an expression that is generic over the lanes.
macro_rules! with_states {
    ($states:expr, $token:pat, $state:ident => $body:expr) => {
        match $states {
            States::Portable($token, $state) => $body,
            #[cfg(target_arch = "x86_64")]
            States::Avx2($token, $state) => $body,
            #[cfg(target_arch = "x86_64")]
            States::Avx512($token, $state) => $body,
            #[cfg(target_arch = "aarch64")]
            States::Neon($token, $state) => $body,
            #[cfg(target_arch = "aarch64")]
            States::ArmSha3($token, $state) => $body,
        }
    };
}

impl Lanes {
    /// Lanes of the widest machine there is, each at the beginning of a message.
    pub fn new(function: Function) -> Self {
        Lanes::of(function, Cell::best())
    }

    /// Lanes of one machine, for tests and comparisons.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the machine has no kernel for lanes, or this processor lacks
    /// it.
    pub fn new_on(function: Function, machine: Machine) -> Result<Self, Error> {
        Ok(Lanes::of(function, Cell::on(machine)?))
    }

    fn of(function: Function, cell: Cell) -> Self {
        let states = match cell {
            Cell::Portable(token) => States::Portable(token, State::splat(&[0; 25])),
            #[cfg(target_arch = "x86_64")]
            Cell::Avx2(token) => States::Avx2(token, State::splat(&[0; 25])),
            #[cfg(target_arch = "x86_64")]
            Cell::Avx512(token) => States::Avx512(token, State::splat(&[0; 25])),
            #[cfg(target_arch = "aarch64")]
            Cell::Neon(token) => States::Neon(token, State::splat(&[0; 25])),
            #[cfg(target_arch = "aarch64")]
            Cell::ArmSha3(token) => States::ArmSha3(token, State::splat(&[0; 25])),
        };
        Lanes { function, states }
    }

    /// The function whose sponges they are.
    pub fn function(&self) -> Function {
        self.function
    }

    /// Number of lanes.
    pub fn count(&self) -> usize {
        with_states!(&self.states, _, state => state.0[0].len())
    }

    /// Gives `lane` a state: zeros start a message, and those of
    /// [`Midstate::words`](super::Midstate::words) go on after a prefix.
    ///
    /// # Panics
    /// If `lane >= self.count()`.
    pub fn set(&mut self, lane: usize, a: &[u64; 25]) {
        with_states!(&mut self.states, _, state => state.set(lane, a));
    }

    /// The state of `lane`.
    ///
    /// # Panics
    /// If `lane >= self.count()`.
    pub fn get(&self, lane: usize) -> [u64; 25] {
        with_states!(&self.states, _, state => state.get(lane))
    }

    /// The first bytes of the output of `lane`, whose padded last block has been absorbed; after
    /// [`permute`](Self::permute), the next bytes of an XOF's.
    ///
    /// # Panics
    /// If `lane >= self.count()`, or `out` is longer than the rate.
    pub fn digest(&self, lane: usize, out: &mut [u8]) {
        let (len, rate) = (out.len(), self.function.rate());
        assert!(len <= rate, "{len} bytes of a block of {rate}");
        with_states!(&self.states, _, state => state.write(lane, out));
    }

    /// Advances every lane over the blocks of its input. An idle lane is given any other lane's
    /// input; its state is then without meaning.
    ///
    /// # Panics
    /// Unless there is one input a lane, all of one length, a multiple of the rate.
    pub fn absorb(&mut self, inputs: &[&[u8]]) -> Kernel {
        use dispatch::Lanes as _;
        assert_eq!(inputs.len(), self.count(), "inputs for the lanes");
        let (rate, rounds) = (self.function.rate(), self.function.permutation());
        with_states!(&mut self.states, token, state => {
            let mut each = [&[][..]; _];
            each.copy_from_slice(inputs);
            token.absorb_lanes(state, rounds, rate, &each)
        })
    }

    /// Permutes every lane's state: to the next block of an XOF's output.
    pub fn permute(&mut self) -> Kernel {
        use dispatch::Lanes as _;
        let rounds = self.function.permutation();
        with_states!(&mut self.states, token, state => token.permute_lanes(state, rounds))
    }
}

impl std::fmt::Debug for Lanes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lanes { ... }")
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        with_states!(&mut self.states, _, state => state.wipe());
    }
}

impl zeroize::ZeroizeOnDrop for Lanes {}
