//! Signatures.
#![allow(unsafe_code)] // Functions with C's names, and pointers.

use core::ffi::{c_int, c_void};

use manylane::{
    sm2::{PublicKey, SecretKey, Signature, Signer, Verifier},
    sm3::{Digest as _, Sm3},
};

use super::{
    key::{manylane_sm2_key, manylane_sm2_public},
    user_id,
};
use crate::{
    handle::{self, Opaque, exclusive, shared},
    memory::{Output, array, bytes},
    status::{FINISHED, Failure, Result, SM2, guard, guard_free, guard_secret},
};

/// Forms of signatures.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum manylane_sm2_signature {
    /// A SEQUENCE of the INTEGERs r and s in DER, of 8 to 72 bytes.
    MANYLANE_SM2_SIGNATURE_DER = 0,
    /// r and s, 64 bytes.
    MANYLANE_SM2_SIGNATURE_RAW = 1,
    /// r and s with zeros before each, 128 bytes, as of GM/T 0016.
    MANYLANE_SM2_SIGNATURE_SKF = 2,
}

/// A message that is signed as it comes.
pub struct manylane_sm2_signer {
    _opaque: (),
}

impl Opaque for manylane_sm2_signer {
    type State = Signing;
    const KIND: u64 = 10;
}

pub(crate) struct Signing {
    key: SecretKey,
    message: Option<Sm3>,
}

/// A message whose signature is verified as it comes.
pub struct manylane_sm2_verifier {
    _opaque: (),
}

impl Opaque for manylane_sm2_verifier {
    type State = Verifying;
    const KIND: u64 = 11;
}

pub(crate) struct Verifying {
    key: PublicKey,
    message: Option<Sm3>,
}

/// Room that a signature needs at most. It is asked for before there is one, for each call makes another.
fn room(form: c_int) -> Result<usize> {
    match form {
        0 => Ok(72),
        1 => Ok(64),
        2 => Ok(128),
        other => Err(Failure::argument(format!("{other} is no form of signatures"))),
    }
}

fn write(signature: &Signature, form: c_int, out: Output) -> Result {
    match form {
        0 => out.put(&signature.to_der()),
        1 => out.put(&signature.to_bytes()),
        _ => out.put(&signature.to_skf_bytes()),
    }
}

/// What cannot be read is no signature of anything.
fn read(signature: &[u8], form: c_int) -> Result<Signature> {
    room(form)?;
    let read = match form {
        0 => Signature::from_der(signature),
        1 => signature.as_array().map_or(Err(manylane::Error::Signature), Signature::from_bytes),
        _ => {
            signature.as_array().map_or(Err(manylane::Error::Signature), Signature::from_skf_bytes)
        }
    };
    Ok(read.map_err(|_| manylane::Error::Signature)?)
}

/// Signs a message as the user `id`, of at most 8191 bytes. Whoever has none uses MANYLANE_SM2_DEFAULT_ID with
/// the length MANYLANE_SM2_DEFAULT_ID_LEN. An empty ID is another; its pointer, too, may not be null. `form` is one of `manylane_sm2_signature`. `*len` is the room on entry, which must be 72, 64 or
/// 128 bytes, and then the bytes written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_sign(
    key: *const manylane_sm2_key,
    id: *const c_void,
    id_len: usize,
    message: *const c_void,
    message_len: usize,
    form: c_int,
    signature: *mut u8,
    len: *mut usize,
) -> c_int {
    guard_secret::<SM2>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let out = Output::new(signature, len)?;
            out.check(room(form)?)?;
            let message = bytes(message, message_len)?;
            let signature = shared(key)?.sign(user_id(id, id_len)?, message)?;
            write(&signature, form, out)
        }
    })
}

/// Verifies a signature of the user `id`, as of manylane_sm2_sign(): MANYLANE_OK if it holds, otherwise
/// MANYLANE_ERROR_SIGNATURE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_verify(
    public_key: *const manylane_sm2_public,
    id: *const c_void,
    id_len: usize,
    message: *const c_void,
    message_len: usize,
    form: c_int,
    signature: *const c_void,
    len: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let (key, signature) = (shared(public_key)?, read(bytes(signature, len)?, form)?);
            let message = bytes(message, message_len)?;
            Ok(key.verify(user_id(id, id_len)?, message, &signature)?)
        }
    })
}

