//! Cipher feedback (NIST SP 800-38A, clause 6.3) with segments of one byte (CFB-8).
//!
//! It costs a block of the cipher for each byte, and is there to read and write what others use.

use cipher::{InnerIvInit, Iv, IvSizeUser, common::InnerUser, consts::U16};
use zeroize::Zeroizing;

use super::{Block, BlockCipher};

/// Bytes that are decrypted together.
const MANY: usize = 64;

/// Encryption in parts of any length.
#[derive(Clone)]
pub struct Encryptor<C> {
    cipher: C,
    /// The last sixteen bytes of ciphertext.
    register: Block,
}

/// Decryption in parts of any length.
#[derive(Clone)]
pub struct Decryptor<C> {
    cipher: C,
    /// The last sixteen bytes of ciphertext.
    register: Block,
}

impl<C: BlockCipher> Encryptor<C> {
    /// Begins a message.
    pub fn new(cipher: C, iv: &Block) -> Self {
        Encryptor { cipher, register: *iv }
    }

    /// The next part of the message, in place.
    pub fn update(&mut self, data: &mut [u8]) {
        let mut stream = Zeroizing::new([0; 16]);
        for byte in data {
            *stream = self.register;
            self.cipher.encrypt_one(&mut stream);
            *byte ^= stream[0];
            self.register = shifted(&self.register, *byte);
        }
    }
}

impl<C: BlockCipher> Decryptor<C> {
    /// Begins a message.
    pub fn new(cipher: C, iv: &Block) -> Self {
        Decryptor { cipher, register: *iv }
    }

    /// The next part of the message, in place.
    pub fn update(&mut self, data: &mut [u8]) {
        let mut streams = Zeroizing::new([[0; 16]; MANY]);
        for data in data.chunks_mut(MANY) {
            let streams = &mut streams[..data.len()];
            for (stream, byte) in streams.iter_mut().zip(data.iter()) {
                *stream = self.register;
                self.register = shifted(&self.register, *byte);
            }
            self.cipher.encrypt_each(streams);
            for (stream, byte) in streams.iter().zip(data) {
                *byte ^= stream[0];
            }
        }
    }
}

/// The register after a byte of ciphertext.
fn shifted(register: &Block, byte: u8) -> Block {
    (u128::from_be_bytes(*register) << 8 | u128::from(byte)).to_be_bytes()
}

macro_rules! traits {
    ($name:ident) => {
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

traits!(Encryptor);
traits!(Decryptor);
super::no_content!(Encryptor, Decryptor);
