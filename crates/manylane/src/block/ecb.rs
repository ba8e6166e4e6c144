//! Electronic codebook (NIST SP 800-38A, clause 6.1): every block by itself.
//!
//! Equal blocks of a message stay equal, so ECB hides nothing of a message's structure. It is there to
//! exchange data with what uses it, and for keys and random blocks.

use super::{BlockCipher, mode::BlockMode, whole_blocks};
use crate::Error;

/// Encrypts whole blocks in place.
///
/// ```
/// use manylane::{aes::Aes128, block::ecb};
///
/// let mut blocks = [7; 32];
/// ecb::Encryptor::new(Aes128::new(&[1; 16])).update(&mut blocks)?;
/// assert_eq!(blocks[..16], blocks[16..]); // what ECB tells everybody
/// # Ok::<(), manylane::Error>(())
/// ```
#[derive(Clone)]
pub struct Encryptor<C> {
    cipher: C,
}

/// Decrypts whole blocks in place.
#[derive(Clone)]
pub struct Decryptor<C> {
    cipher: C,
}

impl<C: BlockCipher> Encryptor<C> {
    /// Encryption under the cipher's key.
    pub fn new(cipher: C) -> Self {
        Encryptor { cipher }
    }

    /// Encrypts blocks in place.
    ///
    /// # Errors
    /// [`Error::DataLength`] unless the data are whole blocks of sixteen bytes.
    pub fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.cipher.encrypt_each(whole_blocks(data)?);
        Ok(())
    }
}

impl<C: BlockCipher> Decryptor<C> {
    /// Decryption under the cipher's key.
    pub fn new(cipher: C) -> Self {
        Decryptor { cipher }
    }

    /// Decrypts blocks in place.
    ///
    /// # Errors
    /// [`Error::DataLength`] unless the data are whole blocks of sixteen bytes.
    pub fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.cipher.decrypt_each(whole_blocks(data)?);
        Ok(())
    }
}

impl<C: BlockCipher> BlockMode for Encryptor<C> {
    fn blocks(&mut self, data: &mut [super::Block]) {
        self.cipher.encrypt_each(data);
    }
}

impl<C: BlockCipher> BlockMode for Decryptor<C> {
    fn blocks(&mut self, data: &mut [super::Block]) {
        self.cipher.decrypt_each(data);
    }
}

super::no_content!(Encryptor, Decryptor);
super::markers!(Encryptor as "ecb::Encryptor", Decryptor as "ecb::Decryptor");
