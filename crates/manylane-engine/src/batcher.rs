//! Single messages from many tasks, hashed together.

use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    mem,
    pin::Pin,
    process,
    sync::{Arc, Condvar, Mutex, PoisonError},
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread, ThreadId},
    time::{Duration, Instant},
};

use manylane::{
    Messages,
    hash::{self, Algorithm, Digest, Midstate},
    sm3,
};
use zeroize::Zeroize;

use crate::{
    Engine, Function,
    runtime::{PerProcess, lock, wait, wake_on_time},
};

/// When a [`Batcher`] stops collecting and hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatcherConfig {
    /// The function.
    pub algorithm: Algorithm,
    /// Messages that are hashed together at most; as soon as so many wait, they are. Zero counts
    /// as one.
    pub max_batch: usize,
    /// Time that a message waits for others at most.
    pub max_delay: Duration,
    /// Messages that may wait at most, at least `max_batch`. Further ones stay in their futures
    /// until there is room.
    pub max_queue: usize,
}

impl Default for BatcherConfig {
    /// SM3, 256 messages, 100 µs, 4096 messages.
    fn default() -> Self {
        BatcherConfig {
            algorithm: Algorithm::Sm3,
            max_batch: 256,
            max_delay: Duration::from_micros(100),
            max_queue: 4096,
        }
    }
}

/// Collects messages from any number of threads and tasks, and hashes them side by side.
///
/// A thread of its own, started by the first message, waits until
/// [`max_batch`](BatcherConfig::max_batch) messages are there or the first has waited for
/// [`max_delay`](BatcherConfig::max_delay); then it hashes them on its engine. Futures work in any
/// executor, or block with [`BatchFuture::wait`].
///
/// ```
/// use manylane_engine::{Batcher, BatcherConfig};
///
/// let batcher = Batcher::new(BatcherConfig::default());
/// let futures: Vec<_> = (0..100u8).map(|i| batcher.submit([i])).collect();
/// for (i, future) in futures.into_iter().enumerate() {
///     assert_eq!(future.wait()?, manylane::sm3::hash(&[i as u8]));
/// }
/// # Ok::<(), manylane_engine::Closed>(())
/// ```
///
/// **Back-pressure.** With [`max_queue`](BatcherConfig::max_queue) messages waiting, a further one
/// stays in its future, which queues it when it is polled or waited for and there is room.
///
/// **Drop** hashes what is queued and returns when that is done. Futures that still hold their
/// message resolve to [`Closed`].
///
/// **Fork.** A child may use a batcher of its parent: it gets a queue and a thread of its own.
/// Futures made before the `fork` resolve in the parent; in the child, those without a result
/// resolve to [`Closed`].
pub struct Batcher {
    config: BatcherConfig,
    /// The global one if none.
    engine: Option<Arc<Engine>>,
    shared: PerProcess<Arc<Shared>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Signalled to the thread: the first message has come, enough have, or none will any more;
    /// and to `drop`: the thread has ended.
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    entries: VecDeque<Entry>,
    /// Futures that wait for room.
    waiters: Vec<Waker>,
    /// How often `waiters` has been emptied.
    round: u64,
    thread: Option<ThreadId>,
    closed: bool,
}

/// A message that waits.
struct Entry {
    input: Input,
    since: Instant,
    promise: Promise,
}

/// A message, and the key if it is to be authenticated. Both are wiped on drop.
struct Input {
    key: Option<Vec<u8>>,
    message: Vec<u8>,
}

