//! Inputs that are read piece by piece.

use std::{
    io::{self, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use manylane::hash::Digest;

/// Something to hash that is opened and read when its turn comes: a file by its name, say.
///
/// All methods are called on the thread that hashes the source, and the reader is dropped there
/// (for a long source, reads may move to a thread beside it). A source that was never opened was
/// never touched.
///
/// ```
/// use std::{fs::File, io, path::PathBuf};
///
/// struct Path(PathBuf);
///
/// impl manylane_engine::Source for Path {
///     type Reader = File;
///
///     fn open(&mut self) -> io::Result<File> {
///         File::open(&self.0)
///     }
///
///     fn open_len(&self, file: &File) -> Option<u64> {
///         file.metadata().ok().filter(|m| m.is_file()).map(|m| m.len())
///     }
///
///     fn opens_again(&self) -> bool {
///         true
///     }
/// }
/// ```
pub trait Source: Send {
    /// What [`open`](Self::open) gives; dropping it closes the source.
    type Reader: Read + Send;

    /// Makes the source ready to be read from its beginning. Called once; again if it failed
    /// because too many files were open; and where [`opens_again`](Self::opens_again) allows it, after a
    /// GPU failed to hash what had been read.
    ///
    /// # Errors
    /// What the engine hands on as the result of this source, except `EMFILE` and `ENFILE`, the
    /// operating system's errors for too many open files: as long as other sources of the run are
    /// open, this one waits until one of them has been closed, and is opened then.
    fn open(&mut self) -> io::Result<Self::Reader>;

    /// The length in bytes, as far as it is known before the source is opened. It only helps to
    /// start long sources early and to choose those that a GPU takes: what is read counts.
    fn len_hint(&self) -> Option<u64> {
        None
    }

    /// The length in bytes, as far as an open source knows it. Asked only of a source that does not
    /// end within the first buffer, so that short files save the system call; and where there are
    /// GPUs, of one without a [hint](Self::len_hint), which stays on the CPU if nothing is known here
    /// either. It only helps to plan.
    fn open_len(&self, reader: &Self::Reader) -> Option<u64> {
        let _ = reader;
        self.len_hint()
    }

    /// The same bytes for several threads at a time, as those of a file are: how all of them take part in one long
    /// source, where the function [lets](manylane::hash::Algorithm::is_tree) them. Without it they read in turns.
    /// Asked only of a source that knows its length when it is open.
    fn at_any_offset(&self, reader: &Self::Reader) -> Option<Arc<dyn ReadAt>> {
        let _ = reader;
        None
    }

    /// Whether the source can be opened once more after it was read, as a file can and a pipe cannot.
    /// No other goes to a GPU: what that fails to do is read again.
    fn opens_again(&self) -> bool {
        false
    }

    /// Whether reads may wait for someone else, as those of a pipe or a terminal do. Such a source
    /// is hashed by itself, so that no other waits with it.
    fn may_wait(&self) -> bool {
        false
    }
}

/// Bytes that any number of threads may read, each from where it likes.
pub trait ReadAt: Send + Sync {
    /// Reads from so many bytes after the source's beginning, wherever other reads are. Zero bytes are its end.
    ///
    /// # Errors
    /// What makes the source fail.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

/// Bytes in memory, for which [`Engine::hash_many`](crate::Engine::hash_many) is faster when there
/// are only such.
impl<'a> Source for &'a [u8] {
    type Reader = &'a [u8];

    fn open(&mut self) -> io::Result<&'a [u8]> {
        Ok(self)
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.len() as u64)
    }

    fn opens_again(&self) -> bool {
        true
    }
}

/// The result of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// What the [`Function`](crate::Function) makes of the source.
    pub digest: Digest,
    /// Bytes read.
    pub len: u64,
}

/// A source that has been dealt with, as [`Engine::hash_sources`](crate::Engine::hash_sources)
/// hands it back.
#[derive(Debug)]
pub struct Done<S> {
    /// How many sources came before it.
    pub index: usize,
    /// The source itself.
    pub source: S,
    /// Its digest and length, or why it could not be opened or read to its end.
    pub result: io::Result<Summary>,
}

/// How far a run has come; clones share one count, which any thread may look at.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    bytes: AtomicU64,
    sources: AtomicU64,
}

impl Progress {
    /// A count that stands at zero.
    pub fn new() -> Self {
        Progress::default()
    }

    /// Bytes hashed, those of sources that failed later included.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Relaxed)
    }

    /// Sources dealt with, those that failed included.
    pub fn sources(&self) -> u64 {
        self.0.sources.load(Relaxed)
    }

    /// Counts bytes that somebody read beside the engine.
    pub fn add_bytes(&self, bytes: u64) {
        self.add(bytes, 0);
    }

    pub(crate) fn add(&self, bytes: u64, sources: u64) {
        if bytes > 0 {
            self.0.bytes.fetch_add(bytes, Relaxed);
        }
        if sources > 0 {
            self.0.sources.fetch_add(sources, Relaxed);
        }
    }
}
