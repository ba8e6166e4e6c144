//! A source by itself: hashed on this thread, read ahead by another where that pays.

use std::{
    io::{self, Read},
    panic::resume_unwind,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use manylane::hash::{self, Hasher};
use zeroize::Zeroize;

use super::{
    Deliver, Item, Run,
    tree::{self, Tree},
};
use crate::{Done, ReadAt, Source};

/// Bytes read at a time.
const PIECE: usize = tree::PIECE;

/// Buffers between the thread that reads and the one that hashes.
const PIECES: usize = 3;

/// Bytes known to be left from which another thread reads ahead: the work of a few milliseconds,
/// many times what it takes to start a thread.
const READ_AHEAD: u64 = 4 << 20;

/// How long a thread waits for bytes before it sees to other things.
const PATIENCE: Duration = Duration::from_millis(10);

/// A source to be hashed by itself, begun or not.
pub(super) struct Stream<S: Source> {
    item: Item<S>,
    /// Boxed, as streams are handed about and most have none.
    begun: Option<Box<Begun<S>>>,
    beside: bool,
}

/// What has been done of it.
struct Begun<S: Source> {
    reader: S::Reader,
    state: Hasher,
    /// Bytes read.
    len: u64,
    /// Length of the source, as far as known.
    known: Option<u64>,
}

/// A worker's buffers, which exist from the first stream on.
#[derive(Default)]
pub(super) struct Ring {
    buffers: Vec<Vec<u8>>,
    /// Bytes of any of them that have been written, at most.
    used: usize,
}

/// A buffer on its way from the reading thread: how much of it was filled, and how reading ended
/// if it has.
struct Piece {
    buffer: Vec<u8>,
    filled: usize,
    end: Option<io::Result<()>>,
}

impl<S: Source> Stream<S> {
    /// A source that has not been opened.
    pub(super) fn of(item: Item<S>) -> Self {
        Stream { item, begun: None, beside: false }
    }

    /// The same, of a huge one that counts as beside the lanes.
    pub(super) fn beside(item: Item<S>) -> Self {
        Stream { item, begun: None, beside: true }
    }

    /// A source that was begun elsewhere: `state` is that after what was hashed, `read` what has been
    /// read since, and `len` all that has been read.
    pub(super) fn begun(
        item: Item<S>,
        reader: S::Reader,
        mut state: Hasher,
        read: &[u8],
        len: u64,
        known: Option<u64>,
    ) -> Self {
        state.update(read);
        let begun = Begun { reader, state, len, known };
        Stream { item, begun: Some(Box::new(begun)), beside: false }
    }

    /// The same source, counted as beside the lanes.
    pub(super) fn now_beside(self) -> Self {
        Stream { beside: true, ..self }
    }

    pub(super) fn is_beside(&self) -> bool {
        self.beside
    }

    /// Hashes the source to its end; nothing if the run is abandoned meanwhile, or the source put
    /// back.
    pub(super) fn finish<I: Send>(
        self,
        run: &Run<S, I>,
        thread: &mut impl Deliver,
        ring: &mut Ring,
    ) -> Option<Done<S>> {
        let Stream { item, begun, .. } = self;
        let (Item { index, source, .. }, begun) = match begun {
            Some(begun) => (item, *begun),
            None => match run.open(item) {
                Ok((item, reader)) => {
                    let known = item.source.open_len(&reader);
                    (item, Begun { reader, state: run.function.hasher(), len: 0, known })
                }
                Err(done) => return done,
            },
        };
        let Begun { mut reader, mut state, mut len, known } = begun;
        if let Some(kind) = run.function.tree()
            && run.threads > 1
            && known.is_some_and(|known| known.saturating_sub(len) >= tree::LONG)
        {
            let at = source.at_any_offset(&reader);
            let begun = TreeBegun { reader, state, len, at };
            let read = ring.share(kind, begun, run, thread)?;
            let result = read.and_then(|(state, len)| run.summary(state.finish(), len));
            return (!run.stopped()).then_some(Done { index, source, result });
        }
        let left = known.unwrap_or(u64::MAX).saturating_sub(len);
        let mut take = |piece: &[u8]| {
            state.update(piece);
            len += piece.len() as u64;
            run.progress.add(piece.len() as u64, 0);
            thread.deliver();
            !run.stopped()
        };
        let read = if run.threads > 1 && left >= READ_AHEAD {
            ring.read_ahead(&mut reader, &mut take)
        } else {
            ring.read(&mut reader, &mut take)
        };
        drop(reader);
        run.closed();
        let result = read.and_then(|()| run.summary(state.finish(), len));
        (!run.stopped()).then_some(Done { index, source, result })
    }
}

/// A source that several workers are to hash together.
struct TreeBegun<R> {
    reader: R,
    state: Hasher,
    len: u64,
    at: Option<Arc<dyn ReadAt>>,
}

impl Ring {
    /// Hashes a source together with all workers that have time; nothing if the run is abandoned meanwhile.
    fn share<S: Source, I>(
        &mut self,
        kind: hash::Tree,
        begun: TreeBegun<S::Reader>,
        run: &Run<S, I>,
        thread: &mut impl Deliver,
    ) -> Option<io::Result<(Hasher, u64)>> {
        let TreeBegun { mut reader, mut state, mut len, at } = begun;
        // Up to the end of a chunk, and the first one in any case.
        let chunk = hash::Tree::CHUNK_LEN;
        let missing = (chunk - len as usize % chunk) % chunk;
        let missing = if len == 0 { chunk } else { missing };
        self.have(1);
        let (filled, end) = fill(&mut reader, &mut self.buffers[0][..missing]);
        self.used = self.used.max(filled);
        state.update(&self.buffers[0][..filled]);
        len += filled as u64;
        run.progress.add(filled as u64, 0);
        if let Some(end) = end {
            drop(reader);
            run.closed();
            return Some(end.map(|()| (state, len)));
        }
        let tree = Arc::new(Tree::new(kind, state, len, reader, at));
        run.share(&tree);
        self.help(&tree, run, thread);
        let finished = tree.finish(&mut || {
            thread.deliver();
            !run.stopped()
        });
        run.keep(&tree);
        run.closed();
        finished
    }

    /// Takes part in hashing a source, as long as there is something to do.
    pub(super) fn help<S: Source, I>(
        &mut self,
        tree: &Tree<S::Reader>,
        run: &Run<S, I>,
        thread: &mut impl Deliver,
    ) {
        self.have(1);
        let mut used = 0;
        tree.work(&mut self.buffers[0], &mut |bytes| {
            used = used.max(bytes);
            run.progress.add(bytes as u64, 0);
            thread.deliver();
            !run.stopped()
        });
        self.used = self.used.max(used);
    }

    /// Reads to the end, or until `take` declines.
    fn read(
        &mut self,
        reader: &mut impl Read,
        take: &mut impl FnMut(&[u8]) -> bool,
    ) -> io::Result<()> {
        self.have(1);
        // Small enough to be still in the cache when it is hashed.
        let buffer = &mut self.buffers[0][..PIECE / 4];
        loop {
            let (filled, end) = fill(reader, buffer);
            self.used = self.used.max(filled);
            let goes_on = take(&buffer[..filled]);
            match end {
                Some(end) => return end,
                None if goes_on => {}
                None => return Ok(()),
            }
        }
    }

    /// The same, while another thread reads ahead.
    fn read_ahead(
        &mut self,
        reader: &mut (impl Read + Send),
        take: &mut impl FnMut(&[u8]) -> bool,
    ) -> io::Result<()> {
        self.have(PIECES);
        let (give, pieces) = mpsc::sync_channel::<Piece>(PIECES);
        let (give_back, empty) = mpsc::sync_channel::<Vec<u8>>(PIECES);
        for buffer in self.buffers.drain(..) {
            give_back.send(buffer).expect("room for each, and its other end");
        }
        let lent = &mut *reader;
        let result = thread::scope(|scope| {
            let read = move || {
                for mut buffer in &empty {
                    let (filled, end) = fill(&mut *lent, &mut buffer);
                    let ended = end.is_some();
                    if give.send(Piece { buffer, filled, end }).is_err() || ended {
                        break;
                    }
                }
                empty
            };
            let Ok(reading) = thread::Builder::new().spawn_scoped(scope, read) else {
                return None;
            };
            let mut result = Ok(());
            loop {
                let Piece { buffer, filled, end } = match pieces.recv_timeout(PATIENCE) {
                    Ok(piece) => piece,
                    // Nothing to hash, but others may have results to hand back.
                    Err(RecvTimeoutError::Timeout) if take(&[]) => continue,
                    // Abandoned; or the reader panicked, which `join` tells.
                    Err(_) => break,
                };
                self.used = self.used.max(filled);
                let goes_on = take(&buffer[..filled]);
                self.buffers.push(buffer);
                if let Some(end) = end {
                    result = end;
                    break;
                }
                if !goes_on {
                    break;
                }
                let _ = give_back.send(self.buffers.pop().expect("the one just put there"));
            }
            drop((pieces, give_back));
            match reading.join() {
                Ok(empty) => self.buffers.extend(empty.iter()),
                Err(panic) => resume_unwind(panic),
            }
            Some(result)
        });
        // Without another thread, this one reads too.
        result.unwrap_or_else(|| self.read(reader, take))
    }

    /// Makes sure of `count` buffers.
    fn have(&mut self, count: usize) {
        while self.buffers.len() < count {
            self.buffers.push(vec![0; PIECE]);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.buffers.iter_mut().for_each(|buffer| buffer[..self.used].zeroize());
    }
}

/// Fills the buffer as far as the reader has bytes; also says how it ended, if it has.
pub(super) fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> (usize, Option<io::Result<()>>) {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => return (filled, Some(Ok(()))),
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, Some(Err(error))),
        }
    }
    (filled, None)
}
