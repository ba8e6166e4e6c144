//! Engines by what they may use.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

use manylane::hash::Algorithm;
use manylane_engine::{Config, Device, Engine};
use pyo3::prelude::*;

use crate::error;

/// Engines that are kept: each has threads, and memory of GPUs.
const MOST: usize = 8;

/// An engine of those that the process keeps: threads and GPUs, once started, serve all calls with the same wish. Those
/// that were used last are kept.
pub(crate) fn engine(
    py: Python<'_>,
    device: &str,
    threads: Option<usize>,
) -> PyResult<Arc<Engine>> {
    type Wish = (Device, Option<NonZeroUsize>);
    static KEPT: Mutex<Vec<(Wish, Arc<Engine>)>> = Mutex::new(Vec::new());
    let device: Device = device.parse().map_err(error::config)?;
    let threads = match threads.map(NonZeroUsize::new) {
        Some(None) => return Err(error::Error::new_err("threads must be at least 1")),
        Some(threads) => threads,
        None => None,
    };
    // Held only while the interpreter's lock is held too, so that no thread has it when another one forks.
    let wish = (device, threads);
    let found = || {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(of, _)| *of == wish)?;
        kept[at..].rotate_left(1);
        kept.last().map(|(_, engine)| engine.clone())
    };
    if let Some(engine) = found() {
        return Ok(engine);
    }
    let config = Config { device, threads, ..Config::default() };
    let new = py.detach(|| Engine::new(config)).map_err(error::config)?;
    // Another thread may have made one meanwhile.
    if let Some(engine) = found() {
        return Ok(engine);
    }
    let new = Arc::new(new);
    let oldest = {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push((wish, new.clone()));
        (kept.len() > MOST).then(|| kept.remove(0))
    };
    // Its threads end, and its GPUs are waited for.
    py.detach(|| drop(oldest));
    Ok(new)
}

/// What would run where, and why.
#[pyfunction]
#[pyo3(signature = (name, device, threads))]
pub(crate) fn explain(
    py: Python<'_>,
    name: &str,
    device: &str,
    threads: Option<usize>,
) -> PyResult<String> {
    let algorithm: Algorithm = algorithm(name)?;
    let engine = engine(py, device, threads)?;
    Ok(py.detach(|| engine.explain(algorithm).to_string()))
}

/// The function of that name.
pub(crate) fn algorithm(name: &str) -> PyResult<Algorithm> {
    // As hashlib, which takes SM3 and sha3_256 in any case.
    let name = name.to_ascii_lowercase();
    name.parse().map_err(|_| error::Error::new_err(format!("unsupported hash type {name}")))
}

/// Whether a device is of that name, an engine for it can be had.
#[pyfunction]
#[pyo3(signature = (device, threads))]
pub(crate) fn check_device(py: Python<'_>, device: &str, threads: Option<usize>) -> PyResult<()> {
    engine(py, device, threads).map(drop)
}

/// What each vendor's driver says of its GPUs: id, name, architecture, bytes of memory, and multiprocessors.
#[pyfunction]
pub(crate) fn gpus(py: Python<'_>) -> Vec<(String, String, String, u64, u32)> {
    py.detach(|| {
        let infos = manylane_gpu::Vendor::ALL.into_iter().flat_map(|vendor| {
            // No driver, no devices.
            manylane_gpu::devices(vendor).unwrap_or_default()
        });
        infos
            .map(|info| {
                (
                    info.id.to_string(),
                    info.name,
                    info.architecture,
                    info.memory,
                    info.multiprocessors,
                )
            })
            .collect()
    })
}

/// The processor's machine for SM3 in lanes, the lanes of each thread, and the cores that this process may use.
#[pyfunction]
pub(crate) fn processor() -> (String, usize, usize) {
    let machines = Algorithm::Sm3.machines();
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    (machines.lanes.to_string(), machines.lane_count, threads)
}
