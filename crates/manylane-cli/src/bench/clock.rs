//! The core's clock, measured beside every sample.
//!
//! A core's frequency moves with load, temperature and the vectors in use, and the time-stamp
//! counter does not follow it. So a chain of dependent instructions whose latency is known is
//! timed before and after each sample: the chain's length in clocks over its time is the
//! frequency that the sample ran at.
//!
//! Two chains are timed each time and must agree, for each guards against what would falsify the
//! other. An addition of registers takes one clock; *immediate* additions are no measure, because
//! Intel's Golden Cove and its successors fold chains of them when renaming registers. The second
//! chain is made of multiplications (three clocks on every x86-64 core since 2008 and on AMD's
//! from Zen on, 32 bits wide), which nothing folds. On AArch64, where the latency of a
//! multiplication differs from core to core, it is made of rotations by a constant (one clock).
//! An interrupt in either of them shows as disagreement too.
#![allow(unsafe_code)]

use std::{hint::black_box, time::Instant};

/// Loop iterations of a chain; each is [`UNROLLED`] dependent instructions.
const LOOPS: u32 = 400;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const UNROLLED: u32 = 128;

/// Readings of which the first counts whose chains agree.
const READINGS: usize = 5;

/// Chains that disagree by more than this were disturbed, or one of them is not what this module
/// takes it for.
const TOLERANCE: f64 = 0.01;

/// One reading of the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Frequency by the chain of additions, in Hz.
    pub(super) by_add: f64,
    /// Frequency by the second chain, in Hz.
    pub(super) by_other: f64,
}

impl Reading {
    /// The frequency, if the two chains agree on it.
    pub(super) fn hz(self) -> Option<f64> {
        agreed(self.by_add, self.by_other)
    }
}

/// The first of so many readings whose chains agree, or the last.
fn first_agreeing(mut read: impl FnMut() -> Reading) -> Reading {
    let mut reading = read();
    for _ in 1..READINGS {
        if reading.hz().is_some() {
            break;
        }
        reading = read();
    }
    reading
}

/// The mean of two frequencies that differ by less than the tolerance.
pub(super) fn agreed(a: f64, b: f64) -> Option<f64> {
    let agree = a.is_finite() && b.is_finite() && (a - b).abs() <= TOLERANCE * a.min(b);
    agree.then_some((a + b) / 2.0)
}

/// What reading the time itself costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    overhead_s: f64,
}

impl Clock {
    /// A clock for this architecture; `None` where no chain of known latency is written down.
    pub(super) fn new() -> Option<Self> {
        if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            return None;
        }
        let overhead = |_| {
            let start = Instant::now();
            start.elapsed().as_secs_f64()
        };
        Some(Clock { overhead_s: (0..1000).map(overhead).fold(f64::INFINITY, f64::min) })
    }

    /// Times both chains: some tens of microseconds.
    pub(super) fn read(self) -> Reading {
        self.read_loops(LOOPS)
    }

    fn read_loops(self, loops: u32) -> Reading {
        let [by_add, by_other] = [chain_add, chain_other].map(|chain| self.frequency(chain, loops));
        Reading { by_add, by_other }
    }

    /// Reads until the chains agree, [`READINGS`] times at most.
    ///
    /// A reading is so short that a miss of all caches shows in it. Long work leaves neither the chains
    /// nor the code that reads the time in one: after encryptions of 16 MiB the first chain was 1.5 to
    /// 2.5 % late in most of the readings that were disturbed (27 % of all; 3 % after 256 KiB), and one
    /// build lost nine samples of ten to it. So both run once, briefly, before they count. And what
    /// disturbs a reading says nothing of the work beside it, whose time is not looked at here: it is
    /// read again.
    pub(super) fn read_agreeing(self) -> Reading {
        black_box(self.read_loops(1));
        first_agreeing(|| self.read())
    }

    fn frequency(self, chain: fn(u32) -> u64, loops: u32) -> f64 {
        let start = Instant::now();
        let clocks = chain(black_box(loops));
        let elapsed = start.elapsed().as_secs_f64();
        clocks as f64 / (elapsed - self.overhead_s)
    }
}

