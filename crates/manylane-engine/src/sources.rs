//! Many sources, hashed by several threads: who takes which source when.
//!
//! Every worker keeps the lanes of its machine full of sources (`lanes`); that is where the speed
//! comes from, and long sources take part like short ones. Only when there are too few left for
//! that, each goes on as a stream by itself (`stream`), on whichever worker is free. Where there
//! are GPUs, workers also read short sources into batches for these (`gpus`).

mod gpus;
mod lanes;
mod queues;
mod stream;
mod tree;

use std::{
    collections::VecDeque,
    io,
    ops::ControlFlow,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::Duration,
};

use manylane::hash::Digest;

use self::{
    gpus::Gpus,
    lanes::Worker,
    queues::Queues,
    stream::{Ring, Stream},
    tree::Tree,
};
use crate::{
    Done, Function, Progress, Source, Summary,
    fleet::Counter,
    runtime::{is_out_of_files, lock, wait},
    together::Crew,
};

/// Sources that are taken from the iterator ahead of their turn, where they say how long they
/// are: long ones start first.
const LOOK_AHEAD: usize = 4096;

/// Sources taken from the iterator at a time, or by a worker.
const HANDFUL: usize = 8;

/// Sources that may be taken from the iterator and not yet handed back, because one before them
/// is still at work: a few megabytes of results.
const MAX_UNDELIVERED: usize = 1 << 16;

/// How long a worker without work sleeps while a GPU is at work, whose results nobody announces.
const NAP: Duration = Duration::from_micros(100);

/// What a source adds to [`Run::open`] and leaves there when it is closed, except one.
const OPENED: u64 = 1 << 32;

/// Whether a value of [`Run::open`] counts any source.
fn are_open(open: u64) -> bool {
    open & (OPENED - 1) > 0
}

/// A source and its place in the iterator.
struct Item<S> {
    index: usize,
    source: S,
    /// Its length, as it said before it was opened.
    hint: Option<u64>,
}

/// What comes of opening a source: without a reader, its result, or nothing if it was put back.
type Opened<S> = Result<(Item<S>, <S as Source>::Reader), Option<Done<S>>>;

/// What all workers share.
struct Run<'a, S: Source, I> {
    function: &'a Function,
    progress: &'a Progress,
    threads: usize,
    gpus: Gpus<S>,
    /// The iterator, with the index of its next source. Taken before `state`, if both are.
    sources: Mutex<(I, usize)>,
    state: Mutex<State<S>>,
    /// Signalled to workers that wait: there is something to do, or nothing will come any more.
    work: Condvar,
    /// The same for the caller's thread, which also waits for results.
    caller: Condvar,
    /// Workers that wait.
    waiting: AtomicUsize,
    /// Whether the next result in order is there.
    ready: AtomicBool,
    /// Whether all is to be abandoned.
    stop: AtomicBool,
    /// Sources that are open or being opened; and, in steps of [`OPENED`], how many ever were.
    open: AtomicU64,
    /// Number of sources that starve ([`Queues`]), and of what is about to be put there.
    starving: AtomicUsize,
}

struct State<S: Source> {
    queues: Queues<S>,
    /// Sources to be hashed as streams, begun or not.
    streams: VecDeque<Stream<S>>,
    /// Long sources that several workers may hash together.
    trees: Vec<Arc<Tree<S::Reader>>>,
    /// Whether the iterator has ended.
    ended: bool,
    /// Workers that have something at work.
    busy: usize,
    /// Results handed over to the caller.
    delivered: usize,
    /// Sources taken from the iterator.
    taken: usize,
    /// Results from `delivered` on, as far as they are there.
    results: VecDeque<Option<Done<S>>>,
}

impl<S: Source> State<S> {
    /// Whether sources may be taken from the iterator.
    fn may_pull(&self) -> bool {
        !self.ended && self.room() > 0 && self.queues.are_open()
    }

    fn room(&self) -> usize {
        MAX_UNDELIVERED - (self.taken - self.delivered)
    }
}

