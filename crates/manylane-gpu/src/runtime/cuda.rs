//! NVIDIA's driver.

mod table;

use std::{
    ffi::{CStr, CString, c_char, c_int, c_uint, c_void},
    fmt,
    ptr::{self, NonNull},
};

use cudarc::driver::sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CUDA_MEMCPY2D,
    CUdevice_attribute::{self, *},
    CUevent_flags::{CU_EVENT_DEFAULT, CU_EVENT_DISABLE_TIMING},
    CUfunction_attribute::{self, *},
    CUjit_option::*,
    CUmemorytype::{CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST},
    CUpointer_attribute::{CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE},
    CUresult,
    CUstream_flags::CU_STREAM_NON_BLOCKING,
};

use self::table::Table;
use super::{DeviceId, DevicePointer, Driver, FunctionInfo, Grid, Handle, Info};
use crate::{Error, Vendor};

/// CUDA 12.2 and its driver 535 are the first to take PTX 8.2, which the kernels come as.
const MIN_VERSION: i32 = 12020;

/// Bytes for what the driver's compiler has to say.
const LOG_LEN: usize = 16 << 10;

const SUCCESS: c_int = CUresult::CUDA_SUCCESS as c_int;
const OUT_OF_MEMORY: c_int = CUresult::CUDA_ERROR_OUT_OF_MEMORY as c_int;
const NO_DEVICE: c_int = CUresult::CUDA_ERROR_NO_DEVICE as c_int;
const NOT_READY: c_int = CUresult::CUDA_ERROR_NOT_READY as c_int;

pub(super) struct Cuda {
    table: Table,
    version: i32,
    /// Whether there are devices; without any, the driver refuses to be initialised.
    devices: bool,
}

/// Calls a function of the table; an error has its name.
macro_rules! call {
    ($cuda:expr, $function:ident($($argument:expr),*)) => {
        $cuda.check(stringify!($function), ($cuda.table.$function)($($argument),*))
    };
}

impl Cuda {
    /// Loads the library and initialises the driver.
    ///
    /// # Errors
    /// [`Error::NoDriver`] if there is none, or it is older than 535; [`Error::Call`] if it cannot
    /// be initialised.
    pub(super) fn new() -> Result<Self, Error> {
        let mut cuda = Cuda { table: Table::load()?, version: 0, devices: true };
        let mut version = 0;
        // SAFETY: the function may be called before all others.
        unsafe { call!(cuda, cuDriverGetVersion(&mut version))? };
        cuda.version = version;
        if version < MIN_VERSION {
            let (is, least) = (dotted(version), dotted(MIN_VERSION));
            let why = format!("it is for CUDA {is}; {least} (driver 535) or newer is needed");
            return Err(Error::NoDriver { vendor: Vendor::Cuda, why });
        }
        // SAFETY: likewise; to call it again, as others in this process may, changes nothing.
        match unsafe { (cuda.table.cuInit)(0) } {
            NO_DEVICE => cuda.devices = false,
            code => cuda.check("cuInit", code)?,
        }
        Ok(cuda)
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), Error> {
        if code == SUCCESS { Ok(()) } else { Err(self.error(call, code)) }
    }

    #[cold]
    fn error(&self, call: &'static str, code: c_int) -> Error {
        let text = |function: unsafe extern "system" fn(c_int, *mut *const c_char) -> c_int| {
            let mut text = ptr::null();
            // SAFETY: the function gives null or a text that is never freed.
            unsafe {
                if function(code, &mut text) != SUCCESS || text.is_null() {
                    return None;
                }
                Some(CStr::from_ptr(text).to_string_lossy())
            }
        };
        let text = match (text(self.table.cuGetErrorName), text(self.table.cuGetErrorString)) {
            (Some(name), Some(description)) => format!("{name}: {description}"),
            (Some(only), None) | (None, Some(only)) => only.into_owned(),
            (None, None) => "an error that this driver has no name for".into(),
        };
        Error::Call { vendor: Vendor::Cuda, call, code, text }
    }

