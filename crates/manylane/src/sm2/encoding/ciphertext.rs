//! Forms of ciphertexts: SM2Cipher of GM/T 0009, C1 ‖ C3 ‖ C2 and C1 ‖ C2 ‖ C3.
//!
//! C2 can have 128 GiB, so none of this copies it: a ciphertext in memory is read where it lies, and
//! for writing there is the [`Head`] that goes before C2.

use super::tlv::{
    OCTET_STRING, Reader, SEQUENCE, header_len, integer_len, push_header, push_integer,
};
use crate::{
    Error,
    sm2::{MAX_MESSAGE_LEN, PublicKey},
};

/// How a ciphertext's parts are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CiphertextForm {
    /// SM2Cipher of GM/T 0009, clause 7.2, in DER: the coordinates of C1 as INTEGERs, C3, C2. OpenSSL and
    /// GmSSL write and read it.
    #[default]
    Asn1,
    /// C1 ‖ C3 ‖ C2, the order of GB/T 32918.4-2016.
    C1C3C2 {
        /// Whether C1 begins with 04 (65 bytes, as in gmsm and BouncyCastle) or is x ‖ y alone
        /// (64 bytes, as in sm-crypto for JavaScript).
        prefix: bool,
    },
    /// C1 ‖ C2 ‖ C3, the order of the standard's draft of 2010, in which old programs write.
    C1C2C3 {
        /// As in [`C1C3C2`](Self::C1C3C2).
        prefix: bool,
    },
}

/// Bytes of the longest [`Head`]: two headers with lengths of five bytes, two INTEGERs and C3.
pub const MAX_HEAD_LEN: usize = 2 * 7 + 2 * 35 + 34;

/// What goes before C2 in a ciphertext. Where C3 belongs there, it is zero at first, for C3 is known
/// only when all of C2 has been made: see [`c3_offset`](Self::c3_offset).
#[derive(Clone, Debug)]
pub struct Head {
    bytes: [u8; MAX_HEAD_LEN],
    len: usize,
    c3_at: Option<usize>,
}

impl Head {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Where C3 is among them; `None` in the form that has C3 behind C2.
    pub fn c3_offset(&self) -> Option<usize> {
        self.c3_at
    }

    /// Puts C3 in its place, unless that is behind C2.
    pub fn set_c3(&mut self, c3: &[u8; 32]) {
        if let Some(at) = self.c3_at {
            self.bytes[at..at + 32].copy_from_slice(c3);
        }
    }
}

impl Extend<u8> for Head {
    fn extend<T: IntoIterator<Item = u8>>(&mut self, bytes: T) {
        for byte in bytes {
            self.bytes[self.len] = byte;
            self.len += 1;
        }
    }
}

/// What a ciphertext begins with, up to C2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadHead {
    /// 04 ‖ x ‖ y, not yet known to be a point of the curve.
    pub c1: [u8; 65],
    /// C3; `None` if it is the last 32 bytes.
    pub c3: Option<[u8; 32]>,
    /// Length of C2 in bytes; `None` if it reaches to the end, or to C3 before that.
    pub c2_len: Option<u64>,
    /// Bytes before C2.
    pub len: usize,
}

impl CiphertextForm {
    /// Writes what goes before a C2 of `c2_len` bytes, which only [`Asn1`](Self::Asn1) has to know.
    /// Behind C2 goes C3 if it has no place in the head, and nothing else.
    ///
    /// # Errors
    /// [`Error::MessageLength`] if C2 would be empty, or longer than [`MAX_MESSAGE_LEN`].
    pub fn head(self, c1: &[u8; 65], c2_len: u64) -> Result<Head, Error> {
        if c2_len == 0 || c2_len > MAX_MESSAGE_LEN {
            return Err(Error::MessageLength(c2_len));
        }
        let mut head = Head { bytes: [0; MAX_HEAD_LEN], len: 0, c3_at: None };
        let [x, y] = [&c1[1..33], &c1[33..]].map(|half| half.try_into().expect("half of 64 bytes"));
        match self {
            CiphertextForm::Asn1 => {
                let length = integer_len(x) + integer_len(y) + 34 + header_len(c2_len);
                push_header(&mut head, SEQUENCE, length as u64 + c2_len);
                push_integer(&mut head, x);
                push_integer(&mut head, y);
                push_header(&mut head, OCTET_STRING, 32);
                head.reserve_c3();
                push_header(&mut head, OCTET_STRING, c2_len);
            }
            CiphertextForm::C1C3C2 { prefix } => {
                head.extend(c1[usize::from(!prefix)..].iter().copied());
                head.reserve_c3();
            }
            CiphertextForm::C1C2C3 { prefix } => {
                head.extend(c1[usize::from(!prefix)..].iter().copied());
            }
        }
        Ok(head)
    }

    /// Reads what a ciphertext begins with. `start` is its first [`MAX_HEAD_LEN`] bytes, or more, or
    /// all of it if it has less.
    ///
    /// # Errors
    /// [`Error::Encoding`] if it is not of this form.
    pub fn read_head(self, start: &[u8]) -> Result<ReadHead, Error> {
        let (head, why) = match self {
            CiphertextForm::Asn1 => (read_asn1(start), "not an SM2 ciphertext in DER"),
            CiphertextForm::C1C3C2 { prefix } => {
                (read_raw(start, prefix, true), "not an SM2 ciphertext C1 C3 C2")
            }
            CiphertextForm::C1C2C3 { prefix } => {
                (read_raw(start, prefix, false), "not an SM2 ciphertext C1 C2 C3")
            }
        };
        head.ok_or(Error::Encoding(why))
    }

