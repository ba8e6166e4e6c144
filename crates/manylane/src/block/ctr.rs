//! Counter mode (NIST SP 800-38A, clause 6.5): a key stream in which every block stands by itself.

use cipher::{
    InnerIvInit, Iv, IvSizeUser, OverflowError, SeekNum, StreamCipher, StreamCipherError,
    StreamCipherSeek,
    common::{AlgorithmName, InnerUser},
    consts::U16,
};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::{
    Block, BlockCipher,
    parts::{split, xor},
    stream::{self, KeyStream},
};
use crate::Error;

/// A counter in the last 4 bytes of the block: 64 GiB under one nonce of 12 bytes.
pub type Ctr32<C> = Ctr<C, 32>;
/// A counter in the last 8 bytes of the block.
pub type Ctr64<C> = Ctr<C, 64>;
/// A counter in the whole block, as OpenSSL and SP 800-38A's examples have it.
pub type Ctr128<C> = Ctr<C, 128>;

/// Encryption and decryption, which are the same, in parts of any length and at any place.
///
/// The first counter block is given; the last `BITS` bits of it, 32, 64 or 128, count as a big-endian number
/// modulo 2^`BITS` (Appendix B.1), and the others stay. A counter never comes round to where it began: that
/// would be [`Error::CounterWrap`]. **No counter block may be used twice under a key**, so give each message a
/// first one that none of the others comes to.
///
/// ```
/// use manylane::{aes::Aes128, block::Ctr128};
///
/// let mut data = *b"a message in two parts";
/// let ctr = Ctr128::new(Aes128::new(&[1; 16]), &[2; 16]);
/// let mut encryptor = ctr.clone();
/// encryptor.update(&mut data[..9])?;
/// encryptor.update(&mut data[9..])?;
///
/// ctr.xor(13, &mut data[13..])?; // in any order, and from any thread
/// assert_eq!(&data[13..], b"two parts");
/// # Ok::<(), manylane::Error>(())
/// ```
#[derive(Clone)]
pub struct Ctr<C, const BITS: u32> {
    cipher: C,
    /// The first counter block.
    first: Block,
    /// Bytes of key stream before the next.
    position: u64,
    /// The block of key stream that `position` is within, if it is within one.
    stream: Zeroizing<Block>,
}

impl<C: BlockCipher, const BITS: u32> Ctr<C, BITS> {
    /// Bytes of key stream: 16 · 2³², or what a position can name.
    const LENGTH: u64 = {
        assert!(BITS == 32 || BITS == 64 || BITS == 128, "counters have 32, 64 or 128 bits");
        if BITS == 32 { 1 << 36 } else { u64::MAX }
    };

    /// The key stream that begins with the given counter block.
    pub fn new(cipher: C, first: &Block) -> Self {
        Ctr { cipher, first: *first, position: 0, stream: Zeroizing::new([0; 16]) }
    }

    /// The next part of the message, in place.
    ///
    /// # Errors
    /// [`Error::CounterWrap`] if the key stream ends before the data do. Nothing is changed then.
    pub fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        check::<BITS>(Self::LENGTH, self.position, data.len())?;
        self.apply(data);
        Ok(())
    }

    /// Bytes from the beginning of the key stream to what comes next.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Goes to a place in the key stream, in bytes from its beginning.
    ///
    /// # Errors
    /// [`Error::CounterWrap`] if it is past the end of the key stream.
    pub fn set_position(&mut self, position: u64) -> Result<(), Error> {
        check::<BITS>(Self::LENGTH, position, 0)?;
        self.position = position;
        if !position.is_multiple_of(16) {
            self.begin(position / 16);
        }
        Ok(())
    }

    /// Xors the key stream from byte `position` on into `data`, wherever [`update`](Self::update) is.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn xor(&self, position: u64, data: &mut [u8]) -> Result<(), Error> {
        check::<BITS>(Self::LENGTH, position, data.len())?;
        let used = (position % 16) as usize;
        let (head, whole, tail) = split(used, data);
        let mut block = position / 16;
        if !head.is_empty() {
            xor(head, &self.block(block)[used..]);
            block += 1;
        }
        xor_counters(&self.cipher, BITS, &self.first, block, whole);
        if !tail.is_empty() {
            xor(tail, &self.block(block + whole.len() as u64)[..]);
        }
        Ok(())
    }

    /// A block of key stream.
    fn block(&self, block: u64) -> Zeroizing<Block> {
        let mut stream = Zeroizing::new(counter(BITS, &self.first, block));
        self.cipher.encrypt_one(&mut stream);
        stream
    }

    fn begin(&mut self, block: u64) {
        *self.stream = counter(BITS, &self.first, block);
        self.cipher.encrypt_one(&mut self.stream);
    }
}

