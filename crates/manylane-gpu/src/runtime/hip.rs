//! AMD's and Hygon's GPUs through HIP.
//!
//! HIP has no handle for a device's primary context: the device that is current on the thread
//! stands for it, and the runtime makes the context on first use. Contexts here are therefore
//! null, and what [`bind`](Driver::bind) gives to be restored is a device's number.

mod compiler;
mod library;

use std::{
    ffi::{CString, c_char, c_int, c_void},
    fmt,
    ptr::{self, NonNull},
};

pub(crate) use self::compiler::{Compiler, Sources};
use self::library::Hip as Library;
use super::{DeviceId, DevicePointer, Driver, FunctionInfo, Grid, Handle, Info};
use crate::{Error, Vendor};

const CONTEXT: Handle = Handle(ptr::null_mut());

/// The HIP driver.
pub(super) struct Hip(Library);

/// Calls a function of the library and turns its code into an error that names it.
macro_rules! call {
    ($hip:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: the arguments are of the function's types and valid, says the method's contract
        // or the lines above.
        let code = unsafe { ($hip.0.functions.$name)($($argument),*) };
        $hip.0.check(stringify!($name), code)
    }};
}

/// As [`call`], and no memory is an error of its own.
macro_rules! allocate {
    ($hip:expr, $bytes:expr, $name:ident($($argument:expr),* $(,)?)) => {
        call!($hip, $name($($argument),*)).map_err(|error| match error {
            Error::Call { call, code: library::ERROR_OUT_OF_MEMORY, .. } => {
                Error::OutOfMemory { call, bytes: $bytes }
            }
            error => error,
        })
    };
}

impl Hip {
    /// Loads and initialises the library.
    pub(super) fn new() -> Result<Self, Error> {
        let hip = Hip(Library::load()?);
        match call!(hip, hipInit(0)) {
            // No device is not an error here: there are zero of them.
            Err(error) if !is_no_device(&error) => Err(error),
            _ => Ok(hip),
        }
    }

    fn attribute(&self, attribute: c_int, ordinal: c_int) -> Result<u32, Error> {
        let mut value = 0;
        call!(self, hipDeviceGetAttribute(&mut value, attribute, ordinal))?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    fn properties(&self, ordinal: c_int) -> Result<Box<library::Properties>, Error> {
        let mut properties = Box::new(library::Properties([0; 4096]));
        // SAFETY: the structure is larger than either layout.
        let code = unsafe { (self.0.get_properties)(&mut *properties, ordinal) };
        self.0.check("hipGetDeviceProperties", code)?;
        Ok(properties)
    }
}

/// Whether the library says that there is no GPU. Without the kernel's driver, HIP 5.2.3 calls that
/// an invalid device.
fn is_no_device(error: &Error) -> bool {
    let codes = [library::ERROR_NO_DEVICE, library::ERROR_INVALID_DEVICE];
    matches!(error, Error::Call { code, .. } if codes.contains(code))
}

/// The device's number, as the driver's functions want it.
fn device(ordinal: u32) -> c_int {
    c_int::try_from(ordinal).unwrap_or(c_int::MAX)
}

/// What is before the first zero.
fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// The instruction set's name, `gfx90a`, from a device's properties.
///
/// What may follow the name are settings of the device (`:sramecc+:xnack-`); code that is compiled
/// for the name alone runs with any of them. A vendor's structure may differ from AMD's, so the
/// name is searched for if it is not where AMD has it.
fn architecture(properties: &[u8], at: usize) -> Option<String> {
    let name = |bytes: &[u8]| {
        let name = until_zero(bytes).split(|&byte| byte == b':').next()?;
        let digits = name.strip_prefix(b"gfx")?;
        let valid = (3..=8).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
        valid.then(|| String::from_utf8_lossy(name).into_owned())
    };
    // The device's marketing name is first, 256 bytes.
    name(properties.get(at..)?)
        .or_else(|| (256..properties.len()).find_map(|i| name(&properties[i..])))
}

#[allow(clippy::undocumented_unsafe_blocks)] // `call!` has the line.
impl Driver for Hip {
    fn count(&self) -> Result<u32, Error> {
        let mut count = 0;
        match call!(self, hipGetDeviceCount(&mut count)) {
            Ok(()) => Ok(u32::try_from(count).unwrap_or(0)),
            Err(error) if is_no_device(&error) => Ok(0),
            Err(error) => Err(error),
        }
    }

