//! Streams of other libraries, by the numbers that the protocols have for them.

use std::{
    ffi::c_void,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use manylane_gpu::Vendor;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyBool,
};

/// A stream: the driver's handle, of which 0 is the default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Number {
    handle: u64,
    /// The thread whose stream it is, of CUDA's handle that means another stream on each thread; else 0.
    thread: u64,
}

/// CUDA's number for the default stream that waits for others.
const LEGACY: u64 = 1;

/// CUDA's number for the default stream of each thread.
const PER_THREAD: u64 = 2;

/// The calling thread, by a number that no other one ever has.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static NUMBER: u64 = NEXT.fetch_add(1, Relaxed));
    NUMBER.with(|number| *number)
}

impl Number {
    /// The default stream.
    pub(crate) const DEFAULT: Number = Number { handle: 0, thread: 0 };

    /// The driver's handle. Means this stream only if it is not [elsewhere](Self::is_elsewhere).
    pub(crate) fn handle(self) -> *mut c_void {
        std::ptr::without_provenance_mut(self.handle as usize)
    }

    /// Of a handle, with CUDA's two numbers for the default stream being the same.
    pub(crate) fn of_handle(handle: u64) -> Self {
        match handle {
            LEGACY => Number::DEFAULT,
            PER_THREAD => Number { handle, thread: this_thread() },
            handle => Number { handle, thread: 0 },
        }
    }

    /// Whether it is another thread's own stream, which only that thread can name.
    pub(crate) fn is_elsewhere(self) -> bool {
        self.handle == PER_THREAD && self.thread != this_thread()
    }

    /// As `__dlpack__` takes it: on CUDA the default stream is 1, on ROCm 0.
    pub(crate) fn of_dlpack(self, vendor: Vendor) -> i64 {
        match self.handle {
            0 if vendor == Vendor::Cuda => LEGACY.cast_signed(),
            handle => handle.cast_signed(),
        }
    }

    /// As the CUDA array interface has it.
    pub(crate) fn of_interface(self) -> u64 {
        if self.handle == 0 { LEGACY } else { self.handle }
    }

    /// CUDA's special numbers are nothing on ROCm.
    pub(crate) fn check(self, vendor: Vendor) -> PyResult<()> {
        match vendor != Vendor::Cuda && self.handle == PER_THREAD {
            true => Err(PyValueError::new_err("ROCm has no stream 2")),
            false => Ok(()),
        }
    }
}

/// The stream that a caller asks for: a number as DLPack has it, or an object of PyTorch, CuPy or any other library with
/// `__cuda_stream__`.
pub(crate) fn asked(stream: &Bound<'_, PyAny>) -> PyResult<Number> {
    if let Ok(number) = stream.extract::<i64>()
        && !stream.is_instance_of::<PyBool>()
    {
        return match u64::try_from(number) {
            Ok(0) => Err(PyValueError::new_err(
                "stream 0 is ambiguous: 1 is the default stream, 2 that of this thread",
            )),
            Ok(number) => Ok(Number::of_handle(number)),
            Err(_) => Err(PyValueError::new_err("a stream has no negative number")),
        };
    }
    if stream.hasattr("__cuda_stream__")? {
        let pair: (u32, u64) = stream.call_method0("__cuda_stream__")?.extract()?;
        return Ok(Number::of_handle(pair.1));
    }
    for name in ["cuda_stream", "ptr"] {
        if let Some(handle) = stream.getattr_opt(name)? {
            return Ok(Number::of_handle(handle.extract()?));
        }
    }
    Err(PyTypeError::new_err(format!(
        "'{}' is no stream: expected a number, or a stream of PyTorch, CuPy or the like",
        stream.get_type().name()?
    )))
}

/// The stream that an array's library works on now, if that can be told.
pub(crate) fn current(array: &Bound<'_, PyAny>) -> PyResult<Option<Number>> {
    if let Some(stream) = of_torch(array)? {
        return Ok(Some(Number::of_handle(stream.getattr("cuda_stream")?.extract()?)));
    }
    match array.getattr_opt("__cuda_array_interface__") {
        Ok(Some(interface)) => of_interface(&interface),
        _ => Ok(None),
    }
}

/// PyTorch's current stream, if the array is a tensor of its.
fn of_torch<'py>(array: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let modules = array.py().import("sys")?.getattr("modules")?;
    let torch = modules.call_method1("get", ("torch",))?;
    // A class of that name is not there as long as PyTorch is being imported.
    let Some(tensor) = torch.getattr_opt("Tensor")? else { return Ok(None) };
    if !array.is_instance(&tensor)? {
        return Ok(None);
    }
    let device = array.getattr("device")?;
    torch.getattr("cuda")?.call_method1("current_stream", (device,)).map(Some)
}

/// Tells the array's library that its current stream uses the array. PyTorch needs that where the stream is not the one
/// that the memory was allocated for; others give memory out again in the order of their current stream.
pub(crate) fn note_use(array: &Bound<'_, PyAny>) -> PyResult<()> {
    match of_torch(array)? {
        Some(stream) => array.call_method1("record_stream", (stream,)).map(drop),
        None => Ok(()),
    }
}

/// The stream that an array's interface names.
pub(crate) fn of_interface(interface: &Bound<'_, PyAny>) -> PyResult<Option<Number>> {
    let stream = interface.call_method1("get", ("stream",))?;
    if stream.is_none() {
        return Ok(None);
    }
    match stream.extract::<u64>() {
        Ok(0) => {
            Err(PyValueError::new_err("the array's interface names stream 0, which is ambiguous"))
        }
        Ok(number) => Ok(Some(Number::of_handle(number))),
        Err(_) => {
            Err(PyTypeError::new_err("the array's interface names a stream that is no number"))
        }
    }
}