/// What a worker that asks for sources gets.
enum Taken<S: Source> {
    /// Some, where it wanted them.
    Some,
    /// A source to be hashed by itself.
    Stream(Stream<S>),
    /// None, but there may be some in a moment.
    Later,
    /// None until something else is finished.
    None,
}

/// What a worker does next.
enum Task<S: Source> {
    Lanes,
    Stream(Stream<S>),
    Tree(Arc<Tree<S::Reader>>),
    End,
}

/// Hands results back, on the caller's thread only.
trait Deliver {
    /// Hands back what is ready.
    fn deliver(&mut self);
    /// Whether this is the caller's thread.
    const IS_CALLER: bool;
}

/// [`Engine::hash_sources`](crate::Engine::hash_sources).
pub(crate) fn run<S, I, B>(
    crew: &Crew,
    function: &Function,
    progress: &Progress,
    sources: I,
    on_done: impl FnMut(Done<S>) -> ControlFlow<B>,
) -> ControlFlow<B>
where
    S: Source,
    I: Iterator<Item = S> + Send,
{
    let Crew { pool, fleet, threads, .. } = *crew;
    let gpus = Gpus::new(fleet, function);
    let run = Run {
        function,
        progress,
        threads,
        sources: Mutex::new((sources, 0)),
        state: Mutex::new(State {
            queues: Queues::new(gpus.limit()),
            streams: VecDeque::new(),
            trees: Vec::new(),
            ended: false,
            busy: 0,
            delivered: 0,
            taken: 0,
            results: VecDeque::new(),
        }),
        work: Condvar::new(),
        caller: Condvar::new(),
        waiting: AtomicUsize::new(0),
        ready: AtomicBool::new(false),
        stop: AtomicBool::new(false),
        open: AtomicU64::new(0),
        starving: AtomicUsize::new(0),
        gpus,
    };
    // One source needs no other thread; two are enough to know that more may come.
    run.pull(lock(&run.sources), 2);
    let helpers = match lock(&run.state) {
        state if state.ended && !(function.tree().is_some() && state.queues.may_be_long()) => {
            state.queues.pending().saturating_sub(1)
        }
        _ => threads - 1,
    };
    let mut caller = Caller { run: &run, on_done, broke: None, batch: Vec::new() };
    pool.run(helpers.min(threads - 1), &|| run.work(&mut Helper), || run.work(&mut caller));
    run.gpus.end(&run);
    match caller.broke {
        Some(value) => ControlFlow::Break(value),
        None => ControlFlow::Continue(()),
    }
}

/// A thread of the pool, which hands nothing back.
struct Helper;

impl Deliver for Helper {
    fn deliver(&mut self) {}
    const IS_CALLER: bool = false;
}

/// The caller's thread.
struct Caller<'r, 'a, S: Source, I, F, B> {
    run: &'r Run<'a, S, I>,
    on_done: F,
    broke: Option<B>,
    /// Results on their way, kept for its memory.
    batch: Vec<Done<S>>,
}

impl<S: Source, I, F: FnMut(Done<S>) -> ControlFlow<B>, B> Deliver for Caller<'_, '_, S, I, F, B> {
    fn deliver(&mut self) {
        while self.run.ready.load(Relaxed) && self.broke.is_none() {
            let mut state = lock(&self.run.state);
            let had_room = state.room() > 0;
            while self.batch.len() < 256
                && let Some(Some(_)) = state.results.front()
            {
                self.batch.extend(state.results.pop_front().flatten());
                state.delivered += 1;
            }
            self.run.ready.store(matches!(state.results.front(), Some(Some(_))), Relaxed);
            drop(state);
            if !had_room {
                self.run.work.notify_all();
            }
            for done in self.batch.drain(..) {
                if let ControlFlow::Break(value) = (self.on_done)(done) {
                    self.broke = Some(value);
                    self.run.abandon();
                    break;
                }
            }
        }
    }
    const IS_CALLER: bool = true;
}

