//! Memory of Python objects, held as long as it is used.
//!
//! A view that is held keeps the memory where it is: a `bytearray` cannot be resized meanwhile. What no view can do is to
//! keep other threads from writing to it while the interpreter's lock is released. Then the result is as undefined as with
//! `hashlib`, which reads in the same way; nothing here reads such bytes to decide where to read or write.
#![allow(unsafe_code)]

use std::{ffi::c_int, ops::Range};

use pyo3::{
    buffer::PyUntypedBuffer,
    exceptions::{PyBufferError, PyTypeError, PyValueError},
    ffi,
    prelude::*,
    types::{PyBytes, PyList, PyString, PyTuple},
};

/// Bytes from which on the interpreter's lock is released: hashlib's number.
pub(crate) const RELEASED: usize = 2048;

/// Does work on so many bytes, and lets other threads run meanwhile if that is worth it.
pub(crate) fn released<T: Send>(py: Python<'_>, len: usize, work: impl FnOnce() -> T + Send) -> T {
    if len < RELEASED { work() } else { py.detach(work) }
}

/// Contiguous bytes of an object.
pub(crate) enum Bytes {
    /// What cannot change.
    Object(Py<PyBytes>),
    /// A view of anything else.
    View(Plain),
}

/// A view of contiguous memory without regard to its shape, which not every object has: that of `ctypes` lacks strides,
/// an array of no dimensions lacks a shape too.
pub(crate) struct Plain(Box<ffi::Py_buffer>);

// SAFETY: an exporter's description of memory that it keeps; released with the interpreter's lock held.
unsafe impl Send for Plain {}
// SAFETY: as above; it is never written to.
unsafe impl Sync for Plain {}

impl Plain {
    fn of(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<Self> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: the interpreter's lock is held, and the place is ours to be filled.
        match unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, flags) } {
            0 => Ok(Plain(view)),
            _ => Err(no_view(object, PyErr::fetch(object.py()))),
        }
    }

    fn len(&self) -> usize {
        self.0.len.unsigned_abs()
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        // Where there is no interpreter any more, its memory has gone with it.
        // SAFETY: filled by `of`, and released once.
        let _ = Python::try_attach(|_| unsafe { ffi::PyBuffer_Release(&raw mut *self.0) });
    }
}

/// A clear error for an object that has no memory to show.
fn no_view(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyTypeError>(object.py()) {
        return error;
    }
    let name = object.get_type().name().map(|name| name.to_string());
    let name = name.unwrap_or_else(|_| "object".into());
    PyTypeError::new_err(format!("a bytes-like object is required, not '{name}'"))
}

impl Bytes {
    /// Those of an object with contiguous memory, whatever its items are; as `hashlib` takes it.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Bytes::Object(bytes.clone().unbind()));
        }
        if object.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("Strings must be encoded before hashing"));
        }
        Ok(Bytes::View(Plain::of(object, ffi::PyBUF_SIMPLE)?))
    }

    /// The bytes.
    pub(crate) fn get(&self) -> &[u8] {
        match self {
            Bytes::Object(bytes) => {
                // SAFETY: the object is held and never changes; reading its address and length needs no lock.
                unsafe {
                    let object = bytes.as_ptr();
                    let len = pyo3::ffi::PyBytes_Size(object).unsigned_abs();
                    slice(pyo3::ffi::PyBytes_AsString(object).cast(), len)
                }
            }
            // SAFETY: the view is contiguous and held.
            Bytes::View(view) => unsafe { slice(view.0.buf.cast(), view.len()) },
        }
    }
}

/// A view of an object's memory; a clear error if it has none to show.
pub(crate) fn view(object: &Bound<'_, PyAny>) -> PyResult<PyUntypedBuffer> {
    let view = PyUntypedBuffer::get(object).map_err(|error| no_view(object, error))?;
    match view.suboffsets() {
        Some(offsets) if offsets.iter().any(|&offset| offset >= 0) => {
            Err(PyValueError::new_err("the buffer is indirect"))
        }
        _ => Ok(view),
    }
}

