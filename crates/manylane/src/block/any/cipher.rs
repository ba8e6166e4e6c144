//! Ciphers by their names, and with their keys.

use std::sync::Arc;

use super::by_name;
use crate::{
    Error,
    aes::{self, Aes128, Aes192, Aes256},
    block::{
        Block, BlockCipher, TweakOrder, Xts,
        kernels::{Chains, Kernels},
    },
    cpu::Machine,
    ghash::Ghash,
    sm4::{self, Sm4},
};

/// A cipher with blocks of 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Algorithm {
    /// AES (FIPS 197) with keys of 128 bits.
    Aes128,
    /// AES with keys of 192 bits.
    Aes192,
    /// AES with keys of 256 bits.
    Aes256,
    /// SM4 (GB/T 32907-2016).
    Sm4,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 4] =
        [Algorithm::Aes128, Algorithm::Aes192, Algorithm::Aes256, Algorithm::Sm4];

    /// Its name: `aes-128`, `sm4` and so on.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Aes128 => "aes-128",
            Algorithm::Aes192 => "aes-192",
            Algorithm::Aes256 => "aes-256",
            Algorithm::Sm4 => "sm4",
        }
    }

    /// Bytes of a key.
    pub const fn key_len(self) -> usize {
        match self {
            Algorithm::Aes128 | Algorithm::Sm4 => 16,
            Algorithm::Aes192 => 24,
            Algorithm::Aes256 => 32,
        }
    }

    /// AES with keys of that many bytes.
    ///
    /// # Errors
    /// [`Error::KeyLength`] if there is none.
    pub const fn aes(key_len: usize) -> Result<Self, Error> {
        match key_len {
            16 => Ok(Algorithm::Aes128),
            24 => Ok(Algorithm::Aes192),
            32 => Ok(Algorithm::Aes256),
            _ => Err(Error::KeyLength),
        }
    }
}

by_name!(Algorithm);

/// A cipher with its key, whichever it is. Clones share the key, which is wiped with the last of them.
///
/// A call chooses the cipher and, as always, the machine: two branches for any number of blocks.
#[derive(Clone)]
pub struct AnyCipher(Arc<Keyed>);

enum Keyed {
    Aes128(Aes128),
    Aes192(Aes192),
    Aes256(Aes256),
    Sm4(Sm4),
}

/// What is the same for every cipher.
macro_rules! with {
    ($self:expr, $cipher:ident => $do:expr) => {
        match &*$self.0 {
            Keyed::Aes128($cipher) => $do,
            Keyed::Aes192($cipher) => $do,
            Keyed::Aes256($cipher) => $do,
            Keyed::Sm4($cipher) => $do,
        }
    };
}

impl AnyCipher {
    /// The cipher with `key`, on the most capable machine.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless the key is as long as the cipher's.
    pub fn new(algorithm: Algorithm, key: &[u8]) -> Result<Self, Error> {
        /// The key, of the length that its place has.
        fn array<const N: usize>(key: &[u8]) -> Result<&[u8; N], Error> {
            key.as_array().ok_or(Error::KeyLength)
        }
        let keyed = match algorithm {
            Algorithm::Aes128 => Keyed::Aes128(Aes128::new(array(key)?)),
            Algorithm::Aes192 => Keyed::Aes192(Aes192::new(array(key)?)),
            Algorithm::Aes256 => Keyed::Aes256(Aes256::new(array(key)?)),
            Algorithm::Sm4 => Keyed::Sm4(Sm4::new(array(key)?)),
        };
        Ok(AnyCipher(Arc::new(keyed)))
    }

    /// XTS under a pair of keys, first the data's, then the tweak's.
    ///
    /// # Errors
    /// As [`Xts::new`].
    pub fn xts(algorithm: Algorithm, keys: &[u8], order: TweakOrder) -> Result<Xts<Self>, Error> {
        Xts::of_pair(keys, order, |key| AnyCipher::new(algorithm, key))
    }

    /// Which cipher it is.
    pub fn algorithm(&self) -> Algorithm {
        match *self.0 {
            Keyed::Aes128(_) => Algorithm::Aes128,
            Keyed::Aes192(_) => Algorithm::Aes192,
            Keyed::Aes256(_) => Algorithm::Aes256,
            Keyed::Sm4(_) => Algorithm::Sm4,
        }
    }
}

impl core::fmt::Debug for AnyCipher {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        with!(self, cipher => cipher.fmt(f))
    }
}

