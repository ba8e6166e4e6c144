//! Counter with CBC-MAC (NIST SP 800-38C, RFC 3610): encryption that tells whether anything was altered, by
//! the cipher alone. With SM4: RFC 8998.
//!
//! The MAC is a chain, so CCM is as slow as CBC encryption; [`Gcm`](super::Gcm) is many times as fast. **No nonce
//! may be used twice under a key.**

use aead::{AeadCore, AeadInOut, TagPosition, inout::InOutBuf};
use cipher::{
    KeyInit, KeySizeUser,
    consts::{U12, U16},
};
use zeroize::Zeroizing;

use super::{
    Block, BlockCipher, Tag,
    ctr::{counter, xor_counters},
    kernels::xor as xor_block,
    parts::{split, xor},
};
use crate::{Error, ct::wipe_bytes, sm4::Sm4};

/// Blocks whose MAC and key stream take turns, so that they stay in the first cache between them.
const TURN: usize = 256;

/// Encryption and decryption under a key, with tags of one length.
///
/// A nonce has n = 7…13 bytes, and a message under it fewer than 2^(8 (15 − n)): 64 KiB with 13 bytes,
/// 16 MiB with 12.
///
/// ```
/// use manylane::{block::Ccm, sm4::Sm4};
///
/// let ccm = Ccm::new(Sm4::new(&[1; 16])).with_tag_len(8)?;
/// let mut data = *b"a message";
/// let tag = ccm.encrypt_detached(&[2; 13], b"authenticated only", &mut data)?;
/// ccm.decrypt_detached(&[2; 13], b"authenticated only", &mut data, tag.as_ref())?;
/// assert_eq!(&data, b"a message");
/// # Ok::<(), manylane::Error>(())
/// ```
///
/// [`AeadInOut`] and, on it, `aead::Aead` have nonces of 12 and tags of 16 bytes, as RFC 5116 and RFC 8998 do.
#[derive(Clone)]
pub struct Ccm<C> {
    cipher: C,
    tag_len: usize,
}

/// CCM with SM4 (RFC 8998). The key's bytes are taken by `KeyInit::new`, the cipher by [`Ccm::new`].
pub type Sm4Ccm = Ccm<Sm4>;

impl<C: BlockCipher> Ccm<C> {
    /// With tags of 16 bytes.
    pub fn new(cipher: C) -> Self {
        Ccm { cipher, tag_len: 16 }
    }

    /// With shorter tags: 4, 6, … 16 bytes. A forged tag of t bytes passes once in 2^(8t) tries; below 8 bytes
    /// Appendix B.2 wants a limit on how many are tried, which only the caller can count.
    ///
    /// # Errors
    /// [`Error::TagLength`] if `len` is another.
    pub fn with_tag_len(self, len: usize) -> Result<Self, Error> {
        match len {
            4 | 6 | 8 | 10 | 12 | 14 | 16 => Ok(Ccm { tag_len: len, ..self }),
            _ => Err(Error::TagLength(len)),
        }
    }

    /// Bytes of a tag.
    pub fn tag_len(&self) -> usize {
        self.tag_len
    }

    /// Encrypts a message in place, and says its tag.
    ///
    /// # Errors
    /// [`Error::IvLength`] unless the nonce has 7…13 bytes, [`Error::DataLength`] if the message is too long
    /// for it. Nothing is done then.
    pub fn encrypt_detached(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: &mut [u8],
    ) -> Result<Tag, Error> {
        let mut encryptor = self.encryptor(nonce, aad, data.len() as u64)?;
        encryptor.update(data)?;
        encryptor.finalize()
    }

    /// Decrypts a message in place, as its tag is the plaintext's. If that is not right, nothing is left of it: all of
    /// `data` is zero, as after every other error.
    ///
    /// # Errors
    /// [`Error::Decryption`] if the tag is not that of the message; [`Error::TagLength`] if it is not as long as
    /// this key's; as [`encrypt_detached`](Self::encrypt_detached) if there is no such message.
    pub fn decrypt_detached(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Error> {
        let decrypt = |data: &mut [u8]| {
            let mut decryptor = self.decryptor(nonce, aad, data.len() as u64)?;
            decryptor.update(data)?;
            decryptor.finalize(tag)
        };
        self.check_tag(tag).and_then(|()| decrypt(data)).inspect_err(|_| wipe_bytes(data))
    }

    /// Begins to encrypt a message of `len` bytes that comes in parts.
    ///
    /// # Errors
    /// As [`encrypt_detached`](Self::encrypt_detached).
    pub fn encryptor(&self, nonce: &[u8], aad: &[u8], len: u64) -> Result<Encryptor<'_, C>, Error> {
        Ok(Encryptor(Message::new(self, nonce, aad, len)?))
    }

