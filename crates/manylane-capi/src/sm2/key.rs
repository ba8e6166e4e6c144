//! Keys of SM2, and their forms.
#![allow(unsafe_code)] // Functions with C's names, and pointers.

use core::ffi::{c_int, c_void};

use manylane::sm2::{KeyCipher, KeyEncryption, Prf, PublicKey, SecretKey};

use crate::{
    handle::{self, Opaque, shared},
    memory::{Output, bytes, put_array},
    status::{Failure, NULL, Result, SM2, guard, guard_free, guard_secret},
};

/// Forms of keys.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum manylane_sm2_form {
    /// A secret key: the number d, 32 bytes big-endian. A public key: the point, 04 and x and y, 65 bytes.
    MANYLANE_SM2_RAW = 0,
    /// A public key as a compressed point: 02 or 03 and x, 33 bytes.
    MANYLANE_SM2_COMPRESSED = 1,
    /// The raw form in hexadecimal digits, without a zero byte at the end.
    MANYLANE_SM2_HEX = 2,
    /// DER: PKCS #8 of a secret key, SubjectPublicKeyInfo of a public one.
    MANYLANE_SM2_DER = 3,
    /// The same in PEM, without a zero byte at the end.
    MANYLANE_SM2_PEM = 4,
    /// A secret key in SEC 1's DER (RFC 5915).
    MANYLANE_SM2_SEC1_DER = 5,
    /// The same in PEM, without a zero byte at the end.
    MANYLANE_SM2_SEC1_PEM = 6,
}

/// How a secret key is encrypted under a password, as PBES2 of RFC 8018.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum manylane_sm2_kdf {
    /// HMAC-SM3 and SM4-CBC: what GmSSL and Tongsuo read.
    MANYLANE_SM2_KDF_SM3 = 0,
    /// HMAC-SHA-256 and AES-256-CBC: what OpenSSL reads.
    MANYLANE_SM2_KDF_SHA256 = 1,
}

/// A secret key of SM2. Any number of threads may use one handle at a time.
pub struct manylane_sm2_key {
    _opaque: (),
}

impl Opaque for manylane_sm2_key {
    type State = SecretKey;
    const KIND: u64 = 8;
}

/// A public key of SM2. Any number of threads may use one handle at a time.
pub struct manylane_sm2_public {
    _opaque: (),
}

impl Opaque for manylane_sm2_public {
    type State = PublicKey;
    const KIND: u64 = 9;
}

/// Room that an encrypted key needs at most: the same for all of them, so that asking for it takes no time.
const ENCRYPTED_ROOM: usize = 512;

/// Draws a secret key from the operating system's generator. Free the handle with manylane_sm2_key_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_key_generate(key: *mut *mut manylane_sm2_key) -> c_int {
    guard_secret::<SM2>(|| {
        // SAFETY: the pointer is the caller's word.
        unsafe {
            handle::clear(key)?;
            handle::put(key, SecretKey::generate()?)
        }
    })
}

/// The secret key that is the number `d`: 32 bytes, big-endian. Free the handle with manylane_sm2_key_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_key_from_bytes(
    key: *mut *mut manylane_sm2_key,
    d: *const c_void,
    len: usize,
) -> c_int {
    guard_secret::<SM2>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(key)?;
            let d = bytes(d, len)?.as_array().ok_or(manylane::Error::Key)?;
            handle::put(key, SecretKey::from_bytes(d)?)
        }
    })
}

/// Reads a secret key in whatever form it is: PKCS #8, encrypted or not, or SEC 1, in DER or PEM, or 64
/// hexadecimal digits. The number d alone is for manylane_sm2_key_from_bytes(), for every 32 bytes are one. `password` may be null, with the length 0, if there is
/// none: a key that is encrypted is then MANYLANE_ERROR_PASSWORD_NEEDED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_key_decode(
    key: *mut *mut manylane_sm2_key,
    data: *const c_void,
    len: usize,
    password: *const c_void,
    password_len: usize,
) -> c_int {
    guard_secret::<SM2>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(key)?;
            let data = bytes(data, len)?;
            let password = match password.is_null() && password_len == 0 {
                true => None,
                false => Some(bytes(password, password_len)?),
            };
            handle::put(key, SecretKey::decode(data, password)?)
        }
    })
}

/// Writes a secret key, unencrypted, in one of the forms of `manylane_sm2_form`; the compressed one has only
/// public keys. `*len` is the room on entry, and then the bytes written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_key_encode(
    key: *const manylane_sm2_key,
    form: c_int,
    out: *mut u8,
    len: *mut usize,
) -> c_int {
    guard_secret::<SM2>(|| {
        // SAFETY: the pointers are the caller's word.
        let (out, key) = unsafe { (Output::new(out, len)?, shared(key)?) };
        match form {
            0 => out.put(&key.to_bytes()[..]),
            2 => out.put(key.to_hex().as_bytes()),
            3 => out.put(&key.to_pkcs8_der()),
            4 => out.put(key.to_pkcs8_pem().as_bytes()),
            5 => out.put(&key.to_sec1_der()),
            6 => out.put(key.to_sec1_pem().as_bytes()),
            other => Err(no_form(other)),
        }
    })
}

