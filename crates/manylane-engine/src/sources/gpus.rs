//! What workers do for GPUs: they read short sources into batches for these, and hand in what comes
//! back.
//!
//! A batch is read straight into page-locked memory, from where the GPU copies it. That takes a
//! thread three or four times less than to hash the same, so whoever finds a slot free fills it,
//! unless all would be done sooner without ([`cost`](crate::cost)). Slots are free as fast as the
//! GPU takes batches: no more threads fill them than it can use, and the others hash.
//!
//! What was read for a GPU is nowhere else, so what it fails to do is read once more.

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::{Duration, Instant},
};

use manylane::hash::Digest;
use manylane_gpu::{Error, Filling, Pending, Slot};
use zeroize::Zeroize;

use super::{HANDFUL, Item, Run, Stream, stream::fill};
use crate::{
    Done, Function, Source,
    class::Class,
    cost::{GpuState, Situation},
    fleet::{Counter, Fleet, Member, Reading},
    runtime::lock,
};

/// How long a thread fills one slot, at most: what 16 MiB take at 4 GB/s. Where sources are so
/// short that opening them takes most of the time, batches are smaller.
const FILL_TIME: Duration = Duration::from_millis(4);

/// The same when all will soon be done.
const LEAST_FILL_TIME: Duration = Duration::from_micros(100);

/// How much faster a thread must be at reading for a GPU than at reading and hashing: with short
/// files, what takes their time is to open them, and that no GPU does.
const WORTH_IT: f64 = 1.25;

/// Microseconds after which it is tried again whether it is.
const DOUBT: u64 = 20_000;

/// Time for which a GPU has enough to do, as a multiple of what it takes to fill the next slot and to
/// hash the longest source in it. Rates of a GPU that waits for sources are measured too low, so that
/// it seems to have more to do than it has.
const AHEAD_OF_NEED: f64 = 4.0;

/// The same in seconds beyond that: threads look only now and then.
const SPARE: f64 = 2e-3;

/// What is still to come of a run beyond what is in sight, as a part of what is done.
const BEYOND: f64 = 0.5;

/// Length of sources as long as none is known.
const USUAL: f64 = 16e3;

/// How often sources are taken from the iterator before a plan is made: it is the better the more of
/// the end is in sight. So often, together, they are as many as a thread hashes in a few milliseconds.
const AHEAD: usize = 16;

/// Batches under way that are looked at in one go: they come back nearly in order.
const LOOK_AT: usize = 4;

/// Microseconds between two looks at what is under way, by whichever threads: a look asks the
/// driver, which has a lock.
const LOOK_EVERY: u64 = 20;

/// A batch on its way through a GPU.
struct Flight<S: Source> {
    pending: Pending<'static>,
    batch: Vec<Item<S>>,
    cost: u64,
    member: Arc<Member>,
}

/// What the workers of a run know together of its GPUs.
pub(super) struct Gpus<S: Source> {
    pub(super) fleet: Arc<Fleet>,
    class: Class,
    /// Whether there are GPUs, or may be soon.
    may_be: bool,
    /// Whether any is at hand.
    are_there: AtomicBool,
    flights: Mutex<VecDeque<Flight<S>>>,
    /// How many these are, those included that are just being taken back.
    under_way: AtomicUsize,
    /// Microseconds of the fleet's clock at the last look at them.
    looked: AtomicU64,
    /// Nanoseconds that threads have read and hashed in lanes, summed up.
    spent: AtomicU64,
    /// What has been handed in.
    done: Counter,
    /// Of that, sources that a GPU could take.
    brief: Counter,
    /// Whether the fleet is opening GPUs, or has tried.
    opened: AtomicBool,
    /// Length of the longest source that was sent.
    longest: AtomicU64,
}

impl<S: Source> Gpus<S> {
    pub(super) fn new(fleet: &Arc<Fleet>, function: &Function) -> Self {
        let class = Class::of(&function.start);
        // A tree is no function of theirs.
        let may_be = function.tree().is_none() && fleet.may_have_gpus();
        if may_be {
            // Kernels of GPUs that were asked for are loaded now, if they are not.
            fleet.takes_part(class, Duration::ZERO);
        }
        Gpus {
            fleet: Arc::clone(fleet),
            class,
            may_be,
            are_there: AtomicBool::new(false),
            flights: Mutex::default(),
            under_way: AtomicUsize::new(0),
            looked: AtomicU64::new(0),
            spent: AtomicU64::new(0),
            done: Counter::default(),
            brief: Counter::default(),
            opened: AtomicBool::new(false),
            longest: AtomicU64::new(0),
        }
    }

