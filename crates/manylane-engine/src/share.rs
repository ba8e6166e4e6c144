//! One batch, shared out: what nobody has taken yet.
//!
//! CPU threads take from the front and GPUs from the back until they meet, so nothing need be known
//! beforehand of how fast each is. A part that is taken carries its place in the output.

use std::collections::VecDeque;

use manylane::{Messages, Shape};

/// Slices whose lengths are summed up at a time.
const STEP: usize = 64;

/// What messages cost, as sums from the first on.
pub(crate) struct Weights<'a> {
    messages: Messages<'a>,
    keys: Option<Messages<'a>>,
    extra: u64,
    /// Bytes before every [`STEP`]th message, for slices only.
    sums: Vec<u64>,
}

impl<'a> Weights<'a> {
    /// `extra` is what a message costs beyond its length.
    pub(crate) fn new(messages: Messages<'a>, keys: Option<Messages<'a>>, extra: u64) -> Self {
        let mut sums = Vec::new();
        if let Shape::Slices(slices) = messages.shape() {
            let mut sum = 0;
            sums.extend(slices.chunks(STEP).map(|chunk| {
                let before = sum;
                sum += chunk.iter().map(|slice| slice.len() as u64).sum::<u64>();
                before
            }));
        }
        Weights { messages, keys, extra, sums }
    }

    /// Bytes of the messages before `index`.
    fn bytes(&self, index: usize) -> u64 {
        match self.messages.shape() {
            Shape::Slices(slices) if index > 0 => {
                let step = (index - 1) / STEP;
                let rest = slices[step * STEP..index].iter().map(|slice| slice.len() as u64);
                self.sums[step] + rest.sum::<u64>()
            }
            _ => self.messages.range(0, index).total_bytes(),
        }
    }

    fn upto(&self, index: usize) -> u64 {
        self.bytes(index) + self.extra * index as u64
    }

    /// Cost of messages `from..to`.
    pub(crate) fn cost(&self, from: usize, to: usize) -> u64 {
        self.upto(to) - self.upto(from)
    }

    /// Bytes of staging memory that messages `from..to` and their keys take at most.
    fn staged(&self, from: usize, to: usize) -> u64 {
        let of = |messages: &Messages| match messages.shape() {
            // Rows may go over with their gaps, or each at a multiple of 16 bytes.
            Shape::Strided { len, stride, .. } => {
                let gaps = if stride.saturating_sub(len) <= len / 8 { stride } else { 0 };
                (to - from) as u64 * gaps.max(len.next_multiple_of(16)) as u64
            }
            Shape::Slices(slices) => slices[from..to].iter().map(|s| s.len() as u64).sum(),
            _ => messages.range(from, to).total_bytes(),
        };
        let keys = self.keys.as_ref().map_or(0, |keys| of(keys) + 16);
        if let Shape::Slices(_) = self.messages.shape() {
            return self.bytes(to) - self.bytes(from) + keys;
        }
        of(&self.messages) + keys
    }

    /// The first index in `from..to` that fulfils the condition, as all after it do; else `to`.
    fn first(mut from: usize, mut to: usize, condition: impl Fn(usize) -> bool) -> usize {
        while from < to {
            let middle = from.midpoint(to);
            if condition(middle) {
                to = middle;
            } else {
                from = middle + 1;
            }
        }
        from
    }

    /// Messages of at least `limit` bytes, in order; nothing if there are more than `most`.
    pub(crate) fn long(&self, limit: u64, most: usize) -> Option<Vec<usize>> {
        let mut found = Vec::new();
        let mut ranges = vec![(0, self.messages.len())];
        while let Some((from, to)) = ranges.pop() {
            if from == to || self.bytes(to) - self.bytes(from) < limit {
                continue;
            }
            if to - from == 1 {
                if found.len() == most {
                    return None;
                }
                found.push(from);
                continue;
            }
            let middle = from.midpoint(to);
            ranges.extend([(middle, to), (from, middle)]);
        }
        Some(found)
    }
}

/// Room for digests of one length, one after another.
pub(crate) struct Digests<'a> {
    bytes: &'a mut [u8],
    /// Bytes of each, at least one.
    each: usize,
}

