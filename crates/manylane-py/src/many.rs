//! Digests and tags of many messages.

use std::{ops::ControlFlow, ops::Range, sync::Arc};

use manylane::{
    Messages, Shape,
    hash::{Algorithm, Hasher, Midstate},
};
use manylane_engine::{Engine, Function, Progress};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyList};
use zeroize::Zeroize as _;

use crate::{
    engines::{algorithm, engine},
    error::{Error, library},
    gpu,
    hash::{hmac_function, name_of},
    input::{Input, Results, at},
    memory::Bytes,
    spread::spread,
};

/// Bytes that are hashed before signals are looked for, at least: 0.1 s on one core in lanes.
const STEP: u64 = 512 << 20;

/// What a message costs beside its bytes: a block of padding.
const PADDING: u64 = 64;

/// The same where somebody waits for news.
const STEP_WITH_PROGRESS: u64 = 64 << 20;

/// Bytes of a message that is hashed in steps of its own where none is beside it: it would take seconds.
const LONG: usize = 1 << 30;

/// Messages that a thread takes at a time, where they are not in lanes.
const TURN: usize = 8;

/// Messages of an iterator that are held at a time.
const HELD: usize = 1 << 16;

/// What is computed of each message.
enum Job<'a> {
    Hash(Algorithm, Option<Box<Midstate>>),
    Hmac(Algorithm, Messages<'a>),
}

impl Job<'_> {
    fn hash(algorithm: Algorithm) -> Self {
        let start = (!algorithm.is_tree()).then(|| Box::new(Midstate::new(algorithm)));
        Job::Hash(algorithm, start)
    }

    /// That of messages which begin at `first`, into `out`.
    fn compute(
        &self,
        engine: &Engine,
        first: usize,
        messages: &Messages,
        out: &mut [u8],
    ) -> PyResult<()> {
        match self {
            Job::Hash(_, Some(start)) => engine.hash_many(start, messages, out).map_err(library),
            Job::Hash(algorithm, None) => {
                trees(engine, *algorithm, messages, out);
                Ok(())
            }
            Job::Hmac(Algorithm::Sm3, keys) => {
                let keys = keys.range(first, first + messages.len());
                engine.hmac_many(&keys, messages, out.as_chunks_mut().0).map_err(library)
            }
            Job::Hmac(algorithm, keys) => {
                let len = algorithm.digest_len();
                let tag = |i: usize, out: &mut [u8]| {
                    let mut tag =
                        Function::hmac(*algorithm, keys.get(first + i)).of(messages.get(i));
                    out.copy_from_slice(&tag);
                    tag.zeroize();
                };
                spread(
                    engine.threads(),
                    TURN,
                    out.chunks_exact_mut(len).enumerate(),
                    |(i, out)| tag(i, out),
                );
                Ok(())
            }
        }
    }
}

/// Digests of a function that is a tree, which have no midstate to start from.
fn trees(engine: &Engine, algorithm: Algorithm, messages: &Messages, out: &mut [u8]) {
    let function = Function::hash(algorithm);
    let sources = (0..messages.len()).map(|i| messages.get(i));
    let len = algorithm.digest_len();
    let all = engine.hash_sources(&function, &Progress::new(), sources, |done| {
        let summary = done.result.expect("memory can be read");
        out[done.index * len..][..len].copy_from_slice(&summary.digest);
        ControlFlow::<()>::Continue(())
    });
    debug_assert!(all.is_continue());
}

/// A call under way: what stops it, and who is told how far it is.
struct Course<'a, 'py> {
    py: Python<'py>,
    progress: Option<&'a Bound<'py, PyAny>>,
    done: u64,
    /// Bytes in all, if that is known.
    total: Option<u64>,
}

impl Course<'_, '_> {
    fn step(&self) -> u64 {
        if self.progress.is_some() { STEP_WITH_PROGRESS } else { STEP }
    }

    /// `bytes` more are done. An exception of the callback, or of a signal's handler, ends the work.
    fn advance(&mut self, bytes: u64) -> PyResult<()> {
        self.done += bytes;
        self.py.check_signals()?;
        match self.progress {
            Some(progress) => progress.call1((self.done, self.total)).map(drop),
            None => Ok(()),
        }
    }

    /// All messages, in steps.
    fn run(
        &mut self,
        engine: &Engine,
        job: &Job<'_>,
        messages: &Messages<'_>,
        first: usize,
        out: &mut [u8],
    ) -> PyResult<()> {
        let (Job::Hash(algorithm, _) | Job::Hmac(algorithm, _)) = *job;
        let len = algorithm.digest_len();
        let mut start = 0;
        while start < messages.len() {
            let range = start..self.end_of_step(engine, algorithm, messages, start);
            let out = &mut out[len * start..len * range.end];
            start = range.end;
            match job {
                Job::Hash(..) if range.len() == 1 && messages.get(range.start).len() > LONG => {
                    self.hash_long(engine, algorithm, messages.get(range.start), out)?;
                }
                _ => {
                    let part = messages.range(range.start, range.end);
                    self.py.detach(|| job.compute(engine, first + range.start, &part, out))?;
                    self.advance(part.total_bytes())?;
                }
            }
        }
        Ok(())
    }

