//! KT128 and KT256 (RFC 9861): a tree of two levels, whose leaves are hashed side by side.

use ::core::fmt;

use digest::{
    CollisionResistance, CustomizedInit, ExtendableOutput, ExtendableOutputReset, HashMarker,
    Reset, Update, XofReader,
    common::{AlgorithmName, BlockSizeUser},
    typenum::{U16, U32, U136, U168},
};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::{
    Function, Kernel, Midstate, XofOutput,
    dispatch::{Cell, Lanes, Stream, with_lanes},
    encoding::length_encode,
    many,
    pad::MAX_FOOT,
};
use crate::{Error, Messages, cpu::Machine, ct::wipe_bytes};

/// Bytes of a chunk of KT128 and KT256 (RFC 9861, clause 3.2).
pub const KT_CHUNK_LEN: usize = 8192;

/// Leaves hashed by one call, a multiple of every machine's lanes; their chaining values are kept
/// on the stack.
const WINDOW: usize = 64;

/// Bytes of the longer chaining value, KT256's.
const MAX_VALUE_LEN: usize = 64;

/// KT128 or KT256 of one stream: [`Kt128`] and [`Kt256`] are its names.
///
/// The input is cut into chunks of [`KT_CHUNK_LEN`] bytes. The first goes into the final node; of
/// every other one a chaining value does, and these are computed in the lanes of the widest
/// machine there is. As many chunks as it has lanes are kept until they can be hashed together;
/// longer input is hashed where it lies.
///
/// A caller who has several threads, or a GPU, computes [`chaining_values`](Self::chaining_values)
/// of whole chunks in any order, and [pushes](Self::push_chaining_values) them in the chunks' order.
///
/// ```
/// use manylane::sha3::{ExtendableOutput, KT_CHUNK_LEN, Kt128, Update};
///
/// let message = vec![7; 100_000];
/// let mut whole = [0; 32];
/// Kt128::default().chain(&message).finalize_xof_into(&mut whole);
///
/// let (first, others) = message.split_at(KT_CHUNK_LEN);
/// let (chunks, rest) = others.split_at(others.len() / KT_CHUNK_LEN * KT_CHUNK_LEN);
/// let mut values = vec![0; chunks.len() / KT_CHUNK_LEN * Kt128::CHAINING_VALUE_LEN];
/// Kt128::chaining_values(chunks, &mut values)?;
///
/// let mut kt = Kt128::new(b"").chain(first);
/// kt.push_chaining_values(&values);
/// let mut parts = [0; 32];
/// kt.chain(rest).finalize_xof_into(&mut parts);
/// assert_eq!(whole, parts);
/// # Ok::<(), manylane::Error>(())
/// ```
#[derive(Clone)]
pub struct Kt<const RATE: usize> {
    customization: Box<[u8]>,
    node: Node<RATE>,
}

/// KT128 (RFC 9861, clause 3) of one stream: 128 bits of security.
pub type Kt128 = Kt<168>;
/// KT256 (RFC 9861, clause 4) of one stream: 256 bits of security.
pub type Kt256 = Kt<136>;

impl<const RATE: usize> Kt<RATE> {
    /// TurboSHAKE as a leaf's function, with a chaining value as its output: what
    /// [`hash_many`](super::hash_many) makes chaining values with.
    pub const LEAF: Function = Node::<RATE>::turboshake(0x0b);

    /// Bytes of a chaining value: 32 for KT128, 64 for KT256.
    pub const CHAINING_VALUE_LEN: usize = Self::LEAF.output_len();

    /// A hasher with a customization string, which may be empty.
    pub fn new(customization: &[u8]) -> Self {
        let node = Node::new(Cell::best(), Some(Stream::best()));
        Kt { customization: customization.into(), node }
    }

    /// A hasher whose leaves the lanes of one machine take, for tests and comparisons.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the machine has no kernel for lanes, or this processor lacks it.
    pub fn new_on(machine: Machine, customization: &[u8]) -> Result<Self, Error> {
        let node = Node::new(Cell::on(machine)?, None);
        Ok(Kt { customization: customization.into(), node })
    }

    /// The kernel that hashed the last leaves, as it named itself; none before the first.
    pub fn kernel(&self) -> Option<Kernel> {
        self.node.kernel
    }

    /// The output for all that was absorbed, of any length. [`ExtendableOutput`] gives it in
    /// pieces.
    pub fn finalize(self, out: &mut [u8]) {
        self.finalize_xof().read(out);
    }

