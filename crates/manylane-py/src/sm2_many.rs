//! Signatures of many messages.

use std::ops::Range;

use manylane::{
    Messages,
    sm2::{self, Signature, Signer, Verifier},
};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyList},
};

use crate::{
    engines::engine,
    error::{Error, library},
    memory::Bytes,
    sm2::{Form, PrivateKey, PublicKeyObject, user},
    spread::spread,
};

/// The objects of a sequence.
fn list<'py>(objects: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    objects.try_iter()?.collect()
}

fn all_bytes(objects: &Bound<'_, PyAny>) -> PyResult<Vec<Bytes>> {
    list(objects)?.iter().map(Bytes::of).collect()
}

/// One key for all, or one for each.
fn each<K>(keys: &[K], count: usize) -> PyResult<Vec<&K>> {
    match keys {
        [one] => Ok(vec![one; count]),
        keys if keys.len() == count => Ok(keys.iter().collect()),
        keys => Err(library(manylane::Error::CountMismatch { keys: keys.len(), messages: count })),
    }
}

/// Items that are computed before signals are looked for, at least: some tens of milliseconds on a core.
const STEP: usize = 4096;

/// Items that a thread takes at a time, at most: some windows of lanes.
const PART: usize = 128;

/// Computes parts of the items, on threads, in steps between which signals are looked for.
fn in_steps<T: Send>(
    py: Python<'_>,
    threads: usize,
    out: &mut [T],
    compute: impl Fn(Range<usize>, &mut [T]) + Sync,
) -> PyResult<()> {
    // Few items go to as many threads as there are, for each can be long.
    let part_len = out.len().div_ceil(threads.max(1)).clamp(1, PART);
    let step_len = part_len * (2 * threads).max(STEP / part_len);
    for (step, out) in out.chunks_mut(step_len).enumerate() {
        let parts = out.chunks_mut(part_len).enumerate();
        let one = |(part, out): (usize, &mut [T])| {
            let first = step_len * step + part_len * part;
            compute(first..first + out.len(), out);
        };
        py.detach(|| spread(threads, 1, parts, one));
        py.check_signals()?;
    }
    Ok(())
}

/// Signatures of many messages, by one key or one for each.
#[pyfunction]
#[pyo3(signature = (keys, messages, user_id, format, threads))]
fn sign_many<'py>(
    py: Python<'py>,
    keys: &Bound<'_, PyAny>,
    messages: &Bound<'_, PyAny>,
    user_id: Option<&Bound<'_, PyAny>>,
    format: &str,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyList>> {
    let (messages, id, form) = (all_bytes(messages)?, user(user_id)?, Form::of(format)?);
    let keys = of_type::<PrivateKey>(keys)?;
    let (id, threads) = (id.get(), engine(py, "cpu", threads)?.threads());
    let signers = || keys.iter().map(|key| Signer::new(&key.get().key, id)).collect();
    let signers: Result<Vec<Signer<'_>>, _> = py.detach(signers);
    let signers = signers.map_err(library)?;
    let messages: Vec<&[u8]> = messages.iter().map(Bytes::get).collect();
    let signers = each(&signers, messages.len())?;
    let mut out = vec![Err(manylane::Error::Signature); messages.len()];
    in_steps(py, threads, &mut out, |range, out| {
        let messages = Messages::slices(&messages[range.clone()]);
        sm2::sign_many(&signers[range], &messages, out).expect("as many of each");
    })?;
    let signatures: Vec<Signature> = out.into_iter().collect::<Result<_, _>>().map_err(library)?;
    PyList::new(py, signatures.iter().map(|signature| PyBytes::new(py, &form.write(signature))))
}

/// Whether each signature of many messages holds, under one key or one for each.
#[pyfunction]
#[pyo3(signature = (keys, messages, signatures, user_id, format, threads))]
fn verify_many(
    py: Python<'_>,
    keys: &Bound<'_, PyAny>,
    messages: &Bound<'_, PyAny>,
    signatures: &Bound<'_, PyAny>,
    user_id: Option<&Bound<'_, PyAny>>,
    format: &str,
    threads: Option<usize>,
) -> PyResult<Vec<bool>> {
    let (messages, signatures) = (all_bytes(messages)?, all_bytes(signatures)?);
    let (id, form) = (user(user_id)?, Form::of(format)?);
    let keys = of_type::<PublicKeyObject>(keys)?;
    let (id, threads) = (id.get(), engine(py, "cpu", threads)?.threads());
    let count = messages.len();
    if signatures.len() != count {
        let signatures = signatures.len();
        return Err(Error::new_err(format!("{signatures} signatures for {count} messages")));
    }
    let verifiers = || keys.iter().map(|key| Verifier::new(&key.get().key, id)).collect();
    let verifiers: Result<Vec<Verifier>, _> = py.detach(verifiers);
    let verifiers = verifiers.map_err(library)?;
    let verifiers = each(&verifiers, count)?;
    // What is no signature holds for no message, and is not computed.
    let read = |i: usize| Some((i, form.read(signatures[i].get()).ok()?));
    let (places, signatures): (Vec<usize>, Vec<Signature>) = (0..count).filter_map(read).unzip();
    let verifiers: Vec<&Verifier> = places.iter().map(|&i| verifiers[i]).collect();
    let messages: Vec<&[u8]> = places.iter().map(|&i| messages[i].get()).collect();
    let mut out = vec![Err(manylane::Error::Signature); places.len()];
    in_steps(py, threads, &mut out, |range, out| {
        let messages = Messages::slices(&messages[range.clone()]);
        let (verifiers, signatures) = (&verifiers[range.clone()], &signatures[range]);
        sm2::verify_many(verifiers, &messages, signatures, out).expect("as many of each");
    })?;
    let mut holds = vec![false; count];
    for (place, out) in places.into_iter().zip(out) {
        holds[place] = out.is_ok();
    }
    Ok(holds)
}

/// One key or several, as objects that share them.
fn of_type<T: pyo3::PyClass + Sync>(keys: &Bound<'_, PyAny>) -> PyResult<Vec<Py<T>>> {
    if let Ok(key) = keys.cast::<T>() {
        return Ok(vec![key.clone().unbind()]);
    }
    let of_one = |key: &Bound<'_, PyAny>| Ok(key.cast::<T>()?.clone().unbind());
    list(keys)?.iter().map(of_one).collect()
}

/// Gives the module what this file has.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(sign_many, module)?)?;
    module.add_function(wrap_pyfunction!(verify_many, module)?)
}