    /// Begins to decrypt a message of `len` bytes that comes in parts.
    ///
    /// # Errors
    /// As [`encrypt_detached`](Self::encrypt_detached).
    pub fn decryptor(&self, nonce: &[u8], aad: &[u8], len: u64) -> Result<Decryptor<'_, C>, Error> {
        Ok(Decryptor(Message::new(self, nonce, aad, len)?))
    }

    /// Begins to verify a message of `len` bytes that comes in parts.
    ///
    /// # Errors
    /// As [`encrypt_detached`](Self::encrypt_detached).
    pub fn verifier(&self, nonce: &[u8], aad: &[u8], len: u64) -> Result<Verifier<'_, C>, Error> {
        let scratch = Scratch([[0; 16]; TURN]);
        Ok(Verifier { message: Message::new(self, nonce, aad, len)?, scratch })
    }

    fn check_tag(&self, tag: &[u8]) -> Result<(), Error> {
        match tag.len() == self.tag_len {
            true => Ok(()),
            false => Err(Error::TagLength(tag.len())),
        }
    }
}

/// A message under way.
struct Message<'k, C> {
    ccm: &'k Ccm<C>,
    /// Ctr_0 (A.3).
    ctr0: Block,
    /// Bytes of the message in all, and so far.
    total: u64,
    len: u64,
    /// Y_i of the MAC (6.1), xored with the plaintext of a block that has begun.
    mac: Zeroizing<Block>,
    /// Key stream of the block that `len` is within, if it is within one.
    stream: Zeroizing<Block>,
}

impl<'k, C: BlockCipher> Message<'k, C> {
    /// The formatting function of A.2, up to the message.
    fn new(ccm: &'k Ccm<C>, nonce: &[u8], aad: &[u8], total: u64) -> Result<Self, Error> {
        let n = nonce.len();
        if !(7..=13).contains(&n) {
            return Err(Error::IvLength(n));
        }
        let q = 15 - n;
        if q < 8 && total >> (8 * q) != 0 {
            return Err(Error::DataLength(
                "the message is too long for a nonce of that length in CCM",
            ));
        }
        let mut ctr0 = [0; 16];
        ctr0[0] = (q - 1) as u8;
        ctr0[1..=n].copy_from_slice(nonce);

        let mut mac = Zeroizing::new(ctr0);
        mac[0] |= ((ccm.tag_len - 2) / 2 * 8) as u8 | if aad.is_empty() { 0 } else { 64 };
        mac[1 + n..].copy_from_slice(&total.to_be_bytes()[8 - q..]);
        ccm.cipher.encrypt_one(&mut mac);
        let stream = Zeroizing::new([0; 16]);
        let mut message = Message { ccm, ctr0, total, len: 0, mac, stream };
        message.associate(aad);
        Ok(message)
    }

    /// Takes in the associated data and their length (A.2.2), filled up to whole blocks.
    fn associate(&mut self, aad: &[u8]) {
        if aad.is_empty() {
            return;
        }
        let len = (aad.len() as u64).to_be_bytes();
        let (form, len): (&[u8], &[u8]) = match aad.len() as u64 {
            ..0xff00 => (&[], &len[6..]),
            0xff00..0x1_0000_0000 => (&[0xff, 0xfe], &len[4..]),
            _ => (&[0xff, 0xff], &len),
        };
        let mut first = [0; 16];
        let start = form.len() + len.len();
        first[..form.len()].copy_from_slice(form);
        first[form.len()..start].copy_from_slice(len);
        let (with_len, rest) = aad.split_at(aad.len().min(16 - start));
        first[start..start + with_len.len()].copy_from_slice(with_len);
        let (whole, tail) = rest.as_chunks();
        let cipher = &self.ccm.cipher;
        cipher.cbc_mac(&mut self.mac, &[first]);
        cipher.cbc_mac(&mut self.mac, whole);
        if !tail.is_empty() {
            xor(&mut self.mac[..], tail);
            cipher.encrypt_one(&mut self.mac);
        }
    }

