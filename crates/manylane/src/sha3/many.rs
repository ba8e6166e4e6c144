//! Many messages through the lanes of one machine: which lane takes which message when.
//!
//! Messages are taken in windows. Where all of a window have one length, lanes run in step, and
//! what surrounds the messages' own bytes is laid out once. Otherwise the window is ordered by
//! length, the longest first, and a lane that finishes takes the next message, so that lanes
//! seldom stop at different blocks and the last ones end together.

use super::{
    Function, Kernel, Midstate,
    dispatch::{Cell, GROUPS, Lanes, State, Stream, with_lanes},
    midstate::MAX_RATE,
    pad::{MAX_FOOT, close, pad_parts},
    write_bytes,
};
use crate::{
    Error, Messages,
    cpu::Machine,
    ct::{wipe_bytes, wipe_long_words},
};

/// Messages ordered by length at a time; their indices and lengths are kept on the stack.
const WINDOW: usize = 1024;

/// What a lane that only squeezes absorbs.
const ZEROS: [u8; MAX_RATE] = [0; MAX_RATE];

/// [`hash_many`](super::hash_many) of messages that all begin with the midstate's prefix and end
/// with `foot`, such as the length of the output that KMAC appends.
///
/// ```
/// use manylane::{Messages, sha3};
/// use manylane::sha3::{Function, Midstate};
///
/// let rows = [7; 3 * 4096];
/// let salted = Midstate::after(Function::SHA3_256, b"salt");
/// let mut digests = [0; 3 * 32];
/// let messages = Messages::strided(&rows, 4096, 4096, 3)?;
/// sha3::hash_many_after(&salted, &messages, b"end", &mut digests)?;
/// # Ok::<(), manylane::Error>(())
/// ```
///
/// # Errors
/// [`Error::OutputLength`] unless `out` has as many bytes as the outputs of all messages.
///
/// # Panics
/// If `foot` has more than 32 bytes.
pub fn hash_many_after(
    start: &Midstate,
    messages: &Messages,
    foot: &[u8],
    out: &mut [u8],
) -> Result<(), Error> {
    run(Cell::best(), Some(Stream::best()), start, messages, foot, out)?;
    Ok(())
}

/// [`hash_many_after`] on one machine, for tests and comparisons. Says which kernel ran, if there
/// was any output to run it for.
///
/// # Errors
/// As [`hash_many_after`], and [`Error::Unavailable`] if the machine has no kernel for lanes, or
/// this processor lacks it.
///
/// # Panics
/// As [`hash_many_after`].
pub fn hash_many_on(
    machine: Machine,
    start: &Midstate,
    messages: &Messages,
    foot: &[u8],
    out: &mut [u8],
) -> Result<Option<Kernel>, Error> {
    run(Cell::on(machine)?, None, start, messages, foot, out)
}

/// [`hash_many_after`] by the lanes of `cell`, and by `stream` what is too little for them.
pub(super) fn run(
    cell: Cell,
    stream: Option<Stream>,
    start: &Midstate,
    messages: &Messages,
    foot: &[u8],
    out: &mut [u8],
) -> Result<Option<Kernel>, Error> {
    assert!(foot.len() <= MAX_FOOT, "{} bytes after every message", foot.len());
    let output_len = start.function.output_len();
    let expected = messages.len().saturating_mul(output_len);
    if out.len() != expected {
        return Err(Error::OutputLength { expected, got: out.len() });
    }
    if out.is_empty() {
        return Ok(None);
    }
    let mut kernel = None;
    for (window, out) in out.chunks_mut(WINDOW * output_len).enumerate() {
        let from = window * WINDOW;
        let messages = messages.range(from, from + out.len() / output_len);
        let batch = Batch { start, messages, foot };
        kernel = with_lanes!(cell, lanes => batch.hash(lanes, stream, out));
    }
    Ok(kernel)
}

/// Messages and what comes before and after each of them.
struct Batch<'a> {
    /// Its state is what every lane starts from, its rest comes before each message.
    start: &'a Midstate,
    messages: Messages<'a>,
    foot: &'a [u8],
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

/// Where the blocks come from: a message is a head, a body and a tail, each possibly empty; then
/// its output is squeezed.
#[derive(Clone, Copy)]
enum Segment<'a> {
    /// No message.
    Idle,
    /// The block made of the prefix's rest and the message's first bytes; and its others.
    Head(&'a [u8]),
    /// Blocks of the message itself, and the bytes after them.
    Body(&'a [u8], &'a [u8]),
    /// The padded last blocks.
    Tail,
    /// Nothing: so many bytes of output are written, and another block of it is due.
    Output(usize),
}

/// Blocks that are put together from bytes of different origin.
#[derive(Clone, Copy)]
struct Scratch {
    head: [u8; MAX_RATE],
    tail: [u8; 2 * MAX_RATE],
    tail_blocks: usize,
}

