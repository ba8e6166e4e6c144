//! Functions that run at one rate.
//!
//! What is measured of one says nothing of another: SHA3-512 takes twice the time of SHA3-256, and
//! TurboSHAKE half of SHAKE's. So all rates are kept for each class by itself.

use manylane::{hash::Midstate, sha3::Function, sm3};
use manylane_gpu::KernelSet;

/// Rates of SHA-3's functions, in bytes.
const RATES: [usize; 5] = [168, 144, 136, 104, 72];

/// Bytes a second of one lane of SM3 on the CPU, to begin with.
const SM3_LANE: f64 = 0.14e9;

/// The same of SHA3-256.
const SHA3_LANE: f64 = 0.3e9;

/// Clocks that a GPU thread, which has one message, takes for a byte of SM3: the rounds depend on one
/// another, and it waits for each operation. Measured on Hopper: 8128 bytes more take 218 µs more at
/// 1.98 GHz.
const SM3_CLOCKS: f64 = 53.0;

/// The same for SHA3-256. Reasoned: 24 rounds of 180 operations, of which a thread alone starts one in
/// two clocks, for 136 bytes.
const SHA3_CLOCKS: f64 = 64.0;

/// Functions that run at one rate: those of one permutation or compression and one length of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    index: usize,
    block_len: usize,
}

impl Class {
    /// How many there are.
    pub(crate) const COUNT: usize = 1 + 2 * RATES.len();

    /// SM3's.
    pub(crate) const SM3: Class = Class { index: 0, block_len: sm3::BLOCK_LEN };

    /// That of the midstate's function.
    pub(crate) fn of(start: &Midstate) -> Self {
        match start {
            Midstate::Sha3(start) => {
                let function = start.function();
                let of_rate = RATES.iter().position(|&rate| rate == function.rate());
                let of_rate = of_rate.expect("one of the rates that there are");
                let of_rounds = usize::from(function.rounds() == 12);
                Class { index: 1 + 2 * of_rate + of_rounds, block_len: function.rate() }
            }
            Midstate::Sm3(_) => Class::SM3,
        }
    }

    /// All of them, in the order of their [indices](Self::index).
    pub(crate) fn all() -> [Class; Self::COUNT] {
        std::array::from_fn(|index| {
            let block_len = match index {
                0 => sm3::BLOCK_LEN,
                _ => RATES[(index - 1) / 2],
            };
            Class { index, block_len }
        })
    }

    /// Its place among all.
    pub(crate) fn index(self) -> usize {
        self.index
    }

    /// What a message costs beyond its length, in bytes: the block of padding.
    pub(crate) fn extra(self) -> u64 {
        self.block_len as u64
    }

    /// The same with digests of so many bytes: a further block for each that is squeezed.
    pub(crate) fn extra_with(self, digest_len: usize) -> u64 {
        self.extra() * digest_len.div_ceil(self.block_len) as u64
    }

    /// Which kernels a GPU has to have for it.
    pub(crate) fn kernels(self) -> KernelSet {
        if self == Class::SM3 { KernelSet::Sm3 } else { KernelSet::Sha3 }
    }

    /// Time that a byte takes as a multiple of that of a byte of SHA3-256.
    fn beside_sha3_256(self) -> f64 {
        let rounds = if self.index.is_multiple_of(2) { 0.5 } else { 1.0 };
        rounds * Function::SHA3_256.rate() as f64 / self.block_len as f64
    }

    /// What a CPU thread hashes in a second, in bytes, before it is measured. `lanes` is what it takes side
    /// by side.
    pub(crate) fn guess(self, lanes: usize) -> f64 {
        match self {
            Class::SM3 => SM3_LANE * lanes as f64,
            _ => SHA3_LANE * lanes as f64 / self.beside_sha3_256(),
        }
    }

    /// Clocks that a GPU thread, which has one message, takes for a byte.
    pub(crate) fn clocks_per_byte(self) -> f64 {
        match self {
            Class::SM3 => SM3_CLOCKS,
            _ => SHA3_CLOCKS * self.beside_sha3_256(),
        }
    }
}

#[cfg(test)]
mod tests {
    use manylane::hash::Algorithm;

    use super::*;

    #[test]
    fn functions_of_one_rate_are_one_class() {
        let of = |algorithm| Class::of(&Midstate::new(algorithm));
        for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| !algorithm.is_tree()) {
            let class = of(algorithm);
            assert_eq!(class.extra(), algorithm.block_len() as u64);
            assert_eq!(Class::all()[class.index()], class);
        }
        assert_eq!(of(Algorithm::Sha3_256), of(Algorithm::Keccak256));
        assert_eq!(of(Algorithm::Sha3_256), of(Algorithm::Shake256));
        assert_ne!(of(Algorithm::Shake256), of(Algorithm::TurboShake256));
        let (shake, turbo) = (of(Algorithm::Shake128), of(Algorithm::TurboShake128));
        assert_eq!(turbo.guess(8), 2.0 * shake.guess(8));
        assert_eq!(2.0 * turbo.clocks_per_byte(), shake.clocks_per_byte());
    }

    #[test]
    fn output_costs_what_its_blocks_do() {
        let shake = Class::of(&Midstate::new(Algorithm::Shake128));
        let costs = [1, 168, 169, 16_800].map(|len| shake.extra_with(len));
        assert_eq!(costs, [168, 168, 336, 16_800]);
        assert_eq!(Class::SM3.extra_with(sm3::DIGEST_LEN), Class::SM3.extra());
    }
}