impl<S: Source, I> Run<'_, S, I> {
    fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Makes every worker leave as soon as it can.
    fn abandon(&self) {
        self.stop.store(true, Relaxed);
        // Taken so that no worker is between its look at `stop` and its wait.
        let _state = lock(&self.state);
        self.work.notify_all();
        self.caller.notify_all();
    }

    /// Puts results of the CPU in their places, and empties `done`.
    fn hand_in(&self, done: &mut Vec<Done<S>>) {
        self.hand_in_from(&self.gpus.fleet.cpu, done);
    }

    /// The same for results of the device that `counter` is of.
    fn hand_in_from(&self, counter: &Counter, done: &mut Vec<Done<S>>) {
        if done.is_empty() {
            return;
        }
        self.gpus.count(counter, done);
        self.progress.add(0, done.len() as u64);
        let mut state = lock(&self.state);
        for done in done.drain(..) {
            let place = done.index - state.delivered;
            if state.results.len() <= place {
                state.results.resize_with(place + 1, || None);
            }
            state.results[place] = Some(done);
        }
        if matches!(state.results.front(), Some(Some(_))) {
            self.ready.store(true, Relaxed);
            self.caller.notify_one();
        }
    }

    /// Leaves a source to whichever worker is free first.
    fn leave(&self, stream: Stream<S>) {
        lock(&self.state).streams.push_back(stream);
        self.work.notify_one();
        self.caller.notify_one();
    }

    /// Opens a source. Fails with its result, or with nothing if it is put back because too many
    /// files are open, some of them by this run.
    fn open(&self, mut item: Item<S>) -> Opened<S> {
        loop {
            let before = self.open.fetch_add(OPENED + 1, SeqCst);
            let error = match item.source.open() {
                Ok(reader) => return Ok((item, reader)),
                Err(error) => error,
            };
            if is_out_of_files(&error) {
                let (back, after) = self.starve(item).ok_or(None)?;
                item = back;
                if after != before.wrapping_add(OPENED) || are_open(before) {
                    // What was open when it failed has been closed meanwhile.
                    continue;
                }
                self.feed();
            } else {
                self.closed();
            }
            let Item { index, source, .. } = item;
            return Err(Some(Done { index, source, result: Err(error) }));
        }
    }

    /// Puts a source back that counts as being opened; if nothing else is open, gives it back, with
    /// what `open` is then.
    fn starve(&self, item: Item<S>) -> Option<(Item<S>, u64)> {
        let mut state = lock(&self.state);
        // In this order: whoever closes a source after this look at `open` finds one to feed.
        self.starving.fetch_add(1, SeqCst);
        let open = self.open.fetch_sub(1, SeqCst) - 1;
        if are_open(open) {
            state.queues.starve(item);
            return None;
        }
        self.starving.fetch_sub(1, SeqCst);
        Some((item, open))
    }

    /// Counts a source as closed.
    fn closed(&self) {
        self.open.fetch_sub(1, SeqCst);
        if self.starving.load(SeqCst) > 0 {
            self.feed();
        }
    }

    /// Lets starved sources be tried again: one for that which was closed, and one more lest
    /// there be ever fewer at work, when others than this run have closed files too.
    fn feed(&self) {
        let mut state = lock(&self.state);
        for _ in 0..2 {
            if state.queues.feed() {
                self.starving.fetch_sub(1, SeqCst);
            }
        }
        self.work.notify_all();
        self.caller.notify_one();
    }

    /// Lets other workers take part in a source.
    fn share(&self, tree: &Arc<Tree<S::Reader>>) {
        lock(&self.state).trees.push(Arc::clone(tree));
        self.work.notify_all();
        self.caller.notify_one();
    }

    /// Whether any worker may take part in a source.
    fn has_trees(&self) -> bool {
        lock(&self.state).trees.iter().any(|tree| tree.has_more())
    }

    /// No more.
    fn keep(&self, tree: &Arc<Tree<S::Reader>>) {
        lock(&self.state).trees.retain(|other| !Arc::ptr_eq(other, tree));
    }

    fn summary(&self, digest: Digest, len: u64) -> io::Result<Summary> {
        Ok(Summary { digest: self.function.finish(digest), len })
    }
}

