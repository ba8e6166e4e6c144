//! A library a second time in one process, with settings of its own.
//!
//! What libraries use of a processor is settled when they are loaded, for the whole process. So that
//! one and the same build can take turns with itself, once with and once without some instructions, a copy
//! of its file is loaded: the dynamic linker tells libraries apart by their files. Each binds to itself,
//! as both are loaded for themselves (`RTLD_LOCAL`); what they depend on, the C library above all, they share.
//! (Namespaces, `dlmopen`, would give each a C library of its own, and these two would give thread-local data
//! the same numbers.)

use std::{
    env,
    ffi::{CStr, c_void},
    fs,
    mem::MaybeUninit,
    path::Path,
};

use libloading::Library;

/// Opens the library that holds `function` once more. What runs when it is loaded finds the variable in its
/// environment.
pub(super) fn open(
    function: *const c_void,
    variable: Option<(&str, &str)>,
) -> Result<&'static Library, String> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `found` is valid for writes of a `Dl_info`, which any bytes, zeros too, are.
    let (known, found) =
        unsafe { (libc::dladdr(function, found.as_mut_ptr()), found.assume_init()) };
    if known == 0 || found.dli_fname.is_null() {
        return Err("the dynamic linker does not say which file it is from".into());
    }
    // SAFETY: a name that ends in zero, of a library that stays.
    let path = unsafe { CStr::from_ptr(found.dli_fname) };
    let path = path.to_str().map_err(|why| why.to_string())?;
    let copy = tempfile::NamedTempFile::new().map_err(|why| why.to_string())?;
    fs::copy(path, copy.path()).map_err(|why| format!("{path}: {why}"))?;
    let load = || {
        // SAFETY: the initialisers of these well-known libraries are meant to be run by any process that
        // loads them.
        unsafe { Library::new(copy.path()) }.map_err(|why| why.to_string())
    };
    let library = match variable {
        None => load(),
        Some((name, value)) => with_variable(name, value, load)?,
    };
    // Never unloaded: OpenSSL leaves handlers that run at exit. The file is not needed any more.
    Ok(Box::leak(Box::new(library?)))
}

/// Does something with a variable in the environment that is as it was afterwards.
fn with_variable<T>(name: &str, value: &str, then: impl FnOnce() -> T) -> Result<T, String> {
    let threads = fs::read_dir(Path::new("/proc/self/task")).map_err(|why| why.to_string())?;
    if threads.count() != 1 {
        return Err(format!("{name} cannot be set: other threads may read the environment"));
    }
    let before = env::var_os(name);
    // SAFETY: there is no other thread, and nothing here starts one.
    unsafe { env::set_var(name, value) };
    let result = then();
    match before {
        // SAFETY: as above.
        Some(before) => unsafe { env::set_var(name, before) },
        // SAFETY: as above.
        None => unsafe { env::remove_var(name) },
    }
    Ok(result)
}