    /// One long message: a tree on all threads, any other on this one.
    fn hash_long(
        &mut self,
        engine: &Engine,
        algorithm: Algorithm,
        message: &[u8],
        out: &mut [u8],
    ) -> PyResult<()> {
        if algorithm.is_tree() {
            let digest = self.py.detach(|| engine.hash(algorithm, message));
            out.copy_from_slice(&digest);
            return self.advance(message.len() as u64);
        }
        let mut hasher = Hasher::new(algorithm);
        for piece in message.chunks(STEP_WITH_PROGRESS as usize) {
            self.py.detach(|| hasher.update(piece));
            self.advance(piece.len() as u64)?;
        }
        hasher.finish_into(out);
        Ok(())
    }

    /// Where the step that begins at a message ends: as many bytes further as a step has, and at least as many messages
    /// as all lanes of all threads take at a time.
    fn end_of_step(
        &self,
        engine: &Engine,
        algorithm: Algorithm,
        messages: &Messages<'_>,
        start: usize,
    ) -> usize {
        let (count, step) = (messages.len(), self.step());
        let cost = |range: Range<usize>| {
            let all = messages.range(range.start, range.end);
            all.total_bytes() + PADDING * all.len() as u64
        };
        let fitting = match messages.shape() {
            Shape::Slices(slices) => {
                let mut sum = 0;
                let mut fits = |slice: &&[u8]| {
                    sum += slice.len() as u64 + PADDING;
                    sum <= step
                };
                start + slices[start..].iter().take_while(|slice| fits(slice)).count()
            }
            _ if cost(start..count) <= step => count,
            _ => {
                let (mut low, mut high) = (start, count);
                while low < high {
                    let middle = low + (high - low).div_ceil(2);
                    match cost(start..middle) <= step {
                        true => low = middle,
                        false => high = middle - 1,
                    }
                }
                low
            }
        };
        if fitting == count {
            return count;
        }
        let at_a_time = engine.threads() * algorithm.machines().lane_count;
        fitting.max(start + at_a_time.max(1)).min(count)
    }
}

/// What a call may use, and whom it tells.
struct Call<'a, 'py> {
    engine: Arc<Engine>,
    progress: Option<&'a Bound<'py, PyAny>>,
    out: Option<&'a Bound<'py, PyAny>>,
}

impl<'py> Call<'_, 'py> {
    fn course(&self, py: Python<'py>, total: Option<u64>) -> Course<'_, 'py> {
        Course { py, progress: self.progress, done: 0, total }
    }

    /// Digests of messages in the host's memory.
    fn hash(
        &self,
        py: Python<'py>,
        algorithm: Algorithm,
        input: &Input,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut slices = Vec::new();
        let parts = input.messages(&mut slices)?;
        let count = parts.iter().map(Messages::len).sum();
        let len = algorithm.digest_len();
        let mut results = Results::of(py, input, self.out, count, len)?;
        results.check_apart(&parts)?;
        let mut course = self.course(py, Some(parts.iter().map(Messages::total_bytes).sum()));
        let job = Job::hash(algorithm);
        let mut out = results.bytes();
        for messages in &parts {
            let (ours, rest) = out.split_at_mut(len * messages.len());
            course.run(&self.engine, &job, messages, 0, ours)?;
            out = rest;
        }
        results.finish(py, len)
    }

    /// Digests of what an iterator gives, a bounded number of messages at a time.
    fn hash_iterator(
        &self,
        py: Python<'py>,
        algorithm: Algorithm,
        iterator: &Py<PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self.out.is_some() {
            return Err(PyValueError::new_err(
                "out needs a known number of messages, not an iterator",
            ));
        }
        let (list, job, len) = (PyList::empty(py), Job::hash(algorithm), algorithm.digest_len());
        let mut course = self.course(py, None);
        let mut iterator = iterator.bind(py).try_iter()?.enumerate();
        loop {
            let (mut held, mut bytes) = (Vec::new(), 0);
            for (i, item) in iterator.by_ref() {
                let item = item?;
                let message = Bytes::of(&item).map_err(|error| at(&item, i, error))?;
                bytes += message.get().len() as u64;
                held.push(message);
                if held.len() == HELD || bytes >= course.step() {
                    break;
                }
            }
            if held.is_empty() {
                return Ok(list.into_any());
            }
            let slices: Vec<&[u8]> = held.iter().map(Bytes::get).collect();
            let mut digests = vec![0; len * slices.len()];
            course.run(&self.engine, &job, &Messages::slices(&slices), 0, &mut digests)?;
            for digest in digests.chunks_exact(len) {
                list.append(pyo3::types::PyBytes::new(py, digest))?;
            }
        }
    }
}

