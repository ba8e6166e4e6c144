//! Which kernel takes the work: one for a stream, one for many lanes.

use std::sync::OnceLock;

use super::{DIGEST_LEN, Kernel, T, portable};
use crate::{
    Error,
    cpu::{self, Machine},
    ct::{wipe_bytes, wipe_words},
};

#[cfg(target_arch = "aarch64")]
use super::{armcrypto, neon};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512, bmi2, sse};

/// Chaining values of `L` lanes, word by word.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct State<const L: usize>(pub(super) [[u32; L]; 8]);

impl<const L: usize> State<L> {
    /// The same chaining value in every lane.
    pub(super) fn splat(v: &[u32; 8]) -> Self {
        State(v.map(|word| [word; L]))
    }

    /// Lane `lane`'s chaining value.
    pub(super) fn get(&self, lane: usize) -> [u32; 8] {
        self.0.map(|words| words[lane])
    }

    /// Every lane's chaining value as big-endian bytes, those of the first lanes into `out`. All
    /// lengths are known where the matrix is turned around, so that it needs no checks.
    ///
    /// # Panics
    /// If `out` holds more than `L` digests.
    #[inline]
    pub(super) fn digests(&self, out: &mut [[u8; DIGEST_LEN]]) {
        let mut digests = [[0; DIGEST_LEN]; L];
        for (lane, digest) in digests.iter_mut().enumerate() {
            for (word, bytes) in digest.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                *bytes = self.0[word][lane].to_be_bytes();
            }
        }
        out.copy_from_slice(&digests[..out.len()]);
        wipe_bytes(digests.as_flattened_mut());
    }

    /// Overwrites all of it.
    pub(super) fn wipe(&mut self) {
        wipe_words(self.0.as_flattened_mut());
    }

    /// Replaces lane `lane`'s chaining value.
    pub(super) fn set(&mut self, lane: usize, v: &[u32; 8]) {
        for (words, word) in self.0.iter_mut().zip(v) {
            words[lane] = *word;
        }
    }
}

/// One block's expanded words, shared by all lanes: W_j, and W'_j = W_j xor W_(j+4).
pub(super) struct Expanded {
    pub(super) w: [u32; 64],
    pub(super) w_prime: [u32; 64],
}

impl Expanded {
    /// The expansion of one block.
    pub(super) fn of(block: &[u8; 64]) -> Self {
        let w = portable::expand(block);
        Expanded {
            w: ::core::array::from_fn(|j| w[j]),
            w_prime: ::core::array::from_fn(|j| w[j] ^ w[j + 4]),
        }
    }
}

/// What a machine file exports for `L` lanes.
pub(super) trait Lanes<const L: usize>: Copy {
    /// CF over the blocks of `inputs`, lane by lane.
    ///
    /// # Panics
    /// Unless all inputs have one length, a multiple of 64 bytes.
    fn compress_lanes(self, v: &mut State<L>, inputs: &[&[u8]; L]) -> Kernel;

    /// CF of one block that all lanes share.
    fn compress_constant(self, v: &mut State<L>, block: &Expanded) -> Kernel;

    /// CF from the chaining value `v` of counter blocks, from the one with `counter`, xored into
    /// `data`.
    ///
    /// # Panics
    /// Unless `counter` and `data.len()` are multiples of `L`.
    fn xor_counters(self, v: &[u32; 8], counter: u32, data: &mut [[u8; DIGEST_LEN]]) -> Kernel;
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
    ArmCrypto(cpu::ArmCrypto),
}

impl Stream {
    /// Machines that have a kernel for one stream, the fastest last.
    const MACHINES: [Machine; 4] =
        [Machine::Portable, Machine::Bmi2, Machine::Avx512, Machine::ArmCrypto];

    /// The fastest available.
    #[inline]
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Stream> = OnceLock::new();
        *BEST.get_or_init(|| {
            let on = |machine| Stream::on(machine).ok();
            Stream::MACHINES.into_iter().rev().find_map(on).unwrap_or(Stream::Portable(Portable))
        })
    }

    /// The fastest of the machines that are not more capable than one.
    pub(super) fn best_up_to(machine: Machine) -> Self {
        let on = |candidate| Stream::on(candidate).ok().filter(|_| candidate <= machine);
        Stream::MACHINES.into_iter().rev().find_map(on).unwrap_or(Stream::Portable(Portable))
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
            Machine::ArmCrypto => cpu::ArmCrypto::get().map(Stream::ArmCrypto),
            _ => None,
        }
        .ok_or(Error::Unavailable(machine))
    }

    /// CF over consecutive blocks of one stream.
    #[inline]
    pub(super) fn compress(self, v: &mut [u32; 8], blocks: &[[u8; 64]]) -> Kernel {
        match self {
            Stream::Portable(_) => portable::compress(v, blocks),
            #[cfg(target_arch = "x86_64")]
            Stream::Bmi2(token) => bmi2::compress(token, v, blocks),
            #[cfg(target_arch = "x86_64")]
            Stream::Avx512(token) => avx512::compress(token, v, blocks),
            #[cfg(target_arch = "aarch64")]
            Stream::ArmCrypto(token) => armcrypto::compress(token, v, blocks),
        }
    }
}

