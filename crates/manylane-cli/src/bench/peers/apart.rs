//! A library a second time in one process, with settings of its own.
//!
//! What libraries use of a processor is settled when they are loaded, for the whole process. So that
//! one and the same build can take turns with itself, once with and once without some instructions, it is
//! loaded again into a namespace of the dynamic linker (`dlmopen`), together with a libc of its own.

use std::ffi::CStr;

use libloading::Library;

/// Opens the first of these libraries that there is, in a namespace of its own. What runs when it is loaded
/// finds `variables` in its environment; this process's is not changed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn open(
    names: &[&str],
    variables: &[(&CStr, &CStr)],
) -> Result<&'static Library, String> {
    use std::{
        ffi::{CString, c_char, c_int, c_void},
        ptr::from_mut,
    };

    use libloading::os::unix::Library as UnixLibrary;

    type Setenv = unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> c_int;
    let why = || {
        // SAFETY: returns a string of the linker's, or null, until this thread's next call of it.
        let why = unsafe { libc::dlerror() };
        match why.is_null() {
            true => "the dynamic linker says no more".to_owned(),
            // SAFETY: as above; it ends in zero.
            false => unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned(),
        }
    };
    let open_in = |namespace, name: &CStr| {
        // SAFETY: the initialisers of these well-known libraries are meant to be run by any process
        // that loads them.
        let handle = unsafe { libc::dlmopen(namespace, name.as_ptr(), libc::RTLD_NOW) };
        (!handle.is_null()).then_some(handle)
    };
    let own_libc = open_in(libc::LM_ID_NEWLM, c"libc.so.6").ok_or_else(why)?;
    let mut namespace: libc::Lmid_t = 0;
    let into: *mut c_void = from_mut(&mut namespace).cast();
    // SAFETY: the handle is live, and the request writes an `Lmid_t`.
    if unsafe { libc::dlinfo(own_libc, libc::RTLD_DI_LMID, into) } != 0 {
        return Err(why());
    }
    // SAFETY: a handle of `dlmopen` is one of `dlopen`. It is never closed.
    let own_libc = std::mem::ManuallyDrop::new(unsafe { UnixLibrary::from_raw(own_libc) });
    // SAFETY: the signature is that of stdlib.h.
    let setenv = unsafe { own_libc.get::<Setenv>(c"setenv") }.map_err(|why| why.to_string())?;
    for (name, value) in variables {
        // SAFETY: both end in zero. The list of variables that this libc has is its own from its first
        // change on, and no other thread knows of it.
        if unsafe { setenv(name.as_ptr(), value.as_ptr(), 1) } != 0 {
            return Err("no memory for a variable".into());
        }
    }
    for name in names {
        let name = CString::new(*name).expect("no zeros");
        if let Some(handle) = open_in(namespace, &name) {
            // SAFETY: as above.
            let library = unsafe { UnixLibrary::from_raw(handle) };
            return Ok(Box::leak(Box::new(library.into())));
        }
    }
    Err(why())
}

/// As above.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn open(_: &[&str], _: &[(&CStr, &CStr)]) -> Result<&'static Library, String> {
    Err("only glibc loads a library twice".into())
}
