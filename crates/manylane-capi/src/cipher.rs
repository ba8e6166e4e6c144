//! Block ciphers in modes that take a message in parts and authenticate nothing.
#![allow(unsafe_code)] // Functions with C's names, and pointers.

use core::ffi::{c_char, c_int, c_void};

use manylane::{
    Error,
    block::{
        any::{Algorithm, AnyCipher, AnyMode, Direction, Mode},
        cbc, ecb, pkcs7,
    },
};
use zeroize::Zeroizing;

use crate::{
    handle::{self, Opaque, exclusive},
    memory::{Output, bytes, check_apart, name, put},
    status::{
        FINISHED, Failure, LENGTH, MEMORY, NULL, Result, SYMMETRIC, guard, guard_free, guard_secret,
    },
};

/// Which way a cipher goes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum manylane_direction {
    /// From the message to its ciphertext.
    MANYLANE_ENCRYPT = 0,
    /// And back.
    MANYLANE_DECRYPT = 1,
    /// Neither, only whether the tag of a ciphertext is right: for manylane_gcm_stream_new() alone.
    MANYLANE_VERIFY = 2,
}

/// What ECB and CBC do with a message that is not whole blocks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum manylane_padding {
    /// Refuse it, at the end.
    MANYLANE_PADDING_NONE = 0,
    /// Fill it up as PKCS #7 does, whatever its length. An attacker who is told which of many ciphertexts do not
    /// decrypt can learn a message from that: authenticate ciphertexts first.
    MANYLANE_PADDING_PKCS7 = 1,
}

/// A message that is encrypted or decrypted piece by piece.
pub struct manylane_cipher {
    _opaque: (),
}

impl Opaque for manylane_cipher {
    type State = Option<Work>;
    const KIND: u64 = 4;
}

pub(crate) enum Work {
    /// A mode that takes any number of bytes.
    Bytes(AnyMode),
    Blocks(Blocks),
    EcbEncrypt(pkcs7::Encryptor<ecb::Encryptor<AnyCipher>>),
    EcbDecrypt(pkcs7::Decryptor<ecb::Decryptor<AnyCipher>>),
    CbcEncrypt(pkcs7::Encryptor<cbc::Encryptor<AnyCipher>>),
    CbcDecrypt(pkcs7::Decryptor<cbc::Decryptor<AnyCipher>>),
}

/// Whole blocks, out of pieces of any length.
pub(crate) struct Blocks {
    mode: AnyMode,
    held: Zeroizing<[u8; 16]>,
    len: usize,
}

impl Blocks {
    fn update(&mut self, input: &[u8], output: &mut [u8]) -> core::result::Result<usize, Error> {
        let total = self.len + input.len();
        let whole = total - total % 16;
        if output.len() < whole {
            return Err(Error::OutputLength { expected: whole, got: output.len() });
        }
        let mut rest = input;
        if whole > 0 {
            let (now, later) = input.split_at(whole - self.len);
            output[..self.len].copy_from_slice(&self.held[..self.len]);
            output[self.len..whole].copy_from_slice(now);
            self.mode.update(&mut output[..whole])?;
            (self.len, rest) = (0, later);
        }
        self.held[self.len..self.len + rest.len()].copy_from_slice(rest);
        self.len += rest.len();
        Ok(whole)
    }
}

/// A direction by its number.
pub(crate) fn direction(number: c_int) -> Result<Direction> {
    match number {
        0 => Ok(Direction::Encrypt),
        1 => Ok(Direction::Decrypt),
        other => Err(Failure::argument(format!("{other} is no direction"))),
    }
}

/// A cipher and what stands behind it, of a name such as "aes-128-cbc".
pub(crate) fn split_name(name: &str) -> Result<(Algorithm, &str)> {
    let unknown = || Failure::name(format!("no cipher and mode are called '{name}'"));
    let (cipher, mode) = name.rsplit_once('-').ok_or_else(unknown)?;
    Ok((cipher.parse().map_err(|_| unknown())?, mode))
}