/// Writes a secret key encrypted under a password: PKCS #8, in MANYLANE_SM2_DER or MANYLANE_SM2_PEM. `kdf` is
/// one of `manylane_sm2_kdf`; `iterations` of PBKDF2 are 1 to 10,000,000, or 0 for the usual 600,000, which
/// take some tenths of a second. The password may not be empty. `*len` is the room on entry, which must be 512 bytes, and then the bytes
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_key_encrypt(
    key: *const manylane_sm2_key,
    form: c_int,
    kdf: c_int,
    iterations: u32,
    password: *const c_void,
    password_len: usize,
    out: *mut u8,
    len: *mut usize,
) -> c_int {
    guard_secret::<SM2>(|| {
        let password_ptr = password;
        // SAFETY: the pointers are the caller's word.
        let (out, key, password) =
            unsafe { (Output::new(out, len)?, shared(key)?, bytes(password, password_len)?) };
        let encryption = match kdf {
            0 => KeyEncryption::new(Prf::HmacSm3, KeyCipher::Sm4Cbc),
            1 => KeyEncryption::new(Prf::HmacSha256, KeyCipher::Aes256Cbc),
            other => return Err(Failure::argument(format!("{other} encrypts no keys"))),
        };
        let encryption = match iterations {
            0 => encryption,
            iterations => encryption
                .with_iterations(iterations)
                .map_err(|_| Failure::argument(format!("{iterations} iterations of PBKDF2")))?,
        };
        // What is to keep nobody out is more likely a password that was not read.
        if password_ptr.is_null() {
            return Err(NULL);
        }
        if password.is_empty() {
            return Err(Failure::argument("an empty password"));
        }
        if !matches!(form, 3 | 4) {
            return Err(no_form(form));
        }
        out.check(ENCRYPTED_ROOM)?;
        match form {
            3 => out.put(&key.to_encrypted_pkcs8_der(password, &encryption)?),
            _ => out.put(key.to_encrypted_pkcs8_pem(password, &encryption)?.as_bytes()),
        }
    })
}

fn no_form(form: c_int) -> Failure {
    Failure::argument(format!("{form} is no form of such a key"))
}

/// The public key of a secret one, as a handle of its own. Free it with manylane_sm2_public_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_key_public(
    key: *const manylane_sm2_key,
    public_key: *mut *mut manylane_sm2_public,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(public_key)?;
            handle::put(public_key, *shared(key)?.public_key())
        }
    })
}

/// Frees a secret key, and wipes it. Null is left alone. No call may be using it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_key_free(key: *mut manylane_sm2_key) {
    // SAFETY: the pointer is the caller's word.
    guard_free(|| unsafe { handle::free(key) });
}

/// Reads a public key in whatever form it is: a point, with or without 04 or compressed, SubjectPublicKeyInfo
/// or a certificate, in DER or PEM, or hexadecimal digits. Of a certificate nothing but the key is looked at:
/// it is not verified.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_public_decode(
    public_key: *mut *mut manylane_sm2_public,
    data: *const c_void,
    len: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(public_key)?;
            handle::put(public_key, PublicKey::decode(bytes(data, len)?)?)
        }
    })
}

/// Writes a public key in one of the forms of `manylane_sm2_form`; those of SEC 1 have only secret keys. `*len`
/// is the room on entry, and then the bytes written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_public_encode(
    public_key: *const manylane_sm2_public,
    form: c_int,
    out: *mut u8,
    len: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        let (out, key) = unsafe { (Output::new(out, len)?, shared(public_key)?) };
        match form {
            0 => out.put(&key.to_sec1_bytes()),
            1 => out.put(&key.to_compressed()),
            2 => out.put(key.to_hex().as_bytes()),
            3 => out.put(&key.to_spki_der()),
            4 => out.put(key.to_pem().as_bytes()),
            other => Err(no_form(other)),
        }
    })
}

/// Whether two public keys are the same: 1 or 0. What is no handle is the same as nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_public_equal(
    a: *const manylane_sm2_public,
    b: *const manylane_sm2_public,
) -> c_int {
    let mut equal = false;
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        equal = unsafe { shared(a)? == shared(b)? };
        Ok(())
    });
    c_int::from(equal)
}

/// Frees a public key. Null is left alone. No call may be using it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_public_free(public_key: *mut manylane_sm2_public) {
    // SAFETY: the pointer is the caller's word.
    guard_free(|| unsafe { handle::free(public_key) });
}

/// Plain Diffie-Hellman: x of the shared point, 32 bytes, without any proof of who the other side is. It is no
/// key by itself; derive one from it, for example with manylane_hkdf_sm3().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_sm2_diffie_hellman(
    key: *const manylane_sm2_key,
    peer: *const manylane_sm2_public,
    out: *mut u8,
) -> c_int {
    guard_secret::<SM2>(|| -> Result {
        // SAFETY: the pointers are the caller's word.
        unsafe { put_array(out, &shared(key)?.diffie_hellman(shared(peer)?)) }
    })
}
