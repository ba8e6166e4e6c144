//! XTS: sectors of a disk, encrypted where they lie.
#![allow(unsafe_code)] // Functions with C's names, and pointers.

use core::ffi::{c_char, c_int, c_void};

use manylane::{
    Error,
    block::{
        TweakOrder, Xts,
        any::{Algorithm, AnyCipher, Direction},
        xts,
    },
};
use zeroize::Zeroize as _;

use crate::{
    cipher::{direction, moved, split_name},
    handle::{self, Opaque, shared},
    memory::{array, bytes, name},
    status::{Failure, Result, SYMMETRIC, guard, guard_free, guard_secret},
};

/// How XTS multiplies the tweak from block to block.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum manylane_xts_order {
    /// IEEE 1619, NIST SP 800-38E: what AES-XTS is everywhere.
    MANYLANE_XTS_IEEE = 0,
    /// GB/T 17964-2021: what SM4-XTS is in that standard.
    MANYLANE_XTS_GB = 1,
}

/// A pair of keys of XTS. Any number of threads may use one handle at a time.
pub struct manylane_xts {
    _opaque: (),
}

impl Opaque for manylane_xts {
    type State = Xts<AnyCipher>;
    const KIND: u64 = 7;
}

/// Makes a pair of keys: `key` is the data's key and the tweak's, one after the other. `algorithm` is "sm4-xts",
/// "aes-128-xts" or "aes-256-xts", `order` one of `manylane_xts_order`. Halves that are the same are
/// MANYLANE_ERROR_WEAK_KEY. Free the handle with manylane_xts_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_xts_new(
    xts: *mut *mut manylane_xts,
    algorithm: *const c_char,
    order: c_int,
    key: *const c_void,
    key_len: usize,
) -> c_int {
    guard_secret::<SYMMETRIC>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(xts)?;
            let text = name(algorithm)?;
            let (algorithm, mode) = split_name(&text)?;
            if !mode.eq_ignore_ascii_case("xts") {
                return Err(Failure::name(format!("'{mode}' is not the mode xts")));
            }
            check_cipher(algorithm)?;
            let order = match order {
                0 => TweakOrder::Ieee,
                1 if algorithm != Algorithm::Sm4 => {
                    return Err(Failure::argument("GB/T 17964 has XTS of SM4 alone"));
                }
                1 => TweakOrder::Gb,
                other => return Err(Failure::argument(format!("{other} is no order of tweaks"))),
            };
            handle::put(xts, AnyCipher::xts(algorithm, bytes(key, key_len)?, order)?)
        }
    })
}

/// Frees a handle, and wipes its keys. Null is left alone. No call may be using it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_xts_free(xts: *mut manylane_xts) {
    // SAFETY: the pointer is the caller's word.
    guard_free(|| unsafe { handle::free(xts) });
}

/// Encrypts or decrypts one data unit of at least 16 bytes, into as many at `out`, which may be `data`, but not
/// overlap it in another way. `tweak` has 16 bytes: the number of a sector as a little-endian number.
/// `direction` is one of `manylane_direction`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_xts_crypt(
    xts: *const manylane_xts,
    direction: c_int,
    tweak: *const u8,
    data: *const c_void,
    len: usize,
    out: *mut u8,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word. The tweak is copied, so it may lie anywhere.
        unsafe {
            let (xts, tweak) = (shared(xts)?, *array(tweak)?);
            let direction = self::direction(direction)?;
            check_unit(len)?;
            crypt(data, len, out, |data| match direction {
                Direction::Encrypt => xts.encrypt(&tweak, data),
                Direction::Decrypt => xts.decrypt(&tweak, data),
            })
        }
    })
}

/// The same for data units of `unit_len` bytes, one after another, whose tweaks are the numbers `first`, `first
/// + 1` and so on: sectors of a disk. The last may be shorter, down to 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_xts_crypt_units(
    xts: *const manylane_xts,
    direction: c_int,
    first: u64,
    unit_len: usize,
    data: *const c_void,
    len: usize,
    out: *mut u8,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let xts = shared(xts)?;
            let (direction, first) = (self::direction(direction)?, u128::from(first));
            check_unit(unit_len)?;
            if !len.is_multiple_of(unit_len) {
                check_unit(len % unit_len)?;
            }
            crypt(data, len, out, |data| match direction {
                Direction::Encrypt => xts.encrypt_units(first, unit_len, data),
                Direction::Decrypt => xts.decrypt_units(first, unit_len, data),
            })
        }
    })
}

/// There is AES-XTS with two keys of 128 or of 256 bits, and none between.
pub(crate) fn check_cipher(algorithm: Algorithm) -> Result {
    match algorithm {
        Algorithm::Aes192 => Err(Failure::name("no standard has XTS of AES-192")),
        _ => Ok(()),
    }
}

/// What XTS refuses, before anything is copied to the output.
fn check_unit(len: usize) -> Result {
    match len {
        xts::MIN_UNIT_LEN..=xts::MAX_UNIT_LEN => Ok(()),
        _ => Err(Error::DataLength("a data unit of XTS has 16 to 16777216 bytes").into()),
    }
}

/// # Safety
/// As of [`moved`].
unsafe fn crypt(
    data: *const c_void,
    len: usize,
    out: *mut u8,
    work: impl FnOnce(&mut [u8]) -> std::result::Result<(), manylane::Error>,
) -> Result {
    let is_copy = out.cast_const().cast() != data;
    // SAFETY: the caller's word.
    let data = unsafe { moved(data, len, out) }?;
    // What was refused is as it was, and is not to be left in another place.
    let done = work(data).inspect_err(|_| {
        if is_copy {
            data.zeroize();
        }
    });
    Ok(done?)
}
