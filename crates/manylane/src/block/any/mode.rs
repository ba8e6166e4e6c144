//! Modes that take a message in parts, in place, and authenticate nothing.

use super::{AnyCipher, by_name};
use crate::{
    Error,
    block::{Block, Ctr128, Ofb, cbc, cfb, cfb8, ecb},
};

/// A mode of operation (NIST SP 800-38A, GB/T 17964-2021).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Mode {
    /// Every block by itself, without an IV; whole blocks only.
    Ecb,
    /// A chain of blocks; whole blocks only.
    Cbc,
    /// Cipher feedback with segments of a block.
    Cfb,
    /// Cipher feedback with segments of a byte.
    Cfb8,
    /// Output feedback.
    Ofb,
    /// A counter of 128 bits.
    Ctr,
}

impl Mode {
    /// All of them.
    pub const ALL: [Mode; 6] = [Mode::Ecb, Mode::Cbc, Mode::Cfb, Mode::Cfb8, Mode::Ofb, Mode::Ctr];

    /// Its name: `ecb`, `ctr` and so on.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Ecb => "ecb",
            Mode::Cbc => "cbc",
            Mode::Cfb => "cfb",
            Mode::Cfb8 => "cfb8",
            Mode::Ofb => "ofb",
            Mode::Ctr => "ctr",
        }
    }

    /// Bytes of an IV: 16, and in ECB none.
    pub const fn iv_len(self) -> usize {
        match self {
            Mode::Ecb => 0,
            _ => 16,
        }
    }

    /// Whether it takes nothing but whole blocks, so that messages of other lengths need
    /// [padding](crate::block::pkcs7).
    pub const fn takes_blocks(self) -> bool {
        matches!(self, Mode::Ecb | Mode::Cbc)
    }
}

by_name!(Mode);

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the message to its ciphertext.
    Encrypt,
    /// And back.
    Decrypt,
}

/// A message under way in some mode, in parts. A clone goes its own way from there.
#[derive(Clone)]
pub struct AnyMode {
    mode: Mode,
    direction: Direction,
    state: State,
}

#[derive(Clone)]
enum State {
    EcbEncrypt(ecb::Encryptor<AnyCipher>),
    EcbDecrypt(ecb::Decryptor<AnyCipher>),
    CbcEncrypt(cbc::Encryptor<AnyCipher>),
    CbcDecrypt(cbc::Decryptor<AnyCipher>),
    CfbEncrypt(cfb::Encryptor<AnyCipher>),
    CfbDecrypt(cfb::Decryptor<AnyCipher>),
    Cfb8Encrypt(cfb8::Encryptor<AnyCipher>),
    Cfb8Decrypt(cfb8::Decryptor<AnyCipher>),
    Ofb(Ofb<AnyCipher>),
    Ctr(Ctr128<AnyCipher>),
}

impl AnyMode {
    /// Begins a message.
    ///
    /// # Errors
    /// [`Error::IvLength`] unless the IV is as long as the [mode's](Mode::iv_len).
    pub fn new(
        cipher: AnyCipher,
        mode: Mode,
        direction: Direction,
        iv: &[u8],
    ) -> Result<Self, Error> {
        let of_length = |iv: &[u8]| iv.len() == mode.iv_len();
        if !of_length(iv) {
            return Err(Error::IvLength(iv.len()));
        }
        // ECB looks at none.
        let iv: &Block = iv.as_array().unwrap_or(&[0; 16]);
        let state = match (mode, direction) {
            (Mode::Ecb, Direction::Encrypt) => State::EcbEncrypt(ecb::Encryptor::new(cipher)),
            (Mode::Ecb, Direction::Decrypt) => State::EcbDecrypt(ecb::Decryptor::new(cipher)),
            (Mode::Cbc, Direction::Encrypt) => State::CbcEncrypt(cbc::Encryptor::new(cipher, iv)),
            (Mode::Cbc, Direction::Decrypt) => State::CbcDecrypt(cbc::Decryptor::new(cipher, iv)),
            (Mode::Cfb, Direction::Encrypt) => State::CfbEncrypt(cfb::Encryptor::new(cipher, iv)),
            (Mode::Cfb, Direction::Decrypt) => State::CfbDecrypt(cfb::Decryptor::new(cipher, iv)),
            (Mode::Cfb8, Direction::Encrypt) => {
                State::Cfb8Encrypt(cfb8::Encryptor::new(cipher, iv))
            }
            (Mode::Cfb8, Direction::Decrypt) => {
                State::Cfb8Decrypt(cfb8::Decryptor::new(cipher, iv))
            }
            (Mode::Ofb, _) => State::Ofb(Ofb::new(cipher, iv)),
            (Mode::Ctr, _) => State::Ctr(Ctr128::new(cipher, iv)),
        };
        Ok(AnyMode { mode, direction, state })
    }

    /// The next part of the message, in place.
    ///
    /// # Errors
    /// [`Error::DataLength`] unless the data are whole blocks of sixteen bytes, in modes that
    /// [need them](Mode::takes_blocks); [`Error::CounterWrap`] where a counter would come round. The part is then as it
    /// was.
    pub fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        match &mut self.state {
            State::EcbEncrypt(mode) => mode.update(data),
            State::EcbDecrypt(mode) => mode.update(data),
            State::CbcEncrypt(mode) => mode.update(data),
            State::CbcDecrypt(mode) => mode.update(data),
            State::CfbEncrypt(mode) => {
                mode.update(data);
                Ok(())
            }
            State::CfbDecrypt(mode) => {
                mode.update(data);
                Ok(())
            }
            State::Cfb8Encrypt(mode) => {
                mode.update(data);
                Ok(())
            }
            State::Cfb8Decrypt(mode) => {
                mode.update(data);
                Ok(())
            }
            State::Ofb(mode) => {
                mode.update(data);
                Ok(())
            }
            State::Ctr(mode) => mode.update(data),
        }
    }

    /// The mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Which way it goes.
    pub fn direction(&self) -> Direction {
        self.direction
    }
}

impl core::fmt::Debug for AnyMode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let AnyMode { mode, direction, .. } = self;
        f.debug_struct("AnyMode")
            .field("mode", mode)
            .field("direction", direction)
            .finish_non_exhaustive()
    }
}
