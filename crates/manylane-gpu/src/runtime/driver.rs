//! What both vendors' drivers can do, in the few calls that manylane needs.

use std::{ffi::c_void, fmt, ptr::NonNull};

use super::Info;
use crate::Error;

/// An address in a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DevicePointer(pub u64);

impl DevicePointer {
    /// The address `bytes` further on.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "named as that of ordinary pointers")]
    pub fn add(self, bytes: usize) -> Self {
        DevicePointer(self.0 + bytes as u64)
    }
}

/// Any of the drivers' opaque handles. Null is one too: the default stream, for instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle(pub(crate) *mut c_void);

// SAFETY: both vendors' handles may be used from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// A kernel as the driver reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FunctionInfo {
    pub(crate) registers: u32,
    /// Spilled bytes a thread.
    pub(crate) local_bytes: u32,
    pub(crate) max_threads_per_block: u32,
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) blocks: u32,
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub(crate) shared: u32,
}

/// One vendor's driver library, loaded and initialised in this process.
///
/// Calls that concern a context need it to be current on the calling thread ([`bind`]); this
/// module's wrappers see to that. All functions that take raw handles or addresses are unsafe:
/// the handles must be this driver's and alive, the addresses valid for as long as the work that
/// was enqueued with them runs.
///
/// [`bind`]: Driver::bind
#[allow(clippy::missing_safety_doc)]
pub(crate) trait Driver: fmt::Debug + Send + Sync {
    fn count(&self) -> Result<u32, Error>;
    fn info(&self, ordinal: u32) -> Result<Info, Error>;

    /// The device's primary context, counted until [`release`](Driver::release).
    fn retain(&self, ordinal: u32) -> Result<Handle, Error>;
    unsafe fn release(&self, ordinal: u32);
    /// Makes the context current on the calling thread. Gives what was current instead, to be
    /// [restored](Driver::restore): the thread's other code may count on it.
    unsafe fn bind(&self, context: Handle, ordinal: u32) -> Result<Option<Handle>, Error>;
    unsafe fn restore(&self, previous: Handle);
    /// Waits until everything that was enqueued in the current context is done, on any stream.
    fn synchronize_all(&self) -> Result<(), Error>;

    /// Free and total bytes of the current device.
    fn memory(&self) -> Result<(u64, u64), Error>;
    fn alloc(&self, bytes: usize) -> Result<DevicePointer, Error>;
    unsafe fn free(&self, pointer: DevicePointer);
    /// Page-locked host memory, usable from every context and mapped for devices that read it in
    /// place.
    fn alloc_host(&self, bytes: usize) -> Result<NonNull<u8>, Error>;
    unsafe fn free_host(&self, pointer: NonNull<u8>);
    /// Where the device sees page-locked memory.
    unsafe fn host_as_device(&self, pointer: *const u8) -> Result<DevicePointer, Error>;
    /// Whether the driver knows this host address as page-locked.
    fn is_pinned(&self, pointer: *const u8) -> bool;
    /// The device whose memory the address is in; none if it is in no device's.
    fn device_of(&self, pointer: DevicePointer) -> Option<u32>;

    fn stream(&self) -> Result<Handle, Error>;
    unsafe fn destroy_stream(&self, stream: Handle);
    unsafe fn synchronize(&self, stream: Handle) -> Result<(), Error>;
    /// `timed` events measure; others cost less.
    fn event(&self, timed: bool) -> Result<Handle, Error>;
    unsafe fn destroy_event(&self, event: Handle);
    unsafe fn record(&self, event: Handle, stream: Handle) -> Result<(), Error>;
    /// Whether everything before the event is done.
    unsafe fn query(&self, event: Handle) -> Result<bool, Error>;
    /// Milliseconds between two timed events that are done.
    unsafe fn elapsed(&self, start: Handle, end: Handle) -> Result<f32, Error>;
    /// Work enqueued on the stream from now on waits for the event.
    unsafe fn wait(&self, stream: Handle, event: Handle) -> Result<(), Error>;

    /// Copies, and fills, of no bytes do nothing: some versions of the drivers refuse them.
    unsafe fn copy_in(
        &self,
        to: DevicePointer,
        from: *const u8,
        bytes: usize,
        stream: Handle,
    ) -> Result<(), Error>;
    /// Rows of `width` bytes, `from_pitch` apart in host memory, `to_pitch` on the device.
    #[expect(clippy::too_many_arguments, reason = "both drivers take so many")]
    unsafe fn copy_in_rows(
        &self,
        to: DevicePointer,
        to_pitch: usize,
        from: *const u8,
        from_pitch: usize,
        width: usize,
        rows: usize,
        stream: Handle,
    ) -> Result<(), Error>;
    unsafe fn copy_out(
        &self,
        to: *mut u8,
        from: DevicePointer,
        bytes: usize,
        stream: Handle,
    ) -> Result<(), Error>;
    unsafe fn fill(
        &self,
        to: DevicePointer,
        byte: u8,
        bytes: usize,
        stream: Handle,
    ) -> Result<(), Error>;

    /// Loads an image: PTX with a final zero byte for CUDA, a code object for HIP. An error of the
    /// driver's compiler keeps its log.
    fn load(&self, image: &[u8]) -> Result<Handle, Error>;
    unsafe fn unload(&self, module: Handle);
    unsafe fn function(&self, module: Handle, name: &'static str) -> Result<Handle, Error>;
    unsafe fn function_info(&self, function: Handle) -> Result<FunctionInfo, Error>;
    /// Bytes of dynamic shared memory that a block may have at most, on the device.
    fn shared_of_block(&self, ordinal: u32) -> Result<u32, Error>;
    /// From now on launches may ask for so many bytes of dynamic shared memory.
    unsafe fn allow_shared(&self, function: Handle, bytes: u32) -> Result<(), Error>;
    /// Bytes of dynamic shared memory that a block must ask for so that no more than `blocks` of
    /// them are on a multiprocessor at a time; none if that cannot be had. From now on launches
    /// may ask for as much as the device has.
    unsafe fn shared_to_limit(
        &self,
        function: Handle,
        ordinal: u32,
        blocks: u32,
    ) -> Result<Option<u32>, Error>;
    /// `arguments` point to the kernel's arguments, as many and as large as its signature says.
    unsafe fn launch(
        &self,
        function: Handle,
        grid: Grid,
        stream: Handle,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error>;
}
