//! The HIP library and the functions of it that manylane calls.
//!
//! Declared here instead of taken from a crate: these functions and numbers are the same from HIP
//! 5.0 on, so that one build serves every installation. `cargo xtask amd` compares types and
//! numbers with Debian's headers of HIP 5.2.3; those of HIP 6 and 7 were read by hand.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use libloading::Library;

use crate::{Error, Vendor, runtime::library::open};

/// Where the loader looks for AMD's library, newest first, and then for Hygon's, which has
/// another name. Their installers do not always tell the loader of their folders.
pub(super) const NAMES: [&str; 10] = [
    "libamdhip64.so.7",
    "libamdhip64.so.6",
    "libamdhip64.so.5",
    "libamdhip64.so",
    "libgalaxyhip.so.6",
    "libgalaxyhip.so.5",
    "libgalaxyhip.so",
    "/opt/rocm/lib/libamdhip64.so",
    "/opt/dtk/hip/lib/libgalaxyhip.so",
    "/opt/dtk/lib/libgalaxyhip.so",
];

/// The oldest version served: 5.0.
const OLDEST: c_int = 50_000_000;

/// `hipError_t`.
pub(super) const SUCCESS: c_int = 0;
pub(super) const ERROR_OUT_OF_MEMORY: c_int = 2;
pub(super) const ERROR_NO_DEVICE: c_int = 100;
pub(super) const ERROR_INVALID_DEVICE: c_int = 101;
pub(super) const ERROR_NOT_READY: c_int = 600;

/// `hipDeviceAttribute_t`.
pub(super) const ATTRIBUTE_CLOCK_RATE: c_int = 5;
pub(super) const ATTRIBUTE_INTEGRATED: c_int = 16;
pub(super) const ATTRIBUTE_MULTIPROCESSOR_COUNT: c_int = 63;
pub(super) const ATTRIBUTE_WARP_SIZE: c_int = 87;

/// `hipFunction_attribute`.
pub(super) const FUNCTION_MAX_THREADS_PER_BLOCK: c_int = 0;
pub(super) const FUNCTION_LOCAL_SIZE_BYTES: c_int = 3;
pub(super) const FUNCTION_NUM_REGS: c_int = 4;

/// `hipMemcpyKind`.
pub(super) const HOST_TO_DEVICE: c_int = 1;
pub(super) const DEVICE_TO_HOST: c_int = 2;

/// Flags of streams, events and host memory.
pub(super) const STREAM_NON_BLOCKING: c_uint = 1;
pub(super) const EVENT_DISABLE_TIMING: c_uint = 2;
/// What kernels wrote to host memory is visible there once the event is passed.
pub(super) const EVENT_RELEASE_TO_SYSTEM: c_uint = 0x8000_0000;
pub(super) const HOST_PORTABLE: c_uint = 1;
pub(super) const HOST_MAPPED: c_uint = 2;

/// `hipPointerAttribute_t`.
#[repr(C)]
pub(super) struct PointerAttributes {
    pub(super) memory_type: c_int,
    pub(super) device: c_int,
    device_pointer: *mut c_void,
    host_pointer: *mut c_void,
    is_managed: c_int,
    allocation_flags: c_uint,
}

impl PointerAttributes {
    pub(super) const EMPTY: Self = PointerAttributes {
        memory_type: -1,
        device: 0,
        device_pointer: std::ptr::null_mut(),
        host_pointer: std::ptr::null_mut(),
        is_managed: 0,
        allocation_flags: 0,
    };
}

/// Room for `hipDeviceProp_t` of any version: it has 792 bytes in HIP 5 and 1472 in 6 and 7.
#[repr(C, align(8))]
pub(super) struct Properties(pub(super) [u8; 4096]);

/// What changed with HIP 6: the properties' layout, for which their function got another name,
/// and the numbers of `hipMemoryType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Where `gcnArchName` lies in `hipDeviceProp_t`.
    pub(super) architecture: usize,
    /// `hipMemoryTypeHost`.
    pub(super) memory_type_host: c_int,
}

pub(super) const HIP_5: Layout = Layout { architecture: 396, memory_type_host: 0 };
pub(super) const HIP_6: Layout = Layout { architecture: 1160, memory_type_host: 1 };

