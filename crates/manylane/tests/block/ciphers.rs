//! The ciphers behind one interface, and the modes as functions of a whole message.

use cipher::KeyInit;
use manylane::{
    Error,
    aes::{Aes128, Aes192, Aes256},
    block::{
        Block, BlockCipher, Ccm, Ctr, Ctr32, Ctr64, Ctr128, Gcm, Ofb, TweakOrder, Xts, cbc, cfb,
        cfb8, ecb, pkcs7,
    },
    cpu::Machine,
    sm4::Sm4,
};
use manylane_vectors::block::Mode;

use crate::common::{Presence, presence};

/// A cipher whose key is made on a machine of choice.
pub(crate) trait Keyed: BlockCipher + KeyInit {
    const NAME: &str;
    const KEY_LEN: usize;

    fn on(machine: Machine, key: &[u8]) -> Result<Self, Error>;

    /// Whether there is a cell for it.
    fn has(machine: Machine) -> bool;

    /// The machines that must run here, and `None` for the library's own choice.
    fn machines() -> impl Iterator<Item = Option<Machine>> {
        let run = |m: &Machine| presence(*m) == Presence::Run && Self::has(*m);
        [None].into_iter().chain(Machine::ALL.into_iter().filter(run).map(Some))
    }

    /// A key on a machine that must be there.
    fn with(machine: Option<Machine>, key: &[u8]) -> Self {
        match machine {
            None => Self::new_from_slice(key).unwrap(),
            Some(machine) => Self::on(machine, key).unwrap(),
        }
    }
}

macro_rules! keyed {
    ($cipher:ident, $len:literal, $has:ident) => {
        impl Keyed for $cipher {
            const NAME: &str = stringify!($cipher);
            const KEY_LEN: usize = $len;

            fn on(machine: Machine, key: &[u8]) -> Result<Self, Error> {
                $cipher::new_on(machine, key.try_into().unwrap())
            }

            fn has(machine: Machine) -> bool {
                $has(machine)
            }
        }
    };
}

keyed!(Aes128, 16, has_aes);
keyed!(Aes192, 24, has_aes);
keyed!(Aes256, 32, has_aes);
keyed!(Sm4, 16, has_sm4);

fn has_aes(machine: Machine) -> bool {
    matches!(machine, Machine::Portable | Machine::Aesni | Machine::Vaes | Machine::Armaes)
}

fn has_sm4(machine: Machine) -> bool {
    match machine {
        Machine::Portable | Machine::Aesni | Machine::Gfni => true,
        Machine::Neon | Machine::Armaes | Machine::ArmCrypto => true,
        // Its S-box is an AES instruction.
        Machine::Avx2 => presence(Machine::Aesni) == Presence::Run,
        _ => false,
    }
}

/// Calls a generic function for each cipher.
macro_rules! for_each_cipher {
    ($function:ident) => {
        $function::<manylane::aes::Aes128>();
        $function::<manylane::aes::Aes192>();
        $function::<manylane::aes::Aes256>();
        $function::<manylane::sm4::Sm4>();
    };
}
pub(crate) use for_each_cipher;

/// The modes that have no tag.
pub(crate) const MODES: [Mode; 11] = [
    Mode::Ecb,
    Mode::Cbc,
    Mode::CbcPkcs7,
    Mode::Cfb,
    Mode::Cfb8,
    Mode::Ofb,
    Mode::Ctr32,
    Mode::Ctr64,
    Mode::Ctr128,
    Mode::Xts,
    Mode::XtsGb,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Encrypt,
    Decrypt,
}

/// A message in a mode that has no tag. XTS takes the second of two ciphers for its tweak.
pub(crate) fn crypt<C: Keyed>(
    mode: Mode,
    direction: Direction,
    [cipher, second]: [&C; 2],
    iv: &[u8],
    data: &[u8],
) -> Result<Vec<u8>, Error> {
    let encrypts = direction == Direction::Encrypt;
    let mut out = data.to_vec();
    let c = cipher.clone();
    // ECB has none.
    let iv: Block = iv.try_into().unwrap_or_default();
    match mode {
        Mode::Ecb if encrypts => ecb::Encryptor::new(c).update(&mut out)?,
        Mode::Ecb => ecb::Decryptor::new(c).update(&mut out)?,
        Mode::Cbc if encrypts => cbc::Encryptor::new(c, &iv).update(&mut out)?,
        Mode::Cbc => cbc::Decryptor::new(c, &iv).update(&mut out)?,
        Mode::CbcPkcs7 if encrypts => out = pkcs7::encrypt(cbc::Encryptor::new(c, &iv), data),
        Mode::CbcPkcs7 => {
            let decryptor = cbc::Decryptor::new(c, &iv);
            let len = pkcs7::decrypt_in_place(decryptor, &mut out)?.len();
            out.truncate(len);
        }
        Mode::Cfb if encrypts => cfb::Encryptor::new(c, &iv).update(&mut out),
        Mode::Cfb => cfb::Decryptor::new(c, &iv).update(&mut out),
        Mode::Cfb8 if encrypts => cfb8::Encryptor::new(c, &iv).update(&mut out),
        Mode::Cfb8 => cfb8::Decryptor::new(c, &iv).update(&mut out),
        Mode::Ofb => Ofb::new(c, &iv).update(&mut out),
        Mode::Ctr32 => Ctr32::new(c, &iv).update(&mut out)?,
        Mode::Ctr64 => Ctr64::new(c, &iv).update(&mut out)?,
        Mode::Ctr128 => Ctr128::new(c, &iv).update(&mut out)?,
        Mode::Xts | Mode::XtsGb => {
            let order = if mode == Mode::Xts { TweakOrder::Ieee } else { TweakOrder::Gb };
            let xts = Xts::from_ciphers(c, second.clone(), order);
            match direction {
                Direction::Encrypt => xts.encrypt(&iv, &mut out)?,
                Direction::Decrypt => xts.decrypt(&iv, &mut out)?,
            }
        }
        Mode::Gcm | Mode::Ccm => panic!("a mode with a tag"),
    }
    Ok(out)
}

