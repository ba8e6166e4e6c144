//! SM2 signatures, of messages with an identifier and of digests.
#![allow(unsafe_code, reason = "contexts, messages and signatures come as addresses")]

use std::ffi::{c_char, c_int, c_void};

use manylane::{
    Error,
    sm2::{DEFAULT_ID, MAX_ID_LEN, Signature, Signer, Verifier},
    sm3::{Digest as _, Sm3},
};

use crate::{
    abi::{Algorithm, Dispatch, Param, described, signature as id},
    core::Core,
    entry::{self, Context, bytes, entries, room, set_len, with},
    failure::{Failure, Reason},
    key::Key,
    params::{Asked, Params, text},
};

/// Bytes of a signature in DER at most.
const MAX_LEN: usize = 72;

/// `AlgorithmIdentifier` of sm2-with-sm3, 1.2.156.10197.1.501, without parameters.
const ALGORITHM_ID: [u8; 12] =
    [0x30, 0x0a, 0x06, 0x08, 0x2a, 0x81, 0x1c, 0xcf, 0x55, 0x01, 0x83, 0x75];

/// A version of TLS, as OpenSSL 4 says that a signature is part of its handshake, and the identifier then (RFC 8998, 3.2.1).
const TLS_1_3: u64 = 0x0304;
const TLS_1_3_ID: &[u8] = b"TLSv1.3+GM+Cipher+Suite";

/// A signature that is made or verified.
#[derive(Clone)]
struct Operation {
    core: Core,
    key: Option<Key>,
    /// The identifier, if one was set.
    identifier: Option<Vec<u8>>,
    /// The message so far, from Z_A on.
    hasher: Option<Sm3>,
    signs: bool,
}

impl Context for Operation {
    fn core(&self) -> Core {
        self.core
    }
}

impl Operation {
    /// Begins with a key, or with the last one.
    fn start(&mut self, key: Option<&Key>, signs: bool, params: Params<'_>) -> Result<(), Failure> {
        if let Some(key) = key {
            self.key = Some(key.clone());
        }
        self.hasher = None;
        self.signs = signs;
        let key = self.key()?;
        match signs {
            true => key.secret().map(|_| ())?,
            false => key.public().map(|_| ())?,
        }
        self.set(params)
    }

    fn key(&self) -> Result<&Key, Failure> {
        Ok(self.key.as_ref().ok_or(Reason::KeyMissing)?)
    }

    fn set(&mut self, params: Params<'_>) -> Result<(), Failure> {
        if let Some((_, identifier)) = params.octets_len(c"distid")? {
            if self.hasher.is_some() {
                return Err(Reason::LateIdentifier.into());
            }
            let Some(identifier) = identifier.or((self.core.version() < 4).then_some(&[])) else {
                // OpenSSL 4 says so that the default is to be taken again.
                self.identifier = None;
                return Ok(());
            };
            if identifier.len() > MAX_ID_LEN {
                return Err(Error::IdLength(identifier.len()).into());
            }
            self.identifier = Some(identifier.to_vec());
        } else if params.number(c"tls-version")? == Some(TLS_1_3) {
            self.identifier = Some(TLS_1_3_ID.to_vec());
        }
        check_digest(params.text(c"digest")?)?;
        match params.number(c"digest-size")? {
            None | Some(32) => Ok(()),
            Some(_) => Err(Reason::Digest.into()),
        }
    }

    fn hasher(&mut self) -> Result<Sm3, Failure> {
        if let Some(hasher) = self.hasher.take() {
            return Ok(hasher);
        }
        let identifier = match &self.identifier {
            Some(identifier) => identifier,
            // OpenSSL 3 has an empty one where none is set, OpenSSL 4 that of GM/T 0009.
            None if self.core.version() < 4 => &[][..],
            None => DEFAULT_ID,
        };
        Ok(match self.signs {
            true => Signer::new(self.key()?.secret()?, identifier)?.hasher(),
            false => Verifier::new(self.key()?.public()?, identifier)?.hasher(),
        })
    }

    fn update(&mut self, data: &[u8]) -> Result<(), Failure> {
        let mut hasher = self.hasher()?;
        hasher.update(data);
        self.hasher = Some(hasher);
        Ok(())
    }

    /// The digest of the message, which ends.
    fn digest(&mut self) -> Result<[u8; 32], Failure> {
        Ok(self.hasher()?.finalize().into())
    }

    fn sign(&self, digest: &[u8], out: &mut [u8]) -> Result<usize, Failure> {
        let signature = self.key()?.secret()?.sign_digest(&number(digest)?)?.to_der();
        let out = out.get_mut(..signature.len()).ok_or(Reason::OutputSize)?;
        out.copy_from_slice(&signature);
        Ok(signature.len())
    }