impl Work {
    fn new(
        (mode, direction): (Mode, Direction),
        padding: c_int,
        cipher: AnyCipher,
        iv: &[u8],
    ) -> Result<Self> {
        let padded = match padding {
            0 => false,
            1 if mode.takes_blocks() => true,
            1 => return Err(Failure::argument(format!("the mode {mode} needs no padding"))),
            other => return Err(Failure::argument(format!("{other} is no padding"))),
        };
        let any = AnyMode::new(cipher.clone(), mode, direction, iv)?;
        if !padded {
            return Ok(match mode.takes_blocks() {
                true => Work::Blocks(Blocks { mode: any, held: Zeroizing::default(), len: 0 }),
                false => Work::Bytes(any),
            });
        }
        let iv = iv.as_array().unwrap_or(&[0; 16]);
        Ok(match (mode, direction) {
            (Mode::Cbc, Direction::Encrypt) => {
                Work::CbcEncrypt(pkcs7::Encryptor::new(cbc::Encryptor::new(cipher, iv)))
            }
            (Mode::Cbc, Direction::Decrypt) => {
                Work::CbcDecrypt(pkcs7::Decryptor::new(cbc::Decryptor::new(cipher, iv)))
            }
            (_, Direction::Encrypt) => {
                Work::EcbEncrypt(pkcs7::Encryptor::new(ecb::Encryptor::new(cipher)))
            }
            (_, Direction::Decrypt) => {
                Work::EcbDecrypt(pkcs7::Decryptor::new(ecb::Decryptor::new(cipher)))
            }
        })
    }

    /// Bytes written.
    fn update(&mut self, input: &[u8], output: &mut [u8]) -> core::result::Result<usize, Error> {
        match self {
            Work::Bytes(mode) => {
                let (expected, got) = (input.len(), output.len());
                let output =
                    output.get_mut(..expected).ok_or(Error::OutputLength { expected, got })?;
                output.copy_from_slice(input);
                mode.update(output).inspect_err(|_| output.fill(0))?;
                Ok(expected)
            }
            Work::Blocks(blocks) => blocks.update(input, output),
            Work::EcbEncrypt(mode) => mode.update(input, output),
            Work::EcbDecrypt(mode) => mode.update(input, output),
            Work::CbcEncrypt(mode) => mode.update(input, output),
            Work::CbcDecrypt(mode) => mode.update(input, output),
        }
    }

    /// Room that suffices for so many bytes.
    fn update_room(&self, len: usize) -> usize {
        match self {
            Work::Bytes(_) => len,
            _ => len.saturating_add(15),
        }
    }

    /// Bytes that the end may have.
    fn end_len(&self) -> usize {
        match self {
            Work::Bytes(_) | Work::Blocks(_) => 0,
            Work::EcbEncrypt(_) | Work::CbcEncrypt(_) => 16,
            Work::EcbDecrypt(_) | Work::CbcDecrypt(_) => 15,
        }
    }

    fn finish(self) -> core::result::Result<Zeroizing<Vec<u8>>, Error> {
        match self {
            Work::Bytes(_) => Ok(Zeroizing::default()),
            Work::Blocks(Blocks { len: 0, .. }) => Ok(Zeroizing::default()),
            Work::Blocks(_) => {
                Err(Error::DataLength("the message is not whole blocks of 16 bytes"))
            }
            Work::EcbEncrypt(mode) => Ok(Zeroizing::new(mode.finalize().to_vec())),
            Work::CbcEncrypt(mode) => Ok(Zeroizing::new(mode.finalize().to_vec())),
            Work::EcbDecrypt(mode) => mode.finalize(),
            Work::CbcDecrypt(mode) => mode.finalize(),
        }
    }
}

/// Begins a message. `algorithm` is a cipher, "sm4", "aes-128", "aes-192" or "aes-256", and a mode, "ecb",
/// "cbc", "cfb", "cfb8", "ofb" or "ctr", with a hyphen between: "sm4-ctr". The key is as long as the cipher's,
/// the IV has 16 bytes, and none with ECB. `direction` is one of `manylane_direction`, `padding` one of
/// `manylane_padding`. None of these modes tells whether a ciphertext was altered: manylane_aead_new() is for
/// those that do. Free the handle with manylane_cipher_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_cipher_new(
    cipher: *mut *mut manylane_cipher,
    algorithm: *const c_char,
    direction: c_int,
    padding: c_int,
    key: *const c_void,
    key_len: usize,
    iv: *const c_void,
    iv_len: usize,
) -> c_int {
    guard_secret::<SYMMETRIC>(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            handle::clear(cipher)?;
            let text = name(algorithm)?;
            let (algorithm, mode) = split_name(&text)?;
            let mode = (mode.parse().map_err(Failure::name)?, self::direction(direction)?);
            let keyed = AnyCipher::new(algorithm, bytes(key, key_len)?)?;
            handle::put(cipher, Some(Work::new(mode, padding, keyed, bytes(iv, iv_len)?)?))
        }
    })
}

