//! The engine: one plan for all devices.

use std::{
    fmt,
    num::NonZeroUsize,
    ops::{ControlFlow, Range},
    sync::{Mutex, OnceLock},
    thread::available_parallelism,
};

use manylane::{
    Messages,
    sm3::{self, Lanes, Midstate},
};

use crate::{
    Config, Done, Error, Explanation, Function, Progress, Source, plan,
    runtime::{Pool, lock},
    sources,
};

/// What a message costs beyond its length, in bytes: the padding block.
const HASH_EXTRA: u64 = 64;

/// The same for HMAC: its two key blocks and two padding blocks, one of them with the digest.
const HMAC_EXTRA: u64 = 256;

/// Threads at most: so many for each core, or [`MOST`] if that is more. Further ones help nowhere,
/// and use up what the system has of them.
const MOST_PER_CORE: NonZeroUsize = NonZeroUsize::new(4).unwrap();

/// See [`MOST_PER_CORE`].
const MOST: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// Spreads work over the devices of its [`Config`].
///
/// Making one is cheap: threads start when work first pays for them. [`Engine::global`] is for
/// everyone who needs no particular configuration.
pub struct Engine {
    threads: NonZeroUsize,
    threads_asked: bool,
    /// Messages that a thread takes side by side.
    lanes: usize,
    pool: Pool,
}

impl Engine {
    /// An engine of that configuration.
    ///
    /// # Errors
    /// None in this build, which has processor cores only; builds with other devices fail here
    /// when a device that was asked for is not there.
    pub fn new(config: Config) -> Result<Engine, Error> {
        let all = || available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let most = all().saturating_mul(MOST_PER_CORE).max(MOST);
        let threads = config.threads.unwrap_or_else(all).min(most);
        Ok(Engine {
            threads,
            threads_asked: config.threads.is_some(),
            lanes: Lanes::new().count(),
            pool: Pool::new(threads.get() - 1),
        })
    }

    /// The engine of the default configuration that the whole process shares.
    pub fn global() -> &'static Engine {
        static GLOBAL: OnceLock<Engine> = OnceLock::new();
        GLOBAL.get_or_init(|| Engine::new(Config::default()).expect("the default configuration"))
    }

    /// Threads that compute at most, the caller's among them.
    pub fn threads(&self) -> usize {
        self.threads.get()
    }

    /// What this engine uses for what, and why.
    pub fn explain(&self) -> Explanation {
        Explanation::new(self.threads(), self.threads_asked)
    }

    /// SM3 of each message after the midstate's prefix, in order, into `out`; as
    /// [`sm3::hash_many_after`], on all threads where that is faster.
    ///
    /// # Errors
    /// [`manylane::Error::OutputLength`] unless `out.len() == messages.len()`.
    pub fn hash_many(
        &self,
        start: &Midstate,
        messages: &Messages,
        out: &mut [[u8; 32]],
    ) -> Result<(), manylane::Error> {
        let parts = plan::parts(messages, HASH_EXTRA, self.threads(), self.lanes);
        if parts.len() == 1 || out.len() != messages.len() {
            return sm3::hash_many_after(start, messages, out);
        }
        self.spread(&parts, out, |part, out| {
            let messages = messages.range(part.start, part.end);
            sm3::hash_many_after(start, &messages, out).expect("as many results as messages");
        });
        Ok(())
    }

    /// HMAC-SM3 of each message under its own key, in order, into `out`; as [`sm3::hmac_many`], on
    /// all threads where that is faster.
    ///
    /// # Errors
    /// [`manylane::Error::CountMismatch`] unless there are as many keys as messages;
    /// [`manylane::Error::OutputLength`] unless `out.len() == messages.len()`.
    pub fn hmac_many(
        &self,
        keys: &Messages,
        messages: &Messages,
        out: &mut [[u8; 32]],
    ) -> Result<(), manylane::Error> {
        let parts = plan::parts(messages, HMAC_EXTRA, self.threads(), self.lanes);
        if parts.len() == 1 || keys.len() != messages.len() || out.len() != messages.len() {
            return sm3::hmac_many(keys, messages, out);
        }
        self.spread(&parts, out, |part, out| {
            let keys = keys.range(part.start, part.end);
            let messages = messages.range(part.start, part.end);
            sm3::hmac_many(&keys, &messages, out).expect("as many keys and results as messages");
        });
        Ok(())
    }

    /// Computes `function` of each source, in bounded memory, and hands each back through
    /// `on_done` in the order of the iterator.
    ///
    /// Sources are opened, read and closed by the threads that hash them, at most as many at a
    /// time as these have lanes. `on_done` runs on the calling thread, which hashes too. A source
    /// that cannot be opened, or fails while it is read, fails alone.
    ///
    /// When `on_done` breaks, sources at work are abandoned, and the value it broke with is
    /// returned.
    ///
    /// The iterator is asked on whichever thread needs work, for several sources at a time, and
    /// results wait while it blocks: `next` must not depend on what `on_done` does, and a queue of
    /// requests is for a [`Batcher`](crate::Batcher). A child that `on_done` forks must break.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use manylane_engine::{Engine, Function, Progress, Source};
    ///
    /// struct Text(&'static str);
    ///
    /// impl Source for Text {
    ///     type Reader = &'static [u8];
    ///     fn open(&mut self) -> std::io::Result<&'static [u8]> {
    ///         Ok(self.0.as_bytes())
    ///     }
    /// }
    ///
    /// let texts = ["a", "b", "abc"].map(Text);
    /// let all = Engine::global().hash_sources(&Function::hash(), &Progress::new(), texts, |done| {
    ///     let summary = done.result.expect("memory can be read");
    ///     assert_eq!(summary.digest, manylane::sm3::hash(done.source.0.as_bytes()));
    ///     ControlFlow::<()>::Continue(())
    /// });
    /// assert!(all.is_continue());
    /// ```
    ///
    /// # Panics
    /// If the iterator, a source or `on_done` does; the panic is handed on when all threads have
    /// left the work.
    pub fn hash_sources<S, I, B>(
        &self,
        function: &Function,
        progress: &Progress,
        sources: I,
        on_done: impl FnMut(Done<S>) -> ControlFlow<B>,
    ) -> ControlFlow<B>
    where
        S: Source,
        I: IntoIterator<Item = S>,
        I::IntoIter: Send,
    {
        let sources = sources.into_iter();
        sources::run(&self.pool, self.threads(), function, progress, sources, on_done)
    }

    /// Does `work` on each part of `out`, on as many threads as there are parts.
    fn spread(
        &self,
        parts: &[Range<usize>],
        mut out: &mut [[u8; 32]],
        work: impl Fn(&Range<usize>, &mut [[u8; 32]]) + Sync,
    ) {
        let mut in_order: Vec<_> = parts.iter().enumerate().collect();
        in_order.sort_unstable_by_key(|(_, range)| range.start);
        let mut slices: Vec<_> = parts.iter().map(|_| None).collect();
        for (i, range) in in_order {
            slices[i] = out.split_off_mut(..range.len());
        }
        let tasks = Mutex::new(parts.iter().zip(slices));
        let next = || lock(&tasks).next();
        let job = || {
            while let Some((range, out)) = next() {
                work(range, out.expect("out is as long as all parts"));
            }
        };
        self.pool.run(self.threads().min(parts.len()) - 1, &job, job);
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("threads", &self.threads).finish_non_exhaustive()
    }
}
