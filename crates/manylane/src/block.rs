//! What ciphers of 128-bit blocks share, AES and SM4: the
//! modes of operation, and the kernels under them.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod kernels;
pub(crate) mod lanes;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse;

/// A block: bytes in the order of the standards' input and output.
pub type Block = [u8; 16];

/// A cipher with its key, on the machine that it was made for.
///
/// The modes of operation are generic over it. It cannot be implemented outside this crate.
pub trait BlockCipher: kernels::Kernels {}

/// How XTS multiplies the tweak by α from block to block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TweakOrder {
    /// IEEE 1619-2018, NIST SP 800-38E: the first byte's lowest bit is the coefficient of x⁰.
    Ieee,
    /// GB/T 17964-2021: the first byte's highest bit is the coefficient of x⁰, as in GCM.
    Gb,
}
