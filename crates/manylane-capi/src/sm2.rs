//! SM2 (GB/T 32918): keys, signatures, encryption, key exchange.
#![allow(unsafe_code)] // Pointers.

pub mod encrypt;
pub mod exchange;
pub mod key;
pub mod sign;

use core::ffi::c_void;

use manylane::sm2::DEFAULT_ID;

use crate::{memory::bytes, status::Result};

/// A user ID; null without a length stands for the one that everybody has.
///
/// # Safety
/// As of [`bytes`].
unsafe fn user_id<'a>(id: *const c_void, id_len: usize) -> Result<&'a [u8]> {
    if id.is_null() && id_len == 0 {
        return Ok(DEFAULT_ID);
    }
    // SAFETY: the caller's word.
    unsafe { bytes(id, id_len) }
}