fn check<const BITS: u32>(length: u64, position: u64, more: usize) -> Result<(), Error> {
    match position.checked_add(more as u64) {
        Some(end) if end <= length => Ok(()),
        _ => Err(Error::CounterWrap),
    }
}

impl<C: BlockCipher, const BITS: u32> KeyStream for Ctr<C, BITS> {
    fn has(&self, len: usize) -> bool {
        check::<BITS>(Self::LENGTH, self.position, len).is_ok()
    }

    fn apply(&mut self, data: &mut [u8]) {
        let used = (self.position % 16) as usize;
        let len = data.len() as u64;
        let (head, whole, tail) = split(used, data);
        xor(head, &self.stream[used..]);
        let block = self.position.div_ceil(16);
        xor_counters(&self.cipher, BITS, &self.first, block, whole);
        if !tail.is_empty() {
            self.begin(block + whole.len() as u64);
            xor(tail, &self.stream[..]);
        }
        self.position = self.position.wrapping_add(len);
    }
}

/// The counter block `block` after `first`, of which the last `bits` count.
pub(super) fn counter(bits: u32, first: &Block, block: u64) -> Block {
    let first = u128::from_be_bytes(*first);
    let sum = first.wrapping_add(u128::from(block));
    let counts = u128::MAX >> (128 - bits);
    (first & !counts | sum & counts).to_be_bytes()
}

/// Xors whole blocks of key stream, from `block` on, into `data`. Kernels count 32 bits; where more count,
/// they stop at each carry.
pub(super) fn xor_counters(
    cipher: &impl BlockCipher,
    bits: u32,
    first: &Block,
    mut block: u64,
    mut data: &mut [Block],
) {
    while !data.is_empty() {
        let counter = counter(bits, first, block);
        let low = u32::from_be_bytes(counter[12..].try_into().expect("four bytes"));
        let to_carry = if bits == 32 { u64::MAX } else { (1 << 32) - u64::from(low) };
        let run = to_carry.min(data.len() as u64) as usize;
        let (now, later) = data.split_at_mut(run);
        cipher.xor_counters(&counter, now);
        (block, data) = (block + run as u64, later);
    }
}

impl<C: BlockCipher, const BITS: u32> StreamCipherSeek for Ctr<C, BITS> {
    fn try_current_pos<T: SeekNum>(&self) -> Result<T, OverflowError> {
        // The blocks begun, and the bytes used of the last of them.
        let used = match (self.position % 16) as u8 {
            0 => 16,
            used => used,
        };
        T::from_block_byte(self.position.div_ceil(16), used, 16)
    }

    fn try_seek<T: SeekNum>(&mut self, position: T) -> Result<(), StreamCipherError> {
        let (block, byte) = position.into_block_byte::<u64>(16)?;
        let position = block.checked_mul(16).and_then(|start| start.checked_add(byte.into()));
        self.set_position(position.ok_or(StreamCipherError)?).map_err(|_| StreamCipherError)
    }
}

impl<C, const BITS: u32> InnerUser for Ctr<C, BITS> {
    type Inner = C;
}

impl<C, const BITS: u32> IvSizeUser for Ctr<C, BITS> {
    type IvSize = U16;
}

impl<C: BlockCipher, const BITS: u32> InnerIvInit for Ctr<C, BITS> {
    fn inner_iv_init(cipher: C, first: &Iv<Self>) -> Self {
        Ctr::new(cipher, &first.0)
    }
}

impl<C: BlockCipher, const BITS: u32> StreamCipher for Ctr<C, BITS> {
    stream::functions!();
}

impl<C: ZeroizeOnDrop, const BITS: u32> ZeroizeOnDrop for Ctr<C, BITS> {}

impl<C: AlgorithmName, const BITS: u32> AlgorithmName for Ctr<C, BITS> {
    fn write_alg_name(f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Ctr{BITS}<")?;
        C::write_alg_name(f)?;
        f.write_str(">")
    }
}

impl<C, const BITS: u32> core::fmt::Debug for Ctr<C, BITS> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ctr").finish_non_exhaustive()
    }
}
