//! Memory of GPUs for results, kept for the next ones: the driver's allocation waits for the whole device.
//!
//! As CuPy's, a block belongs to a stream: what follows on that stream comes after whatever used the block, so it can be
//! given out again at once. One that another stream has been told of is not given out again: nobody says when that has
//! done with it, and the driver, which waits for the whole device before it frees, need not know.

use std::{
    collections::HashMap,
    process,
    sync::{
        LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use manylane_gpu::{DeviceBuffer, DeviceId, DevicePointer, Error, Gpu};
use pyo3::Python;

use crate::streams::Number;

/// Blocks of one size that are kept for a stream.
const MOST: usize = 8;

/// Bytes of the smallest block.
const SMALLEST: usize = 512;

/// Bytes of the largest block that is kept: a quarter of a gibibyte, the digests of eight million messages.
const LARGEST: usize = 256 << 20;

/// Bytes of all blocks that are kept.
const MOST_BYTES: usize = 1 << 30;

type Key = (DeviceId, Number, usize);

#[derive(Default)]
struct Free {
    blocks: HashMap<Key, Vec<DeviceBuffer>>,
    bytes: usize,
}

fn free() -> MutexGuard<'static, Free> {
    static FREE: LazyLock<Mutex<Free>> = LazyLock::new(Mutex::default);
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory that goes back when it is dropped.
pub(crate) struct Block {
    /// There until it is dropped.
    buffer: Option<DeviceBuffer>,
    key: Key,
    /// Whether another stream may be using it.
    is_shared: AtomicBool,
    pid: u32,
}

/// At least so many bytes for work on a stream. Can wait for the device, so the interpreter's lock must not be held.
pub(crate) fn block(gpu: &Gpu, stream: Number, bytes: usize) -> Result<Block, Error> {
    let size = match bytes.max(SMALLEST) {
        kept @ ..=LARGEST => kept.next_power_of_two(),
        large => large,
    };
    let key = (gpu.info().id, stream, size);
    let kept = || {
        let mut free = free();
        let buffer = free.blocks.get_mut(&key)?.pop()?;
        free.bytes -= size;
        Some(buffer)
    };
    let buffer = match kept() {
        Some(buffer) => buffer,
        None => with_room(|| DeviceBuffer::new(gpu, size))?,
    };
    let is_shared = AtomicBool::new(false);
    Ok(Block { buffer: Some(buffer), key, is_shared, pid: process::id() })
}

/// Tries again without what is kept here if the device has no memory left.
pub(crate) fn with_room<T>(allocate: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    match allocate() {
        Err(Error::OutOfMemory { .. }) => {
            empty();
            allocate()
        }
        done => done,
    }
}

/// Gives all that is kept back to the driver.
pub(crate) fn empty() {
    // Taken out first: the driver waits for the device.
    let all = std::mem::take(&mut *free());
    drop(all);
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

    /// Another stream than its own may use it from now on.
    pub(crate) fn share(&self) {
        self.is_shared.store(true, Relaxed);
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // In a forked child the lock could be held for ever, and there is nothing to give back.
        if self.pid != process::id() {
            return;
        }
        let Some(buffer) = self.buffer.take() else { return };
        let size = self.key.2;
        if !self.is_shared.load(Relaxed) && size <= LARGEST {
            let mut free = free();
            let Free { blocks, bytes } = &mut *free;
            let kept = blocks.entry(self.key).or_default();
            if kept.len() < MOST && *bytes + size <= MOST_BYTES {
                kept.push(buffer);
                *bytes += size;
                return;
            }
        }
        // The driver waits for the device, which can wait for a function of the host that needs the interpreter. Without
        // an interpreter there is no lock to let go of.
        let mut buffer = Some(buffer);
        let _ = Python::try_attach(|py| py.detach(|| drop(buffer.take())));
    }
}
