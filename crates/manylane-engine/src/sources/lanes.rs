//! One worker's lanes: as many sources side by side as its machine takes.

use std::{
    collections::VecDeque,
    io::{self, Read},
    mem,
    sync::atomic::Ordering::Relaxed,
    time::Instant,
};

use manylane::hash::{Lanes, MAX_PADDING, Midstate, Tree};
use zeroize::Zeroize;

use super::{Deliver, Item, Ring, Run, Stream, Taken, gpus::Feeder, queues::HUGE};
use crate::{Done, Function, Source, runtime::lock};

/// Bytes that a lane reads at a time, but for what is no whole block. Sixteen lanes of this size fill half of a second-level cache
/// of 2 MiB. Measured on a tree of 20,000 files of together 507 MB (Xeon, AVX-512, processor time
/// of one thread, the least of 21 runs): 263 ms with 32 KiB, 262 ms with 64, 257 ms with 128.
const READ: usize = 64 << 10;

/// Room of a lane: what it reads, behind at most one block left over or of the common prefix,
/// with up to two blocks of padding. One more keeps the lanes' places from falling on the same sets of the
/// cache.
fn room(block_len: usize) -> usize {
    (READ + 4 * block_len).next_multiple_of(64)
}

/// More lanes than any machine has.
const MAX_LANES: usize = 64;

/// Results that a worker keeps before it hands them in.
const KEPT: usize = 8;

/// A thread's lanes and the sources in them.
pub(super) struct Worker<S: Source> {
    lanes: Lanes,
    /// Room for each lane; empty until the first source comes.
    buffer: Vec<u8>,
    /// Bytes of that.
    room: usize,
    block_len: usize,
    /// Bytes of each lane's room that have been written.
    used: Vec<usize>,
    at_work: Vec<Option<Lane<S>>>,
    /// Number of lanes that are taken.
    active: usize,
    /// Sources that wait for a lane.
    queue: VecDeque<Item<S>>,
    /// What this worker does for GPUs; it gives the lanes what is too long for these.
    feeder: Feeder<S>,
    /// Bytes read since progress was last told.
    read: u64,
    /// Results that have not been handed in.
    done: Vec<Done<S>>,
    /// A source that this worker will hash by itself as soon as its lanes are empty.
    reserved: Option<Stream<S>>,
    /// The common prefix.
    start: Midstate,
    /// Whether only short sources are chains, for lanes.
    is_tree: bool,
    /// Sources that are none, which this worker hashes one by one before it goes on.
    long: VecDeque<Stream<S>>,
}

/// A source in a lane.
struct Lane<S: Source> {
    item: Item<S>,
    reader: S::Reader,
    /// Bytes read.
    len: u64,
    /// Its length as far as known, if it has been asked for.
    known: Option<Option<u64>>,
    /// What is to be hashed lies from `from` to `to` in the lane's room.
    from: usize,
    to: usize,
    /// Where the padding begins, once the source has ended.
    padding: Option<usize>,
}

impl<S: Source> Lane<S> {
    fn blocks(&self, block_len: usize) -> usize {
        (self.to - self.from) / block_len
    }

    /// Bytes left as far as known.
    fn left(&self) -> u64 {
        let unread = match self.padding {
            Some(_) => 0,
            None => self.known.flatten().unwrap_or(u64::MAX / 2).saturating_sub(self.len),
        };
        unread + (self.to - self.from) as u64
    }

