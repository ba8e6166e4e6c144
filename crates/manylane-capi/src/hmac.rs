//! Authentication codes and keys derived with them.
#![allow(unsafe_code)] // Functions with C's names, and pointers.

use core::ffi::{c_char, c_int, c_void};

use ::manylane_engine::Function;
use manylane::{Error, hash::Hasher, sm3};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroize as _;

use crate::{
    engine::manylane_engine,
    handle::{self, Opaque, exclusive},
    hash::choose,
    memory::{Output, bytes, bytes_mut, check_apart},
    messages::{check_apart_from, manylane_messages, resolve},
    status::{FINISHED, Failure, LENGTH, MANY, Result, SYMMETRIC, guard, guard_free, guard_secret},
};

/// A message whose HMAC is computed piece by piece.
pub struct manylane_hmac {
    _opaque: (),
}

impl Opaque for manylane_hmac {
    type State = Stream;
    const KIND: u64 = 2;
}

#[derive(Clone)]
pub(crate) struct Stream {
    function: Function,
    len: usize,
    hasher: Option<Hasher>,
}

impl Stream {
    /// # Safety
    /// `algorithm` is null or text.
    unsafe fn new(algorithm: *const c_char, key: &[u8]) -> Result<Self> {
        // SAFETY: the caller's word.
        let algorithm = unsafe { choose(algorithm, 0) }?.0;
        if !algorithm.has_hmac() {
            return Err(Failure::name(format!("there is no HMAC with {algorithm}")));
        }
        let function = Function::hmac(algorithm, key);
        let hasher = Some(function.hasher());
        Ok(Stream { function, len: algorithm.digest_len(), hasher })
    }

    /// The code, by `take`.
    fn finish<R>(&mut self, take: impl FnOnce(&[u8]) -> R) -> Result<R> {
        let hasher = self.hasher.take().ok_or(FINISHED)?;
        let mut code = self.function.finish(hasher.finish());
        let result = take(&code);
        code.zeroize();
        Ok(result)
    }
}

/// Begins a message under a key of any length. There is HMAC with every hash function of one digest length, "sm3" and
/// "sha3-256" among them. Free the handle with manylane_hmac_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hmac_new(
    hmac: *mut *mut manylane_hmac,
    algorithm: *const c_char,
    key: *const c_void,
    key_len: usize,
) -> c_int {
    guard_secret::<SYMMETRIC>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(hmac)?;
            handle::put(hmac, Stream::new(algorithm, bytes(key, key_len)?)?)
        }
    })
}

/// Goes on over `len` bytes of the message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hmac_update(
    hmac: *mut manylane_hmac,
    data: *const c_void,
    len: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let data = bytes(data, len)?;
            exclusive(hmac, |stream| {
                stream.hasher.as_mut().ok_or(FINISHED)?.update(data);
                Ok(())
            })
        }
    })
}

/// The code, as long as a digest, after which the handle takes nothing more until manylane_hmac_reset().
/// `*code_len` is the room on entry, and then the bytes written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hmac_finish(
    hmac: *mut manylane_hmac,
    code: *mut u8,
    code_len: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let out = Output::new(code, code_len)?;
            exclusive(hmac, |stream| {
                out.check(stream.len)?;
                stream.finish(|code| out.put(code))?
            })
        }
    })
}

/// Finishes, and compares with a code in constant time: MANYLANE_OK if it is the message's, otherwise
/// MANYLANE_ERROR_SIGNATURE. A code that was cut is another.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hmac_verify(
    hmac: *mut manylane_hmac,
    code: *const c_void,
    code_len: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let code = bytes(code, code_len)?;
            let is_it = exclusive(hmac, |stream| stream.finish(|own| bool::from(own.ct_eq(code))))?;
            if is_it { Ok(()) } else { Err(Error::Signature.into()) }
        }
    })
}

/// Begins another message under the same key, whatever was done with the one before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hmac_reset(hmac: *mut manylane_hmac) -> c_int {
    guard(|| {
        // SAFETY: the pointer is the caller's word.
        unsafe {
            exclusive(hmac, |stream| {
                stream.hasher = Some(stream.function.hasher());
                Ok(())
            })
        }
    })
}

/// A second handle that goes on from where this one is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hmac_clone(
    hmac: *mut manylane_hmac,
    clone: *mut *mut manylane_hmac,
) -> c_int {
    guard_secret::<SYMMETRIC>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(clone)?;
            let stream = exclusive(hmac, |stream| Ok(stream.clone()))?;
            handle::put(clone, stream)
        }
    })
}

/// Frees a handle, and wipes what it held. Null is left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hmac_free(hmac: *mut manylane_hmac) {
    // SAFETY: the pointer is the caller's word.
    guard_free(|| unsafe { handle::free(hmac) });
}