    /// Length up to which GPUs take sources, if they may at all.
    pub(super) fn limit(&self) -> Option<u64> {
        self.may_be.then(|| self.fleet.brief())
    }

    fn cost(&self, counter: &Counter) -> u64 {
        let (messages, bytes) = counter.get();
        bytes + self.class.extra() * messages
    }

    /// Whether any GPU is at hand.
    pub(super) fn are_there(&self) -> bool {
        self.are_there.load(Relaxed)
    }

    /// Whether what they can take is for them alone.
    pub(super) fn keep_brief(&self) -> bool {
        self.are_there() && !self.fleet.with_cpus()
    }

    /// Whether threads are so much faster at reading for GPUs than at reading and hashing that it
    /// pays. Now and then one is to try again.
    fn is_worth_it(&self) -> bool {
        let Reading { fill_rate, filled } = &self.fleet.reading;
        let thread_rate = &self.fleet.thread_rates(self.class).reading;
        if !self.fleet.with_cpus() || fill_rate.get() >= WORTH_IT * thread_rate.get() {
            return true;
        }
        let (now, last) = ((self.fleet.now() * 1e6) as u64, filled.load(Relaxed));
        now >= last + DOUBT && filled.compare_exchange(last, now, Relaxed, Relaxed).is_ok()
    }

    /// Whether batches are under way.
    pub(super) fn are_at_work(&self) -> bool {
        self.under_way.load(SeqCst) > 0
    }

    /// Takes into account what a thread has read and hashed in that time.
    pub(super) fn measure(&self, bytes: usize, time: Duration) {
        if self.may_be {
            let rate = &self.fleet.thread_rates(self.class).reading;
            rate.measured(bytes as u64, time.as_secs_f64());
            self.spent.fetch_add(time.as_nanos() as u64, Relaxed);
        }
    }

    /// Counts results of the device that `counter` is of.
    pub(super) fn count(&self, counter: &Counter, done: &[Done<S>]) {
        let limit = self.limit().unwrap_or(0);
        let (mut all, mut brief) = ((0, 0), (0, 0));
        for summary in done.iter().filter_map(|done| done.result.as_ref().ok()) {
            all = (all.0 + 1, all.1 + summary.len);
            if summary.len <= limit {
                brief = (brief.0 + 1, brief.1 + summary.len);
            }
        }
        counter.add(all.0, all.1);
        if self.may_be {
            self.done.add(all.0, all.1);
            self.brief.add(brief.0, brief.1);
        }
    }

    /// Time that all threads of the CPU were at what GPUs could have hashed.
    fn worked(&self, threads: usize) -> Duration {
        let part = self.cost(&self.brief) as f64 / self.cost(&self.done).max(1) as f64;
        Duration::from_nanos(self.spent.load(Relaxed)).mul_f64(part / threads as f64)
    }

    /// When the run is over: lets the fleet know of work that it may open GPUs for.
    pub(super) fn end<I>(&self, run: &Run<S, I>) {
        if self.may_be && !self.are_there() {
            self.fleet.worked(self.worked(run.threads));
        }
    }
}

fn mean(counter: &Counter) -> Option<f64> {
    let (messages, bytes) = counter.get();
    (messages > 0).then(|| bytes as f64 / messages as f64)
}

/// What to put into a slot, and how long to be at it.
struct Plan {
    cost: u64,
    time: Duration,
}

impl Plan {
    /// What is left to be done, and by whom: also by threads that just fill slots, as they will soon
    /// compute again. `rates` are what a thread hashes and what it fills, in cost a second.
    fn situation(
        left: f64,
        rates: (f64, f64),
        threads: usize,
        with_cpus: bool,
        gpus: &[GpuState],
    ) -> Situation<'_> {
        let (threads, thread_rate) = if with_cpus { (threads as f64, rates.0) } else { (0.0, 0.0) };
        // Where it seems to be less, it was an accident or is tried again.
        let fill_rate = rates.1.max(WORTH_IT * thread_rate);
        Situation { left, thread_rate, fill_rate, threads, gpus }
    }

    /// What that GPU should be given now, if anything.
    fn new(now: &Situation<'_>, gpu: &GpuState) -> Option<Plan> {
        let cost = now.batch_of_sources(gpu)?;
        // More than keeps it busy until this batch is there would only be waited for, should the end
        // come sooner than it seems.
        let enough = AHEAD_OF_NEED * (cost / now.fill_rate + gpu.chain) + SPARE;
        if now.threads > 0.0 && gpu.back > enough {
            return None;
        }
        let time = Duration::from_secs_f64(now.end().clamp(0.0, 1.0) / 2.0);
        Some(Plan { cost: cost as u64, time: time.clamp(LEAST_FILL_TIME, FILL_TIME) })
    }
}