impl<'a> Digests<'a> {
    /// # Panics
    /// Unless the room is that of a number of digests.
    pub(crate) fn new(bytes: &'a mut [u8], each: usize) -> Self {
        assert!(bytes.len().is_multiple_of(each), "room for digests of {each} bytes");
        Digests { bytes, each }
    }

    /// How many there is room for.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / self.each
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Keeps the room for the first `count`, and gives the rest.
    pub(crate) fn split_off(&mut self, count: usize) -> Digests<'a> {
        let (kept, rest) = std::mem::take(&mut self.bytes).split_at_mut(count * self.each);
        self.bytes = kept;
        Digests { bytes: rest, each: self.each }
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        self.bytes
    }

    fn into_bytes(self) -> &'a mut [u8] {
        self.bytes
    }
}

/// Messages next to each other that belong to whoever has this, and where their digests go.
pub(crate) struct Part<'a> {
    pub(crate) first: usize,
    pub(crate) out: Digests<'a>,
}

impl<'a> Part<'a> {
    pub(crate) fn end(&self) -> usize {
        self.first + self.out.len()
    }

    /// Keeps the first `count` messages, and gives the others.
    pub(crate) fn split_off(&mut self, count: usize) -> Part<'a> {
        Part { first: self.first + count, out: self.out.split_off(count) }
    }
}

/// Long messages that one CPU thread hashes side by side.
pub(crate) type Group<'a> = Vec<(usize, &'a mut [u8])>;

/// What nobody has taken.
pub(crate) struct Board<'a> {
    /// In order at first; what comes back goes to the end.
    parts: VecDeque<Part<'a>>,
    /// For CPU threads only, the longest first.
    groups: VecDeque<Group<'a>>,
    /// Cost of `parts`.
    left: u64,
}

impl<'a> Board<'a> {
    /// All messages; those named in `long` are for CPU threads, of which there are `threads` with
    /// `lanes` each.
    pub(crate) fn new(
        weights: &Weights,
        long: &[usize],
        out: Digests<'a>,
        threads: usize,
        lanes: usize,
    ) -> Self {
        let mut board = Board { parts: VecDeque::new(), groups: VecDeque::new(), left: 0 };
        let mut rest = Part { first: 0, out };
        let mut alone = Vec::with_capacity(long.len());
        for &index in long {
            let mut tail = rest.split_off(index - rest.first);
            board.put(weights, rest);
            rest = tail.split_off(1);
            alone.push((index, tail.out.into_bytes()));
        }
        board.put(weights, rest);
        // Few get a thread each, as a stream; many do better side by side.
        alone.sort_by_key(|(index, _)| std::cmp::Reverse(weights.messages.get(*index).len()));
        let side_by_side = (alone.len() / threads).clamp(1, lanes);
        while !alone.is_empty() {
            let rest = alone.split_off(side_by_side.min(alone.len()));
            board.groups.push_back(alone);
            alone = rest;
        }
        board
    }

