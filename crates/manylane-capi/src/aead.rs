//! Encryption that tells whether anything was altered: GCM and CCM.
#![allow(unsafe_code)] // Functions with C's names, and pointers.

use core::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use manylane::{
    Error,
    block::{
        Ccm, Gcm,
        any::{AnyCipher, Direction},
        gcm::{self, Suspended},
    },
};

use crate::{
    cipher::{direction, moved, split_name},
    handle::{self, Opaque, exclusive, shared},
    memory::{bytes, bytes_mut, check_apart, name},
    status::{FINISHED, Failure, SYMMETRIC, guard, guard_free, guard_secret},
};

/// A key of GCM or CCM. Any number of threads may use one handle at a time.
pub struct manylane_aead {
    _opaque: (),
}

impl Opaque for manylane_aead {
    type State = Keyed;
    const KIND: u64 = 5;
}

pub(crate) enum Keyed {
    Gcm(Arc<Gcm<AnyCipher>>),
    Ccm(Ccm<AnyCipher>),
}

impl Keyed {
    fn tag_len(&self) -> usize {
        match self {
            Keyed::Gcm(key) => key.tag_len(),
            Keyed::Ccm(key) => key.tag_len(),
        }
    }
}

/// Where a stream goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Encrypt,
    Decrypt,
    Verify,
}

/// A message of GCM that comes in parts.
pub struct manylane_gcm_stream {
    _opaque: (),
}

impl Opaque for manylane_gcm_stream {
    type State = Stream;
    const KIND: u64 = 6;
}

pub(crate) struct Stream {
    key: Arc<Gcm<AnyCipher>>,
    direction: Way,
    /// Bytes so far.
    len: u64,
    /// None once the end was reached.
    message: Option<Suspended>,
}

/// Makes a key. `algorithm` is a cipher, as for manylane_cipher_new(), and "gcm" or "ccm": "sm4-gcm",
/// "aes-256-ccm". `tag_len` is the bytes of its tags: 16, or 0 for that; GCM also has 4, 8 and 12 to 15, CCM
/// all even numbers from 4 on. Short ones are guessed sooner. Free the handle with manylane_aead_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_aead_new(
    aead: *mut *mut manylane_aead,
    algorithm: *const c_char,
    key: *const c_void,
    key_len: usize,
    tag_len: usize,
) -> c_int {
    guard_secret::<SYMMETRIC>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(aead)?;
            let text = name(algorithm)?;
            let (algorithm, mode) = split_name(&text)?;
            let cipher = || AnyCipher::new(algorithm, bytes(key, key_len)?).map_err(Failure::from);
            let tag_len = if tag_len == 0 { 16 } else { tag_len };
            let keyed = match mode.to_ascii_lowercase().as_str() {
                "gcm" => Keyed::Gcm(Arc::new(Gcm::new(cipher()?).with_tag_len(tag_len)?)),
                "ccm" => Keyed::Ccm(Ccm::new(cipher()?).with_tag_len(tag_len)?),
                other => return Err(Failure::name(format!("'{other}' authenticates nothing"))),
            };
            handle::put(aead, keyed)
        }
    })
}

/// Frees a handle, and wipes its key once no stream of it is left. Null is left alone. No call may be using it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_aead_free(aead: *mut manylane_aead) {
    // SAFETY: the pointer is the caller's word.
    guard_free(|| unsafe { handle::free(aead) });
}

