//! Galois/Counter Mode (NIST SP 800-38D): encryption that tells whether anything was altered, at the speed of
//! counter mode. With SM4: RFC 8998.
//!
//! **No IV may be used twice under a key**: that gives away the key of the authentication. 2³² messages under
//! random IVs are the most that clause 8.3 allows for a key.

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
use crate::{
    Error,
    aes::{Aes128, Aes256},
    ct::{wipe_array, wipe_bytes},
    ghash::{self, Ghash},
    sm4::Sm4,
};

/// Bytes of a message at most: 2³⁹ − 256 bits (clause 5.2.1.1).
pub const MAX_MESSAGE_LEN: u64 = (1 << 36) - 32;

/// Encryption and decryption under a key, with tags of one length.
///
/// ```
/// use manylane::{Error, aes::Aes256, block::Gcm};
///
/// let gcm = Gcm::new(Aes256::new(&[1; 32]));
/// let mut data = *b"a message";
/// let tag = gcm.encrypt_detached(&[2; 12], b"authenticated only", &mut data)?;
///
/// let mut altered = data;
/// altered[0] ^= 1;
/// let refused = gcm.decrypt_detached(&[2; 12], b"authenticated only", &mut altered, tag.as_ref());
/// assert_eq!((refused, altered), (Err(Error::Decryption), [0; 9])); // nothing is left of it
/// gcm.decrypt_detached(&[2; 12], b"authenticated only", &mut data, tag.as_ref())?;
/// assert_eq!(&data, b"a message");
/// # Ok::<(), Error>(())
/// ```
///
/// [`AeadInOut`] and, on it, `aead::Aead` have IVs of 12 and tags of 16 bytes, as RFC 5116 and RFC 8998 do.
#[derive(Clone)]
pub struct Gcm<C> {
    pub(super) cipher: C,
    h: ghash::Key,
    tag_len: usize,
}

/// GCM with AES under a key of 128 bits. The key's bytes are taken by `KeyInit::new`, the cipher by [`Gcm::new`].
pub type Aes128Gcm = Gcm<Aes128>;

/// GCM with AES under a key of 256 bits.
pub type Aes256Gcm = Gcm<Aes256>;

/// GCM with SM4 (RFC 8998).
pub type Sm4Gcm = Gcm<Sm4>;

impl<C: BlockCipher> Gcm<C> {
    /// With tags of 16 bytes.
    pub fn new(cipher: C) -> Self {
        let mut h = Zeroizing::new([0; 16]);
        cipher.encrypt_one(&mut h);
        let h = ghash::Key::up_to(cipher.machine(), &h);
        Gcm { cipher, h, tag_len: 16 }
    }

