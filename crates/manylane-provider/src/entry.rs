//! What stands between OpenSSL's calls and the functions here: no unwinding passes it, and contexts are what they were.
#![allow(unsafe_code, reason = "contexts cross the boundary as addresses")]

use std::{
    ffi::{c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    slice,
};

use crate::{
    core::Core,
    failure::{Failure, Reason},
};

/// What a function returns where it has failed.
pub(crate) trait Failed {
    const FAILED: Self;
}

impl Failed for () {
    const FAILED: () = ();
}

impl Failed for c_int {
    const FAILED: c_int = 0;
}

impl<T> Failed for *const T {
    const FAILED: *const T = std::ptr::null();
}

impl<T> Failed for *mut T {
    const FAILED: *mut T = std::ptr::null_mut();
}

/// Runs a function's body; a panic in it is a failure.
pub(crate) fn guarded<R: Failed>(body: impl FnOnce() -> R) -> R {
    // What a panic leaves half changed is a context, which is safe to use or free whatever is in it.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(R::FAILED)
}

/// Declares functions that OpenSSL calls. No other file has `extern "C"` functions, which a test checks, so all are guarded.
macro_rules! entries {
    ($($(#[$attr:meta])* fn $name:ident $([$($generics:tt)+])? ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block)+) => {$(
        $(#[$attr])*
        unsafe extern "C" fn $name $(<$($generics)+>)? ($($arg: $ty),*) $(-> $ret)? {
            $crate::entry::guarded(move || $body)
        }
    )+};
}
pub(crate) use entries;

/// A context of an operation, or a key.
pub(crate) trait Context: Sized {
    /// Where its errors go.
    fn core(&self) -> Core;
}

/// Gives a context to OpenSSL.
pub(crate) fn give<T: Context>(context: T) -> *mut c_void {
    Box::into_raw(Box::new(context)).cast()
}

/// Takes it back to free it.
///
/// # Safety
/// The address is null, or from [`give`] with the same type and not used again.
pub(crate) unsafe fn free<T: Context>(context: *mut c_void) {
    if !context.is_null() {
        // SAFETY: as the caller says.
        drop(unsafe { Box::from_raw(context.cast::<T>()) });
    }
}

/// A copy of a context.
///
/// # Safety
/// The address is null, or from [`give`] with the same type.
pub(crate) unsafe fn copy<T: Context + Clone>(context: *const c_void) -> *mut c_void {
    // SAFETY: as the caller says.
    match unsafe { context.cast::<T>().as_ref() } {
        Some(context) => give(context.clone()),
        None => std::ptr::null_mut(),
    }
}

/// Works on a context: 1 if that is done; a failure goes on OpenSSL's list of errors.
///
/// # Safety
/// The address is null, or from [`give`] with the same type, and no other thread uses it, as OpenSSL demands of its callers
/// for contexts, and for keys that are changed.
pub(crate) unsafe fn with<T: Context>(
    context: *mut c_void,
    work: impl FnOnce(&mut T) -> Result<(), Failure>,
) -> c_int {
    // SAFETY: as the caller says.
    let Some(context) = (unsafe { context.cast::<T>().as_mut() }) else { return 0 };
    let done = work(context);
    context.core().report(done)
}

/// The same for a key, which several threads may look at.
///
/// # Safety
/// The address is null, or from [`give`] with the same type, and nobody changes it meanwhile.
pub(crate) unsafe fn with_shared<T: Context + Sync>(
    context: *const c_void,
    work: impl FnOnce(&T) -> Result<(), Failure>,
) -> c_int {
    // SAFETY: as the caller says.
    let Some(context) = (unsafe { context.cast::<T>().as_ref() }) else { return 0 };
    context.core().report(work(context))
}

/// Bytes of the caller's.
///
/// # Safety
/// There are `len` bytes at the address, for the time `'a`, unless it is null or `len` is zero.
pub(crate) unsafe fn bytes<'a>(data: *const u8, len: usize) -> Result<&'a [u8], Failure> {
    if data.is_null() || len == 0 {
        return Ok(&[]);
    }
    // No memory has more: the length is a mistake, such as a negative number.
    if len > isize::MAX as usize {
        return Err(Reason::Length.into());
    }
    // SAFETY: as the caller says.
    Ok(unsafe { slice::from_raw_parts(data, len) })
}

/// The same for results.
///
/// # Safety
/// As [`bytes`]; nobody else uses them meanwhile.
pub(crate) unsafe fn room<'a>(data: *mut u8, len: usize) -> &'a mut [u8] {
    match data.is_null() || len == 0 {
        true => &mut [],
        // SAFETY: as the caller says.
        false => unsafe { slice::from_raw_parts_mut(data, len.min(isize::MAX as usize)) },
    }
}

/// Says how long a result is.
///
/// # Safety
/// The address is null or a place for the length.
pub(crate) unsafe fn set_len(place: *mut usize, len: usize) {
    // SAFETY: as the caller says.
    if let Some(place) = unsafe { place.as_mut() } {
        *place = len;
    }
}