    /// The chaining values of whole chunks, none of them the first of the input, one after
    /// another, on the calling thread.
    ///
    /// # Errors
    /// [`Error::DataLength`] unless `chunks` has a multiple of [`KT_CHUNK_LEN`] bytes;
    /// [`Error::OutputLength`] unless `out` has
    /// [`CHAINING_VALUE_LEN`](Self::CHAINING_VALUE_LEN) bytes for each.
    pub fn chaining_values(chunks: &[u8], out: &mut [u8]) -> Result<(), Error> {
        if !chunks.len().is_multiple_of(KT_CHUNK_LEN) {
            return Err(Error::DataLength("chaining values are of whole chunks of 8192 bytes"));
        }
        let count = chunks.len() / KT_CHUNK_LEN;
        let chunks = Messages::strided(chunks, KT_CHUNK_LEN, KT_CHUNK_LEN, count)?;
        super::hash_many(Self::LEAF, &chunks, out)
    }

    /// Goes on as if the chunks had been absorbed whose chaining values these are, in their order.
    ///
    /// # Panics
    /// Unless what was absorbed before is one whole chunk or more of them, and `values` has a
    /// multiple of [`CHAINING_VALUE_LEN`](Self::CHAINING_VALUE_LEN) bytes.
    pub fn push_chaining_values(&mut self, values: &[u8]) {
        let node = &mut self.node;
        let is_whole = node.first_left == 0 && node.waiting.len().is_multiple_of(KT_CHUNK_LEN);
        assert!(is_whole, "chaining values in the middle of a chunk");
        assert!(values.len().is_multiple_of(Self::CHAINING_VALUE_LEN), "part of a chaining value");
        node.flush();
        node.push(values);
    }

    /// The outputs of `output_len` bytes for many messages with one customization, one after
    /// another into `out`, on the calling thread. Messages of a single chunk are packed into the
    /// lanes of the widest machine there is; a longer one has them for its leaves.
    ///
    /// # Errors
    /// [`Error::OutputLength`] unless `out.len() == messages.len() * output_len`.
    pub fn hash_many(
        customization: &[u8],
        messages: &Messages,
        output_len: usize,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let expected = messages.len().saturating_mul(output_len);
        if out.len() != expected {
            return Err(Error::OutputLength { expected, got: out.len() });
        }
        let encoded = length_encode(customization.len() as u64);
        let foot = [customization, encoded.as_bytes()].concat();
        let is_single = |index: usize| {
            foot.len() <= MAX_FOOT && messages.get(index).len() + foot.len() <= KT_CHUNK_LEN
        };
        let single = Midstate::new(Node::<RATE>::SINGLE.with_output_len(output_len));
        let mut from = 0;
        while from < messages.len() {
            let run = (from..messages.len()).take_while(|&index| is_single(index)).count();
            let to = from + run.max(1);
            let out = &mut out[from * output_len..to * output_len];
            if run > 0 {
                many::hash_many_after(&single, &messages.range(from, to), &foot, out)?;
            } else {
                let mut kt = Kt::<RATE>::new(customization);
                kt.update(messages.get(from));
                kt.finalize(out);
            }
            from = to;
        }
        Ok(())
    }
}

impl<const RATE: usize> Default for Kt<RATE> {
    /// A hasher without customization.
    fn default() -> Self {
        Kt::new(b"")
    }
}

impl<const RATE: usize> CustomizedInit for Kt<RATE> {
    fn new_customized(customization: &[u8]) -> Self {
        Kt::new(customization)
    }
}

impl<const RATE: usize> HashMarker for Kt<RATE> {}

impl<const RATE: usize> Update for Kt<RATE> {
    fn update(&mut self, data: &[u8]) {
        self.node.update(data);
    }
}

impl<const RATE: usize> ExtendableOutput for Kt<RATE> {
    type Reader = XofOutput;

    fn finalize_xof(mut self) -> XofOutput {
        self.node.finish(&self.customization)
    }
}

impl<const RATE: usize> ExtendableOutputReset for Kt<RATE> {
    fn finalize_xof_reset(&mut self) -> XofOutput {
        let output = self.node.finish(&self.customization);
        self.reset();
        output
    }
}

impl<const RATE: usize> Reset for Kt<RATE> {
    /// Back to the beginning, with the same customization.
    fn reset(&mut self) {
        self.node = Node::new(self.node.cell, self.node.stream);
    }
}

impl<const RATE: usize> AlgorithmName for Kt<RATE> {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kt{}", 4 * Self::CHAINING_VALUE_LEN)
    }
}

impl<const RATE: usize> fmt::Debug for Kt<RATE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kt { ... }")
    }
}

impl<const RATE: usize> ZeroizeOnDrop for Kt<RATE> {}

impl BlockSizeUser for Kt128 {
    type BlockSize = U168;
}

impl BlockSizeUser for Kt256 {
    type BlockSize = U136;
}

impl CollisionResistance for Kt128 {
    type CollisionResistance = U16;
}

impl CollisionResistance for Kt256 {
    type CollisionResistance = U32;
}