    fn info(&self, ordinal: u32) -> Result<Info, Error> {
        let id = DeviceId { vendor: Vendor::Hip, ordinal };
        let ordinal = device(ordinal);
        let mut name = [0u8; 256];
        call!(self, hipDeviceGetName(name.as_mut_ptr().cast::<c_char>(), 256, ordinal))?;
        let mut pci = [0u8; 64];
        // Not every device has a PCI address.
        let _ = call!(self, hipDeviceGetPCIBusId(pci.as_mut_ptr().cast::<c_char>(), 64, ordinal));
        let mut memory = 0;
        call!(self, hipDeviceTotalMem(&mut memory, ordinal))?;
        let properties = self.properties(ordinal)?;
        let architecture = architecture(&properties.0, self.0.layout.architecture);
        Ok(Info {
            id,
            name: String::from_utf8_lossy(until_zero(&name)).trim().to_string(),
            architecture: architecture.ok_or_else(|| Error::Call {
                vendor: Vendor::Hip,
                call: "hipGetDeviceProperties",
                code: library::SUCCESS,
                text: "no name of an architecture".into(),
            })?,
            driver: library::version_text(self.0.version),
            multiprocessors: self.attribute(library::ATTRIBUTE_MULTIPROCESSOR_COUNT, ordinal)?,
            warp: self.attribute(library::ATTRIBUTE_WARP_SIZE, ordinal)?,
            clock_khz: self.attribute(library::ATTRIBUTE_CLOCK_RATE, ordinal)?,
            memory: memory as u64,
            integrated: self.attribute(library::ATTRIBUTE_INTEGRATED, ordinal)? != 0,
            pci: String::from_utf8_lossy(until_zero(&pci)).to_ascii_lowercase(),
        })
    }

    fn retain(&self, ordinal: u32) -> Result<Handle, Error> {
        // SAFETY: there is nothing to be valid about a null context.
        unsafe {
            if let Some(previous) = self.bind(CONTEXT, ordinal)? {
                self.restore(previous);
            }
        }
        Ok(CONTEXT)
    }

    unsafe fn release(&self, _: u32) {}

    unsafe fn bind(&self, _: Handle, ordinal: u32) -> Result<Option<Handle>, Error> {
        let mut current = 0;
        call!(self, hipGetDevice(&mut current))?;
        if current == device(ordinal) {
            return Ok(None);
        }
        call!(self, hipSetDevice(device(ordinal)))?;
        Ok(Some(Handle(ptr::without_provenance_mut(current as usize))))
    }

    unsafe fn restore(&self, previous: Handle) {
        let _ = call!(self, hipSetDevice(previous.0.addr() as c_int));
    }

    fn synchronize_all(&self) -> Result<(), Error> {
        call!(self, hipDeviceSynchronize())
    }