    fn check(&self, more: usize) -> Result<(), Error> {
        match more as u64 <= self.total - self.len {
            true => Ok(()),
            false => Err(MORE_OR_LESS),
        }
    }

    fn update(&mut self, data: &mut [u8], encrypts: bool) -> Result<(), Error> {
        self.check(data.len())?;
        let (used, len) = ((self.len % 16) as usize, data.len() as u64);
        let (head, whole, tail) = split(used, data);
        self.bytes(used, head, encrypts);
        let cipher = &self.ccm.cipher;
        let mut block = self.len.div_ceil(16);
        for data in whole.chunks_mut(TURN) {
            if encrypts {
                cipher.cbc_mac(&mut self.mac, data);
            }
            xor_counters(cipher, 64, &self.ctr0, 1 + block, data);
            if !encrypts {
                cipher.cbc_mac(&mut self.mac, data);
            }
            block += data.len() as u64;
        }
        if !tail.is_empty() {
            // The counter has q bytes, and the message fewer than 2^8q: none of its counters needs more.
            *self.stream = counter(64, &self.ctr0, 1 + block);
            cipher.encrypt_one(&mut self.stream);
            self.bytes(0, tail, encrypts);
        }
        self.len += len;
        Ok(())
    }

    /// Bytes of a block that has begun, of which there are `used`.
    fn bytes(&mut self, used: usize, data: &mut [u8], encrypts: bool) {
        let end = used + data.len();
        if encrypts {
            xor(&mut self.mac[used..end], data);
        }
        xor(data, &self.stream[used..]);
        if !encrypts {
            xor(&mut self.mac[used..end], data);
        }
        if end == 16 {
            self.ccm.cipher.encrypt_one(&mut self.mac);
        }
    }

    fn tag(mut self) -> Result<Tag, Error> {
        if self.len != self.total {
            return Err(MORE_OR_LESS);
        }
        let cipher = &self.ccm.cipher;
        if !self.len.is_multiple_of(16) {
            cipher.encrypt_one(&mut self.mac);
        }
        let mut tag = self.ctr0;
        cipher.encrypt_one(&mut tag);
        xor_block(&mut tag, &self.mac);
        Ok(Tag::new(tag, self.ccm.tag_len))
    }
}

const MORE_OR_LESS: Error =
    Error::DataLength("the message is not as long as was said at its start");

/// Encryption of a message that comes in parts, in bounded memory. Its length must be known at the start.
#[must_use = "a message without its tag cannot be decrypted"]
pub struct Encryptor<'k, C>(Message<'k, C>);

impl<C: BlockCipher> Encryptor<'_, C> {
    /// The next part of the message, in place.
    ///
    /// # Errors
    /// [`Error::DataLength`] if the message becomes longer than was said. The part is then as it was.
    pub fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.0.update(data, true)
    }

    /// The end of the message: its tag.
    ///
    /// # Errors
    /// [`Error::DataLength`] if the message is shorter than was said.
    pub fn finalize(self) -> Result<Tag, Error> {
        self.0.tag()
    }
}

/// Decryption of a message that comes in parts, in bounded memory: **what it gives is not yet verified**. The
/// message's length must be known at the start.
///
/// What [`update`](Self::update) makes is not to be used, shown or written anywhere before
/// [`finalize`](Self::finalize) says that it is the message: until then it may be anything that somebody made of
/// it. Where it does not fit in memory, two passes do: a [`Verifier`], and this once it has come to a good end.
#[must_use = "nothing is verified before `finalize`"]
pub struct Decryptor<'k, C>(Message<'k, C>);

impl<C: BlockCipher> Decryptor<'_, C> {
    /// The next part of the message, in place.
    ///
    /// # Errors
    /// [`Error::DataLength`] if the message becomes longer than was said.
    pub fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.0.update(data, false)
    }

    /// Whether it is the message that has this tag.
    ///
    /// # Errors
    /// [`Error::Decryption`] if not, [`Error::TagLength`] if the tag is not as long as this key's,
    /// [`Error::DataLength`] if the message is shorter than was said. All that was decrypted is then to be wiped.
    pub fn finalize(self, tag: &[u8]) -> Result<(), Error> {
        self.0.ccm.check_tag(tag)?;
        self.0.tag()?.verify(tag)
    }
}

