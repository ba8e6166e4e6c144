//! A long source whose function is a tree, hashed by every worker that has nothing else to do.
//!
//! The worker that has the source reads its beginning; from there on, each takes a piece, computes the chaining
//! values of its chunks, and hands these in. Whoever hands in the piece whose turn it is gives that and all that
//! wait behind it to the final node. Where the source can be read [at any offset](ReadAt), all read at a time;
//! else one after another.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    mem,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use manylane::hash::{self, Hasher};
use zeroize::Zeroizing;

use super::stream::fill;
use crate::{ReadAt, runtime::lock};

/// Bytes of a piece: 128 chunks, some 200 µs of work.
pub(super) const PIECE: usize = 1 << 20;

/// Length from which a source is worth more than one worker: a few milliseconds of work.
pub(super) const LONG: u64 = 4 << 20;

/// Pieces that may be done before the one whose turn it is: so many values are kept at most, a few megabytes.
const AHEAD: u64 = 1024;

/// How long the worker that has the source waits for the others' last pieces before it sees to other things.
const PATIENCE: Duration = Duration::from_millis(1);

/// A source under way.
pub(super) struct Tree<R> {
    kind: hash::Tree,
    /// Bytes before the first piece.
    base: u64,
    at: Option<Arc<dyn ReadAt>>,
    /// Where pieces come from if not from there.
    reader: Mutex<Option<R>>,
    /// The next piece that somebody takes. Changed under the lock of `reader` if that is read.
    next: AtomicU64,
    /// Whether no piece is to be taken any more.
    ended: AtomicBool,
    state: Mutex<State>,
    /// Signalled when the piece whose turn it was is in.
    changed: Condvar,
}

struct State {
    hasher: Hasher,
    /// Pieces whose turn has not come.
    done: BTreeMap<u64, Piece>,
    /// The piece that is due.
    turn: u64,
    /// Bytes before that.
    len: u64,
    /// How the source ended.
    result: Option<io::Result<()>>,
    is_over: bool,
}

/// What has become of a piece.
struct Piece {
    /// Of its chunks.
    values: Vec<u8>,
    /// What is behind the last whole chunk.
    rest: Zeroizing<Vec<u8>>,
    len: usize,
    end: Option<io::Result<()>>,
}

