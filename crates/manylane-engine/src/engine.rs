//! The engine: one plan for all devices.

use std::{
    fmt,
    io::{Read, Write},
    num::NonZeroUsize,
    ops::{ControlFlow, Range},
    sync::{Arc, Mutex, OnceLock},
    thread::available_parallelism,
    time::{Duration, Instant},
};

use manylane::{
    Messages,
    hash::{self, Algorithm, Digest, Hasher, Lanes, Midstate, Tree},
    sm2::{PublicKey, Sealed, SecretKey},
    sm3,
};
use zeroize::Zeroizing;

use crate::{
    Config, Done, Error, Explanation, Function, Piece, PipeError, Progress, Share, Source,
    class::Class,
    fleet::Fleet,
    pipe, plan,
    runtime::{Pool, lock},
    sm2, sources,
    together::{self, Crew, Job},
};

/// What a message costs beyond its length for HMAC-SM3, in bytes: its two key blocks and two padding blocks, one of them with the digest.
const HMAC_EXTRA: u64 = 256;

/// Threads at most: so many for each core, or [`MOST`] if that is more. Further ones help nowhere,
/// and use up what the system has of them.
const MOST_PER_CORE: NonZeroUsize = NonZeroUsize::new(4).unwrap();

/// See [`MOST_PER_CORE`].
const MOST: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// Time that the CPU must need for a batch for a GPU to be thought of.
const WORTH_A_GPU: f64 = 250e-6;

/// Spreads work over the devices of its [`Config`].
///
/// Making one is cheap: threads start when work first pays for them. [`Engine::global`] is for
/// everyone who needs no particular configuration.
pub struct Engine {
    threads: NonZeroUsize,
    threads_asked: bool,
    pool: Pool,
    fleet: Arc<Fleet>,
}

