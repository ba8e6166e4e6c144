//! Output feedback (NIST SP 800-38A, clause 6.4): a key stream that is a chain.
//!
//! It cannot be computed in parallel; [`Ctr128`](super::Ctr128) has the same use and can. The IV must be unique
//! under its key.

use cipher::{InnerIvInit, Iv, IvSizeUser, StreamCipher, common::InnerUser, consts::U16};
use zeroize::Zeroizing;

use super::{
    Block, BlockCipher,
    parts::{split, xor},
    stream::{self, KeyStream},
};

/// Encryption and decryption, which are the same, in parts of any length.
///
/// ```
/// use manylane::{block::Ofb, sm4::Sm4};
///
/// let mut data = *b"a message";
/// Ofb::new(Sm4::new(&[1; 16]), &[2; 16]).update(&mut data);
/// Ofb::new(Sm4::new(&[1; 16]), &[2; 16]).update(&mut data);
/// assert_eq!(&data, b"a message");
/// ```
#[derive(Clone)]
pub struct Ofb<C> {
    cipher: C,
    /// O_j of the standard.
    output: Zeroizing<Block>,
    /// Bytes of it that were used, 0 for all.
    used: usize,
}

impl<C: BlockCipher> Ofb<C> {
    /// Begins a message.
    pub fn new(cipher: C, iv: &Block) -> Self {
        Ofb { cipher, output: Zeroizing::new(*iv), used: 0 }
    }

    /// The next part of the message, in place.
    pub fn update(&mut self, data: &mut [u8]) {
        let (head, whole, tail) = split(self.used, data);
        xor(head, &self.output[self.used..]);
        self.used = (self.used + head.len()) % 16;
        self.cipher.ofb_xor(&mut self.output, whole);
        if !tail.is_empty() {
            self.cipher.encrypt_one(&mut self.output);
            xor(tail, &self.output[..]);
            self.used = tail.len();
        }
    }
}

impl<C: BlockCipher> KeyStream for Ofb<C> {
    fn has(&self, _: usize) -> bool {
        true
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.update(data);
    }
}

impl<C> InnerUser for Ofb<C> {
    type Inner = C;
}

impl<C> IvSizeUser for Ofb<C> {
    type IvSize = U16;
}

impl<C: BlockCipher> InnerIvInit for Ofb<C> {
    fn inner_iv_init(cipher: C, iv: &Iv<Self>) -> Self {
        Ofb::new(cipher, &iv.0)
    }
}

impl<C: BlockCipher> StreamCipher for Ofb<C> {
    stream::functions!();
}

super::no_content!(Ofb);