impl Input {
    /// The result, on the calling thread.
    fn alone(&self, algorithm: Algorithm) -> Digest {
        match &self.key {
            Some(key) => Function::hmac(algorithm, key).of(&self.message),
            None => hash::hash(algorithm, &self.message),
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.message.as_mut_slice().zeroize();
        if let Some(key) = &mut self.key {
            key.as_mut_slice().zeroize();
        }
    }
}

/// Where a future finds its result.
struct Slot {
    pid: u32,
    state: Mutex<SlotState>,
}

enum SlotState {
    Pending(Option<Waker>),
    Done(Result<Digest, Closed>),
}

impl Slot {
    /// The result; if it is to come, `waker` is woken when it has.
    fn look(&self, waker: &Waker) -> Option<Result<Digest, Closed>> {
        // In a forked child, the parent's thread may have held the lock, and will fill no slot.
        let is_parents = self.pid != process::id();
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(_) if is_parents => return Some(Err(Closed)),
            Err(_) => lock(&self.state),
        };
        match &mut *state {
            SlotState::Done(result) => Some(*result),
            SlotState::Pending(_) if is_parents => Some(Err(Closed)),
            SlotState::Pending(Some(known)) => {
                known.clone_from(waker);
                None
            }
            SlotState::Pending(none) => {
                *none = Some(waker.clone());
                None
            }
        }
    }
}

/// The duty to fill a slot; dropped without a result, it closes it.
struct Promise(Arc<Slot>);

impl Promise {
    fn new() -> Self {
        let state = Mutex::new(SlotState::Pending(None));
        Promise(Arc::new(Slot { pid: process::id(), state }))
    }

    fn keep(&self, result: Result<Digest, Closed>) {
        let mut state = lock(&self.0.state);
        if let SlotState::Pending(waker) = &mut *state {
            let waker = waker.take();
            *state = SlotState::Done(result);
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.keep(Err(Closed));
    }
}

/// The digest to come of a message given to a [`Batcher`]. Dropping it drops the digest only; a
/// message that is queued is hashed.
#[must_use = "the digest is what the future resolves to"]
pub struct BatchFuture(State);

enum State {
    /// There was no room in the queue.
    Holding(Holding),
    Queued(Arc<Slot>),
    Resolved,
}

/// A message on its way into the queue.
struct Holding {
    input: Input,
    config: BatcherConfig,
    engine: Option<Arc<Engine>>,
    shared: Arc<Shared>,
    /// The waker that waits for room, and since which round.
    waiting: Option<(u64, Waker)>,
    pid: u32,
}

/// The batcher was dropped before it took the message, or belongs to the parent process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the batcher was closed before it took the message")
    }
}

impl std::error::Error for Closed {}

impl Batcher {
    /// A batcher that hashes on the [global engine](Engine::global).
    pub fn new(config: BatcherConfig) -> Self {
        Batcher::with(config, None)
    }

    /// A batcher that hashes on that engine.
    pub fn on(engine: Arc<Engine>, config: BatcherConfig) -> Self {
        Batcher::with(config, Some(engine))
    }

    fn with(config: BatcherConfig, engine: Option<Arc<Engine>>) -> Self {
        Batcher { config: config.valid(), engine, shared: PerProcess::default() }
    }

    /// The digest of `message`. Never blocks. The message is wiped once it is hashed. With a function that is a
    /// [tree](Algorithm::is_tree), the messages of a batch are hashed one after another.
    pub fn submit(&self, message: impl Into<Vec<u8>>) -> BatchFuture {
        self.submit_input(Input { key: None, message: message.into() })
    }

    /// HMAC of `message` under `key`. Never blocks. Both are wiped once they are used. With other functions than
    /// SM3, the messages of a batch are authenticated one after another.
    ///
    /// # Panics
    /// If there is [no HMAC](Algorithm::has_hmac) with the function.
    pub fn submit_hmac(&self, key: impl Into<Vec<u8>>, message: impl Into<Vec<u8>>) -> BatchFuture {
        let algorithm = self.config.algorithm;
        assert!(algorithm.has_hmac(), "no HMAC with {algorithm}");
        self.submit_input(Input { key: Some(key.into()), message: message.into() })
    }

    fn submit_input(&self, input: Input) -> BatchFuture {
        let holding = Holding {
            input,
            config: self.config.clone(),
            engine: self.engine.clone(),
            shared: Arc::clone(self.shared.get()),
            waiting: None,
            pid: process::id(),
        };
        BatchFuture(holding.queue(None))
    }
}

