//! Memory of GPUs for results, kept for the next ones: the driver's allocation waits for the whole device.
//!
//! As CuPy's, a block belongs to a stream: what follows on that stream comes after whatever used the block, so it can be
//! given out again at once. Who uses an array on another stream keeps it until that is done.

use std::{
    collections::HashMap,
    process,
    sync::{LazyLock, Mutex, PoisonError},
};

use manylane_gpu::{DeviceBuffer, DeviceId, DevicePointer, Error, Gpu};

use crate::streams::Number;

/// Blocks of one size that are kept for a stream.
const MOST: usize = 8;

/// Bytes of the smallest block.
const SMALLEST: usize = 512;

/// Bytes of the largest block that is kept: a quarter of a gibibyte, the digests of eight million messages.
const LARGEST: usize = 256 << 20;

type Key = (DeviceId, Number, usize);
type Free = HashMap<Key, Vec<DeviceBuffer>>;
static FREE: LazyLock<Mutex<Free>> = LazyLock::new(Mutex::default);

/// Memory that goes back when it is dropped.
pub(crate) struct Block {
    /// There until it is dropped.
    buffer: Option<DeviceBuffer>,
    key: Key,
    pid: u32,
}

/// At least so many bytes for work on a stream.
pub(crate) fn block(gpu: &Gpu, stream: Number, bytes: usize) -> Result<Block, Error> {
    let size = match bytes.max(SMALLEST) {
        kept @ ..=LARGEST => kept.next_power_of_two(),
        large => large,
    };
    let key = (gpu.info().id, stream, size);
    let kept = FREE.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&key).and_then(Vec::pop);
    let buffer = match kept {
        Some(buffer) => buffer,
        None => DeviceBuffer::new(gpu, size)?,
    };
    Ok(Block { buffer: Some(buffer), key, pid: process::id() })
}

impl Block {
    /// The memory.
    pub(crate) fn memory(&self) -> &DeviceBuffer {
        self.buffer.as_ref().expect("there until it is dropped")
    }

    /// The same, to be written to.
    pub(crate) fn memory_mut(&mut self) -> &mut DeviceBuffer {
        self.buffer.as_mut().expect("there until it is dropped")
    }

    /// Its address.
    pub(crate) fn pointer(&self) -> DevicePointer {
        self.memory().pointer()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // In a forked child the lock could be held for ever, and there is nothing to give back.
        if self.pid != process::id() || self.key.2 > LARGEST {
            return;
        }
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = free.entry(self.key).or_default();
        if kept.len() < MOST {
            kept.extend(self.buffer.take());
        }
    }
}