/// Encrypts `len` bytes into as many at `out`, which may be `data`, but not overlap it in another way; and
/// writes the tag. `tag_len` must be the key's. **A nonce must never be used twice under a key.** The
/// associated data `aad` are authenticated, and not encrypted. GCM takes nonces of any length but 0, CCM of 7
/// to 13 bytes: 12 with both suits everybody.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_aead_encrypt(
    aead: *const manylane_aead,
    nonce: *const c_void,
    nonce_len: usize,
    aad: *const c_void,
    aad_len: usize,
    data: *const c_void,
    len: usize,
    out: *mut u8,
    tag: *mut u8,
    tag_len: usize,
) -> c_int {
    guard(|| {
        for input in [(nonce, nonce_len), (aad, aad_len)] {
            check_apart((out, len), input)?;
            check_apart((tag, tag_len), input)?;
        }
        check_apart((tag, tag_len), (out.cast_const().cast(), len))?;
        check_apart((tag, tag_len), (data, len))?;
        // SAFETY: the pointers are the caller's word, and the outputs are apart from all else.
        unsafe {
            let key = shared(aead)?;
            if tag_len != key.tag_len() {
                return Err(Error::TagLength(tag_len).into());
            }
            let (nonce, aad) = (bytes(nonce, nonce_len)?, bytes(aad, aad_len)?);
            let tag = bytes_mut(tag, tag_len)?;
            // What cannot be encrypted is refused before it is copied to the place for ciphertext.
            let made = match key {
                Keyed::Gcm(key) => {
                    let mut encryptor = key.encryptor(nonce, aad)?;
                    if len as u64 > gcm::MAX_MESSAGE_LEN {
                        return Err(Error::DataLength("too long for GCM").into());
                    }
                    encryptor.update(moved(data, len, out)?)?;
                    encryptor.finalize()
                }
                Keyed::Ccm(key) => {
                    let mut encryptor = key.encryptor(nonce, aad, len as u64)?;
                    encryptor.update(moved(data, len, out)?)?;
                    encryptor.finalize()?
                }
            };
            tag.copy_from_slice(made.as_ref());
        }
        Ok(())
    })
}

/// Decrypts `len` bytes into as many at `out`, which may be `data`, but not overlap it in another way, if the
/// tag is theirs. If it is not, the status is MANYLANE_ERROR_DECRYPTION, and all of `out` is zero. A nonce or a tag
/// of a length that the key does not have is refused before, and `out` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_aead_decrypt(
    aead: *const manylane_aead,
    nonce: *const c_void,
    nonce_len: usize,
    aad: *const c_void,
    aad_len: usize,
    data: *const c_void,
    len: usize,
    out: *mut u8,
    tag: *const c_void,
    tag_len: usize,
) -> c_int {
    guard(|| {
        for input in [(nonce, nonce_len), (aad, aad_len), (tag, tag_len)] {
            check_apart((out, len), input)?;
        }
        // SAFETY: the pointers are the caller's word, and the output is apart from all else.
        unsafe {
            let key = shared(aead)?;
            let (nonce, aad) = (bytes(nonce, nonce_len)?, bytes(aad, aad_len)?);
            let tag = bytes(tag, tag_len)?;
            // What is no message of this key's is refused before it is copied to the place for plaintext.
            if tag_len != key.tag_len() {
                return Err(Error::TagLength(tag_len).into());
            }
            match key {
                Keyed::Gcm(key) => drop(key.verifier(nonce, b"")?),
                Keyed::Ccm(key) => drop(key.encryptor(nonce, b"", len as u64)?),
            }
            if matches!(key, Keyed::Gcm(_)) && len as u64 > gcm::MAX_MESSAGE_LEN {
                return Err(Error::DataLength("too long for GCM").into());
            }
            let data = moved(data, len, out)?;
            match key {
                Keyed::Gcm(key) => key.decrypt_detached(nonce, aad, data, tag)?,
                Keyed::Ccm(key) => key.decrypt_detached(nonce, aad, data, tag)?,
            }
        }
        Ok(())
    })
}

/// Begins a message of GCM that comes in parts, in bounded memory. CCM has none: its tag needs the length
/// first. `direction` is one of `manylane_direction`. A message that does not fit in memory is read twice: by
/// MANYLANE_VERIFY, which only says whether it is the message, and then by MANYLANE_DECRYPT. The stream outlives
/// its key's handle. Free it with manylane_gcm_stream_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_gcm_stream_new(
    stream: *mut *mut manylane_gcm_stream,
    aead: *const manylane_aead,
    direction: c_int,
    nonce: *const c_void,
    nonce_len: usize,
    aad: *const c_void,
    aad_len: usize,
) -> c_int {
    guard_secret::<SYMMETRIC>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(stream)?;
            let direction = match direction {
                2 => Way::Verify,
                other => match self::direction(other)? {
                    Direction::Encrypt => Way::Encrypt,
                    Direction::Decrypt => Way::Decrypt,
                },
            };
            let Keyed::Gcm(key) = shared(aead)? else {
                return Err(Failure::argument("a key of CCM, which has no streams"));
            };
            let (nonce, aad) = (bytes(nonce, nonce_len)?, bytes(aad, aad_len)?);
            let message = Some(match direction {
                Way::Encrypt => key.encryptor(nonce, aad)?.suspend(),
                Way::Decrypt => key.decryptor(nonce, aad)?.suspend(),
                Way::Verify => key.verifier(nonce, aad)?.suspend(),
            });
            handle::put(stream, Stream { key: key.clone(), direction, len: 0, message })
        }
    })
}