impl BatcherConfig {
    fn valid(mut self) -> Self {
        self.max_batch = self.max_batch.max(1);
        self.max_queue = self.max_queue.max(self.max_batch);
        self
    }
}

impl Drop for Batcher {
    fn drop(&mut self) {
        let shared = self.shared.get();
        let mut queue = lock(&shared.queue);
        queue.closed = true;
        shared.changed.notify_all();
        let waiters = mem::take(&mut queue.waiters);
        // Dropped by its own thread, in some task's waker, it cannot wait for itself.
        while queue.thread.is_some_and(|thread| thread != thread::current().id()) {
            queue = wait(&shared.changed, queue);
        }
        drop(queue);
        waiters.into_iter().for_each(Waker::wake);
    }
}

impl fmt::Debug for Batcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batcher").field("config", &self.config).finish_non_exhaustive()
    }
}

impl fmt::Debug for BatchFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BatchFuture { ... }")
    }
}

impl Holding {
    /// Puts the message into the queue if there is room; otherwise `waker` is woken when there is.
    fn queue(mut self, waker: Option<&Waker>) -> State {
        let shared = Arc::clone(&self.shared);
        let mut queue = lock(&shared.queue);
        if !queue.closed && queue.entries.len() >= self.config.max_queue {
            if let Some(waker) = waker {
                let round = queue.round;
                let waits = |(since, with): &(u64, Waker)| *since == round && with.will_wake(waker);
                if !self.waiting.as_ref().is_some_and(waits) {
                    queue.waiters.push(waker.clone());
                    self.waiting = Some((round, waker.clone()));
                }
            }
            drop(queue);
            return State::Holding(self);
        }
        let promise = Promise::new();
        let slot = Arc::clone(&promise.0);
        if queue.closed {
            // Dropping the promise says so.
            return State::Queued(slot);
        }
        if queue.thread.is_none() {
            let (config, engine) = (self.config.clone(), self.engine.clone());
            let served = Arc::clone(&shared);
            let serve = move || served.serve(&config, engine.as_deref());
            match thread::Builder::new().name("manylane-batcher".to_owned()).spawn(serve) {
                Ok(handle) => queue.thread = Some(handle.thread().id()),
                Err(_) => {
                    // Without a thread, the message is hashed on this one.
                    drop(queue);
                    promise.keep(Ok(self.input.alone(self.config.algorithm)));
                    return State::Queued(slot);
                }
            }
        }
        queue.entries.push_back(Entry { input: self.input, since: Instant::now(), promise });
        let len = queue.entries.len();
        drop(queue);
        // Between these, the thread sleeps until the first message's time is up.
        if len == 1 || len == self.config.max_batch {
            shared.changed.notify_all();
        }
        State::Queued(slot)
    }
}

impl Shared {
    /// What the thread does.
    fn serve(&self, config: &BatcherConfig, engine: Option<&Engine>) {
        let _ended = Ended(self);
        let engine = engine.unwrap_or_else(|| Engine::global());
        wake_on_time();
        let mut queue = lock(&self.queue);
        loop {
            let Some(first) = queue.entries.front() else {
                if queue.closed {
                    break;
                }
                queue = wait(&self.changed, queue);
                continue;
            };
            let waited = first.since.elapsed();
            if queue.entries.len() < config.max_batch && waited < config.max_delay && !queue.closed
            {
                queue = self
                    .changed
                    .wait_timeout(queue, config.max_delay - waited)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
                continue;
            }
            let count = queue.entries.len().min(config.max_batch);
            let batch: Vec<Entry> = queue.entries.drain(..count).collect();
            let waiters = mem::take(&mut queue.waiters);
            queue.round += 1;
            drop(queue);
            waiters.into_iter().for_each(Waker::wake);
            let (macs, hashes): (Vec<_>, _) =
                batch.into_iter().partition(|e| e.input.key.is_some());
            hash(engine, config.algorithm, &hashes);
            authenticate(engine, config.algorithm, &macs);
            // Inputs are wiped before the lock is taken again.
            drop((hashes, macs));
            queue = lock(&self.queue);
        }
    }
}

