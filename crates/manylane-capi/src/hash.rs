//! Hash functions by their names.
#![allow(unsafe_code)] // Functions with C's names, and pointers.

use core::ffi::{c_char, c_int, c_void};
use std::ffi::CString;
use std::sync::OnceLock;

use manylane::hash::{Algorithm, Hasher, Midstate};

use crate::{
    engine::manylane_engine,
    handle::{self, Opaque, exclusive},
    memory::{Output, bytes, bytes_mut, name, put},
    messages::{check_apart_from, manylane_messages, resolve},
    status::{FINISHED, Failure, LENGTH, Result, guard, guard_free},
};

/// A message that is hashed piece by piece.
pub struct manylane_hash {
    _opaque: (),
}

impl Opaque for manylane_hash {
    type State = Stream;
    const KIND: u64 = 1;
}

#[derive(Clone)]
pub(crate) struct Stream {
    algorithm: Algorithm,
    digest_len: usize,
    /// None once the digest was taken.
    hasher: Option<Hasher>,
}

/// A function and a length of its digests: 0 stands for the usual one.
///
/// # Safety
/// `algorithm` is null or text.
pub(crate) unsafe fn choose(
    algorithm: *const c_char,
    digest_len: usize,
) -> Result<(Algorithm, usize)> {
    // SAFETY: the caller's word.
    let algorithm = unsafe { name(algorithm) }?;
    let algorithm: Algorithm = algorithm.to_ascii_lowercase().parse().map_err(Failure::name)?;
    match digest_len {
        0 => Ok((algorithm, algorithm.digest_len())),
        len if len == algorithm.digest_len() => Ok((algorithm, len)),
        len if algorithm.is_xof() && len <= isize::MAX as usize => Ok((algorithm, len)),
        len => Err(Failure::argument(format!("{algorithm} has no digests of {len} bytes"))),
    }
}

/// The name of the hash function with that index, counted from 0: "sm3", "sha3-256" and so on; null past the last.
#[unsafe(no_mangle)]
pub extern "C" fn manylane_hash_name(index: usize) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let text = |algorithm: &Algorithm| CString::new(algorithm.name()).expect("a name");
    let names = NAMES.get_or_init(|| Algorithm::ALL.iter().map(text).collect());
    names.get(index).map_or(core::ptr::null(), |name| name.as_ptr())
}

/// Bytes of a digest of the named function; of one with digests of any length (SHAKE, TurboSHAKE, KT), the usual
/// length, 32 or 64.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hash_len(
    algorithm: *const c_char,
    digest_len: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe { put(digest_len, choose(algorithm, 0)?.1) }
    })
}

/// Begins a message. `digest_len` is 0 for digests of the usual length; functions with digests of any length take
/// any other too. Free the handle with manylane_hash_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hash_new(
    hash: *mut *mut manylane_hash,
    algorithm: *const c_char,
    digest_len: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(hash)?;
            let (algorithm, digest_len) = choose(algorithm, digest_len)?;
            let hasher = Some(Hasher::with_digest_len(algorithm, digest_len));
            handle::put(hash, Stream { algorithm, digest_len, hasher })
        }
    })
}

/// Goes on over `len` bytes of the message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hash_update(
    hash: *mut manylane_hash,
    data: *const c_void,
    len: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let data = bytes(data, len)?;
            exclusive(hash, |stream| {
                stream.hasher.as_mut().ok_or(FINISHED)?.update(data);
                Ok(())
            })
        }
    })
}

/// The digest, after which the handle takes nothing more until manylane_hash_reset(). `*digest_len` is the room on
/// entry, and then the bytes written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hash_finish(
    hash: *mut manylane_hash,
    digest: *mut u8,
    digest_len: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let out = Output::new(digest, digest_len)?;
            exclusive(hash, |stream| {
                out.check(stream.digest_len)?;
                let hasher = stream.hasher.take().ok_or(FINISHED)?;
                out.fill(stream.digest_len, |out| hasher.finish_into(out))
            })
        }
    })
}