    /// With shorter tags: 4, 8 or 12…16 bytes. A forged tag of t bytes passes once in 2^(8t) tries, and sooner for
    /// long messages: for 4 and 8 bytes Appendix C limits how long these are and how many may be tried, which only
    /// the caller can count.
    ///
    /// # Errors
    /// [`Error::TagLength`] if `len` is another.
    pub fn with_tag_len(self, len: usize) -> Result<Self, Error> {
        match len {
            4 | 8 | 12..=16 => Ok(Gcm { tag_len: len, ..self }),
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
    /// [`Error::IvLength`] if the IV is empty, [`Error::DataLength`] if the message is longer than
    /// [`MAX_MESSAGE_LEN`]. Nothing is done then.
    pub fn encrypt_detached(&self, iv: &[u8], aad: &[u8], data: &mut [u8]) -> Result<Tag, Error> {
        let mut encryptor = self.encryptor(iv, aad)?;
        encryptor.update(data)?;
        Ok(encryptor.finalize())
    }

    /// Decrypts a message in place, and hashes it in the same pass. If its tag is not right, nothing is left of it: all
    /// of `data` is zero, as after every other error. Another thread could see the plaintext before, if it could see
    /// `data` at all.
    ///
    /// # Errors
    /// [`Error::Decryption`] if the tag is not that of the message; [`Error::TagLength`] if it is not as long as this
    /// key's; as [`encrypt_detached`](Self::encrypt_detached) if there is no such message.
    pub fn decrypt_detached(
        &self,
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Error> {
        let decrypt = |data: &mut [u8]| {
            let mut decryptor = self.decryptor(iv, aad)?;
            decryptor.update(data)?;
            decryptor.finalize(tag)
        };
        self.check_tag(tag).and_then(|()| decrypt(data)).inspect_err(|_| wipe_bytes(data))
    }

    /// Begins to encrypt a message that comes in parts.
    ///
    /// # Errors
    /// [`Error::IvLength`] if the IV is empty.
    pub fn encryptor(&self, iv: &[u8], aad: &[u8]) -> Result<Encryptor<'_, C>, Error> {
        Ok(Encryptor(Message::new(self, iv, aad)?))
    }

    /// Begins to decrypt a message that comes in parts.
    ///
    /// # Errors
    /// [`Error::IvLength`] if the IV is empty.
    pub fn decryptor(&self, iv: &[u8], aad: &[u8]) -> Result<Decryptor<'_, C>, Error> {
        Ok(Decryptor(Message::new(self, iv, aad)?))
    }

    /// Begins to verify a message that comes in parts, without decrypting it.
    ///
    /// # Errors
    /// [`Error::IvLength`] if the IV is empty.
    pub fn verifier(&self, iv: &[u8], aad: &[u8]) -> Result<Verifier<'_, C>, Error> {
        Ok(Verifier(Message::new(self, iv, aad)?))
    }

    /// Goes on with a message of this key's that was suspended.
    ///
    /// Under another key its tag is of no use, and its ciphertext that of two keys.
    pub fn resume_encryptor(&self, message: Suspended) -> Encryptor<'_, C> {
        Encryptor(Message::resume(self, message))
    }

    /// Goes on with a message of this key's that was suspended.
    pub fn resume_decryptor(&self, message: Suspended) -> Decryptor<'_, C> {
        Decryptor(Message::resume(self, message))
    }

    /// Goes on with the verification of a message of this key's that was suspended.
    pub fn resume_verifier(&self, message: Suspended) -> Verifier<'_, C> {
        Verifier(Message::resume(self, message))
    }

    pub(super) fn check_tag(&self, tag: &[u8]) -> Result<(), Error> {
        match tag.len() == self.tag_len {
            true => Ok(()),
            false => Err(Error::TagLength(tag.len())),
        }
    }

    /// J_0: the counter block before the message's first (7.1, step 2). Unless the IV has 12 bytes it is a hash
    /// under the key, from which that can be computed: callers wipe it.
    pub(super) fn j0(&self, iv: &[u8]) -> Result<Block, Error> {
        if iv.is_empty() {
            return Err(Error::IvLength(iv.len()));
        }
        if let Some(iv) = iv.as_array::<12>() {
            let mut j0 = [0; 16];
            j0[..12].copy_from_slice(iv);
            j0[15] = 1;
            return Ok(j0);
        }
        let mut ghash = Ghash::new(&self.h);
        ghash.update_padded(iv);
        ghash.update(&[lengths(0, iv.len() as u64)]);
        Ok(ghash.value())
    }

    /// The tag of a ciphertext, from what masks it: E(J_0).
    pub(super) fn tag_by(&self, mask: &Block, aad: &[u8], ciphertext: &[u8]) -> Tag {
        let mut ghash = Ghash::new(&self.h);
        ghash.update_padded(aad);
        ghash.update_padded(ciphertext);
        ghash.update(&[lengths(aad.len() as u64, ciphertext.len() as u64)]);
        let mut tag = ghash.value();
        xor_block(&mut tag, mask);
        Tag::new(tag, self.tag_len)
    }
}

/// The last block of GHASH's input: lengths in bits. IVs and associated data may have 2⁶⁴ − 1 bits (clause 5.2.1.1); no
/// processor addresses the 2⁶¹ bytes that would be more.
fn lengths(aad: u64, data: u64) -> Block {
    (u128::from(8 * aad) << 64 | u128::from(8 * data)).to_be_bytes()
}

