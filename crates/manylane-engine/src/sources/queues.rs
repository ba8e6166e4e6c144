//! Sources that nobody has begun: who takes which next.

use std::collections::VecDeque;

use super::{Item, tree};
use crate::Source;

/// Length from which a source starts before shorter ones that came first: one that takes a lane
/// longer than a few hundred short files.
const LONG: u64 = 1 << 20;

/// Length from which a source starts as a stream by itself, beside the lanes: half a second's
/// work, which would otherwise begin only when all others are done.
pub(super) const HUGE: u64 = 256 << 20;

/// Sources taken from the iterator that no worker has begun.
pub(super) struct Queues<S> {
    /// Length up to which GPUs may take sources; nothing if there are none, nor will be.
    limit: Option<u64>,
    /// What a GPU may take, as far as known; empty without a limit.
    brief: VecDeque<Item<S>>,
    short: VecDeque<Item<S>>,
    long: VecDeque<Item<S>>,
    huge: VecDeque<Item<S>>,
    /// Sources that could not be opened since too many files were open. Others of this run are,
    /// and each that closes feeds some of these; until then, no new ones are begun.
    starved: VecDeque<Item<S>>,
    /// Those of them that may be tried again.
    fed: VecDeque<Item<S>>,
    /// Workers at a huge source while others may be waiting for lanes.
    beside: usize,
    /// Whether a source has said how long it is.
    hinted: bool,
    /// Bytes of those in the first four queues that said how long they are.
    bytes: u64,
    /// How many there did not.
    unknown: usize,
}

impl<S: Source> Queues<S> {
    /// None so far; `limit` is the length up to which GPUs may take sources, if they may at all.
    pub(super) fn new(limit: Option<u64>) -> Self {
        Queues {
            limit,
            brief: VecDeque::new(),
            short: VecDeque::new(),
            long: VecDeque::new(),
            huge: VecDeque::new(),
            starved: VecDeque::new(),
            fed: VecDeque::new(),
            beside: 0,
            hinted: false,
            bytes: 0,
            unknown: 0,
        }
    }

    /// Adds one from the iterator.
    pub(super) fn push(&mut self, item: Item<S>) {
        self.hinted |= item.hint.is_some();
        self.count(&item);
        let source = &item.source;
        let is_brief = |limit| {
            let may_be = item.hint.is_none_or(|hint| hint <= limit);
            may_be && source.opens_again() && !source.may_wait()
        };
        match item.hint {
            Some(HUGE..) => self.huge.push_back(item),
            Some(LONG..) => self.long.push_back(item),
            _ if self.limit.is_some_and(is_brief) => self.brief.push_back(item),
            _ => self.short.push_back(item),
        }
    }

    fn count(&mut self, item: &Item<S>) {
        match item.hint {
            Some(hint) => self.bytes = self.bytes.saturating_add(hint),
            None => self.unknown += 1,
        }
    }

    fn begin(&mut self, item: Item<S>) -> Item<S> {
        match item.hint {
            Some(hint) => self.bytes = self.bytes.saturating_sub(hint),
            None => self.unknown -= 1,
        }
        item
    }

    /// Whether sources may be begun that were not starved.
    pub(super) fn are_open(&self) -> bool {
        self.starved.is_empty()
    }

    /// Sources that may be begun now.
    pub(super) fn pending(&self) -> usize {
        self.for_lanes() + self.for_gpus()
    }

    /// Those of them that a GPU may not take.
    pub(super) fn for_lanes(&self) -> usize {
        let others = || self.short.len() + self.long.len() + self.huge.len();
        self.fed.len() + if self.are_open() { others() } else { 0 }
    }

    /// Those that it may.
    pub(super) fn for_gpus(&self) -> usize {
        if self.are_open() { self.brief.len() } else { 0 }
    }

    /// Bytes of all that have not been begun, if those that do not tell have `usual` each; and how
    /// many there are.
    pub(super) fn left(&self, usual: f64) -> (f64, usize) {
        let count = self.brief.len() + self.short.len() + self.long.len() + self.huge.len();
        (self.bytes as f64 + self.unknown as f64 * usual, count)
    }

    /// Whether one that has not been begun may be long enough for several workers.
    pub(super) fn may_be_long(&self) -> bool {
        self.unknown > 0 || self.bytes >= tree::LONG
    }

    /// Whether any source has said how long it is.
    pub(super) fn are_hinted(&self) -> bool {
        self.hinted
    }

    /// Whether there are none, starved ones included.
    pub(super) fn are_empty(&self) -> bool {
        self.are_open() && self.pending() == 0
    }

    /// The next source for a lane, except those for GPUs if these are `kept` for them.
    pub(super) fn next(&mut self, kept: bool) -> Option<Item<S>> {
        if let Some(item) = self.fed.pop_front() {
            return Some(item);
        }
        let queues = [&mut self.huge, &mut self.long, &mut self.short, &mut self.brief];
        let may_begin = match (self.starved.is_empty(), kept) {
            (false, _) => 0,
            (true, true) => queues.len() - 1,
            (true, false) => queues.len(),
        };
        let item = queues.into_iter().take(may_begin).find_map(VecDeque::pop_front)?;
        Some(self.begin(item))
    }

    /// The next source for a GPU.
    pub(super) fn next_brief(&mut self) -> Option<Item<S>> {
        let item = self.brief.pop_front_if(|_| self.starved.is_empty())?;
        Some(self.begin(item))
    }

    /// The next source for a stream beside the lanes: where huge ones are few, on at most half
    /// of the workers. Many get through sooner in lanes.
    pub(super) fn next_huge(&mut self, threads: usize) -> Option<Item<S>> {
        let few = self.beside + self.huge.len() <= threads && self.may_go_beside(threads);
        let item = self.huge.pop_front_if(|_| few && self.starved.is_empty())?;
        self.beside += 1;
        Some(self.begin(item))
    }

    fn may_go_beside(&self, threads: usize) -> bool {
        self.beside < threads / 2
    }

    /// Counts one more worker at a huge source, if there may be one more.
    pub(super) fn go_beside(&mut self, threads: usize) -> bool {
        let may = self.may_go_beside(threads);
        self.beside += usize::from(may);
        may
    }

    /// Counts one less.
    pub(super) fn leave_beside(&mut self) {
        self.beside -= 1;
    }

    /// Puts back what was taken and not begun.
    pub(super) fn put_back(&mut self, item: Item<S>) {
        self.count(&item);
        self.short.push_front(item);
    }

    /// The same for one that a GPU may take.
    pub(super) fn put_back_brief(&mut self, item: Item<S>) {
        self.count(&item);
        self.brief.push_front(item);
    }

    /// Keeps one until a file is closed.
    pub(super) fn starve(&mut self, item: Item<S>) {
        self.starved.push_back(item);
    }

    /// Lets a starved source be tried again. Whether there was one.
    pub(super) fn feed(&mut self) -> bool {
        let item = self.starved.pop_front();
        let had_one = item.is_some();
        self.fed.extend(item);
        had_one
    }
}
