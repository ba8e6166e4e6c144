//! SM4 in counter mode with CBC-MAC. The whole message comes in one call, so nothing comes out before its tag is known.

use manylane::{
    Error,
    block::{
        self, Block,
        any::{Algorithm, AnyCipher, Direction},
    },
};

use super::{Cipher, Data};
use crate::{
    core::Core,
    entry::Context,
    failure::{Failure, Reason},
    params::{Asked, Params},
};

const MAX_NONCE_LEN: usize = 13;

/// A message under way.
#[derive(Clone)]
pub(super) struct Ccm {
    core: Core,
    cipher: Option<AnyCipher>,
    direction: Direction,
    nonce: [u8; MAX_NONCE_LEN],
    nonce_len: usize,
    /// Whether there is a nonce, and whether a message has used it.
    has_nonce: bool,
    is_used: bool,
    aad: Vec<u8>,
    /// How long the message is going to be, if that was said.
    message_len: Option<usize>,
    tag_len: usize,
    /// The tag that a message to be decrypted should have.
    expected: Option<Block>,
    /// The tag of the message that has been encrypted.
    computed: Option<Block>,
}

impl Context for Ccm {
    fn core(&self) -> Core {
        self.core
    }
}

impl Ccm {
    fn message(&mut self, data: Data<'_>) -> Result<(), Failure> {
        let cipher = self.cipher.clone().ok_or(Reason::KeyMissing)?;
        let nonce = &self.nonce[..self.nonce_len];
        if self.message_len.is_some_and(|len| len != data.len()) {
            return Err(
                Error::DataLength("CCM takes a message whole, of the length that was set").into()
            );
        }
        let ccm = block::Ccm::new(cipher).with_tag_len(self.tag_len)?;
        // What begins with its length is refused before anything is moved.
        let _ = ccm.encryptor(nonce, &self.aad, data.len() as u64)?;
        match self.direction {
            Direction::Encrypt => {
                let mut computed = [0; 16];
                data.through(|data| {
                    let tag = ccm.encrypt_detached(nonce, &self.aad, data)?;
                    computed[..self.tag_len].copy_from_slice(tag.as_ref());
                    Ok(())
                })?;
                self.computed = Some(computed);
            }
            Direction::Decrypt => {
                let tag = self.expected.take().ok_or(Reason::TagMissing)?;
                data.through(|data| {
                    Ok(ccm.decrypt_detached(nonce, &self.aad, data, &tag[..self.tag_len])?)
                })?;
            }
        }
        self.is_used = true;
        self.message_len = None;
        self.aad.clear();
        Ok(())
    }
}

impl Cipher for Ccm {
    const MODE: u64 = 7;
    const KEY_LEN: usize = Algorithm::Sm4.key_len();
    const IV_LEN: usize = 12;
    const BLOCK_LEN: usize = 1;
    const HAS_TAG: bool = true;
    const HAS_OWN_IV: bool = true;

    fn new(core: Core) -> Self {
        Ccm {
            core,
            cipher: None,
            direction: Direction::Encrypt,
            // OpenSSL's contexts begin with the shortest, whatever they say of the cipher.
            nonce_len: 7,
            nonce: [0; MAX_NONCE_LEN],
            has_nonce: false,
            is_used: false,
            aad: Vec::new(),
            message_len: None,
            // OpenSSL's.
            tag_len: 12,
            expected: None,
            computed: None,
        }
    }

    fn turn(&mut self, direction: Direction) {
        self.direction = direction;
    }

    fn init(
        &mut self,
        direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
    ) -> Result<(), Failure> {
        self.direction = direction;
        if let Some(nonce) = iv {
            if nonce.len() != self.nonce_len {
                return Err(Error::IvLength(nonce.len()).into());
            }
            self.nonce[..nonce.len()].copy_from_slice(nonce);
            self.has_nonce = true;
            self.is_used = false;
            self.message_len = None;
            self.aad.clear();
            self.computed = None;
        }
        if let Some(key) = key {
            self.computed = None;
            self.cipher = Some(AnyCipher::new(Algorithm::Sm4, key)?);
        }
        Ok(())
    }

    fn update(&mut self, data: Data<'_>) -> Result<usize, Failure> {
        if data.is_end() {
            return Ok(0);
        }
        if self.cipher.is_none() {
            return Err(Reason::KeyMissing.into());
        }
        if !self.has_nonce {
            return Err(Reason::IvMissing.into());
        }
        if self.is_used {
            return Err(Reason::Finished.into());
        }
        let len = data.len();
        if data.is_length() {
            if !self.aad.is_empty() {
                return Err(Reason::Order.into());
            }
            self.message_len = Some(len);
        } else if data.is_associated() {
            // The standard's first block has the message's length, so OpenSSL wants it first.
            if self.message_len.is_none() && len != 0 {
                return Err(Reason::Order.into());
            }
            self.aad.try_reserve(len).map_err(|_| Reason::Memory)?;
            self.aad.extend_from_slice(data.input());
        } else {
            self.message(data)?;
        }
        Ok(len)
    }

    fn finish(&mut self, _out: &mut [u8]) -> Result<usize, Failure> {
        // All was done when the data came; empty messages have to come, too, as in OpenSSL.
        match self.cipher {
            Some(_) => Ok(0),
            None => Err(Reason::KeyMissing.into()),
        }
    }

    fn set(&mut self, params: Params<'_>) -> Result<(), Failure> {
        if let Some((len, tag)) = params.octets_len(c"tag")? {
            if len % 2 != 0 || !(4..=16).contains(&len) {
                return Err(Error::TagLength(len).into());
            }
            if let Some(tag) = tag {
                if self.direction == Direction::Encrypt {
                    return Err(Reason::Parameter.into());
                }
                let mut bytes = [0; 16];
                bytes[..len].copy_from_slice(tag);
                self.expected = Some(bytes);
            }
            self.tag_len = len;
        }
        if let Some(len) = params.number(c"ivlen")? {
            let len = usize::try_from(len).ok().filter(|len| (7..=MAX_NONCE_LEN).contains(len));
            let len = len.ok_or(Reason::Parameter)?;
            if len != self.nonce_len {
                self.nonce_len = len;
                self.has_nonce = false;
            }
        }
        Ok(())
    }

    fn get(&self, asked: &mut Asked<'_>) -> Result<(), Failure> {
        asked.number(c"ivlen", self.nonce_len as u64)?;
        asked.number(c"taglen", self.tag_len as u64)?;
        let Some(len) = asked.octets_room(c"tag") else { return Ok(()) };
        match self.computed.filter(|_| self.direction == Direction::Encrypt && len == self.tag_len)
        {
            Some(tag) => asked.octets(c"tag", &tag[..len]),
            None => Err(Reason::TagMissing.into()),
        }
    }

    fn iv(&mut self, _is_updated: bool) -> Option<&mut [u8]> {
        self.has_nonce.then_some(&mut self.nonce[..self.nonce_len])
    }
}
