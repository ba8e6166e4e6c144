//! Many messages, as they lie in a caller's memory.
#![allow(unsafe_code)] // Functions with C's names, and pointers.

use core::ffi::{c_int, c_void};

use manylane::Messages;

use crate::{
    memory::{bytes, check_apart, slice},
    status::{Failure, LENGTH, MEMORY, NULL, Result},
};

/// How many messages lie in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum manylane_shape {
    /// An array of pointers and one of lengths.
    MANYLANE_SHAPE_POINTERS = 0,
    /// Rows of one length, one every `stride` bytes.
    MANYLANE_SHAPE_STRIDED = 1,
    /// Data, and 32-bit offsets into them: Apache Arrow's `binary`.
    MANYLANE_SHAPE_OFFSETS32 = 2,
    /// Data, and 64-bit offsets into them: Apache Arrow's `large_binary`.
    MANYLANE_SHAPE_OFFSETS64 = 3,
}

/// Many messages, where they lie: made by manylane_pointers(), manylane_strided(), manylane_offsets32() or
/// manylane_offsets64(), which copy nothing and check nothing. Whoever uses them checks them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct manylane_messages {
    /// One of `manylane_shape`.
    pub shape: c_int,
    /// The data, or an array of `count` pointers.
    pub data: *const c_void,
    /// Bytes of data.
    pub data_len: usize,
    /// An array of `count` lengths, or of `count + 1` offsets.
    pub places: *const c_void,
    /// Number of messages.
    pub count: usize,
    /// Bytes of a message.
    pub len: usize,
    /// Bytes from the start of a message to that of the next.
    pub stride: usize,
    /// Must be 0.
    pub reserved: [u64; 2],
}

impl Default for manylane_messages {
    fn default() -> Self {
        manylane_messages {
            shape: manylane_shape::MANYLANE_SHAPE_POINTERS as c_int,
            data: core::ptr::null(),
            data_len: 0,
            places: core::ptr::null(),
            count: 0,
            len: 0,
            stride: 0,
            reserved: [0; 2],
        }
    }
}

/// `count` messages: message `i` is `lens[i]` bytes at `pointers[i]`, which may be null where the length is 0.
#[unsafe(no_mangle)]
pub extern "C" fn manylane_pointers(
    pointers: *const *const c_void,
    lens: *const usize,
    count: usize,
) -> manylane_messages {
    let shape = manylane_shape::MANYLANE_SHAPE_POINTERS as c_int;
    let (data, places) = (pointers.cast(), lens.cast());
    manylane_messages { shape, data, places, count, ..Default::default() }
}

/// `count` messages of `len` bytes, message `i` at `stride * i` bytes from `data`, within `data_len` bytes. `stride`
/// may not be less than `len`, for rows that overlap are refused; the last row may end before its stride does.
#[unsafe(no_mangle)]
pub extern "C" fn manylane_strided(
    data: *const c_void,
    data_len: usize,
    len: usize,
    stride: usize,
    count: usize,
) -> manylane_messages {
    let shape = manylane_shape::MANYLANE_SHAPE_STRIDED as c_int;
    manylane_messages { shape, data, data_len, count, len, stride, ..Default::default() }
}

/// `count` messages by `count + 1` offsets: message `i` is the bytes from `offsets[i]` to before `offsets[i + 1]` of
/// `data`, which has `data_len` bytes. Without messages, `offsets` may be null.
#[unsafe(no_mangle)]
pub extern "C" fn manylane_offsets32(
    data: *const c_void,
    data_len: usize,
    offsets: *const u32,
    count: usize,
) -> manylane_messages {
    let shape = manylane_shape::MANYLANE_SHAPE_OFFSETS32 as c_int;
    manylane_messages { shape, data, data_len, places: offsets.cast(), count, ..Default::default() }
}

/// The same by 64-bit offsets.
#[unsafe(no_mangle)]
pub extern "C" fn manylane_offsets64(
    data: *const c_void,
    data_len: usize,
    offsets: *const u64,
    count: usize,
) -> manylane_messages {
    let shape = manylane_shape::MANYLANE_SHAPE_OFFSETS64 as c_int;
    manylane_messages { shape, data, data_len, places: offsets.cast(), count, ..Default::default() }
}

/// An empty list with room for so many.
pub(crate) fn room_for<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| MEMORY)?;
    Ok(list)
}

/// The messages, checked. `list` is where slices are put, if they are such.
///
/// # Safety
/// `messages` is null or points to them, and they are as their shape says for `'a`.
pub(crate) unsafe fn resolve<'a>(
    messages: *const manylane_messages,
    list: &'a mut Vec<&'a [u8]>,
) -> Result<Messages<'a>> {
    if messages.is_null() {
        return Err(NULL);
    }
    // SAFETY: the caller's word.
    let m = unsafe { *messages };
    if m.reserved != [0; 2] {
        return Err(Failure::argument("messages of a newer library, or of none"));
    }
    let offsets = || match m.count {
        0 => Ok(0),
        count => count.checked_add(1).ok_or(LENGTH),
    };
    // SAFETY: the caller's word, in each of these.
    unsafe {
        Ok(match m.shape {
            0 => {
                let pointers = slice(m.data.cast::<*const c_void>(), m.count)?;
                let lens = slice(m.places.cast::<usize>(), m.count)?;
                *list = room_for(m.count)?;
                for (&data, &len) in pointers.iter().zip(lens) {
                    list.push(bytes(data, len)?);
                }
                Messages::slices(list)
            }
            1 => Messages::strided(bytes(m.data, m.data_len)?, m.len, m.stride, m.count)?,
            2 => {
                let offsets = slice(m.places.cast::<u32>(), offsets()?)?;
                Messages::offsets32(bytes(m.data, m.data_len)?, offsets)?
            }
            3 => {
                let offsets = slice(m.places.cast::<u64>(), offsets()?)?;
                Messages::offsets64(bytes(m.data, m.data_len)?, offsets)?
            }
            other => return Err(Failure::argument(format!("{other} is no shape of messages"))),
        })
    }
}

/// Refuses an output within the messages, or within what says where they are: that is read while digests are written.
///
/// # Safety
/// `given` is what `messages` were resolved from.
pub(crate) unsafe fn check_apart_from(
    out: (*mut u8, usize),
    given: *const manylane_messages,
    messages: &Messages,
) -> Result {
    // SAFETY: it was read before.
    let given = unsafe { *given };
    let apart = |data: &[u8]| check_apart(out, (data.as_ptr().cast(), data.len()));
    let places = |bytes: usize| check_apart(out, (given.places, bytes));
    match messages.shape() {
        manylane::Shape::Slices(slices) => {
            check_apart(out, (given.data, size_of::<*const c_void>() * given.count))?;
            places(size_of::<usize>() * given.count)?;
            slices.iter().try_for_each(|data| apart(data))
        }
        manylane::Shape::Strided { data, .. } => apart(data),
        manylane::Shape::Offsets32 { data, offsets } => {
            places(size_of_val(offsets))?;
            apart(data)
        }
        manylane::Shape::Offsets64 { data, offsets } => {
            places(size_of_val(offsets))?;
            apart(data)
        }
        // No other shape is made here.
        _ => Ok(()),
    }
}
