//! Hash objects as `hashlib` has them, and HMAC of one message.

use std::sync::{Mutex, MutexGuard, PoisonError};

use manylane::hash::{Algorithm, Hasher};
use manylane_engine::Function;
use pyo3::{
    exceptions::{PyMemoryError, PyTypeError, PyValueError},
    prelude::*,
    sync::MutexExt as _,
    types::{PyBytes, PyString},
};
use zeroize::Zeroizing;

use crate::{
    engines::algorithm,
    error::Error,
    memory::{Bytes, RELEASED, released},
};

/// Bytes of a digest of any length at most: more is a mistake, and would need as much memory.
const MAX_OUTPUT: usize = 1 << 29;

/// A hash function that is fed piece by piece, with the methods and attributes of hashlib's objects.
#[pyclass(module = "manylane", name = "Hash", frozen)]
pub(crate) struct Hash {
    algorithm: Algorithm,
    /// Fed; its digest's length is not yet decided on if that is free.
    state: Mutex<Hasher>,
}

/// The name that hashlib has for it.
pub(crate) fn name_of(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Sha3_224 => "sha3_224",
        Algorithm::Sha3_256 => "sha3_256",
        Algorithm::Sha3_384 => "sha3_384",
        Algorithm::Sha3_512 => "sha3_512",
        Algorithm::Shake128 => "shake_128",
        Algorithm::Shake256 => "shake_256",
        Algorithm::Keccak256 => "keccak_256",
        other => other.name(),
    }
}

/// What a parameter was given, if it was. `None` counts as given, and is no bytes: a secret that is missing by mistake
/// must not have the digest of nothing.
struct Given<'py>(Option<Bound<'py, PyAny>>);

impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Given(Some(object.to_owned())))
    }
}

impl Hash {
    fn new(
        py: Python<'_>,
        algorithm: Algorithm,
        data: &Given<'_>,
        for_security: &Given<'_>,
    ) -> PyResult<Self> {
        // Every function here is fit for security, so there is nothing to decide; as in hashlib, anything is true or false.
        if let Given(Some(value)) = for_security {
            value.is_truthy()?;
        }
        let hash = Hash { algorithm, state: Mutex::new(Hasher::new(algorithm)) };
        if let Given(Some(data)) = data {
            hash.update(py, data)?;
        }
        Ok(hash)
    }

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Hasher> {
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// The digest so far, of `length` bytes if that is free.
    fn finish<'py>(&self, py: Python<'py>, length: Option<isize>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.lock(py).clone();
        if !self.algorithm.is_xof() {
            return match length {
                Some(_) => Err(PyTypeError::new_err(format!(
                    "digests of {} have one length",
                    name_of(self.algorithm)
                ))),
                None => PyBytes::new_with(py, state.digest_len(), |out| {
                    state.finish_into(out);
                    Ok(())
                }),
            };
        }
        let len = match length.map(usize::try_from) {
            None => self.algorithm.digest_len(),
            Some(Ok(len)) if len <= MAX_OUTPUT => len,
            Some(_) => return Err(PyValueError::new_err("length must be in 0..=2**29")),
        };
        if len == 0 {
            return Ok(PyBytes::new(py, b""));
        }
        let state = state.into_digest_len(len);
        PyBytes::new_with(py, len, |out| {
            py.detach(|| state.finish_into(out));
            Ok(())
        })
    }
}

#[pymethods]
impl Hash {
    /// Goes on over the bytes of an object.
    fn update(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let data = Bytes::of(data)?;
        let bytes = data.get();
        if bytes.len() < RELEASED {
            self.lock(py).update(bytes);
        } else {
            py.detach(|| self.state.lock().unwrap_or_else(PoisonError::into_inner).update(bytes));
        }
        Ok(())
    }