/// Verification of a message that comes in parts: the first of two passes over one that does not fit in memory.
///
/// CCM's tag is that of the plaintext, so this decrypts, 4 KiB at a time, which nobody sees and which are wiped. It takes as
/// long as decryption.
///
/// ```
/// use manylane::{block::Ccm, sm4::Sm4};
///
/// let ccm = Ccm::new(Sm4::new(&[1; 16]));
/// let mut data = *b"a message of two parts";
/// let tag = ccm.encrypt_detached(&[2; 12], b"", &mut data)?;
///
/// let mut verifier = ccm.verifier(&[2; 12], b"", 22)?;
/// verifier.update(&data[..9])?;
/// verifier.update(&data[9..])?;
/// verifier.finalize(tag.as_ref())?; // the same bytes, decrypted now, may be used as they come
/// let mut decryptor = ccm.decryptor(&[2; 12], b"", 22)?;
/// decryptor.update(&mut data)?;
/// assert_eq!(&data, b"a message of two parts");
/// decryptor.finalize(tag.as_ref())?; // nobody has changed them since
/// # Ok::<(), manylane::Error>(())
/// ```
#[must_use = "nothing is verified before `finalize`"]
pub struct Verifier<'k, C> {
    message: Message<'k, C>,
    scratch: Scratch,
}

/// Where a verifier decrypts to.
struct Scratch([Block; TURN]);

impl Drop for Scratch {
    fn drop(&mut self) {
        wipe_bytes(self.0.as_flattened_mut());
    }
}

impl<C: BlockCipher> Verifier<'_, C> {
    /// The next part of the ciphertext.
    ///
    /// # Errors
    /// [`Error::DataLength`] if the message becomes longer than was said. Nothing of the part is taken in then.
    pub fn update(&mut self, data: &[u8]) -> Result<(), Error> {
        self.message.check(data.len())?;
        for data in data.chunks(16 * TURN) {
            let scratch = &mut self.scratch.0.as_flattened_mut()[..data.len()];
            scratch.copy_from_slice(data);
            self.message.update(scratch, false)?;
        }
        Ok(())
    }

    /// Whether it is the message that has this tag.
    ///
    /// # Errors
    /// As [`Decryptor::finalize`].
    pub fn finalize(self, tag: &[u8]) -> Result<(), Error> {
        self.message.ccm.check_tag(tag)?;
        self.message.tag()?.verify(tag)
    }
}

impl<C: KeySizeUser> KeySizeUser for Ccm<C> {
    type KeySize = C::KeySize;
}

impl<C: BlockCipher + KeyInit> KeyInit for Ccm<C> {
    fn new(key: &cipher::Key<Self>) -> Self {
        Ccm::new(C::new(key))
    }
}

impl<C> AeadCore for Ccm<C> {
    type NonceSize = U12;
    type TagSize = U16;
    const TAG_POSITION: TagPosition = TagPosition::Postfix;
}

/// Fails, too, if this key's tags are shorter.
impl<C: BlockCipher> AeadInOut for Ccm<C> {
    fn encrypt_inout_detached(
        &self,
        nonce: &aead::Nonce<Self>,
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> aead::Result<aead::Tag<Self>> {
        if self.tag_len != 16 {
            return Err(aead::Error);
        }
        let tag = self.encrypt_detached(nonce, aad, data.into_out_with_copied_in());
        tag.map_err(|_| aead::Error)
            .map(|tag| aead::Tag::<Self>::try_from(tag.as_ref()).expect("16 bytes"))
    }

    fn decrypt_inout_detached(
        &self,
        nonce: &aead::Nonce<Self>,
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &aead::Tag<Self>,
    ) -> aead::Result<()> {
        let data = data.into_out_with_copied_in();
        self.decrypt_detached(nonce, aad, data, tag).map_err(|_| aead::Error)
    }
}

super::no_content!(Ccm);
super::markers!(Ccm as "Ccm");
super::no_content!('k: Encryptor, Decryptor, Verifier);
