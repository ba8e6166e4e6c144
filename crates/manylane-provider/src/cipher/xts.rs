//! SM4 in XTS mode. As in OpenSSL, each call of `update` is a data unit, under the tweak that was set.

use manylane::{
    Error,
    block::{
        self, Block, TweakOrder,
        any::{Algorithm, AnyCipher, Direction},
        xts::{MAX_UNIT_LEN, MIN_UNIT_LEN},
    },
};

use super::{Cipher, Data};
use crate::{
    core::Core,
    entry::Context,
    failure::{Failure, Reason},
    params::{Asked, Params},
};

/// `EVP_CIPH_XTS_MODE`.
pub(super) const MODE: u64 = 0x1_0001;

/// Data units under a key.
#[derive(Clone)]
pub(super) struct Xts {
    core: Core,
    /// For data, and for tweaks.
    ciphers: Option<[AnyCipher; 2]>,
    direction: Direction,
    order: TweakOrder,
    tweak: Block,
    has_tweak: bool,
}

impl Context for Xts {
    fn core(&self) -> Core {
        self.core
    }
}

impl Cipher for Xts {
    const MODE: u64 = MODE;
    const KEY_LEN: usize = 2 * Algorithm::Sm4.key_len();
    const IV_LEN: usize = 16;
    const BLOCK_LEN: usize = 1;
    const HAS_TAG: bool = false;
    const HAS_OWN_IV: bool = true;

    fn new(core: Core) -> Self {
        Xts {
            core,
            ciphers: None,
            direction: Direction::Encrypt,
            order: TweakOrder::Gb,
            tweak: [0; 16],
            has_tweak: false,
        }
    }

    fn init(
        &mut self,
        direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
    ) -> Result<(), Failure> {
        self.direction = direction;
        if let Some(tweak) = iv {
            self.tweak = *tweak.as_array().ok_or(Error::IvLength(tweak.len()))?;
            self.has_tweak = true;
        }
        if let Some(key) = key {
            // This refuses weak keys, and lengths that are none.
            AnyCipher::xts(Algorithm::Sm4, key, self.order)?;
            let (data, tweak) = key.split_at(key.len() / 2);
            let cipher = |key| AnyCipher::new(Algorithm::Sm4, key);
            self.ciphers = Some([cipher(data)?, cipher(tweak)?]);
        }
        Ok(())
    }

    fn update(&mut self, data: Data<'_>) -> Result<usize, Failure> {
        let [cipher, tweak_cipher] = self.ciphers.clone().ok_or(Reason::KeyMissing)?;
        if !self.has_tweak {
            return Err(Reason::IvMissing.into());
        }
        if data.len() == 0 {
            return Ok(0);
        }
        if !(MIN_UNIT_LEN..=MAX_UNIT_LEN).contains(&data.len()) {
            return Err(Error::DataLength("a data unit of XTS has 16 bytes to 16 MiB").into());
        }
        let xts = block::Xts::from_ciphers(cipher, tweak_cipher, self.order);
        data.through(|data| {
            match self.direction {
                Direction::Encrypt => xts.encrypt(&self.tweak, data)?,
                Direction::Decrypt => xts.decrypt(&self.tweak, data)?,
            }
            Ok(())
        })
    }

    fn finish(&mut self, _out: &mut [u8]) -> Result<usize, Failure> {
        match self.ciphers {
            Some(_) => Ok(0),
            None => Err(Reason::KeyMissing.into()),
        }
    }

    fn set(&mut self, params: Params<'_>) -> Result<(), Failure> {
        match params.text(c"xts_standard")? {
            None => {}
            Some(name) if name.eq_ignore_ascii_case("GB") => self.order = TweakOrder::Gb,
            Some(name) if name.eq_ignore_ascii_case("IEEE") => self.order = TweakOrder::Ieee,
            Some(_) => return Err(Reason::Parameter.into()),
        }
        Ok(())
    }

    fn get(&self, asked: &mut Asked<'_>) -> Result<(), Failure> {
        asked.number(c"ivlen", 16)?;
        asked.number(c"padding", 0)?;
        asked.number(c"num", 0)
    }

    fn iv(&mut self, _is_updated: bool) -> Option<&mut [u8]> {
        Some(&mut self.tweak)
    }
}
