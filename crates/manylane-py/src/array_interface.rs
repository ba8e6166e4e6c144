//! The CUDA array interface, versions 2 and 3.
//!
//! <https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html>

use manylane_gpu::{DeviceId, DevicePointer, Vendor};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};

use crate::{
    dlpack::{Foreign, Item, Where, contiguous},
    error::{self, DeviceError},
    gpu, opened,
    streams::{self, Number},
};

/// The array of an object that has the interface, ready for work on the stream: the one asked for or, failing that, the
/// one that the array names.
pub(crate) fn foreign(
    object: &Bound<'_, PyAny>,
    number: Option<Number>,
) -> PyResult<Option<(Foreign, Number)>> {
    let Some(interface) = object.getattr_opt("__cuda_array_interface__")? else { return Ok(None) };
    let get = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        let value = interface.call_method1("get", (name,))?;
        Ok((!value.is_none()).then_some(value))
    };
    let need = |name: &str| {
        get(name)?
            .ok_or_else(|| PyTypeError::new_err(format!("the array's interface lacks {name}")))
    };
    if need("version")?.extract::<i64>()? < 2 {
        return Err(PyTypeError::new_err("an array interface before version 2"));
    }
    if get("mask")?.is_some() {
        return Err(PyTypeError::new_err("a masked array"));
    }
    let (address, read_only): (u64, bool) = need("data")?.extract()?;
    let shape: Vec<usize> = need("shape")?.extract()?;
    let item = match &need("typestr")?.extract::<String>()?[..] {
        "|u1" => Item::U8,
        "<i4" | "<u4" => Item::Bits32,
        "<i8" | "<u8" => Item::Bits64,
        _ => Item::Other,
    };
    let strides = match get("strides")? {
        Some(strides) => strides.extract()?,
        None => contiguous(&shape, item.size()),
    };
    if strides.len() != shape.len() {
        return Err(PyValueError::new_err("shape and strides of an array differ in length"));
    }
    let named = streams::of_interface(&interface)?;
    let number = number.or(named).unwrap_or(Number::DEFAULT);
    let place = place(object, address)?;
    if let (Some(named), Where::Gpu(vendor, ordinal)) = (named, place)
        && named != number
    {
        let opened = opened::open(object.py(), DeviceId { vendor, ordinal })?;
        object.py().detach(|| gpu::let_wait(&opened.gpu, number, named)).map_err(error::device)?;
    }
    let owner = vec![object.clone().unbind()];
    Ok(Some((
        Foreign { place, address, shape, strides, item, read_only, own: named, owner },
        number,
    )))
}

/// The interface does not name the device: the driver knows it by the address. An array of no bytes may be anywhere.
fn place(object: &Bound<'_, PyAny>, address: u64) -> PyResult<Where> {
    // Any device knows. One that is in use already costs no context on another.
    let some = match opened::any_opened(Vendor::Cuda) {
        Some(some) => some,
        None => opened::open(object.py(), DeviceId { vendor: Vendor::Cuda, ordinal: 0 })?,
    };
    match some.gpu.device_of(DevicePointer(address)).map_err(error::device)? {
        Some(id) => Ok(Where::Gpu(id.vendor, id.ordinal)),
        None if address == 0 => Ok(Where::Gpu(Vendor::Cuda, some.gpu.info().id.ordinal)),
        None => Err(DeviceError::new_err("the array is in no GPU's memory")),
    }
}
