//! Which kernel takes the work: one for a stream, one for many lanes.

use std::sync::OnceLock;

use super::{Kernel, RC, portable};
use crate::{
    Error,
    cpu::{self, Machine},
    ct::wipe_long_words,
};

#[cfg(target_arch = "aarch64")]
use super::{armsha3, neon};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512, bmi2};

/// How many rounds the permutation has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(super) enum Rounds {
    /// TurboSHAKE's (RFC 9861): the last twelve of the 24.
    Twelve,
    /// Keccak-f\[1600\]'s (FIPS 202).
    TwentyFour,
}

impl Rounds {
    /// Number of rounds.
    pub(super) const fn count(self) -> usize {
        match self {
            Rounds::Twelve => 12,
            Rounds::TwentyFour => 24,
        }
    }

    /// Index of the first round's constant in [`RC`].
    #[inline(always)]
    pub(super) const fn first(self) -> usize {
        RC.len() - self.count()
    }
}

/// States of `L` lanes, word by word.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct State<const L: usize>(pub(super) [[u64; L]; 25]);

impl<const L: usize> State<L> {
    /// The same state in every lane.
    pub(super) fn splat(a: &[u64; 25]) -> Self {
        State(a.map(|word| [word; L]))
    }

    /// Lane `lane`'s state.
    pub(super) fn get(&self, lane: usize) -> [u64; 25] {
        self.0.map(|words| words[lane])
    }

    /// Xors `word` into word `i` of every lane's state.
    #[inline]
    pub(super) fn xor(&mut self, i: usize, word: u64) {
        for lane in &mut self.0[i] {
            *lane ^= word;
        }
    }

    /// Writes the first bytes of lane `lane`'s state, at most 200.
    #[inline]
    pub(super) fn write(&self, lane: usize, out: &mut [u8]) {
        let (words, rest) = out.as_chunks_mut::<8>();
        for (bytes, lanes) in words.iter_mut().zip(&self.0) {
            *bytes = lanes[lane].to_le_bytes();
        }
        if !rest.is_empty() {
            rest.copy_from_slice(&self.0[words.len()][lane].to_le_bytes()[..rest.len()]);
        }
    }

    /// Overwrites all of it.
    pub(super) fn wipe(&mut self) {
        wipe_long_words(self.0.as_flattened_mut());
    }

    /// Replaces lane `lane`'s state.
    pub(super) fn set(&mut self, lane: usize, a: &[u64; 25]) {
        for (words, word) in self.0.iter_mut().zip(a) {
            words[lane] = *word;
        }
    }
}

/// What a machine file exports for `L` lanes.
pub(super) trait Lanes<const L: usize>: Copy {
    /// For each `rate` bytes of every input: xors them into their lane's state, and permutes all.
    /// `rate` is that of a [`Function`](super::Function), or one of [`GROUPS`].
    ///
    /// # Panics
    /// Unless `rate` is one of those, and all inputs have one length, a multiple of it.
    fn absorb_lanes(
        self,
        a: &mut State<L>,
        rounds: Rounds,
        rate: usize,
        inputs: &[&[u8]; L],
    ) -> Kernel;

    /// Permutes every lane's state.
    fn permute_lanes(self, a: &mut State<L>, rounds: Rounds) -> Kernel;
}

/// Proof of [`Machine::Portable`], which needs none.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

/// A kernel for one stream, with the proof that it can run.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Bmi2(cpu::Bmi2),
    #[cfg(target_arch = "x86_64")]
    Avx512(cpu::Avx512),
    #[cfg(target_arch = "aarch64")]
    ArmSha3(cpu::ArmSha3),
}

impl Stream {
    /// Machines that have a kernel for one stream, the fastest last. Only Apple's cores have more than
    /// one pipe for the SHA3 instructions (see `armsha3.rs`).
    const MACHINES: [Machine; 4] = if cfg!(target_vendor = "apple") {
        [Machine::Portable, Machine::Bmi2, Machine::Avx512, Machine::ArmSha3]
    } else {
        [Machine::ArmSha3, Machine::Portable, Machine::Bmi2, Machine::Avx512]
    };

    /// The fastest available.
    #[inline]
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Stream> = OnceLock::new();
        *BEST.get_or_init(|| {
            let on = |machine| Stream::on(machine).ok();
            Stream::MACHINES.into_iter().rev().find_map(on).unwrap_or(Stream::Portable(Portable))
        })
    }

    /// That of one machine.
    pub(crate) fn on(machine: Machine) -> Result<Self, Error> {
        match machine {
            Machine::Portable => Some(Stream::Portable(Portable)),
            #[cfg(target_arch = "x86_64")]
            Machine::Bmi2 => cpu::Bmi2::get().map(Stream::Bmi2),
            #[cfg(target_arch = "x86_64")]
            Machine::Avx512 => cpu::Avx512::get().map(Stream::Avx512),
            #[cfg(target_arch = "aarch64")]
            Machine::ArmSha3 => cpu::ArmSha3::get().map(Stream::ArmSha3),
            _ => None,
        }
        .ok_or(Error::Unavailable(machine))
    }

    /// For each `rate` bytes of `blocks`: xors them into the state, and permutes it.
    ///
    /// # Panics
    /// Unless the length of `blocks` is a multiple of `rate`.
    #[inline]
    pub(super) fn absorb(
        self,
        a: &mut [u64; 25],
        rounds: Rounds,
        rate: usize,
        blocks: &[u8],
    ) -> Kernel {
        match self {
            Stream::Portable(token) => portable::absorb(token, a, rounds, rate, blocks),
            #[cfg(target_arch = "x86_64")]
            Stream::Bmi2(token) => bmi2::absorb(token, a, rounds, rate, blocks),
            #[cfg(target_arch = "x86_64")]
            Stream::Avx512(token) => avx512::absorb(token, a, rounds, rate, blocks),
            #[cfg(target_arch = "aarch64")]
            Stream::ArmSha3(token) => armsha3::absorb(token, a, rounds, rate, blocks),
        }
    }

    /// Permutes the state.
    #[inline]
    pub(super) fn permute(self, a: &mut [u64; 25], rounds: Rounds) -> Kernel {
        match self {
            Stream::Portable(token) => portable::permute(token, a, rounds),
            #[cfg(target_arch = "x86_64")]
            Stream::Bmi2(token) => bmi2::permute(token, a, rounds),
            #[cfg(target_arch = "x86_64")]
            Stream::Avx512(token) => avx512::permute(token, a, rounds),
            #[cfg(target_arch = "aarch64")]
            Stream::ArmSha3(token) => armsha3::permute(token, a, rounds),
        }
    }
}