/// Digests of many messages, on whatever device is asked for.
#[pyfunction]
#[pyo3(signature = (name, messages, offsets, out, device, stream, threads, progress))]
#[expect(clippy::too_many_arguments, reason = "the function's own")]
pub(crate) fn hash_many<'py>(
    py: Python<'py>,
    name: &str,
    messages: &Bound<'py, PyAny>,
    offsets: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    device: &str,
    stream: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    gpu::let_go();
    let algorithm = algorithm(name)?;
    check_callable(progress)?;
    let input = Input::of(messages, offsets, stream)?;
    if let Input::Device(input) = &input {
        return gpu::hash_many(py, algorithm, input, out, device, progress);
    }
    if stream.is_some() {
        return Err(PyValueError::new_err("stream is for arrays that are on a GPU"));
    }
    let call = Call { engine: engine(py, device, threads)?, progress, out };
    match &input {
        Input::Iterator(iterator) => call.hash_iterator(py, algorithm, iterator),
        input => call.hash(py, algorithm, input),
    }
}

fn check_callable(progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match progress {
        Some(progress) if !progress.is_callable() => {
            Err(pyo3::exceptions::PyTypeError::new_err("progress must be callable"))
        }
        _ => Ok(()),
    }
}

/// HMAC of many messages, each under its own key or all under one.
#[pyfunction]
#[pyo3(signature = (name, keys, messages, out, device, stream, threads, progress))]
#[expect(clippy::too_many_arguments, reason = "the function's own")]
pub(crate) fn hmac_many<'py>(
    py: Python<'py>,
    name: &str,
    keys: &Bound<'py, PyAny>,
    messages: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    device: &str,
    stream: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let algorithm = algorithm(name)?;
    check_callable(progress)?;
    hmac_function(name, b"")?;
    let mut input = Input::of(messages, None, stream)?;
    if let Input::Device(input) = &input {
        let Input::Device(keys) = Input::of(keys, None, stream)? else {
            return Err(Error::new_err("the messages are on a GPU, and the keys are not"));
        };
        if algorithm != Algorithm::Sm3 {
            let name = name_of(algorithm);
            return Err(Error::new_err(format!(
                "GPUs compute HMAC with sm3 only, not with {name}"
            )));
        }
        return gpu::hmac_many(py, &keys, input, out, device, progress);
    }
    if stream.is_some() {
        return Err(PyValueError::new_err("stream is for arrays that are on a GPU"));
    }
    input = collected(py, input)?;
    let (mut message_slices, mut key_slices) = (Vec::new(), Vec::new());
    let parts = input.messages(&mut message_slices)?;
    let count: usize = parts.iter().map(Messages::len).sum();
    let (one, many);
    let mut own = Vec::new();
    if is_one_key(keys) {
        one = Bytes::of(keys)?;
        key_slices = vec![one.get(); count];
    } else {
        many = collected(py, Input::of(keys, None, None)?)?;
        each_slice(&many.messages(&mut own)?, &mut key_slices);
    }
    if key_slices.len() != count {
        let keys = key_slices.len();
        return Err(library(manylane::Error::CountMismatch { keys, messages: count }));
    }
    let len = algorithm.digest_len();
    let mut results = Results::of(py, &input, out, count, len)?;
    results.check_apart(&parts)?;
    results.check_apart(&[Messages::slices(&key_slices)])?;
    let total = parts.iter().map(Messages::total_bytes).sum();
    let mut course = Course { py, progress, done: 0, total: Some(total) };
    let engine = engine(py, device, threads)?;
    let job = Job::Hmac(algorithm, Messages::slices(&key_slices));
    let (mut first, mut out) = (0, results.bytes());
    for messages in &parts {
        let (ours, rest) = out.split_at_mut(len * messages.len());
        course.run(&engine, &job, messages, first, ours)?;
        (first, out) = (first + messages.len(), rest);
    }
    results.finish(py, len)
}

/// The same, with what an iterator gives in a list.
fn collected(py: Python<'_>, input: Input) -> PyResult<Input> {
    let Input::Iterator(iterator) = &input else { return Ok(input) };
    let all: Vec<Bound<'_, PyAny>> = iterator.bind(py).try_iter()?.collect::<PyResult<_>>()?;
    Input::of(PyList::new(py, all)?.as_any(), None, None)
}

/// Whether an object is one key rather than many: bytes of one dimension.
fn is_one_key(keys: &Bound<'_, PyAny>) -> bool {
    crate::memory::view(keys).is_ok_and(|view| view.dimensions() == 1)
}

fn each_slice<'a>(parts: &[Messages<'a>], slices: &mut Vec<&'a [u8]>) {
    slices.extend(parts.iter().flat_map(|part| (0..part.len()).map(|i| part.get(i))));
}
