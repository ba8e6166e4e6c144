//! One stream: the RustCrypto `digest` traits, and the midstate.

use ::core::fmt;

use digest::{
    HashMarker, Output, OutputSizeUser, Reset,
    block_api::{
        AlgorithmName, Block, BlockSizeUser, Buffer, BufferKindUser, CoreProxy, Eager,
        FixedOutputCore, UpdateCore,
    },
    common::hazmat::{DeserializeStateError, SerializableState, SerializedState},
    typenum::{U32, U40, U64},
};
use zeroize::ZeroizeOnDrop;

use super::{DIGEST_LEN, IV, Kernel, dispatch::Stream, pad, write_bytes};
use crate::{
    Error,
    cpu::Machine,
    ct::{wipe_bytes, wipe_words},
};

/// The block-level state of [`Sm3`]: chaining value and number of blocks absorbed.
#[derive(Clone)]
pub struct Sm3Core {
    v: [u32; 8],
    blocks: u64,
    stream: Stream,
    kernel: Option<Kernel>,
}

digest::buffer_fixed!(
    /// SM3 of one stream, by the RustCrypto [`Digest`](digest::Digest) traits.
    ///
    /// ```
    /// use manylane::sm3::{self, Digest, Sm3};
    ///
    /// let mut sm3 = Sm3::new();
    /// sm3.update(b"a");
    /// sm3.update(b"bc");
    /// assert_eq!(sm3.finalize()[..], sm3::hash(b"abc"));
    /// ```
    pub struct Sm3(Sm3Core);
    impl: FixedHashTraits;
);

/// The object identifier of SM3 in GM/T 0006.
impl digest::const_oid::AssociatedOid for Sm3 {
    const OID: digest::const_oid::ObjectIdentifier =
        digest::const_oid::ObjectIdentifier::new_unwrap("1.2.156.10197.1.401");
}

impl ZeroizeOnDrop for Sm3 {}

/// Blocks that no message has: clause 5.2 limits it to fewer than 2^64 bits.
const MAX_BLOCKS: u64 = 1 << 55;

impl Sm3 {
    /// A hasher on one machine, for tests and comparisons.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the machine has no kernel for one stream, or this processor
    /// lacks it.
    pub fn new_on(machine: Machine) -> Result<Self, Error> {
        let core = Sm3Core { stream: Stream::on(machine)?, ..Sm3Core::default() };
        Ok(Sm3::compose(core, Buffer::<Sm3Core>::default()))
    }

    /// The kernel that compressed the last blocks, as it named itself; none before the first.
    pub fn kernel(&self) -> Option<Kernel> {
        self.clone().decompose().0.kernel
    }

    /// What has been absorbed so far, to continue many messages from.
    pub fn midstate(&self) -> Midstate {
        let (core, buffer) = self.clone().decompose();
        let mut rest = [0; 64];
        rest[..buffer.get_pos()].copy_from_slice(buffer.get_data());
        Midstate { v: core.v, blocks: core.blocks, rest, rest_len: buffer.get_pos() }
    }
}

impl HashMarker for Sm3Core {}

impl BlockSizeUser for Sm3Core {
    type BlockSize = U64;
}

impl BufferKindUser for Sm3Core {
    type BufferKind = Eager;
}

impl OutputSizeUser for Sm3Core {
    type OutputSize = U32;
}

impl UpdateCore for Sm3Core {
    #[inline]
    fn update_blocks(&mut self, blocks: &[Block<Self>]) {
        self.blocks += blocks.len() as u64;
        let blocks = digest::array::Array::cast_slice_to_core(blocks);
        self.kernel = Some(self.stream.compress(&mut self.v, blocks));
    }
}

impl FixedOutputCore for Sm3Core {
    #[inline]
    fn finalize_fixed_core(&mut self, buffer: &mut Buffer<Self>, out: &mut Output<Self>) {
        let total_len = self.blocks * 64 + buffer.get_pos() as u64;
        let mut last = [0; 128];
        let blocks = pad(buffer.get_data(), total_len, &mut last);
        self.kernel = Some(self.stream.compress(&mut self.v, &last.as_chunks().0[..blocks]));
        write_bytes(&self.v, &mut out.0);
        wipe_bytes(&mut last);
    }
}

impl Default for Sm3Core {
    #[inline]
    fn default() -> Self {
        Sm3Core { v: IV, blocks: 0, stream: Stream::best(), kernel: None }
    }
}

impl Reset for Sm3Core {
    #[inline]
    fn reset(&mut self) {
        self.v = IV;
        self.blocks = 0;
        self.kernel = None;
    }
}

impl AlgorithmName for Sm3Core {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sm3")
    }
}

impl fmt::Debug for Sm3Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sm3Core { ... }")
    }
}

impl Drop for Sm3Core {
    fn drop(&mut self) {
        wipe_words(&mut self.v);
        self.blocks = 0;
    }
}

impl ZeroizeOnDrop for Sm3Core {}

impl SerializableState for Sm3Core {
    type SerializedStateSize = U40;

