//! SHA3-256 on GPUs as others have done it, for `manylane bench` to measure beside [`Sha3`].
//!
//! Not for use: nothing else in manylane calls them, and they are not checked before their first
//! use.
//!
//! [`Sha3`]: crate::Sha3
#![allow(unsafe_code)]

use std::fmt;

use crate::{
    DeviceMessages, DevicePointer, Error, Gpu, KernelInfo, Layout, Stream, compile,
    messages::{argument, check},
    runtime::{Kernel, Module},
};

/// A way to compute SHA3-256 on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Sha3Comparator {
    /// A thread block for each message, with the state in shared memory: 25 threads have a word each, and
    /// wait for each other three times a round.
    BlockPerMessage,
    /// A thread for each message, and 32 messages at most in a thread block: of a single message, how long
    /// its chain of blocks takes.
    Serial,
}

impl Sha3Comparator {
    /// All of them.
    pub const ALL: [Sha3Comparator; 2] = [Sha3Comparator::BlockPerMessage, Sha3Comparator::Serial];

    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Sha3Comparator::BlockPerMessage => "a thread block a message, state in shared memory",
            Sha3Comparator::Serial => "one thread, one message",
        }
    }

    fn kernel(self) -> &'static str {
        match self {
            Sha3Comparator::BlockPerMessage => "comparator_sha3_block",
            Sha3Comparator::Serial => "comparator_sha3_serial",
        }
    }
}

/// The kernels for CUDA: the same on all cards, as they take nothing from the tuning.
pub(crate) const PTX: &[u8] = include_bytes!("../ptx/sha3-comparators.ptx.deflate");

/// Threads of a block: a warp.
const BLOCK: u32 = 32;

/// Messages of one launch at most: threads are numbered by 32 bits.
const MAX_COUNT: usize = (u32::MAX / BLOCK) as usize;

/// The comparators on one device.
pub struct Sha3Comparators {
    gpu: Gpu,
    /// In the order of [`Sha3Comparator::ALL`].
    kernels: [Kernel; Sha3Comparator::ALL.len()],
    /// What the kernels are part of.
    _module: Module,
}

impl Sha3Comparators {
    /// Compiles and loads them. They are not checked: whoever measures them compares digests.
    ///
    /// # Errors
    /// [`Error::Compile`], [`Error::Forked`], or what the driver says.
    pub fn new(gpu: &Gpu) -> Result<Self, Error> {
        let module = Module::new(gpu, &compile::sha3_comparators_image(gpu)?)?;
        let [a, b] = Sha3Comparator::ALL.map(|which| module.kernel(which.kernel()));
        Ok(Sha3Comparators { gpu: gpu.clone(), kernels: [a?, b?], _module: module })
    }

    /// The kernels, as the driver compiled them, in the order of [`Sha3Comparator::ALL`].
    ///
    /// # Errors
    /// What the driver says.
    pub fn kernels(&self) -> Result<Vec<KernelInfo>, Error> {
        self.kernels.iter().map(|kernel| KernelInfo::of(kernel, &self.gpu, BLOCK)).collect()
    }

    /// Enqueues the SHA3-256 digest of each message: digest `i` goes to `out + 32 * i`. `out` is
    /// 16-byte aligned; messages are [`Strided`](Layout::Strided), of a multiple of 8 bytes, at 8-byte
    /// boundaries.
    ///
    /// # Errors
    /// [`Error::Input`] if messages or output are otherwise, there are more than 2²⁷ - 1 messages, or the stream is
    /// another device's; what the driver says.
    ///
    /// # Safety
    /// As for [`Sha3::hash_many`](crate::Sha3::hash_many).
    pub unsafe fn hash_many(
        &self,
        which: Sha3Comparator,
        stream: &Stream,
        messages: &DeviceMessages,
        out: DevicePointer,
    ) -> Result<(), Error> {
        let refused = |why| Error::Input(manylane::Error::Shape(why));
        check(&self.gpu, stream, None, messages, out)?;
        let Layout::Strided { data, len, stride } = messages.layout else {
            return Err(refused("not a layout that this comparator takes"));
        };
        if [data.0, stride, len].iter().any(|number| !number.is_multiple_of(8)) {
            return Err(refused("not messages of whole words"));
        }
        if messages.count > MAX_COUNT {
            return Err(refused("more messages than a comparator takes"));
        }
        let count = messages.count as u32;
        let (threads, kernel) = match which {
            Sha3Comparator::BlockPerMessage => (count * BLOCK, &self.kernels[0]),
            Sha3Comparator::Serial => (count, &self.kernels[1]),
        };
        let mut arguments =
            [argument(&data), argument(&stride), argument(&len), argument(&count), argument(&out)];
        // SAFETY: the arguments are the kernel's, the addresses as the caller promises.
        unsafe { kernel.launch(stream, threads, BLOCK, &mut arguments) }
    }
}

impl fmt::Debug for Sha3Comparators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha3Comparators({})", self.gpu.info().id)
    }
}
