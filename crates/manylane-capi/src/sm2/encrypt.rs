//! Encryption with SM2.
#![allow(unsafe_code)] // Functions with C's names, and pointers.

use core::ffi::{c_int, c_void};

use manylane::{
    Error,
    sm2::{self, Ciphertext, CiphertextForm, Sealed},
};

use super::key::{manylane_sm2_key, manylane_sm2_public};
use crate::{
    handle::shared,
    memory::{Output, bytes, bytes_mut, check_apart, slice},
    messages::room_for,
    status::{Failure, LENGTH, MANY, NULL, OVERLAP, Result, SM2, guard_secret, manylane_status},
};

/// Forms of ciphertexts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum manylane_sm2_ciphertext {
    /// SM2Cipher of GM/T 0009 in DER: what OpenSSL and GmSSL write.
    MANYLANE_SM2_ASN1 = 0,
    /// C1, beginning with 04, C3 and C2: gmsm and BouncyCastle.
    MANYLANE_SM2_C1C3C2 = 1,
    /// C1, beginning with 04, C2 and C3: the old order.
    MANYLANE_SM2_C1C2C3 = 2,
    /// C1 without 04, C3 and C2: sm-crypto for JavaScript.
    MANYLANE_SM2_C1C3C2_BARE = 3,
    /// C1 without 04, C2 and C3.
    MANYLANE_SM2_C1C2C3_BARE = 4,
}

fn form(number: c_int) -> Result<CiphertextForm> {
    Ok(match number {
        0 => CiphertextForm::Asn1,
        1 => CiphertextForm::C1C3C2 { prefix: true },
        2 => CiphertextForm::C1C2C3 { prefix: true },
        3 => CiphertextForm::C1C3C2 { prefix: false },
        4 => CiphertextForm::C1C2C3 { prefix: false },
        other => return Err(Failure::argument(format!("{other} is no form of ciphertexts"))),
    })
}

/// Encrypts a message of 1 byte or more. `form` is one of `manylane_sm2_ciphertext`. `*len` is the room on
/// entry, and then the bytes written: 96 or 97 more than the message, and with MANYLANE_SM2_ASN1 up to 118
/// more. GmSSL decrypts at most 255 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_encrypt(
    public_key: *const manylane_sm2_public,
    form: c_int,
    message: *const c_void,
    message_len: usize,
    out: *mut u8,
    len: *mut usize,
) -> c_int {
    guard_secret::<SM2>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let out = Output::new(out, len)?;
            let (key, form) = (shared(public_key)?, self::form(form)?);
            // Every C1 is another: the room is that of the longest, both of whose numbers begin with a one.
            let longest = form.encoded_len(&[0xff; 65], message_len as u64)?;
            out.check(usize::try_from(longest).map_err(|_| LENGTH)?)?;
            out.put(&key.encrypt(form, bytes(message, message_len)?)?)
        }
    })
}

/// Decrypts a ciphertext of that form. `*len` is the room on entry, and then the bytes written. Whatever is
/// wrong with a ciphertext is MANYLANE_ERROR_DECRYPTION, and nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_decrypt(
    key: *const manylane_sm2_key,
    form: c_int,
    ciphertext: *const c_void,
    ciphertext_len: usize,
    out: *mut u8,
    len: *mut usize,
) -> c_int {
    guard_secret::<SM2>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let out = Output::new(out, len)?;
            let (key, form) = (shared(key)?, self::form(form)?);
            let ciphertext = bytes(ciphertext, ciphertext_len)?;
            let parts = Ciphertext::parse(form, ciphertext).map_err(|_| Error::Decryption)?;
            out.check(parts.c2.len())?;
            out.put(&key.decrypt(form, ciphertext)?)
        }
    })
}

/// The data of many messages, each of which is to be changed where it lies.
///
/// # Safety
/// As of [`bytes_mut`] for each, if they are apart, which this finds out.
unsafe fn many<'a>(
    data: *const *mut u8,
    lens: *const usize,
    count: usize,
) -> Result<Vec<&'a mut [u8]>> {
    // SAFETY: the caller's word.
    let (data, lens) = unsafe { (slice(data, count)?, slice(lens, count)?) };
    let mut places = room_for(count)?;
    for (&data, &len) in data.iter().zip(lens) {
        if len > 0 && data.is_null() {
            return Err(NULL);
        }
        let end = data.addr().checked_add(len).ok_or(LENGTH)?;
        if len > 0 {
            places.push((data.addr(), end));
        }
    }
    places.sort_unstable();
    if places.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        return Err(OVERLAP);
    }
    let mut slices = room_for(count)?;
    for (&data, &len) in data.iter().zip(lens) {
        // SAFETY: no two of them overlap; the rest is the caller's word.
        slices.push(unsafe { bytes_mut(data, len) }?);
    }
    Ok(slices)
}

/// Keys by their handles.
///
/// # Safety
/// As of [`shared`] for each.
unsafe fn keys<'a, H: crate::handle::Opaque<State: Sync>>(
    keys: *const *const H,
    count: usize,
) -> Result<Vec<&'a H::State>> {
    // SAFETY: the caller's word.
    let handles = unsafe { slice(keys, count) }?;
    let mut keys = room_for(count)?;
    for &handle in handles {
        // SAFETY: the caller's word.
        keys.push(unsafe { shared(handle) }?);
    }
    Ok(keys)
}

