//! The functions of the CUDA driver that manylane calls.
//!
//! `cudarc` gives the types. Its functions are not called: they return the code as a Rust enum, for
//! which a number that a newer driver has added would be undefined behaviour (12.x and 13 have added
//! several, such as 721 for a contained error), and they panic where the library lacks a function.
//! Nor does it find the library: it tries `libcuda.so` first, which a toolkit's folder of stubs has
//! too. Here a code is a number, and all functions are looked up once.

use std::{
    ffi::{c_char, c_int, c_uint, c_void},
    mem,
};

use cudarc::driver::sys::{
    self, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction,
    CUfunction_attribute, CUjit_option, CUmodule, CUpointer_attribute, CUstream,
};

use crate::{Error, Vendor, runtime::library::open};

macro_rules! table {
    ($($name:ident = $symbol:literal ($($argument:ty),*);)*) => {
        /// A pointer to each function, by its documented name. The symbol's name has the version
        /// of the interface: the one that the types here belong to.
        #[allow(non_snake_case)]
        pub(super) struct Table {
            $(pub(super) $name: unsafe extern "system" fn($($argument),*) -> c_int,)*
        }

        impl Table {
            /// Loads the library and looks all functions up.
            ///
            /// # Errors
            /// [`Error::NoDriver`] if there is no library, or it lacks a function.
            pub(super) fn load() -> Result<Self, Error> {
                let (name, library) = open(NAMES).map_err(no_driver)?;
                let lacking = |symbol| no_driver(format!("{name} has no {symbol}"));
                let table = Table {
                    // SAFETY: the types are those of the driver's interface, and the library is
                    // never unloaded.
                    $($name: unsafe { *library.get($symbol).map_err(|_| lacking($symbol))? },)*
                };
                mem::forget(library);
                Ok(table)
            }
        }
    };
}

table! {
    cuInit = "cuInit" (c_uint);
    cuDriverGetVersion = "cuDriverGetVersion" (*mut c_int);
    cuGetErrorName = "cuGetErrorName" (c_int, *mut *const c_char);
    cuGetErrorString = "cuGetErrorString" (c_int, *mut *const c_char);
    cuDeviceGetCount = "cuDeviceGetCount" (*mut c_int);
    cuDeviceGet = "cuDeviceGet" (*mut CUdevice, c_int);
    cuDeviceGetName = "cuDeviceGetName" (*mut c_char, c_int, CUdevice);
    cuDeviceGetAttribute = "cuDeviceGetAttribute" (*mut c_int, CUdevice_attribute, CUdevice);
    cuDeviceTotalMem = "cuDeviceTotalMem_v2" (*mut usize, CUdevice);
    cuDeviceGetPCIBusId = "cuDeviceGetPCIBusId" (*mut c_char, c_int, CUdevice);
    cuDevicePrimaryCtxRetain = "cuDevicePrimaryCtxRetain" (*mut CUcontext, CUdevice);
    cuDevicePrimaryCtxRelease = "cuDevicePrimaryCtxRelease_v2" (CUdevice);
    cuCtxGetCurrent = "cuCtxGetCurrent" (*mut CUcontext);
    cuCtxSetCurrent = "cuCtxSetCurrent" (CUcontext);
    cuCtxSynchronize = "cuCtxSynchronize" ();
    cuMemGetInfo = "cuMemGetInfo_v2" (*mut usize, *mut usize);
    cuMemAlloc = "cuMemAlloc_v2" (*mut CUdeviceptr, usize);
    cuMemFree = "cuMemFree_v2" (CUdeviceptr);
    cuMemHostAlloc = "cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
    cuMemFreeHost = "cuMemFreeHost" (*mut c_void);
    cuMemHostGetDevicePointer = "cuMemHostGetDevicePointer_v2" (*mut CUdeviceptr, *mut c_void, c_uint);
    cuPointerGetAttribute = "cuPointerGetAttribute" (*mut c_void, CUpointer_attribute, CUdeviceptr);
    cuStreamCreate = "cuStreamCreate" (*mut CUstream, c_uint);
    cuStreamDestroy = "cuStreamDestroy_v2" (CUstream);
    cuStreamSynchronize = "cuStreamSynchronize" (CUstream);
    cuStreamWaitEvent = "cuStreamWaitEvent" (CUstream, CUevent, c_uint);
    cuEventCreate = "cuEventCreate" (*mut CUevent, c_uint);
    cuEventDestroy = "cuEventDestroy_v2" (CUevent);
    cuEventRecord = "cuEventRecord" (CUevent, CUstream);
    cuEventQuery = "cuEventQuery" (CUevent);
    cuEventElapsedTime = "cuEventElapsedTime" (*mut f32, CUevent, CUevent);
    cuMemcpyHtoDAsync = "cuMemcpyHtoDAsync_v2" (CUdeviceptr, *const c_void, usize, CUstream);
    cuMemcpyDtoHAsync = "cuMemcpyDtoHAsync_v2" (*mut c_void, CUdeviceptr, usize, CUstream);
    cuMemcpy2DAsync = "cuMemcpy2DAsync_v2" (*const sys::CUDA_MEMCPY2D, CUstream);
    cuMemsetD8Async = "cuMemsetD8Async" (CUdeviceptr, u8, usize, CUstream);
    cuModuleLoadDataEx = "cuModuleLoadDataEx" (*mut CUmodule, *const c_void, c_uint, *mut CUjit_option, *mut *mut c_void);
    cuModuleUnload = "cuModuleUnload" (CUmodule);
    cuModuleGetFunction = "cuModuleGetFunction" (*mut CUfunction, CUmodule, *const c_char);
    cuFuncGetAttribute = "cuFuncGetAttribute" (*mut c_int, CUfunction_attribute, CUfunction);
    cuFuncSetAttribute = "cuFuncSetAttribute" (CUfunction, CUfunction_attribute, c_int);
    cuLaunchKernel = "cuLaunchKernel" (CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void, *mut *mut c_void);
}

/// Where the loader looks for the driver's library. The name with the interface's version is the
/// driver's own.
const NAMES: &[&str] =
    if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };

fn no_driver(why: String) -> Error {
    Error::NoDriver { vendor: Vendor::Cuda, why }
}
