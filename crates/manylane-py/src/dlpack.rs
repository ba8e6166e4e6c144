//! DLPack, both ways: tensors of others as they describe themselves, and capsules of our own arrays.
//!
//! <https://dmlc.github.io/dlpack/latest/python_spec.html>; the structures are those of `dlpack.h` 1.1.
#![allow(unsafe_code)]

use std::{
    ffi::{CStr, c_void},
    ops::Range,
};

use manylane_gpu::Vendor;
use pyo3::{
    exceptions::{PyBufferError, PyTypeError},
    prelude::*,
    types::{IntoPyDict as _, PyCapsule},
};

use crate::streams::Number;

/// Kinds of devices, `DLDeviceType`.
const CPU: i32 = 1;
const CUDA: i32 = 2;
const CUDA_HOST: i32 = 3;
const ROCM: i32 = 10;
const ROCM_HOST: i32 = 11;

const UNVERSIONED: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";

/// The flag of a tensor that must not be written to.
const READ_ONLY: u64 = 1;

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: Tensor,
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    major: u32,
    minor: u32,
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: Tensor,
}

/// What items of a tensor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// Bytes.
    U8,
    /// Numbers of 32 bits.
    Bits32,
    /// Numbers of 64 bits.
    Bits64,
    /// Anything else.
    Other,
}

impl Item {
    /// Of the kind that DLPack numbers, 0 for signed and 1 for unsigned, with so many bits.
    fn of(code: u8, bits: u8, lanes: u16) -> Self {
        match (code, bits, lanes) {
            (1, 8, 1) => Item::U8,
            (0 | 1, 32, 1) => Item::Bits32,
            (0 | 1, 64, 1) => Item::Bits64,
            _ => Item::Other,
        }
    }

    /// Bytes of one.
    pub(crate) fn size(self) -> usize {
        match self {
            Item::U8 | Item::Other => 1,
            Item::Bits32 => 4,
            Item::Bits64 => 8,
        }
    }
}

/// Where a tensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// In the host's memory.
    Host,
    /// In that of a GPU.
    Gpu(Vendor, u32),
}

/// An array as another library describes it.
pub(crate) struct Foreign {
    pub(crate) place: Where,
    pub(crate) address: u64,
    pub(crate) shape: Vec<usize>,
    /// In bytes.
    pub(crate) strides: Vec<isize>,
    pub(crate) item: Item,
    pub(crate) read_only: bool,
    /// The stream in whose order its library frees and reuses the memory, if that can be told.
    pub(crate) own: Option<Number>,
    /// What keeps the memory: the array itself and a capsule.
    pub(crate) owner: Vec<Py<PyAny>>,
}

impl Foreign {
    /// What must be kept until a stream has passed the work. Nothing of an array whose memory is reused in the order
    /// of that stream: to keep it would keep memory that its owner has freed.
    pub(crate) fn into_kept(self, stream: Number) -> Vec<Py<PyAny>> {
        if self.own == Some(stream) { Vec::new() } else { self.owner }
    }

    /// Addresses of its bytes.
    pub(crate) fn range(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.span() as u64)
    }

    /// Bytes from the first to the last, if the array has any.
    pub(crate) fn span(&self) -> usize {
        if self.shape.contains(&0) {
            return 0;
        }
        let step =
            |(&len, &stride): (&usize, &isize)| (len - 1).saturating_mul(stride.unsigned_abs());
        let last: usize =
            self.shape.iter().zip(&self.strides).map(step).fold(0, usize::saturating_add);
        last.saturating_add(self.item.size())
    }

    /// Whether items lie close behind each other, in order.
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut next = self.item.size();
        for (&len, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if len > 1 && stride.cast_unsigned() != next {
                return false;
            }
            next = next.saturating_mul(len);
        }
        true
    }
}

/// DLPack's number for a vendor's GPUs.
pub(crate) fn kind_of(vendor: Vendor) -> i32 {
    if vendor == Vendor::Hip { ROCM } else { CUDA }
}

/// The device of an object that has `__dlpack_device__`.
pub(crate) fn place(object: &Bound<'_, PyAny>) -> PyResult<Where> {
    let device = object.call_method0("__dlpack_device__")?;
    let kind: i32 = device.get_item(0)?.extract()?;
    let id: i32 = device.get_item(1)?.extract()?;
    place_of(kind, id)
}

