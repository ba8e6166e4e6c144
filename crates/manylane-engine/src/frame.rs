//! Encrypted files: a *frame* holds a stream of any length in practice, and whatever happens to it is found out.
//!
//! GCM alone ends at 64 GiB, cannot be computed in parts whose order nobody can change, and does not tell two
//! keys apart that open the same ciphertext. A frame is cut into chunks that are encrypted by themselves under a key that no
//! other file has. [`Engine::encrypt_frame`] and [`Engine::decrypt_frame`] read and write frames, in bounded memory
//! and on all cores; [`Header`] and [`Chunks`] are for who wants single chunks of one.
//!
//! # The format, byte by byte
//!
//! Numbers are big-endian. ‖ is concatenation.
//!
//! | bytes | of the header |
//! |---|---|
//! | 0…7 | `6d 6c 66 72 61 6d 65 01`: `mlframe` and the version, 1 |
//! | 8 | the suite: 1 AES-128-GCM, 2 AES-192-GCM, 3 AES-256-GCM, all with SHA-256; 4 SM4-GCM with SM3 |
//! | 9 | c, 12…24: a chunk has 2^c bytes of the message |
//! | 10…11 | zero |
//! | 12…43 | salt: 32 bytes that no other frame has |
//! | 44…75 | commitment |
//!
//! ```text
//! commitment ‖ file key = HKDF(key, salt, "manylane frame" ‖ bytes 0…11 of the header ‖ AAD)
//! ```
//!
//! HKDF is RFC 5869's, with HMAC over the suite's hash; it gives 32 bytes and then as many as the key of the suite's
//! cipher has. The AAD are bytes that the reader must know too; they are not in the file.
//!
//! Chunks follow, numbered from 0. Each but the last has 2^c bytes of the message, the last 1…2^c; if the message is
//! empty, there is one empty chunk. A chunk is written as its ciphertext and its tag of 16 bytes, which GCM (NIST SP 800-38D,
//! RFC 8998) computes under the file key without associated data and with the IV
//!
//! ```text
//! the chunk's number in 11 bytes ‖ 1 if it is the last one, else 0
//! ```
//!
//! and nothing follows the last chunk. So n bytes become 76 + n + 16 · max(1, ⌈n / 2^c⌉), and whoever reads at the end
//! of a chunk must look whether a byte follows to know its IV.
//!
//! # Why so
//!
//! - Chunks are those of STREAM (Hoang, Reyhanitabar, Rogaway, Vizar, CRYPTO 2015): one that is altered, missing,
//!   doubled, in another place or from another file does not verify, and neither does the last one if something is cut
//!   off or added.
//! - Every file has a key of its own, which a salt of 256 bits selects. So its IVs need only be unique in it, which
//!   counting ensures, and there is no limit to the number of files under one key. The salt is a hash of as many random
//!   bits and of the time, the process and a count, so that a generator that repeats itself repeats no key.
//! - The commitment is HKDF's first block, so to find two keys, or two AADs, for one file is to find a collision of
//!   the hash: GCM alone has such files for the asking. And a wrong key is told from an altered file.
//! - The whole header goes into the key or is compared with what comes of it, so all of it is authenticated.
//!
//! A frame never changes its key, so the blocks of a long one begin to differ from random ones: of 2^48 bytes (256 TiB) they
//! are told from random with probability 2^-41, of 2^52 with 2^-33. Longer streams than the first should be cut.
//!
//! Lengths are not hidden. A reader that uses chunks as they are verified may have used the beginning of a file
//! that turns out to be cut short: only the end says that all was there.

mod header;
mod stream;
#[cfg(test)]
mod tests;

use std::{error, fmt, io};

use manylane::block::{
    Gcm,
    any::{Algorithm, AnyCipher},
};
use zeroize::Zeroizing;

pub use header::{HEADER_LEN, Header};

#[cfg(doc)]
use crate::Engine;
use crate::PipeError;

