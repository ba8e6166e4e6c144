//! Which library this is.
#![allow(unsafe_code)] // Functions with C's names.

use core::ffi::c_char;

/// The library's version as text, such as "0.1.0". The header's own is `MANYLANE_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn manylane_version() -> *const c_char {
    const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    TEXT.as_ptr().cast()
}