/// Begins another message of the same function, whatever was done with the one before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hash_reset(hash: *mut manylane_hash) -> c_int {
    guard(|| {
        // SAFETY: the pointer is the caller's word.
        unsafe {
            exclusive(hash, |stream| {
                stream.hasher = Some(Hasher::with_digest_len(stream.algorithm, stream.digest_len));
                Ok(())
            })
        }
    })
}

/// A second handle that goes on from where this one is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hash_clone(
    hash: *mut manylane_hash,
    clone: *mut *mut manylane_hash,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(clone)?;
            let stream = exclusive(hash, |stream| Ok(stream.clone()))?;
            handle::put(clone, stream)
        }
    })
}

/// Bytes of the digest that manylane_hash_finish() will write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hash_digest_len(
    hash: *mut manylane_hash,
    digest_len: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe { exclusive(hash, |stream| put(digest_len, stream.digest_len)) }
    })
}

/// Frees a handle, and wipes what it held. Null is left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hash_free(hash: *mut manylane_hash) {
    // SAFETY: the pointer is the caller's word.
    guard_free(|| unsafe { handle::free(hash) });
}

/// The digest of one message in memory, of the usual length. `*digest_len` is the room on entry, and then the
/// bytes written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hash_once(
    algorithm: *const c_char,
    data: *const c_void,
    len: usize,
    digest: *mut u8,
    digest_len: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        let (out, algorithm, data) = unsafe {
            let out = Output::new(digest, digest_len)?;
            (out, choose(algorithm, 0)?.0, bytes(data, len)?)
        };
        out.check(algorithm.digest_len())?;
        out.put(&manylane::hash::hash(algorithm, data))
    })
}

/// The digests of many messages, one after another in `out`, whose length `out_len` must be theirs in all.
///
/// `engine` says on which threads and devices; null means on the calling thread alone. `digest_len` is 0 for
/// digests of the usual length. `out` may overlap neither the messages nor what says where they are. Messages of
/// "kt128" and "kt256" are worked on one after another. Page-locked messages are read by GPUs where they are: should
/// a GPU hang, it may still read them when this has returned, so they must stay mapped as long as the process lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_hash_many(
    engine: *const manylane_engine,
    algorithm: *const c_char,
    digest_len: usize,
    messages: *const manylane_messages,
    out: *mut u8,
    out_len: usize,
) -> c_int {
    guard(|| {
        let mut list = Vec::new();
        // SAFETY: the pointers are the caller's word; the output is a slice once it is known to be apart.
        unsafe {
            let engine = crate::engine::of(engine)?;
            let (algorithm, len) = choose(algorithm, digest_len)?;
            let given = messages;
            let messages = resolve(given, &mut list)?;
            let needed = messages.len().checked_mul(len).ok_or(LENGTH)?;
            if out_len != needed {
                return Err(manylane::Error::OutputLength { expected: needed, got: out_len }.into());
            }
            check_apart_from((out, out_len), given, &messages)?;
            let out = bytes_mut(out, out_len)?;
            if algorithm.is_tree() {
                // A tree has no midstate that many messages start from: each is a message by itself.
                for (i, out) in out.chunks_exact_mut(len).enumerate() {
                    match engine {
                        Some(engine) if len == algorithm.digest_len() => {
                            out.copy_from_slice(&engine.hash(algorithm, messages.get(i)));
                        }
                        _ => {
                            let mut hasher = Hasher::with_digest_len(algorithm, len);
                            hasher.update(messages.get(i));
                            hasher.finish_into(out);
                        }
                    }
                }
                return Ok(());
            }
            let start = Midstate::with_digest_len(algorithm, len);
            match engine {
                Some(engine) => engine.hash_many(&start, &messages, out)?,
                None => manylane::hash::hash_many(&start, &messages, out)?,
            }
        }
        Ok(())
    })
}