    /// Whether it is the signature. That it is not is no error: on OpenSSL's list there is only what is no signature at all.
    fn verify(&self, digest: &[u8], signature: &[u8]) -> Result<bool, Failure> {
        let signature = Signature::from_der(signature)?;
        match self.key()?.public()?.verify_digest(&number(digest)?, &signature) {
            Err(Error::Signature) => Ok(false),
            done => Ok(done.map(|()| true)?),
        }
    }
}

/// e: all of a digest with SM3, as OpenSSL demands.
fn number(digest: &[u8]) -> Result<[u8; 32], Failure> {
    Ok(*digest.as_array().ok_or(Reason::DigestLength)?)
}

/// There are signatures with SM3 only, whether it is named or not.
pub(crate) fn check_digest(name: Option<&str>) -> Result<(), Failure> {
    match name {
        None | Some("") => Ok(()),
        Some(name) if name.eq_ignore_ascii_case("SM3") || name == "1.2.156.10197.1.401" => Ok(()),
        Some(_) => Err(Reason::Digest.into()),
    }
}

/// # Safety
/// The context is null or from `new` or `dup`, the key is null or a key, the list has an end.
unsafe fn start(
    context: *mut c_void,
    digest: *const c_char,
    key: *const c_void,
    params: *const Param,
    signs: bool,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        with(context, |operation: &mut Operation| {
            check_digest(text(digest))?;
            operation.start(key.cast::<Key>().as_ref(), signs, Params::new(params))
        })
    }
}

/// Verifies: 1 if it is the signature.
///
/// # Safety
/// The context is null or from `new` or `dup`.
unsafe fn verify_with(
    context: *mut c_void,
    verify: impl FnOnce(&mut Operation) -> Result<bool, Failure>,
) -> c_int {
    let mut is_valid = false;
    // SAFETY: as the caller says.
    let done = unsafe {
        with(context, |operation: &mut Operation| {
            is_valid = verify(operation)?;
            Ok(())
        })
    };
    done & c_int::from(is_valid)
}

/// Makes a signature of the digest that `digest` gives, or says how long one can be.
///
/// # Safety
/// The context is null or from `new` or `dup`; `len` is null or a place for the length; there is so much room.
unsafe fn sign_with(
    context: *mut c_void,
    out: *mut u8,
    len: *mut usize,
    size: usize,
    digest: impl FnOnce(&mut Operation) -> Result<[u8; 32], Failure>,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        with(context, |operation: &mut Operation| {
            if out.is_null() {
                set_len(len, MAX_LEN);
                return Ok(());
            }
            let digest = digest(operation)?;
            set_len(len, operation.sign(&digest, room(out, size))?);
            Ok(())
        })
    }
}

