//! Many messages in whatever form the caller has them.

use manylane::Messages;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyByteArray, PyBytes, PyList, PyMemoryView, PyString, PyTuple},
};

use crate::{
    arrow::Arrays,
    error::library,
    gpu::{self, DeviceInput, HostTensor},
    memory::{Bytes, Offsets, Output, Rows, has_bytes, view},
};

/// Messages of a call.
pub(crate) enum Input {
    /// Objects one by one.
    List(Vec<Bytes>),
    /// A buffer of two dimensions; whether it is a NumPy array.
    Rows(Rows, bool),
    /// A buffer of one dimension that offsets cut; whether it is a NumPy array.
    Flat(Bytes, Offsets, bool),
    /// Arrow's arrays.
    Arrow(Arrays),
    /// A tensor in the host's memory that has no buffer protocol.
    Tensor(HostTensor),
    /// An array on a GPU.
    Device(DeviceInput),
    /// Anything that can be iterated over.
    Iterator(Py<PyAny>),
}

/// Whether the object is an array of NumPy's, without importing that.
fn is_numpy(object: &Bound<'_, PyAny>) -> bool {
    let array = || -> PyResult<bool> {
        let modules = object.py().import("sys")?.getattr("modules")?;
        let numpy = modules.call_method1("get", ("numpy",))?;
        Ok(!numpy.is_none() && object.is_instance(&numpy.getattr("ndarray")?)?)
    };
    array().unwrap_or(false)
}

impl Input {
    /// That of an object. `stream` is what work on a GPU is to be ordered on.
    pub(crate) fn of(
        object: &Bound<'_, PyAny>,
        offsets: Option<&Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if let Ok(list) = object.cast::<PyList>() {
            check_no_offsets(offsets)?;
            return Ok(Input::List(items(list.iter())?));
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            check_no_offsets(offsets)?;
            return Ok(Input::List(items(tuple.iter())?));
        }
        if object.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("one string is not many messages"));
        }
        // What fails here may still have another protocol; those below say what is wrong.
        if let Ok(view) = view(object) {
            return Input::of_buffer(object, view, offsets);
        }
        if let Some(arrays) = Arrays::of(object)? {
            check_no_offsets(offsets)?;
            return Ok(Input::Arrow(arrays));
        }
        if let Some(array) = gpu::input(object, offsets, stream)? {
            return Ok(array);
        }
        check_no_offsets(offsets)?;
        match object.try_iter() {
            Ok(iterator) => Ok(Input::Iterator(iterator.into_any().unbind())),
            Err(_) => Err(PyTypeError::new_err(format!(
                "'{}' is neither a sequence of bytes-like objects nor an array of bytes",
                object.get_type().name()?
            ))),
        }
    }

    fn of_buffer(
        object: &Bound<'_, PyAny>,
        view: pyo3::buffer::PyUntypedBuffer,
        offsets: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        match (view.dimensions(), offsets) {
            (2, None) => Ok(Input::Rows(Rows::of(view)?, is_numpy(object))),
            (1, Some(offsets)) => {
                let single = object.is_instance_of::<PyBytes>() || has_bytes(&view);
                if !single {
                    return Err(PyTypeError::new_err(
                        "the data that offsets count in must be of uint8",
                    ));
                }
                Ok(Input::Flat(Bytes::of(object)?, Offsets::of(offsets)?, is_numpy(object)))
            }
            (1, None) => Err(PyTypeError::new_err(
                "one buffer of one dimension is not many messages: give a list, rows in two dimensions, or offsets",
            )),
            (_, Some(_)) => Err(PyValueError::new_err("offsets are for data of one dimension")),
            (dimensions, None) => Err(PyValueError::new_err(format!(
                "an array of {dimensions} dimensions where two are needed"
            ))),
        }
    }

    /// The messages in the host's memory, in parts.
    pub(crate) fn messages<'a>(
        &'a self,
        slices: &'a mut Vec<&'a [u8]>,
    ) -> PyResult<Vec<Messages<'a>>> {
        let messages = match self {
            Input::List(items) => {
                slices.extend(items.iter().map(Bytes::get));
                Ok(Messages::slices(slices))
            }
            Input::Rows(rows, _) => {
                Messages::strided(rows.data(), rows.len, rows.stride, rows.count)
            }
            Input::Flat(data, Offsets::Short(offsets), _) => {
                Messages::offsets32(data.get(), offsets)
            }
            Input::Flat(data, Offsets::Long(offsets), _) => {
                Messages::offsets64(data.get(), offsets)
            }
            Input::Arrow(arrays) => return arrays.messages(),
            Input::Tensor(tensor) => {
                Messages::strided(tensor.data(), tensor.len, tensor.stride, tensor.count)
            }
            Input::Device(_) | Input::Iterator(_) => {
                return Err(PyTypeError::new_err("all messages must be in the host's memory"));
            }
        };
        Ok(vec![messages.map_err(library)?])
    }
}

