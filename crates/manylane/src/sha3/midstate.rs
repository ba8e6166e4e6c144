//! A sponge after a prefix.

use ::core::fmt;

use zeroize::ZeroizeOnDrop;

use super::{Function, Kernel, dispatch::Stream, encoding::absorb_bytepad, pad, write_bytes};
use crate::ct::{wipe_bytes, wipe_long_words};

/// Bytes of the longest block: SHAKE128's.
pub(super) const MAX_RATE: usize = 168;

/// Blocks that no prefix has: its length in bytes must fit 64 bits.
pub(super) const MAX_BLOCKS: u64 = 1 << 56;

/// A sponge after a prefix: what many messages with a common beginning start from.
///
/// The prefix may have any length; cSHAKE's customization and KMAC's key are such prefixes.
///
/// ```
/// use manylane::sha3::{self, Function, Midstate};
///
/// let (mut digest, mut whole) = ([0; 32], [0; 32]);
/// Midstate::after(Function::SHA3_256, b"salt").finish(b"data", &mut digest);
/// sha3::hash(Function::SHA3_256, b"saltdata", &mut whole);
/// assert_eq!(digest, whole);
/// ```
#[derive(Clone)]
pub struct Midstate {
    pub(super) function: Function,
    /// State after the prefix's full blocks.
    pub(super) a: [u64; 25],
    /// Number of those blocks.
    pub(super) blocks: u64,
    /// The prefix's last, incomplete block.
    pub(super) rest: [u8; MAX_RATE],
    /// Bytes in `rest`, below the rate.
    pub(super) rest_len: usize,
}

impl Midstate {
    /// The sponge after nothing.
    pub fn new(function: Function) -> Self {
        Midstate { function, a: [0; 25], blocks: 0, rest: [0; MAX_RATE], rest_len: 0 }
    }

    /// The sponge after `prefix`.
    pub fn after(function: Function, prefix: &[u8]) -> Self {
        let mut state = Midstate::new(function);
        state.absorb(prefix, Stream::best());
        state
    }

    /// cSHAKE (SP 800-185, clause 3.3) after its function `name`, which NIST defines, and the
    /// user's `customization`: what its messages start from. Without either it is SHAKE.
    ///
    /// # Panics
    /// Unless `function` is [`Function::CSHAKE128`] or [`Function::CSHAKE256`], of any length of
    /// output.
    pub fn customized(function: Function, name: &[u8], customization: &[u8]) -> Self {
        let shake = function.without_customization();
        if name.is_empty() && customization.is_empty() {
            return Midstate::new(shake);
        }
        let mut state = Midstate::new(function);
        absorb_bytepad(&mut state, &[name, customization], Stream::best());
        state
    }

    /// The sponge after a prefix of `blocks` full blocks that leads to the state `a`: what a
    /// message that leaves a lane goes on from as a stream.
    ///
    /// # Panics
    /// If `blocks` is 2⁵⁶ or more: a message has fewer than 2⁶⁴ bytes.
    pub fn from_parts(function: Function, a: &[u64; 25], blocks: u64) -> Self {
        assert!(blocks < MAX_BLOCKS, "a prefix of {blocks} blocks");
        Midstate { a: *a, blocks, ..Midstate::new(function) }
    }

    /// The function whose sponge it is.
    pub fn function(&self) -> Function {
        self.function
    }

    /// The same prefix for an XOF of another length of output, in bytes.
    ///
    /// # Panics
    /// If the function is no XOF.
    pub fn with_output_len(mut self, output_len: usize) -> Self {
        self.function = self.function.with_output_len(output_len);
        self
    }

    /// The state after the prefix's full blocks: word (x, y) at index x + 5 y;
    /// [`rest`](Self::rest) follows them.
    pub fn words(&self) -> &[u64; 25] {
        &self.a
    }

    /// The bytes after the prefix's last full block, fewer than the rate.
    pub fn rest(&self) -> &[u8] {
        &self.rest[..self.rest_len]
    }

    /// Length of the prefix in bytes.
    pub fn prefix_len(&self) -> u64 {
        self.blocks * self.function.rate() as u64 + self.rest_len as u64
    }

    /// The sponge after this midstate's prefix and `more`.
    pub fn then(&self, more: &[u8]) -> Self {
        let mut next = self.clone();
        next.absorb(more, Stream::best());
        next
    }

    /// The output for the prefix followed by `message`.
    ///
    /// # Panics
    /// If the function is no XOF, and `out` is not as long as its output.
    pub fn finish(&self, message: &[u8], out: &mut [u8]) {
        self.function.check_output(out.len());
        self.finish_on([message, &[]], out, Stream::best());
    }

    /// [`finish`](Self::finish) of a message in two parts on a given kernel, and which one it was.
    pub(super) fn finish_on(&self, parts: [&[u8]; 2], out: &mut [u8], stream: Stream) -> Kernel {
        let mut state = self.clone();
        for part in parts {
            state.absorb(part, stream);
        }
        let kernel = state.pad(stream);
        squeeze(stream, self.function, &mut state.a, out);
        kernel
    }

    /// Replaces the bytes after the prefix's last full block.
    ///
    /// # Panics
    /// Unless they are fewer than the rate.
    pub(super) fn set_rest(&mut self, rest: &[u8]) {
        assert!(rest.len() < self.function.rate(), "a whole block");
        self.rest[..rest.len()].copy_from_slice(rest);
        self.rest_len = rest.len();
    }

    /// Goes on over `more`; the kernel that did, if a block was full.
    pub(crate) fn absorb(&mut self, mut more: &[u8], stream: Stream) -> Option<Kernel> {
        let mut kernel = None;
        let (rate, rounds) = (self.function.rate(), self.function.permutation());
        if self.rest_len > 0 {
            let take = more.len().min(rate - self.rest_len);
            self.rest[self.rest_len..][..take].copy_from_slice(&more[..take]);
            self.rest_len += take;
            more = &more[take..];
            if self.rest_len < rate {
                return None;
            }
            kernel = Some(stream.absorb(&mut self.a, rounds, rate, &self.rest[..rate]));
            self.blocks += 1;
        }
        let (blocks, rest) = more.split_at(more.len() / rate * rate);
        if !blocks.is_empty() {
            kernel = Some(stream.absorb(&mut self.a, rounds, rate, blocks));
            self.blocks += (blocks.len() / rate) as u64;
        }
        self.rest[..rest.len()].copy_from_slice(rest);
        self.rest_len = rest.len();
        kernel
    }

    /// Absorbs the padded last block: the state is then the first block of output.
    pub(super) fn pad(&mut self, stream: Stream) -> Kernel {
        let mut last = [0; MAX_RATE];
        let rate = pad(self.function, &self.rest[..self.rest_len], &mut last);
        let kernel = stream.absorb(&mut self.a, self.function.permutation(), rate, &last[..rate]);
        wipe_bytes(&mut last);
        kernel
    }
}

impl fmt::Debug for Midstate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Midstate { ... }")
    }
}

impl Drop for Midstate {
    fn drop(&mut self) {
        wipe_long_words(&mut self.a);
        wipe_bytes(&mut self.rest);
    }
}

impl ZeroizeOnDrop for Midstate {}

/// Fills `out` from a state that holds the first block of output.
pub(super) fn squeeze(stream: Stream, function: Function, a: &mut [u64; 25], out: &mut [u8]) {
    for (block, out) in out.chunks_mut(function.rate()).enumerate() {
        if block > 0 {
            stream.permute(a, function.permutation());
        }
        write_bytes(a, out);
    }
}