fn place_of(kind: i32, id: i32) -> PyResult<Where> {
    let id = u32::try_from(id).map_err(|_| PyTypeError::new_err("a device has no such number"))?;
    match kind {
        CPU | CUDA_HOST | ROCM_HOST => Ok(Where::Host),
        CUDA => Ok(Where::Gpu(Vendor::Cuda, id)),
        ROCM => Ok(Where::Gpu(Vendor::Hip, id)),
        kind => Err(PyTypeError::new_err(format!(
            "an array on a device of DLPack's kind {kind}; only CPUs, CUDA and ROCm are supported"
        ))),
    }
}

/// The tensor of an object, ready for work on a stream that the protocol numbers; none for the host's memory.
pub(crate) fn tensor(object: &Bound<'_, PyAny>, stream: Option<i64>) -> PyResult<Foreign> {
    let py = object.py();
    let mut arguments = Vec::new();
    if let Some(stream) = stream {
        arguments.push(("stream", stream.into_pyobject(py)?.into_any()));
    }
    let old = arguments.clone().into_py_dict(py)?;
    arguments.push(("max_version", (1, 1).into_pyobject(py)?.into_any()));
    let new = arguments.into_py_dict(py)?;
    let capsule = match object.call_method("__dlpack__", (), Some(&new)) {
        // One from before version 1.0.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            object.call_method("__dlpack__", (), Some(&old))?
        }
        capsule => capsule?,
    };
    let not = || PyTypeError::new_err("__dlpack__ gave no capsule of a tensor");
    let capsule = capsule.cast_into::<PyCapsule>().map_err(|_| not())?;
    let (tensor, read_only) = if capsule.is_valid_checked(Some(VERSIONED)) {
        let managed = capsule.pointer_checked(Some(VERSIONED))?.as_ptr().cast::<ManagedVersioned>();
        // SAFETY: a capsule of that name holds that structure, whose first fields are of every version.
        unsafe {
            if (*managed).major != 1 {
                let major = (*managed).major;
                return Err(PyBufferError::new_err(format!("a tensor of DLPack {major}, not 1")));
            }
            (&raw const (*managed).tensor, (*managed).flags & READ_ONLY != 0)
        }
    } else {
        let managed = capsule.pointer_checked(Some(UNVERSIONED)).map_err(|_| not())?;
        // SAFETY: a capsule of that name holds that structure.
        unsafe { (&raw const (*managed.as_ptr().cast::<Managed>()).tensor, false) }
    };
    // SAFETY: the capsule, which the result holds, keeps the tensor.
    let tensor = unsafe { &*tensor };
    let mut foreign = of_tensor(tensor)?;
    foreign.read_only = read_only;
    // What the object says has decided on the stream, but the tensor is what is read.
    if place(object)? != foreign.place {
        return Err(PyBufferError::new_err("a tensor on another device than its object says"));
    }
    foreign.owner = vec![capsule.into_any().unbind(), object.clone().unbind()];
    Ok(foreign)
}

fn of_tensor(tensor: &Tensor) -> PyResult<Foreign> {
    let bad = || PyBufferError::new_err("a tensor whose description makes no sense");
    let ndim = usize::try_from(tensor.ndim).ok().filter(|&n| n <= 64).ok_or_else(bad)?;
    let item = Item::of(tensor.code, tensor.bits, tensor.lanes);
    if ndim > 0 && tensor.shape.is_null() {
        return Err(bad());
    }
    let numbers = |at: *mut i64| -> &[i64] {
        // SAFETY: the protocol's: so many numbers are there.
        if ndim == 0 { &[] } else { unsafe { std::slice::from_raw_parts(at, ndim) } }
    };
    let shape: Option<Vec<usize>> =
        numbers(tensor.shape).iter().map(|&len| usize::try_from(len).ok()).collect();
    let shape = shape.ok_or_else(bad)?;
    let size = item.size().cast_signed();
    let strides = if tensor.strides.is_null() {
        contiguous(&shape, item.size())
    } else {
        numbers(tensor.strides)
            .iter()
            .map(|&stride| (stride as isize).saturating_mul(size))
            .collect()
    };
    let address = (tensor.data.addr() as u64).checked_add(tensor.byte_offset).ok_or_else(bad)?;
    Ok(Foreign {
        place: place_of(tensor.device_type, tensor.device_id)?,
        address,
        shape,
        strides,
        item,
        read_only: false,
        own: None,
        owner: Vec::new(),
    })
}

