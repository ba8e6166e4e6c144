//! SM2: keys, signatures, encryption and key exchange.

use std::sync::{Mutex, PoisonError};

use manylane::sm2::{
    CiphertextForm, Exchange, KeyCipher, KeyEncryption, Prf, PublicKey, SecretKey, Signature,
};
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyBytes};
use zeroize::Zeroizing;

use crate::{
    error::{AlreadyFinalized, DecryptionError, Error, InvalidSignature, library},
    memory::Bytes,
};

/// How signatures are written.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Der,
    Raw,
}

impl Form {
    pub(crate) fn of(name: &str) -> PyResult<Self> {
        match name {
            "der" => Ok(Form::Der),
            "raw" => Ok(Form::Raw),
            _ => Err(Error::new_err(format!(
                "unknown format '{name}' of signatures: expected der or raw"
            ))),
        }
    }

    pub(crate) fn write(self, signature: &Signature) -> Vec<u8> {
        match self {
            Form::Der => signature.to_der(),
            Form::Raw => signature.to_bytes().to_vec(),
        }
    }

    /// Whatever is no signature does not hold either.
    pub(crate) fn read(self, bytes: &[u8]) -> Result<Signature, manylane::Error> {
        match self {
            Form::Der => Signature::from_der(bytes),
            Form::Raw => match bytes.try_into() {
                Ok(bytes) => Signature::from_bytes(bytes),
                Err(_) => Err(manylane::Error::Signature),
            },
        }
    }
}

/// The form of ciphertexts by name and prefix.
fn ciphertext_form(name: &str, prefix: bool) -> PyResult<CiphertextForm> {
    match name {
        "asn1" => Ok(CiphertextForm::Asn1),
        "c1c3c2" => Ok(CiphertextForm::C1C3C2 { prefix }),
        "c1c2c3" => Ok(CiphertextForm::C1C2C3 { prefix }),
        _ => Err(Error::new_err(format!(
            "unknown format '{name}' of ciphertexts: expected asn1, c1c3c2 or c1c2c3"
        ))),
    }
}

fn not_valid(error: manylane::Error) -> PyErr {
    match error {
        manylane::Error::IdLength(_) => library(error),
        // Which of all reasons is of no use but to those who forge.
        _ => InvalidSignature::new_err("the signature is not valid"),
    }
}

/// A private key, wiped when it is freed.
#[pyclass(module = "manylane.sm2", frozen)]
pub(crate) struct PrivateKey {
    pub(crate) key: SecretKey,
}

/// A public key.
#[pyclass(module = "manylane.sm2", name = "PublicKey", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct PublicKeyObject {
    pub(crate) key: PublicKey,
}

#[pymethods]
impl PrivateKey {
    /// Its public key.
    fn public_key(&self) -> PublicKeyObject {
        PublicKeyObject { key: *self.key.public_key() }
    }