/// What one worker does for GPUs.
pub(super) struct Feeder<S: Source> {
    /// As of when `members` is; nothing at first.
    version: Option<usize>,
    members: Vec<Arc<Member>>,
    /// Sources that are about to be read.
    queue: VecDeque<Item<S>>,
    /// Sources that were opened and then found too long for a GPU.
    pub(super) too_long: VecDeque<(Item<S>, S::Reader)>,
    /// Results that have not been handed in: of sources that could not be read.
    failed: Vec<Done<S>>,
}

impl<S: Source> Feeder<S> {
    pub(super) fn new() -> Self {
        Feeder {
            version: None,
            members: Vec::new(),
            queue: VecDeque::new(),
            too_long: VecDeque::new(),
            failed: Vec::new(),
        }
    }

    /// Takes back what a GPU has finished, and gives one something to do, if it pays and `may_feed`.
    /// Whether there was anything to do.
    pub(super) fn serve<I>(&mut self, run: &Run<S, I>, may_feed: bool) -> bool
    where
        I: Iterator<Item = S> + Send,
    {
        if !run.gpus.may_be || run.stopped() {
            return false;
        }
        self.look(run);
        let collected = run.collect();
        let fed = may_feed && self.too_long.len() < HANDFUL && self.feed(run);
        fed || collected
    }

    /// Sees which GPUs there are.
    fn look<I>(&mut self, run: &Run<S, I>) {
        let gpus = &run.gpus;
        let version = gpus.fleet.version();
        if self.version != Some(version) {
            self.version = Some(version);
            self.members = gpus.fleet.members(gpus.class);
        }
        let are_there = self.members.iter().any(|member| !member.is_lost());
        if are_there != gpus.are_there() {
            gpus.are_there.store(are_there, Relaxed);
        }
        if !are_there && !gpus.opened.load(Relaxed) {
            let worked = gpus.worked(run.threads);
            if gpus.fleet.is_worth_opening(worked) {
                gpus.fleet.takes_part(gpus.class, worked);
                gpus.opened.store(true, Relaxed);
            }
        }
    }

    /// Gives a GPU something to do, if one has room and it pays.
    fn feed<I: Iterator<Item = S> + Send>(&mut self, run: &Run<S, I>) -> bool {
        if !run.gpus.are_there() || !run.gpus.is_worth_it() || !run.has_brief() {
            return false;
        }
        run.look_ahead(AHEAD);
        let now = run.gpus.fleet.now();
        let usual = mean(&run.gpus.brief).unwrap_or(USUAL);
        let class = run.gpus.class;
        // The one that would be done first.
        let mut order: Vec<_> = self
            .members
            .iter()
            .filter(|member| !member.is_lost())
            .map(|member| (member.state(class, now, usual, true, 0.0).back, Arc::clone(member)))
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        order.into_iter().any(|(_, member)| {
            let Some(plan) = self.plan(run, &member) else { return false };
            let slot = match member.ring().try_slot() {
                Ok(Some(slot)) => slot,
                Ok(None) => return false,
                Err(error) => {
                    // Else it makes do with the slots that it has.
                    if member.ring().is_lost() {
                        run.gpus.fleet.lose(&member, error);
                    }
                    return false;
                }
            };
            self.fill_and_send(run, &member, slot, &plan)
        })
    }

    /// What that GPU should be given now, if anything.
    fn plan<I>(&self, run: &Run<S, I>, member: &Member) -> Option<Plan> {
        let gpus = &run.gpus;
        let now = gpus.fleet.now();
        let usual = mean(&gpus.brief).unwrap_or(USUAL);
        let longest = gpus.longest.load(Relaxed) as f64;
        let state = |member: &Member| {
            let config = member.ring().config();
            let extra = gpus.class.extra() as f64;
            let most = config.slot_bytes as f64 + config.max_messages as f64 * extra;
            // The longest message of a batch says when it is back.
            let chain = longest.max(usual) / member.chain_rate(gpus.class);
            GpuState { chain, ..member.state(gpus.class, now, usual, true, most) }
        };
        let states: Vec<_> =
            self.members.iter().filter(|m| !m.is_lost()).map(|m| state(m)).collect();
        let fill_rate = &gpus.fleet.reading.fill_rate;
        let thread_rate = &gpus.fleet.thread_rates(gpus.class).reading;
        let (rates, with_cpus) = ((thread_rate.get(), fill_rate.get()), gpus.fleet.with_cpus());
        let situation = Plan::situation(run.left(), rates, run.threads, with_cpus, &states);
        Plan::new(&situation, &state(member))
    }

