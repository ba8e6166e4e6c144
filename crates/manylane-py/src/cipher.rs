//! Block ciphers: AEADs in one call, and contexts that take a message in parts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use manylane::block::{
    Ccm, Gcm, TweakOrder, Xts,
    any::{Algorithm, AnyCipher, AnyMode, Direction, Mode},
    gcm::Suspended,
};
use pyo3::{prelude::*, sync::MutexExt as _, types::PyBytes};

use crate::{
    error::{AlreadyFinalized, AlreadyUpdated, Error, InvalidTag, NotYetFinalized, library},
    memory::{Bytes, Output, released},
};

fn tag_error(error: manylane::Error) -> PyErr {
    match error {
        manylane::Error::Decryption => InvalidTag::new_err("the tag is not right"),
        error => library(error),
    }
}

/// The cipher of a name and a key.
fn cipher(name: &str, key: &[u8]) -> PyResult<AnyCipher> {
    let algorithm = algorithm(name, key.len())?;
    AnyCipher::new(algorithm, key).map_err(library)
}

fn algorithm(name: &str, key_len: usize) -> PyResult<Algorithm> {
    let allowed =
        |lens: &str| Error::new_err(format!("a key of {key_len} bytes; {name} takes {lens}"));
    match (name, key_len) {
        ("sm4", 16) => Ok(Algorithm::Sm4),
        ("aes", 16) => Ok(Algorithm::Aes128),
        ("aes", 24) => Ok(Algorithm::Aes192),
        ("aes", 32) => Ok(Algorithm::Aes256),
        ("sm4", _) => Err(allowed("16")),
        ("aes", _) => Err(allowed("16, 24 or 32")),
        _ => Err(Error::new_err(format!("unknown cipher '{name}'"))),
    }
}

/// Boxed, as they differ in size, and Python's allocator aligns to 16 bytes only.
enum Aead {
    Gcm(Box<Gcm<AnyCipher>>),
    Ccm(Box<Ccm<AnyCipher>>),
}

impl Aead {
    fn tag_len(&self) -> usize {
        match self {
            Aead::Gcm(gcm) => gcm.tag_len(),
            Aead::Ccm(ccm) => ccm.tag_len(),
        }
    }

    /// In place; the tag goes behind.
    fn encrypt(&self, nonce: &[u8], aad: &[u8], out: &mut [u8]) -> Result<(), manylane::Error> {
        let (data, place) = out.split_at_mut(out.len() - self.tag_len());
        let tag = match self {
            Aead::Gcm(gcm) => gcm.encrypt_detached(nonce, aad, data)?,
            Aead::Ccm(ccm) => ccm.encrypt_detached(nonce, aad, data)?,
        };
        place.copy_from_slice(tag.as_ref());
        Ok(())
    }

    fn decrypt(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), manylane::Error> {
        match self {
            Aead::Gcm(gcm) => gcm.decrypt_detached(nonce, aad, data, tag),
            Aead::Ccm(ccm) => ccm.decrypt_detached(nonce, aad, data, tag),
        }
    }
}

/// An AEAD under a key, wiped when it is freed.
#[pyclass(module = "manylane.aead", name = "Aead", frozen, subclass)]
pub(crate) struct AeadKey {
    aead: Aead,
}

#[pymethods]
impl AeadKey {
    #[new]
    fn new(
        cipher_name: &str,
        mode: &str,
        key: &Bound<'_, PyAny>,
        tag_length: usize,
    ) -> PyResult<Self> {
        let key = Bytes::of(key)?;
        let cipher = cipher(cipher_name, key.get())?;
        let aead = match mode {
            "gcm" => {
                Aead::Gcm(Box::new(Gcm::new(cipher).with_tag_len(tag_length).map_err(library)?))
            }
            "ccm" => {
                Aead::Ccm(Box::new(Ccm::new(cipher).with_tag_len(tag_length).map_err(library)?))
            }
            _ => return Err(Error::new_err(format!("unknown mode '{mode}'"))),
        };
        Ok(AeadKey { aead })
    }