    /// Signs a message.
    #[pyo3(signature = (data, *, user_id=None, format="der"))]
    fn sign<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'_, PyAny>,
        user_id: Option<&Bound<'_, PyAny>>,
        format: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (data, id, form) = (Bytes::of(data)?, user(user_id)?, Form::of(format)?);
        let (data, id) = (data.get(), id.get());
        let signature = py.detach(|| self.key.sign(id, data)).map_err(library)?;
        Ok(PyBytes::new(py, &form.write(&signature)))
    }

    /// Signs e = SM3(Z_A ‖ M), 32 bytes.
    #[pyo3(signature = (digest, *, format="der"))]
    fn sign_digest<'py>(
        &self,
        py: Python<'py>,
        digest: &Bound<'_, PyAny>,
        format: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (digest, form) = (Bytes::of(digest)?, Form::of(format)?);
        let digest = of_32(digest.get(), "the digest")?;
        let signature = py.detach(|| self.key.sign_digest(&digest)).map_err(library)?;
        Ok(PyBytes::new(py, &form.write(&signature)))
    }

    /// Decrypts a message.
    #[pyo3(signature = (ciphertext, *, format="asn1", prefix=true))]
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        ciphertext: &Bound<'_, PyAny>,
        format: &str,
        prefix: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (ciphertext, form) = (Bytes::of(ciphertext)?, ciphertext_form(format, prefix)?);
        let ciphertext = ciphertext.get();
        let message = py.detach(|| self.key.decrypt(form, ciphertext));
        let message = message.map_err(|error| DecryptionError::new_err(error.to_string()))?;
        let message = Zeroizing::new(message);
        Ok(PyBytes::new(py, &message))
    }

    /// Begins a key exchange (GB/T 32918.3): both sides send their ephemeral key, and agree.
    #[pyo3(signature = (peer, *, initiator, user_id=None, peer_user_id=None))]
    fn exchange(
        &self,
        peer: &PublicKeyObject,
        initiator: bool,
        user_id: Option<&Bound<'_, PyAny>>,
        peer_user_id: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<KeyExchange> {
        let (id, peer_id) = (user(user_id)?, user(peer_user_id)?);
        let (id, peer_id) = (id.get(), peer_id.get());
        let exchange = match initiator {
            true => Exchange::initiate(&self.key, id, &peer.key, peer_id),
            false => Exchange::respond(&self.key, id, &peer.key, peer_id),
        };
        let exchange = exchange.map_err(library)?.into_owned();
        let ephemeral = *exchange.ephemeral();
        Ok(KeyExchange { ephemeral, exchange: Mutex::new(Some(exchange)) })
    }

    /// x of the shared point, 32 bytes: Diffie-Hellman without any proof of who the other side is.
    fn diffie_hellman<'py>(&self, py: Python<'py>, peer: &PublicKeyObject) -> Bound<'py, PyBytes> {
        let shared = py.detach(|| self.key.diffie_hellman(&peer.key));
        PyBytes::new(py, &shared[..])
    }

    /// The key, written in a form: PEM, DER or hex; pkcs8 or sec1; under a password or in the clear.
    #[pyo3(signature = (encoding="pem", format="pkcs8", encryption=None))]
    fn private_bytes<'py>(
        &self,
        py: Python<'py>,
        encoding: &str,
        format: &str,
        encryption: Option<&Encryption>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let key = &self.key;
        let bytes = match (encoding, format, encryption) {
            ("pem", "pkcs8", None) => text(&key.to_pkcs8_pem()),
            ("der", "pkcs8", None) => key.to_pkcs8_der(),
            ("pem", "sec1", None) => text(&key.to_sec1_pem()),
            ("der", "sec1", None) => key.to_sec1_der(),
            ("hex", _, None) => text(&key.to_hex()),
            ("raw", _, None) => Zeroizing::new(key.to_bytes().to_vec()),
            ("pem", "pkcs8", Some(encryption)) => {
                let Encryption { password, how } = encryption;
                let pem = py.detach(|| key.to_encrypted_pkcs8_pem(password, how));
                Zeroizing::new(pem.map_err(library)?.into_bytes())
            }
            ("der", "pkcs8", Some(encryption)) => {
                let Encryption { password, how } = encryption;
                let der = py.detach(|| key.to_encrypted_pkcs8_der(password, how));
                Zeroizing::new(der.map_err(library)?)
            }
            (_, _, Some(_)) => {
                return Err(Error::new_err("only pkcs8 in pem or der can be encrypted"));
            }
            _ => {
                return Err(Error::new_err(format!(
                    "no form '{encoding}' of '{format}': expected pem or der of pkcs8 or sec1, hex, or raw"
                )));
            }
        };
        Ok(PyBytes::new(py, &bytes))
    }

    /// Nothing of the key.
    fn __repr__(&self) -> &'static str {
        "<manylane.sm2.PrivateKey>"
    }
}

#[pymethods]
impl PublicKeyObject {
    /// Raises InvalidSignature unless the signature of the message holds.
    #[pyo3(signature = (signature, data, *, user_id=None, format="der"))]
    fn verify(
        &self,
        py: Python<'_>,
        signature: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        user_id: Option<&Bound<'_, PyAny>>,
        format: &str,
    ) -> PyResult<()> {
        let (signature, data) = (Bytes::of(signature)?, Bytes::of(data)?);
        let (id, form) = (user(user_id)?, Form::of(format)?);
        let (signature, data, id) = (signature.get(), data.get(), id.get());
        let verify = || self.key.verify(id, data, &form.read(signature)?);
        py.detach(verify).map_err(not_valid)
    }

    /// Raises InvalidSignature unless the signature of e = SM3(Z_A ‖ M) holds.
    #[pyo3(signature = (signature, digest, *, format="der"))]
    fn verify_digest(
        &self,
        py: Python<'_>,
        signature: &Bound<'_, PyAny>,
        digest: &Bound<'_, PyAny>,
        format: &str,
    ) -> PyResult<()> {
        let (signature, digest) = (Bytes::of(signature)?, Bytes::of(digest)?);
        let form = Form::of(format)?;
        let digest = of_32(digest.get(), "the digest")?;
        let signature = signature.get();
        let verify = || self.key.verify_digest(&digest, &form.read(signature)?);
        py.detach(verify).map_err(not_valid)
    }