impl BlockCipher for AnyCipher {
    fn machine(&self) -> Machine {
        with!(self, cipher => cipher.machine())
    }
}

/// Functions that call that of the cipher.
macro_rules! forwarded {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        fn $name(&self, $($argument: $type),*) {
            with!(self, cipher => cipher.$name($($argument),*));
        }
    )*};
}

impl Kernels for AnyCipher {
    type Chains = AnyChains;

    forwarded! {
        encrypt_one(block: &mut Block);
        encrypt_each(data: &mut [Block]);
        decrypt_each(data: &mut [Block]);
        xor_counters(counter: &Block, data: &mut [Block]);
        cbc_decrypt(iv: &mut Block, data: &mut [Block]);
        cfb_decrypt(iv: &mut Block, data: &mut [Block]);
        xts_encrypt(order: TweakOrder, tweak: &mut Block, data: &mut [Block]);
        xts_decrypt(order: TweakOrder, tweak: &mut Block, data: &mut [Block]);
        cbc_encrypt(iv: &mut Block, data: &mut [Block]);
        cbc_mac(mac: &mut Block, data: &[Block]);
        cfb_encrypt(iv: &mut Block, data: &mut [Block]);
        ofb_xor(iv: &mut Block, data: &mut [Block]);
        gcm_encrypt(ghash: &mut Ghash<'_>, counter: &Block, data: &mut [Block]);
        gcm_decrypt(ghash: &mut Ghash<'_>, counter: &Block, data: &mut [Block]);
    }
}

/// CBC messages side by side, under keys of one cipher.
#[doc(hidden)]
#[derive(Debug)]
pub enum AnyChains {
    Aes128(Box<aes::Streams<11>>),
    Aes192(Box<aes::Streams<13>>),
    Aes256(Box<aes::Streams<15>>),
    Sm4(Box<sm4::Streams>),
}

impl Chains<AnyCipher> for AnyChains {
    fn new(cipher: &AnyCipher) -> Self {
        match &*cipher.0 {
            Keyed::Aes128(cipher) => AnyChains::Aes128(Box::new(Chains::new(cipher))),
            Keyed::Aes192(cipher) => AnyChains::Aes192(Box::new(Chains::new(cipher))),
            Keyed::Aes256(cipher) => AnyChains::Aes256(Box::new(Chains::new(cipher))),
            Keyed::Sm4(cipher) => AnyChains::Sm4(Box::new(Chains::new(cipher))),
        }
    }

    fn count(&self) -> usize {
        match self {
            AnyChains::Aes128(chains) => chains.count(),
            AnyChains::Aes192(chains) => chains.count(),
            AnyChains::Aes256(chains) => chains.count(),
            AnyChains::Sm4(chains) => chains.count(),
        }
    }

    fn takes(&self, cipher: &AnyCipher) -> bool {
        match (self, &*cipher.0) {
            (AnyChains::Aes128(chains), Keyed::Aes128(cipher)) => chains.takes(cipher),
            (AnyChains::Aes192(chains), Keyed::Aes192(cipher)) => chains.takes(cipher),
            (AnyChains::Aes256(chains), Keyed::Aes256(cipher)) => chains.takes(cipher),
            (AnyChains::Sm4(chains), Keyed::Sm4(cipher)) => chains.takes(cipher),
            _ => false,
        }
    }

    fn set(&mut self, lane: usize, cipher: &AnyCipher, iv: &Block) {
        match (self, &*cipher.0) {
            (AnyChains::Aes128(chains), Keyed::Aes128(cipher)) => chains.set(lane, cipher, iv),
            (AnyChains::Aes192(chains), Keyed::Aes192(cipher)) => chains.set(lane, cipher, iv),
            (AnyChains::Aes256(chains), Keyed::Aes256(cipher)) => chains.set(lane, cipher, iv),
            (AnyChains::Sm4(chains), Keyed::Sm4(cipher)) => chains.set(lane, cipher, iv),
            _ => unreachable!("lanes are given what they take"),
        }
    }

    fn encrypt(&mut self, data: &mut [&mut [Block]]) {
        match self {
            AnyChains::Aes128(chains) => chains.encrypt(data),
            AnyChains::Aes192(chains) => chains.encrypt(data),
            AnyChains::Aes256(chains) => chains.encrypt(data),
            AnyChains::Sm4(chains) => chains.encrypt(data),
        }
    }
}
