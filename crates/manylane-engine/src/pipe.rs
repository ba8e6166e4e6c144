//! A stream in pieces: read in order, computed on all threads, written in order.
//!
//! Every thread does the same: it reads a piece, computes it while it is still in its cache, and hands
//! it in. Whoever hands in the piece whose turn it is writes that and all that wait behind it. So no thread only
//! reads or only writes, one alone does all of it, and how many pieces are under way is bounded.

use std::{
    collections::BTreeMap,
    error, fmt,
    io::{self, Read, Write},
    sync::{Condvar, Mutex},
    thread,
};

use zeroize::Zeroizing;

use crate::{
    Progress,
    runtime::{Pool, lock, wait},
};

/// Bytes by which a piece may grow without being copied to where nobody wipes it.
pub(crate) const SPARE: usize = 64;

/// Bytes of all pieces under way, at most, unless two are more.
const MOST: usize = 256 << 20;

/// A piece of a stream, on its way from the reader to the writer.
pub struct Piece {
    /// How many pieces came before it.
    pub index: u64,
    /// Whether none follows it. The last piece may be shorter than the others, and is empty only if the
    /// stream is.
    pub is_last: bool,
    /// What was read, to be turned in place into what is written. It may become longer by 64 bytes without
    /// leaving a copy in memory; it is wiped in the end.
    pub data: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Piece { index, is_last, .. } = self;
        f.debug_struct("Piece")
            .field("index", index)
            .field("is_last", is_last)
            .finish_non_exhaustive()
    }
}

/// Why a stream ended early.
#[derive(Debug)]
pub enum PipeError<E> {
    /// It could not be read.
    Read(io::Error),
    /// What was to be done to a piece failed.
    Compute(E),
    /// It could not be written.
    Write(io::Error),
}

impl<E: fmt::Display> fmt::Display for PipeError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PipeError::Read(error) => write!(f, "read error: {error}"),
            PipeError::Compute(error) => error.fmt(f),
            PipeError::Write(error) => write!(f, "write error: {error}"),
        }
    }
}

impl<E: error::Error + 'static> error::Error for PipeError<E> {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            PipeError::Read(error) | PipeError::Write(error) => Some(error),
            PipeError::Compute(error) => Some(error),
        }
    }
}

/// Where a stream comes from and goes to.
pub(crate) struct Ends<'a, R, W> {
    pub(crate) reader: &'a mut R,
    pub(crate) writer: &'a mut W,
    pub(crate) progress: &'a Progress,
}

/// Pipes the stream, in pieces of `piece_len` bytes, on up to `threads` threads. See
/// [`Engine::pipe`](crate::Engine::pipe).
pub(crate) fn run<R, W, X, E, F, G>(
    (pool, threads): (&Pool, usize),
    piece_len: usize,
    ends: Ends<'_, R, W>,
    in_order: F,
    apart: G,
) -> Result<(), PipeError<E>>
where
    R: Read + Send,
    W: Write + Send,
    F: FnMut(&mut Piece) -> Result<X, E> + Send,
    G: Fn(&mut Piece, X) -> Result<(), E> + Sync,
    E: Send,
{
    assert!(piece_len > 0, "pieces of no bytes make no stream");
    let input = Input { reader: ends.reader, in_order, next: 0, ahead: None, ended: false };
    let pieces = (MOST / piece_len).clamp(2, 2 * threads.max(1));
    let state = State {
        idle: Vec::new(),
        unmade: pieces,
        over: false,
        done: BTreeMap::new(),
        turn: 0,
        writer: Some(ends.writer),
        failure: None,
    };
    let pipe = Pipe {
        piece_len,
        progress: ends.progress,
        input: Mutex::new(input),
        apart,
        state: Mutex::new(state),
        changed: Condvar::new(),
    };
    // The first piece is alone so that one that is the only one wakes nobody.
    pipe.piece();
    if !lock(&pipe.state).over {
        let work = || pipe.work();
        pool.run(threads - 1, &work, work);
    }
    match pipe.state.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).failure {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// A stream under way.
struct Pipe<'a, R, W, F, G, E> {
    piece_len: usize,
    progress: &'a Progress,
    /// Locked before `state`, where both are.
    input: Mutex<Input<'a, R, F>>,
    apart: G,
    state: Mutex<State<'a, W, E>>,
    /// Signalled when a buffer becomes idle, or none is needed any more.
    changed: Condvar,
}

/// The end that is read.
struct Input<'a, R, F> {
    reader: &'a mut R,
    in_order: F,
    /// Pieces that have been read.
    next: u64,
    /// The first byte of the next piece, which tells that the one before was not the last.
    ahead: Option<u8>,
    ended: bool,
}

/// All that is not the input's.
struct State<'a, W, E> {
    idle: Vec<Zeroizing<Vec<u8>>>,
    /// Buffers that may be made besides.
    unmade: usize,
    /// No piece is to be begun any more.
    over: bool,
    /// Pieces whose turn has not come.
    done: BTreeMap<u64, Result<Piece, PipeError<E>>>,
    /// The piece to be written next.
    turn: u64,
    /// Not there while somebody writes.
    writer: Option<&'a mut W>,
    failure: Option<PipeError<E>>,
}