impl<R: Read> Tree<R> {
    /// Goes on with a source of which `len` bytes, whole chunks and at least one, are in `hasher`.
    pub(super) fn new(
        kind: hash::Tree,
        hasher: Hasher,
        len: u64,
        reader: R,
        at: Option<Arc<dyn ReadAt>>,
    ) -> Self {
        let done = BTreeMap::new();
        let state = State { hasher, done, turn: 0, len, result: None, is_over: false };
        Tree {
            kind,
            base: len,
            at,
            reader: Mutex::new(Some(reader)),
            next: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Whether there are pieces to be taken.
    pub(super) fn has_more(&self) -> bool {
        !self.ended.load(Relaxed)
    }

    /// Lets no piece be taken any more.
    fn close(&self) {
        self.ended.store(true, Relaxed);
    }

    /// Takes pieces through `buffer`, which has room for one, as long as there are some and `taken`, which learns
    /// of their bytes, wants to go on.
    pub(super) fn work(&self, buffer: &mut [u8], taken: &mut dyn FnMut(usize) -> bool) {
        let closing = Closing(&self.ended);
        while self.has_more() {
            let (index, filled, end) = self.read(buffer);
            if end.is_some() {
                self.close();
            }
            let piece = self.compute(&buffer[..filled], end);
            self.hand_in(index, piece);
            if !taken(filled) {
                self.close();
                break;
            }
        }
        mem::forget(closing);
    }

    /// Fills the buffer with the next piece. As long as `AHEAD` allows no more, that of another one is waited for.
    fn read(&self, buffer: &mut [u8]) -> (u64, usize, Option<io::Result<()>>) {
        let Some(at) = &self.at else {
            let mut reader = lock(&self.reader);
            let index = self.next.fetch_add(1, Relaxed);
            let (filled, end) = match &mut *reader {
                Some(reader) => fill(reader, buffer),
                None => (0, Some(Ok(()))),
            };
            if end.is_some() {
                // Before anyone else reads: some sources go on after their end.
                *reader = None;
            }
            return (index, filled, end);
        };
        let index = self.next.fetch_add(1, Relaxed);
        let mut state = lock(&self.state);
        while index > state.turn + AHEAD && self.has_more() {
            let waited = self.changed.wait_timeout(state, PATIENCE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        let offset = self.base + index * PIECE as u64;
        let (filled, end) = fill(&mut From { at: &**at, offset }, buffer);
        (index, filled, end)
    }

    fn compute(&self, data: &[u8], end: Option<io::Result<()>>) -> Piece {
        let (chunks, rest) =
            data.split_at(data.len() / hash::Tree::CHUNK_LEN * hash::Tree::CHUNK_LEN);
        let mut values = vec![0; chunks.len() / hash::Tree::CHUNK_LEN * self.kind.value_len()];
        self.kind.chaining_values(chunks, &mut values).expect("a value for each whole chunk");
        Piece { values, rest: rest.to_vec().into(), len: data.len(), end }
    }

    fn hand_in(&self, index: u64, piece: Piece) {
        let mut state = lock(&self.state);
        state.done.insert(index, piece);
        while !state.is_over {
            let turn = state.turn;
            let Some(Piece { values, rest, len, end }) = state.done.remove(&turn) else { break };
            state.hasher.push_chaining_values(&values);
            state.turn += 1;
            state.len += len as u64;
            if end.is_some() {
                state.hasher.update(&rest);
                state.result = end;
                state.is_over = true;
                self.close();
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Looks once more at the end of a source of `len` bytes. It may have been found before other pieces were
    /// read, and only there does a source tell that it was written to.
    fn check_end(&self, len: u64) -> io::Result<()> {
        let Some(at) = &self.at else { return Ok(()) };
        match fill(&mut From { at: &**at, offset: len }, &mut [0]) {
            (0, Some(end)) => end,
            _ => Err(io::Error::other("changed while it was read")),
        }
    }

    /// Waits until all pieces are in, as long as `goes_on` wants to, and closes the source: gives the stream as it
    /// ended, and its length.
    pub(super) fn finish(
        &self,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Option<io::Result<(Hasher, u64)>> {
        let mut state = lock(&self.state);
        loop {
            if state.is_over {
                drop(lock(&self.reader).take());
            }
            if let Some(result) = state.result.take() {
                // Nobody needs it any more.
                let (hasher, len) = (state.hasher.clone(), state.len);
                drop(state);
                return Some(result.and_then(|()| self.check_end(len)).map(|()| (hasher, len)));
            }
            drop(state);
            if !goes_on() {
                return None;
            }
            state = lock(&self.state);
            if state.result.is_none() {
                let waited = self.changed.wait_timeout(state, PATIENCE);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}

/// Reads on from an offset.
struct From<'a> {
    at: &'a dyn ReadAt,
    offset: u64,
}

impl Read for From<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.at.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// Lets no piece be taken any more if its thread panics: the piece that it had will never be in.
struct Closing<'a>(&'a AtomicBool);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use manylane::hash::Algorithm;

    use super::*;

    /// Bytes of value 1 that are written to when their end has been found so often.
    struct Written {
        len: u64,
        after: u64,
        ends_found: AtomicU64,
    }

    impl ReadAt for Written {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let len = (buffer.len() as u64).min(self.len.saturating_sub(offset)) as usize;
            buffer[..len].fill(1);
            if len == 0 && self.ends_found.fetch_add(1, Relaxed) >= self.after {
                return Err(io::Error::other("written to"));
            }
            Ok(len)
        }
    }

    /// What other threads were still reading when one found the end may be newer than what that one read.
    #[test]
    fn the_end_is_looked_at_once_more_when_all_is_read() {
        let chunk = hash::Tree::CHUNK_LEN;
        let len = chunk + 5 * PIECE / 2 + 1;
        let finish = |after| {
            let mut hasher = Hasher::new(Algorithm::Kt128);
            hasher.update(&vec![1; chunk]);
            let at = Arc::new(Written { len: len as u64, after, ends_found: AtomicU64::new(0) });
            let kind = hash::Tree::of(Algorithm::Kt128).unwrap();
            let tree = Tree::new(kind, hasher, chunk as u64, io::empty(), Some(at));
            tree.work(&mut vec![0; PIECE], &mut |_| true);
            tree.finish(&mut || false).unwrap()
        };
        let (hasher, total) = finish(2).unwrap();
        assert_eq!(total, len as u64);
        assert_eq!(hasher.finish(), hash::hash(Algorithm::Kt128, &vec![1; len]));
        assert_eq!(finish(1).unwrap_err().to_string(), "written to");
    }
}
