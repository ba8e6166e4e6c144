//! SHA-3 (FIPS 202, SP 800-185, RFC 9861): one stream, or many messages side by side.
//!
//! | want | call |
//! |---|---|
//! | output for one message in memory | [`hash`] |
//! | output for a stream | [`Sha3_256`] and others, with the RustCrypto [`Digest`] traits |
//! | output of any length for a stream | [`Shake128`], [`TurboShake128`], [`CShake128`] and others, with the [`ExtendableOutput`] traits |
//! | one long input in parallel | [`Kt128`], [`Kt256`], with the [`ExtendableOutput`] traits |
//! | KMAC | [`Kmac128`], [`Kmac256`]; of many messages, [`tag_many`](Kmac::tag_many) |
//! | HMAC-SHA3 | [`HmacSha3_256`] and others, with the RustCrypto `Mac` traits |
//! | outputs for many messages | [`hash_many`]; with a common prefix, [`hash_many_after`] |
//! | many streams, fed block by block | [`Lanes`] |
//!
//! All of them are sponges on one permutation, Keccak-p\[1600\]; a [`Function`] says which.
//!
//! One message is one serial chain of blocks: no number of lanes or cores makes it faster than
//! one stream, but for KT128 and KT256, which are trees.

#[cfg(target_arch = "aarch64")]
mod armsha3;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod bmi2;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod body;
pub mod comparators;
mod core;
pub(crate) mod dispatch;
mod encoding;
mod function;
mod kangaroo;
mod kmac;
mod lanes;
mod many;
mod midstate;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pad;
mod portable;
#[cfg(test)]
mod tests;
mod xof;

use crate::{Error, Messages, cpu::Machine};

pub use self::{
    core::{
        FixedCore, HmacSha3_224, HmacSha3_256, HmacSha3_384, HmacSha3_512, Keccak224, Keccak256,
        Keccak384, Keccak512, Sha3_224, Sha3_256, Sha3_384, Sha3_512,
    },
    function::Function,
    kangaroo::{KT_CHUNK_LEN, Kt, Kt128, Kt256},
    kmac::{Kmac, Kmac128, Kmac256},
    lanes::Lanes,
    many::{hash_many_after, hash_many_on},
    midstate::Midstate,
    pad::pad,
    xof::{
        CShake, CShake128, CShake256, Shake128, Shake256, TurboShake128, TurboShake256, Xof,
        XofOutput,
    },
};
pub use digest::{self, Digest, ExtendableOutput, Update, XofReader};

/// The round constants of ι (FIPS 202, clause 3.2.5).
const RC: [u64; 24] = {
    let mut rc = [0; 24];
    // rc(t) of algorithm 5: bit t of the sequence that x^8 + x^6 + x^5 + x^4 + 1 generates.
    let mut register: u64 = 1;
    let mut round = 0;
    while round < 24 {
        let mut j = 0;
        while j < 7 {
            rc[round] |= (register & 1) << ((1 << j) - 1);
            register <<= 1;
            if register & 0x100 != 0 {
                register ^= 0x171;
            }
            j += 1;
        }
        round += 1;
    }
    rc
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

    /// Its unique name, such as `sha3/avx2`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The machine it is written for.
    pub fn machine(self) -> Machine {
        self.machine
    }
}

/// The output of `function` for one message.
///
/// ```
/// use manylane::sha3::{self, Function};
///
/// let mut digest = [0; 32];
/// sha3::hash(Function::SHA3_256, b"abc", &mut digest);
/// assert_eq!(digest[..4], [0x3a, 0x98, 0x5d, 0xa7]);
/// ```
///
/// # Panics
/// If the function is no XOF, and `out` is not as long as its output.
pub fn hash(function: Function, message: &[u8], out: &mut [u8]) {
    Midstate::new(function).finish(message, out);
}

/// The output of `function` for each message, one after another in `out`, on the calling thread.
///
/// Messages are packed into the lanes of the widest machine there is; one that finishes makes
/// room for the next. Each has [`output_len`](Function::output_len) bytes of output.
///
/// ```
/// use manylane::{Messages, sha3};
///
/// let mut digests = [[0; 32]; 2];
/// let messages: [&[u8]; 2] = [b"abc", b""];
/// let messages = Messages::slices(&messages);
/// sha3::hash_many(sha3::Function::SHA3_256, &messages, digests.as_flattened_mut())?;
/// assert_eq!(digests[0][..4], [0x3a, 0x98, 0x5d, 0xa7]);
/// # Ok::<(), manylane::Error>(())
/// ```
///
/// # Errors
/// [`Error::OutputLength`] unless `out.len() == messages.len() * function.output_len()`.
pub fn hash_many(function: Function, messages: &Messages, out: &mut [u8]) -> Result<(), Error> {
    hash_many_after(&Midstate::new(function), messages, &[], out)
}

/// Writes the first bytes of a state's words: in place, so that no copy of secret ones is left.
fn write_bytes(a: &[u64], out: &mut [u8]) {
    let (words, rest) = out.as_chunks_mut::<8>();
    for (bytes, word) in words.iter_mut().zip(a) {
        *bytes = word.to_le_bytes();
    }
    if !rest.is_empty() {
        rest.copy_from_slice(&a[words.len()].to_le_bytes()[..rest.len()]);
    }
}

const _: () = assert!(RC[0] == 1 && RC[1] == 0x8082 && RC[23] == 0x8000_0000_8000_8008);
