//! Which threads and devices work on many messages.
#![allow(unsafe_code)] // Functions with C's names, and pointers.

use core::ffi::{c_char, c_int, c_void};
use std::{
    ffi::{CStr, OsStr},
    fs::File,
    io,
    num::NonZeroUsize,
    ops::ControlFlow,
    os::unix::{ffi::OsStrExt as _, fs::FileExt as _},
    path::PathBuf,
    sync::{Arc, Mutex},
};

use ::manylane_engine::{Config, Engine, Function, Progress, ReadAt, Source};
use manylane::hash::MAX_DIGEST_LEN;

use crate::{
    handle::{self, Opaque, shared},
    hash::choose,
    memory::{Output, bytes, name, put, text},
    status::{Failure, Result, guard, guard_free, manylane_status},
};

/// Threads and devices that share work on many messages. Any number of threads may use one handle at a time.
pub struct manylane_engine {
    _opaque: (),
}

impl Opaque for manylane_engine {
    type State = State;
    const KIND: u64 = 3;
}

pub(crate) struct State {
    engine: Engine,
    /// Warnings that were asked for, until there was room for them.
    warnings: Mutex<String>,
}

/// The engine of a handle; none of a null pointer.
///
/// # Safety
/// `engine` is null or was a handle, and nobody frees it during `'a`.
pub(crate) unsafe fn of<'a>(engine: *const manylane_engine) -> Result<Option<&'a Engine>> {
    if engine.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's word.
    Ok(Some(&unsafe { shared(engine) }?.engine))
}

/// Makes an engine. `device` is "auto" (or null), "cpu", "all", "cuda", "cuda:N", "hip" or "hip:N"; `threads` counts
/// the calling one, and 0 means one for each core that the process may use. Nothing is started before there is work
/// that pays for it. Free the handle with manylane_engine_free().
///
/// Fails with MANYLANE_ERROR_DEVICE if the one GPU that was named cannot be used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_engine_new(
    engine: *mut *mut manylane_engine,
    device: *const c_char,
    threads: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(engine)?;
            let device = match device.is_null() {
                true => Default::default(),
                false => name(device)?.parse().map_err(Failure::name)?,
            };
            let config =
                Config { device, threads: NonZeroUsize::new(threads), ..Config::default() };
            let unusable = |error: ::manylane_engine::Error| {
                Failure::Because(manylane_status::MANYLANE_ERROR_DEVICE, error.to_string())
            };
            let state = State {
                engine: Engine::new(config).map_err(unusable)?,
                warnings: Mutex::default(),
            };
            handle::put(engine, state)
        }
    })
}

/// Frees an engine, whose threads end soon after: they may still be there when this returns. Null is left alone. No
/// call may be using it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_engine_free(engine: *mut manylane_engine) {
    // SAFETY: the pointer is the caller's word.
    guard_free(|| unsafe { handle::free(engine) });
}

/// Threads that compute at most, the calling one among them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_engine_threads(
    engine: *const manylane_engine,
    threads: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe { put(threads, shared(engine)?.engine.threads()) }
    })
}

/// What the engine uses for the named hash function, and why: lines of text that end with a zero byte, which `*len`
/// counts. `*len` is the room on entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_engine_explain(
    engine: *const manylane_engine,
    algorithm: *const c_char,
    out: *mut c_char,
    len: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let out = Output::new(out.cast(), len)?;
            let engine = &shared(engine)?.engine;
            let text = format!("{}\0", engine.explain(choose(algorithm, 0)?.0));
            out.put(text.as_bytes())
        }
    })
}

/// What went wrong so far without making a result wrong, such as a GPU that was given up: a line each, and a
/// zero byte at the end, which `*len` counts; "" if nothing did. Each warning is told once, if there is room
/// for all. `*len` is the room on entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_engine_warnings(
    engine: *const manylane_engine,
    out: *mut c_char,
    len: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        let (out, state) = unsafe { (Output::new(out.cast(), len)?, shared(engine)?) };
        let mut warnings = state.warnings.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for warning in state.engine.warnings() {
            warnings.push_str(&warning.replace('\0', " "));
            warnings.push('\n');
        }
        out.put(format!("{warnings}\0").as_bytes())?;
        warnings.clear();
        Ok(())
    })
}

/// The digest of one message in memory, of the usual length; of the trees "kt128" and "kt256" on all threads and
/// devices, where that is faster. `*digest_len` is the room on entry, and then the bytes written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_engine_hash(
    engine: *const manylane_engine,
    algorithm: *const c_char,
    data: *const c_void,
    len: usize,
    digest: *mut u8,
    digest_len: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let out = Output::new(digest, digest_len)?;
            let engine = &shared(engine)?.engine;
            let algorithm = choose(algorithm, 0)?.0;
            out.check(algorithm.digest_len())?;
            out.put(&engine.hash(algorithm, bytes(data, len)?))
        }
    })
}

/// The digest of a file, read in bounded memory. `digest_len_asked` is 0 for one of the usual length, or up to 64 for
/// functions with digests of any length. `*digest_len` is the room on entry, and then the bytes written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_engine_hash_file(
    engine: *const manylane_engine,
    algorithm: *const c_char,
    digest_len_asked: usize,
    path: *const c_char,
    digest: *mut u8,
    digest_len: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        let (out, engine, path, (algorithm, len)) = unsafe {
            let out = Output::new(digest, digest_len)?;
            (out, &shared(engine)?.engine, text(path)?, choose(algorithm, digest_len_asked)?)
        };
        if len > MAX_DIGEST_LEN {
            return Err(Failure::argument("digests of files have 64 bytes at most"));
        }
        out.check(len)?;
        let function = Function::with_digest_len(algorithm, len);
        let mut result = None;
        let done = engine.hash_sources(&function, &Progress::new(), [Path::new(path)], |done| {
            result = Some(done.result);
            ControlFlow::<()>::Continue(())
        });
        debug_assert!(done.is_continue());
        let summary = result.ok_or_else(|| io::Error::other("the file was not read"))??;
        out.put(&summary.digest)
    })
}

/// A file by its name.
struct Path(PathBuf);

impl Path {
    fn new(path: &CStr) -> Self {
        Path(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
    }
}

impl Source for Path {
    type Reader = File;

    fn open(&mut self) -> io::Result<File> {
        File::open(&self.0)
    }

    fn open_len(&self, file: &File) -> Option<u64> {
        file.metadata().ok().filter(|data| data.is_file()).map(|data| data.len())
    }

    fn at_any_offset(&self, file: &File) -> Option<Arc<dyn ReadAt>> {
        let regular = file.metadata().is_ok_and(|data| data.is_file());
        if regular { Some(Arc::new(Shared(file.try_clone().ok()?))) } else { None }
    }

    fn opens_again(&self) -> bool {
        self.0.is_file()
    }

    fn may_wait(&self) -> bool {
        !self.0.is_file()
    }
}

/// A file that several threads read.
struct Shared(File);

impl ReadAt for Shared {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
}