    /// Encrypts a message.
    #[pyo3(signature = (data, *, format="asn1", prefix=true))]
    fn encrypt<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'_, PyAny>,
        format: &str,
        prefix: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (data, form) = (Bytes::of(data)?, ciphertext_form(format, prefix)?);
        let data = data.get();
        let ciphertext = py.detach(|| self.key.encrypt(form, data)).map_err(library)?;
        Ok(PyBytes::new(py, &ciphertext))
    }

    /// The key, written in a form: pem or der (SubjectPublicKeyInfo), or its point: uncompressed, compressed or hex.
    #[pyo3(signature = (encoding="pem"))]
    fn public_bytes<'py>(&self, py: Python<'py>, encoding: &str) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = match encoding {
            "pem" => self.key.to_pem().into_bytes(),
            "der" => self.key.to_spki_der(),
            "uncompressed" => self.key.to_sec1_bytes().to_vec(),
            "compressed" => self.key.to_compressed().to_vec(),
            "hex" => self.key.to_hex().into_bytes(),
            _ => {
                return Err(Error::new_err(format!(
                    "no form '{encoding}': expected pem, der, uncompressed, compressed or hex"
                )));
            }
        };
        Ok(PyBytes::new(py, &bytes))
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        self.key.to_compressed().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("<manylane.sm2.PublicKey {}>", self.key.to_hex())
    }
}

/// A part in a key exchange.
#[pyclass(module = "manylane.sm2", frozen)]
pub(crate) struct KeyExchange {
    ephemeral: PublicKey,
    exchange: Mutex<Option<Exchange<'static>>>,
}

#[pymethods]
impl KeyExchange {
    /// What the other side needs: an ephemeral public key.
    #[getter]
    fn ephemeral(&self) -> PublicKeyObject {
        PublicKeyObject { key: self.ephemeral }
    }

    /// The shared key of `length` bytes, what the other side can check (S of the standard), and what it must send.
    /// Can be called once.
    fn agree<'py>(
        &self,
        py: Python<'py>,
        peer_ephemeral: &PublicKeyObject,
        length: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Confirmation)> {
        // Far beyond any key; the standard's limit is 128 GiB, which would be memory.
        if length == 0 || length > 1 << 20 {
            return Err(Error::new_err("a shared key has 1 to 2**20 bytes"));
        }
        let taken = self.exchange.lock().unwrap_or_else(PoisonError::into_inner).take();
        let exchange = taken.ok_or_else(|| AlreadyFinalized::new_err("the exchange is over"))?;
        let mut key = Zeroizing::new(vec![0; length]);
        let agreed =
            py.detach(|| exchange.agree(&peer_ephemeral.key, &mut key)).map_err(library)?;
        Ok((PyBytes::new(py, &key), Confirmation { confirmation: agreed }))
    }
}

/// What confirms a key exchange.
#[pyclass(module = "manylane.sm2", frozen)]
pub(crate) struct Confirmation {
    confirmation: manylane::sm2::Confirmation,
}

#[pymethods]
impl Confirmation {
    /// What the other side checks, 32 bytes.
    #[getter]
    fn to_send<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.confirmation.to_send())
    }

    /// Raises Error unless what the other side sent is what it must send.
    fn check(&self, received: &Bound<'_, PyAny>) -> PyResult<()> {
        let received = Bytes::of(received)?;
        let received = of_32(received.get(), "a confirmation")?;
        self.confirmation.check(&received).map_err(library)
    }
}

/// How a private key is encrypted: a password, and how that becomes a key.
#[pyclass(module = "manylane.sm2", frozen)]
pub(crate) struct Encryption {
    password: Zeroizing<Vec<u8>>,
    how: KeyEncryption,
}

#[pymethods]
impl Encryption {
    /// By PBKDF2 with HMAC-SM3 and SM4 ("sm3"), or with HMAC-SHA-256 and AES-256 ("sha256"), which OpenSSL 3.0 can read.
    #[new]
    #[pyo3(signature = (password, *, kdf="sm3", iterations=None))]
    fn new(password: &Bound<'_, PyAny>, kdf: &str, iterations: Option<u32>) -> PyResult<Self> {
        let how = match kdf {
            "sm3" => KeyEncryption::new(Prf::HmacSm3, KeyCipher::Sm4Cbc),
            "sha256" => KeyEncryption::new(Prf::HmacSha256, KeyCipher::Aes256Cbc),
            _ => {
                return Err(Error::new_err(format!("unknown kdf '{kdf}': expected sm3 or sha256")));
            }
        };
        let how = match iterations {
            Some(iterations) => how.with_iterations(iterations).map_err(library)?,
            None => how,
        };
        let password = Bytes::of(password)?;
        if password.get().is_empty() {
            return Err(Error::new_err("the password is empty"));
        }
        Ok(Encryption { password: Zeroizing::new(password.get().to_vec()), how })
    }
}

fn text(text: &Zeroizing<String>) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(text.as_bytes().to_vec())
}

/// A user ID; the standard's default if none is given.
pub(crate) enum User {
    Default,
    Given(Bytes),
}