/// `len` bytes at an address, which may be null if there are none.
///
/// # Safety
/// They are readable, and stay so as long as the caller uses the slice.
pub(crate) unsafe fn slice<'a>(at: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(at, len) }
}

/// Whether items of a buffer are bytes.
pub(crate) fn has_bytes(view: &PyUntypedBuffer) -> bool {
    let format = view.format().to_bytes();
    view.item_size() == 1 && matches!(format, b"B" | b"c" | b"@B" | b"=B" | b"<B")
}

/// Rows of bytes in a buffer of two dimensions.
pub(crate) struct Rows {
    view: PyUntypedBuffer,
    pub(crate) count: usize,
    pub(crate) len: usize,
    pub(crate) stride: usize,
}

impl Rows {
    /// Those of a view that has two dimensions.
    pub(crate) fn of(view: PyUntypedBuffer) -> PyResult<Self> {
        if !has_bytes(&view) {
            let format = view.format().to_string_lossy();
            return Err(PyTypeError::new_err(format!(
                "rows must be of uint8, not of format '{format}'"
            )));
        }
        let (&[count, len], &[stride, step]) = (view.shape(), view.strides()) else {
            return Err(PyValueError::new_err("the buffer has not two dimensions"));
        };
        if len > 1 && step != 1 {
            return Err(PyValueError::new_err("the bytes of a row are not contiguous"));
        }
        let stride = stride_of(count, len, stride)?;
        let rows = Rows { view, count, len, stride };
        let bytes = span(count, len, stride);
        if bytes.is_none_or(|bytes| bytes > 0 && rows.view.buf_ptr().is_null()) {
            return Err(PyValueError::new_err("a buffer whose description makes no sense"));
        }
        Ok(rows)
    }

    /// All of it, from the first row's begin to the last one's end.
    pub(crate) fn data(&self) -> &[u8] {
        let len = span(self.count, self.len, self.stride).expect("as `of` has found");
        // SAFETY: the view is held, and these are the bounds of what it shows.
        unsafe { slice(self.view.buf_ptr().cast(), len) }
    }
}

/// The stride of rows. That of a single row, or of rows without bytes, says nothing.
pub(crate) fn stride_of(count: usize, len: usize, stride: isize) -> PyResult<usize> {
    match usize::try_from(stride) {
        _ if count <= 1 || len == 0 => Ok(len),
        Ok(stride) if stride >= len => Ok(stride),
        _ => Err(PyValueError::new_err("the rows overlap, or run backwards")),
    }
}

/// Bytes from the first row's begin to the last one's end; none if that is no number.
pub(crate) fn span(count: usize, len: usize, stride: usize) -> Option<usize> {
    match (count, len) {
        (0, _) | (_, 0) => Some(0),
        _ => (count - 1)
            .checked_mul(stride)?
            .checked_add(len)
            .filter(|&all| all <= isize::MAX as usize),
    }
}

/// Offsets of messages in their data.
pub(crate) enum Offsets {
    /// Of 32 bits.
    Short(Vec<u32>),
    /// Of 64 bits.
    Long(Vec<u64>),
}

impl Offsets {
    /// A copy, because another thread that changed them while they are used could lead a kernel astray. Signed ones
    /// have the same bits unless they are negative, and these point past every data.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            return object.extract().map(Offsets::Long);
        }
        let view = view(object)?;
        if view.dimensions() != 1 {
            return Err(PyValueError::new_err("offsets must have one dimension"));
        }
        let format = view.format().to_bytes();
        let kind = match format {
            [b'@' | b'=' | b'<', kind] | [kind] => *kind,
            _ => 0,
        };
        let (count, step) = (view.shape()[0], view.strides()[0]);
        let item = |i: usize| {
            // SAFETY: the view is held, and has an item there.
            unsafe { view.buf_ptr().cast::<u8>().offset(i.cast_signed() * step) }
        };
        match (kind, view.item_size()) {
            (b'i' | b'I' | b'l' | b'L', 4) => {
                // SAFETY: so many bytes are there, aligned or not.
                let read = |i| unsafe { item(i).cast::<u32>().read_unaligned() };
                Ok(Offsets::Short((0..count).map(read).collect()))
            }
            (b'l' | b'L' | b'q' | b'Q', 8) => {
                // SAFETY: so many bytes are there, aligned or not.
                let read = |i| unsafe { item(i).cast::<u64>().read_unaligned() };
                Ok(Offsets::Long((0..count).map(read).collect()))
            }
            _ => {
                let format = view.format().to_string_lossy();
                Err(PyTypeError::new_err(format!(
                    "offsets must be of uint32, int32, uint64 or int64, not of format '{format}'"
                )))
            }
        }
    }
}

