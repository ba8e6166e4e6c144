//! Which library this is; memory with random bytes, and with none.
#![allow(unsafe_code)] // Functions with C's names, and pointers.

use core::ffi::{c_char, c_int, c_void};

use zeroize::Zeroize as _;

use crate::{
    memory::bytes_mut,
    status::{guard, guard_free},
};

/// The library's version as text, such as "0.1.0". The header's own is `MANYLANE_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn manylane_version() -> *const c_char {
    const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    TEXT.as_ptr().cast()
}

/// Fills `out` with random bytes of the operating system's, fit for keys and nonces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_random(out: *mut c_void, len: usize) -> c_int {
    guard(|| {
        // SAFETY: the pointer is the caller's word.
        let out = unsafe { bytes_mut(out.cast(), len) }?;
        getrandom::fill(out).map_err(|_| manylane::Error::Random.into())
    })
}

/// Overwrites `len` bytes with zeros, which no compiler takes for useless: for secrets in memory that is given back. Null
/// is left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_wipe(data: *mut c_void, len: usize) {
    guard_free(|| {
        // SAFETY: the pointer is the caller's word.
        if let Ok(data) = unsafe { bytes_mut(data.cast(), len) } {
            data.zeroize();
        }
    });
}