/// Runs dependent additions; how many clocks they take.
#[cfg(target_arch = "x86_64")]
fn chain_add(loops: u32) -> u64 {
    // SAFETY: changes only the registers that are declared, and flags; touches no memory.
    unsafe {
        core::arch::asm!(
            ".p2align 5",
            "2:",
            ".rept 128",
            "add {x:r}, {y:r}",
            ".endr",
            "sub {n:e}, 1",
            "jnz 2b",
            x = inout(reg) 1_u64 => _,
            y = in(reg) 3_u64,
            n = inout(reg) loops => _,
            options(nomem, nostack),
        );
    }
    u64::from(loops) * u64::from(UNROLLED)
}

/// Runs dependent multiplications; how many clocks they take.
#[cfg(target_arch = "x86_64")]
fn chain_other(loops: u32) -> u64 {
    let loops = loops / 3 + 1;
    // SAFETY: changes only the registers that are declared, and flags; touches no memory.
    unsafe {
        core::arch::asm!(
            ".p2align 5",
            "2:",
            ".rept 128",
            "imul {x:e}, {y:e}",
            ".endr",
            "sub {n:e}, 1",
            "jnz 2b",
            x = inout(reg) 1_u32 => _,
            y = in(reg) 3_u32,
            n = inout(reg) loops => _,
            options(nomem, nostack),
        );
    }
    3 * u64::from(loops) * u64::from(UNROLLED)
}

/// Runs dependent additions; how many clocks they take.
#[cfg(target_arch = "aarch64")]
fn chain_add(loops: u32) -> u64 {
    // SAFETY: changes only the registers that are declared, and flags; touches no memory.
    unsafe {
        core::arch::asm!(
            "2:",
            ".rept 128",
            "add {x:x}, {x:x}, {y:x}",
            ".endr",
            "subs {n:w}, {n:w}, #1",
            "b.ne 2b",
            x = inout(reg) 1_u64 => _,
            y = in(reg) 3_u64,
            n = inout(reg) loops => _,
            options(nomem, nostack),
        );
    }
    u64::from(loops) * u64::from(UNROLLED)
}

/// Runs dependent rotations; how many clocks they take.
#[cfg(target_arch = "aarch64")]
fn chain_other(loops: u32) -> u64 {
    // SAFETY: changes only the registers that are declared, and flags; touches no memory.
    unsafe {
        core::arch::asm!(
            "2:",
            ".rept 128",
            "ror {x:x}, {x:x}, #7",
            ".endr",
            "subs {n:w}, {n:w}, #1",
            "b.ne 2b",
            x = inout(reg) 1_u64 => _,
            n = inout(reg) loops => _,
            options(nomem, nostack),
        );
    }
    u64::from(loops) * u64::from(UNROLLED)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn chain_add(_: u32) -> u64 {
    unreachable!("no clock is built for this architecture")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn chain_other(_: u32) -> u64 {
    unreachable!("no clock is built for this architecture")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frequencies_that_agree_count() {
        assert_eq!(agreed(3.0e9, 3.0e9), Some(3.0e9));
        assert!(agreed(3.0e9, 3.02e9).is_some());
        assert!(agreed(3.0e9, 2.9e9).is_none());
        assert!(agreed(f64::INFINITY, f64::INFINITY).is_none());
        assert!(agreed(f64::NAN, 3.0e9).is_none());
    }

    #[test]
    fn disturbed_readings_are_made_again() {
        let (steady, disturbed) = ((3.0e9, 3.0e9), (3.0e9, 1.5e9));
        let seen = |readings: &[(f64, f64)]| {
            let mut readings =
                readings.iter().map(|&(by_add, by_other)| Reading { by_add, by_other });
            let hz = first_agreeing(|| readings.next().unwrap()).hz();
            (hz, readings.len())
        };
        assert_eq!(seen(&[steady, disturbed]), (Some(3.0e9), 1));
        assert_eq!(seen(&[disturbed, disturbed, steady, steady]), (Some(3.0e9), 1));
        assert_eq!(seen(&[disturbed; READINGS + 1]), (None, 1));
    }

    /// Says nothing of time, which a loaded machine or an emulator may stretch at will: only that
    /// the chains run to their end and count what they ran.
    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn chains_count_their_clocks() {
        assert_eq!(chain_add(10), 1280);
        assert!(chain_other(10) >= 1280);
        let reading = Clock::new().unwrap().read();
        assert!(reading.by_add > 0.0 && reading.by_other > 0.0);
    }
}
