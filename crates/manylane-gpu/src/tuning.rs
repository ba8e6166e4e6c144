//! What is best on which card: the one place for it.
//!
//! A row is *measured* where it says so, by `tune.py`; the others are *reasoned* from the
//! architecture. A card of a later architecture than any row gets the last row of its vendor.

use std::ops::RangeInclusive;

use crate::{Info, Vendor};

/// Threads per block of each kernel.
pub(crate) struct Blocks {
    pub(crate) many: u32,
    pub(crate) rows: u32,
    pub(crate) short: u32,
    pub(crate) hmac: u32,
    pub(crate) bin: u32,
}

/// Threads per block of each kernel of SHA-3.
pub(crate) struct Sha3Blocks {
    pub(crate) many: u32,
    pub(crate) rows: u32,
    pub(crate) short: u32,
}

/// The kernels of an architecture, and how to launch them.
pub(crate) struct Tuning {
    pub(crate) blocks: Blocks,
    pub(crate) sha3_blocks: Sha3Blocks,
    /// Messages that a thread of the kernels of short messages takes, one after the other.
    pub(crate) each: u32,
    /// Thread blocks of `many` on a multiprocessor at a time to which it pays to keep, where
    /// messages of unlike lengths are hardly more than what fits on the device at once: with
    /// fewer at a time, the longest, which decide when all is done, get on faster. None where nobody has measured it.
    pub(crate) few: Option<RangeInclusive<u32>>,
    /// PTX, deflated; empty for HIP, where the sources are compiled at run time.
    pub(crate) sm3_ptx: &'static [u8],
    pub(crate) sha3_ptx: &'static [u8],
    /// Macros for hipRTC, `NAME=VALUE`; none for CUDA.
    pub(crate) hip_defines: &'static [&'static str],
}

/// Additions by the multiplier, beside the logic unit.
const MULTIPLIER: &[u8] = include_bytes!("../ptx/sm3-multiplier.ptx.deflate");

/// Plain additions.
const PLAIN: &[u8] = include_bytes!("../ptx/sm3-plain.ptx.deflate");

/// Half of iota by the multiplier.
const SHA3_MULTIPLIER: &[u8] = include_bytes!("../ptx/sha3-multiplier.ptx.deflate");

/// Half of every rotation by the unit of doubles.
const SHA3_DOUBLES: &[u8] = include_bytes!("../ptx/sha3-doubles.ptx.deflate");

/// Rotations by the shifter alone.
const SHA3_PLAIN: &[u8] = include_bytes!("../ptx/sha3-plain.ptx.deflate");

/// Pascal. Reasoned: it multiplies 32-bit integers in three steps of 16 bits, so additions stay
/// additions; its multiprocessors hold as many threads as Hopper's.
static PASCAL: Tuning = Tuning {
    blocks: Blocks { many: 128, rows: 256, short: 128, hmac: 128, bin: 512 },
    sha3_blocks: Sha3Blocks { many: 128, rows: 128, short: 128 },
    each: 4,
    few: None,
    sm3_ptx: PLAIN,
    sha3_ptx: SHA3_PLAIN,
    hip_defines: &[],
};

/// Volta to Blackwell. Measured on Hopper (H100 SXM); on the others reasoned: since Volta a
/// multiprocessor multiplies 32-bit integers on a pipe of its own, at the rate of the logic unit.
/// `few`: 200,000 messages of 1 to 8192 bytes at 819 GB/s five at a time, 759 if not kept to any;
/// 100,000 at 765 three at a time, 623; 300,000 at 834 and 842.
const VOLTA: Tuning = Tuning {
    blocks: Blocks { many: 128, rows: 256, short: 128, hmac: 128, bin: 512 },
    sha3_blocks: Sha3Blocks { many: 128, rows: 128, short: 128 },
    each: 4,
    few: Some(3..=6),
    sm3_ptx: MULTIPLIER,
    sha3_ptx: SHA3_MULTIPLIER,
    hip_defines: &[],
};

/// Hopper. Measured (H100 SXM): it computes with doubles at the rate of the logic unit, so that these take a part
/// of SHA-3's rotations. Ampere's A100 has half of that rate, Blackwell's B300 and all cards that are not for
/// data centres next to none.
static HOPPER: Tuning = Tuning { sha3_ptx: SHA3_DOUBLES, ..VOLTA };

/// AMD and Hygon. Reasoned: 256 threads are four waves of 64, one for each SIMD of a compute unit.
static HIP: Tuning = Tuning {
    blocks: Blocks { many: 256, rows: 256, short: 256, hmac: 256, bin: 512 },
    sha3_blocks: Sha3Blocks { many: 128, rows: 128, short: 128 },
    each: 4,
    few: None,
    sm3_ptx: &[],
    sha3_ptx: &[],
    hip_defines: &["LOAD_BYTES=16"],
};

/// The row of a card.
pub(crate) fn tuning(info: &Info) -> &'static Tuning {
    match info.id.vendor {
        Vendor::Cuda if info.architecture.starts_with("sm_6") => &PASCAL,
        Vendor::Cuda if info.architecture == "sm_90" => &HOPPER,
        Vendor::Cuda => &VOLTA,
        Vendor::Hip => &HIP,
    }
}
