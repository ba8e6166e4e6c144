//! What is known of a kernel.

use crate::{Error, Gpu, runtime::Kernel};

/// What the driver says of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Its name.
    pub name: &'static str,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes a thread spills.
    pub local_bytes: u32,
    /// Threads of a block that it is launched with.
    pub block: u32,
    /// Threads of a block that it can be launched with.
    pub max_block: u32,
}

impl KernelInfo {
    /// Of a kernel that is launched with blocks of so many threads.
    pub(crate) fn of(kernel: &Kernel, gpu: &Gpu, block: u32) -> Result<Self, Error> {
        let info = kernel.info(gpu)?;
        Ok(KernelInfo {
            name: kernel.name,
            registers: info.registers,
            local_bytes: info.local_bytes,
            block,
            max_block: info.max_threads_per_block,
        })
    }
}