    /// As [`check`](Self::check), for a call that asked for so many bytes.
    fn check_bytes(&self, call: &'static str, bytes: usize, code: c_int) -> Result<(), Error> {
        match code {
            OUT_OF_MEMORY => Err(Error::OutOfMemory { call, bytes }),
            code => self.check(call, code),
        }
    }

    fn device(&self, ordinal: u32) -> Result<c_int, Error> {
        let mut device = 0;
        // SAFETY: initialised.
        unsafe { call!(self, cuDeviceGet(&mut device, ordinal.cast_signed()))? };
        Ok(device)
    }

    fn attribute(&self, attribute: CUdevice_attribute, device: c_int) -> Result<u32, Error> {
        let mut value = 0;
        // SAFETY: initialised, and the device is one.
        unsafe { call!(self, cuDeviceGetAttribute(&mut value, attribute, device))? };
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// A text of at most 255 bytes that `fill` writes with a final zero.
    fn text(
        &self,
        fill: impl FnOnce(*mut c_char, c_int) -> Result<(), Error>,
    ) -> Result<String, Error> {
        let mut bytes = [0u8; 256];
        fill(bytes.as_mut_ptr().cast(), bytes.len() as c_int)?;
        let text = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cuda({})", dotted(self.version))
    }
}

/// 12020 as NVIDIA writes it: 12.2.
fn dotted(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

impl Driver for Cuda {
    fn count(&self) -> Result<u32, Error> {
        let mut count = 0;
        if self.devices {
            // SAFETY: initialised.
            unsafe { call!(self, cuDeviceGetCount(&mut count))? };
        }
        Ok(u32::try_from(count).unwrap_or(0))
    }

    fn info(&self, ordinal: u32) -> Result<Info, Error> {
        let device = self.device(ordinal)?;
        let attribute = |attribute| self.attribute(attribute, device);
        let mut memory = 0;
        // SAFETY: initialised, and the device is one.
        unsafe { call!(self, cuDeviceTotalMem(&mut memory, device))? };
        // SAFETY: so many bytes are there to be written.
        let name =
            self.text(|text, len| unsafe { call!(self, cuDeviceGetName(text, len, device)) })?;
        // SAFETY: as above.
        let pci = self
            .text(|text, len| unsafe { call!(self, cuDeviceGetPCIBusId(text, len, device)) })
            .unwrap_or_default();
        Ok(Info {
            id: DeviceId { vendor: Vendor::Cuda, ordinal },
            name,
            architecture: format!(
                "sm_{}{}",
                attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?
            ),
            driver: dotted(self.version),
            multiprocessors: attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            warp: attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
            clock_khz: attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
            memory: memory as u64,
            integrated: attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED)? != 0,
            pci: pci.to_ascii_lowercase(),
        })
    }

    fn retain(&self, ordinal: u32) -> Result<Handle, Error> {
        let device = self.device(ordinal)?;
        let mut context = ptr::null_mut();
        // SAFETY: initialised, and the device is one.
        unsafe { call!(self, cuDevicePrimaryCtxRetain(&mut context, device))? };
        Ok(Handle(context.cast()))
    }

    unsafe fn release(&self, ordinal: u32) {
        if let Ok(device) = self.device(ordinal) {
            // SAFETY: the caller's. When the process ends the driver may be gone already, and then
            // says so; nothing is left to do.
            unsafe { (self.table.cuDevicePrimaryCtxRelease)(device) };
        }
    }

    unsafe fn bind(&self, context: Handle, _: u32) -> Result<Option<Handle>, Error> {
        let mut previous = ptr::null_mut();
        // SAFETY: initialised.
        unsafe { call!(self, cuCtxGetCurrent(&mut previous))? };
        // Asked every time: other code of the thread may have made another context current since.
        if previous.cast() == context.0 {
            return Ok(None);
        }
        // SAFETY: the caller's.
        unsafe { call!(self, cuCtxSetCurrent(context.0.cast()))? };
        Ok(Some(Handle(previous.cast())))
    }

    unsafe fn restore(&self, previous: Handle) {
        // SAFETY: the caller's.
        unsafe { (self.table.cuCtxSetCurrent)(previous.0.cast()) };
    }

    fn synchronize_all(&self) -> Result<(), Error> {
        // SAFETY: initialised.
        unsafe { call!(self, cuCtxSynchronize()) }
    }

    fn memory(&self) -> Result<(u64, u64), Error> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: initialised.
        unsafe { call!(self, cuMemGetInfo(&mut free, &mut total))? };
        Ok((free as u64, total as u64))
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePointer, Error> {
        let mut pointer = 0;
        // SAFETY: initialised.
        let code = unsafe { (self.table.cuMemAlloc)(&mut pointer, bytes) };
        self.check_bytes("cuMemAlloc", bytes, code)?;
        Ok(DevicePointer(pointer))
    }

    unsafe fn free(&self, pointer: DevicePointer) {
        // SAFETY: the caller's.
        unsafe { (self.table.cuMemFree)(pointer.0) };
    }

    fn alloc_host(&self, bytes: usize) -> Result<NonNull<u8>, Error> {
        let mut pointer = ptr::null_mut();
        let flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: initialised.
        let code = unsafe { (self.table.cuMemHostAlloc)(&mut pointer, bytes, flags) };
        self.check_bytes("cuMemHostAlloc", bytes, code)?;
        NonNull::new(pointer.cast()).ok_or(Error::OutOfMemory { call: "cuMemHostAlloc", bytes })
    }

    unsafe fn free_host(&self, pointer: NonNull<u8>) {
        // SAFETY: the caller's.
        unsafe { (self.table.cuMemFreeHost)(pointer.as_ptr().cast()) };
    }

    unsafe fn host_as_device(&self, pointer: *const u8) -> Result<DevicePointer, Error> {
        let (mut seen, pointer) = (0, pointer.cast_mut().cast());
        // SAFETY: the caller's.
        unsafe { call!(self, cuMemHostGetDevicePointer(&mut seen, pointer, 0))? };
        Ok(DevicePointer(seen))
    }

    fn is_pinned(&self, pointer: *const u8) -> bool {
        let mut kind: c_uint = 0;
        // SAFETY: any address may be asked about; the attribute is a 32-bit number.
        let code = unsafe {
            (self.table.cuPointerGetAttribute)(
                (&raw mut kind).cast(),
                CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                pointer.addr() as u64,
            )
        };
        // An address that the driver does not know is an error.
        code == SUCCESS && kind == CU_MEMORYTYPE_HOST as c_uint
    }

    fn device_of(&self, pointer: DevicePointer) -> Option<u32> {
        let mut ordinal: c_int = -1;
        // SAFETY: any address may be asked about; the attribute is a 32-bit number.
        let code = unsafe {
            (self.table.cuPointerGetAttribute)(
                (&raw mut ordinal).cast(),
                CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                pointer.0,
            )
        };
        if code == SUCCESS { u32::try_from(ordinal).ok() } else { None }
    }

    fn stream(&self) -> Result<Handle, Error> {
        let mut stream = ptr::null_mut();
        // SAFETY: initialised. One that the default stream does not wait for, nor the reverse:
        // other code in this process may use that.
        unsafe { call!(self, cuStreamCreate(&mut stream, CU_STREAM_NON_BLOCKING as c_uint))? };
        Ok(Handle(stream.cast()))
    }

    unsafe fn destroy_stream(&self, stream: Handle) {
        // SAFETY: the caller's.
        unsafe { (self.table.cuStreamDestroy)(stream.0.cast()) };
    }

    unsafe fn synchronize(&self, stream: Handle) -> Result<(), Error> {
        // SAFETY: the caller's.
        unsafe { call!(self, cuStreamSynchronize(stream.0.cast())) }
    }

    fn event(&self, timed: bool) -> Result<Handle, Error> {
        let mut event = ptr::null_mut();
        let flags = if timed { CU_EVENT_DEFAULT } else { CU_EVENT_DISABLE_TIMING };
        // SAFETY: initialised.
        unsafe { call!(self, cuEventCreate(&mut event, flags as c_uint))? };
        Ok(Handle(event.cast()))
    }

    unsafe fn destroy_event(&self, event: Handle) {
        // SAFETY: the caller's.
        unsafe { (self.table.cuEventDestroy)(event.0.cast()) };
    }

    unsafe fn record(&self, event: Handle, stream: Handle) -> Result<(), Error> {
        // SAFETY: the caller's.
        unsafe { call!(self, cuEventRecord(event.0.cast(), stream.0.cast())) }
    }

    unsafe fn query(&self, event: Handle) -> Result<bool, Error> {
        // SAFETY: the caller's.
        match unsafe { (self.table.cuEventQuery)(event.0.cast()) } {
            NOT_READY => Ok(false),
            code => self.check("cuEventQuery", code).map(|()| true),
        }
    }

    unsafe fn elapsed(&self, start: Handle, end: Handle) -> Result<f32, Error> {
        let mut milliseconds = 0.0;
        // SAFETY: the caller's.
        unsafe {
            call!(self, cuEventElapsedTime(&mut milliseconds, start.0.cast(), end.0.cast()))?;
        }
        Ok(milliseconds)
    }

    unsafe fn wait(&self, stream: Handle, event: Handle) -> Result<(), Error> {
        // SAFETY: the caller's.
        unsafe { call!(self, cuStreamWaitEvent(stream.0.cast(), event.0.cast(), 0)) }
    }

    unsafe fn copy_in(
        &self,
        to: DevicePointer,
        from: *const u8,
        bytes: usize,
        stream: Handle,
    ) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller's.
        unsafe { call!(self, cuMemcpyHtoDAsync(to.0, from.cast(), bytes, stream.0.cast())) }
    }

