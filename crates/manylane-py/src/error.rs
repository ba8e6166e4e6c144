//! Exceptions, and which of them an error of the library becomes.

use pyo3::{create_exception, exceptions::PyValueError, prelude::*};

create_exception!(
    manylane,
    Error,
    PyValueError,
    "What manylane refuses: the base of its other exceptions."
);
create_exception!(manylane, InvalidSignature, Error, "A signature that does not hold.");
create_exception!(
    manylane,
    InvalidTag,
    Error,
    "A message whose tag is not right: it, its nonce, its associated data or the key is another."
);
create_exception!(manylane, DecryptionError, Error, "A ciphertext that does not decrypt.");
create_exception!(manylane, AlreadyFinalized, Error, "A context that has been finalized already.");
create_exception!(manylane, AlreadyUpdated, Error, "Additional data after some of the message.");
create_exception!(manylane, NotYetFinalized, Error, "A tag before its message has ended.");
create_exception!(
    manylane,
    DeviceError,
    Error,
    "A GPU that is not there, cannot be used, or has failed."
);

/// An error of the library as an exception.
pub(crate) fn library(error: manylane::Error) -> PyErr {
    let text = error.to_string();
    match error {
        manylane::Error::Signature => InvalidSignature::new_err(text),
        manylane::Error::Decryption => DecryptionError::new_err(text),
        _ => Error::new_err(text),
    }
}

/// An error of a GPU as an exception.
pub(crate) fn device(error: manylane_gpu::Error) -> PyErr {
    match error {
        manylane_gpu::Error::Input(error) => library(error),
        error => DeviceError::new_err(error.to_string()),
    }
}

/// An error of an engine's configuration as an exception.
pub(crate) fn config(error: manylane_engine::Error) -> PyErr {
    match error {
        manylane_engine::Error::Gpu { .. } => DeviceError::new_err(error.to_string()),
        error => Error::new_err(error.to_string()),
    }
}

/// Gives the module its exceptions.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    for (name, exception) in [
        ("Error", py.get_type::<Error>()),
        ("InvalidSignature", py.get_type::<InvalidSignature>()),
        ("InvalidTag", py.get_type::<InvalidTag>()),
        ("DecryptionError", py.get_type::<DecryptionError>()),
        ("AlreadyFinalized", py.get_type::<AlreadyFinalized>()),
        ("AlreadyUpdated", py.get_type::<AlreadyUpdated>()),
        ("NotYetFinalized", py.get_type::<NotYetFinalized>()),
        ("DeviceError", py.get_type::<DeviceError>()),
    ] {
        module.add(name, exception)?;
    }
    Ok(())
}