/// A message under way.
struct Message<'k, C> {
    gcm: &'k Gcm<C>,
    ghash: Ghash<'k>,
    state: State,
}

/// What there is of a message beside its hash.
#[derive(Clone)]
struct State {
    /// See [`Gcm::j0`].
    j0: Block,
    aad_len: u64,
    /// Whether associated data may follow, of which `begun` has the last block if that is not whole.
    takes_aad: bool,
    /// Bytes of the message so far.
    len: u64,
    /// Key stream of the block that `len` is within, if it is within one.
    stream: Zeroizing<Block>,
    /// Ciphertext of that block so far.
    begun: Block,
}

impl<'k, C: BlockCipher> Message<'k, C> {
    fn new(gcm: &'k Gcm<C>, iv: &[u8], aad: &[u8]) -> Result<Self, Error> {
        let j0 = gcm.j0(iv)?;
        let stream = Zeroizing::new([0; 16]);
        let state = State { j0, aad_len: 0, takes_aad: true, len: 0, stream, begun: [0; 16] };
        let mut message = Message { gcm, ghash: Ghash::new(&gcm.h), state };
        message.associate(aad)?;
        Ok(message)
    }

    fn associate(&mut self, aad: &[u8]) -> Result<(), Error> {
        if !self.state.takes_aad {
            return Err(Error::DataLength("associated data come before the message"));
        }
        self.hash_blocks((self.state.aad_len % 16) as usize, aad);
        self.state.aad_len += aad.len() as u64;
        Ok(())
    }

    /// The end of the associated data, which are filled up to whole blocks.
    fn close_aad(&mut self) {
        if core::mem::take(&mut self.state.takes_aad) {
            let used = (self.state.aad_len % 16) as usize;
            self.ghash.update_padded(&self.state.begun[..used]);
        }
    }

    fn suspend(self) -> Suspended {
        Suspended { y: Zeroizing::new(self.ghash.value()), state: self.state }
    }

    fn resume(gcm: &'k Gcm<C>, Suspended { y, state }: Suspended) -> Self {
        Message { gcm, ghash: Ghash::resume(&gcm.h, &y), state }
    }

    fn check(&self, more: usize) -> Result<(), Error> {
        match self.state.len.checked_add(more as u64) {
            Some(len) if len <= MAX_MESSAGE_LEN => Ok(()),
            _ => Err(Error::DataLength("GCM takes at most 2^36 - 32 bytes under one IV")),
        }
    }

    /// The counter block of the message's block `block`.
    fn counter(&self, block: u64) -> Block {
        counter(32, &self.state.j0, block + 1)
    }

    fn encrypt(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.check(data.len())?;
        self.close_aad();
        let (used, len) = ((self.state.len % 16) as usize, data.len() as u64);
        let (head, whole, tail) = split(used, data);
        xor(head, &self.state.stream[used..]);
        self.go_on(used, head);
        let block = self.state.len.div_ceil(16);
        let counter = self.counter(block);
        self.gcm.cipher.gcm_encrypt(&mut self.ghash, &counter, whole);
        if !tail.is_empty() {
            self.begin(block + whole.len() as u64);
            xor(tail, &self.state.stream[..]);
            self.go_on(0, tail);
        }
        self.state.len += len;
        Ok(())
    }

    fn decrypt(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.check(data.len())?;
        self.close_aad();
        let (used, len) = ((self.state.len % 16) as usize, data.len() as u64);
        let (head, whole, tail) = split(used, data);
        self.go_on(used, head);
        xor(head, &self.state.stream[used..]);
        let block = self.state.len.div_ceil(16);
        let counter = self.counter(block);
        self.gcm.cipher.gcm_decrypt(&mut self.ghash, &counter, whole);
        if !tail.is_empty() {
            self.begin(block + whole.len() as u64);
            self.go_on(0, tail);
            xor(tail, &self.state.stream[..]);
        }
        self.state.len += len;
        Ok(())
    }

