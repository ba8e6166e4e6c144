//! The modes without a tag, but XTS.

use std::marker::PhantomData;

use manylane::{
    Error,
    block::{
        Block,
        any::{AnyCipher, AnyMode, Direction, Mode},
        pkcs7,
    },
};
use zeroize::Zeroizing;

use super::{Cipher, Data, Kind};
use crate::{
    core::Core,
    entry::Context,
    failure::{Failure, Reason},
    params::{Asked, Params},
};

/// A message under way.
#[derive(Clone)]
pub(super) struct Plain<K> {
    core: Core,
    cipher: Option<AnyCipher>,
    running: Option<AnyMode>,
    direction: Direction,
    /// Whether the last block is filled up.
    pads: bool,
    /// The IV that was set. As in OpenSSL, all zero unless one was.
    original: Block,
    /// The IV that `running` began with.
    iv: Block,
    /// Once that was asked for, the IV as it is now, at an address that the caller may have; and what was put there, from which
    /// it differs when the caller has written another IV.
    shown: Block,
    put: Block,
    is_shown: bool,
    /// The last bytes that the next block depends on: of ciphertext or, in OFB, of key stream.
    recent: Zeroizing<Block>,
    /// Bytes of the message so far.
    position: u64,
    /// Bytes that wait for the rest of their block, or for the end that shows whether they are the last.
    waiting: Zeroizing<Block>,
    waiting_len: usize,
    kind: PhantomData<K>,
}

impl<K> Context for Plain<K> {
    fn core(&self) -> Core {
        self.core
    }
}

impl<K: Kind> Plain<K> {
    /// Whether a message begins after an init without an IV where the last one ended, and not with the last IV. That is
    /// OpenSSL's rule for counters.
    const GOES_ON: bool = matches!(K::MODE, Mode::Ctr);

    fn restart(&mut self) -> Result<(), Failure> {
        self.waiting_len = 0;
        self.begin()
    }

    fn begin(&mut self) -> Result<(), Failure> {
        let iv = match K::MODE {
            Mode::Ecb => &[][..],
            _ => &self.iv,
        };
        self.running = match &self.cipher {
            Some(cipher) => Some(AnyMode::new(cipher.clone(), K::MODE, self.direction, iv)?),
            None => None,
        };
        *self.recent = self.iv;
        self.position = 0;
        self.show();
        Ok(())
    }

    /// Goes on with the IV that the caller has written where this one was shown, if any.
    fn take_written(&mut self) -> Result<(), Failure> {
        if !self.is_shown || self.shown == self.put {
            return Ok(());
        }
        self.iv = self.shown;
        self.begin()
    }

    fn show(&mut self) {
        if self.is_shown {
            self.put = *self.current_iv();
            self.shown = self.put;
        }
    }

    /// Encrypts or decrypts in place.
    fn run(&mut self, data: &mut [u8]) -> Result<(), Failure> {
        self.take_written()?;
        let running = self.running.as_mut().ok_or(Reason::KeyMissing)?;
        let last = data.len() - data.len().min(16);
        let mut before = Zeroizing::new([0; 16]);
        let tail = data.len() - last;
        before[..tail].copy_from_slice(&data[last..]);
        running.update(data)?;
        self.position = self.position.wrapping_add(data.len() as u64);
        let (before, after) = (&mut before[..tail], &data[last..]);
        match (K::MODE, self.direction) {
            (Mode::Ecb | Mode::Ctr, _) => {
                self.show();
                return Ok(());
            }
            (Mode::Ofb, _) => before.iter_mut().zip(after).for_each(|(byte, after)| *byte ^= after),
            (_, Direction::Encrypt) => before.copy_from_slice(after),
            (_, Direction::Decrypt) => {}
        }
        self.recent.copy_within(tail.., 0);
        self.recent[16 - tail..].copy_from_slice(before);
        self.show();
        Ok(())
    }

    /// Bytes of the block that the message is within.
    fn used(&self) -> usize {
        match K::MODE {
            Mode::Cfb | Mode::Ofb | Mode::Ctr => (self.position % 16) as usize,
            _ => 0,
        }
    }

    /// The IV as it is now: what OpenSSL would go on with.
    fn current_iv(&self) -> Zeroizing<Block> {
        if K::MODE == Mode::Ctr {
            let blocks = u128::from(self.position.div_ceil(16));
            let counter = u128::from_be_bytes(self.iv).wrapping_add(blocks);
            return Zeroizing::new(counter.to_be_bytes());
        }
        let used = self.used();
        let mut iv = Zeroizing::new([0; 16]);
        iv[..used].copy_from_slice(&self.recent[16 - used..]);
        match (used, &self.running) {
            // The rest is key stream, which zeros become.
            (1.., Some(running)) => match running.clone().update(&mut iv[used..]) {
                Ok(()) => iv,
                Err(_) => self.recent.clone(),
            },
            _ => self.recent.clone(),
        }
    }

    /// How many of `total` bytes wait.
    fn waits(&self, total: usize) -> usize {
        match (self.direction, self.pads, total) {
            (Direction::Decrypt, true, 1..) => (total - 1) % 16 + 1,
            _ => total % 16,
        }
    }

