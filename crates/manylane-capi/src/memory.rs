//! Pointers and lengths of a caller, as slices.
#![allow(unsafe_code)] // What pointers lead to is the caller's word.

use core::ffi::{CStr, c_char, c_void};

use manylane::Error;

use crate::status::{LENGTH, NULL, OVERLAP, Result};

/// Whether an object of so many bytes may be at that address.
fn check(address: usize, len: usize) -> Result {
    if address == 0 {
        return Err(NULL);
    }
    if len > isize::MAX as usize || address.checked_add(len).is_none() {
        return Err(LENGTH);
    }
    Ok(())
}

/// Bytes to read. A pointer to none may be null.
///
/// # Safety
/// Otherwise `data` points to `len` bytes that are as they are for `'a`.
pub(crate) unsafe fn bytes<'a>(data: *const c_void, len: usize) -> Result<&'a [u8]> {
    // SAFETY: the caller's word, for bytes have no alignment.
    unsafe { slice(data.cast(), len) }
}

/// As many values to read.
///
/// # Safety
/// As [`bytes`].
pub(crate) unsafe fn slice<'a, T>(data: *const T, len: usize) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    check(data.addr(), len.checked_mul(size_of::<T>()).ok_or(LENGTH)?)?;
    if !data.is_aligned() {
        return Err(crate::status::Failure::argument("an array that is not aligned"));
    }
    // SAFETY: not null, aligned and of a possible length; the rest is the caller's word.
    Ok(unsafe { core::slice::from_raw_parts(data, len) })
}

/// Bytes that only this call uses.
///
/// # Safety
/// Unless `len` is 0, `data` points to `len` bytes that nobody else uses for `'a`.
pub(crate) unsafe fn bytes_mut<'a>(data: *mut u8, len: usize) -> Result<&'a mut [u8]> {
    if len == 0 {
        return Ok(&mut []);
    }
    check(data.addr(), len)?;
    // SAFETY: not null and of a possible length; the rest is the caller's word.
    Ok(unsafe { core::slice::from_raw_parts_mut(data, len) })
}

/// An array of a fixed length to read.
///
/// # Safety
/// `data` is null or points to `N` bytes that are as they are for `'a`.
pub(crate) unsafe fn array<'a, const N: usize>(data: *const u8) -> Result<&'a [u8; N]> {
    // SAFETY: the caller's word.
    let bytes = unsafe { bytes(data.cast(), N) }?;
    Ok(bytes.try_into().expect("as many bytes"))
}

/// Writes an array of a fixed length.
///
/// # Safety
/// `out` is null or points to `N` bytes that may be written.
pub(crate) unsafe fn put_array<const N: usize>(out: *mut u8, value: &[u8; N]) -> Result {
    check(out.addr(), N)?;
    // SAFETY: the caller's word.
    unsafe { out.copy_from(value.as_ptr(), N) };
    Ok(())
}

/// Writes one value.
///
/// # Safety
/// `out` is null or points to a value that may be written.
pub(crate) unsafe fn put<T>(out: *mut T, value: T) -> Result {
    if out.is_null() {
        return Err(NULL);
    }
    // SAFETY: the caller's word.
    unsafe { out.write(value) };
    Ok(())
}

/// Text that ends with a zero byte.
///
/// # Safety
/// `text` is null or points to such text.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Result<&'a CStr> {
    if text.is_null() {
        return Err(NULL);
    }
    // SAFETY: the caller's word.
    Ok(unsafe { CStr::from_ptr(text) })
}

/// The name of an algorithm.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn name<'a>(name: *const c_char) -> Result<std::borrow::Cow<'a, str>> {
    // SAFETY: the caller's word. What is not UTF-8 is no name of anything, and shown with what it is.
    Ok(unsafe { text(name) }?.to_string_lossy())
}

/// Neither begins within the other.
pub(crate) fn check_apart(out: (*mut u8, usize), input: (*const c_void, usize)) -> Result {
    let (a, b) = (out.0.addr(), input.0.addr());
    let apart = out.1 == 0
        || input.1 == 0
        || a.saturating_add(out.1) <= b
        || b.saturating_add(input.1) <= a;
    if apart { Ok(()) } else { Err(OVERLAP) }
}

/// Room for a result whose length is the function's to say: a pointer, and one to the bytes of room.
pub(crate) struct Output {
    data: *mut u8,
    len: *mut usize,
    room: usize,
}

