//! SM3 (GB/T 32905-2016, ISO/IEC 10118-3:2018): one stream, or many messages side by side.
//!
//! | want | call |
//! |---|---|
//! | digest of one message in memory | [`hash`] |
//! | digest of a stream | [`Sm3`], with the RustCrypto [`Digest`] traits |
//! | digests of many messages | [`hash_many`]; with a common prefix, [`hash_many_after`] |
//! | HMAC-SM3 | [`HmacSm3`]; each message its own key, [`hmac_many`] |
//! | HKDF, PBKDF2 | [`HkdfSm3`], [`pbkdf2()`] |
//! | many streams, fed block by block | [`Lanes`] |
//!
//! One message is one serial chain of blocks: no number of lanes or cores makes it faster than
//! one stream of [`Sm3`].

#[cfg(target_arch = "aarch64")]
mod armcrypto;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod beside;
#[cfg(target_arch = "x86_64")]
mod bmi2;
mod body;
mod core;
pub(crate) mod counter;
pub(crate) mod dispatch;
mod hmac;
mod lanes;
pub(crate) mod many;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pad;
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse;

use crate::{Error, Messages, cpu::Machine};

pub use self::{
    core::{Midstate, Sm3, Sm3Core},
    hmac::{HkdfSm3, HmacSm3, hmac_many, hmac_many_on, pbkdf2},
    lanes::Lanes,
    many::{hash_many_after, hash_many_on},
    pad::pad,
};
pub use digest::{self, Digest};

/// Bytes of a digest.
pub const DIGEST_LEN: usize = 32;

/// Bytes of a block.
pub const BLOCK_LEN: usize = 64;

/// The initial value of GB/T 32905-2016, clause 4.1.
pub const IV: [u32; 8] = [
    0x7380_166f,
    0x4914_b2b9,
    0x1724_42d7,
    0xda8a_0600,
    0xa96f_30bc,
    0x1631_38aa,
    0xe38d_ee4d,
    0xb0fb_0e4e,
];

/// T_j <<< (j mod 32) of GB/T 32905-2016, clause 4.2.
const T: [u32; 64] = {
    let mut t = [0; 64];
    let mut j = 0;
    while j < 64 {
        let word: u32 = if j < 16 { 0x79cc_4519 } else { 0x7a87_9d8a };
        t[j] = word.rotate_left(j as u32 % 32);
        j += 1;
    }
    t
};

/// The identity of a kernel, returned by the kernel itself: proof of which code ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    name: &'static str,
    machine: Machine,
}

impl Kernel {
    const fn new(name: &'static str, machine: Machine) -> Self {
        Kernel { name, machine }
    }

    /// Its unique name, such as `sm3/avx2`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The machine it is written for.
    pub fn machine(self) -> Machine {
        self.machine
    }
}

/// The digest of one message.
///
/// ```
/// let digest = manylane::sm3::hash(b"abc");
/// assert_eq!(digest[..4], [0x66, 0xc7, 0xf0, 0xf4]);
/// ```
pub fn hash(message: &[u8]) -> [u8; DIGEST_LEN] {
    Midstate::default().finish(message)
}

/// The digest of each message, in order, into `out`, on the calling thread.
///
/// Messages are packed into the lanes of the widest machine there is; one that finishes makes
/// room for the next.
///
/// # Errors
/// [`Error::OutputLength`] unless `out.len() == messages.len()`.
pub fn hash_many(messages: &Messages, out: &mut [[u8; DIGEST_LEN]]) -> Result<(), Error> {
    hash_many_after(&Midstate::default(), messages, out)
}

/// Writes a chaining value as big-endian bytes: in place, so that no copy of a secret one is left.
fn write_bytes(v: &[u32; 8], out: &mut [u8; DIGEST_LEN]) {
    for (bytes, word) in out.as_chunks_mut::<4>().0.iter_mut().zip(v) {
        *bytes = word.to_be_bytes();
    }
}