/// A mode with a tag.
pub(crate) enum Aead<C> {
    Gcm(Box<Gcm<C>>),
    Ccm(Ccm<C>),
}

impl<C: Keyed> Aead<C> {
    pub(crate) fn new(mode: Mode, cipher: C, tag_len: usize) -> Result<Self, Error> {
        match mode {
            Mode::Gcm => Ok(Aead::Gcm(Box::new(Gcm::new(cipher).with_tag_len(tag_len)?))),
            _ => Ok(Aead::Ccm(Ccm::new(cipher).with_tag_len(tag_len)?)),
        }
    }

    /// The tag; `data` becomes the ciphertext.
    pub(crate) fn encrypt(&self, iv: &[u8], aad: &[u8], data: &mut [u8]) -> Result<Vec<u8>, Error> {
        match self {
            Aead::Gcm(gcm) => gcm.encrypt_detached(iv, aad, data),
            Aead::Ccm(ccm) => ccm.encrypt_detached(iv, aad, data),
        }
        .map(|tag| tag.as_ref().to_vec())
    }

    pub(crate) fn decrypt(
        &self,
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Error> {
        match self {
            Aead::Gcm(gcm) => gcm.decrypt_detached(iv, aad, data, tag),
            Aead::Ccm(ccm) => ccm.decrypt_detached(iv, aad, data, tag),
        }
    }

    /// The ciphertext and the tag of a message given in parts.
    pub(crate) fn encrypt_parts(
        &self,
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        cuts: &[usize],
    ) -> Result<Vec<u8>, Error> {
        let len = data.len() as u64;
        match self {
            Aead::Gcm(gcm) => {
                let mut encryptor = gcm.encryptor(iv, aad)?;
                parts(data, cuts).into_iter().try_for_each(|part| encryptor.update(part))?;
                Ok(encryptor.finalize().as_ref().to_vec())
            }
            Aead::Ccm(ccm) => {
                let mut encryptor = ccm.encryptor(iv, aad, len)?;
                parts(data, cuts).into_iter().try_for_each(|part| encryptor.update(part))?;
                Ok(encryptor.finalize()?.as_ref().to_vec())
            }
        }
    }

    pub(crate) fn decrypt_parts(
        &self,
        iv: &[u8],
        aad: &[u8],
        data: &mut [u8],
        cuts: &[usize],
        tag: &[u8],
    ) -> Result<(), Error> {
        let len = data.len() as u64;
        match self {
            Aead::Gcm(gcm) => {
                let mut verifier = gcm.verifier(iv, aad)?;
                for part in parts(data, cuts) {
                    verifier.update(part)?;
                }
                let verified = verifier.finalize(tag);
                let mut decryptor = gcm.decryptor(iv, aad)?;
                parts(data, cuts).into_iter().try_for_each(|part| decryptor.update(part))?;
                assert_eq!(decryptor.finalize(tag), verified);
                verified
            }
            Aead::Ccm(ccm) => {
                let mut verifier = ccm.verifier(iv, aad, len)?;
                for part in parts(data, cuts) {
                    verifier.update(part)?;
                }
                let verified = verifier.finalize(tag);
                let mut decryptor = ccm.decryptor(iv, aad, len)?;
                parts(data, cuts).into_iter().try_for_each(|part| decryptor.update(part))?;
                assert_eq!(decryptor.finalize(tag), verified);
                verified
            }
        }
    }
}

/// `data` cut at these places, which are in order.
pub(crate) fn parts<'d>(mut data: &'d mut [u8], cuts: &[usize]) -> Vec<&'d mut [u8]> {
    let mut parts = Vec::new();
    let mut at = 0;
    for &cut in cuts {
        let (part, rest) = data.split_at_mut(cut - at);
        parts.push(part);
        (data, at) = (rest, cut);
    }
    parts.push(data);
    parts
}

/// What counters of 32, 64 and 128 bits have in common.
pub(crate) trait Counting {
    fn update(&mut self, data: &mut [u8]) -> Result<(), Error>;
    fn set_position(&mut self, position: u64) -> Result<(), Error>;
    fn xor(&self, position: u64, data: &mut [u8]) -> Result<(), Error>;
    fn position(&self) -> u64;
}

impl<C: BlockCipher, const BITS: u32> Counting for Ctr<C, BITS> {
    fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        Ctr::update(self, data)
    }

    fn set_position(&mut self, position: u64) -> Result<(), Error> {
        Ctr::set_position(self, position)
    }

    fn xor(&self, position: u64, data: &mut [u8]) -> Result<(), Error> {
        Ctr::xor(self, position, data)
    }

    fn position(&self) -> u64 {
        Ctr::position(self)
    }
}