impl User {
    pub(crate) fn get(&self) -> &[u8] {
        match self {
            User::Default => manylane::sm2::DEFAULT_ID,
            User::Given(bytes) => bytes.get(),
        }
    }
}

pub(crate) fn user(id: Option<&Bound<'_, PyAny>>) -> PyResult<User> {
    id.map_or(Ok(User::Default), |id| Bytes::of(id).map(User::Given))
}

fn of_32(bytes: &[u8], what: &str) -> PyResult<[u8; 32]> {
    bytes
        .try_into()
        .map_err(|_| Error::new_err(format!("{what} has 32 bytes, not {}", bytes.len())))
}

/// A new key from the operating system's generator.
#[pyfunction]
fn generate_private_key(py: Python<'_>) -> PyResult<PrivateKey> {
    Ok(PrivateKey { key: py.detach(SecretKey::generate).map_err(library)? })
}

/// Whether there is a text in PEM.
fn has_pem(data: &[u8]) -> bool {
    const BEGIN: &[u8] = b"-----BEGIN ";
    data.windows(BEGIN.len()).any(|window| window == BEGIN)
}

/// Refuses data of another form than the one that the caller has named.
fn check_form(data: &[u8], form: Option<&str>) -> PyResult<()> {
    match form {
        Some("pem") if !has_pem(data) => Err(Error::new_err("not in PEM")),
        Some("der") if has_pem(data) => Err(Error::new_err("in PEM, not in DER")),
        // A SEQUENCE is what every key is.
        Some("der") if data.first() != Some(&0x30) => Err(Error::new_err("not in DER")),
        _ => Ok(()),
    }
}

/// The private key of PEM, DER or hexadecimal digits; in that form if one is named.
#[pyfunction]
#[pyo3(signature = (data, password=None, form=None))]
fn load_private_key(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    password: Option<&Bound<'_, PyAny>>,
    form: Option<&str>,
) -> PyResult<PrivateKey> {
    let data = Bytes::of(data)?;
    let password = password.map(Bytes::of).transpose()?;
    let (data, password) = (data.get(), password.as_ref().map(Bytes::get));
    check_form(data, form)?;
    // As pyca: who gives a password believes that the key is encrypted.
    if password.is_some() && SecretKey::decode(data, None).is_ok() {
        return Err(PyTypeError::new_err("a password was given, but the key is not encrypted"));
    }
    let key = py.detach(|| SecretKey::decode(data, password)).map_err(library)?;
    Ok(PrivateKey { key })
}

/// The public key of PEM, DER, hexadecimal digits, a point, or a certificate; in that form if one is named.
#[pyfunction]
#[pyo3(signature = (data, form=None))]
fn load_public_key(data: &Bound<'_, PyAny>, form: Option<&str>) -> PyResult<PublicKeyObject> {
    let data = Bytes::of(data)?;
    let data = data.get();
    let key = match form {
        None => PublicKey::decode(data),
        Some("certificate") if has_pem(data) => {
            const LABEL: &[u8] = b"CERTIFICATE-----";
            if !data.windows(LABEL.len()).any(|window| window == LABEL) {
                return Err(Error::new_err("no certificate in PEM"));
            }
            PublicKey::from_pem(data)
        }
        Some("certificate") => PublicKey::from_certificate_der(data),
        Some("pem") => {
            check_form(data, form)?;
            PublicKey::from_pem(data)
        }
        Some(_) => match data {
            // A point, compressed or not, with its first byte or without.
            [2 | 3, ..] if data.len() == 33 => PublicKey::from_sec1_bytes(data),
            [4, ..] if data.len() == 65 => PublicKey::from_sec1_bytes(data),
            _ if data.len() == 64 => PublicKey::from_sec1_bytes(data),
            _ => {
                check_form(data, Some("der"))?;
                PublicKey::from_spki_der(data)
            }
        },
    };
    Ok(PublicKeyObject { key: key.map_err(library)? })
}

/// The key of a number, 32 bytes big-endian.
#[pyfunction]
fn private_key_from_bytes(data: &Bound<'_, PyAny>) -> PyResult<PrivateKey> {
    let data = Bytes::of(data)?;
    let number = Zeroizing::new(of_32(data.get(), "a private key")?);
    Ok(PrivateKey { key: SecretKey::from_bytes(&number).map_err(library)? })
}

/// Gives the module what this file has.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PrivateKey>()?;
    module.add_class::<PublicKeyObject>()?;
    module.add_class::<KeyExchange>()?;
    module.add_class::<Confirmation>()?;
    module.add_class::<Encryption>()?;
    module.add_function(wrap_pyfunction!(generate_private_key, module)?)?;
    module.add_function(wrap_pyfunction!(load_private_key, module)?)?;
    module.add_function(wrap_pyfunction!(load_public_key, module)?)?;
    module.add_function(wrap_pyfunction!(private_key_from_bytes, module)?)
}
