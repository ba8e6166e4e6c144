//! Memory of a device, and page-locked memory of the host.

use std::{fmt, ptr::NonNull, slice};

use super::{DevicePointer, Gpu, Stream};
use crate::Error;

/// Memory on a device.
///
/// What it holds at first is whatever the last owner left. It is wiped when it is dropped: device
/// memory goes to other processes as it is.
pub struct DeviceBuffer {
    gpu: Gpu,
    pointer: DevicePointer,
    len: usize,
}

impl DeviceBuffer {
    /// `len` bytes, at least 256-byte aligned; at least one is allocated.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or what the driver says.
    pub fn new(gpu: &Gpu, len: usize) -> Result<Self, Error> {
        let pointer = gpu.bound()?.alloc(len.max(1))?;
        Ok(DeviceBuffer { gpu: gpu.clone(), pointer, len })
    }

    /// Its address.
    pub fn pointer(&self) -> DevicePointer {
        self.pointer
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies `bytes` to `at` and waits for that.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Panics
    /// If they do not fit.
    pub fn write(&mut self, at: usize, bytes: &[u8], stream: &Stream) -> Result<(), Error> {
        assert!(at <= self.len && bytes.len() <= self.len - at, "{} bytes", self.len);
        // SAFETY: both ranges are valid, and the copy is over when this returns.
        unsafe {
            let driver = self.gpu.bound()?;
            driver.copy_in(self.pointer.add(at), bytes.as_ptr(), bytes.len(), stream.handle())?;
        }
        stream.synchronize()
    }

    /// Copies from `at` into `bytes`, after all that is enqueued on the stream, and waits for that.
    ///
    /// # Errors
    /// What the driver says; then `bytes` may hold anything.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn read(&self, at: usize, bytes: &mut [u8], stream: &Stream) -> Result<(), Error> {
        assert!(at <= self.len && bytes.len() <= self.len - at, "{} bytes", self.len);
        // SAFETY: both ranges are valid, and the copy is over when this returns.
        unsafe {
            let driver = self.gpu.bound()?;
            let from = self.pointer.add(at);
            driver.copy_out(bytes.as_mut_ptr(), from, bytes.len(), stream.handle())?;
        }
        stream.synchronize()
    }

    /// Enqueues filling all of it with `byte`.
    ///
    /// # Errors
    /// What the driver says.
    pub fn fill(&mut self, byte: u8, stream: &Stream) -> Result<(), Error> {
        // SAFETY: the range is this buffer's; `drop` waits for the stream's device.
        unsafe { self.gpu.bound()?.fill(self.pointer, byte, self.len, stream.handle()) }
    }

    /// Enqueues zeros for the first `len` bytes.
    ///
    /// # Panics
    /// If there are not so many.
    pub(crate) fn wipe(&mut self, len: usize, stream: &Stream) -> Result<(), Error> {
        assert!(len <= self.len, "{} bytes", self.len);
        // SAFETY: as in `fill`.
        unsafe { self.gpu.bound()?.fill(self.pointer, 0, len, stream.handle()) }
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        self.gpu.on_drop(|driver| {
            // The default stream does not wait for streams like ours, so all are waited for: what
            // still runs could otherwise write what is wiped here. Freeing would wait too.
            // Where the device has failed, its context is of no use any more, and there is nothing
            // better to do than to free.
            let _ = driver.synchronize_all();
            let null = super::Handle(std::ptr::null_mut());
            // SAFETY: allocated by `new` and freed once; nothing uses it any more.
            unsafe {
                let _ = driver.fill(self.pointer, 0, self.len, null);
                let _ = driver.synchronize(null);
                driver.free(self.pointer);
            }
        });
    }
}

impl fmt::Debug for DeviceBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBuffer({} bytes on {})", self.len, self.gpu.info().id)
    }
}

/// Page-locked host memory, which devices copy from and to without help of a core. Zero at first,
/// wiped when dropped. It belongs to the process that made it: a forked child may not have it, and
/// to read or write it there can end the child. To drop it there does nothing.
pub struct PinnedBuffer {
    gpu: Gpu,
    pointer: NonNull<u8>,
    len: usize,
}

// SAFETY: it owns its memory like a boxed slice.
unsafe impl Send for PinnedBuffer {}
// SAFETY: as above.
unsafe impl Sync for PinnedBuffer {}

impl PinnedBuffer {
    /// `len` bytes, aligned to a page; at least one is allocated.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or what the driver says.
    pub fn new(gpu: &Gpu, len: usize) -> Result<Self, Error> {
        let pointer = gpu.bound()?.alloc_host(len.max(1))?;
        // SAFETY: the driver gave `len` bytes or more.
        unsafe { pointer.as_ptr().write_bytes(0, len) };
        Ok(PinnedBuffer { gpu: gpu.clone(), pointer, len })
    }

    /// Wipes the first `len` bytes.
    ///
    /// # Panics
    /// If there are not so many.
    pub(crate) fn wipe(&mut self, len: usize) {
        // The driver and the device know where it is, so that no compiler may leave this out; a volatile store a byte, or
        // eight, would take several times as long.
        self[..len].fill(0);
    }

    /// Where the device sees it.
    pub(crate) fn on_device(&self) -> Result<DevicePointer, Error> {
        // SAFETY: allocated by the driver, mapped.
        unsafe { self.gpu.bound()?.host_as_device(self.pointer.as_ptr()) }
    }
}

impl std::ops::Deref for PinnedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `new` allocated and initialised so many bytes.
        unsafe { slice::from_raw_parts(self.pointer.as_ptr(), self.len) }
    }
}

impl std::ops::DerefMut for PinnedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) }
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        // A forked child may not have the memory at all, and may not touch what it shares.
        if self.gpu.is_of_this_process() {
            self.wipe(self.len);
        }
        // SAFETY: allocated by `new` and freed once.
        self.gpu.on_drop(|driver| unsafe { driver.free_host(self.pointer) });
    }
}

impl fmt::Debug for PinnedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedBuffer({} bytes for {})", self.len, self.gpu.info().id)
    }
}