entries! {
    fn new(context: *mut c_void, _properties: *const c_char) -> *mut c_void {
        // SAFETY: it is the provider's context.
        match unsafe { Core::from_raw(context) } {
            Some(core) => entry::give(Operation {
                core,
                key: None,
                identifier: None,
                hasher: None,
                signs: false,
            }),
            None => std::ptr::null_mut(),
        }
    }

    fn free(context: *mut c_void) {
        // SAFETY: OpenSSL frees what it got from `new` or `dup`, once.
        unsafe { entry::free::<Operation>(context) }
    }

    fn dup(context: *mut c_void) -> *mut c_void {
        // SAFETY: it is from `new` or `dup`.
        unsafe { entry::copy::<Operation>(context) }
    }

    fn sign_init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
        // SAFETY: they are what OpenSSL got from here; the list has an end.
        unsafe { start(context, std::ptr::null(), key, params, true) }
    }

    fn verify_init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
        // SAFETY: they are what OpenSSL got from here; the list has an end.
        unsafe { start(context, std::ptr::null(), key, params, false) }
    }

    fn digest_sign_init(
        context: *mut c_void,
        digest: *const c_char,
        key: *mut c_void,
        params: *const Param,
    ) -> c_int {
        // SAFETY: they are what OpenSSL got from here, a text and a list with ends.
        unsafe { start(context, digest, key, params, true) }
    }

    fn digest_verify_init(
        context: *mut c_void,
        digest: *const c_char,
        key: *mut c_void,
        params: *const Param,
    ) -> c_int {
        // SAFETY: they are what OpenSSL got from here, a text and a list with ends.
        unsafe { start(context, digest, key, params, false) }
    }

    fn sign(
        context: *mut c_void,
        out: *mut u8,
        len: *mut usize,
        size: usize,
        digest: *const u8,
        digest_len: usize,
    ) -> c_int {
        // SAFETY: the context is from `new` or `dup`; lengths are those of the room and of the data.
        unsafe { sign_with(context, out, len, size, |_| number(bytes(digest, digest_len)?)) }
    }

    fn verify(
        context: *mut c_void,
        signature: *const u8,
        len: usize,
        digest: *const u8,
        digest_len: usize,
    ) -> c_int {
        // SAFETY: the context is from `new` or `dup`; lengths are those of the data.
        unsafe {
            verify_with(context, |operation| {
                operation.verify(bytes(digest, digest_len)?, bytes(signature, len)?)
            })
        }
    }

    fn update(context: *mut c_void, data: *const u8, len: usize) -> c_int {
        // SAFETY: the context is from `new` or `dup`, and so long the data are.
        unsafe { with(context, |operation: &mut Operation| operation.update(bytes(data, len)?)) }
    }

    fn digest_sign_final(context: *mut c_void, out: *mut u8, len: *mut usize, size: usize) -> c_int {
        // SAFETY: the context is from `new` or `dup`; there is so much room.
        unsafe { sign_with(context, out, len, size, Operation::digest) }
    }

    fn digest_sign(
        context: *mut c_void,
        out: *mut u8,
        len: *mut usize,
        size: usize,
        data: *const u8,
        data_len: usize,
    ) -> c_int {
        // SAFETY: the context is from `new` or `dup`; lengths are those of the room and of the data.
        unsafe {
            sign_with(context, out, len, size, |operation| {
                operation.update(bytes(data, data_len)?)?;
                operation.digest()
            })
        }
    }

    fn digest_verify_final(context: *mut c_void, signature: *const u8, len: usize) -> c_int {
        // SAFETY: the context is from `new` or `dup`, and so long the signature is.
        unsafe {
            verify_with(context, |operation| {
                let digest = operation.digest()?;
                operation.verify(&digest, bytes(signature, len)?)
            })
        }
    }

    fn digest_verify(
        context: *mut c_void,
        signature: *const u8,
        len: usize,
        data: *const u8,
        data_len: usize,
    ) -> c_int {
        // SAFETY: the context is from `new` or `dup`; lengths are those of the data.
        unsafe {
            verify_with(context, |operation| {
                operation.update(bytes(data, data_len)?)?;
                let digest = operation.digest()?;
                operation.verify(&digest, bytes(signature, len)?)
            })
        }
    }

    fn get_params(context: *mut c_void, list: *mut Param) -> c_int {
        // SAFETY: the context is from `new` or `dup`, the list has an end.
        unsafe {
            with(context, |_: &mut Operation| {
                let mut asked = Asked::new(list);
                asked.octets(c"algorithm-id", &ALGORITHM_ID)?;
                asked.text(c"digest", c"SM3")?;
                asked.number(c"digest-size", 32)
            })
        }
    }

    fn gettable_params(_context: *mut c_void, _provider: *mut c_void) -> *const Param {
        described![c"algorithm-id": OCTETS, c"digest": TEXT, c"digest-size": UNSIGNED]
    }

    fn set_params(context: *mut c_void, params: *const Param) -> c_int {
        // SAFETY: the context is from `new` or `dup`, the list has an end.
        unsafe { with(context, |operation: &mut Operation| operation.set(Params::new(params))) }
    }

    fn settable_params(_context: *mut c_void, _provider: *mut c_void) -> *const Param {
        described![c"distid": OCTETS, c"tls-version": UNSIGNED, c"digest": TEXT, c"digest-size": UNSIGNED]
    }
}

static FUNCTIONS: [Dispatch; 20] = [
    Dispatch::new(id::NEWCTX, new as *const ()),
    Dispatch::new(id::FREECTX, free as *const ()),
    Dispatch::new(id::DUPCTX, dup as *const ()),
    Dispatch::new(id::SIGN_INIT, sign_init as *const ()),
    Dispatch::new(id::SIGN, sign as *const ()),
    Dispatch::new(id::VERIFY_INIT, verify_init as *const ()),
    Dispatch::new(id::VERIFY, verify as *const ()),
    Dispatch::new(id::DIGEST_SIGN_INIT, digest_sign_init as *const ()),
    Dispatch::new(id::DIGEST_SIGN_UPDATE, update as *const ()),
    Dispatch::new(id::DIGEST_SIGN_FINAL, digest_sign_final as *const ()),
    Dispatch::new(id::DIGEST_SIGN, digest_sign as *const ()),
    Dispatch::new(id::DIGEST_VERIFY_INIT, digest_verify_init as *const ()),
    Dispatch::new(id::DIGEST_VERIFY_UPDATE, update as *const ()),
    Dispatch::new(id::DIGEST_VERIFY_FINAL, digest_verify_final as *const ()),
    Dispatch::new(id::DIGEST_VERIFY, digest_verify as *const ()),
    Dispatch::new(id::GET_CTX_PARAMS, get_params as *const ()),
    Dispatch::new(id::GETTABLE_CTX_PARAMS, gettable_params as *const ()),
    Dispatch::new(id::SET_CTX_PARAMS, set_params as *const ()),
    Dispatch::new(id::SETTABLE_CTX_PARAMS, settable_params as *const ()),
    Dispatch::END,
];

pub(crate) static ALGORITHMS: [Algorithm; 2] = [
    Algorithm::new(
        c"SM2:1.2.156.10197.1.301",
        crate::provider::PROPERTIES,
        &FUNCTIONS,
        c"manylane's SM2 signatures",
    ),
    Algorithm::END,
];