    /// Cost that is left for everyone.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.groups.is_empty()
    }

    /// Puts a part back, for whoever takes it.
    pub(crate) fn put(&mut self, weights: &Weights, part: Part<'a>) {
        if !part.out.is_empty() {
            self.left += weights.cost(part.first, part.end());
            self.parts.push_back(part);
        }
    }

    /// Leaves the first message of a part to the CPU, and puts the others back.
    pub(crate) fn refuse(&mut self, weights: &Weights, mut part: Part<'a>) {
        let rest = part.split_off(1);
        self.put(weights, rest);
        if !part.out.is_empty() {
            self.groups.push_back(vec![(part.first, part.out.into_bytes())]);
        }
    }

    pub(crate) fn take_group(&mut self) -> Option<Group<'a>> {
        self.groups.pop_front()
    }

    /// A part of about that cost from the front, of whole lots of `lanes` messages.
    pub(crate) fn take_front(
        &mut self,
        weights: &Weights,
        cost: u64,
        lanes: usize,
    ) -> Option<Part<'a>> {
        let mut part = self.parts.pop_front()?;
        let (first, end) = (part.first, part.end());
        let before = weights.upto(first);
        let split = Weights::first(first, end, |i| weights.upto(i) - before >= cost);
        let count = ((split - first + lanes / 2) / lanes * lanes).max(lanes).min(end - first);
        let rest = part.split_off(count);
        self.left -= weights.cost(first, part.end());
        if !rest.out.is_empty() {
            self.parts.push_front(rest);
        }
        Some(part)
    }

    /// A part of about that cost from the back that fits into a slot; at least one message,
    /// whether it fits or not.
    pub(crate) fn take_back(
        &mut self,
        weights: &Weights,
        cost: u64,
        slot_bytes: usize,
        most: usize,
    ) -> Option<Part<'a>> {
        let mut rest = self.parts.pop_back()?;
        let (first, end) = (rest.first, rest.end());
        let fits = |i| weights.cost(i, end) <= cost && weights.staged(i, end) <= slot_bytes as u64;
        let split = Weights::first(first.max(end.saturating_sub(most)), end - 1, fits);
        let part = rest.split_off(split - first);
        self.left -= weights.cost(split, end);
        if !rest.out.is_empty() {
            self.parts.push_back(rest);
        }
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_message_is_taken_once(
            lengths in prop::collection::vec(prop_oneof![9 => 0..300usize, 1 => 0..9000usize], 0..500),
            takes in prop::collection::vec((any::<bool>(), 1..20_000u64, any::<bool>()), 1..50),
            limit in 200..9000u64,
        ) {
            let data = vec![0; 9000];
            let slices: Vec<&[u8]> = lengths.iter().map(|&len| &data[..len]).collect();
            let weights = Weights::new(Messages::slices(&slices), None, 64);
            let long = weights.long(limit, usize::MAX).unwrap();
            let expected: Vec<_> =
                (0..lengths.len()).filter(|&i| lengths[i] as u64 >= limit).collect();
            prop_assert_eq!(&long, &expected);
            let mut out = vec![0; 28 * lengths.len()];
            let out = Digests::new(&mut out, 28);
            let mut board = Board::new(&weights, &long, out, 3, 4);
            let mut seen = vec![0; lengths.len()];
            while let Some(group) = board.take_group() {
                prop_assert!(group.len() <= 4);
                group.iter().for_each(|(index, _)| seen[*index] += 1);
            }
            for (front, cost, put_back) in takes.into_iter().cycle() {
                let left = board.left();
                let part = if front {
                    board.take_front(&weights, cost, 4)
                } else {
                    board.take_back(&weights, cost, 10_000, 30)
                };
                let Some(part) = part else { break };
                let (first, end) = (part.first, part.end());
                prop_assert!(first < end);
                prop_assert_eq!(left - board.left(), weights.cost(first, end));
                if !front && end - first > 1 {
                    prop_assert!(weights.cost(first, end) <= cost && end - first <= 30);
                }
                // Now and then one does not get done where it went.
                if put_back && seen.iter().sum::<i32>() % 3 == 0 {
                    seen[first] += 1;
                    let mut part = part;
                    let rest = part.split_off(1);
                    board.put(&weights, rest);
                } else {
                    seen[first..end].iter_mut().for_each(|count| *count += 1);
                }
            }
            prop_assert!(board.is_empty() && board.left() == 0);
            prop_assert!(seen.iter().all(|&count| count == 1), "{seen:?}");
        }

        #[test]
        fn sums_are_those_of_the_lengths(
            lengths in prop::collection::vec(0..300usize, 0..300),
            at in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            let data = vec![0; 300];
            let slices: Vec<&[u8]> = lengths.iter().map(|&len| &data[..len]).collect();
            let weights = Weights::new(Messages::slices(&slices), None, 64);
            let (a, b) = (at.0.index(lengths.len() + 1), at.1.index(lengths.len() + 1));
            let (from, to) = (a.min(b), a.max(b));
            let expected: usize = lengths[from..to].iter().map(|len| len + 64).sum();
            prop_assert_eq!(weights.cost(from, to), expected as u64);
        }
    }

    #[test]
    fn more_long_messages_than_asked_for_are_not_listed() {
        let data = [0; 50];
        let slices = [&data[..]; 10];
        let weights = Weights::new(Messages::slices(&slices), None, 64);
        assert_eq!(weights.long(50, 10).map(|long| long.len()), Some(10));
        assert_eq!(weights.long(50, 9), None);
        assert_eq!(weights.long(51, 0), Some(vec![]));
    }
}
