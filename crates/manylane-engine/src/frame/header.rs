//! The header: what is known before the first chunk, and the keys that come of it.

use std::{
    io::Read,
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use hkdf::Hkdf;
use manylane::sm3::Sm3;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::{Zeroize as _, Zeroizing};

use super::{ChunkLen, Chunks, Error, Key, Suite};
use crate::pipe::read_full;

/// Bytes of a header.
pub const HEADER_LEN: usize = 76;

const MAGIC: [u8; 8] = *b"mlframe\x01";

/// Where the salt begins; what comes before it is what the keys are derived for.
const SALT: usize = 12;

/// Where the commitment begins.
const COMMITMENT: usize = 44;

type Salt = [u8; COMMITMENT - SALT];

const LABEL: &[u8] = b"manylane frame";

/// The first bytes of a frame. The [module](super)'s description says what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    suite: Suite,
    chunk_len: ChunkLen,
    bytes: [u8; HEADER_LEN],
}

impl Header {
    /// Begins a frame with a new salt: its header, and what encrypts its chunks.
    ///
    /// # Errors
    /// [`Error::Random`] if the operating system gives no random bytes.
    pub fn new(key: &Key, aad: &[u8], chunk_len: ChunkLen) -> Result<(Self, Chunks), Error> {
        let mut random = Salt::default();
        getrandom::fill(&mut random).map_err(|_| Error::Random)?;
        let salt = hedged(key.suite, &random, Occasion::now());
        Ok(Header::with_salt(key, aad, chunk_len, &salt))
    }

    pub(super) fn with_salt(
        key: &Key,
        aad: &[u8],
        chunk_len: ChunkLen,
        salt: &Salt,
    ) -> (Self, Chunks) {
        let mut bytes = [0; HEADER_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8] = key.suite.number();
        bytes[9] = chunk_len.log2;
        bytes[SALT..COMMITMENT].copy_from_slice(salt);
        let mut header = Header { suite: key.suite, chunk_len, bytes };
        let derived = header.derive(key, aad);
        header.bytes[COMMITMENT..].copy_from_slice(derived.commitment());
        let chunks = derived.chunks(&header);
        (header, chunks)
    }

    /// Reads a header. What follows it is left to be read.
    ///
    /// # Errors
    /// [`Error::NotAFrame`], [`Error::Unknown`], or [`Error::Altered`] if it is only the beginning of one;
    /// [`Error::Read`].
    pub fn read(reader: &mut impl Read) -> Result<Self, Error> {
        let mut bytes = [0; HEADER_LEN];
        let len = read_full(reader, &mut bytes).map_err(Error::Read)?;
        let name = &MAGIC[..7];
        if len < name.len() || bytes[..7] != *name {
            return Err(Error::NotAFrame);
        }
        if len < HEADER_LEN {
            return Err(Error::Altered);
        }
        Header::from_bytes(&bytes)
    }

    /// The header of these bytes.
    ///
    /// # Errors
    /// [`Error::NotAFrame`] or [`Error::Unknown`].
    pub fn from_bytes(bytes: &[u8; HEADER_LEN]) -> Result<Self, Error> {
        if bytes[..7] != MAGIC[..7] {
            return Err(Error::NotAFrame);
        }
        if bytes[7] != MAGIC[7] {
            return Err(Error::Unknown("encrypted in a version of the format that is not known"));
        }
        let suite = Suite::ALL.into_iter().find(|suite| suite.number() == bytes[8]);
        let suite = suite.ok_or(Error::Unknown("encrypted with a cipher that is not known"))?;
        let chunk_len = ChunkLen::from_log2(bytes[9]).filter(|_| bytes[10..SALT] == [0, 0]);
        let chunk_len =
            chunk_len.ok_or(Error::Unknown("the header of the encrypted file is malformed"))?;
        Ok(Header { suite, chunk_len, bytes: *bytes })
    }

    /// The header as it is written.
    pub fn as_bytes(&self) -> &[u8; HEADER_LEN] {
        &self.bytes
    }

    /// The frame's suite.
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// Bytes of the message in each chunk but the last.
    pub fn chunk_len(&self) -> ChunkLen {
        self.chunk_len
    }

    /// What decrypts the frame's chunks.
    ///
    /// # Errors
    /// [`Error::Suite`] if the key is of another suite, [`Error::Key`] if it is another key, or the AAD differ.
    pub fn open(&self, key: &Key, aad: &[u8]) -> Result<Chunks, Error> {
        if key.suite != self.suite {
            return Err(Error::Suite(self.suite));
        }
        let derived = self.derive(key, aad);
        match bool::from(derived.commitment().ct_eq(&self.bytes[COMMITMENT..])) {
            true => Ok(derived.chunks(self)),
            false => Err(Error::Key),
        }
    }

    fn derive(&self, key: &Key, aad: &[u8]) -> Derived {
        let mut bytes = Zeroizing::new([0; 64]);
        let okm = &mut bytes[..32 + self.suite.key_len()];
        let salt = &self.bytes[SALT..COMMITMENT];
        let info = [LABEL, &self.bytes[..SALT], aad];
        macro_rules! hkdf {
            ($hash:ty) => {{
                let (mut prk, hkdf) = Hkdf::<$hash>::extract(Some(salt), &key.bytes);
                prk.zeroize();
                hkdf.expand_multi_info(&info, okm).expect("two blocks");
            }};
        }
        match self.suite {
            Suite::Aes128Gcm | Suite::Aes192Gcm | Suite::Aes256Gcm => hkdf!(Sha256),
            Suite::Sm4Gcm => hkdf!(Sm3),
        }
        Derived(bytes)
    }
}

/// What no two frames have in common, even if a generator repeats itself: in a virtual machine that was restored from a
/// snapshot, or in one of two that were.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occasion {
    /// Nanoseconds since 1970.
    pub(super) time: u64,
    pub(super) process: u32,
    /// Salts that this process has made.
    pub(super) count: u64,
}

impl Occasion {
    fn now() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Occasion {
            time: since.as_nanos() as u64,
            process: process::id(),
            count: COUNT.fetch_add(1, Ordering::Relaxed),
        }
    }
}

/// A salt of these random bytes, by the suite's hash. It is as hard to foresee as they are, and another one on each occasion.
pub(super) fn hedged(suite: Suite, random: &Salt, occasion: Occasion) -> Salt {
    let Occasion { time, process, count } = occasion;
    let numbers = [&time.to_be_bytes()[..], &process.to_be_bytes(), &count.to_be_bytes()].concat();
    match suite {
        Suite::Aes128Gcm | Suite::Aes192Gcm | Suite::Aes256Gcm => {
            Sha256::new().chain_update(random).chain_update(numbers).finalize().into()
        }
        Suite::Sm4Gcm => Sm3::new().chain_update(random).chain_update(numbers).finalize().into(),
    }
}

/// What HKDF gives: the commitment, the file key, and what no key is long enough for.
struct Derived(Zeroizing<[u8; 64]>);

impl Derived {
    fn commitment(&self) -> &[u8] {
        &self.0[..32]
    }

    fn chunks(&self, header: &Header) -> Chunks {
        let file_key = &self.0[32..][..header.suite.key_len()];
        Chunks::new(header.suite, file_key, header.chunk_len)
    }
}