    fn memory(&self) -> Result<(u64, u64), Error> {
        let (mut free, mut total) = (0, 0);
        call!(self, hipMemGetInfo(&mut free, &mut total))?;
        Ok((free as u64, total as u64))
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePointer, Error> {
        let mut pointer = ptr::null_mut();
        allocate!(self, bytes, hipMalloc(&mut pointer, bytes))?;
        Ok(DevicePointer(pointer.expose_provenance() as u64))
    }

    unsafe fn free(&self, pointer: DevicePointer) {
        let _ = call!(self, hipFree(address(pointer)));
    }

    fn alloc_host(&self, bytes: usize) -> Result<NonNull<u8>, Error> {
        let mut pointer = ptr::null_mut();
        let flags = library::HOST_PORTABLE | library::HOST_MAPPED;
        allocate!(self, bytes, hipHostMalloc(&mut pointer, bytes, flags))?;
        NonNull::new(pointer.cast()).ok_or(Error::OutOfMemory { call: "hipHostMalloc", bytes })
    }

    unsafe fn free_host(&self, pointer: NonNull<u8>) {
        let _ = call!(self, hipHostFree(pointer.as_ptr().cast()));
    }

    unsafe fn host_as_device(&self, pointer: *const u8) -> Result<DevicePointer, Error> {
        let mut seen = ptr::null_mut();
        call!(self, hipHostGetDevicePointer(&mut seen, pointer.cast_mut().cast(), 0))?;
        Ok(DevicePointer(seen.expose_provenance() as u64))
    }

    fn is_pinned(&self, pointer: *const u8) -> bool {
        // HIP 5 fails for memory that it does not know, later versions have a type for it.
        let mut attributes = library::PointerAttributes::EMPTY;
        call!(self, hipPointerGetAttributes(&mut attributes, pointer.cast())).is_ok()
            && attributes.memory_type == self.0.layout.memory_type_host
    }

    fn device_of(&self, pointer: DevicePointer) -> Option<u32> {
        let mut attributes = library::PointerAttributes::EMPTY;
        let at = ptr::without_provenance(pointer.0 as usize);
        call!(self, hipPointerGetAttributes(&mut attributes, at)).ok()?;
        // `hipMemoryTypeDevice` follows the host's number in every version.
        let on_device = attributes.memory_type == self.0.layout.memory_type_host + 1;
        if on_device { u32::try_from(attributes.device).ok() } else { None }
    }

    fn stream(&self) -> Result<Handle, Error> {
        let mut stream = ptr::null_mut();
        call!(self, hipStreamCreateWithFlags(&mut stream, library::STREAM_NON_BLOCKING))?;
        Ok(Handle(stream))
    }

    unsafe fn destroy_stream(&self, stream: Handle) {
        let _ = call!(self, hipStreamDestroy(stream.0));
    }

    unsafe fn synchronize(&self, stream: Handle) -> Result<(), Error> {
        call!(self, hipStreamSynchronize(stream.0))
    }

    fn event(&self, timed: bool) -> Result<Handle, Error> {
        let timing = if timed { 0 } else { library::EVENT_DISABLE_TIMING };
        let flags = library::EVENT_RELEASE_TO_SYSTEM | timing;
        let mut event = ptr::null_mut();
        call!(self, hipEventCreateWithFlags(&mut event, flags))?;
        Ok(Handle(event))
    }

    unsafe fn destroy_event(&self, event: Handle) {
        let _ = call!(self, hipEventDestroy(event.0));
    }

    unsafe fn record(&self, event: Handle, stream: Handle) -> Result<(), Error> {
        call!(self, hipEventRecord(event.0, stream.0))
    }

    unsafe fn query(&self, event: Handle) -> Result<bool, Error> {
        match call!(self, hipEventQuery(event.0)) {
            Ok(()) => Ok(true),
            Err(Error::Call { code: library::ERROR_NOT_READY, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    unsafe fn elapsed(&self, start: Handle, end: Handle) -> Result<f32, Error> {
        let mut milliseconds = 0.0;
        call!(self, hipEventElapsedTime(&mut milliseconds, start.0, end.0))?;
        Ok(milliseconds)
    }

    unsafe fn wait(&self, stream: Handle, event: Handle) -> Result<(), Error> {
        call!(self, hipStreamWaitEvent(stream.0, event.0, 0))
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
        let kind = library::HOST_TO_DEVICE;
        call!(self, hipMemcpyAsync(address(to), from.cast(), bytes, kind, stream.0))
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
        let (to, from) = (address(to), from.cast());
        let kind = library::HOST_TO_DEVICE;
        call!(self, hipMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, kind, stream.0))
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
        let kind = library::DEVICE_TO_HOST;
        call!(self, hipMemcpyAsync(to.cast(), address(from), bytes, kind, stream.0))
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
        call!(self, hipMemsetAsync(address(to), c_int::from(byte), bytes, stream.0))
    }

    fn load(&self, image: &[u8]) -> Result<Handle, Error> {
        let mut module = ptr::null_mut();
        call!(self, hipModuleLoadData(&mut module, image.as_ptr().cast()))?;
        Ok(Handle(module))
    }

    unsafe fn unload(&self, module: Handle) {
        let _ = call!(self, hipModuleUnload(module.0));
    }

    unsafe fn function(&self, module: Handle, name: &'static str) -> Result<Handle, Error> {
        let name = CString::new(name).expect("names of kernels have no zero");
        let mut function = ptr::null_mut();
        call!(self, hipModuleGetFunction(&mut function, module.0, name.as_ptr()))?;
        Ok(Handle(function))
    }

    unsafe fn function_info(&self, function: Handle) -> Result<FunctionInfo, Error> {
        let attribute = |attribute| -> Result<u32, Error> {
            let mut value = 0;
            call!(self, hipFuncGetAttribute(&mut value, attribute, function.0))?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        Ok(FunctionInfo {
            registers: attribute(library::FUNCTION_NUM_REGS)?,
            local_bytes: attribute(library::FUNCTION_LOCAL_SIZE_BYTES)?,
            max_threads_per_block: attribute(library::FUNCTION_MAX_THREADS_PER_BLOCK)?,
        })
    }

    fn shared_of_block(&self, _: u32) -> Result<u32, Error> {
        // On all of AMD's and Hygon's that HIP serves.
        Ok(64 << 10)
    }

    unsafe fn allow_shared(&self, _: Handle, _: u32) -> Result<(), Error> {
        // Nothing has to be asked for.
        Ok(())
    }

    unsafe fn shared_to_limit(&self, _: Handle, _: u32, _: u32) -> Result<Option<u32>, Error> {
        // Nobody has measured whether it pays on AMD's.
        Ok(None)
    }

    unsafe fn launch(
        &self,
        function: Handle,
        grid: Grid,
        stream: Handle,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error> {
        let Grid { blocks, threads, shared } = grid;
        let (stream, extra) = (stream.0, ptr::null_mut());
        let arguments = arguments.as_mut_ptr();
        call!(
            self,
            hipModuleLaunchKernel(
                function.0, blocks, 1, 1, threads, 1, 1, shared, stream, arguments, extra
            )
        )
    }
}

/// A device's address as the driver's functions want it.
fn address(pointer: DevicePointer) -> *mut c_void {
    ptr::without_provenance_mut(pointer.0 as usize)
}

impl fmt::Debug for Hip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hip({}, {})", self.0.name, library::version_text(self.0.version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(at: usize, name: &[u8]) -> Vec<u8> {
        let mut properties = vec![0; 4096];
        properties[..14].copy_from_slice(b"gfx99 the card");
        properties[at..][..name.len()].copy_from_slice(name);
        properties
    }

    #[test]
    fn the_architecture_is_read_from_either_layout() {
        for layout in [library::HIP_5, library::HIP_6] {
            let at = layout.architecture;
            let read = |name| architecture(&properties(at, name), at);
            assert_eq!(read(b"gfx906:sramecc+:xnack-\0").as_deref(), Some("gfx906"));
            assert_eq!(read(b"gfx90a\0").as_deref(), Some("gfx90a"));
            assert_eq!(read(b"gfx1100\0").as_deref(), Some("gfx1100"));
            for wrong in [&b"\0"[..], b"gfx\0", b"gfx9-x\0", b"sm_90\0", b"gfx90;rm\0"] {
                assert_eq!(read(wrong), None, "{wrong:?}");
            }
        }
    }

    #[test]
    fn the_architecture_is_found_elsewhere_too() {
        let read = architecture(&properties(700, b"gfx936:xnack-\0"), library::HIP_5.architecture);
        assert_eq!(read.as_deref(), Some("gfx936"));
    }

    /// The vendor's library has every function of the table, and says how many devices there are.
    #[test]
    #[ignore = "needs HIP: `cargo xtask amd` runs it where that is"]
    fn the_machines_library_answers() {
        let hip = Hip::new().unwrap();
        let expected = if hip.0.version < 60_000_000 { library::HIP_5 } else { library::HIP_6 };
        assert_eq!(hip.0.layout, expected);
        for ordinal in 0..hip.count().unwrap() {
            hip.info(ordinal).unwrap();
        }
    }
}