/// The final node, and the chunks that it waits for.
#[derive(Clone)]
struct Node<const RATE: usize> {
    state: Midstate,
    /// Bytes that the first chunk still takes.
    first_left: usize,
    /// Chaining values absorbed.
    leaves: u64,
    /// Chunks, the last of which may be incomplete, fewer than there are lanes.
    waiting: Zeroizing<Vec<u8>>,
    cell: Cell,
    /// What takes leaves that are too few for the lanes; without it they take them all.
    stream: Option<Stream>,
    kernel: Option<Kernel>,
}

impl<const RATE: usize> Node<RATE> {
    /// The only node's function.
    const SINGLE: Function = Self::turboshake(0x07);
    /// The final node's, where there are leaves.
    const FINAL: Function = Self::turboshake(0x06);

    const fn turboshake(domain: u8) -> Function {
        match RATE {
            168 => Function::turboshake128(domain),
            136 => Function::turboshake256(domain),
            _ => panic!("no KT has this rate"),
        }
    }

    fn new(cell: Cell, stream: Option<Stream>) -> Self {
        Node {
            state: Midstate::new(Self::FINAL),
            first_left: KT_CHUNK_LEN,
            leaves: 0,
            waiting: Zeroizing::default(),
            cell,
            stream,
            kernel: None,
        }
    }

    fn update(&mut self, data: &[u8]) {
        let (first, mut data) = data.split_at(data.len().min(self.first_left));
        self.state.absorb(first, Stream::best());
        self.first_left -= first.len();
        if data.is_empty() {
            return;
        }
        let group = KT_CHUNK_LEN * with_lanes!(self.cell, lanes => count(lanes));
        if !self.waiting.is_empty() {
            let more;
            (more, data) = data.split_at(data.len().min(group - self.waiting.len()));
            self.keep(more, group);
            if self.waiting.len() < group {
                return;
            }
            self.flush();
        }
        let (groups, rest) = data.split_at(data.len() / group * group);
        self.hash_leaves(groups);
        self.keep(rest, group);
    }

    /// Keeps `data` until there is a `group`. The memory never moves while it holds data, for a
    /// vector that grows does not wipe what it leaves.
    fn keep(&mut self, data: &[u8], group: usize) {
        if data.len() > self.waiting.capacity() - self.waiting.len() {
            let mut waiting = Zeroizing::new(Vec::with_capacity(group));
            waiting.extend_from_slice(&self.waiting);
            self.waiting = waiting;
        }
        self.waiting.extend_from_slice(data);
    }

    /// Hashes what waits.
    fn flush(&mut self) {
        let mut waiting = ::core::mem::take(&mut self.waiting);
        self.hash_leaves(&waiting);
        wipe_bytes(&mut waiting);
        waiting.clear();
        self.waiting = waiting;
    }

    /// Hashes chunks after the first, all whole but for the input's last one.
    fn hash_leaves(&mut self, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        let (leaf, len) = (Midstate::new(Kt::<RATE>::LEAF), Kt::<RATE>::CHAINING_VALUE_LEN);
        let mut values = [0; WINDOW * MAX_VALUE_LEN];
        for window in data.chunks(WINDOW * KT_CHUNK_LEN) {
            let mut leaves = [&[][..]; WINDOW];
            let count = window.len().div_ceil(KT_CHUNK_LEN);
            for (leaf, chunk) in leaves.iter_mut().zip(window.chunks(KT_CHUNK_LEN)) {
                *leaf = chunk;
            }
            let (leaves, values) = (Messages::slices(&leaves[..count]), &mut values[..count * len]);
            let ran = many::run(self.cell, self.stream, &leaf, &leaves, &[], values);
            self.kernel = ran.expect("a chaining value for each leaf").or(self.kernel);
            self.push(values);
        }
        wipe_bytes(&mut values);
    }

    /// Absorbs chaining values.
    fn push(&mut self, values: &[u8]) {
        if values.is_empty() {
            return;
        }
        let stream = Stream::best();
        if self.leaves == 0 {
            self.state.absorb(&[3, 0, 0, 0, 0, 0, 0, 0], stream);
        }
        self.leaves += (values.len() / Kt::<RATE>::CHAINING_VALUE_LEN) as u64;
        self.state.absorb(values, stream);
    }

    /// The output, after the customization; what is left of the node is of no use.
    fn finish(&mut self, customization: &[u8]) -> XofOutput {
        self.update(customization);
        self.update(length_encode(customization.len() as u64).as_bytes());
        self.flush();
        if self.leaves == 0 {
            self.state.function = Self::SINGLE;
        } else {
            let stream = Stream::best();
            self.state.absorb(length_encode(self.leaves).as_bytes(), stream);
            self.state.absorb(&[0xff, 0xff], stream);
        }
        XofOutput::new(&mut self.state, Stream::best())
    }
}

/// Number of lanes.
fn count<const L: usize>(_: impl Lanes<L>) -> usize {
    L
}
