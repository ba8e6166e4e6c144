//! Modes of operation of the ciphers with blocks of 128 bits, AES and SM4.
//!
//! | mode | standard | authenticated | parallel |
//! |---|---|---|---|
//! | [`Gcm`] | SP 800-38D, RFC 8998 | yes | yes |
//! | [`Ccm`] | SP 800-38C, RFC 8998 | yes | no |
//! | [`Ctr32`], [`Ctr64`], [`Ctr128`] | SP 800-38A | no | yes, and at any place |
//! | [`Xts`] | IEEE 1619, SP 800-38E, GB/T 17964-2021 | no | yes |
//! | [`cbc`], with [`pkcs7`] | SP 800-38A | no | decryption; encryption of many messages |
//! | [`cfb`], [`cfb8`] | SP 800-38A | no | decryption |
//! | [`Ofb`] | SP 800-38A | no | no |
//! | [`ecb`], with [`pkcs7`] | SP 800-38A | no | yes |
//!
//! Each is generic over the cipher, has a key and a machine by it, and works in place. Take [`Gcm`] unless
//! something else is asked for. Where the choice is made at run time: [`any`]. Many messages, each with its own key: [`gcm_encrypt_many`], [`cbc_encrypt_many`].
//! The traits of the `cipher` and `aead` crates: `BlockCipherEncrypt` and `BlockCipherDecrypt` for the ciphers, `KeyIvInit`
//! for all modes that have an IV but XTS, `StreamCipher` for OFB and counters (these with `StreamCipherSeek`),
//! `BlockModeEncrypt` and `BlockModeDecrypt` for CBC, `AeadInOut` for GCM and CCM.

pub mod any;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod borrowed;
pub mod cbc;
pub mod ccm;
pub mod cfb;
pub mod cfb8;
mod ctr;
#[cfg(test)]
pub(crate) mod differential;
pub mod ecb;
pub mod gcm;
pub(crate) mod kernels;
pub(crate) mod lanes;
mod many;
mod mode;
#[cfg(target_arch = "aarch64")]
mod neon;
mod ofb;
mod parts;
pub mod pkcs7;
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse;
mod stream;
mod tag;
mod traits;
pub mod xts;

pub use ccm::{Ccm, Sm4Ccm};
pub use ctr::{Ctr, Ctr32, Ctr64, Ctr128};
pub use gcm::{Aes128Gcm, Aes256Gcm, Gcm, Sm4Gcm};
pub use many::{GcmMessage, cbc_encrypt_many, gcm_decrypt_many, gcm_encrypt_many};
pub use ofb::Ofb;
pub use tag::Tag;
pub use xts::Xts;

use crate::{Error, cpu::Machine};

/// A block: bytes in the order of the standards' input and output.
pub type Block = [u8; 16];

/// A cipher with its key, on the machine that it was made for.
///
/// The modes of operation are generic over it, and take it by value or by reference: `Ctr128::new(&cipher, &iv)`
/// copies no key. It cannot be implemented outside this crate; what it has beside
/// [`machine`](Self::machine) is internal and may change at any time.
pub trait BlockCipher: kernels::Kernels {
    /// The machine whose kernels run.
    fn machine(&self) -> Machine;
}

/// How XTS multiplies the tweak by α from block to block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TweakOrder {
    /// IEEE 1619-2018, NIST SP 800-38E: the first byte's lowest bit is the coefficient of x⁰.
    Ieee,
    /// GB/T 17964-2021: the first byte's highest bit is the coefficient of x⁰, as in GCM.
    Gb,
}

/// The blocks of data that are nothing else.
fn whole_blocks(data: &mut [u8]) -> Result<&mut [Block], Error> {
    match data.as_chunks_mut() {
        (blocks, []) => Ok(blocks),
        _ => Err(Error::DataLength("the data are not whole blocks of 16 bytes")),
    }
}

/// `Debug` that shows no content.
macro_rules! no_content {
    ('k: $($name:ident),+) => {$(
        impl<C> core::fmt::Debug for $name<'_, C> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )+};
    ($($name:ident),+) => {$(
        impl<T> core::fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )+};
}
use no_content;

/// What a mode wipes is its cipher and its own; its name has the cipher's in it.
macro_rules! markers {
    ($($name:ident as $text:literal),+) => {$(
        impl<C: zeroize::ZeroizeOnDrop> zeroize::ZeroizeOnDrop for $name<C> {}

        impl<C: cipher::common::AlgorithmName> cipher::common::AlgorithmName for $name<C> {
            fn write_alg_name(f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(concat!($text, "<"))?;
                C::write_alg_name(f)?;
                f.write_str(">")
            }
        }
    )+};
}
use markers;
