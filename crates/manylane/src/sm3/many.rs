//! Many messages through the lanes of one machine: which lane takes which message when.
//!
//! Messages are taken in windows. Where all of a window have one length, lanes run in step and
//! share the expansion of a constant last block. Otherwise the window is ordered by length, the
//! longest first, and a lane that finishes takes the next message, so that lanes seldom stop at
//! different blocks and the last ones end together.

use super::{
    DIGEST_LEN, IV, Kernel, Midstate,
    dispatch::{Cell, Expanded, Lanes, State, Stream, with_lanes},
    hmac::key_block,
    pad::{constant_block, last_block_is_constant, pad},
    write_bytes,
};
use crate::{
    Error, Messages,
    cpu::Machine,
    ct::{wipe_bytes, wipe_words},
};

/// Messages ordered by length at a time; their indices and lengths are kept on the stack.
const WINDOW: usize = 1024;

/// [`hash_many`](super::hash_many) of messages that all begin with the midstate's prefix.
///
/// ```
/// use manylane::{Messages, sm3};
///
/// let blocks = [0; 3 * 4096]; // dm-verity: the salt goes before every data block
/// let mut digests = [[0; 32]; 3];
/// let salt = sm3::Midstate::after(b"32 bytes of salt, chosen at will");
/// sm3::hash_many_after(&salt, &Messages::strided(&blocks, 4096, 4096, 3)?, &mut digests)?;
/// # Ok::<(), manylane::Error>(())
/// ```
///
/// # Errors
/// [`Error::OutputLength`] unless `out.len() == messages.len()`.
pub fn hash_many_after(
    start: &Midstate,
    messages: &Messages,
    out: &mut [[u8; DIGEST_LEN]],
) -> Result<(), Error> {
    run(Cell::best(), Some(Stream::best()), start, messages, out)?;
    Ok(())
}

/// [`hash_many_after`] on one machine, for tests and comparisons. Says which kernel ran, if any
/// message was there to run it on.
///
/// # Errors
/// As [`hash_many_after`], and [`Error::Unavailable`] if the machine has no kernel for lanes, or
/// this processor lacks it.
pub fn hash_many_on(
    machine: Machine,
    start: &Midstate,
    messages: &Messages,
    out: &mut [[u8; DIGEST_LEN]],
) -> Result<Option<Kernel>, Error> {
    run(Cell::on(machine)?, None, start, messages, out)
}

fn run(
    cell: Cell,
    stream: Option<Stream>,
    start: &Midstate,
    messages: &Messages,
    out: &mut [[u8; DIGEST_LEN]],
) -> Result<Option<Kernel>, Error> {
    if out.len() != messages.len() {
        return Err(Error::OutputLength { expected: messages.len(), got: out.len() });
    }
    let head = match start.rest_len {
        0 => Head::None,
        len => Head::Rest(&start.rest[..len]),
    };
    let batch = Batch { v: &start.v, blocks: start.blocks, head, messages: *messages };
    Ok(batch.hash(cell, stream, out))
}

/// HMAC-SM3 of each message under its own key.
pub(super) fn hmac_many(
    cell: Cell,
    stream: Option<Stream>,
    keys: &Messages,
    messages: &Messages,
    out: &mut [[u8; DIGEST_LEN]],
) -> Result<Option<Kernel>, Error> {
    if keys.len() != messages.len() {
        return Err(Error::CountMismatch { keys: keys.len(), messages: messages.len() });
    }
    if out.len() != messages.len() {
        return Err(Error::OutputLength { expected: messages.len(), got: out.len() });
    }
    let mut kernel = None;
    let out_len = out.len();
    let mut inner = [0; WINDOW * DIGEST_LEN];
    for (window, out) in out.chunks_mut(WINDOW).enumerate() {
        let (from, to) = (window * WINDOW, window * WINDOW + out.len());
        let keys = keys.range(from, to);
        let keyed =
            |pad, messages| Batch { v: &IV, blocks: 0, head: Head::Key(keys, pad), messages };
        let digests = &mut inner[..out.len() * DIGEST_LEN];
        keyed(0x36, messages.range(from, to)).hash(cell, stream, digests.as_chunks_mut().0);
        let digests = Messages::strided(digests, DIGEST_LEN, DIGEST_LEN, out.len())?;
        kernel = keyed(0x5c, digests).hash(cell, stream, out);
    }
    wipe_bytes(&mut inner[..out_len.min(WINDOW) * DIGEST_LEN]);
    Ok(kernel)
}