/// Bytes of a tag.
pub const TAG_LEN: usize = 16;

/// Which cipher and hash a frame has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suite {
    /// AES-128-GCM, with keys derived by HKDF-SHA-256.
    Aes128Gcm,
    /// AES-192-GCM, with keys derived by HKDF-SHA-256.
    Aes192Gcm,
    /// AES-256-GCM, with keys derived by HKDF-SHA-256.
    Aes256Gcm,
    /// SM4-GCM, with keys derived by HKDF-SM3.
    Sm4Gcm,
}

impl Suite {
    /// Every suite, in the order of its numbers, from 1 on.
    pub const ALL: [Suite; 4] =
        [Suite::Aes128Gcm, Suite::Aes192Gcm, Suite::Aes256Gcm, Suite::Sm4Gcm];

    /// The suite's number in the header.
    pub fn number(self) -> u8 {
        match self {
            Suite::Aes128Gcm => 1,
            Suite::Aes192Gcm => 2,
            Suite::Aes256Gcm => 3,
            Suite::Sm4Gcm => 4,
        }
    }

    /// The cipher.
    pub fn cipher(self) -> Algorithm {
        match self {
            Suite::Aes128Gcm => Algorithm::Aes128,
            Suite::Aes192Gcm => Algorithm::Aes192,
            Suite::Aes256Gcm => Algorithm::Aes256,
            Suite::Sm4Gcm => Algorithm::Sm4,
        }
    }

    /// The suite with a cipher, if there is one.
    pub fn of(cipher: Algorithm) -> Option<Self> {
        Suite::ALL.into_iter().find(|suite| suite.cipher() == cipher)
    }

    /// Bytes of a key.
    pub fn key_len(self) -> usize {
        self.cipher().key_len()
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Suite::Aes128Gcm => "AES-128-GCM",
            Suite::Aes192Gcm => "AES-192-GCM",
            Suite::Aes256Gcm => "AES-256-GCM",
            Suite::Sm4Gcm => "SM4-GCM",
        })
    }
}

/// A key for frames of one suite. It is wiped when it is dropped.
#[derive(Clone)]
pub struct Key {
    suite: Suite,
    bytes: Zeroizing<Vec<u8>>,
}

impl Key {
    /// The key of these bytes.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless there are [`Suite::key_len`] of them.
    pub fn new(suite: Suite, bytes: &[u8]) -> Result<Self, Error> {
        match bytes.len() == suite.key_len() {
            true => Ok(Key { suite, bytes: Zeroizing::new(bytes.to_vec()) }),
            false => Err(Error::KeyLength),
        }
    }

    /// What it is a key of.
    pub fn suite(&self) -> Suite {
        self.suite
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("suite", &self.suite).finish_non_exhaustive()
    }
}

/// Bytes of the message in a chunk: a power of two from 4 KiB to 16 MiB, 1 MiB by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChunkLen {
    log2: u8,
}

impl ChunkLen {
    /// 2^`log2` bytes, if that is 12…24.
    pub fn from_log2(log2: u8) -> Option<Self> {
        (12..=24).contains(&log2).then_some(ChunkLen { log2 })
    }

    /// The number of bytes.
    pub fn bytes(self) -> usize {
        1 << self.log2
    }
}

impl Default for ChunkLen {
    /// As long as a core's cache holds it beside other things, and long enough that 16 bytes of tag, a system call or
    /// two and a change of thread are nothing to it.
    fn default() -> Self {
        ChunkLen { log2: 20 }
    }
}

/// The chunks of one frame, under its file key, which is wiped when this is dropped.
pub struct Chunks {
    gcm: Gcm<AnyCipher>,
    len: ChunkLen,
}

impl Chunks {
    fn new(suite: Suite, file_key: &[u8], len: ChunkLen) -> Self {
        let cipher = AnyCipher::new(suite.cipher(), file_key).expect("a key of the suite's length");
        Chunks { gcm: Gcm::new(cipher), len }
    }