    /// Whole blocks of what waited and of the data; the rest waits.
    fn blocks(&mut self, data: Data<'_>) -> Result<usize, Failure> {
        self.running.as_ref().ok_or(Reason::KeyMissing)?;
        let total = self.waiting_len.checked_add(data.len()).ok_or(Reason::OutputSize)?;
        let waits = self.waits(total);
        let whole = total - waits;
        let waited = self.waiting_len;
        if whole == 0 {
            self.waiting[waited..total].copy_from_slice(data.input());
            self.waiting_len = total;
            return Ok(0);
        }
        let mut rest = Zeroizing::new([0; 16]);
        let input = data.input();
        rest[..waits].copy_from_slice(&input[input.len() - waits..]);
        let before = self.waiting.clone();
        data.through_after(&before[..waited], whole, |data| self.run(data))?;
        self.waiting = rest;
        self.waiting_len = waits;
        Ok(whole)
    }
}

impl<K: Kind> Cipher for Plain<K> {
    const MODE: u64 = match K::MODE {
        Mode::Ecb => 1,
        Mode::Cbc => 2,
        Mode::Ofb => 4,
        Mode::Ctr => 5,
        _ => 3,
    };
    const KEY_LEN: usize = K::ALGORITHM.key_len();
    const IV_LEN: usize = K::MODE.iv_len();
    const BLOCK_LEN: usize = if K::MODE.takes_blocks() { 16 } else { 1 };
    const HAS_TAG: bool = false;
    const HAS_OWN_IV: bool = false;

    fn new(core: Core) -> Self {
        Plain {
            core,
            cipher: None,
            running: None,
            direction: Direction::Encrypt,
            pads: true,
            original: [0; 16],
            iv: [0; 16],
            shown: [0; 16],
            put: [0; 16],
            is_shown: false,
            recent: Zeroizing::new([0; 16]),
            position: 0,
            waiting: Zeroizing::new([0; 16]),
            waiting_len: 0,
            kind: PhantomData,
        }
    }

    fn init(
        &mut self,
        direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
    ) -> Result<(), Failure> {
        if let Some(iv) = iv.filter(|_| Self::IV_LEN != 0) {
            self.original = *iv.as_array().ok_or(Error::IvLength(iv.len()))?;
            self.iv = self.original;
        } else if Self::GOES_ON {
            self.take_written()?;
            self.iv = *self.current_iv();
        } else {
            self.iv = self.original;
        }
        if let Some(key) = key {
            self.cipher = Some(AnyCipher::new(K::ALGORITHM, key)?);
        }
        self.direction = direction;
        self.restart()
    }

    fn update(&mut self, data: Data<'_>) -> Result<usize, Failure> {
        match K::MODE.takes_blocks() {
            true => self.blocks(data),
            false => self.direct(data),
        }
    }

    fn direct(&mut self, data: Data<'_>) -> Result<usize, Failure> {
        // Without a key, nothing of the message gets to where the ciphertext should be.
        self.running.as_ref().ok_or(Reason::KeyMissing)?;
        data.through(|data| self.run(data))
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        if self.running.is_none() {
            return Err(Reason::KeyMissing.into());
        }
        if !K::MODE.takes_blocks() {
            return Ok(0);
        }
        let mut block = self.waiting.clone();
        let len = self.waiting_len;
        // What fails leaves all as it was, so it fails again: a message that lost its end never looks well ended.
        let mut ended = self.clone();
        ended.waiting_len = 0;
        let len = match (self.pads, self.direction, len) {
            (false, _, 0) => 0,
            (true, Direction::Encrypt, _) => {
                block[len..].fill(16 - len as u8);
                ended.run(&mut block[..])?;
                16
            }
            (true, Direction::Decrypt, 16) => {
                ended.run(&mut block[..])?;
                pkcs7::unpad(&block).map_err(|_| Reason::Padding)?
            }
            // It waited for its padding before that was turned off.
            (false, Direction::Decrypt, 16) => {
                ended.run(&mut block[..])?;
                16
            }
            (_, Direction::Decrypt, _) | (false, ..) => return Err(Reason::FinalBlock.into()),
        };
        out.get_mut(..len).ok_or(Reason::OutputSize)?.copy_from_slice(&block[..len]);
        *self = ended;
        Ok(len)
    }

    fn set(&mut self, params: Params<'_>) -> Result<(), Failure> {
        if let Some(pads) = params.number(c"padding")? {
            self.pads = pads != 0;
        }
        match params.number(c"num")? {
            None | Some(0) => Ok(()),
            Some(_) => Err(Reason::Parameter.into()),
        }
    }

    fn get(&self, asked: &mut Asked<'_>) -> Result<(), Failure> {
        asked.number(c"ivlen", Self::IV_LEN as u64)?;
        asked.number(c"padding", self.pads.into())?;
        asked.number(c"num", self.used() as u64)
    }

    fn iv(&mut self, is_updated: bool) -> Option<&mut [u8]> {
        if !is_updated {
            return Some(&mut self.original[..Self::IV_LEN]);
        }
        self.take_written().ok()?;
        self.is_shown = true;
        self.show();
        Some(&mut self.shown[..Self::IV_LEN])
    }
}
