//! XTS (IEEE 1619-2018, NIST SP 800-38E; GB/T 17964-2021): sectors of a disk, each encrypted in its place.
//!
//! A *data unit*, such as a sector, has a tweak, usually its number. It is as long encrypted as it was, so nothing
//! tells whether it was altered, and the same data in the same place are encrypted alike: that is what disks can
//! bear, and not a way to send messages.
//!
//! The standards differ in how the tweak changes from block to block: [`TweakOrder`]. AES is used with
//! IEEE's, SM4 with either. The types allow more than the standards have: no standard has XTS with AES under keys of 192
//! bits, nor AES with the order of GB/T 17964.

use cipher::KeyInit;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::{Block, BlockCipher, TweakOrder, lanes::times_alpha};
use crate::{Error, ct::reveal};

/// Bytes of a data unit at least: there is no ciphertext to steal from below a block.
pub const MIN_UNIT_LEN: usize = 16;

/// Bytes of a data unit at most: 2²⁰ blocks (SP 800-38E, clause 4).
pub const MAX_UNIT_LEN: usize = 16 << 20;

/// Tweaks that are encrypted together.
const MANY: usize = 32;

/// Encryption and decryption of data units under a pair of keys.
///
/// ```
/// use manylane::{aes::Aes256, block::{TweakOrder, Xts}};
///
/// let key: [u8; 64] = std::array::from_fn(|i| i as u8);
/// let xts = Xts::<Aes256>::new(&key, TweakOrder::Ieee)?;
/// let mut disk = vec![0; 8 * 4096];
/// xts.encrypt_units(1000, 4096, &mut disk)?; // sectors 1000…1007
/// xts.decrypt(&1003u128.to_le_bytes(), &mut disk[3 * 4096..4 * 4096])?;
/// assert_eq!(disk[3 * 4096..4 * 4096], [0; 4096]);
/// # Ok::<(), manylane::Error>(())
/// ```
#[derive(Clone)]
pub struct Xts<C> {
    data: C,
    tweak: C,
    order: TweakOrder,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Encrypt,
    Decrypt,
}

impl<C: BlockCipher + KeyInit> Xts<C> {
    /// A pair of keys, first the data's, then the tweak's.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless the key is as long as two of the cipher's; [`Error::WeakKey`] if its halves
    /// are the same, as FIPS 140-3's guidance (C.I) demands for AES: then the tweak is under the data's key, and
    /// a chosen ciphertext tells how tweaks are encrypted. What was encrypted so is read by
    /// [`from_ciphers`](Self::from_ciphers).
    pub fn new(key: &[u8], order: TweakOrder) -> Result<Self, Error> {
        Xts::of_pair(key, order, |key| C::new_from_slice(key).map_err(|_| Error::KeyLength))
    }
}

impl<C: BlockCipher> Xts<C> {
    /// A pair of keys, of which `cipher` takes each.
    pub(super) fn of_pair(
        keys: &[u8],
        order: TweakOrder,
        cipher: impl Fn(&[u8]) -> Result<C, Error>,
    ) -> Result<Self, Error> {
        let (data, tweak) = keys.split_at(keys.len() / 2);
        let (data_cipher, tweak_cipher) = (cipher(data)?, cipher(tweak)?);
        if reveal(data.ct_eq(tweak)) {
            return Err(Error::WeakKey);
        }
        Ok(Xts::from_ciphers(data_cipher, tweak_cipher, order))
    }

    /// Ciphers that have their keys, which should differ.
    pub fn from_ciphers(data: C, tweak: C, order: TweakOrder) -> Self {
        Xts { data, tweak, order }
    }

    /// Encrypts a data unit in place. The number of a sector is its tweak as a little-endian number.
    ///
    /// # Errors
    /// [`Error::DataLength`] unless it has [`MIN_UNIT_LEN`]…[`MAX_UNIT_LEN`] bytes.
    pub fn encrypt(&self, tweak: &Block, data: &mut [u8]) -> Result<(), Error> {
        self.crypt(Direction::Encrypt, tweak, data)
    }

    /// Decrypts a data unit in place.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt).
    pub fn decrypt(&self, tweak: &Block, data: &mut [u8]) -> Result<(), Error> {
        self.crypt(Direction::Decrypt, tweak, data)
    }