    /// Takes in ciphertext alone.
    fn hash(&mut self, data: &[u8]) -> Result<(), Error> {
        self.check(data.len())?;
        self.close_aad();
        self.hash_blocks((self.state.len % 16) as usize, data);
        self.state.len += data.len() as u64;
        Ok(())
    }

    /// Hashes what follows `used` bytes of a block; what makes no whole block at the end waits.
    fn hash_blocks(&mut self, used: usize, data: &[u8]) {
        let (head, rest) = data.split_at(((16 - used) % 16).min(data.len()));
        self.go_on(used, head);
        let (whole, tail) = rest.as_chunks();
        self.ghash.update(whole);
        self.go_on(0, tail);
    }

    /// Makes the key stream of a block that begins.
    fn begin(&mut self, block: u64) {
        *self.state.stream = self.counter(block);
        self.gcm.cipher.encrypt_one(&mut self.state.stream);
    }

    /// Takes in ciphertext of a block of which there are `used` bytes.
    fn go_on(&mut self, used: usize, ciphertext: &[u8]) {
        let end = used + ciphertext.len();
        self.state.begun[used..end].copy_from_slice(ciphertext);
        if end == 16 {
            self.ghash.update(&[self.state.begun]);
        }
    }

    fn tag(mut self) -> Tag {
        self.close_aad();
        let used = (self.state.len % 16) as usize;
        self.ghash.update_padded(&self.state.begun[..used]);
        self.ghash.update(&[lengths(self.state.aad_len, self.state.len)]);
        let mut tag = [self.ghash.value()];
        xor_counters(&self.gcm.cipher, 32, &self.state.j0, 0, &mut tag);
        Tag::new(tag[0], self.gcm.tag_len)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        wipe_array(&mut self.j0, 0);
    }
}

/// A message under way without its key, for owners that can keep no borrowed key: what an [`Encryptor`] or a
/// [`Decryptor`] was, until [`Gcm::resume_encryptor`] or [`Gcm::resume_decryptor`] makes it one again. Both take
/// nanoseconds. A clone goes its own way from there: two messages then have one IV, and are to be the same so far as
/// both are encrypted.
#[derive(Clone)]
pub struct Suspended {
    /// Y_i of GHASH.
    y: Zeroizing<Block>,
    state: State,
}

impl core::fmt::Debug for Suspended {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Suspended").finish_non_exhaustive()
    }
}

/// Encryption of a message that comes in parts, in bounded memory.
#[must_use = "a message without its tag cannot be decrypted"]
pub struct Encryptor<'k, C>(Message<'k, C>);

impl<C: BlockCipher> Encryptor<'_, C> {
    /// More associated data, before the message.
    ///
    /// # Errors
    /// [`Error::DataLength`] if the message has begun.
    pub fn associate(&mut self, aad: &[u8]) -> Result<(), Error> {
        self.0.associate(aad)
    }

    /// The next part of the message, in place.
    ///
    /// # Errors
    /// [`Error::DataLength`] if the message becomes longer than [`MAX_MESSAGE_LEN`]. The part is then as it
    /// was.
    pub fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.0.encrypt(data)
    }

    /// The end of the message: its tag.
    pub fn finalize(self) -> Tag {
        self.0.tag()
    }

    /// The message so far, without the key.
    #[must_use = "it is all that is left of the message"]
    pub fn suspend(self) -> Suspended {
        self.0.suspend()
    }
}

/// Decryption of a message that comes in parts, in bounded memory: **what it gives is not yet verified**.
///
/// What [`update`](Self::update) makes is not to be used, shown or written anywhere before
/// [`finalize`](Self::finalize) says that it is the message: until then it may be anything that somebody made of
/// it. Where it does not fit in memory, two passes do: a [`Verifier`], and this once it has come to a good end.
#[must_use = "nothing is verified before `finalize`"]
pub struct Decryptor<'k, C>(Message<'k, C>);