/// Declares a table of C functions and how it is filled from a library.
macro_rules! functions {
    ($(#[$doc:meta])* $table:ident { $($name:ident($($argument:ty),*) -> $result:ty;)+ }) => {
        $(#[$doc])*
        #[allow(non_snake_case)]
        pub(super) struct $table {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> $result,)+
        }

        impl $table {
            /// Finds all of them, or says which is missing.
            ///
            /// # Safety
            /// The library is the vendor's, so that the functions have these signatures, and it
            /// stays loaded as long as the table is used.
            #[allow(non_snake_case)]
            pub(super) unsafe fn find(library: &libloading::Library) -> Result<Self, &'static str> {
                $(
                    // SAFETY: the signature is the vendor's, says the function's contract.
                    let symbol = unsafe {
                        library.get::<unsafe extern "C" fn($($argument),*) -> $result>(
                            concat!(stringify!($name), "\0"),
                        )
                    };
                    let $name = *symbol.map_err(|_| stringify!($name))?;
                )+
                Ok($table { $($name),+ })
            }
        }
    };
}
pub(super) use functions;

type Pointer = *mut c_void;

functions! {
    /// Functions of the runtime. Enumerations are plain integers: a newer library may give a value
    /// that no list here has.
    Functions {
        hipInit(c_uint) -> c_int;
        hipRuntimeGetVersion(*mut c_int) -> c_int;
        hipGetErrorName(c_int) -> *const c_char;
        hipGetErrorString(c_int) -> *const c_char;
        hipGetLastError() -> c_int;
        hipGetDeviceCount(*mut c_int) -> c_int;
        hipGetDevice(*mut c_int) -> c_int;
        hipSetDevice(c_int) -> c_int;
        hipDeviceSynchronize() -> c_int;
        hipDeviceGetName(*mut c_char, c_int, c_int) -> c_int;
        hipDeviceGetAttribute(*mut c_int, c_int, c_int) -> c_int;
        hipDeviceGetPCIBusId(*mut c_char, c_int, c_int) -> c_int;
        hipDeviceTotalMem(*mut usize, c_int) -> c_int;
        hipMemGetInfo(*mut usize, *mut usize) -> c_int;
        hipMalloc(*mut Pointer, usize) -> c_int;
        hipFree(Pointer) -> c_int;
        hipHostMalloc(*mut Pointer, usize, c_uint) -> c_int;
        hipHostFree(Pointer) -> c_int;
        hipHostGetDevicePointer(*mut Pointer, Pointer, c_uint) -> c_int;
        hipPointerGetAttributes(*mut PointerAttributes, *const c_void) -> c_int;
        hipStreamCreateWithFlags(*mut Pointer, c_uint) -> c_int;
        hipStreamDestroy(Pointer) -> c_int;
        hipStreamSynchronize(Pointer) -> c_int;
        hipStreamWaitEvent(Pointer, Pointer, c_uint) -> c_int;
        hipEventCreateWithFlags(*mut Pointer, c_uint) -> c_int;
        hipEventDestroy(Pointer) -> c_int;
        hipEventRecord(Pointer, Pointer) -> c_int;
        hipEventQuery(Pointer) -> c_int;
        hipEventElapsedTime(*mut f32, Pointer, Pointer) -> c_int;
        hipMemcpyAsync(Pointer, *const c_void, usize, c_int, Pointer) -> c_int;
        hipMemcpy2DAsync(
            Pointer, usize, *const c_void, usize, usize, usize, c_int, Pointer
        ) -> c_int;
        hipMemsetAsync(Pointer, c_int, usize, Pointer) -> c_int;
        hipModuleLoadData(*mut Pointer, *const c_void) -> c_int;
        hipModuleUnload(Pointer) -> c_int;
        hipModuleGetFunction(*mut Pointer, Pointer, *const c_char) -> c_int;
        hipFuncGetAttribute(*mut c_int, c_int, Pointer) -> c_int;
        hipModuleLaunchKernel(
            Pointer,
            c_uint, c_uint, c_uint,
            c_uint, c_uint, c_uint,
            c_uint, Pointer, *mut Pointer, *mut Pointer
        ) -> c_int;
    }
}

