//! Arrays in the layout of Apache Arrow, by its C data interface and PyCapsule protocol, where they lie.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};

use manylane::Messages;
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyCapsule};

use crate::{
    error::{Error, library},
    memory::slice,
};

#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

/// An array that a stream gave, released when it is dropped.
struct Owned(Box<Array>);

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: the producer's function for its own array, called once.
            unsafe { release(&mut *self.0) };
        }
    }
}

/// A producer's structure, which only the thread that has it uses.
struct Shared<T>(*mut T);

// SAFETY: it is used on one thread; to be sent is what work without the interpreter's lock asks for.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn get(&self) -> *mut T {
        self.0
    }
}

/// How the values of an array lie.
#[derive(Clone, Copy)]
enum Kind {
    Offsets32,
    Offsets64,
    Fixed(usize),
    Views,
}

impl Kind {
    /// By the format string of the C data interface.
    fn of(format: &CStr) -> PyResult<Self> {
        let text = format.to_str().unwrap_or_default();
        match text {
            "z" | "u" => Ok(Kind::Offsets32),
            "Z" | "U" => Ok(Kind::Offsets64),
            "vz" | "vu" => Ok(Kind::Views),
            _ => match text.strip_prefix("w:").and_then(|width| width.parse().ok()) {
                Some(width) => Ok(Kind::Fixed(width)),
                None => Err(PyTypeError::new_err(format!(
                    "an Arrow array of the format '{text}'; it must be binary, large_binary, utf8, large_utf8, \
                     fixed_size_binary, binary_view or string_view"
                ))),
            },
        }
    }
}

/// Messages of one array.
enum Part {
    Offsets32 { data: &'static [u8], offsets: &'static [u32] },
    Offsets64 { data: &'static [u8], offsets: &'static [u64] },
    Fixed { data: &'static [u8], width: usize, count: usize },
    Views(Vec<&'static [u8]>),
}

/// The arrays of an Arrow object, held as long as this lives. What they lie in never changes, says Arrow.
pub(crate) struct Arrays {
    parts: Vec<Part>,
    /// Who owns what `parts` borrows.
    _owned: Vec<Owned>,
    _capsules: Vec<Py<PyAny>>,
}

impl Arrays {
    /// Those of an object that has `__arrow_c_array__` or `__arrow_c_stream__`; none if it has neither.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if object.hasattr("__arrow_c_array__")? {
            let pair = object.call_method0("__arrow_c_array__")?;
            return Arrays::of_array(&pair).map(Some);
        }
        if object.hasattr("__arrow_c_stream__")? {
            let capsule = object.call_method0("__arrow_c_stream__")?;
            return Arrays::of_stream(&capsule).map(Some);
        }
        Ok(None)
    }

    fn of_array(pair: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        let schema_at = pointer(&schema, c"arrow_schema")?.cast::<Schema>();
        let array_at = pointer(&array, c"arrow_array")?.cast::<Array>();
        // SAFETY: capsules of these names hold these structures, as long as they live.
        let part = unsafe {
            let kind = kind_of(&*schema_at)?;
            part(kind, &*array_at)?
        };
        let _capsules = vec![schema.unbind(), array.unbind()];
        Ok(Arrays { parts: vec![part], _owned: Vec::new(), _capsules })
    }

    fn of_stream(capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = capsule.py();
        let stream = pointer(capsule, c"arrow_array_stream")?.cast::<Stream>();
        // SAFETY: a capsule of that name holds that structure, which is used by this thread alone.
        let (get_schema, get_next) = unsafe {
            match ((*stream).release, (*stream).get_schema, (*stream).get_next) {
                (Some(_), Some(get_schema), Some(get_next)) => (get_schema, get_next),
                _ => return Err(Error::new_err("the Arrow stream has been released")),
            }
        };
        let mut schema = Schema {
            format: std::ptr::null(),
            name: std::ptr::null(),
            metadata: std::ptr::null(),
            flags: 0,
            n_children: 0,
            children: std::ptr::null_mut(),
            dictionary: std::ptr::null_mut(),
            release: None,
            private_data: std::ptr::null_mut(),
        };
        // SAFETY: the producer's function for its own stream, with room for a schema, which is released once.
        let kind = unsafe {
            // A producer can wait for threads that need the interpreter.
            let at = (Shared(stream), Shared(&raw mut schema));
            check(stream, py.detach(|| get_schema(at.0.get(), at.1.get())))?;
            let kind = kind_of(&schema);
            if let Some(release) = schema.release {
                release(&mut schema);
            }
            kind?
        };
        let (mut parts, mut owned) = (Vec::new(), Vec::new());
        loop {
            let mut array = Owned(Box::new(Array {
                length: 0,
                null_count: 0,
                offset: 0,
                n_buffers: 0,
                n_children: 0,
                buffers: std::ptr::null(),
                children: std::ptr::null_mut(),
                dictionary: std::ptr::null_mut(),
                release: None,
                private_data: std::ptr::null_mut(),
            }));
            // SAFETY: the producer's function for its own stream, with room for an array.
            unsafe {
                let at = (Shared(stream), Shared(&raw mut *array.0));
                check(stream, py.detach(|| get_next(at.0.get(), at.1.get())))?;
            }
            if array.0.release.is_none() {
                break;
            }
            // SAFETY: the array is the producer's, and held in `owned`.
            parts.push(unsafe { part(kind, &array.0)? });
            owned.push(array);
        }
        Ok(Arrays { parts, _owned: owned, _capsules: vec![capsule.clone().unbind()] })
    }

