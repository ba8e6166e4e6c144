//! Bulk cryptography in many lanes.
//!
//! manylane computes one algorithm over many independent inputs at once: the lanes of a vector
//! unit each take one message, or one block of it. Algorithms are modules: the hashes [`sm3`] and [`sha3`], the curve [`sm2`], the
//! ciphers [`aes`] and [`sm4`] with their modes of operation in [`block`]. Inside each, one file per
//! *machine* (`portable`, `sse`, `avx2`, …) holds the kernel, and [`cpu`] decides which of them
//! this processor can run.
//!
//! ```
//! use manylane::{Messages, sm3};
//!
//! let rows = *b"abcdefgh"; // four messages of two bytes, one after another
//! let messages = Messages::strided(&rows, 2, 2, 4)?;
//! let mut digests = [[0; 32]; 4];
//! sm3::hash_many(&messages, &mut digests)?;
//! assert_eq!(digests[1], sm3::hash(b"cd"));
//! # Ok::<(), manylane::Error>(())
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod aes;
mod batch;
pub mod block;
pub mod cpu;
mod ct;
mod error;
mod ghash;
pub mod hash;
pub mod sha3;
pub mod sm2;
pub mod sm3;
pub mod sm4;

pub use batch::{Messages, Shape};
pub use error::Error;