    /// Whether there was anything to put into the slot.
    fn fill_and_send<I: Iterator<Item = S> + Send>(
        &mut self,
        run: &Run<S, I>,
        member: &Arc<Member>,
        slot: Slot,
        plan: &Plan,
    ) -> bool {
        let gpus = &run.gpus;
        // The last source may go beyond what was planned.
        let extra = gpus.class.extra();
        let reserved = plan.cost + gpus.fleet.brief() + extra;
        let longest = gpus.longest.load(Relaxed) as f64;
        let fill_time = plan.cost as f64 / gpus.fleet.reading.fill_rate.get();
        member.took(gpus.class, gpus.fleet.now(), reserved, longest, fill_time);
        let mut batch = Vec::new();
        let mut filling = match slot.fill(&run.function.start, plan.cost as usize) {
            Ok(filling) => filling,
            Err(error) => {
                member.returned(gpus.class, reserved);
                gpus.fleet.lose(member, error);
                return true;
            }
        };
        let filled = self.fill(run, &mut filling, &mut batch, plan);
        run.hand_in(&mut self.failed);
        let cost = filling.bytes() as u64 + extra * batch.len() as u64;
        member.returned(gpus.class, reserved - cost);
        let sent = match filled {
            Ok(did_any) if batch.is_empty() || run.stopped() => {
                member.returned(gpus.class, cost);
                return did_any;
            }
            Ok(_) => filling.submit(),
            Err(error) => Err(error),
        };
        match sent {
            Ok(pending) => run.sent(Flight { pending, batch, cost, member: Arc::clone(member) }),
            Err(error) => {
                member.returned(gpus.class, cost);
                gpus.fleet.lose(member, error);
                run.read_again(batch);
            }
        }
        true
    }

    /// Reads sources into the batch; says whether any were dealt with, there or elsewhere.
    ///
    /// # Errors
    /// What the driver says: the GPU is of no use any more.
    fn fill<I: Iterator<Item = S> + Send>(
        &mut self,
        run: &Run<S, I>,
        filling: &mut Filling,
        batch: &mut Vec<Item<S>>,
        plan: &Plan,
    ) -> Result<bool, Error> {
        let limit = run.gpus.fleet.brief() as usize;
        let begun = Instant::now();
        let mut did_any = false;
        let mut cost = 0;
        let mut ended = Ok(());
        while !run.stopped()
            && cost < plan.cost
            && begun.elapsed() < plan.time
            && self.too_long.len() < HANDFUL
        {
            // Any source that a GPU takes fits there, with a byte to see that it has ended.
            let space = match filling.space(limit + 1) {
                Ok(Some(space)) => &mut space[..=limit],
                Ok(None) => break,
                Err(error) => {
                    ended = Err(error);
                    break;
                }
            };
            if self.queue.is_empty() {
                run.take_brief(&mut self.queue);
            }
            let Some(item) = self.queue.pop_front() else { break };
            did_any = true;
            if let Some((item, len)) = self.read(run, item, space) {
                filling.push(len);
                batch.push(item);
                cost += len as u64 + run.gpus.class.extra();
                run.gpus.longest.fetch_max(len as u64, Relaxed);
            }
        }
        let Reading { fill_rate, filled, .. } = &run.gpus.fleet.reading;
        fill_rate.measured(cost, begun.elapsed().as_secs_f64());
        filled.store((run.gpus.fleet.now() * 1e6) as u64, Relaxed);
        run.put_back_brief(&mut self.queue);
        ended.map(|()| did_any)
    }

    /// Opens a source and reads it to its end, which gives its length; unless it fails, or is too
    /// long and goes on elsewhere.
    fn read<I>(
        &mut self,
        run: &Run<S, I>,
        item: Item<S>,
        space: &mut [u8],
    ) -> Option<(Item<S>, usize)> {
        let (item, mut reader) = match run.open(item) {
            Ok(open) => open,
            Err(done) => {
                self.failed.extend(done);
                return None;
            }
        };
        let known = item.hint.or_else(|| item.source.open_len(&reader));
        if known.is_none_or(|len| len >= space.len() as u64) {
            self.too_long.push_back((item, reader));
            return None;
        }
        let (filled, end) = fill(&mut reader, space);
        match end {
            Some(Ok(())) => {
                drop(reader);
                run.closed();
                return Some((item, filled));
            }
            Some(Err(error)) => {
                drop(reader);
                run.closed();
                let Item { index, source, .. } = item;
                self.failed.push(Done { index, source, result: Err(error) });
            }
            None => {
                // Longer than it said: it goes on from here as a stream.
                let (state, len) = (run.function.hasher(), filled as u64);
                run.progress.add(len, 0);
                run.leave(Stream::begun(item, reader, state, &space[..filled], len, None));
            }
        }
        space[..filled].zeroize();
        None
    }
}