    /// The messages of each array, in order.
    pub(crate) fn messages(&self) -> PyResult<Vec<Messages<'_>>> {
        self.parts.iter().map(|part| part.messages().map_err(library)).collect()
    }
}

impl Part {
    fn messages(&self) -> Result<Messages<'_>, manylane::Error> {
        match self {
            Part::Offsets32 { data, offsets } => Messages::offsets32(data, offsets),
            Part::Offsets64 { data, offsets } => Messages::offsets64(data, offsets),
            Part::Fixed { data, width, count } => Messages::strided(data, *width, *width, *count),
            Part::Views(slices) => Ok(Messages::slices(slices)),
        }
    }
}

fn pointer(capsule: &Bound<'_, PyAny>, name: &'static CStr) -> PyResult<*mut c_void> {
    let capsule = capsule
        .cast::<PyCapsule>()
        .map_err(|_| PyTypeError::new_err(format!("not a capsule '{}'", name.to_string_lossy())))?;
    Ok(capsule.pointer_checked(Some(name))?.as_ptr())
}

/// # Safety
/// The stream is alive.
unsafe fn check(stream: *mut Stream, code: c_int) -> PyResult<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the producer's function for its own stream; it gives null or a text.
    let text = unsafe {
        let text = (*stream).get_last_error.map_or(std::ptr::null(), |last| last(stream));
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    let text = text.unwrap_or_else(|| format!("error {code}"));
    Err(Error::new_err(format!("the Arrow stream failed: {text}")))
}

/// # Safety
/// The schema is a producer's, not released.
unsafe fn kind_of(schema: &Schema) -> PyResult<Kind> {
    if schema.release.is_none() || schema.format.is_null() {
        return Err(Error::new_err("the Arrow schema has been released"));
    }
    if !schema.dictionary.is_null() {
        return Err(PyTypeError::new_err("a dictionary-encoded Arrow array; decode it first"));
    }
    // SAFETY: the producer's text.
    Kind::of(unsafe { CStr::from_ptr(schema.format) })
}

