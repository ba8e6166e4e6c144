//! Cipher block chaining (NIST SP 800-38A, clause 6.2).
//!
//! Encryption is a chain, decryption is not: a message decrypts many times as fast as it encrypts. Many
//! messages encrypt side by side with [`cbc_encrypt_many`](super::cbc_encrypt_many). The IV must be
//! unpredictable (Appendix C), and nothing here tells whether a message was altered: authenticate it, or take
//! [`Gcm`](super::Gcm).
//!
//! The types here take whole blocks. [`pkcs7`](super::pkcs7) puts padding around them:
//!
//! ```
//! use manylane::{aes::Aes256, block::{cbc, pkcs7}};
//!
//! let (aes, iv) = (Aes256::new(&[1; 32]), [2; 16]);
//! let mut sealed = [0; 32];
//! let mut encryptor = pkcs7::Encryptor::new(cbc::Encryptor::new(aes.clone(), &iv));
//! let n = encryptor.update(b"a message of any length", &mut sealed)?;
//! sealed[n..].copy_from_slice(&encryptor.finalize());
//!
//! let message = pkcs7::decrypt_in_place(cbc::Decryptor::new(aes, &iv), &mut sealed)?;
//! assert_eq!(message, b"a message of any length");
//! # Ok::<(), manylane::Error>(())
//! ```

use cipher::{
    BlockModeDecBackend, BlockModeDecClosure, BlockModeDecrypt, BlockModeEncBackend,
    BlockModeEncClosure, BlockModeEncrypt, BlockSizeUser, InnerIvInit, Iv, IvSizeUser, IvState,
    ParBlocks, ParBlocksSizeUser,
    common::InnerUser,
    consts::{U1, U16, U32},
    inout::InOut,
};

use super::{Block, BlockCipher, mode::BlockMode, whole_blocks};
use crate::Error;

/// Encrypts whole blocks in place, part after part.
#[derive(Clone)]
pub struct Encryptor<C> {
    cipher: C,
    iv: Block,
}

/// Decrypts whole blocks in place, part after part.
#[derive(Clone)]
pub struct Decryptor<C> {
    cipher: C,
    iv: Block,
}

impl<C: BlockCipher> Encryptor<C> {
    /// Begins a message.
    pub fn new(cipher: C, iv: &Block) -> Self {
        Encryptor { cipher, iv: *iv }
    }

    /// The next blocks of the message, in place.
    ///
    /// # Errors
    /// [`Error::DataLength`] unless the data are whole blocks of sixteen bytes.
    pub fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.blocks(whole_blocks(data)?);
        Ok(())
    }
}

impl<C: BlockCipher> Decryptor<C> {
    /// Begins a message.
    pub fn new(cipher: C, iv: &Block) -> Self {
        Decryptor { cipher, iv: *iv }
    }

    /// The next blocks of the message, in place.
    ///
    /// # Errors
    /// [`Error::DataLength`] unless the data are whole blocks of sixteen bytes.
    pub fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.blocks(whole_blocks(data)?);
        Ok(())
    }
}

impl<C: BlockCipher> BlockMode for Encryptor<C> {
    fn blocks(&mut self, data: &mut [Block]) {
        self.cipher.cbc_encrypt(&mut self.iv, data);
    }
}

impl<C: BlockCipher> BlockMode for Decryptor<C> {
    fn blocks(&mut self, data: &mut [Block]) {
        self.cipher.cbc_decrypt(&mut self.iv, data);
    }
}

macro_rules! traits {
    ($name:ident) => {
        impl<C> BlockSizeUser for $name<C> {
            type BlockSize = U16;
        }

        impl<C> InnerUser for $name<C> {
            type Inner = C;
        }

        impl<C> IvSizeUser for $name<C> {
            type IvSize = U16;
        }

        impl<C: BlockCipher> InnerIvInit for $name<C> {
            fn inner_iv_init(cipher: C, iv: &Iv<Self>) -> Self {
                $name::new(cipher, &iv.0)
            }
        }

        impl<C: BlockCipher> IvState for $name<C> {
            fn iv_state(&self) -> Iv<Self> {
                self.iv.into()
            }
        }
    };
}

traits!(Encryptor);
traits!(Decryptor);
super::no_content!(Encryptor, Decryptor);
super::markers!(Encryptor as "cbc::Encryptor", Decryptor as "cbc::Decryptor");

/// The blocks that the `cipher` crate hands over, one or many.
struct Backend<'a, M>(&'a mut M);

impl<M> BlockSizeUser for Backend<'_, M> {
    type BlockSize = U16;
}

impl<C: BlockCipher> BlockModeEncrypt for Encryptor<C> {
    fn encrypt_with_backend(&mut self, f: impl BlockModeEncClosure<BlockSize = U16>) {
        f.call(&mut Backend(self));
    }
}

impl<C> ParBlocksSizeUser for Backend<'_, Encryptor<C>> {
    type ParBlocksSize = U1;
}

impl<C: BlockCipher> BlockModeEncBackend for Backend<'_, Encryptor<C>> {
    fn encrypt_block(&mut self, mut block: InOut<'_, '_, cipher::Block<Self>>) {
        let mut data = block.clone_in().0;
        self.0.blocks(core::slice::from_mut(&mut data));
        block.get_out().0 = data;
    }
}

impl<C: BlockCipher> BlockModeDecrypt for Decryptor<C> {
    fn decrypt_with_backend(&mut self, f: impl BlockModeDecClosure<BlockSize = U16>) {
        f.call(&mut Backend(self));
    }
}

impl<C> ParBlocksSizeUser for Backend<'_, Decryptor<C>> {
    type ParBlocksSize = U32;
}

impl<C: BlockCipher> BlockModeDecBackend for Backend<'_, Decryptor<C>> {
    fn decrypt_block(&mut self, mut block: InOut<'_, '_, cipher::Block<Self>>) {
        let mut data = block.clone_in().0;
        self.0.blocks(core::slice::from_mut(&mut data));
        block.get_out().0 = data;
    }

    fn decrypt_par_blocks(&mut self, mut blocks: InOut<'_, '_, ParBlocks<Self>>) {
        let data = blocks.clone_in();
        let out = blocks.get_out();
        *out = data;
        self.0.blocks(cipher::Array::cast_slice_to_core_mut(out));
    }
}