fn hash(engine: &Engine, algorithm: Algorithm, batch: &[Entry]) {
    if algorithm.is_tree() {
        return keep_each(batch, algorithm);
    }
    let start = Midstate::new(algorithm);
    let messages: Vec<&[u8]> = batch.iter().map(|entry| &entry.input.message[..]).collect();
    let mut digests = vec![0; batch.len() * start.digest_len()];
    let done = engine.hash_many(&start, &Messages::slices(&messages), &mut digests);
    done.expect("as many results as messages");
    keep(batch, &mut digests, start.digest_len());
}

fn authenticate(engine: &Engine, algorithm: Algorithm, batch: &[Entry]) {
    if algorithm != Algorithm::Sm3 {
        return keep_each(batch, algorithm);
    }
    let keys: Vec<&[u8]> =
        batch.iter().map(|e| e.input.key.as_deref().unwrap_or_default()).collect();
    let messages: Vec<&[u8]> = batch.iter().map(|entry| &entry.input.message[..]).collect();
    let mut macs = vec![[0; 32]; batch.len()];
    let (keys, messages) = (Messages::slices(&keys), Messages::slices(&messages));
    engine.hmac_many(&keys, &messages, &mut macs).expect("as many results as messages and keys");
    keep(batch, macs.as_flattened_mut(), sm3::DIGEST_LEN);
}

fn keep(batch: &[Entry], digests: &mut [u8], digest_len: usize) {
    for (entry, digest) in batch.iter().zip(digests.chunks_exact(digest_len)) {
        entry.promise.keep(Ok(Digest::new(digest).expect("of the usual length")));
    }
    digests.zeroize();
}

/// Keeps every promise by itself.
fn keep_each(batch: &[Entry], algorithm: Algorithm) {
    batch.iter().for_each(|entry| entry.promise.keep(Ok(entry.input.alone(algorithm))));
}

/// Says that the thread has ended, also if by a panic: nothing waits for it in vain.
struct Ended<'a>(&'a Shared);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        queue.closed = true;
        queue.thread = None;
        let entries = mem::take(&mut queue.entries);
        let waiters = mem::take(&mut queue.waiters);
        drop(queue);
        self.0.changed.notify_all();
        drop(entries);
        waiters.into_iter().for_each(Waker::wake);
    }
}

impl BatchFuture {
    /// Blocks the calling thread until the digest is there.
    ///
    /// # Errors
    /// [`Closed`] if the batcher was dropped before it took the message.
    ///
    /// # Panics
    /// If the future has been polled to its end before.
    pub fn wait(mut self) -> Result<Digest, Closed> {
        struct Unpark(Thread);
        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        thread_local! {
            static WAKER: Waker = Arc::new(Unpark(thread::current())).into();
        }
        WAKER.with(|waker| {
            let mut context = Context::from_waker(waker);
            loop {
                match Pin::new(&mut self).poll(&mut context) {
                    Poll::Ready(result) => break result,
                    Poll::Pending => thread::park(),
                }
            }
        })
    }
}

impl Future for BatchFuture {
    type Output = Result<Digest, Closed>;

    /// # Panics
    /// If the future has been polled to its end before.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let slot = match mem::replace(&mut self.0, State::Resolved) {
            State::Queued(slot) => slot,
            State::Holding(holding) if holding.pid != process::id() => {
                return Poll::Ready(Err(Closed));
            }
            State::Holding(holding) => match holding.queue(Some(context.waker())) {
                State::Queued(slot) => slot,
                holding => {
                    self.0 = holding;
                    return Poll::Pending;
                }
            },
            State::Resolved => panic!("polled after it resolved"),
        };
        match slot.look(context.waker()) {
            Some(result) => return Poll::Ready(result),
            None => self.0 = State::Queued(slot),
        }
        Poll::Pending
    }
}