/// Goes on over `len` bytes. `*out_len` is the room on entry, and then the bytes written: as many as were given; with
/// ECB and CBC whole blocks, up to 15 bytes more or less, for what is left waits for more. So `len + 15` bytes of
/// room always suffice: that is what a null `out` is told, unless `len` is 0, and the data are not taken then.
/// `out` may be `data`, but not overlap it in another way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_cipher_update(
    cipher: *mut manylane_cipher,
    data: *const c_void,
    len: usize,
    out: *mut u8,
    out_len: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let room = Output::new(out, out_len)?;
            let same = out.cast_const().cast() == data;
            if !same {
                check_apart((out, room.len()), (data, len))?;
            }
            exclusive(cipher, |work| {
                let work = work.as_mut().ok_or(FINISHED)?;
                if out.is_null() && len > 0 {
                    // It asks for the room: what is given stays the caller's, even where none is needed.
                    return room.ask(work.update_room(len));
                }
                if !same || len == 0 {
                    let data = bytes(data, len)?;
                    return room.fill_some(|out| work.update(data, out));
                }
                in_place(work, room, len)
            })
        }
    })
}

/// Goes on where input and output are the same place: what is written is never ahead of what was read by more than
/// a piece, which is a copy.
fn in_place(work: &mut Work, room: Output, len: usize) -> Result {
    if let Work::Bytes(mode) = work {
        room.check(len)?;
        return room.fill_some(|data| mode.update(&mut data[..len]).map(|()| len));
    }
    let mut copy = Zeroizing::new(Vec::new());
    copy.try_reserve_exact(len).map_err(|_| MEMORY)?;
    // SAFETY: the place has `len` bytes, the caller's word; nobody writes them now.
    copy.extend_from_slice(unsafe { bytes(room.place().cast(), len) }?);
    room.fill_some(|out| work.update(&copy, out))
}

/// The end of the message, after which the handle takes nothing more. Writes the last bytes: with padding up to
/// 16, otherwise none: then there is no room to ask for, and a call with a null `out` is the end. `*out_len` is the room on entry, and then the bytes written. Data that are not whole
/// blocks are MANYLANE_ERROR_DATA_LENGTH, and padding that is none MANYLANE_ERROR_DECRYPTION: nothing that was
/// decrypted before is then to be used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_cipher_finish(
    cipher: *mut manylane_cipher,
    out: *mut u8,
    out_len: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let out = Output::new(out, out_len)?;
            exclusive(cipher, |work| {
                out.check(work.as_ref().ok_or(FINISHED)?.end_len())?;
                out.put(&work.take().ok_or(FINISHED)?.finish()?)
            })
        }
    })
}

/// Frees a handle, and wipes its key. Null is left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_cipher_free(cipher: *mut manylane_cipher) {
    // SAFETY: the pointer is the caller's word.
    guard_free(|| unsafe { handle::free(cipher) });
}

/// Bytes of the key that the named cipher takes, and bytes of IV or nonce: of the modes above, or of "gcm",
/// "ccm" and "xts". GCM and CCM take other nonces than the usual 12 bytes too; XTS' "IV" is the tweak of a data
/// unit, and its key two keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn manylane_cipher_lens(
    algorithm: *const c_char,
    key_len: *mut usize,
    iv_len: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the pointers are the caller's word.
        unsafe {
            let text = name(algorithm)?;
            let (algorithm, mode) = split_name(&text)?;
            let (keys, iv) = match mode.to_ascii_lowercase().as_str() {
                "gcm" | "ccm" => (1, 12),
                "xts" => (2, 16),
                mode => (1, mode.parse::<Mode>().map_err(Failure::name)?.iv_len()),
            };
            if key_len.is_null() || iv_len.is_null() {
                return Err(NULL);
            }
            if mode.eq_ignore_ascii_case("xts") {
                crate::xts::check_cipher(algorithm)?;
            }
            put(key_len, keys * algorithm.key_len())?;
            put(iv_len, iv)
        }
    })
}

/// The place where output is to be made of input of the same length, with the input in it.
///
/// # Safety
/// As of [`bytes`] and [`bytes_mut`](crate::memory::bytes_mut) for both.
pub(crate) unsafe fn moved<'a>(
    data: *const c_void,
    len: usize,
    out: *mut u8,
) -> Result<&'a mut [u8]> {
    if len > isize::MAX as usize {
        return Err(LENGTH);
    }
    // SAFETY: the caller's word; a slice of the input is gone before there is one of the output.
    unsafe {
        if out.cast_const().cast() != data {
            check_apart((out, len), (data, len))?;
            let input = bytes(data, len)?;
            crate::memory::bytes_mut(out, len)?.copy_from_slice(input);
        }
        crate::memory::bytes_mut(out, len)
    }
}