    /// Fills the lane's room, and pads the source if it ends; unless it is too long for what is a tree.
    fn fill(&mut self, room: &mut [u8], start: &Midstate, is_tree: bool) -> io::Result<()> {
        let block_len = start.block_len();
        room.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        let end = self.to.next_multiple_of(block_len) + READ / block_len * block_len;
        while self.to < end {
            match self.reader.read(&mut room[self.to..end]) {
                Ok(0) if is_tree && self.len > Tree::SHORT as u64 => return Ok(()),
                Ok(0) => {
                    let foot: &[u8] = if is_tree { &Tree::FOOT } else { &[] };
                    room[self.to..][..foot.len()].copy_from_slice(foot);
                    self.to += foot.len();
                    let mut last = [0; MAX_PADDING];
                    let tail_at = self.to - self.to % block_len;
                    let total_len = start.prefix_len() + self.len + foot.len() as u64;
                    let len = start.pad(&room[tail_at..self.to], total_len, &mut last);
                    room[tail_at..][..len].copy_from_slice(&last[..len]);
                    last.zeroize();
                    self.padding = Some(self.to);
                    self.to = tail_at + len;
                    return Ok(());
                }
                Ok(n) => {
                    self.to += n;
                    self.len += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.known.is_none() {
            self.known = Some(self.item.source.open_len(&self.reader));
        }
        Ok(())
    }
}

impl<S: Source> Worker<S> {
    pub(super) fn new(function: &Function) -> Self {
        let start = function.start.clone();
        let lanes = Lanes::new(&start);
        assert!(lanes.count() <= MAX_LANES, "more lanes than places for them");
        Worker {
            buffer: Vec::new(),
            room: room(start.block_len()),
            block_len: start.block_len(),
            used: vec![0; lanes.count()],
            at_work: (0..lanes.count()).map(|_| None).collect(),
            active: 0,
            queue: VecDeque::new(),
            feeder: Feeder::new(),
            read: 0,
            done: Vec::new(),
            reserved: None,
            start,
            is_tree: function.tree().is_some(),
            long: VecDeque::new(),
            lanes,
        }
    }

    /// Where sources for this worker's lanes go.
    pub(super) fn queue(&mut self) -> &mut VecDeque<Item<S>> {
        &mut self.queue
    }

    /// Whether there is something for the lanes.
    pub(super) fn has_sources(&self) -> bool {
        !(self.queue.is_empty() && self.feeder.too_long.is_empty())
    }

    /// Looks after GPUs. Whether there was anything to do.
    pub(super) fn serve_gpus<I: Iterator<Item = S> + Send>(&mut self, run: &Run<S, I>) -> bool {
        // Who has promised to be free soon does not begin anything.
        self.feeder.serve(run, self.reserved.is_none())
    }

    /// Hashes sources side by side as long as there are enough of them.
    pub(super) fn work<I: Iterator<Item = S> + Send>(
        &mut self,
        run: &Run<S, I>,
        thread: &mut impl Deliver,
        ring: &mut Ring,
    ) {
        if self.buffer.is_empty() {
            self.buffer = vec![0; self.lanes.count() * self.room];
        }
        loop {
            self.serve_gpus(run);
            let begun = Instant::now();
            let more = self.occupy(run);
            while let Some(stream) = self.long.pop_front_if(|_| !run.stopped()) {
                self.done.extend(stream.finish(run, thread, ring));
            }
            if run.stopped() {
                self.at_work.iter_mut().for_each(|lane| *lane = None);
                self.queue.clear();
                self.feeder.too_long.clear();
                self.long.clear();
                return;
            }
            if self.active == 0 && !self.has_sources() {
                break;
            }
            if !more && self.spread(run) {
                break;
            }
            let hashed = self.advance(run);
            run.gpus.measure(hashed, begun.elapsed());
            if self.done.len() >= KEPT {
                run.hand_in(&mut self.done);
            }
            thread.deliver();
        }
        run.progress.add(mem::take(&mut self.read), 0);
        run.hand_in(&mut self.done);
        if let Some(stream) = self.reserved.take() {
            run.leave(stream);
        }
    }

    /// Puts a source into every idle lane. Whether others may still come.
    fn occupy<I: Iterator<Item = S> + Send>(&mut self, run: &Run<S, I>) -> bool {
        let mut lane = 0;
        while lane < self.at_work.len() {
            if self.at_work[lane].is_some() {
                lane += 1;
                continue;
            }
            if let Some((item, reader)) = self.feeder.too_long.pop_front() {
                self.begin(run, lane, item, reader);
                continue;
            }
            let Some(item) = self.queue.pop_front() else {
                if self.reserved.is_some() {
                    break;
                }
                let wanted = super::HANDFUL.min(self.at_work.len() - self.active);
                match run.take(wanted, &mut self.queue, self.active == 0) {
                    Taken::Some => continue,
                    Taken::Stream(stream) => {
                        self.reserved = Some(stream);
                        break;
                    }
                    Taken::Later => return true,
                    Taken::None => return false,
                }
            };
            if self.is_tree && item.hint.is_some_and(|len| len > Tree::SHORT as u64) {
                // The others wait no longer than for one of them.
                self.long.push_back(Stream::of(item));
                return true;
            }
            match run.open(item) {
                Ok((item, reader)) => self.begin(run, lane, item, reader),
                Err(done) => self.done.extend(done),
            }
        }
        true
    }

    /// Fills a lane with the beginning of an open source.
    fn begin<I>(&mut self, run: &Run<S, I>, lane: usize, item: Item<S>, reader: S::Reader) {
        let rest = self.start.rest();
        self.buffer[lane * self.room..][..rest.len()].copy_from_slice(rest);
        let (from, to) = (0, rest.len());
        self.at_work[lane] =
            Some(Lane { item, reader, len: 0, known: None, from, to, padding: None });
        self.active += 1;
        self.lanes.begin(lane, &self.start);
        self.fill(run, lane);
    }

    /// Reads on in a lane.
    fn fill<I>(&mut self, run: &Run<S, I>, lane: usize) {
        let room = &mut self.buffer[lane * self.room..][..self.room];
        let Some(at_work) = &mut self.at_work[lane] else { return };
        let (asked, len) = (at_work.known.is_some(), at_work.len);
        let filled = at_work.fill(room, &self.start, self.is_tree);
        self.read += at_work.len - len;
        self.used[lane] = self.used[lane].max(at_work.to);
        match filled {
            Err(error) => self.end(run, lane, Err(error)),
            Ok(()) if self.is_tree => {
                let long = self.extract(run, lane);
                self.long.extend(long);
            }
            Ok(()) if !asked && at_work.known.flatten().is_some_and(|len| len >= HUGE) => {
                // Longer than it seemed. If huge ones are few, it gets a worker of its own: this
                // one, once its other lanes are empty.
                let mut state = lock(&run.state);
                if self.reserved.is_none() && state.queues.go_beside(run.threads) {
                    drop(state);
                    self.reserved = self.extract(run, lane).map(Stream::now_beside);
                }
            }
            Ok(()) => {}
        }
    }

    /// Makes a lane idle, with the result of its source.
    fn end<I>(&mut self, run: &Run<S, I>, lane: usize, result: io::Result<crate::Summary>) {
        if let Some(Lane { item: Item { index, source, .. }, reader, .. }) =
            self.at_work[lane].take()
        {
            self.active -= 1;
            drop(reader);
            run.closed();
            self.done.push(Done { index, source, result });
        }
    }

    /// Takes a source that has not ended out of its lane.
    fn extract<I>(&mut self, run: &Run<S, I>, lane: usize) -> Option<Stream<S>> {
        let Lane { item, reader, len, from, to, known, .. } =
            self.at_work[lane].take_if(|lane| lane.padding.is_none())?;
        self.active -= 1;
        let hashed = self.start.prefix_len() + len - (to - from) as u64;
        let state = match self.is_tree {
            // Nothing of it is, as that happens when it has just been begun.
            true => run.function.hasher(),
            false => self.lanes.midstate(lane, hashed / self.block_len as u64).into(),
        };
        let read = &self.buffer[lane * self.room..][from..to];
        Some(Stream::begun(item, reader, state, read, len, known.flatten()))
    }

    /// When no source is to be had: gives idle workers what would take longest here, and gives up
    /// the lanes when too few are left. Whether they are empty now.
    fn spread<I>(&mut self, run: &Run<S, I>) -> bool {
        let few = (self.at_work.len() / 8).max(1);
        let mut idle = run.waiting.load(Relaxed);
        while self.active <= few || idle > 0 {
            let begun = |(i, lane): (usize, &Option<Lane<S>>)| {
                lane.as_ref().filter(|lane| lane.padding.is_none()).map(|lane| (lane.left(), i))
            };
            let Some((_, longest)) = self.at_work.iter().enumerate().filter_map(begun).max() else {
                break;
            };
            if let Some(stream) = self.extract(run, longest) {
                run.leave(stream);
            }
            idle = idle.saturating_sub(1);
        }
        self.active == 0
    }

    /// Hashes the blocks that all lanes have, then ends or refills those that have no more. Gives
    /// the bytes hashed.
    fn advance<I>(&mut self, run: &Run<S, I>) -> usize {
        let block_len = self.block_len;
        let Some(busy) = self.at_work.iter().position(Option::is_some) else { return 0 };
        let blocks = self.at_work.iter().flatten().map(|lane| lane.blocks(block_len));
        let bytes = block_len * blocks.min().unwrap_or(0);
        let mut inputs = [&[][..]; MAX_LANES];
        for (i, input) in inputs.iter_mut().enumerate().take(self.at_work.len()) {
            let (i, lane) = match &self.at_work[i] {
                Some(lane) => (i, lane),
                None => (busy, self.at_work[busy].as_ref().expect("a busy lane")),
            };
            *input = &self.buffer[i * self.room + lane.from..][..bytes];
        }
        self.lanes.absorb(&inputs[..self.at_work.len()]);
        let hashed = bytes * self.active;
        run.progress.add(mem::take(&mut self.read), 0);
        for i in 0..self.at_work.len() {
            let Some(lane) = &mut self.at_work[i] else { continue };
            lane.from += bytes;
            if lane.blocks(block_len) > 0 {
                continue;
            }
            if lane.padding.is_some() {
                let result = run.summary(self.lanes.digest(i), lane.len);
                self.end(run, i, result);
            } else {
                self.fill(run, i);
            }
        }
        hashed
    }
}

impl<S: Source> Drop for Worker<S> {
    fn drop(&mut self) {
        // Only what was written: the rest of the buffer may not even be in memory.
        for (room, used) in self.buffer.chunks_mut(self.room).zip(&self.used) {
            room[..*used].zeroize();
        }
    }
}