    /// The ciphertext, and the tag behind it.
    #[pyo3(signature = (nonce, data, associated_data=None))]
    fn encrypt<'py>(
        &self,
        py: Python<'py>,
        nonce: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        associated_data: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (nonce, data) = (Bytes::of(nonce)?, Bytes::of(data)?);
        let aad = associated_data.map(Bytes::of).transpose()?;
        let aad = aad.as_ref().map_or(&b""[..], Bytes::get);
        let (nonce, data) = (nonce.get(), data.get());
        PyBytes::new_with(py, data.len() + self.aead.tag_len(), |out| {
            let encrypt = || {
                out[..data.len()].copy_from_slice(data);
                self.aead.encrypt(nonce, aad, out)
            };
            released(py, data.len() + aad.len(), encrypt).map_err(library)
        })
    }

    /// The message, if the tag at the end is right; raises InvalidTag otherwise.
    #[pyo3(signature = (nonce, data, associated_data=None))]
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        nonce: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        associated_data: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (nonce, data) = (Bytes::of(nonce)?, Bytes::of(data)?);
        let aad = associated_data.map(Bytes::of).transpose()?;
        let aad = aad.as_ref().map_or(&b""[..], Bytes::get);
        let (nonce, data) = (nonce.get(), data.get());
        let Some(len) = data.len().checked_sub(self.aead.tag_len()) else {
            return Err(InvalidTag::new_err("the ciphertext is shorter than its tag"));
        };
        let (data, tag) = data.split_at(len);
        PyBytes::new_with(py, len, |out| {
            let decrypt = || {
                out.copy_from_slice(data);
                self.aead.decrypt(nonce, aad, out, tag)
            };
            released(py, len + aad.len(), decrypt).map_err(tag_error)
        })
    }
}

/// A message under way.
enum State {
    /// Associated data are being taken, none of the message yet.
    Aad(Gcm<AnyCipher>, Vec<u8>, Vec<u8>),
    Gcm(Gcm<AnyCipher>, Suspended),
    Plain(AnyMode),
    /// A data unit, whole in one call, as XTS cannot continue one.
    Xts(Box<Xts<AnyCipher>>, [u8; 16]),
}

struct Course {
    state: State,
    /// Bytes of a block that is not complete, in modes of whole blocks.
    rest: zeroize::Zeroizing<Vec<u8>>,
    /// Whether XTS has had its data unit.
    is_used: bool,
}

/// Encryption or decryption of one message, in parts.
#[pyclass(module = "manylane.ciphers", frozen)]
pub(crate) struct CipherContext {
    /// Boxed, as Python's allocator aligns to 16 bytes only.
    course: Mutex<Option<Box<Course>>>,
    direction: Direction,
    takes_blocks: bool,
    is_gcm: bool,
    /// The tag that a decryption is to have, or that an encryption has given.
    tag: Mutex<Option<Vec<u8>>>,
    /// Bytes of the shortest tag that a decryption takes at its end.
    min_tag_len: usize,
}