/// A kernel for many lanes, with the proof that it can run.
#[derive(Clone, Copy)]
pub(crate) enum Cell {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(cpu::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(cpu::Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(cpu::Neon),
    #[cfg(target_arch = "aarch64")]
    ArmSha3(cpu::ArmSha3),
}

impl Cell {
    /// Machines that have a kernel for lanes, the fastest last; see [`Stream::MACHINES`].
    const MACHINES: [Machine; 5] = if cfg!(target_vendor = "apple") {
        [Machine::Portable, Machine::Avx2, Machine::Avx512, Machine::Neon, Machine::ArmSha3]
    } else {
        [Machine::Portable, Machine::ArmSha3, Machine::Avx2, Machine::Avx512, Machine::Neon]
    };

    /// The fastest available.
    #[inline]
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Cell> = OnceLock::new();
        *BEST.get_or_init(|| {
            let on = |machine| Cell::on(machine).ok();
            Cell::MACHINES.into_iter().rev().find_map(on).unwrap_or(Cell::Portable(Portable))
        })
    }

    /// That of one machine.
    pub(crate) fn on(machine: Machine) -> Result<Self, Error> {
        match machine {
            Machine::Portable => Some(Cell::Portable(Portable)),
            #[cfg(target_arch = "x86_64")]
            Machine::Avx2 => cpu::Avx2::get().map(Cell::Avx2),
            #[cfg(target_arch = "x86_64")]
            Machine::Avx512 => cpu::Avx512::get().map(Cell::Avx512),
            #[cfg(target_arch = "aarch64")]
            Machine::Neon => cpu::Neon::get().map(Cell::Neon),
            #[cfg(target_arch = "aarch64")]
            Machine::ArmSha3 => cpu::ArmSha3::get().map(Cell::ArmSha3),
            _ => None,
        }
        .ok_or(Error::Unavailable(machine))
    }
}

/// Runs an expression that is generic over the lanes with the kernel of a [`Cell`].
macro_rules! with_lanes {
    ($cell:expr, $lanes:ident => $body:expr) => {
        match $cell {
            $crate::sha3::dispatch::Cell::Portable($lanes) => $body,
            #[cfg(target_arch = "x86_64")]
            $crate::sha3::dispatch::Cell::Avx2($lanes) => $body,
            #[cfg(target_arch = "x86_64")]
            $crate::sha3::dispatch::Cell::Avx512($lanes) => $body,
            #[cfg(target_arch = "aarch64")]
            $crate::sha3::dispatch::Cell::Neon($lanes) => $body,
            #[cfg(target_arch = "aarch64")]
            $crate::sha3::dispatch::Cell::ArmSha3($lanes) => $body,
        }
    };
}
pub(super) use with_lanes;

/// Implements [`Lanes`] for a token by the functions of its machine file.
macro_rules! lanes {
    ($token:ty, $file:ident) => {
        impl Lanes<{ $file::LANES }> for $token {
            #[inline]
            fn absorb_lanes(
                self,
                a: &mut State<{ $file::LANES }>,
                rounds: Rounds,
                rate: usize,
                inputs: &[&[u8]; $file::LANES],
            ) -> Kernel {
                $file::absorb_lanes(self, a, rounds, rate, inputs)
            }

            #[inline]
            fn permute_lanes(self, a: &mut State<{ $file::LANES }>, rounds: Rounds) -> Kernel {
                $file::permute_lanes(self, a, rounds)
            }
        }
    };
}
lanes!(Portable, portable);
#[cfg(target_arch = "x86_64")]
lanes!(cpu::Avx2, avx2);
#[cfg(target_arch = "x86_64")]
lanes!(cpu::Avx512, avx512);
#[cfg(target_arch = "aarch64")]
lanes!(cpu::Neon, neon);
#[cfg(target_arch = "aarch64")]
lanes!(cpu::ArmSha3, armsha3);

/// Beginnings of a block that lanes absorb by themselves, in bytes: whole groups of the words that
/// a kernel loads at once.
pub(super) const GROUPS: [usize; 5] = [32, 64, 96, 128, 160];

/// The common length of all inputs in blocks of `rate` bytes.
///
/// # Panics
/// Unless `rate` is a function's or one of [`GROUPS`], and all inputs have one length, a multiple
/// of it.
#[inline]
pub(super) fn common_blocks<const L: usize>(rate: usize, inputs: &[&[u8]; L]) -> usize {
    let is_known = matches!(rate, 72 | 104 | 136 | 144 | 168) || GROUPS.contains(&rate);
    assert!(is_known, "blocks of {rate} bytes");
    let len = inputs[0].len();
    let blocks = len / rate;
    let alike =
        inputs.iter().fold(blocks * rate == len, |alike, input| alike & (input.len() == len));
    assert!(alike, "lanes of unequal length, or not of whole blocks");
    blocks
}
