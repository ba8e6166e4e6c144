//! Stand-ins for the CUDA and HIP drivers, for tests.
//!
//! `build.rs` makes shared libraries that look like the vendors' to the loader and run manylane's
//! own kernels, compiled as C++ for the host. [`install`] puts one in place of the driver in this
//! process, [`Driver::folder`] in that of a program that is started. `README.md` has the settings.
#![allow(unsafe_code)]

use std::{
    ffi::{CString, c_char, c_int},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// A stand-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// For NVIDIA's.
    Cuda,
    /// For AMD's.
    Hip,
}

impl Driver {
    /// The folder of the stand-in, for `LD_LIBRARY_PATH` of a program that is to find it. Its
    /// settings come in `MANYLANE_EMULATOR`.
    pub fn folder(self) -> PathBuf {
        Path::new(env!("MANYLANE_EMULATOR_DRIVERS")).join(match self {
            Driver::Cuda => "cuda",
            Driver::Hip => "hip",
        })
    }

    fn file(self) -> &'static str {
        match self {
            Driver::Cuda => "libcuda.so.1",
            Driver::Hip => "libamdhip64.so.7",
        }
    }

    fn library(self) -> &'static Library {
        static CUDA: OnceLock<Library> = OnceLock::new();
        static HIP: OnceLock<Library> = OnceLock::new();
        let cell = match self {
            Driver::Cuda => &CUDA,
            Driver::Hip => &HIP,
        };
        cell.get_or_init(|| {
            let path = self.folder().join(self.file());
            // SAFETY: the library is this crate's own, and does nothing when it is loaded but
            // read its settings. Its kernels and state stay its own: the other stand-in has the
            // same names.
            unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        })
    }
}

/// The [folder](Driver::folder) of the CUDA driver's stand-in.
pub fn library_dir() -> PathBuf {
    Driver::Cuda.folder()
}

/// Puts a stand-in in place of the driver for the rest of the process, before anything asks for
/// the driver: the loader gives out what is loaded already under that name. Then applies the
/// settings, `name=value[@device]` separated by commas; may be called again for others.
///
/// # Panics
/// If the stand-in cannot be loaded or a setting is unknown.
pub fn install(driver: Driver, settings: &str) {
    let text = CString::new(settings).expect("settings have no zero byte");
    // SAFETY: the function is the library's, of that type.
    let code = unsafe {
        let configure: libloading::os::unix::Symbol<unsafe extern "C" fn(*const c_char) -> c_int> =
            driver.library().get("manylane_emulator_configure").expect("the stand-in has it");
        configure(text.as_ptr())
    };
    assert_eq!(code, 0, "settings of the emulator: {settings}");
}

/// Page-locks memory for a device, as a caller of the driver may do with its own.
///
/// # Panics
/// If the stand-in refuses.
pub fn register(driver: Driver, device: u32, bytes: &[u8]) {
    // SAFETY: the function is the library's, of that type.
    let code = unsafe {
        type Register = unsafe extern "C" fn(c_int, *const u8, usize) -> c_int;
        let register: libloading::os::unix::Symbol<Register> =
            driver.library().get("manylane_emulator_register").expect("the stand-in has it");
        register(device.cast_signed(), bytes.as_ptr(), bytes.len())
    };
    assert_eq!(code, 0, "{} bytes are not page-locked", bytes.len());
}

/// Undoes [`register`] of bytes that begin there.
///
/// # Panics
/// If there was none.
pub fn unregister(driver: Driver, bytes: &[u8]) {
    // SAFETY: the function is the library's, of that type.
    let code = unsafe {
        type Unregister = unsafe extern "C" fn(*const u8) -> c_int;
        let unregister: libloading::os::unix::Symbol<Unregister> =
            driver.library().get("manylane_emulator_unregister").expect("the stand-in has it");
        unregister(bytes.as_ptr())
    };
    assert_eq!(code, 0, "nothing is page-locked there");
}

/// How often something has happened on a device so far: `launches`, `copies`, `allocations`,
/// `live_bytes`, `contexts`, `sharing` (launches with dynamic shared memory), `unwiped`; for the first device also
/// `compilations` by hipRTC. `dirty_host` says how many page-locked buffers hold something other than zeros now.
///
/// # Panics
/// If there is no such count.
pub fn count(driver: Driver, device: u32, name: &str) -> u64 {
    let text = CString::new(name).expect("names have no zero byte");
    // SAFETY: the function is the library's, of that type.
    let count = unsafe {
        let count: libloading::os::unix::Symbol<unsafe extern "C" fn(c_int, *const c_char) -> u64> =
            driver.library().get("manylane_emulator_count").expect("the stand-in has it");
        count(device.cast_signed(), text.as_ptr())
    };
    assert_ne!(count, u64::MAX, "no count {name} of device {device}");
    count
}
