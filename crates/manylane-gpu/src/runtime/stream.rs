//! Queues of work on a device, marks in them, and what can be enqueued.

use std::{ffi::c_void, fmt};

use super::{DevicePointer, FunctionInfo, Gpu, Grid, Handle};
use crate::Error;

/// A queue of work on a device: what is enqueued runs in order, beside that of other streams.
pub struct Stream {
    gpu: Gpu,
    handle: Handle,
    owned: bool,
}

impl Stream {
    /// A new stream.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(gpu: &Gpu) -> Result<Self, Error> {
        Ok(Stream { gpu: gpu.clone(), handle: gpu.bound()?.stream()?, owned: true })
    }

    /// The caller's own stream: a `CUstream` or `cudaStream_t`, or a `hipStream_t`, of that
    /// device's primary context. Null is the default stream.
    ///
    /// # Safety
    /// The stream must outlive the value and all that is enqueued through it.
    pub unsafe fn borrowed(gpu: &Gpu, stream: *mut c_void) -> Self {
        Stream { gpu: gpu.clone(), handle: Handle(stream), owned: false }
    }

    /// The device that it is a queue of.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Waits until everything that was enqueued is done.
    ///
    /// # Errors
    /// What the driver says, of the wait or of anything enqueued before.
    pub fn synchronize(&self) -> Result<(), Error> {
        // SAFETY: the handle is the driver's and alive.
        unsafe { self.gpu.bound()?.synchronize(self.handle) }
    }

    /// Copies from memory that others own, after all that is enqueued, and waits for that.
    ///
    /// # Errors
    /// What the driver says; then `bytes` may hold anything.
    ///
    /// # Safety
    /// So many bytes at `from` are the device's, and stay so until this returns.
    pub unsafe fn read(&self, from: DevicePointer, bytes: &mut [u8]) -> Result<(), Error> {
        // SAFETY: the caller's, and the copy is over when this returns.
        unsafe {
            let driver = self.gpu.bound()?;
            driver.copy_out(bytes.as_mut_ptr(), from, bytes.len(), self.handle)?;
        }
        self.synchronize()
    }

    /// Lets what is enqueued from now on wait for the event.
    ///
    /// # Errors
    /// What the driver says.
    pub fn wait(&self, event: &Event) -> Result<(), Error> {
        // SAFETY: both handles are the driver's and alive; a destroyed event is waited for still.
        unsafe { self.gpu.bound()?.wait(self.handle, event.handle) }
    }

    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: created by `new` and destroyed once; what is enqueued runs to its end.
            self.gpu.on_drop(|driver| unsafe { driver.destroy_stream(self.handle) });
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({})", self.gpu.info().id)
    }
}

/// A mark in a stream.
pub struct Event {
    gpu: Gpu,
    handle: Handle,
}

impl Event {
    /// A mark that says only whether it was passed.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(gpu: &Gpu) -> Result<Self, Error> {
        Ok(Event { gpu: gpu.clone(), handle: gpu.bound()?.event(false)? })
    }

    /// A mark that keeps the time.
    ///
    /// # Errors
    /// What the driver says.
    pub fn timed(gpu: &Gpu) -> Result<Self, Error> {
        Ok(Event { gpu: gpu.clone(), handle: gpu.bound()?.event(true)? })
    }

    /// Sets the mark after all that is enqueued on the stream now.
    ///
    /// # Errors
    /// What the driver says.
    pub fn record(&self, stream: &Stream) -> Result<(), Error> {
        // SAFETY: both handles are the driver's and alive.
        unsafe { self.gpu.bound()?.record(self.handle, stream.handle) }
    }

    /// Whether everything before the mark is done; `true` if it was never set.
    ///
    /// # Errors
    /// What the driver says, of anything that ran before.
    pub fn is_done(&self) -> Result<bool, Error> {
        // SAFETY: the handle is the driver's and alive.
        unsafe { self.gpu.bound()?.query(self.handle) }
    }

    /// Milliseconds from `start` to this mark; both must be timed, and done.
    ///
    /// # Errors
    /// What the driver says.
    pub fn since(&self, start: &Event) -> Result<f32, Error> {
        // SAFETY: both handles are the driver's and alive.
        unsafe { self.gpu.bound()?.elapsed(start.handle, self.handle) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created by this type and destroyed once.
        self.gpu.on_drop(|driver| unsafe { driver.destroy_event(self.handle) });
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({})", self.gpu.info().id)
    }
}