impl<S: Source, I> Run<'_, S, I> {
    /// Whether there is, or may be, something for a GPU.
    fn has_brief(&self) -> bool {
        let state = lock(&self.state);
        state.queues.for_gpus() > 0 || state.may_pull()
    }

    /// Cost of what nobody has begun. A run whose end is not in sight is taken to go on for a part of
    /// what is done: should it end at once, only so much of what a GPU has is waited for.
    fn left(&self) -> f64 {
        let done = &self.gpus.done;
        let usual = mean(done).unwrap_or(USUAL);
        let state = lock(&self.state);
        let (bytes, count) = state.queues.left(usual);
        let beyond = if state.ended { 0.0 } else { self.gpus.cost(done) as f64 * BEYOND };
        bytes + self.gpus.class.extra() as f64 * count as f64 + beyond
    }

    /// Puts back what a GPU was not given after all.
    fn put_back_brief(&self, queue: &mut VecDeque<Item<S>>) {
        if !queue.is_empty() {
            let mut state = lock(&self.state);
            queue.drain(..).rev().for_each(|item| state.queues.put_back_brief(item));
        }
    }

    /// Notes a batch that is under way.
    fn sent(&self, flight: Flight<S>) {
        lock(&self.gpus.flights).push_back(flight);
        if self.gpus.under_way.fetch_add(1, SeqCst) == 0 {
            // Workers that wait for nothing in particular look from now on. The lock is taken so
            // that none is between its look at `under_way` and its wait.
            drop(lock(&self.state));
            self.work.notify_all();
            self.caller.notify_one();
        }
    }

    /// Takes back a batch that a GPU has finished or failed. Whether there was one.
    fn collect(&self) -> bool {
        let gpus = &self.gpus;
        if !gpus.are_at_work() {
            return false;
        }
        let now = (gpus.fleet.now() * 1e6) as u64;
        let looked = gpus.looked.load(Relaxed);
        if now < looked + LOOK_EVERY
            || gpus.looked.compare_exchange(looked, now, Relaxed, Relaxed).is_err()
        {
            return false;
        }
        let Ok(mut flights) = gpus.flights.try_lock() else { return false };
        let mut error = None;
        let is_back = |flight: &Flight<S>| {
            flight.pending.is_done().unwrap_or_else(|why| {
                error = Some(why);
                true
            })
        };
        let Some(at) = flights.iter().take(LOOK_AT).position(is_back) else { return false };
        let flight = flights.remove(at).expect("just found");
        drop(flights);
        self.take_back(flight, error);
        gpus.under_way.fetch_sub(1, SeqCst);
        true
    }

    /// Hands in the results of a batch; if the GPU has none, its sources are read again.
    fn take_back(&self, flight: Flight<S>, error: Option<Error>) {
        let Flight { pending, batch, cost, member } = flight;
        member.back(self.gpus.class, self.gpus.fleet.now(), cost);
        let digests = match error {
            Some(error) => Err(error),
            None => pending.digests(),
        };
        let digests = match digests {
            Ok(digests) => digests,
            Err(error) => {
                self.gpus.fleet.lose(&member, error);
                drop(pending);
                return self.read_again(batch);
            }
        };
        let mut done: Vec<_> = batch
            .into_iter()
            .zip(digests.chunks_exact(pending.digest_len()))
            .enumerate()
            .map(|(i, (Item { index, source, .. }, digest))| {
                let digest = Digest::new(digest).expect("short, as for all sources");
                let result = self.summary(digest, pending.message_len(i) as u64);
                Done { index, source, result }
            })
            .collect();
        // Free for the next before anything else is done.
        drop(pending);
        self.progress.add(cost - self.gpus.class.extra() * done.len() as u64, 0);
        self.hand_in_from(&member.done, &mut done);
    }

    /// Puts back what a GPU should have hashed, for others to do.
    fn read_again(&self, batch: Vec<Item<S>>) {
        let mut state = lock(&self.state);
        batch.into_iter().rev().for_each(|item| state.queues.put_back(item));
        drop(state);
        self.work.notify_all();
        self.caller.notify_one();
    }
}
