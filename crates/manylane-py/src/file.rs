//! Digests of files.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read},
    ops::ControlFlow,
    os::unix::{ffi::OsStrExt as _, fs::FileExt as _},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{RecvTimeoutError, channel},
    },
    time::Duration,
};

use manylane_engine::{Engine, Function, Progress, ReadAt, Source};
use pyo3::{exceptions::PyOSError, prelude::*, types::PyBytes};

use crate::{
    engines::{algorithm, engine},
    memory::Bytes,
};

/// How long a signal may wait for its handler.
const TURN: Duration = Duration::from_millis(50);

/// A file that reads no further once it is told to stop.
struct Watched {
    path: PathBuf,
    stop: Arc<AtomicBool>,
}

struct Reader {
    file: Arc<File>,
    stop: Arc<AtomicBool>,
}

impl Reader {
    fn check(&self) -> io::Result<()> {
        if self.stop.load(Relaxed) { Err(io::Error::other("stopped")) } else { Ok(()) }
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        (&*self.file).read(buffer)
    }
}

impl ReadAt for Reader {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.check()?;
        self.file.read_at(buffer, offset)
    }
}

impl Source for Watched {
    type Reader = Reader;

    fn open(&mut self) -> io::Result<Reader> {
        let file = File::open(&self.path)?;
        Ok(Reader { file: Arc::new(file), stop: self.stop.clone() })
    }

    fn open_len(&self, reader: &Reader) -> Option<u64> {
        let metadata = reader.file.metadata().ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    fn at_any_offset(&self, reader: &Reader) -> Option<Arc<dyn ReadAt>> {
        self.open_len(reader)?;
        Some(Arc::new(Reader { file: reader.file.clone(), stop: self.stop.clone() }))
    }
}

/// The digest of a file.
#[pyfunction]
#[pyo3(signature = (path, name, device, threads))]
pub(crate) fn hash_file<'py>(
    py: Python<'py>,
    path: &Bound<'_, PyAny>,
    name: &str,
    device: &str,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let function = Function::hash(algorithm(name)?);
    let engine = engine(py, device, threads)?;
    let bytes = Bytes::of(path)?;
    let path = PathBuf::from(OsStr::from_bytes(bytes.get()));
    let digest = py.detach(|| watched(engine, function, path))?;
    match digest {
        Ok(digest) => Ok(PyBytes::new(py, &digest)),
        Err(error) => {
            let os = py.import("os")?;
            let path = os.call_method1("fsdecode", (path_bytes(py, &bytes),))?.unbind();
            Err(match error.raw_os_error() {
                Some(number) => {
                    let text = os.call_method1("strerror", (number,))?.unbind();
                    PyOSError::new_err((number, text, path))
                }
                None => PyOSError::new_err(error.to_string()),
            })
        }
    }
}

fn path_bytes<'py>(py: Python<'py>, bytes: &Bytes) -> Bound<'py, PyBytes> {
    PyBytes::new(py, bytes.get())
}

/// Hashes on another thread, and looks for signals on this one. The thread is left behind if a handler raises: it may
/// wait for a file that nobody writes to.
fn watched(
    engine: Arc<Engine>,
    function: Function,
    path: PathBuf,
) -> PyResult<io::Result<manylane::hash::Digest>> {
    let stop = Arc::new(AtomicBool::new(false));
    let source = Watched { path, stop: stop.clone() };
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().name("manylane-file".into()).spawn(move || {
        let progress = Progress::new();
        let mut result = Err(io::Error::other("not read"));
        let all = engine.hash_sources(&function, &progress, [source], |done| {
            result = done.result.map(|summary| summary.digest);
            ControlFlow::<()>::Continue(())
        });
        debug_assert!(all.is_continue());
        // Nobody waits for it where a signal's handler raised.
        let _ = sender.send(result);
    });
    if let Err(error) = thread {
        return Ok(Err(error));
    }
    loop {
        match receiver.recv_timeout(TURN) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {
                let handled = Python::attach(|py| py.check_signals());
                handled.inspect_err(|_| stop.store(true, Relaxed))?;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(Err(io::Error::other("the reading thread ended")));
            }
        }
    }
}