/// The digest of each message between the halves of its own block of `around`: SM2's C_3.
///
/// # Panics
/// Unless there are as many blocks and digests as messages.
pub(crate) fn hash_many_between(
    cell: Cell,
    stream: Option<Stream>,
    around: &[[u8; 64]],
    messages: &Messages,
    out: &mut [[u8; DIGEST_LEN]],
) {
    assert!(around.len() == messages.len() && out.len() == messages.len(), "digests of messages");
    let batch = Batch { v: &IV, blocks: 0, head: Head::Between(around), messages: *messages };
    batch.hash(cell, stream, out);
}

/// The digest of each message after its own 32 bytes of `heads`: SM2's e after Z_A.
///
/// # Panics
/// Unless there are as many heads and digests as messages.
pub(crate) fn hash_many_own(
    cell: Cell,
    stream: Option<Stream>,
    heads: &[[u8; 32]],
    messages: &Messages,
    out: &mut [[u8; DIGEST_LEN]],
) {
    assert!(heads.len() == messages.len() && out.len() == messages.len(), "digests of messages");
    let batch = Batch { v: &IV, blocks: 0, head: Head::Own(heads), messages: *messages };
    batch.hash(cell, stream, out);
}

/// Messages and what comes before each of them.
struct Batch<'a> {
    /// Chaining value that every lane starts from.
    v: &'a [u32; 8],
    /// Blocks already absorbed into `v`.
    blocks: u64,
    head: Head<'a>,
    messages: Messages<'a>,
}

