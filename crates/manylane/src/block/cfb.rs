//! Cipher feedback (NIST SP 800-38A, clause 6.3), with segments of a block (CFB-128).
//!
//! Encryption is a chain, decryption is not. The IV must be unpredictable. With segments of one byte:
//! [`cfb8`](super::cfb8).

use cipher::{InnerIvInit, Iv, IvSizeUser, common::InnerUser, consts::U16};
use zeroize::Zeroizing;

use super::{Block, BlockCipher, parts::split};

/// Encryption in parts of any length.
///
/// ```
/// use manylane::{block::cfb, sm4::Sm4};
///
/// let mut data = *b"a message";
/// cfb::Encryptor::new(Sm4::new(&[1; 16]), &[2; 16]).update(&mut data);
/// cfb::Decryptor::new(Sm4::new(&[1; 16]), &[2; 16]).update(&mut data);
/// assert_eq!(&data, b"a message");
/// ```
#[derive(Clone)]
pub struct Encryptor<C> {
    cipher: C,
    register: Register,
}

/// Decryption in parts of any length.
#[derive(Clone)]
pub struct Decryptor<C> {
    cipher: C,
    register: Register,
}

/// The last block of ciphertext; or of a block that has begun, its ciphertext and then the key stream for
/// the rest of it.
#[derive(Clone)]
struct Register {
    block: Zeroizing<Block>,
    /// Bytes of ciphertext of a block that has begun, else 0.
    used: usize,
}

impl Register {
    fn new(iv: &Block) -> Self {
        Register { block: Zeroizing::new(*iv), used: 0 }
    }

    /// Bytes of a block that has begun.
    fn bytes(&mut self, data: &mut [u8], encrypts: bool) {
        for (byte, register) in data.iter_mut().zip(&mut self.block[self.used..]) {
            let result = *byte ^ *register;
            *register = if encrypts { result } else { *byte };
            *byte = result;
        }
        self.used = (self.used + data.len()) % 16;
    }
}

macro_rules! direction {
    ($name:ident, $encrypts:literal, $blocks:ident) => {
        impl<C: BlockCipher> $name<C> {
            /// Begins a message.
            pub fn new(cipher: C, iv: &Block) -> Self {
                $name { cipher, register: Register::new(iv) }
            }

            /// The next part of the message, in place.
            pub fn update(&mut self, data: &mut [u8]) {
                let (head, whole, tail) = split(self.register.used, data);
                self.register.bytes(head, $encrypts);
                self.cipher.$blocks(&mut self.register.block, whole);
                if !tail.is_empty() {
                    self.cipher.encrypt_one(&mut self.register.block);
                    self.register.bytes(tail, $encrypts);
                }
            }
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
    };
}

direction!(Encryptor, true, cfb_encrypt);
direction!(Decryptor, false, cfb_decrypt);
super::no_content!(Encryptor, Decryptor);