/// # Safety
/// The array is a producer's of that kind, not released, and outlives the part.
unsafe fn part(kind: Kind, array: &Array) -> PyResult<Part> {
    let negative = || Error::new_err("an Arrow array of a negative length or offset");
    if array.release.is_none() {
        return Err(Error::new_err("the Arrow array has been released"));
    }
    let count = usize::try_from(array.length).map_err(|_| negative())?;
    let offset = usize::try_from(array.offset).map_err(|_| negative())?;
    let least = match kind {
        Kind::Fixed(_) => 2,
        Kind::Offsets32 | Kind::Offsets64 | Kind::Views => 3,
    };
    let n_buffers = usize::try_from(array.n_buffers).unwrap_or(0);
    if n_buffers < least || array.buffers.is_null() {
        return Err(Error::new_err(format!("an Arrow array of {n_buffers} buffers")));
    }
    // SAFETY: the producer has as many buffers as it says.
    let buffer = |i: usize| unsafe { (*array.buffers.add(i)).cast::<u8>() };
    // SAFETY: as the caller's.
    unsafe {
        if has_nulls(array, buffer(0), offset, count) {
            return Err(Error::new_err("the Arrow array has nulls; drop or fill them first"));
        }
        match kind {
            Kind::Fixed(width) => {
                let (start, len) = match (offset.checked_mul(width), count.checked_mul(width)) {
                    (Some(start), Some(len)) => (start, len),
                    _ => return Err(Error::new_err("an Arrow array longer than memory")),
                };
                let data = if len == 0 { &[] } else { of_bytes(buffer(1), start, len)? };
                Ok(Part::Fixed { data, width, count })
            }
            Kind::Offsets32 => {
                let offsets = of_numbers(buffer(1).cast::<u32>(), offset, count)?;
                let end = offsets.last().map_or(Ok(0), |&end| i32::try_from(end));
                let len = end.map_err(|_| negative())?.unsigned_abs() as usize;
                Ok(Part::Offsets32 { data: of_bytes(buffer(2), 0, len)?, offsets })
            }
            Kind::Offsets64 => {
                let offsets = of_numbers(buffer(1).cast::<u64>(), offset, count)?;
                let end = offsets.last().map_or(Ok(0), |&end| i64::try_from(end));
                let len = end.map_err(|_| negative())?.unsigned_abs() as usize;
                Ok(Part::Offsets64 { data: of_bytes(buffer(2), 0, len)?, offsets })
            }
            Kind::Views => {
                let lens = of_numbers_at(buffer(n_buffers - 1).cast::<u64>(), n_buffers - 3)?;
                let views =
                    if count == 0 { &[] } else { of_bytes(buffer(1), 16 * offset, 16 * count)? };
                let of_view = |view: &'static [u8; 16]| of_view(view, lens, |i| buffer(2 + i));
                let slices = views.as_chunks::<16>().0.iter().map(of_view);
                Ok(Part::Views(slices.collect::<PyResult<_>>()?))
            }
        }
    }
}

/// The bytes of one view: within it if they are few, else in a buffer that it names.
///
/// # Safety
/// `buffer` gives the buffers of the lengths `lens`.
unsafe fn of_view(
    view: &'static [u8; 16],
    lens: &[u64],
    buffer: impl Fn(usize) -> *const u8,
) -> PyResult<&'static [u8]> {
    let number = |at: usize| u32::from_le_bytes(view[at..at + 4].try_into().expect("four bytes"));
    let len = number(0) as usize;
    if len <= 12 {
        return Ok(&view[4..4 + len]);
    }
    let (index, start) = (number(8) as usize, number(12) as usize);
    match lens.get(index) {
        Some(&there) if (start + len) as u64 <= there => {
            // SAFETY: the range is within the buffer.
            unsafe { of_bytes(buffer(index), start, len) }
        }
        _ => Err(Error::new_err("a view of an Arrow array points past its buffers")),
    }
}

/// `len` bytes of a buffer from `start` on; an error if there is no buffer.
///
/// # Safety
/// So many are there, if there is a buffer.
unsafe fn of_bytes(buffer: *const u8, start: usize, len: usize) -> PyResult<&'static [u8]> {
    if buffer.is_null() && len > 0 {
        return Err(Error::new_err("an Arrow array that lacks a buffer"));
    }
    // SAFETY: the caller's.
    Ok(unsafe { slice(buffer.wrapping_add(start), len) })
}

/// `count + 1` offsets from `offset` on; none for an empty array, which may have no buffer.
///
/// # Safety
/// So many are there, unless there are none.
unsafe fn of_numbers<T>(at: *const T, offset: usize, count: usize) -> PyResult<&'static [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: the caller's.
    unsafe { of_numbers_at(at.wrapping_add(offset), count + 1) }
}

/// # Safety
/// So many are there.
unsafe fn of_numbers_at<T>(at: *const T, count: usize) -> PyResult<&'static [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if at.is_null() || !at.is_aligned() {
        return Err(Error::new_err("an Arrow array whose offsets are not aligned to their size"));
    }
    // SAFETY: the caller's; aligned.
    Ok(unsafe { std::slice::from_raw_parts(at, count) })
}

/// # Safety
/// `bits` is null or has a bit for each value from the array's begin on.
unsafe fn has_nulls(array: &Array, bits: *const u8, offset: usize, count: usize) -> bool {
    match array.null_count {
        0 => false,
        1.. => true,
        _ if bits.is_null() => false,
        // The producer has not counted.
        _ => (offset..offset + count).any(|i| {
            // SAFETY: the caller's.
            unsafe { *bits.add(i / 8) >> (i % 8) & 1 == 0 }
        }),
    }
}
