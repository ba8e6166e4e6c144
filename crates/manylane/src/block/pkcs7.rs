//! Padding of PKCS #7 (RFC 5652, clause 6.3) around [`cbc`](super::cbc) and [`ecb`](super::ecb):
//! messages of any length, in parts of any length.
//!
//! A message is filled up with n bytes of the value n, 1…16. What decrypts to something else is
//! [`Error::Decryption`], found in constant time. **That answer alone gives an attacker who may try many
//! ciphertexts the message**, unless these are authenticated first.

use subtle::{Choice, ConstantTimeEq as _, ConstantTimeGreater as _};
use zeroize::Zeroizing;

use super::{Block, mode::BlockMode};
use crate::{
    Error,
    ct::{reveal, wipe_bytes},
};

/// Encryption of a message that comes in parts of any length.
pub struct Encryptor<M> {
    mode: M,
    begun: Begun,
}

/// Decryption of a message that comes in parts of any length. It keeps the last block until the message
/// ends, since that may be padding.
pub struct Decryptor<M> {
    mode: M,
    begun: Begun,
}

/// Up to a block that waits for more.
#[derive(Default)]
struct Begun {
    bytes: Zeroizing<Block>,
    len: usize,
}

impl Begun {
    /// Passes on what `input` completes to whole blocks, through `mode`, and keeps at least `keep` bytes
    /// (0 or 1, and fewer if there are fewer). Says how many bytes were written.
    fn update(
        &mut self,
        mode: &mut impl BlockMode,
        keep: usize,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, Error> {
        let whole = (self.len + input.len()).saturating_sub(keep) / 16;
        if output.len() < 16 * whole {
            return Err(Error::OutputLength { expected: 16 * whole, got: output.len() });
        }
        let mut rest = input;
        if whole > 0 {
            let (now, later) = input.split_at(16 * whole - self.len);
            output[..self.len].copy_from_slice(&self.bytes[..self.len]);
            output[self.len..16 * whole].copy_from_slice(now);
            mode.blocks(output[..16 * whole].as_chunks_mut().0);
            (self.len, rest) = (0, later);
        }
        self.bytes[self.len..self.len + rest.len()].copy_from_slice(rest);
        self.len += rest.len();
        Ok(16 * whole)
    }
}

impl<M: BlockMode> Encryptor<M> {
    /// Begins a message: `mode` is an `Encryptor` of [`cbc`](super::cbc) or [`ecb`](super::ecb).
    pub fn new(mode: M) -> Self {
        Encryptor { mode, begun: Begun::default() }
    }

    /// Encrypts the next part into `output`, as far as it makes whole blocks; says how many bytes
    /// these are, at most 15 more than `input` has.
    ///
    /// # Errors
    /// [`Error::OutputLength`] if they do not fit. Nothing is done then.
    pub fn update(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, Error> {
        self.begun.update(&mut self.mode, 0, input, output)
    }

    /// The last block of the message.
    pub fn finalize(mut self) -> Block {
        let mut block = pad(&self.begun.bytes[..self.begun.len]);
        self.mode.blocks(core::slice::from_mut(&mut block));
        block
    }
}

impl<M: BlockMode> Decryptor<M> {
    /// Begins a message: `mode` is a `Decryptor` of [`cbc`](super::cbc) or [`ecb`](super::ecb).
    pub fn new(mode: M) -> Self {
        Decryptor { mode, begun: Begun::default() }
    }

    /// Decrypts the next part into `output`, but for the last 1…16 bytes so far; says how many bytes these
    /// are, at most 15 more than `input` has.
    ///
    /// # Errors
    /// [`Error::OutputLength`] if they do not fit. Nothing is done then.
    pub fn update(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, Error> {
        self.begun.update(&mut self.mode, 1, input, output)
    }

    /// The last 0…15 bytes of the message, without the padding.
    ///
    /// # Errors
    /// [`Error::DataLength`] unless all parts together are whole blocks, and at least one;
    /// [`Error::Decryption`] if they do not end with padding. What [`update`](Self::update) has written is then the
    /// caller's to wipe.
    pub fn finalize(mut self) -> Result<Zeroizing<Vec<u8>>, Error> {
        if self.begun.len != 16 {
            return Err(WHOLE);
        }
        let block = &mut *self.begun.bytes;
        self.mode.blocks(core::slice::from_mut(block));
        let len = unpad(block)?;
        Ok(Zeroizing::new(block[..len].to_vec()))
    }
}

/// Encrypts a message with its padding.
pub fn encrypt<M: BlockMode>(mut mode: M, message: &[u8]) -> Vec<u8> {
    let (whole, rest) = message.as_chunks::<16>();
    let mut data = Vec::with_capacity(message.len() + 16);
    data.extend_from_slice(whole.as_flattened());
    data.extend_from_slice(&*Zeroizing::new(pad(rest)));
    mode.blocks(data.as_chunks_mut().0);
    data
}

/// Decrypts a message in place and says which of these bytes it is. If it does not end with padding, all of
/// it is wiped.
///
/// # Errors
/// [`Error::DataLength`] unless there are whole blocks, and at least one; [`Error::Decryption`] if they do
/// not end with padding.
pub fn decrypt_in_place<M: BlockMode>(mut mode: M, data: &mut [u8]) -> Result<&mut [u8], Error> {
    let (blocks, []) = data.as_chunks_mut() else { return Err(WHOLE) };
    mode.blocks(blocks);
    let Some(last) = blocks.last() else { return Err(WHOLE) };
    match unpad(last) {
        Ok(len) => {
            let end = data.len() - 16 + len;
            Ok(&mut data[..end])
        }
        Err(error) => {
            wipe_bytes(data);
            Err(error)
        }
    }
}

const WHOLE: Error = Error::DataLength("padded data are whole blocks of 16 bytes, at least one");

fn pad(rest: &[u8]) -> Block {
    let mut block = [(16 - rest.len()) as u8; 16];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// Bytes of a message's last block that are not padding, for who keeps blocks back by itself. This takes constant time, but for
/// the answer.
///
/// # Errors
/// [`Error::Decryption`] if the block does not end with padding.
pub fn unpad(block: &Block) -> Result<usize, Error> {
    let n = block[15];
    let mut is_padding = !n.ct_eq(&0) & !n.ct_gt(&16);
    for (i, byte) in block.iter().enumerate() {
        let is_before: Choice = (16 - i as u8).ct_gt(&n);
        is_padding &= is_before | byte.ct_eq(&n);
    }
    if !reveal(is_padding) {
        return Err(Error::Decryption);
    }
    // Its length becomes public as the message's does.
    let n = (1..16).find(|i| reveal(n.ct_eq(i))).unwrap_or(16);
    Ok(16 - usize::from(n))
}

super::no_content!(Encryptor, Decryptor);

#[cfg(test)]
mod tests {
    use super::*;

    /// Every last byte with every number of bytes before it that are right.
    #[test]
    fn padding_is_checked_to_its_last_byte() {
        for n in 0..=255u8 {
            for right in 1..=16 {
                let mut block = [n ^ 0x5a; 16];
                block[16 - right..].fill(n);
                let expected = (1..=16).contains(&n) && right >= usize::from(n);
                assert_eq!(
                    unpad(&block).ok(),
                    expected.then(|| 16 - usize::from(n)),
                    "{n} {right}"
                );
            }
        }
        for len in 0..16 {
            assert_eq!(unpad(&pad(&[0x77; 16][..len])), Ok(len));
        }
    }
}