/// Kernels loaded into a device's context.
pub(crate) struct Module {
    gpu: Gpu,
    handle: Handle,
}

impl Module {
    /// Loads PTX (with a final zero byte) or a code object.
    pub(crate) fn new(gpu: &Gpu, image: &[u8]) -> Result<Self, Error> {
        Ok(Module { gpu: gpu.clone(), handle: gpu.bound()?.load(image)? })
    }

    /// A kernel by its name.
    pub(crate) fn kernel(&self, name: &'static str) -> Result<Kernel, Error> {
        // SAFETY: the handle is the driver's and alive.
        let handle = unsafe { self.gpu.bound()?.function(self.handle, name)? };
        Ok(Kernel { name, handle })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        self.gpu.on_drop(|driver| {
            // Launches may be under way on any stream, and their code goes now. Where the device
            // has failed nothing runs any more.
            let _ = driver.synchronize_all();
            // SAFETY: loaded by `new` and unloaded once, by the owner of its kernels.
            unsafe { driver.unload(self.handle) };
        });
    }
}

/// A kernel of a [`Module`], of use as long as that is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    handle: Handle,
}

impl Kernel {
    pub(crate) fn info(&self, gpu: &Gpu) -> Result<FunctionInfo, Error> {
        // SAFETY: the module is alive, says the type's contract.
        unsafe { gpu.bound()?.function_info(self.handle) }
    }

    /// Lets [`launch_sharing`](Self::launch_sharing) ask for so many bytes.
    pub(crate) fn allow_shared(&self, gpu: &Gpu, bytes: u32) -> Result<(), Error> {
        // SAFETY: the module is alive, says the type's contract.
        unsafe { gpu.bound()?.allow_shared(self.handle, bytes) }
    }

    /// Bytes of shared memory with which at most `blocks` thread blocks are on a multiprocessor at
    /// a time, for [`launch_sharing`](Self::launch_sharing); none if that cannot be had.
    pub(crate) fn shared_to_limit(&self, gpu: &Gpu, blocks: u32) -> Result<Option<u32>, Error> {
        // SAFETY: the module is alive, says the type's contract.
        unsafe { gpu.bound()?.shared_to_limit(self.handle, gpu.info().id.ordinal, blocks) }
    }

    /// Enqueues the kernel for at least `threads` threads, in blocks of `block`.
    ///
    /// # Safety
    /// `arguments` point to values as the kernel's signature has them, and every address among
    /// these is valid until the stream has passed the launch.
    pub(crate) unsafe fn launch(
        &self,
        stream: &Stream,
        threads: u32,
        block: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error> {
        // SAFETY: the caller's.
        unsafe { self.launch_sharing(stream, threads, block, 0, arguments) }
    }

    /// The same, with so many bytes of dynamic shared memory a block.
    ///
    /// # Safety
    /// As [`launch`](Self::launch).
    pub(crate) unsafe fn launch_sharing(
        &self,
        stream: &Stream,
        threads: u32,
        block: u32,
        shared: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error> {
        if threads == 0 {
            return Ok(());
        }
        let driver = stream.gpu().bound()?;
        let grid = Grid { blocks: threads.div_ceil(block), threads: block, shared };
        // SAFETY: as this function's contract says.
        unsafe { driver.launch(self.handle, grid, stream.handle(), arguments) }
    }
}