fn check_no_offsets(offsets: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match offsets {
        None => Ok(()),
        Some(_) => Err(PyTypeError::new_err("offsets are for one buffer of one dimension")),
    }
}

fn items<'py>(items: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Vec<Bytes>> {
    items
        .enumerate()
        .map(|(i, item)| Bytes::of(&item).map_err(|error| at(&item, i, error)))
        .collect()
}

/// The same error, naming the item.
pub(crate) fn at(item: &Bound<'_, PyAny>, index: usize, error: PyErr) -> PyErr {
    let py = item.py();
    let text = format!("message {index}: {}", error.value(py));
    if error.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(text)
    } else if error.is_instance_of::<PyValueError>(py) {
        PyValueError::new_err(text)
    } else {
        error
    }
}

/// Where results go.
pub(crate) enum Results<'py> {
    /// A list of bytes objects, made at the end.
    List(Vec<u8>),
    /// A new array, and its memory.
    Array(Bound<'py, PyAny>, Output),
}

impl<'py> Results<'py> {
    /// Room for `count` results of `len` bytes in the form that goes with the input, or in `out`.
    pub(crate) fn of(
        py: Python<'py>,
        input: &Input,
        out: Option<&Bound<'py, PyAny>>,
        count: usize,
        len: usize,
    ) -> PyResult<Self> {
        if let Some(out) = out {
            return Ok(Results::Array(out.clone(), Output::of(out, count, len)?));
        }
        let bytes =
            count.checked_mul(len).ok_or_else(|| PyValueError::new_err("too many results"))?;
        let array = match input {
            Input::List(_) | Input::Iterator(_) => return Ok(Results::List(vec![0; bytes])),
            Input::Rows(_, true) | Input::Flat(_, _, true) => {
                py.import("numpy")?.call_method1("empty", ((count, len), "uint8"))?
            }
            _ => {
                let array = PyByteArray::new_with(py, bytes, |_| Ok(()))?;
                let flat = PyMemoryView::from(&array)?;
                // No memoryview has a dimension of zero.
                match count {
                    0 => flat.into_any(),
                    _ => flat.call_method1("cast", ("B", (count, len)))?,
                }
            }
        };
        let output = match count {
            0 => Output::at_least(&array, 0)?,
            _ => Output::of(&array, count, len)?,
        };
        Ok(Results::Array(array, output))
    }

    /// Refuses to be where an input is.
    pub(crate) fn check_apart(&self, messages: &[Messages<'_>]) -> PyResult<()> {
        let Results::Array(_, output) = self else { return Ok(()) };
        for messages in messages {
            match messages.shape() {
                manylane::Shape::Strided { data, .. }
                | manylane::Shape::Offsets32 { data, .. }
                | manylane::Shape::Offsets64 { data, .. } => output.check_apart(data)?,
                _ => (0..messages.len()).try_for_each(|i| output.check_apart(messages.get(i)))?,
            }
        }
        Ok(())
    }

    /// The memory.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        match self {
            Results::List(bytes) => bytes,
            Results::Array(_, output) => output.get(),
        }
    }

    /// What the caller gets.
    pub(crate) fn finish(self, py: Python<'py>, len: usize) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Results::List(bytes) => {
                let items = bytes.chunks_exact(len).map(|digest| PyBytes::new(py, digest));
                Ok(PyList::new(py, items)?.into_any())
            }
            Results::Array(array, _) => Ok(array),
        }
    }
}