type GetProperties = unsafe extern "C" fn(*mut Properties, c_int) -> c_int;

/// The loaded library. It is never closed: its own threads run in it.
pub(super) struct Hip {
    pub(super) functions: Functions,
    /// The function that fills `hipDeviceProp_t` in [`layout`](Self::layout).
    pub(super) get_properties: GetProperties,
    pub(super) layout: Layout,
    /// As `hipRuntimeGetVersion` has it: 50221153 is 5.2.21153.
    pub(super) version: c_int,
    /// The name that it was found by.
    pub(super) name: &'static str,
}

fn no_driver(why: String) -> Error {
    Error::NoDriver { vendor: Vendor::Hip, why }
}

impl Hip {
    /// Loads the library. Starts nothing on a device.
    pub(super) fn load() -> Result<Self, Error> {
        let (name, library) = open(&NAMES).map_err(no_driver)?;
        let missing = |function| no_driver(format!("{name} has no {function}"));
        // SAFETY: a library of that name is AMD's or Hygon's; it is never closed.
        let functions = unsafe { Functions::find(&library) }.map_err(missing)?;
        // SAFETY: as above; the argument is large enough for either layout.
        let (get_properties, layout) = unsafe {
            match library.get::<GetProperties>("hipGetDevicePropertiesR0600\0") {
                Ok(function) => (*function, HIP_6),
                Err(_) => {
                    let function = library.get::<GetProperties>("hipGetDeviceProperties\0");
                    (*function.map_err(|_| missing("hipGetDeviceProperties"))?, HIP_5)
                }
            }
        };
        std::mem::forget(library);
        let mut hip = Hip { functions, get_properties, layout, version: 0, name };
        // SAFETY: writes one integer.
        let code = unsafe { (hip.functions.hipRuntimeGetVersion)(&mut hip.version) };
        hip.check("hipRuntimeGetVersion", code)?;
        if hip.version < OLDEST {
            let version = version_text(hip.version);
            return Err(no_driver(format!("{name} is HIP {version}: 5.0 or newer is needed")));
        }
        Ok(hip)
    }

    /// The error of a call that gave `code`.
    pub(super) fn check(&self, call: &'static str, code: c_int) -> Result<(), Error> {
        if code == SUCCESS {
            return Ok(());
        }
        // Other code of this thread asks for the last error after its own calls.
        self.forget_error();
        // SAFETY: both give static text, or null, for any code.
        let text = unsafe {
            let name = text((self.functions.hipGetErrorName)(code));
            let what = text((self.functions.hipGetErrorString)(code));
            if what.is_empty() || what == name { name } else { format!("{name}: {what}") }
        };
        Err(Error::Call { vendor: Vendor::Hip, call, code, text })
    }

    pub(super) fn forget_error(&self) {
        // SAFETY: no arguments.
        unsafe { (self.functions.hipGetLastError)() };
    }
}

/// What the library's `hipRuntimeGetVersion` says, or 0.
pub(super) fn runtime_version(library: &Library) -> c_int {
    let mut version = 0;
    // SAFETY: the function has this signature and writes one integer.
    unsafe {
        type Get = unsafe extern "C" fn(*mut c_int) -> c_int;
        match library.get::<Get>("hipRuntimeGetVersion\0") {
            Ok(get) if get(&mut version) == SUCCESS => version,
            _ => 0,
        }
    }
}

/// `5.2.21153` for 50221153.
pub(super) fn version_text(version: c_int) -> String {
    format!("{}.{}.{}", version / 10_000_000, version / 100_000 % 100, version % 100_000)
}

/// The C string, or nothing if the pointer is null.
///
/// # Safety
/// Null, or a string that ends with a zero.
pub(super) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: says this function's contract.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_written_as_the_vendor_does() {
        assert_eq!(version_text(50_221_153), "5.2.21153");
        assert_eq!(version_text(60_443_483), "6.4.43483");
        assert_eq!(version_text(OLDEST), "5.0.0");
    }

    #[test]
    fn a_missing_function_is_named() {
        let (_, library) = open(&["libc.so.6"]).unwrap();
        // SAFETY: nothing is called.
        assert_eq!(unsafe { Functions::find(&library) }.err(), Some("hipInit"));
    }
}