    /// The digest of everything so far. SHAKE and its like take its length in bytes.
    #[pyo3(signature = (length=None))]
    fn digest<'py>(&self, py: Python<'py>, length: Option<isize>) -> PyResult<Bound<'py, PyBytes>> {
        self.finish(py, length)
    }

    /// The same as hexadecimal digits.
    #[pyo3(signature = (length=None))]
    fn hexdigest<'py>(
        &self,
        py: Python<'py>,
        length: Option<isize>,
    ) -> PyResult<Bound<'py, PyString>> {
        let digest = self.finish(py, length)?;
        let mut text = String::new();
        text.try_reserve_exact(2 * digest.as_bytes().len())
            .map_err(|_| PyMemoryError::new_err("no memory for so many digits"))?;
        for byte in digest.as_bytes() {
            text.extend(
                [byte >> 4, byte & 15]
                    .map(|half| char::from(b"0123456789abcdef"[usize::from(half)])),
            );
        }
        Ok(PyString::new(py, &text))
    }

    /// An object that goes on from here by itself.
    fn copy(&self, py: Python<'_>) -> Hash {
        Hash { algorithm: self.algorithm, state: Mutex::new(self.lock(py).clone()) }
    }

    fn __copy__(&self, py: Python<'_>) -> Hash {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Hash {
        self.copy(py)
    }

    /// The name, as `new` takes it.
    #[getter]
    fn name(&self) -> &'static str {
        name_of(self.algorithm)
    }

    /// Bytes of a digest; 0 if that is free, as in hashlib.
    #[getter]
    fn digest_size(&self) -> usize {
        if self.algorithm.is_xof() { 0 } else { self.algorithm.digest_len() }
    }

    /// Bytes that the function takes at a time.
    #[getter]
    fn block_size(&self) -> usize {
        self.algorithm.block_len()
    }

    fn __repr__(&self) -> String {
        format!("<manylane {} object>", name_of(self.algorithm))
    }
}

/// A hash object of the function with that name.
#[pyfunction]
#[pyo3(
    signature = (name, data=Given(None), *, usedforsecurity=Given(None)),
    text_signature = "(name, data=b'', *, usedforsecurity=True)"
)]
#[expect(clippy::needless_pass_by_value, reason = "as PyO3 gives them")]
fn new(py: Python<'_>, name: &str, data: Given<'_>, usedforsecurity: Given<'_>) -> PyResult<Hash> {
    Hash::new(py, algorithm(name)?, &data, &usedforsecurity)
}

macro_rules! constructors {
    ($($name:ident $algorithm:ident $what:literal;)*) => {
        $(
            #[doc = concat!("A hash object of ", $what, ".")]
            #[pyfunction]
            #[pyo3(
                signature = (data=Given(None), *, usedforsecurity=Given(None)),
                text_signature = "(data=b'', *, usedforsecurity=True)"
            )]
            fn $name(
                py: Python<'_>,
                data: Given<'_>,
                usedforsecurity: Given<'_>,
            ) -> PyResult<Hash> {
                Hash::new(py, Algorithm::$algorithm, &data, &usedforsecurity)
            }
        )*

        /// Gives the module what this file has.
        pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
            module.add_class::<Hash>()?;
            module.add_function(wrap_pyfunction!(new, module)?)?;
            module.add_function(wrap_pyfunction!(hmac, module)?)?;
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            let names: Vec<_> = Algorithm::ALL.into_iter().map(name_of).collect();
            module.add("names", names)
        }
    };
}
constructors! {
    sm3 Sm3 "SM3 (GB/T 32905-2016)";
    sha3_224 Sha3_224 "SHA3-224 (FIPS 202)";
    sha3_256 Sha3_256 "SHA3-256 (FIPS 202)";
    sha3_384 Sha3_384 "SHA3-384 (FIPS 202)";
    sha3_512 Sha3_512 "SHA3-512 (FIPS 202)";
    shake_128 Shake128 "SHAKE128 (FIPS 202)";
    shake_256 Shake256 "SHAKE256 (FIPS 202)";
}

/// The function of HMAC under a key.
pub(crate) fn hmac_function(name: &str, key: &[u8]) -> PyResult<Function> {
    let algorithm = algorithm(name)?;
    if !algorithm.has_hmac() {
        let name = name_of(algorithm);
        return Err(Error::new_err(format!("there is no HMAC with {name}")));
    }
    Ok(Function::hmac(algorithm, key))
}

/// HMAC of a message.
#[pyfunction]
#[pyo3(signature = (key, data, name="sm3"))]
fn hmac<'py>(
    py: Python<'py>,
    key: &Bound<'_, PyAny>,
    data: &Bound<'_, PyAny>,
    name: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let (key, data) = (Bytes::of(key)?, Bytes::of(data)?);
    let function = hmac_function(name, key.get())?;
    let bytes = data.get();
    let tag = released(py, bytes.len(), || Zeroizing::new(function.of(bytes)));
    Ok(PyBytes::new(py, &tag))
}