/// A kernel for many lanes, with the proof that it can run.
#[derive(Clone, Copy)]
pub(crate) enum Cell {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Sse(cpu::Sse),
    #[cfg(target_arch = "x86_64")]
    Avx2(cpu::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(cpu::Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(cpu::Neon),
}

impl Cell {
    /// Machines that have a kernel for lanes, the fastest last.
    const MACHINES: [Machine; 5] =
        [Machine::Portable, Machine::Sse, Machine::Avx2, Machine::Avx512, Machine::Neon];

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
            Machine::Sse => cpu::Sse::get().map(Cell::Sse),
            #[cfg(target_arch = "x86_64")]
            Machine::Avx2 => cpu::Avx2::get().map(Cell::Avx2),
            #[cfg(target_arch = "x86_64")]
            Machine::Avx512 => cpu::Avx512::get().map(Cell::Avx512),
            #[cfg(target_arch = "aarch64")]
            Machine::Neon => cpu::Neon::get().map(Cell::Neon),
            _ => None,
        }
        .ok_or(Error::Unavailable(machine))
    }
}

/// Runs an expression that is generic over the lanes with the kernel of a [`Cell`].
macro_rules! with_lanes {
    ($cell:expr, $lanes:ident => $body:expr) => {
        match $cell {
            $crate::sm3::dispatch::Cell::Portable($lanes) => $body,
            #[cfg(target_arch = "x86_64")]
            $crate::sm3::dispatch::Cell::Sse($lanes) => $body,
            #[cfg(target_arch = "x86_64")]
            $crate::sm3::dispatch::Cell::Avx2($lanes) => $body,
            #[cfg(target_arch = "x86_64")]
            $crate::sm3::dispatch::Cell::Avx512($lanes) => $body,
            #[cfg(target_arch = "aarch64")]
            $crate::sm3::dispatch::Cell::Neon($lanes) => $body,
        }
    };
}
pub(super) use with_lanes;

/// Implements [`Lanes`] for a token by the functions of its machine file.
macro_rules! lanes {
    ($token:ty, $file:ident) => {
        impl Lanes<{ $file::LANES }> for $token {
            #[inline]
            fn compress_lanes(
                self,
                v: &mut State<{ $file::LANES }>,
                inputs: &[&[u8]; $file::LANES],
            ) -> Kernel {
                $file::compress_lanes(self, v, inputs)
            }

            #[inline]
            fn compress_constant(
                self,
                v: &mut State<{ $file::LANES }>,
                block: &Expanded,
            ) -> Kernel {
                $file::compress_constant(self, v, block)
            }

            #[inline]
            fn xor_counters(
                self,
                v: &[u32; 8],
                counter: u32,
                data: &mut [[u8; DIGEST_LEN]],
            ) -> Kernel {
                $file::xor_counters(self, v, counter, data)
            }
        }
    };
}
lanes!(Portable, portable);
#[cfg(target_arch = "x86_64")]
lanes!(cpu::Sse, sse);
#[cfg(target_arch = "x86_64")]
lanes!(cpu::Avx2, avx2);
#[cfg(target_arch = "x86_64")]
lanes!(cpu::Avx512, avx512);
#[cfg(target_arch = "aarch64")]
lanes!(cpu::Neon, neon);

/// The common length in blocks of all inputs.
///
/// # Panics
/// Unless all inputs have one length, a multiple of 64 bytes.
#[inline]
pub(super) fn common_blocks<const L: usize>(inputs: &[&[u8]; L]) -> usize {
    let len = inputs[0].len();
    let alike =
        inputs.iter().fold(len.is_multiple_of(64), |alike, input| alike & (input.len() == len));
    assert!(alike, "lanes of unequal length, or not of whole blocks");
    len / 64
}

const _: () = assert!(T[0] == 0x79cc_4519 && T[63].rotate_right(31) == 0x7a87_9d8a);
