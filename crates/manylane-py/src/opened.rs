//! Devices as this process has opened them.

use std::{
    collections::HashMap,
    process,
    sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError},
};

use manylane_gpu::{DeviceId, Gpu, Sha3, Sm3, Stream, Vendor, Workspace};
use pyo3::prelude::*;

use crate::{error, gpu::let_go, pool, streams::Number};

/// A device as this process has opened it, with kernels that are loaded when they are first needed.
pub(crate) struct Opened {
    pub(crate) gpu: Gpu,
    pub(crate) sm3: OnceLock<Result<Sm3, manylane_gpu::Error>>,
    pub(crate) sha3: OnceLock<Result<Sha3, manylane_gpu::Error>>,
    /// Where messages are put in order of their length, one for each stream.
    pub(crate) workspaces: Mutex<HashMap<Number, (usize, Workspace)>>,
    /// For copies of results, which wait for the events behind these.
    own: OnceLock<Result<Stream, manylane_gpu::Error>>,
    pid: u32,
}

impl Opened {
    /// A stream that is nobody else's.
    pub(crate) fn own_stream(&self) -> Result<&Stream, manylane_gpu::Error> {
        self.own.get_or_init(|| Stream::new(&self.gpu)).as_ref().map_err(Clone::clone)
    }
}

/// Devices by their names.
type OpenedDevices = Mutex<HashMap<DeviceId, Arc<Opened>>>;
static OPENED: LazyLock<OpenedDevices> = LazyLock::new(Mutex::default);

/// Held only while the interpreter's lock is held too, so that no thread has it when another one forks.
fn opened() -> MutexGuard<'static, HashMap<DeviceId, Arc<Opened>>> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Some device of a vendor that has been opened.
pub(crate) fn any_opened(vendor: Vendor) -> Option<Arc<Opened>> {
    opened().iter().find(|(id, _)| id.vendor == vendor).map(|(_, opened)| opened.clone())
}

/// Gives memory that is kept for later calls back to the driver, and lets go of arrays whose work is done.
#[pyfunction]
pub(crate) fn free_memory(py: Python<'_>) {
    let_go();
    let all: Vec<Arc<Opened>> = opened().values().cloned().collect();
    // In a forked child locks could be held for ever, and nothing of what is kept is its own.
    if all.iter().any(|opened| opened.pid != process::id()) {
        return;
    }
    py.detach(|| {
        for opened in all {
            let mut workspaces = opened.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = std::mem::take(&mut *workspaces);
            drop(workspaces);
            drop(kept);
        }
        pool::empty();
    });
}

/// The device of that name.
pub(crate) fn open(py: Python<'_>, id: DeviceId) -> PyResult<Arc<Opened>> {
    if let Some(opened) = opened().get(&id) {
        return Ok(opened.clone());
    }
    let gpu = py.detach(|| Gpu::open(id)).map_err(error::device)?;
    let new = Arc::new(Opened {
        gpu,
        sm3: OnceLock::new(),
        sha3: OnceLock::new(),
        workspaces: Mutex::default(),
        own: OnceLock::new(),
        pid: process::id(),
    });
    Ok(opened().entry(id).or_insert(new).clone())
}