    unsafe fn copy_in_rows(
        &self,
        to: DevicePointer,
        to_pitch: usize,
        from: *const u8,
        from_pitch: usize,
        width: usize,
        rows: usize,
        stream: Handle,
    ) -> Result<(), Error> {
        let copy = CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: CU_MEMORYTYPE_HOST,
            srcHost: from.cast(),
            srcDevice: 0,
            srcArray: ptr::null_mut(),
            srcPitch: from_pitch,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: CU_MEMORYTYPE_DEVICE,
            dstHost: ptr::null_mut(),
            dstDevice: to.0,
            dstArray: ptr::null_mut(),
            dstPitch: to_pitch,
            WidthInBytes: width,
            Height: rows,
        };
        // SAFETY: the caller's.
        unsafe { call!(self, cuMemcpy2DAsync(&copy, stream.0.cast())) }
    }

    unsafe fn copy_out(
        &self,
        to: *mut u8,
        from: DevicePointer,
        bytes: usize,
        stream: Handle,
    ) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller's.
        unsafe { call!(self, cuMemcpyDtoHAsync(to.cast(), from.0, bytes, stream.0.cast())) }
    }

    unsafe fn fill(
        &self,
        to: DevicePointer,
        byte: u8,
        bytes: usize,
        stream: Handle,
    ) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller's.
        unsafe { call!(self, cuMemsetD8Async(to.0, byte, bytes, stream.0.cast())) }
    }

    fn load(&self, image: &[u8]) -> Result<Handle, Error> {
        assert_eq!(image.last(), Some(&0), "PTX ends with a zero byte");
        let mut log = vec![0u8; LOG_LEN];
        let mut options = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        // The driver takes the number itself in place of a pointer.
        let mut values = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(LOG_LEN)];
        let mut module = ptr::null_mut();
        // SAFETY: the image has its final zero, and the log's buffer is as long as it says.
        let code = unsafe {
            (self.table.cuModuleLoadDataEx)(
                &mut module,
                image.as_ptr().cast(),
                options.len() as c_uint,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        if code == SUCCESS {
            return Ok(Handle(module.cast()));
        }
        let error = self.error("cuModuleLoadDataEx", code);
        match CStr::from_bytes_until_nul(&log) {
            Ok(log) if !log.is_empty() => Err(Error::Compile {
                what: "the kernels' PTX".into(),
                log: format!("{error}\n{}", log.to_string_lossy()),
            }),
            _ => Err(error),
        }
    }

    unsafe fn unload(&self, module: Handle) {
        // SAFETY: the caller's.
        unsafe { (self.table.cuModuleUnload)(module.0.cast()) };
    }

    unsafe fn function(&self, module: Handle, name: &'static str) -> Result<Handle, Error> {
        let name = CString::new(name).expect("kernels have no zero in their names");
        let mut function = ptr::null_mut();
        // SAFETY: the caller's.
        unsafe { call!(self, cuModuleGetFunction(&mut function, module.0.cast(), name.as_ptr()))? };
        Ok(Handle(function.cast()))
    }

    unsafe fn function_info(&self, function: Handle) -> Result<FunctionInfo, Error> {
        let attribute = |attribute: CUfunction_attribute| -> Result<u32, Error> {
            let mut value = 0;
            // SAFETY: the caller's.
            unsafe { call!(self, cuFuncGetAttribute(&mut value, attribute, function.0.cast()))? };
            Ok(u32::try_from(value).unwrap_or(0))
        };
        Ok(FunctionInfo {
            registers: attribute(CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            max_threads_per_block: attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        })
    }

    fn shared_of_block(&self, ordinal: u32) -> Result<u32, Error> {
        let device = self.device(ordinal)?;
        self.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device)
    }

    unsafe fn allow_shared(&self, function: Handle, bytes: u32) -> Result<(), Error> {
        let attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let function = function.0.cast();
        // SAFETY: the caller's.
        unsafe { call!(self, cuFuncSetAttribute(function, attribute, bytes.cast_signed())) }
    }

    unsafe fn shared_to_limit(
        &self,
        function: Handle,
        ordinal: u32,
        blocks: u32,
    ) -> Result<Option<u32>, Error> {
        let device = self.device(ordinal)?;
        let attribute = |attribute| self.attribute(attribute, device);
        let all = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?;
        let reserved = attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)?;
        let most = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let (function, mut fixed) = (function.0.cast(), 0);
        // SAFETY: the caller's.
        unsafe {
            call!(
                self,
                cuFuncGetAttribute(&mut fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function)
            )?;
        }
        let fixed = u32::try_from(fixed).unwrap_or(0);
        // Shared memory is given out in pieces of this size.
        let block = (all / blocks.max(1)).saturating_sub(reserved) / 128 * 128;
        if block <= fixed || block > most || (block + reserved) * (blocks + 1) <= all {
            return Ok(None);
        }
        let attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let dynamic = (most - fixed).cast_signed();
        // SAFETY: the caller's.
        unsafe { call!(self, cuFuncSetAttribute(function, attribute, dynamic))? };
        Ok(Some(block - fixed))
    }

    unsafe fn launch(
        &self,
        function: Handle,
        grid: Grid,
        stream: Handle,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error> {
        let (function, stream) = (function.0.cast(), stream.0.cast());
        let (arguments, extra) = (arguments.as_mut_ptr(), ptr::null_mut());
        let Grid { blocks, threads, shared } = grid;
        // SAFETY: the caller's.
        unsafe {
            call!(
                self,
                cuLaunchKernel(
                    function, blocks, 1, 1, threads, 1, 1, shared, stream, arguments, extra
                )
            )
        }
    }
}