impl Scratch {
    const EMPTY: Scratch = Scratch { head: [0; MAX_RATE], tail: [0; 2 * MAX_RATE], tail_blocks: 0 };

    fn wipe(lanes: &mut [Scratch]) {
        for scratch in lanes {
            wipe_bytes(&mut scratch.head);
            wipe_bytes(&mut scratch.tail);
        }
    }
}

impl<'a> Lane<'a> {
    const IDLE: Self = Lane { index: 0, segment: Segment::Idle, left: 0 };

    /// The blocks that are left of the segment.
    fn at_hand<'s>(&self, rate: usize, scratch: &'s Scratch) -> &'s [u8]
    where
        'a: 's,
    {
        let segment = match self.segment {
            Segment::Idle => &[][..],
            Segment::Head(_) => &scratch.head[..rate],
            Segment::Body(body, _) => body,
            Segment::Tail => &scratch.tail[..rate * scratch.tail_blocks],
            Segment::Output(_) => &ZEROS[..rate],
        };
        &segment[segment.len() - rate * self.left..]
    }
}

impl<'a> Batch<'a> {
    fn function(&self) -> Function {
        self.start.function
    }

    /// Hashes every message, at least one and at most [`WINDOW`]; the kernel that did.
    fn hash<const L: usize>(
        &self,
        lanes: impl Lanes<L>,
        stream: Option<Stream>,
        out: &mut [u8],
    ) -> Option<Kernel> {
        let count = self.messages.len();
        let len = self.messages.get(0).len();
        if self.messages.is_strided() || (1..count).all(|i| self.messages.get(i).len() == len) {
            return self.hash_equal(lanes, stream, out);
        }
        // Longest first: the key's high half is the complement of the length in blocks.
        let mut order = [0u64; WINDOW];
        let order = &mut order[..count];
        let rate = self.function().rate() as u64;
        for (i, key) in order.iter_mut().enumerate() {
            let blocks = (self.messages.get(i).len() as u64 / rate).min(u64::from(u32::MAX));
            *key = (u64::from(u32::MAX) - blocks) << 32 | i as u64;
        }
        order.sort_unstable();
        self.hash_unequal(lanes, stream, order, out)
    }

    /// Puts a message into a lane, at its first blocks.
    fn begin(&self, lane: &mut Lane<'a>, index: usize, scratch: &mut Scratch) {
        lane.index = index;
        let (message, rest) = (self.messages.get(index), self.start.rest());
        let rate = self.function().rate();
        match message.split_at_checked(rate - rest.len()) {
            _ if rest.is_empty() => self.go_on(lane, message, scratch),
            Some((first, others)) => {
                scratch.head[..rest.len()].copy_from_slice(rest);
                scratch.head[rest.len()..rate].copy_from_slice(first);
                (lane.segment, lane.left) = (Segment::Head(others), 1);
            }
            None => self.end(lane, [rest, message, self.foot], scratch),
        }
    }

    /// The lane's next blocks are the message's `rest`.
    fn go_on(&self, lane: &mut Lane<'a>, rest: &'a [u8], scratch: &mut Scratch) {
        let rate = self.function().rate();
        let blocks = rest.len() / rate;
        if blocks == 0 {
            self.end(lane, [&[], rest, self.foot], scratch);
        } else {
            let (body, tail) = rest.split_at(blocks * rate);
            (lane.segment, lane.left) = (Segment::Body(body, tail), blocks);
        }
    }

    /// The lane's next blocks are the padded last ones, made of `parts`.
    fn end(&self, lane: &mut Lane<'a>, parts: [&[u8]; 3], scratch: &mut Scratch) {
        scratch.tail_blocks = pad_parts(self.function(), parts, &mut scratch.tail);
        (lane.segment, lane.left) = (Segment::Tail, scratch.tail_blocks);
    }

    /// Moves a lane whose blocks are absorbed to the next ones of its message, or writes what
    /// `write` gives of its output; afterwards the lane is idle or has blocks left.
    fn advance(
        &self,
        lane: &mut Lane<'a>,
        scratch: &mut Scratch,
        out: &mut [u8],
        write: impl FnOnce(&mut [u8]),
    ) {
        let written = match lane.segment {
            Segment::Head(rest) => return self.go_on(lane, rest, scratch),
            Segment::Body(_, rest) => return self.end(lane, [&[], rest, self.foot], scratch),
            Segment::Idle => return,
            Segment::Tail => 0,
            Segment::Output(written) => written,
        };
        let len = self.function().output_len();
        let to = len.min(written + self.function().rate());
        write(&mut out[lane.index * len..][written..to]);
        (lane.segment, lane.left) =
            if to < len { (Segment::Output(to), 1) } else { (Segment::Idle, 0) };
    }