impl<R, W, X, E, F, G> Pipe<'_, R, W, F, G, E>
where
    R: Read,
    W: Write,
    F: FnMut(&mut Piece) -> Result<X, E>,
    G: Fn(&mut Piece, X) -> Result<(), E>,
{
    /// What a thread does: all that there is to do.
    fn work(&self) {
        while self.piece() {}
    }

    /// Takes one piece the whole way; false if there is none.
    fn piece(&self) -> bool {
        let _closing = Closing(self);
        let Some(buffer) = self.buffer() else { return false };
        let Some((index, begun)) = self.begin(buffer) else { return false };
        let done = begun.and_then(|(mut piece, extra)| {
            (self.apart)(&mut piece, extra).map_err(PipeError::Compute)?;
            Ok(piece)
        });
        self.hand_in(index, done);
        true
    }

    /// Room for a piece, waited for; nothing if none is to be begun.
    fn buffer(&self) -> Option<Zeroizing<Vec<u8>>> {
        let mut state = lock(&self.state);
        loop {
            if state.over {
                return None;
            }
            if let Some(buffer) = state.idle.pop() {
                return Some(buffer);
            }
            if state.unmade > 0 {
                state.unmade -= 1;
                return Some(Zeroizing::new(Vec::with_capacity(self.piece_len + SPARE)));
            }
            state = wait(&self.changed, state);
        }
    }

    /// Reads a piece, and does what has to be done in order.
    #[expect(clippy::type_complexity, reason = "a piece, and what goes with it")]
    fn begin(
        &self,
        mut data: Zeroizing<Vec<u8>>,
    ) -> Option<(u64, Result<(Piece, X), PipeError<E>>)> {
        let mut input = lock(&self.input);
        if input.ended {
            return None;
        }
        let index = input.next;
        input.next += 1;
        data.resize(self.piece_len, 0);
        let begun = match input.read(&mut data) {
            Ok(is_last) => {
                self.progress.add(data.len() as u64, 0);
                let mut piece = Piece { index, is_last, data };
                let extra = (input.in_order)(&mut piece);
                extra.map(|extra| (piece, extra)).map_err(PipeError::Compute)
            }
            Err(error) => Err(PipeError::Read(error)),
        };
        if begun.as_ref().map_or(true, |(piece, _)| piece.is_last) {
            input.ended = true;
            self.close();
        }
        Some((index, begun))
    }

    /// Puts a piece in its place, and writes whatever's turn it is, unless somebody does already, who will
    /// find it.
    fn hand_in(&self, index: u64, done: Result<Piece, PipeError<E>>) {
        if done.is_err() {
            self.close();
        }
        let mut state = lock(&self.state);
        state.done.insert(index, done);
        while let Some(writer) = state.writer.take() {
            let turn = state.turn;
            let written = match state.done.remove(&turn) {
                Some(Ok(piece)) => {
                    drop(state);
                    let written = writer.write_all(&piece.data);
                    state = lock(&self.state);
                    state.idle.push(piece.data);
                    self.changed.notify_one();
                    written.map_err(PipeError::Write)
                }
                Some(Err(failure)) => Err(failure),
                None => {
                    state.writer = Some(writer);
                    return;
                }
            };
            match written {
                Ok(()) => {
                    state.turn += 1;
                    state.writer = Some(writer);
                }
                // The writer stays away: nothing more is written.
                Err(failure) => {
                    state.failure = Some(failure);
                    drop(state);
                    return self.close();
                }
            }
        }
    }
}

impl<R, W, F, G, E> Pipe<'_, R, W, F, G, E> {
    /// Lets no piece be begun any more.
    fn close(&self) {
        lock(&self.state).over = true;
        self.changed.notify_all();
    }
}

impl<R: Read, F> Input<'_, R, F> {
    /// Fills the piece as far as the stream goes; whether it ends there.
    fn read(&mut self, data: &mut Vec<u8>) -> io::Result<bool> {
        let mut filled = 0;
        if let Some(byte) = self.ahead.take() {
            data[0] = byte;
            filled = 1;
        }
        filled += read_full(self.reader, &mut data[filled..])?;
        if filled < data.len() {
            data.truncate(filled);
            return Ok(true);
        }
        let mut byte = [0];
        let more = read_full(self.reader, &mut byte)?;
        self.ahead = (more > 0).then_some(byte[0]);
        Ok(more == 0)
    }
}

/// Fills the buffer, or reads to the end: the number of bytes.
pub(crate) fn read_full(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Closes the pipe if the thread panics, so that nobody waits for the piece that it had.
struct Closing<'p, 'a, R, W, F, G, E>(&'p Pipe<'a, R, W, F, G, E>);

impl<R, W, F, G, E> Drop for Closing<'_, '_, R, W, F, G, E> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.close();
        }
    }
}