/// Goes on over `len` bytes, into as many at `out`, which may be `data`, but not overlap it in another way.
/// What is decrypted is **not to be used, shown or written anywhere** before manylane_gcm_stream_verify() says
/// that it is the message. With MANYLANE_VERIFY there is no output: `out` must be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_gcm_stream_update(
    stream: *mut manylane_gcm_stream,
    data: *const c_void,
    len: usize,
    out: *mut u8,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            exclusive(stream, |stream| {
                let before = stream.message.as_ref().ok_or(FINISHED)?;
                // A part that is refused is no part of the message, and nothing is written.
                let after = stream.len.checked_add(len as u64);
                let after = after.filter(|&after| after <= gcm::MAX_MESSAGE_LEN).ok_or(
                    Error::DataLength("GCM takes at most 2^36 - 32 bytes under one nonce"),
                )?;
                if stream.direction == Way::Verify && !out.is_null() {
                    return Err(Failure::argument("an output, where nothing is decrypted"));
                }
                let before = before.clone();
                let message = match stream.direction {
                    Way::Encrypt => {
                        let mut message = stream.key.resume_encryptor(before);
                        message.update(moved(data, len, out)?)?;
                        message.suspend()
                    }
                    Way::Decrypt => {
                        let mut message = stream.key.resume_decryptor(before);
                        message.update(moved(data, len, out)?)?;
                        message.suspend()
                    }
                    Way::Verify => {
                        let mut message = stream.key.resume_verifier(before);
                        message.update(bytes(data, len)?)?;
                        message.suspend()
                    }
                };
                (stream.message, stream.len) = (Some(message), after);
                Ok(())
            })
        }
    })
}

/// The end of a message that was encrypted: its tag, of the key's length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_gcm_stream_tag(
    stream: *mut manylane_gcm_stream,
    tag: *mut u8,
    tag_len: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            exclusive(stream, |stream| {
                if stream.direction != Way::Encrypt {
                    return Err(Failure::state("a message that is decrypted is given its tag"));
                }
                if tag_len != stream.key.tag_len() {
                    return Err(Error::TagLength(tag_len).into());
                }
                let tag = bytes_mut(tag, tag_len)?;
                let message = stream.message.take().ok_or(FINISHED)?;
                tag.copy_from_slice(stream.key.resume_encryptor(message).finalize().as_ref());
                Ok(())
            })
        }
    })
}

/// The end of a message that was decrypted or verified: whether the tag is its. If not, the status is
/// MANYLANE_ERROR_DECRYPTION, and all that was decrypted is to be wiped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_gcm_stream_verify(
    stream: *mut manylane_gcm_stream,
    tag: *const c_void,
    tag_len: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let tag = bytes(tag, tag_len)?;
            exclusive(stream, |stream| {
                if stream.direction == Way::Encrypt {
                    return Err(Failure::state("a message that is encrypted has no tag yet"));
                }
                let message = stream.message.take().ok_or(FINISHED)?;
                match stream.direction {
                    Way::Verify => Ok(stream.key.resume_verifier(message).finalize(tag)?),
                    _ => Ok(stream.key.resume_decryptor(message).finalize(tag)?),
                }
            })
        }
    })
}

/// Frees a stream, and wipes what it held. Null is left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_gcm_stream_free(stream: *mut manylane_gcm_stream) {
    // SAFETY: the pointer is the caller's word.
    guard_free(|| unsafe { handle::free(stream) });
}
