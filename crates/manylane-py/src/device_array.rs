//! Results that are on a GPU.

use std::sync::Arc;

use manylane_gpu::{DeviceId, Event, Vendor};
use pyo3::{
    exceptions::{PyBufferError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict},
};

use crate::{
    dlpack,
    error::{self, Error},
    gpu::{let_go, stream_of},
    opened::Opened,
    pool::Block,
    streams::Number,
};

/// Rows of bytes on a GPU: results of `hash_many` of an array there. Has `__dlpack__` and, on NVIDIA's, the CUDA array
/// interface, by which PyTorch, CuPy and others take it without a copy.
#[pyclass(module = "manylane", name = "DeviceArray", frozen)]
pub(crate) struct DeviceArray {
    inner: Arc<Inner>,
}

struct Inner {
    opened: Arc<Opened>,
    block: Block,
    shape: [usize; 2],
    number: Number,
    /// Behind the work that computes it.
    event: Event,
    /// What keeps the stream, where that is an object.
    _stream: Option<Py<PyAny>>,
}

impl Drop for DeviceArray {
    fn drop(&mut self) {
        let_go();
    }
}

impl DeviceArray {
    /// What a stream will have computed when the event has passed.
    pub(crate) fn new(
        opened: Arc<Opened>,
        block: Block,
        shape: [usize; 2],
        number: Number,
        event: Event,
        stream: Option<Py<PyAny>>,
    ) -> Self {
        let inner = Inner { opened, block, shape, number, event, _stream: stream };
        DeviceArray { inner: Arc::new(inner) }
    }

    fn id(&self) -> DeviceId {
        self.inner.opened.gpu.info().id
    }
}

#[pymethods]
impl DeviceArray {
    /// Number of rows, and bytes of each.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.inner.shape[0], self.inner.shape[1])
    }

    /// Bytes in all.
    #[getter]
    fn nbytes(&self) -> usize {
        self.inner.shape[0] * self.inner.shape[1]
    }

    /// The device's name, such as `cuda:0`.
    #[getter]
    fn device(&self) -> String {
        self.id().to_string()
    }

    fn __len__(&self) -> usize {
        self.inner.shape[0]
    }

    /// Waits until it has been computed.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let Inner { opened, event, .. } = &*self.inner;
        // The stream of the work can be another thread's, or gone by now: the event never is.
        let done = py.detach(|| {
            let own = opened.own_stream()?;
            own.wait(event)?;
            own.synchronize()
        });
        let_go();
        done.map_err(error::device)
    }

    /// A copy in the host's memory, row after row. Waits until it has been computed.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let Inner { opened, block, event, .. } = &*self.inner;
        PyBytes::new_with(py, self.nbytes(), |bytes| {
            let done = py.detach(|| {
                let own = opened.own_stream()?;
                own.wait(event)?;
                block.memory().read(0, bytes, own)
            });
            let_go();
            done.map_err(error::device)
        })
    }

    /// A capsule for the consumer's stream, which waits for the work that computes this.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let id = self.id();
        if copy == Some(true) {
            return Err(PyBufferError::new_err("a copy is for the consumer to make"));
        }
        if dl_device.is_some_and(|device| device != self.__dlpack_device__()) {
            return Err(PyBufferError::new_err(format!("the array is on {id}, and stays there")));
        }
        match (stream, id.vendor) {
            // The consumer orders its work itself, on a stream that it does not tell.
            (Some(-1), _) => self.inner.block.share(),
            (Some(0), Vendor::Cuda) => {
                return Err(PyValueError::new_err(
                    "stream 0 is ambiguous: 1 is the default stream, 2 that of this thread",
                ));
            }
            (Some(stream), _) => match u64::try_from(stream) {
                Ok(number) => self.let_wait(py, Number::of_handle(number))?,
                Err(_) => return Err(PyValueError::new_err("a stream has no such number")),
            },
            (None, _) => self.let_wait(py, Number::DEFAULT)?,
        }
        let_go();
        let versioned = max_version.is_some_and(|(major, _)| major >= 1);
        let (address, shape) = (self.inner.block.pointer().0, self.inner.shape);
        dlpack::capsule(py, (id.vendor, id.ordinal), address, shape, self.inner.clone(), versioned)
    }

    /// The kind of device and its number.
    fn __dlpack_device__(&self) -> (i32, i32) {
        let id = self.id();
        (dlpack::kind_of(id.vendor), id.ordinal.cast_signed())
    }

    /// The CUDA array interface, version 3.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.id().vendor != Vendor::Cuda {
            // So that hasattr is false, as the interface says of arrays without it.
            return Err(pyo3::exceptions::PyAttributeError::new_err("__cuda_array_interface__"));
        }
        let interface = PyDict::new(py);
        interface.set_item("shape", self.shape())?;
        interface.set_item("typestr", "|u1")?;
        // An array of no bytes is nowhere, says the interface.
        let address = if self.nbytes() == 0 { 0 } else { self.inner.block.pointer().0 };
        interface.set_item("data", (address, false))?;
        interface.set_item("strides", py.None())?;
        interface.set_item("stream", self.stream_to_wait_for(py)?)?;
        interface.set_item("version", 3)?;
        Ok(interface)
    }

    fn __repr__(&self) -> String {
        let [rows, len] = self.inner.shape;
        format!("<manylane.DeviceArray of {rows} x {len} bytes on {}>", self.id())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(Error::new_err("an array on a GPU cannot be pickled; tobytes() gives its content"))
    }
}

impl DeviceArray {
    fn let_wait(&self, py: Python<'_>, other: Number) -> PyResult<()> {
        let Inner { opened, block, number, event, .. } = &*self.inner;
        if other == *number {
            return Ok(());
        }
        block.share();
        py.detach(|| stream_of(&opened.gpu, other).wait(event)).map_err(error::device)
    }

    /// What a consumer of the interface has to wait for: nothing once it is computed, for then its stream may be gone.
    fn stream_to_wait_for(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        let Inner { number, event, .. } = &*self.inner;
        if event.is_done().map_err(error::device)? {
            return Ok(None);
        }
        if number.is_elsewhere() {
            // That has no name on this thread.
            self.synchronize(py)?;
            return Ok(None);
        }
        Ok(Some(number.of_interface()))
    }
}