    /// Bytes of the message in each chunk but the last.
    pub fn chunk_len(&self) -> ChunkLen {
        self.len
    }

    /// Encrypts a chunk in place; its tag. **Never encrypt two different chunks of the same number in one
    /// frame**: that gives away what they differ in, and the key of the authentication.
    ///
    /// # Panics
    /// If the chunk has not as many bytes as one of this number has, last or not.
    pub fn encrypt(&self, number: u64, is_last: bool, data: &mut [u8]) -> [u8; TAG_LEN] {
        assert!(self.is_possible(number, is_last, data.len()), "no chunk of a frame is like that");
        let iv = iv(number, is_last);
        let tag = self.gcm.encrypt_detached(&iv, b"", data);
        let tag = tag.expect("an IV of twelve bytes, and no more data than a chunk has");
        tag.as_ref().try_into().expect("sixteen bytes")
    }

    /// Decrypts a chunk in place. If it is not the one of that number, last or not, nothing is left of it: all of
    /// `data` is zero.
    ///
    /// # Errors
    /// [`Error::Altered`] then.
    pub fn decrypt(
        &self,
        number: u64,
        is_last: bool,
        data: &mut [u8],
        tag: &[u8; TAG_LEN],
    ) -> Result<(), Error> {
        if !self.is_possible(number, is_last, data.len()) {
            data.fill(0);
            return Err(Error::Altered);
        }
        let iv = iv(number, is_last);
        let decrypted = self.gcm.decrypt_detached(&iv, b"", data, tag);
        decrypted.map_err(|_| Error::Altered)
    }

    /// Whether a frame has such a chunk.
    fn is_possible(&self, number: u64, is_last: bool, len: usize) -> bool {
        match is_last {
            true => len <= self.len.bytes() && (len > 0 || number == 0),
            false => len == self.len.bytes(),
        }
    }
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks").field("len", &self.len).finish_non_exhaustive()
    }
}

fn iv(number: u64, is_last: bool) -> [u8; 12] {
    let mut iv = [0; 12];
    iv[3..11].copy_from_slice(&number.to_be_bytes());
    iv[11] = is_last.into();
    iv
}

/// Why a frame was not written or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// It does not begin as a frame does.
    NotAFrame,
    /// It is a frame of a version, or with a suite or length of chunks, that is not known here; the text says which.
    Unknown(&'static str),
    /// The key is not as long as the suite's.
    KeyLength,
    /// The frame is of another suite than the key.
    Suite(Suite),
    /// The key or the AAD is another one, or the header was altered.
    Key,
    /// Something was altered, cut off, added or put in another place.
    Altered,
    /// The operating system gave no random bytes.
    Random,
    /// The input could not be read.
    Read(io::Error),
    /// The output could not be written.
    Write(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotAFrame => f.write_str("not an encrypted file of this format"),
            Error::Unknown(what) => f.write_str(what),
            Error::KeyLength => f.write_str("the key is not as long as the cipher's"),
            Error::Suite(suite) => write!(f, "encrypted with {suite}, which the key is not for"),
            Error::Key => f.write_str(
                "the key or the additional data are not those that it was encrypted with",
            ),
            Error::Altered => f.write_str("the encrypted file was altered or is not complete"),
            Error::Random => f.write_str("the operating system gave no random bytes"),
            Error::Read(error) => write!(f, "read error: {error}"),
            Error::Write(error) => write!(f, "write error: {error}"),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Error::Read(error) | Error::Write(error) => Some(error),
            _ => None,
        }
    }
}

impl From<PipeError<Error>> for Error {
    fn from(error: PipeError<Error>) -> Self {
        match error {
            PipeError::Read(error) => Error::Read(error),
            PipeError::Compute(error) => error,
            PipeError::Write(error) => Error::Write(error),
        }
    }
}