impl Engine {
    /// An engine of that configuration.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the one GPU that was asked for cannot be used. With the other devices,
    /// there are none: [`explain`](Self::explain) says what there is instead.
    pub fn new(config: Config) -> Result<Engine, Error> {
        let all = || available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let most = all().saturating_mul(MOST_PER_CORE).max(MOST);
        let threads = config.threads.unwrap_or_else(all).min(most);
        Ok(Engine {
            threads,
            threads_asked: config.threads.is_some(),
            pool: Pool::new(threads.get() - 1),
            fleet: Fleet::new(config.device, config.ring, threads.get())?,
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

    /// What this engine uses for that function, and why.
    pub fn explain(&self, algorithm: Algorithm) -> Explanation {
        Explanation::new(algorithm, self.threads(), self.threads_asked, &self.fleet)
    }

    /// What has been done on which device so far, this process's CPU first.
    pub fn shares(&self) -> Vec<Share> {
        self.fleet.shares()
    }

    /// What went wrong since the last call without making a result wrong: a GPU that was given up,
    /// say. Each is told once.
    pub fn warnings(&self) -> Vec<String> {
        self.fleet.warnings()
    }

    /// The digest of each message after the midstate's prefix, in order and one after another, into `out`; as
    /// [`hash::hash_many`], on all threads where that is faster.
    ///
    /// ```
    /// use manylane::{Messages, hash::{Algorithm, Midstate}, sm3};
    /// use manylane_engine::Engine;
    ///
    /// let mut digests = [[0; 32]; 2];
    /// let start = Midstate::new(Algorithm::Sm3);
    /// let messages = Messages::slices(&[b"one", b"other"]);
    /// Engine::global().hash_many(&start, &messages, digests.as_flattened_mut())?;
    /// assert_eq!(digests[1], sm3::hash(b"other"));
    /// # Ok::<(), manylane::Error>(())
    /// ```
    ///
    /// Page-locked messages are read by GPUs where they are; should one hang, it may still read them
    /// when this has returned, so they must stay mapped as long as the process.
    ///
    /// # Errors
    /// [`manylane::Error::OutputLength`] unless `out` has [`digest_len`](Midstate::digest_len) bytes for each
    /// message.
    pub fn hash_many(
        &self,
        start: &Midstate,
        messages: &Messages,
        out: &mut [u8],
    ) -> Result<(), manylane::Error> {
        let len = start.digest_len();
        if len == 0 || messages.len().checked_mul(len) != Some(out.len()) {
            return hash::hash_many(start, messages, out);
        }
        let (extra, lanes) = (Class::of(start).extra_with(len), Lanes::new(start).count());
        self.compute(Job::Hash(start), messages, (extra, lanes), out);
        Ok(())
    }

    /// The digest of one message in memory, of the usual length; as [`hash::hash`]. That of a
    /// [tree](Algorithm::is_tree) is computed as [`hash_many`](Self::hash_many) computes its chunks: on all threads, and
    /// on GPUs, where that is faster. Any other function has one chain of blocks, which the calling thread goes along.
    ///
    /// ```
    /// use manylane::hash::{self, Algorithm};
    /// use manylane_engine::Engine;
    ///
    /// let message = vec![7; 1 << 20];
    /// let digest = Engine::global().hash(Algorithm::Kt128, &message);
    /// assert_eq!(digest, hash::hash(Algorithm::Kt128, &message));
    /// ```
    pub fn hash(&self, algorithm: Algorithm, message: &[u8]) -> Digest {
        const LEN: usize = Tree::CHUNK_LEN;
        let (Some(tree), true) = (Tree::of(algorithm), message.len() >= 2 * LEN) else {
            return hash::hash(algorithm, message);
        };
        let (first, others) = message.split_at(LEN);
        let count = others.len() / LEN;
        let (chunks, rest) = others.split_at(count * LEN);
        let mut values = Zeroizing::new(vec![0; count * tree.value_len()]);
        let rows = Messages::strided(chunks, LEN, LEN, count).expect("whole chunks");
        self.hash_many(&tree.leaf(), &rows, &mut values).expect("a value for each chunk");
        let mut hasher = Hasher::new(algorithm);
        hasher.update(first);
        hasher.push_chaining_values(&values);
        hasher.update(rest);
        hasher.finish()
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
        if keys.len() != messages.len() || out.len() != messages.len() {
            return sm3::hmac_many(keys, messages, out);
        }
        let lanes = sm3::Lanes::new().count();
        self.compute(Job::Hmac(*keys), messages, (HMAC_EXTRA, lanes), out.as_flattened_mut());
        Ok(())
    }

    /// Computes a batch on all devices that it pays for. A message costs `extra` beyond its length, and a thread
    /// takes `lanes` of them side by side.
    fn compute<'a>(
        &self,
        job: Job<'a>,
        messages: &Messages<'a>,
        (extra, lanes): (u64, usize),
        out: &'a mut [u8],
    ) {
        if self.together(job, messages, (extra, lanes), out) {
            return;
        }
        let parts = plan::parts(messages, extra, self.threads(), lanes);
        self.alone(messages, || match parts.len() {
            1 => job.compute(messages, 0, out),
            _ => self.spread(&parts, job.digest_len(), out, |part, out| {
                job.compute(messages, part.start, out);
            }),
        });
    }

    /// Encrypts a message where it lies, M into C2; as [`PublicKey::encrypt_in_place`], on two threads
    /// if it is long.
    ///
    /// # Errors
    /// As that.
    pub fn encrypt_in_place(
        &self,
        key: &PublicKey,
        message: &mut [u8],
    ) -> Result<Sealed, manylane::Error> {
        match self.threads() > 1 && sm2::is_for_two(message.len()) {
            true => sm2::encrypt(&self.pool, key, message),
            false => key.encrypt_in_place(message),
        }
    }

    /// Decrypts a message where it lies, C2 into M; as [`SecretKey::decrypt_in_place`], on two threads
    /// if it is long. If that fails, nothing of M is left there: all of it is zero.
    ///
    /// # Errors
    /// As that.
    pub fn decrypt_in_place(
        &self,
        key: &SecretKey,
        sealed: &Sealed,
        data: &mut [u8],
    ) -> Result<(), manylane::Error> {
        match self.threads() > 1 && sm2::is_for_two(data.len()) {
            true => sm2::decrypt(&self.pool, key, sealed, data),
            false => key.decrypt_in_place(sealed, data),
        }
    }

    /// Computes `function` of each source, in bounded memory, and hands each back through
    /// `on_done` in the order of the iterator.
    ///
    /// Sources are opened, read and closed by the threads that hash them, at most as many at a
    /// time as these have lanes. `on_done` runs on the calling thread, which hashes too. A source
    /// that cannot be opened, or fails while it is read, fails alone.
    ///
    /// Short sources whose length is known also go to GPUs, read straight into memory that these
    /// copy from; each thread that does so has up to nine more open. What a GPU fails to do is done
    /// again from there, without the source being read again.
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
    /// use manylane::hash::Algorithm;
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
    /// let function = Function::hash(Algorithm::Sha3_256);
    /// let all = Engine::global().hash_sources(&function, &Progress::new(), texts, |done| {
    ///     let summary = done.result.expect("memory can be read");
    ///     assert_eq!(summary.digest, function.of(done.source.0.as_bytes()));
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
        let crew = self.crew();
        sources::run(&crew, function, progress, sources, on_done)
    }

    /// Reads a stream in pieces of `piece_len` bytes, computes them in place on all threads, and writes them
    /// in order, in bounded memory: two pieces a thread, or fewer if they are very long.
    ///
    /// `in_order` gets each piece, in order, as it has been read; what it returns is handed to `apart` with the piece,
    /// on the same thread, while other threads have other pieces. What depends on pieces before belongs into the former, and all
    /// else into the latter. A stream of one piece starts no thread; an empty one is an empty piece.
    ///
    /// ```
    /// use manylane::{aes::Aes128, block::Ctr128};
    /// use manylane_engine::{Engine, Piece, Progress};
    ///
    /// let ctr = Ctr128::new(Aes128::new(&[1; 16]), &[2; 16]);
    /// let apart = |piece: &mut Piece, ()| ctr.xor(piece.index << 20, &mut piece.data);
    /// let (mut message, mut ciphertext) = (&b"as long as you like"[..], Vec::new());
    /// let engine = Engine::global();
    /// engine.pipe(1 << 20, &Progress::new(), &mut message, &mut ciphertext, |_| Ok(()), apart)?;
    /// # Ok::<(), manylane_engine::PipeError<manylane::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The first that comes up in the order of the stream. All pieces before it have been written, if it was not
    /// the writing that failed, and none after it.
    ///
    /// # Panics
    /// If the reader, the writer or one of the functions does, or `piece_len` is zero.
    pub fn pipe<X, E: Send>(
        &self,
        piece_len: usize,
        progress: &Progress,
        reader: &mut (impl Read + Send),
        writer: &mut (impl Write + Send),
        in_order: impl FnMut(&mut Piece) -> Result<X, E> + Send,
        apart: impl Fn(&mut Piece, X) -> Result<(), E> + Sync,
    ) -> Result<(), PipeError<E>> {
        let ends = pipe::Ends { reader, writer, progress };
        pipe::run((&self.pool, self.threads()), piece_len, ends, in_order, apart)
    }

    /// Computes a batch on CPU and GPUs, if these are to take part. Whether that was done.
    fn together<'a>(
        &self,
        job: Job<'a>,
        messages: &Messages<'a>,
        (extra, lanes): (u64, usize),
        out: &mut [u8],
    ) -> bool {
        let fleet = &self.fleet;
        if !fleet.may_have_gpus() {
            return false;
        }
        let cost = (messages.total_bytes() + extra * messages.len() as u64) as f64;
        let rate = fleet.thread_rates(job.class()).hashing.get();
        let seconds = cost / (rate * self.threads() as f64);
        if fleet.with_cpus() && seconds < WORTH_A_GPU
            || !fleet.takes_part(job.class(), Duration::from_secs_f64(seconds))
        {
            return false;
        }
        together::run(&self.crew(), job, *messages, (extra, lanes), out)
    }

