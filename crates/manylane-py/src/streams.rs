//! Streams of other libraries, by the numbers that the protocols have for them.

use std::ffi::c_void;

use manylane_gpu::Vendor;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyBool,
};

/// A stream: the driver's handle, of which 0 is the default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Number(u64);

/// CUDA's number for the default stream that waits for others.
const LEGACY: u64 = 1;

/// CUDA's number for the default stream of each thread.
const PER_THREAD: u64 = 2;

impl Number {
    /// The default stream.
    pub(crate) const DEFAULT: Number = Number(0);

    /// The driver's handle.
    pub(crate) fn handle(self) -> *mut c_void {
        std::ptr::without_provenance_mut(self.0 as usize)
    }

    /// Of a handle, with CUDA's two numbers for the default stream being the same.
    pub(crate) fn of_handle(handle: u64) -> Self {
        Number(if handle == LEGACY { 0 } else { handle })
    }

    /// As `__dlpack__` takes it: on CUDA the default stream is 1, on ROCm 0.
    pub(crate) fn of_dlpack(self, vendor: Vendor) -> i64 {
        match self.0 {
            0 if vendor == Vendor::Cuda => LEGACY.cast_signed(),
            handle => handle.cast_signed(),
        }
    }

    /// As the CUDA array interface has it.
    pub(crate) fn of_interface(self) -> u64 {
        if self.0 == 0 { LEGACY } else { self.0 }
    }

    /// CUDA's special numbers are nothing on ROCm.
    pub(crate) fn check(self, vendor: Vendor) -> PyResult<()> {
        match vendor != Vendor::Cuda && self.0 == PER_THREAD {
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
    let module: String = array.get_type().getattr("__module__")?.extract().unwrap_or_default();
    if module == "torch" || module.starts_with("torch.") {
        let torch = array.py().import("torch")?;
        let device = array.getattr("device")?;
        let stream = torch.getattr("cuda")?.call_method1("current_stream", (device,))?;
        return Ok(Some(Number::of_handle(stream.getattr("cuda_stream")?.extract()?)));
    }
    match array.getattr_opt("__cuda_array_interface__") {
        Ok(Some(interface)) => of_interface(&interface),
        _ => Ok(None),
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
