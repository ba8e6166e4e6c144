//! SM2 (GB/T 32918): keys, signatures, encryption, key exchange.
#![allow(unsafe_code)] // Pointers.

pub mod encrypt;
pub mod exchange;
pub mod key;
pub mod sign;

use core::ffi::c_void;

use crate::{
    memory::bytes,
    status::{NULL, Result},
};

/// A user ID, which must be said: for an empty one and for that of everybody, a null pointer would be as good.
///
/// # Safety
/// As of [`bytes`].
unsafe fn user_id<'a>(id: *const c_void, id_len: usize) -> Result<&'a [u8]> {
    if id.is_null() {
        return Err(NULL);
    }
    // SAFETY: the caller's word.
    unsafe { bytes(id, id_len) }
}
