//! SM4 in Galois/Counter mode.
//!
//! As in OpenSSL, decryption gives its output before the tag is known: that is to be thrown away if `EVP_DecryptFinal_ex` fails.

use manylane::{
    Error,
    block::{
        self, Block, Tag,
        any::{Algorithm, AnyCipher, Direction},
        gcm::Suspended,
    },
};
use subtle::ConstantTimeEq as _;

use super::{Cipher, Data};
use crate::{
    core::Core,
    entry::Context,
    failure::{Failure, Reason},
    params::{Asked, Params},
};

/// OpenSSL has room for IVs of 1024 bits.
const MAX_IV_LEN: usize = 128;

/// Where a message stands.
#[derive(Clone)]
enum State {
    /// There is no IV.
    Waiting,
    /// There is an IV.
    Ready,
    /// Associated data have come.
    Associated(Suspended),
    /// Data have come.
    Running(Suspended),
    /// It has ended: the IV is not to be used again.
    Ended,
}

/// A message under way.
#[derive(Clone)]
pub(super) struct Gcm {
    core: Core,
    gcm: Option<block::Gcm<AnyCipher>>,
    direction: Direction,
    iv: [u8; MAX_IV_LEN],
    iv_len: usize,
    state: State,
    /// The tag that a message to be decrypted should have, and how much of it there is.
    expected: Option<(Block, usize)>,
    /// The tag of the message that has been encrypted.
    computed: Option<Block>,
    tag_len: usize,
}

impl Context for Gcm {
    fn core(&self) -> Core {
        self.core
    }
}

impl Gcm {
    /// What associated data or data come to.
    fn begun(&mut self) -> Result<Suspended, Failure> {
        let gcm = self.gcm.as_ref().ok_or(Reason::KeyMissing)?;
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Waiting => {
                self.state = State::Waiting;
                Err(Reason::IvMissing.into())
            }
            State::Ready => Ok(gcm.encryptor(&self.iv[..self.iv_len], &[])?.suspend()),
            State::Associated(message) | State::Running(message) => Ok(message),
            State::Ended => Err(Reason::Finished.into()),
        }
    }

    fn associate(&mut self, data: &[u8]) -> Result<(), Failure> {
        self.check()?;
        if matches!(self.state, State::Running(_)) {
            return match data.is_empty() {
                true => Ok(()),
                false => Err(Reason::Order.into()),
            };
        }
        let message = self.begun()?;
        let gcm = self.gcm.as_ref().ok_or(Reason::KeyMissing)?;
        // It is the same whichever way the message goes.
        let mut encryptor = gcm.resume_encryptor(message);
        encryptor.associate(data)?;
        self.state = State::Associated(encryptor.suspend());
        Ok(())
    }

    fn set_tag(&mut self, len: usize, tag: Option<&[u8]>) -> Result<(), Failure> {
        if !matches!(len, 4 | 8 | 12..=16) {
            return Err(Error::TagLength(len).into());
        }
        if let Some(tag) = tag {
            if self.direction == Direction::Encrypt {
                return Err(Reason::Parameter.into());
            }
            let mut expected = [0; 16];
            expected[..len].copy_from_slice(tag);
            self.expected = Some((expected, len));
        }
        self.tag_len = len;
        Ok(())
    }

    /// Whether there is all that data need.
    fn check(&self) -> Result<(), Failure> {
        match (&self.gcm, &self.state) {
            (None, _) => Err(Reason::KeyMissing.into()),
            (_, State::Waiting) => Err(Reason::IvMissing.into()),
            (_, State::Ended) => Err(Reason::Finished.into()),
            (_, State::Ready | State::Associated(_) | State::Running(_)) => Ok(()),
        }
    }

    /// The next part of the message, in place.
    fn process(&mut self, data: &mut [u8]) -> Result<(), Failure> {
        let message = self.begun()?;
        let gcm = self.gcm.as_ref().ok_or(Reason::KeyMissing)?;
        let message = match self.direction {
            Direction::Encrypt => {
                let mut encryptor = gcm.resume_encryptor(message);
                encryptor.update(data)?;
                encryptor.suspend()
            }
            Direction::Decrypt => {
                let mut decryptor = gcm.resume_decryptor(message);
                decryptor.update(data)?;
                decryptor.suspend()
            }
        };
        self.state = State::Running(message);
        Ok(())
    }
}