/// Bytes that come between the common chaining value and a message, and maybe after it.
#[derive(Clone, Copy)]
enum Head<'a> {
    None,
    /// The incomplete last block of a common prefix.
    Rest(&'a [u8]),
    /// HMAC's key block: the message's own key, padded with zeros, xor a byte.
    Key(Messages<'a>, u8),
    /// The message's own.
    Own(&'a [[u8; 32]]),
    /// The first half of the message's own block, whose second half comes after the message.
    Between(&'a [[u8; 64]]),
}

/// A lane's place in its message.
#[derive(Clone, Copy)]
struct Lane<'a> {
    /// Message in this lane.
    index: usize,
    /// Where the blocks at hand are.
    segment: Segment<'a>,
    /// Blocks left of them.
    left: usize,
}

/// Where the blocks come from: a message is a head, a body and a tail, each possibly empty.
#[derive(Clone, Copy)]
enum Segment<'a> {
    /// No message.
    Idle,
    /// Nothing of the message has been taken.
    Start,
    /// The block made of the head and the message's first bytes; and the message's others.
    Head(&'a [u8]),
    /// Blocks of the message itself, and the bytes after them.
    Body(&'a [u8], &'a [u8]),
    /// The padded last blocks.
    Tail,
}

/// Blocks that are put together from bytes of different origin.
#[derive(Clone, Copy)]
struct Scratch {
    head: [u8; 64],
    tail: [u8; 128],
    tail_blocks: usize,
}

impl Scratch {
    const EMPTY: Scratch = Scratch { head: [0; 64], tail: [0; 128], tail_blocks: 0 };

    fn wipe(lanes: &mut [Scratch]) {
        for scratch in lanes {
            wipe_bytes(&mut scratch.head);
            wipe_bytes(&mut scratch.tail);
        }
    }
}

impl<'a> Lane<'a> {
    /// The blocks that are left of the segment.
    fn at_hand<'s>(&self, scratch: &'s Scratch) -> &'s [u8]
    where
        'a: 's,
    {
        let segment = match self.segment {
            Segment::Idle | Segment::Start => &[][..],
            Segment::Head(_) => &scratch.head,
            Segment::Body(body, _) => body,
            Segment::Tail => &scratch.tail[..64 * scratch.tail_blocks],
        };
        &segment[segment.len() - 64 * self.left..]
    }
}

impl<'a> Batch<'a> {
    /// Hashes every message; the kernel that did, if there were any.
    fn hash(
        &self,
        cell: Cell,
        stream: Option<Stream>,
        out: &mut [[u8; DIGEST_LEN]],
    ) -> Option<Kernel> {
        let mut kernel = None;
        for (window, out) in out.chunks_mut(WINDOW).enumerate() {
            let (from, to) = (window * WINDOW, window * WINDOW + out.len());
            let head = match self.head {
                Head::Key(keys, pad) => Head::Key(keys.range(from, to), pad),
                Head::Own(heads) => Head::Own(&heads[from..to]),
                Head::Between(around) => Head::Between(&around[from..to]),
                head => head,
            };
            let batch = Batch { head, messages: self.messages.range(from, to), ..*self };
            kernel = with_lanes!(cell, lanes => batch.hash_window(lanes, stream, out));
        }
        kernel
    }

    fn hash_window<const L: usize>(
        &self,
        lanes: impl Lanes<L>,
        stream: Option<Stream>,
        out: &mut [[u8; DIGEST_LEN]],
    ) -> Option<Kernel> {
        let count = self.messages.len();
        let len = self.messages.get(0).len();
        if self.messages.is_strided() || (1..count).all(|i| self.messages.get(i).len() == len) {
            return self.hash_equal(lanes, stream, out);
        }
        // Longest first: the key's high half is the complement of the length in blocks.
        let mut order = [0u64; WINDOW];
        let order = &mut order[..count];
        for (i, key) in order.iter_mut().enumerate() {
            let blocks = (self.messages.get(i).len() as u64 / 64).min(u64::from(u32::MAX));
            *key = (u64::from(u32::MAX) - blocks) << 32 | i as u64;
        }
        order.sort_unstable();
        self.hash_unequal(lanes, stream, order, out)
    }

    /// Bytes between the common chaining value and a message.
    fn head_len(&self) -> usize {
        match self.head {
            Head::None => 0,
            Head::Rest(rest) => rest.len(),
            Head::Key(..) => 64,
            Head::Own(_) | Head::Between(_) => 32,
        }
    }

    /// Bytes after a message.
    fn foot_len(&self) -> usize {
        if let Head::Between(_) = self.head { 32 } else { 0 }
    }

    /// The bytes of a message's own before it.
    fn own_head(&self, index: usize) -> &[u8] {
        match self.head {
            Head::Own(heads) => &heads[index],
            Head::Between(around) => &around[index][..32],
            _ => &[],
        }
    }

    /// And after it.
    fn own_foot(&self, index: usize) -> &[u8] {
        match self.head {
            Head::Between(around) => &around[index][32..],
            _ => &[],
        }
    }

    /// Length of everything that message `index` ends.
    fn total_len(&self, index: usize) -> u64 {
        let len = self.head_len() + self.messages.get(index).len() + self.foot_len();
        self.blocks * 64 + len as u64
    }

    /// The block made of the head and the message's first bytes, if they fill one: how many of
    /// the message's bytes it takes.
    fn fill_head(&self, index: usize, block: &mut [u8; 64]) -> Option<usize> {
        let message = self.messages.get(index);
        match self.head {
            Head::None => None,
            Head::Rest(rest) => {
                let first = message.get(..64 - rest.len())?;
                block[..rest.len()].copy_from_slice(rest);
                block[rest.len()..].copy_from_slice(first);
                Some(first.len())
            }
            Head::Key(keys, pad) => {
                key_block(keys.get(index), pad, block);
                Some(0)
            }
            Head::Own(_) | Head::Between(_) => {
                let first = message.get(..32)?;
                block[..32].copy_from_slice(self.own_head(index));
                block[32..].copy_from_slice(first);
                Some(32)
            }
        }
    }

    /// The padded last blocks: `rest` is what follows the last full block of the message, or all
    /// of it if it did not fill the head's block.
    fn fill_tail(&self, index: usize, headless: bool, rest: &[u8], scratch: &mut Scratch) {
        let total_len = self.total_len(index);
        scratch.tail_blocks = match self.head {
            Head::Rest(head) if headless => {
                let mut joined = [0; 64];
                joined[..head.len()].copy_from_slice(head);
                joined[head.len()..head.len() + rest.len()].copy_from_slice(rest);
                let blocks = pad(&joined[..head.len() + rest.len()], total_len, &mut scratch.tail);
                wipe_bytes(&mut joined);
                blocks
            }
            Head::Own(_) | Head::Between(_) => {
                let head = if headless { self.own_head(index) } else { &[] };
                pad_parts([head, rest, self.own_foot(index)], total_len, &mut scratch.tail)
            }
            _ => pad(rest, total_len, &mut scratch.tail),
        };
    }

    /// Moves a lane whose blocks are used up to the next blocks of its message.
    fn advance(&self, lane: &mut Lane<'a>, scratch: &mut Scratch) {
        let (rest, headless) = match lane.segment {
            Segment::Start => match self.fill_head(lane.index, &mut scratch.head) {
                Some(used) => {
                    let rest = &self.messages.get(lane.index)[used..];
                    (lane.segment, lane.left) = (Segment::Head(rest), 1);
                    return;
                }
                None => (self.messages.get(lane.index), self.head_len() > 0),
            },
            Segment::Head(rest) | Segment::Body(_, rest) => (rest, false),
            Segment::Tail | Segment::Idle => return,
        };
        let (body, tail) = rest.as_chunks::<64>();
        if body.is_empty() || headless {
            self.fill_tail(lane.index, headless, rest, scratch);
            (lane.segment, lane.left) = (Segment::Tail, scratch.tail_blocks);
        } else {
            (lane.segment, lane.left) = (Segment::Body(body.as_flattened(), tail), body.len());
        }
    }

    /// Takes a message that has begun, or not, to its end in a stream of its own.
    fn finish_alone(
        &self,
        stream: Stream,
        mut v: [u32; 8],
        lane: &mut Lane<'a>,
        scratch: &mut Scratch,
        out: &mut [[u8; DIGEST_LEN]],
    ) -> Kernel {
        loop {
            if lane.left == 0 {
                self.advance(lane, scratch);
            }
            let kernel = stream.compress(&mut v, lane.at_hand(scratch).as_chunks().0);
            lane.left = 0;
            if let Segment::Tail = lane.segment {
                write_bytes(&v, &mut out[lane.index]);
                wipe_words(&mut v);
                return kernel;
            }
        }
    }

    /// Messages of one length: lanes run in step from the first block to the last.
    fn hash_equal<const L: usize>(
        &self,
        lanes: impl Lanes<L>,
        stream: Option<Stream>,
        out: &mut [[u8; DIGEST_LEN]],
    ) -> Option<Kernel> {
        let len = self.messages.get(0).len();
        let total_len = self.total_len(0);
        let constant =
            last_block_is_constant(total_len).then(|| Expanded::of(&constant_block(total_len)));
        let headless = self.head_len() + len < 64;
        let head = if headless { 0 } else { (64 - self.head_len()) % 64 };
        let body_end = if headless { 0 } else { head + (len - head) / 64 * 64 };
        let mut scratch = [Scratch::EMPTY; L];
        let mut state = State::splat(self.v);
        let mut kernel = None;
        for first in (0..out.len()).step_by(L) {
            let last = (first + L).min(out.len()) - 1;
            // Lanes past the last message repeat it.
            let index = |lane: usize| (first + lane).min(last);
            state = State::splat(self.v);
            if let Some(stream) = stream.filter(|_| is_faster_alone::<L>(last + 1 - first)) {
                for index in first..=last {
                    let mut lane = Lane { index, segment: Segment::Start, left: 0 };
                    let ran = self.finish_alone(stream, *self.v, &mut lane, &mut scratch[0], out);
                    kernel = kernel.or(Some(ran));
                }
                continue;
            }
            if self.head_len() > 0 && !headless {
                for (lane, scratch) in scratch.iter_mut().enumerate() {
                    self.fill_head(index(lane), &mut scratch.head);
                }
                let heads = scratch.each_ref().map(|scratch| &scratch.head[..]);
                kernel = Some(lanes.compress_lanes(&mut state, &heads));
            }
            if body_end > head {
                let body = |lane| &self.messages.get(index(lane))[head..body_end];
                kernel = Some(lanes.compress_lanes(&mut state, &::core::array::from_fn(body)));
            }
            if !total_len.is_multiple_of(64) || self.foot_len() > 0 {
                for (lane, scratch) in scratch.iter_mut().enumerate() {
                    let rest = &self.messages.get(index(lane))[body_end..];
                    self.fill_tail(index(lane), headless, rest, scratch);
                }
                let own = 64 * (scratch[0].tail_blocks - usize::from(constant.is_some()));
                let tails = scratch.each_ref().map(|scratch| &scratch.tail[..own]);
                kernel = Some(lanes.compress_lanes(&mut state, &tails));
            }
            if let Some(block) = &constant {
                kernel = Some(lanes.compress_constant(&mut state, block));
            }
            state.digests(&mut out[first..=last]);
        }
        state.wipe();
        Scratch::wipe(&mut scratch);
        kernel
    }

    /// Messages of any lengths, taken in `order` (the low half of each key is an index).
    fn hash_unequal<const L: usize>(
        &self,
        kernel: impl Lanes<L>,
        stream: Option<Stream>,
        order: &[u64],
        out: &mut [[u8; DIGEST_LEN]],
    ) -> Option<Kernel> {
        let mut order = order.iter().map(|key| *key as u32 as usize);
        let mut state = State::splat(self.v);
        let mut scratch = [Scratch::EMPTY; L];
        let mut lanes = [Lane { index: 0, segment: Segment::Idle, left: 0 }; L];
        let mut ran = None;
        loop {
            let mut active = 0;
            let mut busy = 0;
            let mut blocks = usize::MAX;
            for (i, lane) in lanes.iter_mut().enumerate() {
                if lane.left == 0 {
                    if let Segment::Tail = lane.segment {
                        let mut v = state.get(i);
                        write_bytes(&v, &mut out[lane.index]);
                        wipe_words(&mut v);
                        lane.segment = Segment::Idle;
                    }
                    if let Segment::Idle = lane.segment {
                        let Some(index) = order.next() else { continue };
                        (lane.index, lane.segment) = (index, Segment::Start);
                        state.set(i, self.v);
                    }
                    self.advance(lane, &mut scratch[i]);
                }
                active += 1;
                busy = i;
                blocks = blocks.min(lane.left);
            }
            if active == 0 || stream.is_some() && is_faster_alone::<L>(active) {
                break;
            }
            let input = |i: usize| {
                let i = if lanes[i].left > 0 { i } else { busy };
                &lanes[i].at_hand(&scratch[i])[..blocks * 64]
            };
            ran = Some(kernel.compress_lanes(&mut state, &::core::array::from_fn(input)));
            for lane in &mut lanes {
                lane.left = lane.left.saturating_sub(blocks);
            }
        }
        for (i, lane) in lanes.iter_mut().enumerate() {
            if let (Some(stream), true) = (stream, lane.left > 0) {
                let alone = self.finish_alone(stream, state.get(i), lane, &mut scratch[i], out);
                ran = ran.or(Some(alone));
            }
        }
        state.wipe();
        Scratch::wipe(&mut scratch);
        ran
    }
}

/// [`pad`] of parts that have at most 95 bytes together, and may fill a block.
fn pad_parts(parts: [&[u8]; 3], total_len: u64, out: &mut [u8; 128]) -> usize {
    let mut joined = [0; 128];
    let mut len = 0;
    for part in parts {
        joined[len..len + part.len()].copy_from_slice(part);
        len += part.len();
    }
    let full = len / 64 * 64;
    let mut last = [0; 128];
    let blocks = pad(&joined[full..len], total_len, &mut last);
    out[..full].copy_from_slice(&joined[..full]);
    out[full..].copy_from_slice(&last[..128 - full]);
    wipe_bytes(&mut joined);
    wipe_bytes(&mut last);
    full / 64 + blocks
}

/// Whether `active` messages are done sooner one after another, each as a stream of its own,
/// than side by side in `L` lanes: a block costs one stream about half the time that it costs
/// sixteen lanes, and more than half of what it costs fewer.
fn is_faster_alone<const L: usize>(active: usize) -> bool {
    active * 8 <= L.max(8) && L > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm3;

    #[test]
    fn between_halves_and_after_heads() {
        let around: Vec<[u8; 64]> =
            (0..40).map(|i| std::array::from_fn(|j| (i * 7 + j * 3) as u8)).collect();
        let data: Vec<u8> = (0..1000u32).map(|i| (i * 11) as u8).collect();
        let check = |lens: &[usize]| {
            let messages: Vec<&[u8]> = lens.iter().map(|&len| &data[..len]).collect();
            let around = &around[..lens.len()];
            let expected: Vec<_> = (messages.iter().zip(around))
                .map(|(m, z)| sm3::hash(&[&z[..32], m, &z[32..]].concat()))
                .collect();
            let heads: Vec<[u8; 32]> = around.iter().map(|z| *z.first_chunk().unwrap()).collect();
            let after_heads: Vec<_> =
                (messages.iter().zip(&heads)).map(|(m, z)| sm3::hash(&[z, *m].concat())).collect();
            let on = |machine| Some((Cell::on(machine).ok()?, None));
            let cells = Machine::ALL.into_iter().filter_map(on);
            for (cell, stream) in cells.chain([(Cell::best(), Some(Stream::best()))]) {
                let mut out = vec![[0; 32]; lens.len()];
                hash_many_between(cell, stream, around, &Messages::slices(&messages), &mut out);
                assert_eq!(out, expected, "{lens:?}");
                hash_many_own(cell, stream, &heads, &Messages::slices(&messages), &mut out);
                assert_eq!(out, after_heads, "{lens:?}, no foot");
            }
        };
        for len in 0..=260 {
            check(&[len; 19]);
        }
        check(&std::array::from_fn::<_, 40, _>(|i| i * 37 % 201));
        check(&std::array::from_fn::<_, 33, _>(|i| i * 211 % 999));
        check(&[31, 32, 33, 0, 95, 96]);
        check(&[500]);
        check(&[]);
    }
}