    /// Takes a message with blocks left to its end in a stream of its own.
    fn finish_alone(
        &self,
        stream: Stream,
        mut a: [u64; 25],
        lane: &mut Lane<'a>,
        scratch: &mut Scratch,
        out: &mut [u8],
    ) -> Option<Kernel> {
        let (rate, rounds) = (self.function().rate(), self.function().permutation());
        let mut kernel = None;
        while lane.left > 0 {
            let blocks = lane.at_hand(rate, scratch);
            kernel = Some(stream.absorb(&mut a, rounds, rate, blocks));
            lane.left = 0;
            self.advance(lane, scratch, out, |out| write_bytes(&a, out));
        }
        wipe_long_words(&mut a);
        kernel
    }

    /// Messages of one length: lanes run in step from the first block to the last.
    fn hash_equal<const L: usize>(
        &self,
        lanes: impl Lanes<L>,
        stream: Option<Stream>,
        out: &mut [u8],
    ) -> Option<Kernel> {
        let (rate, rounds) = (self.function().rate(), self.function().permutation());
        let cut = Cut::of(self);
        let mut start = State::splat(&self.start.a);
        if cut.is_direct {
            // All of a block but the message's bytes is the same for all messages.
            let len = cut.tail;
            let padding = self.padding(len);
            let (foot_end, last) = ((len + self.foot.len()) / 8, rate / 8 - 1);
            let pad = |state: &mut State<L>| {
                for i in (len / 8..=last).filter(|i| *i <= foot_end || *i == last) {
                    state.xor(i, padding[i]);
                }
            };
            if cut.body_end == 0 {
                pad(&mut start);
            }
            return self.in_step(lanes, stream, start, out, |state, messages| {
                if cut.body_end > 0 {
                    let bodies = messages.map(|message| &message[..cut.body_end]);
                    lanes.absorb_lanes(state, rounds, rate, &bodies);
                    pad(state);
                }
                match len {
                    0 => lanes.permute_lanes(state, rounds),
                    _ => {
                        let rests = messages.map(|message| &message[cut.body_end..]);
                        lanes.absorb_lanes(state, rounds, len, &rests)
                    }
                }
            });
        }
        let mut scratch = [self.around(&cut); L];
        let kernel = self.in_step(lanes, stream, start, out, |state, messages| {
            if cut.head > 0 {
                for (scratch, message) in scratch.iter_mut().zip(messages) {
                    scratch.head[rate - cut.head..rate].copy_from_slice(&message[..cut.head]);
                }
                let heads = scratch.each_ref().map(|scratch| &scratch.head[..rate]);
                lanes.absorb_lanes(state, rounds, rate, &heads);
            }
            if cut.body_end > cut.head {
                let bodies = messages.map(|message| &message[cut.head..cut.body_end]);
                lanes.absorb_lanes(state, rounds, rate, &bodies);
            }
            for (scratch, message) in scratch.iter_mut().zip(messages) {
                let rest = &message[cut.body_end..];
                scratch.tail[cut.before..][..rest.len()].copy_from_slice(rest);
            }
            let tails = scratch.each_ref().map(|s| &s.tail[..rate * s.tail_blocks]);
            lanes.absorb_lanes(state, rounds, rate, &tails)
        });
        Scratch::wipe(&mut scratch);
        kernel
    }

    /// Calls `absorb` with the state that lanes start from and the next messages, and writes what
    /// it makes of them.
    fn in_step<const L: usize>(
        &self,
        lanes: impl Lanes<L>,
        stream: Option<Stream>,
        mut start: State<L>,
        out: &mut [u8],
        mut absorb: impl FnMut(&mut State<L>, [&[u8]; L]) -> Kernel,
    ) -> Option<Kernel> {
        let (rate, rounds) = (self.function().rate(), self.function().permutation());
        let (count, output_len) = (self.messages.len(), self.function().output_len());
        let mut state = start;
        let mut kernel = None;
        for (group, out) in out.chunks_mut(L * output_len).enumerate() {
            let first = group * L;
            let active = L.min(count - first);
            if let Some(stream) = stream.filter(|_| is_faster_alone::<L>(active)) {
                for (index, out) in (first..).zip(out.chunks_exact_mut(output_len)) {
                    let message = self.messages.get(index);
                    let alone = self.start.finish_on([message, self.foot], out, stream);
                    kernel = kernel.or(Some(alone));
                }
                continue;
            }
            // Lanes past the last message repeat it.
            let message = |lane: usize| self.messages.get(first + lane.min(active - 1));
            state = start;
            kernel = Some(absorb(&mut state, ::core::array::from_fn(message)));
            for from in (0..output_len).step_by(rate) {
                if from > 0 {
                    lanes.permute_lanes(&mut state, rounds);
                }
                let to = output_len.min(from + rate);
                for (lane, out) in out.chunks_exact_mut(output_len).enumerate() {
                    state.write(lane, &mut out[from..to]);
                }
            }
        }
        start.wipe();
        state.wipe();
        kernel
    }