    /// The forms that a ciphertext with this start may have: those it can be read in, with a C1 that is
    /// a point of the curve. Where C3 is cannot be seen, so there are two for a raw one, the current
    /// order first; which it is shows when it decrypts. `start` is as for [`read_head`](Self::read_head).
    pub fn candidates(start: &[u8]) -> impl Iterator<Item = Self> {
        let forms = [
            CiphertextForm::Asn1,
            CiphertextForm::C1C3C2 { prefix: true },
            CiphertextForm::C1C2C3 { prefix: true },
            CiphertextForm::C1C3C2 { prefix: false },
            CiphertextForm::C1C2C3 { prefix: false },
        ];
        let fits = move |form: &Self| {
            let head = form.read_head(start);
            head.is_ok_and(|head| PublicKey::from_sec1_bytes(&head.c1).is_ok())
        };
        forms.into_iter().filter(fits)
    }

    /// Bytes of a whole ciphertext.
    ///
    /// # Errors
    /// As [`head`](Self::head).
    pub fn encoded_len(self, c1: &[u8; 65], c2_len: u64) -> Result<u64, Error> {
        let head = self.head(c1, c2_len)?;
        Ok((head.len + if head.c3_at.is_none() { 32 } else { 0 }) as u64 + c2_len)
    }
}

impl Head {
    fn reserve_c3(&mut self) {
        self.c3_at = Some(self.len);
        self.len += 32;
    }
}

fn read_asn1(start: &[u8]) -> Option<ReadHead> {
    let mut reader = Reader::new(start);
    let length = reader.header(SEQUENCE)?;
    let before = reader.rest().len();
    let mut c1 = [0x04; 65];
    c1[1..33].copy_from_slice(&reader.integer()?);
    c1[33..].copy_from_slice(&reader.integer()?);
    let c3 = reader.array(OCTET_STRING)?;
    let c2_len = reader.header(OCTET_STRING)?;
    let inside = (before - reader.rest().len()) as u64;
    let fits = (1..=MAX_MESSAGE_LEN).contains(&c2_len) && inside + c2_len == length;
    let len = start.len() - reader.rest().len();
    fits.then_some(ReadHead { c1, c3: Some(c3), c2_len: Some(c2_len), len })
}

fn read_raw(start: &[u8], prefix: bool, c3_first: bool) -> Option<ReadHead> {
    let xy = if prefix { start.strip_prefix(&[0x04])? } else { start };
    let (xy, rest) = xy.split_first_chunk::<64>()?;
    let mut c1 = [0x04; 65];
    c1[1..].copy_from_slice(xy);
    // Wherever C3 is, there is a byte of C2 too.
    if rest.len() <= 32 {
        return None;
    }
    let c3 = if c3_first { rest.first_chunk().copied() } else { None };
    let len = usize::from(prefix) + 64 + if c3_first { 32 } else { 0 };
    Some(ReadHead { c1, c3, c2_len: None, len })
}

/// The parts of a ciphertext in memory.
///
/// ```
/// use manylane::sm2::{Ciphertext, CiphertextForm, SecretKey};
///
/// // From the form of one program to that of another, without a key.
/// let key = SecretKey::generate()?;
/// let asn1 = key.public_key().encrypt(CiphertextForm::Asn1, b"message")?;
/// let raw = CiphertextForm::C1C3C2 { prefix: false };
/// let moved = Ciphertext::parse(CiphertextForm::Asn1, &asn1)?.to_vec(raw)?;
/// assert_eq!(key.decrypt(raw, &moved)?[..], b"message"[..]);
/// # Ok::<(), manylane::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ciphertext<'a> {
    /// 04 ‖ x ‖ y, not yet known to be a point of the curve.
    pub c1: [u8; 65],
    /// The hash of the message.
    pub c3: [u8; 32],
    /// The message under the key stream, where it lies: at least one byte.
    pub c2: &'a [u8],
}

impl<'a> Ciphertext<'a> {
    /// Finds the parts of a ciphertext.
    ///
    /// # Errors
    /// [`Error::Encoding`] if it is not of this form, to its last byte.
    pub fn parse(form: CiphertextForm, bytes: &'a [u8]) -> Result<Self, Error> {
        let head = form.read_head(bytes)?;
        let rest = &bytes[head.len..];
        let (c2, c3) = match head.c3 {
            Some(c3) => (rest, c3),
            None => {
                let (c2, c3) = rest.split_last_chunk().ok_or(Error::Encoding("C3 is missing"))?;
                (c2, *c3)
            }
        };
        if head.c2_len.is_some_and(|length| length != c2.len() as u64) {
            return Err(Error::Encoding("the SM2 ciphertext is cut off, or something follows it"));
        }
        Ok(Ciphertext { c1: head.c1, c3, c2 })
    }

    /// Puts the parts together.
    ///
    /// # Errors
    /// As [`CiphertextForm::head`].
    pub fn to_vec(&self, form: CiphertextForm) -> Result<Vec<u8>, Error> {
        let mut head = form.head(&self.c1, self.c2.len() as u64)?;
        head.set_c3(&self.c3);
        let tail = if head.c3_at.is_none() { &self.c3[..] } else { &[] };
        Ok([head.as_bytes(), self.c2, tail].concat())
    }
}