/// Signs the 32 bytes e, the SM3 digest of Z_A and the message, by whoever has computed it. As
/// manylane_sm2_sign() for the rest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_sign_digest(
    key: *const manylane_sm2_key,
    e: *const u8,
    form: c_int,
    signature: *mut u8,
    len: *mut usize,
) -> c_int {
    guard_secret::<SM2>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let out = Output::new(signature, len)?;
            out.check(room(form)?)?;
            write(&shared(key)?.sign_digest(array(e)?)?, form, out)
        }
    })
}

/// Verifies a signature of the 32 bytes e, as of manylane_sm2_sign_digest().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_verify_digest(
    public_key: *const manylane_sm2_public,
    e: *const u8,
    form: c_int,
    signature: *const c_void,
    len: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let (key, signature) = (shared(public_key)?, read(bytes(signature, len)?, form)?);
            Ok(key.verify_digest(array(e)?, &signature)?)
        }
    })
}

/// Begins a message that is signed as it comes, as the user `id` of manylane_sm2_sign(). The handle has a copy
/// of the key, and is freed with manylane_sm2_signer_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_signer_new(
    signer: *mut *mut manylane_sm2_signer,
    key: *const manylane_sm2_key,
    id: *const c_void,
    id_len: usize,
) -> c_int {
    guard_secret::<SM2>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(signer)?;
            let key = shared(key)?;
            let message = Some(Signer::new(key, user_id(id, id_len)?)?.hasher());
            handle::put(signer, Signing { key: key.clone(), message })
        }
    })
}

/// Goes on over `len` bytes of the message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_signer_update(
    signer: *mut manylane_sm2_signer,
    data: *const c_void,
    len: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let data = bytes(data, len)?;
            exclusive(signer, |signing| {
                signing.message.as_mut().ok_or(FINISHED)?.update(data);
                Ok(())
            })
        }
    })
}

/// The signature, after which the handle takes nothing more. As manylane_sm2_sign() for the rest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_signer_finish(
    signer: *mut manylane_sm2_signer,
    form: c_int,
    signature: *mut u8,
    len: *mut usize,
) -> c_int {
    guard_secret::<SM2>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let out = Output::new(signature, len)?;
            exclusive(signer, |signing| {
                let room = room(form)?;
                out.check(room)?;
                let e = signing.message.take().ok_or(FINISHED)?.finalize();
                write(&signing.key.sign_digest(&e.into())?, form, out)
            })
        }
    })
}

/// Frees a handle, and wipes its key. Null is left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_signer_free(signer: *mut manylane_sm2_signer) {
    // SAFETY: the pointer is the caller's word.
    guard_free(|| unsafe { handle::free(signer) });
}

/// Begins a message whose signature is verified as it comes, of the user `id` of manylane_sm2_sign(). Free the handle
/// with manylane_sm2_verifier_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_verifier_new(
    verifier: *mut *mut manylane_sm2_verifier,
    public_key: *const manylane_sm2_public,
    id: *const c_void,
    id_len: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(verifier)?;
            let key = *shared(public_key)?;
            let message = Some(Verifier::new(&key, user_id(id, id_len)?)?.hasher());
            handle::put(verifier, Verifying { key, message })
        }
    })
}

/// Goes on over `len` bytes of the message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_verifier_update(
    verifier: *mut manylane_sm2_verifier,
    data: *const c_void,
    len: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let data = bytes(data, len)?;
            exclusive(verifier, |verifying| {
                verifying.message.as_mut().ok_or(FINISHED)?.update(data);
                Ok(())
            })
        }
    })
}

/// Whether the signature holds, after which the handle takes nothing more. As manylane_sm2_verify() for the rest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_verifier_finish(
    verifier: *mut manylane_sm2_verifier,
    form: c_int,
    signature: *const c_void,
    len: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let signature = bytes(signature, len)?;
            exclusive(verifier, |verifying| {
                room(form)?;
                let e = verifying.message.take().ok_or(FINISHED)?.finalize();
                let signature = read(signature, form)?;
                Ok(verifying.key.verify_digest(&e.into(), &signature)?)
            })
        }
    })
}

/// Frees a handle. Null is left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_verifier_free(verifier: *mut manylane_sm2_verifier) {
    // SAFETY: the pointer is the caller's word.
    guard_free(|| unsafe { handle::free(verifier) });
}