impl<C: BlockCipher> Decryptor<'_, C> {
    /// More associated data, before the message.
    ///
    /// # Errors
    /// As [`Encryptor::associate`].
    pub fn associate(&mut self, aad: &[u8]) -> Result<(), Error> {
        self.0.associate(aad)
    }

    /// The next part of the message, in place.
    ///
    /// # Errors
    /// [`Error::DataLength`] if the message becomes longer than [`MAX_MESSAGE_LEN`].
    pub fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.0.decrypt(data)
    }

    /// Whether it is the message that has this tag.
    ///
    /// # Errors
    /// [`Error::Decryption`] if not, [`Error::TagLength`] if the tag is not as long as this key's. All that was
    /// decrypted is then to be wiped.
    pub fn finalize(self, tag: &[u8]) -> Result<(), Error> {
        self.0.gcm.check_tag(tag)?;
        self.0.tag().verify(tag)
    }

    /// The message so far, without the key.
    #[must_use = "it is all that is left of the message"]
    pub fn suspend(self) -> Suspended {
        self.0.suspend()
    }
}

/// Verification of a message that comes in parts, which it does not decrypt: the first of two passes over one that
/// does not fit in memory.
///
/// ```
/// use manylane::{block::Gcm, sm4::Sm4};
///
/// let gcm = Gcm::new(Sm4::new(&[1; 16]));
/// let mut data = *b"a message of two parts";
/// let tag = gcm.encrypt_detached(&[2; 12], b"", &mut data)?;
///
/// let mut verifier = gcm.verifier(&[2; 12], b"")?;
/// verifier.update(&data[..9])?;
/// verifier.update(&data[9..])?;
/// verifier.finalize(tag.as_ref())?; // the same bytes, decrypted now, may be used as they come
/// let mut decryptor = gcm.decryptor(&[2; 12], b"")?;
/// decryptor.update(&mut data)?;
/// assert_eq!(&data, b"a message of two parts");
/// decryptor.finalize(tag.as_ref())?; // nobody has changed them since
/// # Ok::<(), manylane::Error>(())
/// ```
#[must_use = "nothing is verified before `finalize`"]
pub struct Verifier<'k, C>(Message<'k, C>);

impl<C: BlockCipher> Verifier<'_, C> {
    /// More associated data, before the message.
    ///
    /// # Errors
    /// As [`Encryptor::associate`].
    pub fn associate(&mut self, aad: &[u8]) -> Result<(), Error> {
        self.0.associate(aad)
    }

    /// The next part of the ciphertext.
    ///
    /// # Errors
    /// [`Error::DataLength`] if the message becomes longer than [`MAX_MESSAGE_LEN`].
    pub fn update(&mut self, data: &[u8]) -> Result<(), Error> {
        self.0.hash(data)
    }

    /// Whether it is the message that has this tag.
    ///
    /// # Errors
    /// As [`Decryptor::finalize`].
    pub fn finalize(self, tag: &[u8]) -> Result<(), Error> {
        self.0.gcm.check_tag(tag)?;
        self.0.tag().verify(tag)
    }

    /// The message so far, without the key.
    #[must_use = "it is all that is left of the message"]
    pub fn suspend(self) -> Suspended {
        self.0.suspend()
    }
}

impl<C: KeySizeUser> KeySizeUser for Gcm<C> {
    type KeySize = C::KeySize;
}

impl<C: BlockCipher + KeyInit> KeyInit for Gcm<C> {
    fn new(key: &cipher::Key<Self>) -> Self {
        Gcm::new(C::new(key))
    }
}

impl<C> AeadCore for Gcm<C> {
    type NonceSize = U12;
    type TagSize = U16;
    const TAG_POSITION: TagPosition = TagPosition::Postfix;
}

