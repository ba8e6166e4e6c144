//! SM2 encryption, of which the ciphertext is `SM2Cipher` in DER, as in OpenSSL.
#![allow(unsafe_code, reason = "contexts, messages and ciphertexts come as addresses")]

use std::ffi::{c_int, c_void};

use manylane::sm2::{Ciphertext, CiphertextForm};

use crate::{
    abi::{Algorithm, Dispatch, Param, asym_cipher as id, described},
    core::Core,
    entry::{self, Context, bytes, entries, room, set_len, with},
    failure::{Failure, Reason},
    key::Key,
    params::{Asked, Params},
    signature::check_digest,
};

/// Encryption or decryption with a key.
#[derive(Clone)]
struct Operation {
    core: Core,
    key: Option<Key>,
}

impl Context for Operation {
    fn core(&self) -> Core {
        self.core
    }
}

impl Operation {
    fn start(
        &mut self,
        key: Option<&Key>,
        encrypts: bool,
        params: Params<'_>,
    ) -> Result<(), Failure> {
        if let Some(key) = key {
            self.key = Some(key.clone());
        }
        match encrypts {
            true => self.key()?.public().map(|_| ())?,
            false => self.key()?.secret().map(|_| ())?,
        }
        check_digest(params.text(c"digest")?)
    }

    fn key(&self) -> Result<&Key, Failure> {
        Ok(self.key.as_ref().ok_or(Reason::KeyMissing)?)
    }

    /// Bytes of a ciphertext at most: a coordinate may need a byte more than it has.
    fn max_len(message_len: usize) -> Result<usize, Failure> {
        let len = CiphertextForm::Asn1.encoded_len(&[0xff; 65], message_len as u64)?;
        Ok(usize::try_from(len).map_err(|_| Reason::OutputSize)?)
    }

    fn encrypt(&self, message: &[u8], out: &mut [u8]) -> Result<usize, Failure> {
        let ciphertext = self.key()?.public()?.encrypt(CiphertextForm::Asn1, message)?;
        let out = out.get_mut(..ciphertext.len()).ok_or(Reason::OutputSize)?;
        out.copy_from_slice(&ciphertext);
        Ok(ciphertext.len())
    }

    fn decrypt(&self, ciphertext: &[u8], out: &mut [u8]) -> Result<usize, Failure> {
        let message = self.key()?.secret()?.decrypt(CiphertextForm::Asn1, ciphertext)?;
        let out = out.get_mut(..message.len()).ok_or(Reason::OutputSize)?;
        out.copy_from_slice(&message);
        Ok(message.len())
    }
}

entries! {
    fn new(context: *mut c_void) -> *mut c_void {
        // SAFETY: it is the provider's context.
        match unsafe { Core::from_raw(context) } {
            Some(core) => entry::give(Operation { core, key: None }),
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

    fn encrypt_init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
        // SAFETY: they are what OpenSSL got from here; the list has an end.
        unsafe {
            with(context, |operation: &mut Operation| {
                operation.start(key.cast::<Key>().as_ref(), true, Params::new(params))
            })
        }
    }

    fn decrypt_init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
        // SAFETY: they are what OpenSSL got from here; the list has an end.
        unsafe {
            with(context, |operation: &mut Operation| {
                operation.start(key.cast::<Key>().as_ref(), false, Params::new(params))
            })
        }
    }

    fn encrypt(
        context: *mut c_void,
        out: *mut u8,
        len: *mut usize,
        size: usize,
        message: *const u8,
        message_len: usize,
    ) -> c_int {
        // SAFETY: the context is from `new` or `dup`; lengths are those of the room and of the message.
        unsafe {
            with(context, |operation: &mut Operation| {
                let result = match out.is_null() {
                    true => Operation::max_len(message_len)?,
                    false => operation.encrypt(bytes(message, message_len)?, room(out, size))?,
                };
                set_len(len, result);
                Ok(())
            })
        }
    }

    fn decrypt(
        context: *mut c_void,
        out: *mut u8,
        len: *mut usize,
        size: usize,
        ciphertext: *const u8,
        ciphertext_len: usize,
    ) -> c_int {
        // SAFETY: the context is from `new` or `dup`; lengths are those of the room and of the ciphertext.
        unsafe {
            with(context, |operation: &mut Operation| {
                let ciphertext = bytes(ciphertext, ciphertext_len)?;
                let result = match out.is_null() {
                    true => Ciphertext::parse(CiphertextForm::Asn1, ciphertext)?.c2.len(),
                    false => operation.decrypt(ciphertext, room(out, size))?,
                };
                set_len(len, result);
                Ok(())
            })
        }
    }

    fn get_params(context: *mut c_void, list: *mut Param) -> c_int {
        // SAFETY: the context is from `new` or `dup`, the list has an end.
        unsafe { with(context, |_: &mut Operation| Asked::new(list).text(c"digest", c"SM3")) }
    }

    fn gettable_params(_context: *mut c_void, _provider: *mut c_void) -> *const Param {
        described![c"digest": TEXT]
    }

    fn set_params(context: *mut c_void, params: *const Param) -> c_int {
        // SAFETY: the context is from `new` or `dup`, the list has an end.
        unsafe {
            with(context, |_: &mut Operation| check_digest(Params::new(params).text(c"digest")?))
        }
    }

    fn settable_params(_context: *mut c_void, _provider: *mut c_void) -> *const Param {
        described![c"digest": TEXT]
    }
}

static FUNCTIONS: [Dispatch; 12] = [
    Dispatch::new(id::NEWCTX, new as *const ()),
    Dispatch::new(id::FREECTX, free as *const ()),
    Dispatch::new(id::DUPCTX, dup as *const ()),
    Dispatch::new(id::ENCRYPT_INIT, encrypt_init as *const ()),
    Dispatch::new(id::ENCRYPT, encrypt as *const ()),
    Dispatch::new(id::DECRYPT_INIT, decrypt_init as *const ()),
    Dispatch::new(id::DECRYPT, decrypt as *const ()),
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
        c"manylane's SM2 encryption",
    ),
    Algorithm::END,
];