/// Memory of an object that results are written to.
pub(crate) struct Output {
    at: *mut u8,
    len: usize,
    /// Keeps the memory.
    _view: Held,
}

enum Held {
    Shaped { _view: PyUntypedBuffer },
    Plain { _view: Plain },
}

impl Output {
    /// For `count` results of `len` bytes: as many rows, or all of them in one dimension.
    pub(crate) fn of(object: &Bound<'_, PyAny>, count: usize, len: usize) -> PyResult<Self> {
        let view = match view(object) {
            // Without strides, as `ctypes` has it, there is one dimension.
            Err(error) if error.is_instance_of::<PyBufferError>(object.py()) => {
                let output = Output::plain(object)?;
                return match count.checked_mul(len) == Some(output.len) {
                    true => Ok(output),
                    false => Err(PyValueError::new_err(format!(
                        "out has {} bytes, which is not {count} times {len}",
                        output.len
                    ))),
                };
            }
            view => view?,
        };
        if view.readonly() {
            return Err(PyValueError::new_err("out is read-only"));
        }
        if !has_bytes(&view) {
            return Err(PyTypeError::new_err("out must be of uint8"));
        }
        if !view.is_c_contiguous() {
            return Err(PyValueError::new_err("out is not C-contiguous"));
        }
        let fits = match view.shape() {
            [rows, row] => (*rows, *row) == (count, len),
            [all] => count.checked_mul(len) == Some(*all),
            _ => false,
        };
        if !fits {
            return Err(PyValueError::new_err(format!(
                "out has the shape {:?}, which is not ({count}, {len})",
                view.shape()
            )));
        }
        let (at, len) = (view.buf_ptr().cast(), view.len_bytes());
        Ok(Output { at, len, _view: Held::Shaped { _view: view } })
    }

    /// Contiguous bytes of any shape.
    fn plain(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let view = match Plain::of(object, ffi::PyBUF_WRITABLE) {
            Ok(view) => view,
            // The exporter's own words are of no use to whoever has given it as a place for results.
            Err(error) => match Plain::of(object, ffi::PyBUF_SIMPLE) {
                Ok(_) => return Err(PyValueError::new_err("the output is read-only")),
                Err(_) => return Err(error),
            },
        };
        Ok(Output { at: view.0.buf.cast(), len: view.len(), _view: Held::Plain { _view: view } })
    }

    /// Contiguous bytes of any shape, exactly `len` or more of them.
    pub(crate) fn at_least(object: &Bound<'_, PyAny>, len: usize) -> PyResult<Self> {
        let output = Output::plain(object)?;
        output.check_len(len)?;
        Ok(output)
    }

    /// Refuses to have fewer bytes.
    pub(crate) fn check_len(&self, len: usize) -> PyResult<()> {
        if self.len < len {
            return Err(PyValueError::new_err(format!(
                "the output has {} bytes, {len} are needed",
                self.len
            )));
        }
        Ok(())
    }

    /// Addresses of its bytes.
    pub(crate) fn range(&self) -> Range<usize> {
        let start = self.at.addr();
        start..start + self.len
    }

    /// Refuses to be where an input is: that would change while it is read.
    pub(crate) fn check_apart(&self, input: &[u8]) -> PyResult<()> {
        let (ours, theirs) = (self.range(), input.as_ptr().addr());
        if !input.is_empty() && ours.start < theirs + input.len() && theirs < ours.end {
            return Err(PyValueError::new_err("out overlaps the input"));
        }
        Ok(())
    }

    /// The bytes.
    pub(crate) fn get(&mut self) -> &mut [u8] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: the view is contiguous, writable and held, and no input of the same call is there.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.len) }
    }
}
