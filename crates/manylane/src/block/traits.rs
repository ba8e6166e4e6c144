//! The ciphers as the `cipher` crate wants them, so that they go into anybody's modes.

use cipher::{
    Array, Block, BlockCipherDecBackend, BlockCipherEncBackend, BlockSizeUser, ParBlocks,
    ParBlocksSizeUser,
    consts::{U16, U32},
    inout::{InOut, InOutBuf},
};

use super::BlockCipher;

/// Kernels for the blocks that the `cipher` crate hands over.
pub(crate) struct Backend<'c, C>(pub(crate) &'c C);

impl<C> BlockSizeUser for Backend<'_, C> {
    type BlockSize = U16;
}

impl<C> ParBlocksSizeUser for Backend<'_, C> {
    type ParBlocksSize = U32;
}

macro_rules! backend {
    ($backend:ident, $each:ident, $block:ident, $par_blocks:ident, $tail_blocks:ident) => {
        impl<C: BlockCipher> $backend for Backend<'_, C> {
            fn $block(&self, mut block: InOut<'_, '_, Block<Self>>) {
                let out = block.clone_in();
                *block.get_out() = out;
                self.0.$each(core::slice::from_mut(&mut block.get_out().0));
            }

            fn $par_blocks(&self, mut blocks: InOut<'_, '_, ParBlocks<Self>>) {
                let out = blocks.clone_in();
                *blocks.get_out() = out;
                self.0.$each(Array::cast_slice_to_core_mut(blocks.get_out()));
            }

            fn $tail_blocks(&self, blocks: InOutBuf<'_, '_, Block<Self>>) {
                let out = blocks.into_out_with_copied_in();
                self.0.$each(Array::cast_slice_to_core_mut(out));
            }
        }
    };
}

backend!(
    BlockCipherEncBackend,
    encrypt_each,
    encrypt_block,
    encrypt_par_blocks,
    encrypt_tail_blocks
);
backend!(
    BlockCipherDecBackend,
    decrypt_each,
    decrypt_block,
    decrypt_par_blocks,
    decrypt_tail_blocks
);

/// The traits of the `cipher` crate for a cipher with keys of a size in bytes.
macro_rules! cipher_traits {
    ($cipher:ty, $key_size:ident, $name:literal) => {
        // Its round keys wipe themselves.
        impl zeroize::ZeroizeOnDrop for $cipher {}

        impl cipher::common::AlgorithmName for $cipher {
            fn write_alg_name(f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str($name)
            }
        }

        impl cipher::KeySizeUser for $cipher {
            type KeySize = cipher::consts::$key_size;
        }

        impl cipher::KeyInit for $cipher {
            fn new(key: &cipher::Key<Self>) -> Self {
                <$cipher>::new(&key.0)
            }
        }

        impl cipher::BlockSizeUser for $cipher {
            type BlockSize = cipher::consts::U16;
        }

        impl cipher::BlockCipherEncrypt for $cipher {
            fn encrypt_with_backend(
                &self,
                f: impl cipher::BlockCipherEncClosure<BlockSize = Self::BlockSize>,
            ) {
                f.call(&$crate::block::traits::Backend(self));
            }

            fn encrypt_blocks_inout(
                &self,
                blocks: cipher::inout::InOutBuf<'_, '_, cipher::Block<Self>>,
            ) {
                let blocks =
                    cipher::Array::cast_slice_to_core_mut(blocks.into_out_with_copied_in());
                $crate::block::kernels::Kernels::encrypt_each(self, blocks);
            }

            fn encrypt_blocks(&self, blocks: &mut [cipher::Block<Self>]) {
                let blocks = cipher::Array::cast_slice_to_core_mut(blocks);
                $crate::block::kernels::Kernels::encrypt_each(self, blocks);
            }
        }

        impl cipher::BlockCipherDecrypt for $cipher {
            fn decrypt_with_backend(
                &self,
                f: impl cipher::BlockCipherDecClosure<BlockSize = Self::BlockSize>,
            ) {
                f.call(&$crate::block::traits::Backend(self));
            }

            fn decrypt_blocks_inout(
                &self,
                blocks: cipher::inout::InOutBuf<'_, '_, cipher::Block<Self>>,
            ) {
                let blocks =
                    cipher::Array::cast_slice_to_core_mut(blocks.into_out_with_copied_in());
                $crate::block::kernels::Kernels::decrypt_each(self, blocks);
            }

            fn decrypt_blocks(&self, blocks: &mut [cipher::Block<Self>]) {
                let blocks = cipher::Array::cast_slice_to_core_mut(blocks);
                $crate::block::kernels::Kernels::decrypt_each(self, blocks);
            }
        }
    };
}
cipher_traits!(crate::aes::Aes128, U16, "Aes128");
cipher_traits!(crate::aes::Aes192, U24, "Aes192");
cipher_traits!(crate::aes::Aes256, U32, "Aes256");
cipher_traits!(crate::sm4::Sm4, U16, "Sm4");