    fn crew(&self) -> Crew<'_> {
        let Engine { pool, fleet, .. } = self;
        Crew { pool, fleet, threads: self.threads() }
    }

    /// Does something on the CPU, and counts it.
    fn alone<R>(&self, messages: &Messages, work: impl FnOnce() -> R) -> R {
        let begun = Instant::now();
        let result = work();
        self.fleet.worked(begun.elapsed());
        self.fleet.cpu.add(messages.len() as u64, messages.total_bytes());
        result
    }

    /// Does `work` on each part of `out`, which has `digest_len` bytes a message, on as many threads as there are parts.
    fn spread(
        &self,
        parts: &[Range<usize>],
        digest_len: usize,
        mut out: &mut [u8],
        work: impl Fn(&Range<usize>, &mut [u8]) + Sync,
    ) {
        let mut in_order: Vec<_> = parts.iter().enumerate().collect();
        in_order.sort_unstable_by_key(|(_, range)| range.start);
        let mut slices: Vec<_> = parts.iter().map(|_| None).collect();
        for (i, range) in in_order {
            slices[i] = out.split_off_mut(..range.len() * digest_len);
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

impl Drop for Engine {
    fn drop(&mut self) {
        self.fleet.close();
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("threads", &self.threads).finish_non_exhaustive()
    }
}
