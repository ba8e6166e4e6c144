//! SM3 and SHA-3 of many messages, AES and SM4 on GPUs: NVIDIA's through CUDA, AMD's and Hygon's through HIP.
//!
//! Building needs no GPU toolkit and running needs none either: the driver is loaded at run time
//! if it is there, CUDA kernels are embedded as PTX that the driver compiles for its card, and HIP
//! kernels are compiled by hipRTC on first use. Loading this crate starts nothing.
//!
//! | want | call |
//! |---|---|
//! | which GPUs there are | [`devices`] |
//! | digests of messages that are in a GPU's memory | [`Sm3`], [`Sha3`] |
//! | digests of messages in the host's memory | [`Ring`], or an engine of `manylane-engine` |
//! | AES or SM4 (ECB, counter mode) of data that is in a GPU's memory | [`Aes`], [`Sm4`] |
//! | the same of data in the host's memory | [`BlockRing`] |
//! | to measure methods that others have published | [`Comparators`], [`BlockComparators`], [`Sha3Comparators`] |
//!
//! What hipRTC compiled is kept in `manylane` under `XDG_CACHE_HOME` or `~/.cache`, or in the folder
//! that `MANYLANE_CACHE` names; `MANYLANE_CACHE=off` keeps nothing. The folder may be deleted at any
//! time.
//!
//! Every kernel but those of the comparators computes known answers on a device before its first use
//! there.

mod aes;
mod block;
mod block_comparators;
mod comparators;
mod compile;
mod error;
mod kernel_info;
mod known_answers;
mod messages;
mod order;
mod ring;
mod runtime;
mod sha3;
mod sha3_comparators;
mod sm3;
mod sm4;
mod tuning;

pub use aes::{Aes, AesKeys};
pub use block::{
    BlockCipher, BlockMode, BlockRing, BlockRingConfig, Counter, CounterWidth, Tables, Unapplied,
};
pub use block_comparators::{BlockComparator, BlockComparators};
pub use comparators::{Comparator, Comparators};
pub use error::Error;
pub use kernel_info::KernelInfo;
pub use messages::{DeviceMessages, Layout};
pub use order::Workspace;
pub use ring::{Filling, KernelSet, Pending, Ring, RingConfig, Slot, Start};
pub use runtime::{
    DeviceBuffer, DeviceId, DevicePointer, Event, Gpu, Info, PinnedBuffer, Stream, Vendor, devices,
};
pub use sha3::Sha3;
pub use sha3_comparators::{Sha3Comparator, Sha3Comparators};
pub use sm3::Sm3;
pub use sm4::{Sm4, Sm4Keys};