/// Fails, too, if this key's tags are shorter.
impl<C: BlockCipher> AeadInOut for Gcm<C> {
    fn encrypt_inout_detached(
        &self,
        iv: &aead::Nonce<Self>,
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> aead::Result<aead::Tag<Self>> {
        if self.tag_len != 16 {
            return Err(aead::Error);
        }
        let tag = self.encrypt_detached(iv, aad, data.into_out_with_copied_in());
        tag.map_err(|_| aead::Error)
            .map(|tag| aead::Tag::<Self>::try_from(tag.as_ref()).expect("16 bytes"))
    }

    fn decrypt_inout_detached(
        &self,
        iv: &aead::Nonce<Self>,
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &aead::Tag<Self>,
    ) -> aead::Result<()> {
        let data = data.into_out_with_copied_in();
        self.decrypt_detached(iv, aad, data, tag).map_err(|_| aead::Error)
    }
}

super::no_content!(Gcm);
super::markers!(Gcm as "Gcm");
super::no_content!('k: Encryptor, Decryptor, Verifier);

#[cfg(test)]
mod tests {
    use super::*;

    /// However associated data come, they come to the same tag; after the message they are refused.
    #[test]
    fn associated_data_come_in_parts() {
        let gcm = Gcm::new(Aes128::new(&[1; 16]));
        let aad: [u8; 70] = core::array::from_fn(|i| i as u8);
        for (len, message) in [(0, 0), (1, 5), (16, 0), (17, 40), (33, 16), (70, 1)] {
            let mut expected = [7; 40];
            let tag = gcm.encrypt_detached(&[2; 12], &aad[..len], &mut expected[..message]);
            let tag = tag.unwrap();
            for step in 1..=len.max(1) {
                let first = step.min(len) / 2;
                let mut encryptor = gcm.encryptor(&[2; 12], &aad[..first]).unwrap();
                let mut decryptor = gcm.decryptor(&[2; 12], &aad[..first]).unwrap();
                let mut verifier = gcm.verifier(&[2; 12], &aad[..first]).unwrap();
                for part in aad[first..len].chunks(step) {
                    encryptor.associate(part).unwrap();
                    // A suspended message goes on with them, too.
                    encryptor = gcm.resume_encryptor(encryptor.suspend());
                    decryptor.associate(part).unwrap();
                    verifier.associate(part).unwrap();
                }
                let mut data = [7; 40];
                encryptor.update(&mut data[..message]).unwrap();
                assert!(matches!(encryptor.associate(&[]), Err(Error::DataLength(_))));
                assert_eq!((encryptor.finalize().as_ref(), data), (tag.as_ref(), expected));
                verifier.update(&data[..message]).unwrap();
                assert!(verifier.associate(b"late").is_err());
                verifier.finalize(tag.as_ref()).unwrap();
                decryptor.update(&mut data[..message]).unwrap();
                assert!(decryptor.associate(b"late").is_err());
                assert_eq!(data, [7; 40]);
                decryptor.finalize(tag.as_ref()).unwrap();
            }
        }
    }

    /// A message that is as long as it can be but for five bytes: they are taken, six are refused and stay.
    #[test]
    fn a_message_ends_before_its_counters_do() {
        let gcm = Gcm::new(Aes128::new(&[1; 16]));
        let message = || {
            let mut message = Message::new(&gcm, &[2; 12], b"").unwrap();
            message.state.len = MAX_MESSAGE_LEN - 5;
            message
        };
        let mut data = [7; 6];
        let refused = |result| matches!(result, Err(Error::DataLength(_)));
        let mut encryptor = Encryptor(message());
        assert!(refused(encryptor.update(&mut data)));
        let mut decryptor = Decryptor(message());
        assert!(refused(decryptor.update(&mut data)));
        let mut verifier = Verifier(message());
        assert!(refused(verifier.update(&data)));
        assert_eq!(data, [7; 6]);
        encryptor.update(&mut data[..5]).unwrap();
        verifier.update(&data[..5]).unwrap();
        decryptor.update(&mut data[..5]).unwrap();
        assert_eq!(data, [7; 6]);
        let tag = encryptor.finalize();
        verifier.finalize(tag.as_ref()).unwrap();
        decryptor.finalize(tag.as_ref()).unwrap();
    }
}