    /// Encrypts data units of `unit_len` bytes, one after another in `data`, in place; the last may be shorter.
    /// Their tweaks are the numbers `first`, `first` + 1, … modulo 2¹²⁸, little-endian as in IEEE 1619, clause 5.1; that they
    /// are so with [`TweakOrder::Gb`] too is our choice.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt), of each of them. Nothing is done then.
    pub fn encrypt_units(
        &self,
        first: u128,
        unit_len: usize,
        data: &mut [u8],
    ) -> Result<(), Error> {
        self.crypt_units(Direction::Encrypt, first, unit_len, data)
    }

    /// Decrypts data units of `unit_len` bytes.
    ///
    /// # Errors
    /// As [`encrypt_units`](Self::encrypt_units).
    pub fn decrypt_units(
        &self,
        first: u128,
        unit_len: usize,
        data: &mut [u8],
    ) -> Result<(), Error> {
        self.crypt_units(Direction::Decrypt, first, unit_len, data)
    }

    fn crypt(&self, direction: Direction, tweak: &Block, data: &mut [u8]) -> Result<(), Error> {
        check(data.len())?;
        let mut tweak = Zeroizing::new(*tweak);
        self.tweak.encrypt_one(&mut tweak);
        self.unit(direction, &mut tweak, data);
        Ok(())
    }

    fn crypt_units(
        &self,
        direction: Direction,
        first: u128,
        unit_len: usize,
        data: &mut [u8],
    ) -> Result<(), Error> {
        check(unit_len)?;
        match data.len() % unit_len {
            0 => (),
            last => check(last)?,
        }
        let mut tweaks = Zeroizing::new([[0; 16]; MANY]);
        let mut number = first;
        for data in data.chunks_mut(unit_len.saturating_mul(MANY)) {
            let tweaks = &mut tweaks[..data.len().div_ceil(unit_len)];
            for tweak in tweaks.iter_mut() {
                *tweak = number.to_le_bytes();
                number = number.wrapping_add(1);
            }
            self.tweak.encrypt_each(tweaks);
            for (tweak, unit) in tweaks.iter_mut().zip(data.chunks_mut(unit_len)) {
                self.unit(direction, tweak, unit);
            }
        }
        Ok(())
    }

    /// A data unit, of whose first block `tweak` is the encrypted tweak; it is used up.
    fn unit(&self, direction: Direction, tweak: &mut Block, data: &mut [u8]) {
        let rest = data.len() % 16;
        if rest == 0 {
            return self.blocks(direction, tweak, data.as_chunks_mut().0);
        }
        let (whole, last) = data.split_at_mut(data.len() - rest - 16);
        self.blocks(direction, tweak, whole.as_chunks_mut().0);
        // Ciphertext stealing (IEEE 1619, clauses 5.3.2 and 5.4.2): the last two tweaks are used in the other
        // order by decryption.
        let mut tweaks = Zeroizing::new([*tweak, times_alpha(self.order, tweak)]);
        if direction == Direction::Decrypt {
            tweaks.swap(0, 1);
        }
        let (block, rest) = last.split_at_mut(16);
        let block: &mut Block = block.try_into().expect("a block");
        self.blocks(direction, &mut tweaks[0], core::slice::from_mut(block));
        block[..rest.len()].swap_with_slice(rest);
        self.blocks(direction, &mut tweaks[1], core::slice::from_mut(block));
    }

    fn blocks(&self, direction: Direction, tweak: &mut Block, data: &mut [Block]) {
        match direction {
            Direction::Encrypt => self.data.xts_encrypt(self.order, tweak, data),
            Direction::Decrypt => self.data.xts_decrypt(self.order, tweak, data),
        }
    }
}

fn check(len: usize) -> Result<(), Error> {
    match len {
        ..MIN_UNIT_LEN => Err(Error::DataLength("a data unit of XTS has at least 16 bytes")),
        MIN_UNIT_LEN..=MAX_UNIT_LEN => Ok(()),
        _ => Err(Error::DataLength("a data unit of XTS has at most 2^20 blocks of 16 bytes")),
    }
}

super::no_content!(Xts);
super::markers!(Xts as "Xts");