impl Output {
    /// Of the two pointers of a caller. Without room the first may be null: that asks for the length.
    ///
    /// # Safety
    /// `len` is null or points to a number that only this call uses; if it is not 0, `data` is null or points to as
    /// many bytes that only this call uses. Both until the [`Output`] is gone.
    pub(crate) unsafe fn new(data: *mut u8, len: *mut usize) -> Result<Self> {
        if len.is_null() {
            return Err(NULL);
        }
        // SAFETY: the caller's word.
        let room = unsafe { *len };
        if room > 0 {
            check(data.addr(), room)?;
        }
        Ok(Output { data, len, room })
    }

    /// Goes on only if there is room for `needed` bytes; says otherwise how many are needed.
    pub(crate) fn check(&self, needed: usize) -> Result {
        if needed <= self.room {
            return Ok(());
        }
        // SAFETY: of `new`.
        unsafe { self.len.write(needed) };
        Err(Error::OutputLength { expected: needed, got: self.room }.into())
    }

    /// Says how much room suffices, as after too little.
    pub(crate) fn ask(&self, sufficient: usize) -> Result {
        // SAFETY: of `new`.
        unsafe { self.len.write(sufficient) };
        Err(Error::OutputLength { expected: sufficient, got: self.room }.into())
    }

    /// Bytes of room.
    pub(crate) fn len(&self) -> usize {
        self.room
    }

    /// Where it is.
    pub(crate) fn place(&self) -> *mut u8 {
        self.data
    }

    /// Lets `write` fill as much of the room as it needs, and say how much that is; or that it is too little. What it
    /// reads must be apart from the room.
    pub(crate) fn fill_some(
        self,
        write: impl FnOnce(&mut [u8]) -> std::result::Result<usize, Error>,
    ) -> Result {
        // SAFETY: of `new`.
        let written = write(unsafe { bytes_mut(self.data, self.room) }?);
        if let Err(Error::OutputLength { expected, .. }) = written {
            self.check(expected)?;
        }
        // SAFETY: of `new`.
        unsafe { self.len.write(written?) };
        Ok(())
    }

    /// Writes the result.
    pub(crate) fn put(self, result: &[u8]) -> Result {
        self.check(result.len())?;
        // SAFETY: there is room. Of `new` for the rest.
        unsafe {
            if !result.is_empty() {
                self.data.copy_from(result.as_ptr(), result.len());
            }
            self.len.write(result.len());
        }
        Ok(())
    }

    /// Lets `write` fill `len` bytes. Nothing of what the caller gave to read may be in use any more, for it may be
    /// in the same place.
    pub(crate) fn fill(self, len: usize, write: impl FnOnce(&mut [u8])) -> Result {
        self.check(len)?;
        // SAFETY: there is room. Of `new` for the rest.
        unsafe {
            write(bytes_mut(self.data, len)?);
            self.len.write(len);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{Failure, manylane_status::*};

    #[test]
    fn what_cannot_be_is_refused() {
        let byte = 7u8;
        let at = core::ptr::from_ref(&byte).cast::<c_void>();
        let code = |result: Result<&[u8]>| match result {
            Ok(_) => MANYLANE_OK,
            Err(Failure::Own(status)) => status,
            Err(other) => panic!("{other:?}"),
        };
        // SAFETY: one byte is there; all else is refused before it is read.
        unsafe {
            assert_eq!(code(bytes(at, 1)), MANYLANE_OK);
            assert_eq!(code(bytes(core::ptr::null(), 0)), MANYLANE_OK);
            assert_eq!(code(bytes(core::ptr::null(), 1)), MANYLANE_ERROR_NULL);
            assert_eq!(code(bytes(at, usize::MAX)), MANYLANE_ERROR_LENGTH);
            assert_eq!(code(bytes(at, isize::MAX as usize + 1)), MANYLANE_ERROR_LENGTH);
            let words = at.cast::<u64>();
            let many = slice(words, usize::MAX / 4).map(|_| &[][..]);
            assert_eq!(code(many), MANYLANE_ERROR_LENGTH);
        }
    }

    #[test]
    fn overlaps_are_seen() {
        let bytes = [0u8; 8];
        let at = |i: usize| core::ptr::from_ref(&bytes[i]).cast_mut();
        for (a, b, apart) in [
            ((0, 4), (4, 4), true),
            ((4, 4), (0, 4), true),
            ((0, 5), (4, 4), false),
            ((4, 4), (0, 5), false),
            ((2, 2), (0, 8), false),
            ((2, 0), (0, 8), true),
        ] {
            let checked = check_apart((at(a.0), a.1), (at(b.0).cast_const().cast(), b.1));
            assert_eq!(checked.is_ok(), apart, "{a:?} {b:?}");
        }
    }
}