impl CipherContext {
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Option<Box<Course>>> {
        self.course.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn over() -> PyErr {
        AlreadyFinalized::new_err("the context has been finalized")
    }

    /// What the next part gives: at most fifteen bytes more or less than it has.
    fn output_len(&self, course: &Course, len: usize) -> usize {
        if self.takes_blocks { (course.rest.len() + len) / 16 * 16 } else { len }
    }

    /// The next part, from `data` into `out`.
    fn advance(
        &self,
        course: &mut Course,
        data: &[u8],
        out: &mut [u8],
    ) -> Result<(), manylane::Error> {
        if !self.takes_blocks {
            out.copy_from_slice(data);
            return self.crypt(course, out);
        }
        let from_rest = course.rest.len().min(out.len());
        let from_data = out.len() - from_rest;
        out[..from_rest].copy_from_slice(&course.rest[..from_rest]);
        out[from_rest..].copy_from_slice(&data[..from_data]);
        if !out.is_empty() {
            course.rest.clear();
        }
        course.rest.extend_from_slice(&data[from_data..]);
        self.crypt(course, out)
    }

    fn crypt(&self, course: &mut Course, data: &mut [u8]) -> Result<(), manylane::Error> {
        match &mut course.state {
            State::Plain(mode) => mode.update(data),
            State::Xts(xts, tweak) => {
                if data.is_empty() {
                    return Ok(());
                }
                if course.is_used {
                    return Err(manylane::Error::DataLength(
                        "XTS takes a data unit as a whole, by one update",
                    ));
                }
                match self.direction {
                    Direction::Encrypt => xts.encrypt(tweak, data)?,
                    Direction::Decrypt => xts.decrypt(tweak, data)?,
                }
                course.is_used = true;
                Ok(())
            }
            State::Aad(gcm, iv, aad) => {
                let suspended = self.begin(gcm, iv, aad)?;
                let gcm = gcm.clone();
                course.state = State::Gcm(gcm, suspended);
                self.crypt(course, data)
            }
            State::Gcm(gcm, suspended) => {
                let done = match self.direction {
                    Direction::Encrypt => {
                        let mut message = gcm.resume_encryptor(suspended.clone());
                        message.update(data).map(|()| message.suspend())
                    }
                    Direction::Decrypt => {
                        let mut message = gcm.resume_decryptor(suspended.clone());
                        message.update(data).map(|()| message.suspend())
                    }
                };
                *suspended = done?;
                Ok(())
            }
        }
    }

    fn begin(
        &self,
        gcm: &Gcm<AnyCipher>,
        iv: &[u8],
        aad: &[u8],
    ) -> Result<Suspended, manylane::Error> {
        match self.direction {
            Direction::Encrypt => Ok(gcm.encryptor(iv, aad)?.suspend()),
            Direction::Decrypt => Ok(gcm.decryptor(iv, aad)?.suspend()),
        }
    }

    fn lock_tag(&self) -> MutexGuard<'_, Option<Vec<u8>>> {
        self.tag.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the message under way. Where that cannot be, it stays as it is.
    fn finish(&self, py: Python<'_>, tag: Option<&[u8]>) -> PyResult<()> {
        let mut guard = self.lock(py);
        let course = guard.as_ref().ok_or_else(Self::over)?;
        if !course.rest.is_empty() {
            return Err(Error::new_err(
                "the message is not a whole number of blocks of 16 bytes; pad it first",
            ));
        }
        if let Some(tag) = tag {
            *self.lock_tag() = Some(tag.to_vec());
        }
        let is_decryption = self.is_gcm && matches!(self.direction, Direction::Decrypt);
        if is_decryption && self.lock_tag().is_none() {
            return Err(Error::new_err("the tag is missing: give it to GCM or finalize_with_tag"));
        }
        let course = guard.take().expect("as was just seen");
        drop(guard);
        self.end(course)
    }

    /// The end of a message: GCM's tag is made or checked.
    fn end(&self, mut course: Box<Course>) -> PyResult<()> {
        if let State::Aad(..) = course.state {
            self.crypt(&mut course, &mut []).map_err(library)?;
        }
        let State::Gcm(gcm, suspended) = course.state else { return Ok(()) };
        let mut tag = self.lock_tag();
        match self.direction {
            Direction::Encrypt => {
                *tag = Some(gcm.resume_encryptor(suspended).finalize().as_ref().to_vec());
                Ok(())
            }
            Direction::Decrypt => {
                let tag = tag.as_ref().expect("`finish` has looked");
                let gcm = gcm.with_tag_len(tag.len()).map_err(library)?;
                gcm.resume_decryptor(suspended).finalize(tag).map_err(tag_error)
            }
        }
    }
}

#[pymethods]
impl CipherContext {
    #[new]
    #[pyo3(signature = (
        cipher_name, mode, key, iv, *, encrypt, tag=None, tag_length=16, min_tag_length=16, gb=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "the package's own call")]
    fn new(
        cipher_name: &str,
        mode: &str,
        key: &Bound<'_, PyAny>,
        iv: &Bound<'_, PyAny>,
        encrypt: bool,
        tag: Option<&Bound<'_, PyAny>>,
        tag_length: usize,
        min_tag_length: usize,
        gb: bool,
    ) -> PyResult<Self> {
        let (key, iv) = (Bytes::of(key)?, Bytes::of(iv)?);
        let (key, iv) = (key.get(), iv.get());
        let direction = if encrypt { Direction::Encrypt } else { Direction::Decrypt };
        let tag = tag.map(Bytes::of).transpose()?.map(|tag| tag.get().to_vec());
        let mut takes_blocks = false;
        let state = match mode {
            "gcm" => {
                let len = tag.as_ref().map_or(tag_length, Vec::len);
                let gcm = Gcm::new(cipher(cipher_name, key)?).with_tag_len(len).map_err(library)?;
                if iv.is_empty() {
                    return Err(library(manylane::Error::IvLength(0)));
                }
                State::Aad(gcm, iv.to_vec(), Vec::new())
            }
            "xts" => {
                let algorithm = algorithm(cipher_name, key.len() / 2)?;
                if matches!(algorithm, Algorithm::Aes192) {
                    return Err(Error::new_err(
                        "XTS takes AES with 128 or 256 bits: 32 or 64 bytes",
                    ));
                }
                let order = if gb { TweakOrder::Gb } else { TweakOrder::Ieee };
                let xts = AnyCipher::xts(algorithm, key, order).map_err(library)?;
                let tweak =
                    iv.try_into().map_err(|_| library(manylane::Error::IvLength(iv.len())))?;
                State::Xts(Box::new(xts), tweak)
            }
            _ => {
                let mode: Mode =
                    mode.parse().map_err(|_| Error::new_err(format!("unknown mode '{mode}'")))?;
                takes_blocks = mode.takes_blocks();
                let cipher = cipher(cipher_name, key)?;
                State::Plain(AnyMode::new(cipher, mode, direction, iv).map_err(library)?)
            }
        };
        let is_gcm = matches!(state, State::Aad(..));
        let rest = zeroize::Zeroizing::new(Vec::with_capacity(16));
        let course = Box::new(Course { state, rest, is_used: false });
        Ok(CipherContext {
            course: Mutex::new(Some(course)),
            direction,
            takes_blocks,
            is_gcm,
            tag: Mutex::new(tag),
            min_tag_len: min_tag_length,
        })
    }

    /// The next part of the message.
    fn update<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let data = Bytes::of(data)?;
        let data = data.get();
        let mut guard = self.lock(py);
        let course = guard.as_mut().ok_or_else(Self::over)?;
        PyBytes::new_with(py, self.output_len(course, data.len()), |out| {
            let advance = || self.advance(course, data, out);
            released(py, data.len(), advance).map_err(library)
        })
    }

    /// The next part of the message, into memory of the caller's; gives the number of bytes.
    fn update_into(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        buf: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        let data = Bytes::of(data)?;
        let data = data.get();
        // Before the lock: an object of Python code is asked for its memory, and that code may use this context.
        let mut output = Output::at_least(buf, 0)?;
        output.check_apart(data)?;
        let mut guard = self.lock(py);
        let course = guard.as_mut().ok_or_else(Self::over)?;
        let len = self.output_len(course, data.len());
        output.check_len(len)?;
        let out = &mut output.get()[..len];
        let advance = || self.advance(course, data, out);
        released(py, data.len(), advance).map_err(library)?;
        Ok(len)
    }

    /// Takes data that are authenticated and not encrypted, before any of the message.
    fn authenticate_additional_data(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let data = Bytes::of(data)?;
        match self.lock(py).as_mut().ok_or_else(Self::over)?.state {
            State::Aad(_, _, ref mut aad) => {
                aad.extend_from_slice(data.get());
                Ok(())
            }
            State::Gcm(..) => {
                Err(AlreadyUpdated::new_err("additional data come before the message"))
            }
            _ => Err(Error::new_err("only GCM authenticates additional data")),
        }
    }

    /// The end of the message. GCM's decryption raises InvalidTag if what `update` gave is not the message.
    fn finalize<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.finish(py, None)?;
        Ok(PyBytes::new(py, b""))
    }

    /// The end of a decryption by GCM whose tag comes last.
    fn finalize_with_tag<'py>(
        &self,
        py: Python<'py>,
        tag: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let tag = Bytes::of(tag)?;
        if !self.is_gcm || matches!(self.direction, Direction::Encrypt) {
            return Err(Error::new_err("only decryption by GCM has a tag to check"));
        }
        let tag = tag.get();
        if tag.len() < self.min_tag_len {
            let least = self.min_tag_len;
            return Err(Error::new_err(format!("a tag of {} bytes, not {least}", tag.len())));
        }
        // With the lengths that a tag can have.
        if !matches!(tag.len(), 4 | 8 | 12..=16) {
            return Err(library(manylane::Error::TagLength(tag.len())));
        }
        self.finish(py, Some(tag))?;
        Ok(PyBytes::new(py, b""))
    }

    /// The tag of an encryption by GCM that has been finalized.
    #[getter]
    fn tag<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        if !self.is_gcm || matches!(self.direction, Direction::Decrypt) {
            return Err(Error::new_err("only encryption by GCM has a tag"));
        }
        match &*self.lock_tag() {
            Some(tag) => Ok(PyBytes::new(py, tag)),
            None => Err(NotYetFinalized::new_err("there is no tag before finalize")),
        }
    }
}

/// Gives the module what this file has.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<AeadKey>()?;
    module.add_class::<CipherContext>()
}
