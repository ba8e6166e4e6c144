//! Messages to measure with.

use manylane::Messages;

/// Random bytes that begin on a cache line, a different one of a page each time: where data lies
/// in a page decides which loads are taken to depend on which stores, and that should neither be
/// lucky nor unlucky for a whole run.
pub(super) struct Bytes {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

const PAGE: usize = 4096;
const LINE: usize = 64;

impl Bytes {
    pub(super) fn random(len: usize, rng: &mut fastrand::Rng) -> Self {
        let mut memory = vec![0; len + PAGE + LINE];
        let start = memory.as_ptr().align_offset(LINE) + LINE * rng.usize(..PAGE / LINE);
        rng.fill(&mut memory[start..][..len]);
        Bytes { memory, start, len }
    }

    pub(super) fn get(&self) -> &[u8] {
        &self.memory[self.start..][..self.len]
    }

    /// The same bytes elsewhere, from the beginning of a cache line on.
    pub(super) fn again(&self) -> Self {
        let mut memory = vec![0; self.len + PAGE + LINE];
        let start = memory.as_ptr().align_offset(LINE);
        memory[start..][..self.len].copy_from_slice(self.get());
        Bytes { memory, start, len: self.len }
    }

    pub(super) fn get_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.len]
    }
}

/// Messages one after another.
pub(super) struct Rows {
    bytes: Bytes,
    /// Where each message begins, and the last ends.
    offsets: Vec<u64>,
    /// The common length, if they have one.
    len: Option<usize>,
}

impl Rows {
    /// `count` messages of `len` bytes.
    pub(super) fn equal(len: usize, count: usize, rng: &mut fastrand::Rng) -> Self {
        let offsets = (0..=count).map(|i| (i * len) as u64).collect();
        Rows { bytes: Bytes::random(len * count, rng), offsets, len: Some(len) }
    }

    /// Messages of the given lengths.
    pub(super) fn unequal(lengths: &[usize], rng: &mut fastrand::Rng) -> Self {
        let mut offsets = vec![0];
        let mut end = 0;
        for len in lengths {
            end += *len as u64;
            offsets.push(end);
        }
        Rows { bytes: Bytes::random(end as usize, rng), offsets, len: None }
    }

    /// What they consist of, for who wants to know it.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get()
    }

    /// The first of them: as many as have about `bytes` together, at least one.
    pub(super) fn first_messages(&self, bytes: u64) -> Messages<'_> {
        let count = self.offsets[1..].partition_point(|end| *end <= bytes).max(1);
        self.messages().range(0, count.min(self.count()))
    }

    /// In the shape that fits.
    pub(super) fn messages(&self) -> Messages<'_> {
        match self.len {
            Some(len) => Messages::strided(self.bytes.get(), len, len, self.count()),
            None => Messages::offsets64(self.bytes.get(), &self.offsets),
        }
        .expect("the offsets end with the bytes")
    }

    pub(super) fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(super) fn total_bytes(&self) -> u64 {
        self.bytes.get().len() as u64
    }
}

/// A number of bytes for people: powers of 1024 where they divide it.
pub(super) fn bytes_label(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{} MiB", b >> 20),
        b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_what_was_asked_for() {
        let mut rng = fastrand::Rng::with_seed(1);
        let equal = Rows::equal(64, 3, &mut rng);
        assert_eq!(
            (equal.count(), equal.total_bytes(), equal.messages().get(2).len()),
            (3, 192, 64)
        );
        let unequal = Rows::unequal(&[0, 5, 1], &mut rng);
        let lengths: Vec<_> = (0..3).map(|i| unequal.messages().get(i).len()).collect();
        assert_eq!((lengths, unequal.total_bytes()), (vec![0, 5, 1], 6));
        let first = |bytes| unequal.first_messages(bytes).len();
        assert_eq!([first(0), first(4), first(5), first(6), first(99)], [1, 1, 2, 3, 3]);
    }

    #[test]
    fn bytes_begin_on_a_line() {
        let mut rng = fastrand::Rng::with_seed(1);
        for len in [0, 1, 1000] {
            let bytes = Bytes::random(len, &mut rng);
            assert_eq!((bytes.get().as_ptr().addr() % LINE, bytes.get().len()), (0, len));
        }
    }

    #[test]
    fn labels() {
        let labels =
            [(0, "0 B"), (64, "64 B"), (1024, "1 KiB"), (1500, "1500 B"), (3 << 20, "3 MiB")];
        for (bytes, label) in labels {
            assert_eq!(bytes_label(bytes), label);
        }
    }
}