/// Strides, in bytes, of an array without gaps.
pub(crate) fn contiguous(shape: &[usize], size: usize) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    let mut next = size.cast_signed();
    for (stride, &len) in strides.iter_mut().zip(shape).rev() {
        *stride = next;
        next = next.saturating_mul(len.max(1).cast_signed());
    }
    strides
}

/// What a capsule of ours keeps.
struct Kept<O> {
    shape: [i64; 2],
    strides: [i64; 2],
    _owner: O,
}

/// A capsule of rows of bytes on a GPU, which keeps their owner; of version 1 if that is asked for.
pub(crate) fn capsule<'py, O: Send + 'static>(
    py: Python<'py>,
    (vendor, ordinal): (Vendor, u32),
    address: u64,
    [rows, len]: [usize; 2],
    owner: O,
    versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let shape = [rows as i64, len as i64];
    let kept = Box::into_raw(Box::new(Kept { shape, strides: [len as i64, 1], _owner: owner }));
    let device_type = kind_of(vendor);
    // SAFETY: just made; the fields stay where they are until the deleter frees them.
    let (shape, strides) =
        unsafe { ((&raw mut (*kept).shape).cast(), (&raw mut (*kept).strides).cast()) };
    let tensor = Tensor {
        data: std::ptr::without_provenance_mut(address as usize),
        device_type,
        device_id: ordinal.cast_signed(),
        ndim: 2,
        code: 1,
        bits: 8,
        lanes: 1,
        shape,
        strides,
        byte_offset: 0,
    };
    let manager = kept.cast();
    // SAFETY: each structure goes with the name and the destructor of its kind.
    unsafe {
        let capsule = if versioned {
            let deleter = Some(delete_versioned::<O> as _);
            let managed =
                ManagedVersioned { major: 1, minor: 1, manager, deleter, flags: 0, tensor };
            let managed = Box::into_raw(Box::new(managed));
            pyo3::ffi::PyCapsule_New(managed.cast(), VERSIONED.as_ptr(), Some(destroy_versioned))
        } else {
            let managed = Managed { tensor, manager, deleter: Some(delete::<O> as _) };
            let managed = Box::into_raw(Box::new(managed));
            pyo3::ffi::PyCapsule_New(managed.cast(), UNVERSIONED.as_ptr(), Some(destroy))
        };
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

unsafe extern "C" fn delete<O>(managed: *mut Managed) {
    // SAFETY: made by `capsule`, and deleted once, says the protocol.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.manager.cast::<Kept<O>>()));
    }
}

unsafe extern "C" fn delete_versioned<O>(managed: *mut ManagedVersioned) {
    // SAFETY: made by `capsule`, and deleted once, says the protocol.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.manager.cast::<Kept<O>>()));
    }
}

/// Deletes the tensor of a capsule that nobody has consumed: whoever does renames it.
unsafe extern "C" fn destroy(capsule: *mut pyo3::ffi::PyObject) {
    // SAFETY: the interpreter's, for a capsule of ours.
    unsafe {
        if pyo3::ffi::PyCapsule_IsValid(capsule, UNVERSIONED.as_ptr()) == 1 {
            let managed = pyo3::ffi::PyCapsule_GetPointer(capsule, UNVERSIONED.as_ptr());
            let managed = managed.cast::<Managed>();
            if let Some(deleter) = (*managed).deleter {
                deleter(managed);
            }
        }
    }
}

/// As [`destroy`].
unsafe extern "C" fn destroy_versioned(capsule: *mut pyo3::ffi::PyObject) {
    // SAFETY: the interpreter's, for a capsule of ours.
    unsafe {
        if pyo3::ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            let managed = pyo3::ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr());
            let managed = managed.cast::<ManagedVersioned>();
            if let Some(deleter) = (*managed).deleter {
                deleter(managed);
            }
        }
    }
}