    fn serialize(&self) -> SerializedState<Self> {
        let mut state = SerializedState::<Self>::default();
        for (bytes, word) in state.as_chunks_mut::<4>().0.iter_mut().zip(&self.v) {
            *bytes = word.to_be_bytes();
        }
        state[32..].copy_from_slice(&self.blocks.to_be_bytes());
        state
    }

    fn deserialize(state: &SerializedState<Self>) -> Result<Self, DeserializeStateError> {
        let words = state.as_chunks::<4>().0;
        let blocks = u64::from_be_bytes(state[32..].try_into().map_err(|_| DeserializeStateError)?);
        if blocks >= MAX_BLOCKS {
            return Err(DeserializeStateError);
        }
        Ok(Sm3Core {
            v: ::core::array::from_fn(|i| u32::from_be_bytes(words[i])),
            blocks,
            stream: Stream::best(),
            kernel: None,
        })
    }
}

/// SM3 after a prefix: what many messages with a common beginning start from.
///
/// The prefix may have any length; dm-verity's salt and HMAC's key block are such prefixes.
///
/// ```
/// use manylane::sm3::{self, Midstate};
///
/// assert_eq!(Midstate::after(b"salt").finish(b"data"), sm3::hash(b"saltdata"));
/// ```
#[derive(Clone)]
pub struct Midstate {
    /// Chaining value after the prefix's full blocks.
    pub(super) v: [u32; 8],
    /// Number of those blocks.
    pub(super) blocks: u64,
    /// The prefix's last, incomplete block.
    pub(super) rest: [u8; 64],
    /// Bytes in `rest`, below 64.
    pub(super) rest_len: usize,
}

impl Midstate {
    /// SM3 after `prefix`.
    pub fn after(prefix: &[u8]) -> Self {
        Midstate::default().then(prefix)
    }

    /// SM3 after a prefix of `blocks` full blocks that leads to the chaining value `v`: what a
    /// message that leaves a [lane](super::Lanes::get) goes on from as a stream.
    ///
    /// # Panics
    /// If `blocks` is 2⁵⁵ or more: SM3 hashes fewer than 2⁶⁴ bits.
    pub fn from_parts(v: &[u32; 8], blocks: u64) -> Self {
        assert!(blocks < MAX_BLOCKS, "SM3 of {blocks} blocks");
        Midstate { v: *v, blocks, ..Midstate::default() }
    }

    /// The chaining value after the prefix's full blocks; [`rest`](Self::rest) follows them.
    pub fn chaining_value(&self) -> &[u32; 8] {
        &self.v
    }

    /// The bytes after the prefix's last full block, fewer than 64.
    pub fn rest(&self) -> &[u8] {
        &self.rest[..self.rest_len]
    }

    /// SM3 after this midstate's prefix and `more`.
    pub fn then(&self, more: &[u8]) -> Self {
        let mut next = self.clone();
        next.absorb(more, Stream::best());
        next
    }

    /// The digest of the prefix followed by `message`.
    pub fn finish(&self, message: &[u8]) -> [u8; DIGEST_LEN] {
        self.finish_on(message, Stream::best()).0
    }

    /// Length of the prefix in bytes.
    pub fn prefix_len(&self) -> u64 {
        self.blocks * 64 + self.rest_len as u64
    }

    /// [`finish`](Self::finish) on a given kernel, and which one it was.
    pub(super) fn finish_on(&self, message: &[u8], stream: Stream) -> ([u8; DIGEST_LEN], Kernel) {
        let mut state = self.clone();
        state.absorb(message, stream);
        let mut last = [0; 128];
        let blocks = pad(&state.rest[..state.rest_len], state.prefix_len(), &mut last);
        let kernel = stream.compress(&mut state.v, &last.as_chunks().0[..blocks]);
        wipe_bytes(&mut last);
        let mut digest = [0; DIGEST_LEN];
        write_bytes(&state.v, &mut digest);
        (digest, kernel)
    }

    /// Goes on over `more`.
    pub(crate) fn absorb(&mut self, mut more: &[u8], stream: Stream) {
        if self.rest_len > 0 {
            let take = more.len().min(64 - self.rest_len);
            self.rest[self.rest_len..][..take].copy_from_slice(&more[..take]);
            self.rest_len += take;
            more = &more[take..];
            if self.rest_len < 64 {
                return;
            }
            stream.compress(&mut self.v, &[self.rest]);
            self.blocks += 1;
        }
        let (blocks, rest) = more.as_chunks::<64>();
        stream.compress(&mut self.v, blocks);
        self.blocks += blocks.len() as u64;
        self.rest[..rest.len()].copy_from_slice(rest);
        self.rest_len = rest.len();
    }
}

impl Default for Midstate {
    /// SM3 after nothing.
    fn default() -> Self {
        Midstate { v: IV, blocks: 0, rest: [0; 64], rest_len: 0 }
    }
}

impl fmt::Debug for Midstate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Midstate { ... }")
    }
}

impl Drop for Midstate {
    fn drop(&mut self) {
        wipe_words(&mut self.v);
        wipe_bytes(&mut self.rest);
    }
}

impl ZeroizeOnDrop for Midstate {}