/// What became of each message, as a status; the first that is none of success, if there is one.
fn put_statuses<T>(results: &[std::result::Result<T, Error>], out: &mut [c_int]) -> Result {
    let mut first = Ok(());
    for (result, out) in results.iter().zip(out) {
        *out = result.as_ref().map_or_else(Error::code, |_| manylane_status::MANYLANE_OK as c_int);
        if let (Err(error), Ok(())) = (result, &first) {
            first = Err(error.clone().into());
        }
    }
    first
}

/// Encrypts many messages where they lie, side by side: `count` messages, message `i` of `lens[i]` bytes at
/// `data[i]` to `keys[i]`, which becomes C2, with C1 of 65 bytes at `c1 + 65 * i` and C3 of 32 bytes at `c3 +
/// 32 * i`. What became of each is `statuses[i]`: one that failed is as it was. Returns the first that is not
/// MANYLANE_OK, if there is one. No two of all these may overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_encrypt_many(
    public_keys: *const *const manylane_sm2_public,
    data: *const *mut u8,
    lens: *const usize,
    count: usize,
    c1: *mut u8,
    c3: *mut u8,
    statuses: *mut c_int,
) -> c_int {
    guard_secret::<MANY>(|| {
        // SAFETY: the pointers are the caller's word; slices of them are apart.
        unsafe {
            let Outputs { c1_len, c3_len } = Outputs::of(count)?;
            let mut data = many(data, lens, count)?;
            let keys = self::keys(public_keys, count)?;
            let statuses_len = check_apart_from_all(statuses, count, &data)?;
            for (out, len) in [(c1, c1_len), (c3, c3_len)] {
                check_apart((out, len), (statuses.cast_const().cast(), statuses_len))?;
                for data in &data {
                    check_apart((out, len), (data.as_ptr().cast(), data.len()))?;
                }
            }
            check_apart((c1, c1_len), (c3.cast_const().cast(), c3_len))?;
            let c1 = bytes_mut(c1, c1_len)?.as_chunks_mut::<65>().0;
            let c3 = bytes_mut(c3, c3_len)?.as_chunks_mut::<32>().0;
            let mut sealed = room_for(count)?;
            sealed.resize(count, Err(Error::Decryption));
            sm2::encrypt_many(&keys, &mut data, &mut sealed)?;
            for (i, sealed) in sealed.iter().enumerate() {
                (c1[i], c3[i]) = match sealed {
                    Ok(sealed) => (sealed.c1, sealed.c3),
                    Err(_) => ([0; 65], [0; 32]),
                };
            }
            put_statuses(&sealed, statuses_of(statuses, count))
        }
    })
}

/// The reverse of manylane_sm2_encrypt_many(): each C2 becomes its message. One that does not decrypt is all
/// zero then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_decrypt_many(
    keys: *const *const manylane_sm2_key,
    data: *const *mut u8,
    lens: *const usize,
    count: usize,
    c1: *const u8,
    c3: *const u8,
    statuses: *mut c_int,
) -> c_int {
    guard_secret::<MANY>(|| {
        // SAFETY: the pointers are the caller's word; slices of them are apart.
        unsafe {
            let Outputs { c1_len, c3_len } = Outputs::of(count)?;
            let mut data = many(data, lens, count)?;
            let keys = self::keys(keys, count)?;
            let statuses_len = check_apart_from_all(statuses, count, &data)?;
            for (input, len) in [(c1, c1_len), (c3, c3_len)] {
                check_apart((statuses.cast(), statuses_len), (input.cast(), len))?;
                for data in &mut data {
                    check_apart((data.as_mut_ptr(), data.len()), (input.cast(), len))?;
                }
            }
            let c1 = bytes(c1.cast(), c1_len)?.as_chunks::<65>().0;
            let c3 = bytes(c3.cast(), c3_len)?.as_chunks::<32>().0;
            let mut sealed = room_for(count)?;
            sealed.extend(c1.iter().zip(c3).map(|(&c1, &c3)| Sealed { c1, c3 }));
            let mut results = room_for(count)?;
            results.resize(count, Err(Error::Decryption));
            sm2::decrypt_many(&keys, &sealed, &mut data, &mut results)?;
            put_statuses(&results, statuses_of(statuses, count))
        }
    })
}

/// Bytes of what goes with so many messages.
struct Outputs {
    c1_len: usize,
    c3_len: usize,
}

impl Outputs {
    fn of(count: usize) -> Result<Self> {
        let times = |len: usize| count.checked_mul(len).ok_or(LENGTH);
        Ok(Outputs { c1_len: times(65)?, c3_len: times(32)? })
    }
}

/// Checks the place for statuses, and says how many bytes it has.
///
/// # Safety
/// As of [`slice`].
unsafe fn check_apart_from_all(
    statuses: *mut c_int,
    count: usize,
    data: &[&mut [u8]],
) -> Result<usize> {
    // SAFETY: the caller's word.
    let len = size_of_val(unsafe { slice(statuses.cast_const(), count) }?);
    for data in data {
        check_apart((statuses.cast(), len), (data.as_ptr().cast(), data.len()))?;
    }
    Ok(len)
}

/// # Safety
/// `statuses` has been checked by [`check_apart_from_all`] with this count, and is apart from all else.
unsafe fn statuses_of<'a>(statuses: *mut c_int, count: usize) -> &'a mut [c_int] {
    if count == 0 {
        return &mut [];
    }
    // SAFETY: not null and aligned, as was checked.
    unsafe { core::slice::from_raw_parts_mut(statuses, count) }
}