    /// The words of a last block whose first `len` bytes are a message's, without these.
    fn padding(&self, len: usize) -> [u64; 25] {
        let mut last = [0; MAX_RATE];
        let mut words = [0; 25];
        let foot_end = len + self.foot.len();
        last[len..foot_end].copy_from_slice(self.foot);
        close(self.function(), foot_end, &mut last[..self.function().rate()]);
        for (word, bytes) in words.iter_mut().zip(last.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        words
    }

    /// The blocks around the first message, whose bytes those of the others replace.
    fn around(&self, cut: &Cut) -> Scratch {
        let (rest, message) = (self.start.rest(), self.messages.get(0));
        let mut scratch = Scratch::EMPTY;
        scratch.head[..rest.len()].copy_from_slice(rest);
        let parts = [&rest[..cut.before], &message[cut.body_end..], self.foot];
        scratch.tail_blocks = pad_parts(self.function(), parts, &mut scratch.tail);
        scratch
    }

    /// Messages of any lengths, taken in `order` (the low half of each key is an index).
    fn hash_unequal<const L: usize>(
        &self,
        kernel: impl Lanes<L>,
        stream: Option<Stream>,
        order: &[u64],
        out: &mut [u8],
    ) -> Option<Kernel> {
        let (rate, rounds) = (self.function().rate(), self.function().permutation());
        let mut order = order.iter().map(|key| *key as u32 as usize);
        let mut start = State::splat(&self.start.a);
        let mut state = start;
        let mut scratch = [Scratch::EMPTY; L];
        let mut lanes = [Lane::IDLE; L];
        let mut ran = None;
        loop {
            let mut active = 0;
            let mut busy = 0;
            let mut blocks = usize::MAX;
            let mut starting = [false; L];
            for (i, lane) in lanes.iter_mut().enumerate() {
                if lane.left == 0 {
                    self.advance(lane, &mut scratch[i], out, |out| state.write(i, out));
                    if let Segment::Idle = lane.segment {
                        let Some(index) = order.next() else { continue };
                        self.begin(lane, index, &mut scratch[i]);
                        starting[i] = true;
                    }
                }
                active += 1;
                busy = i;
                blocks = blocks.min(lane.left);
            }
            if starting == [true; L] {
                state = start;
            } else {
                for i in (0..L).filter(|i| starting[*i]) {
                    state.set(i, &self.start.a);
                }
            }
            if active == 0 || stream.is_some() && is_faster_alone::<L>(active) {
                break;
            }
            let input = |i: usize| {
                let i = if lanes[i].left > 0 { i } else { busy };
                &lanes[i].at_hand(rate, &scratch[i])[..blocks * rate]
            };
            let inputs = ::core::array::from_fn(input);
            ran = Some(kernel.absorb_lanes(&mut state, rounds, rate, &inputs));
            for lane in &mut lanes {
                lane.left = lane.left.saturating_sub(blocks);
            }
        }
        for (i, lane) in lanes.iter_mut().enumerate() {
            if let (Some(stream), true) = (stream, lane.left > 0) {
                let alone = self.finish_alone(stream, state.get(i), lane, &mut scratch[i], out);
                ran = ran.or(alone);
            }
        }
        start.wipe();
        state.wipe();
        Scratch::wipe(&mut scratch);
        ran
    }
}

/// How the messages of one length are cut into blocks; in bytes.
struct Cut {
    /// Of a message, those that fill the block that the prefix's rest begins.
    head: usize,
    /// End of the message's own full blocks.
    body_end: usize,
    /// Of a message, those after its full blocks.
    tail: usize,
    /// Of the prefix's rest, those that come before these.
    before: usize,
    /// Whether the lanes take the message from where it lies, the tail included.
    is_direct: bool,
}

impl Cut {
    fn of(batch: &Batch) -> Cut {
        let (rate, rest) = (batch.function().rate(), batch.start.rest().len());
        let len = batch.messages.get(0).len();
        let is_short = rest + len < rate;
        let head = if is_short || rest == 0 { 0 } else { rate - rest };
        let body_end = if is_short { 0 } else { head + (len - head) / rate * rate };
        let tail = len - body_end;
        let is_direct =
            rest == 0 && tail + batch.foot.len() < rate && (tail == 0 || GROUPS.contains(&tail));
        Cut { head, body_end, tail, before: if is_short { rest } else { 0 }, is_direct }
    }
}

/// Whether `active` messages are done sooner one after another, each as a stream of its own,
/// than side by side in `L` lanes.
fn is_faster_alone<const L: usize>(active: usize) -> bool {
    active * 4 <= L.max(4) && L > 1
}