impl<S: Source, I: Iterator<Item = S> + Send> Run<'_, S, I> {
    /// What each thread does.
    fn work<D: Deliver>(&self, thread: &mut D) {
        let _guard = AbandonOnPanic(self);
        let mut worker = Worker::new(self.function);
        let mut ring = Ring::default();
        let mut done = Vec::new();
        let mut was_busy = false;
        loop {
            match self.next(thread, &mut worker, was_busy) {
                Task::Lanes => worker.work(self, thread, &mut ring),
                Task::Stream(stream) => {
                    let beside = stream.is_beside();
                    done.extend(stream.finish(self, thread, &mut ring));
                    self.hand_in(&mut done);
                    if beside {
                        lock(&self.state).queues.leave_beside();
                    }
                }
                Task::Tree(tree) => ring.help(&tree, self, thread),
                Task::End => break,
            }
            was_busy = true;
        }
        thread.deliver();
    }

    /// Waits for something to do. `was_busy` says whether the worker counts as busy.
    fn next<D: Deliver>(
        &self,
        thread: &mut D,
        worker: &mut Worker<S>,
        mut was_busy: bool,
    ) -> Task<S> {
        loop {
            thread.deliver();
            let mut state = lock(&self.state);
            // Busy from here on: who looks now finds that there may be more to come from here.
            state.busy += usize::from(!was_busy);
            if self.stopped() {
                return Task::End;
            }
            if let Some(stream) = state.streams.pop_front() {
                return Task::Stream(stream);
            }
            drop(state);
            if worker.serve_gpus(self) {
                was_busy = true;
                if worker.has_sources() {
                    return Task::Lanes;
                }
                continue;
            }
            // Who waits for the iterator can neither look after GPUs nor take part in a tree.
            let patient = !self.gpus.are_at_work() && !self.has_trees();
            match self.take(HANDFUL, worker.queue(), patient) {
                Taken::Some => return Task::Lanes,
                Taken::Stream(stream) => return Task::Stream(stream),
                Taken::Later | Taken::None => {}
            }
            let mut state = lock(&self.state);
            state.busy -= 1;
            was_busy = false;
            let at_work = self.gpus.are_at_work();
            let over = state.ended && state.queues.are_empty() && state.busy == 0 && !at_work;
            // A worker's own sources come first, as they may be long too.
            if let Some(tree) = state.trees.iter().find(|tree| tree.has_more()).map(Arc::clone) {
                state.busy += 1;
                return Task::Tree(tree);
            }
            if over && state.streams.is_empty() {
                self.work.notify_all();
                self.caller.notify_one();
                if !D::IS_CALLER || state.taken == state.delivered {
                    return Task::End;
                }
            }
            let kept = if self.gpus.keep_brief() { state.queues.for_gpus() } else { 0 };
            let has_news = !state.streams.is_empty()
                || state.queues.pending() > kept
                || self.stopped()
                || D::IS_CALLER && self.ready.load(Relaxed);
            if has_news {
                continue;
            }
            let looks = at_work || kept > 0;
            if !looks && state.may_pull() {
                continue;
            }
            let news = if D::IS_CALLER { &self.caller } else { &self.work };
            self.waiting.fetch_add(1, Relaxed);
            if looks {
                drop(news.wait_timeout(state, NAP).unwrap_or_else(PoisonError::into_inner));
            } else {
                drop(wait(news, state));
            }
            self.waiting.fetch_sub(1, Relaxed);
        }
    }

    /// Takes up to `wanted` sources into `queue`. `patient` says whether to wait while another
    /// worker is at the iterator, or the iterator itself makes wait.
    fn take(&self, wanted: usize, queue: &mut VecDeque<Item<S>>, patient: bool) -> Taken<S> {
        loop {
            let mut state = lock(&self.state);
            let kept = self.gpus.keep_brief();
            // The beginning of a share for each worker, lest the last ones be unequal.
            let share = (state.queues.pending() / self.threads).clamp(1, wanted);
            if let Some(item) = state.queues.next_huge(self.threads) {
                return Taken::Stream(Stream::beside(item));
            }
            let mut count = 0;
            while count < share
                && let Some(item) = state.queues.next(kept)
            {
                if item.source.may_wait() {
                    if count == 0 {
                        return Taken::Stream(Stream::of(item));
                    }
                    state.queues.put_back(item);
                    break;
                }
                queue.push_back(item);
                count += 1;
            }
            let may_pull = state.may_pull();
            let wants_pull = may_pull && self.wants_ahead(&state);
            let only_kept = kept && state.queues.for_gpus() > 0;
            drop(state);
            if count > 0 {
                if wants_pull && let Ok(sources) = self.sources.try_lock() {
                    self.pull(sources, 2 * HANDFUL);
                }
                return Taken::Some;
            }
            if !may_pull {
                return Taken::None;
            }
            if only_kept {
                return Taken::Later;
            }
            let sources = if patient {
                lock(&self.sources)
            } else {
                match self.sources.try_lock() {
                    Ok(sources) => sources,
                    Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                    Err(TryLockError::WouldBlock) => return Taken::Later,
                }
            };
            // Another worker may have been here meanwhile.
            if lock(&self.state).queues.pending() == 0 {
                self.pull(sources, 2 * HANDFUL);
            }
            if self.stopped() {
                return Taken::None;
            }
        }
    }

    /// Whether more sources should be taken from the iterator ahead of their turn.
    fn wants_ahead(&self, state: &State<S>) -> bool {
        let far = state.queues.are_hinted() || self.gpus.are_there();
        state.queues.pending() < if far { LOOK_AHEAD } else { HANDFUL * self.threads }
    }

    /// Takes sources from the iterator ahead of their turn, up to that many times, if more should be
    /// and nobody else does so.
    fn look_ahead(&self, times: usize) {
        for _ in 0..times {
            let state = lock(&self.state);
            let wants_pull = state.may_pull() && self.wants_ahead(&state);
            drop(state);
            if !wants_pull {
                break;
            }
            let Ok(sources) = self.sources.try_lock() else { break };
            self.pull(sources, 2 * HANDFUL);
        }
    }

    /// Takes sources for a GPU into `queue`, as many as one worker takes at a time; none if they
    /// would have to be waited for.
    fn take_brief(&self, queue: &mut VecDeque<Item<S>>) {
        self.look_ahead(1);
        let mut state = lock(&self.state);
        let share = (state.queues.pending() / self.threads).clamp(1, HANDFUL);
        queue.extend(std::iter::from_fn(|| state.queues.next_brief()).take(share));
    }

    /// Takes up to `wanted` sources from the iterator.
    fn pull(&self, mut sources: MutexGuard<(I, usize)>, wanted: usize) {
        let (iterator, index) = &mut *sources;
        let (ended, room) = {
            let state = lock(&self.state);
            (state.ended, state.room())
        };
        let wanted = wanted.min(room);
        if ended || wanted == 0 || self.stopped() {
            return;
        }
        let mut items = [const { None }; 2 * HANDFUL];
        let mut count = 0;
        while count < wanted
            && let Some(source) = iterator.next()
        {
            let hint = source.len_hint();
            items[count] = Some(Item { index: *index, source, hint });
            *index += 1;
            count += 1;
        }
        let mut state = lock(&self.state);
        items.into_iter().flatten().for_each(|item| state.queues.push(item));
        state.taken = *index;
        if count < wanted {
            state.ended = true;
        }
        if self.waiting.load(Relaxed) > 0 {
            self.work.notify_all();
            self.caller.notify_one();
        }
    }
}

/// Tells all others to leave when its thread panics.
struct AbandonOnPanic<'r, 'a, S: Source, I>(&'r Run<'a, S, I>);

impl<S: Source, I> Drop for AbandonOnPanic<'_, '_, S, I> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon();
        }
    }
}