/// HMAC of one message in memory. `*code_len` is the room on entry, and then the bytes written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hmac_once(
    algorithm: *const c_char,
    key: *const c_void,
    key_len: usize,
    data: *const c_void,
    len: usize,
    code: *mut u8,
    code_len: *mut usize,
) -> c_int {
    guard_secret::<SYMMETRIC>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let out = Output::new(code, code_len)?;
            let data = bytes(data, len)?;
            let mut stream = Stream::new(algorithm, bytes(key, key_len)?)?;
            out.check(stream.len)?;
            stream.hasher.as_mut().ok_or(FINISHED)?.update(data);
            stream.finish(|code| out.put(code))?
        }
    })
}

/// HMAC-SM3 of many messages, each under its own key, 32 bytes each one after another in `out`, whose length
/// `out_len` must be theirs in all. `engine` as for manylane_hash_many(). `out` may overlap neither keys nor
/// messages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hmac_sm3_many(
    engine: *const manylane_engine,
    keys: *const manylane_messages,
    messages: *const manylane_messages,
    out: *mut u8,
    out_len: usize,
) -> c_int {
    guard_secret::<MANY>(|| {
        let (mut key_list, mut list) = (Vec::new(), Vec::new());
        // SAFETY: the pointers are the caller's word; the output is a slice once it is known to be apart.
        unsafe {
            let engine = crate::engine::of(engine)?;
            let (given_keys, given) = (keys, messages);
            let keys = resolve(given_keys, &mut key_list)?;
            let messages = resolve(given, &mut list)?;
            let needed = messages.len().checked_mul(32).ok_or(LENGTH)?;
            if out_len != needed {
                return Err(Error::OutputLength { expected: needed, got: out_len }.into());
            }
            check_apart_from((out, out_len), given_keys, &keys)?;
            check_apart_from((out, out_len), given, &messages)?;
            let out = bytes_mut(out, out_len)?.as_chunks_mut().0;
            match engine {
                Some(engine) => engine.hmac_many(&keys, &messages, out)?,
                None => sm3::hmac_many(&keys, &messages, out)?,
            }
        }
        Ok(())
    })
}

/// HKDF (RFC 5869) with HMAC-SM3: fills `out` with at most 8160 bytes of key from the secret `ikm`. `salt` and
/// `info` may be empty. `out` may overlap no input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hkdf_sm3(
    ikm: *const c_void,
    ikm_len: usize,
    salt: *const c_void,
    salt_len: usize,
    info: *const c_void,
    info_len: usize,
    out: *mut u8,
    out_len: usize,
) -> c_int {
    guard_secret::<SYMMETRIC>(|| {
        for input in [(ikm, ikm_len), (salt, salt_len), (info, info_len)] {
            check_apart((out, out_len), input)?;
        }
        // SAFETY: the pointers are the caller's word.
        let (ikm, salt, info, out) = unsafe {
            (
                bytes(ikm, ikm_len)?,
                bytes(salt, salt_len)?,
                bytes(info, info_len)?,
                bytes_mut(out, out_len)?,
            )
        };
        let too_long = |_| Failure::argument("HKDF with SM3 gives 8160 bytes at most");
        sm3::HkdfSm3::new(Some(salt), ikm).expand(info, out).map_err(too_long)
    })
}

/// PBKDF2 (RFC 8018) with HMAC-SM3: fills `out` from a password, with at least one iteration. `out` may overlap
/// no input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_pbkdf2_sm3(
    password: *const c_void,
    password_len: usize,
    salt: *const c_void,
    salt_len: usize,
    iterations: u32,
    out: *mut u8,
    out_len: usize,
) -> c_int {
    guard_secret::<SYMMETRIC>(|| {
        for input in [(password, password_len), (salt, salt_len)] {
            check_apart((out, out_len), input)?;
        }
        if iterations == 0 {
            return Err(Failure::argument("PBKDF2 with no iterations"));
        }
        if out_len as u64 > 32 * u64::from(u32::MAX) {
            return Err(LENGTH);
        }
        // SAFETY: the pointers are the caller's word.
        let (password, salt, out) = unsafe {
            (bytes(password, password_len)?, bytes(salt, salt_len)?, bytes_mut(out, out_len)?)
        };
        sm3::pbkdf2(password, salt, iterations, out);
        Ok(())
    })
}

/// Whether two strings of bytes of one length are equal: 1 or 0, in a time that depends on the length alone. Null or
/// impossible lengths are not equal, but two empty strings are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_equal(a: *const c_void, b: *const c_void, len: usize) -> c_int {
    let mut equal = false;
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        let (a, b) = unsafe { (bytes(a, len)?, bytes(b, len)?) };
        equal = a.ct_eq(b).into();
        Ok(())
    });
    c_int::from(equal)
}