impl Cipher for Gcm {
    const MODE: u64 = 6;
    const KEY_LEN: usize = Algorithm::Sm4.key_len();
    const IV_LEN: usize = 12;
    const BLOCK_LEN: usize = 1;
    const HAS_TAG: bool = true;
    const HAS_OWN_IV: bool = true;

    fn new(core: Core) -> Self {
        Gcm {
            core,
            gcm: None,
            direction: Direction::Encrypt,
            iv: [0; MAX_IV_LEN],
            iv_len: Self::IV_LEN,
            state: State::Waiting,
            expected: None,
            computed: None,
            tag_len: 16,
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
        if let Some(iv) = iv {
            if !(1..=MAX_IV_LEN).contains(&iv.len()) {
                return Err(Error::IvLength(iv.len()).into());
            }
            self.iv[..iv.len()].copy_from_slice(iv);
            self.iv_len = iv.len();
            self.state = State::Ready;
            self.computed = None;
        }
        if let Some(key) = key {
            self.computed = None;
            self.gcm = Some(block::Gcm::new(AnyCipher::new(Algorithm::Sm4, key)?));
            // A message that has begun under another key does not go on.
            if matches!(self.state, State::Associated(_) | State::Running(_)) {
                self.state = State::Ended;
            }
        }
        Ok(())
    }

    fn update(&mut self, data: Data<'_>) -> Result<usize, Failure> {
        if data.is_associated() {
            self.associate(data.input())?;
            return Ok(data.len());
        }
        if data.len() == 0 {
            return Ok(0);
        }
        // The message is moved to where the ciphertext should be when nothing can be missing any more.
        self.check()?;
        data.through(|data| self.process(data))
    }

    fn direct(&mut self, data: Data<'_>) -> Result<usize, Failure> {
        // The end of a message is that there is no input, whether there is room for output or not.
        match data.has_no_input() {
            true => self.finish(&mut []),
            false => self.update(data),
        }
    }

    fn finish(&mut self, _out: &mut [u8]) -> Result<usize, Failure> {
        let expected = match (self.direction, self.expected) {
            (Direction::Encrypt, _) => None,
            (Direction::Decrypt, None) => return Err(Reason::TagMissing.into()),
            (Direction::Decrypt, expected) => expected,
        };
        let message = self.begun()?;
        let gcm = self.gcm.as_ref().ok_or(Reason::KeyMissing)?;
        // The tag depends on the ciphertext, which is the same whichever way the message goes.
        let tag: Tag = gcm.resume_encryptor(message).finalize();
        match expected {
            None => self.computed = tag.as_ref().as_array().copied(),
            Some((expected, len)) => {
                self.expected = None;
                if !bool::from(tag.as_ref()[..len].ct_eq(&expected[..len])) {
                    return Err(Error::Decryption.into());
                }
            }
        }
        Ok(0)
    }

    fn set(&mut self, params: Params<'_>) -> Result<(), Failure> {
        if let Some((len, tag)) = params.octets_len(c"tag")? {
            self.set_tag(len, tag)?;
        }
        if let Some(len) = params.number(c"ivlen")? {
            let len = usize::try_from(len).ok().filter(|len| (1..=MAX_IV_LEN).contains(len));
            let len = len.ok_or(Reason::Parameter)?;
            if len != self.iv_len {
                self.iv_len = len;
                self.state = State::Waiting;
            }
        }
        Ok(())
    }

    fn get(&self, asked: &mut Asked<'_>) -> Result<(), Failure> {
        asked.number(c"ivlen", self.iv_len as u64)?;
        asked.number(c"taglen", self.tag_len as u64)?;
        let Some(len) = asked.octets_room(c"tag") else { return Ok(()) };
        match self.computed.filter(|_| self.direction == Direction::Encrypt) {
            Some(tag) if matches!(len, 1..=16) => asked.octets(c"tag", &tag[..len]),
            _ => Err(Reason::TagMissing.into()),
        }
    }

    fn iv(&mut self, _is_updated: bool) -> Option<&mut [u8]> {
        match self.state {
            State::Waiting => None,
            _ => Some(&mut self.iv[..self.iv_len]),
        }
    }
}
