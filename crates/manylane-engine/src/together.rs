//! One batch in memory, computed by CPU threads and GPUs together.
//!
//! Every thread does the same: it collects what GPUs have finished, gives them more if the plan
//! ([`cost`](crate::cost)) says that all end sooner so, and otherwise hashes a part itself.

use std::{
    collections::VecDeque,
    hint::spin_loop,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use manylane::{
    Messages, Shape,
    hash::{self, Midstate},
    sm3,
};
use manylane_gpu::{Error, Gpu, Pending, Slot, Start};
use zeroize::Zeroize;

use crate::{
    class::Class,
    cost::{GpuState, Situation, longest},
    fleet::{Fleet, Member},
    runtime::{Pool, lock},
    share::{Board, Digests, Group, Part, Weights},
};

/// How long a thread that has nothing to do looks for news before it sleeps between looks.
const SPIN: Duration = Duration::from_micros(100);

/// How long it sleeps then.
const NAP: Duration = Duration::from_micros(20);

/// Messages that stay on the CPU for their length, at most; with more, all do.
const MOST_LONG: usize = 8192;

/// Batches under way that are looked at in one go: they come back nearly in order.
const LOOK_AT: usize = 4;

/// Batches from page-locked memory that a GPU has at a time. With as many streams as the driver has
/// queues for (`CUDA_DEVICE_MAX_CONNECTIONS`, 32 at most) copies wait behind kernels of others: on an H100 from 40
/// slots came 93.7 % of the rate of copying, from 24 came 96 %.
const AT_A_TIME: usize = 24;

/// What is computed of each message.
#[derive(Clone, Copy)]
pub(crate) enum Job<'a> {
    Hash(&'a Midstate),
    /// Under these keys.
    Hmac(Messages<'a>),
}

impl<'a> Job<'a> {
    pub(crate) fn class(self) -> Class {
        match self {
            Job::Hash(start) => Class::of(start),
            Job::Hmac(_) => Class::SM3,
        }
    }

    /// Bytes of each result.
    pub(crate) fn digest_len(self) -> usize {
        match self {
            Job::Hash(start) => start.digest_len(),
            Job::Hmac(_) => sm3::DIGEST_LEN,
        }
    }

    fn keys(self) -> Option<Messages<'a>> {
        match self {
            Job::Hash(_) => None,
            Job::Hmac(keys) => Some(keys),
        }
    }

    /// Computes messages `first..`, as many as there is room for, on this thread.
    pub(crate) fn compute(self, messages: &Messages, first: usize, out: &mut [u8]) {
        let end = first + out.len() / self.digest_len();
        let messages = messages.range(first, end);
        match self {
            Job::Hash(start) => hash::hash_many(start, &messages, out),
            Job::Hmac(keys) => {
                let macs = out.as_chunks_mut().0;
                sm3::hmac_many(&keys.range(first, end), &messages, macs)
            }
        }
        .expect("as many results as messages and keys");
    }
}

/// Who computes.
pub(crate) struct Crew<'r> {
    pub(crate) pool: &'r Pool,
    pub(crate) fleet: &'r Arc<Fleet>,
    pub(crate) threads: usize,
}

/// A batch on its way through a GPU.
struct Flight<'a> {
    pending: Pending<'a>,
    part: Part<'a>,
    cost: u64,
    member: Arc<Member>,
}

/// The GPUs as a thread last saw them, and whether each reads the messages where they are.
struct Seen {
    version: usize,
    gpus: Vec<(Arc<Member>, bool)>,
}

struct Run<'r, 'a> {
    crew: &'r Crew<'r>,
    job: Job<'a>,
    class: Class,
    /// Messages that a thread takes side by side.
    lanes: usize,
    messages: Messages<'a>,
    weights: Weights<'a>,
    /// Usual length of a message.
    usual: f64,
    /// Cost of a message beyond its length.
    extra: f64,
    board: Mutex<Board<'a>>,
    flights: Mutex<VecDeque<Flight<'a>>>,
    /// Messages without a digest.
    open: AtomicUsize,
}

/// Computes all messages, as many as `out` has room for; a thread takes `lanes` of them side by side.
/// `false`, and nothing done, if that is better left to the CPU alone.
pub(crate) fn run<'a>(
    crew: &Crew,
    job: Job<'a>,
    messages: Messages<'a>,
    (extra, lanes): (u64, usize),
    out: &'a mut [u8],
) -> bool {
    let class = job.class();
    let (fleet, count) = (crew.fleet, messages.len());
    fleet.doubt_fill_rate();
    let weights = Weights::new(messages, job.keys(), extra);
    let usual = messages.total_bytes() as f64 / count.max(1) as f64;
    let members = fleet.members(class);
    if members.iter().any(|member| member.ring().max_messages(job.digest_len()) == 0) {
        // Their rings have no room for a single digest.
        return false;
    }
    let slot_bytes = members.iter().map(|m| m.ring().config().slot_bytes as u64).min();
    let slot_bytes = slot_bytes.unwrap_or(u64::MAX);
    let limit = if fleet.with_cpus() {
        let now = fleet.now();
        let gpus: Vec<_> = members.iter().map(|m| m.state(class, now, usual, false, 1e9)).collect();
        let threads = crew.threads as f64;
        let left = weights.cost(0, count) as f64;
        let situation = fleet.situation(class, left, threads, &gpus);
        let chain = members.iter().map(|m| m.chain_rate(class)).fold(50e6, f64::min);
        slot_bytes.min(longest(chain, situation.end()) as u64)
    } else {
        slot_bytes
    };
    let most = if fleet.with_cpus() { MOST_LONG } else { count };
    let Some(long) = weights.long(limit.max(1), most) else { return false };
    if fleet.with_cpus() && count / (long.len() + 1) < 2 * lanes {
        return false;
    }
    let out = Digests::new(out, job.digest_len());
    let board = Board::new(&weights, &long, out, crew.threads, lanes);
    let run = Run {
        crew,
        job,
        class,
        lanes,
        messages,
        weights,
        usual,
        extra: extra as f64,
        board: Mutex::new(board),
        flights: Mutex::default(),
        open: AtomicUsize::new(count),
    };
    // Threads leave when there is nothing to take; should a GPU fail after that, they come again.
    while run.open.load(SeqCst) > 0 {
        crew.pool.run(crew.threads - 1, &|| run.work(false), || run.work(true));
    }
    true
}

impl<'a> Run<'_, 'a> {
    /// What each thread does.
    fn work(&self, is_caller: bool) {
        let mut seen = self.look();
        let mut idle = None;
        loop {
            if seen.version != self.crew.fleet.version() {
                seen = self.look();
            }
            let collected = self.collect();
            if self.feed(&seen) || self.compute(&seen) || collected {
                idle = None;
                continue;
            }
            if lock(&self.board).is_empty() && (!is_caller || lock(&self.flights).is_empty()) {
                return;
            }
            if idle.get_or_insert_with(Instant::now).elapsed() < SPIN {
                spin_loop();
            } else {
                thread::sleep(NAP);
            }
        }
    }

    fn look(&self) -> Seen {
        let fleet = self.crew.fleet;
        let version = fleet.version();
        let with_pinned = |member: Arc<Member>| {
            let pinned = self.is_pinned(member.ring().gpu());
            (member, pinned)
        };
        Seen { version, gpus: fleet.members(self.class).into_iter().map(with_pinned).collect() }
    }

    fn is_pinned(&self, gpu: &Gpu) -> bool {
        let Job::Hash(_) = self.job else { return false };
        match self.messages.shape() {
            Shape::Strided { data, .. }
            | Shape::Offsets32 { data, .. }
            | Shape::Offsets64 { data, .. } => gpu.is_pinned(data),
            _ => false,
        }
    }

    /// Takes back a batch that a GPU has finished or failed. Whether there was one.
    fn collect(&self) -> bool {
        let Ok(mut flights) = self.flights.try_lock() else { return false };
        let mut error = None;
        let is_back = |flight: &Flight| {
            flight.pending.is_done().unwrap_or_else(|why| {
                error = Some(why);
                true
            })
        };
        let Some(at) = flights.iter().take(LOOK_AT).position(is_back) else { return false };
        let flight = flights.remove(at).expect("just found");
        drop(flights);
        let Flight { pending, mut part, cost, member } = flight;
        let fleet = self.crew.fleet;
        member.back(self.class, fleet.now(), cost);
        let count = part.out.len();
        let finished = match error {
            Some(error) => Err(error),
            None => pending.finish(part.out.bytes()),
        };
        match finished {
            Ok(_free) => {
                let bytes = cost - self.extra as u64 * count as u64;
                member.done.add(count as u64, bytes);
                self.open.fetch_sub(count, SeqCst);
            }
            Err(error) => self.fail(&member, error, part),
        }
        true
    }

    fn fail(&self, member: &Member, error: Error, part: Part<'a>) {
        self.crew.fleet.lose(member, error);
        lock(&self.board).put(&self.weights, part);
    }

    fn states(&self, seen: &Seen) -> Vec<GpuState> {
        let now = self.crew.fleet.now();
        let state = |(member, pinned): &(Arc<Member>, bool)| {
            let config = member.ring().config();
            let most = config.slot_bytes as f64 + config.max_messages as f64 * self.extra;
            member.state(self.class, now, self.usual, !pinned, most)
        };
        seen.gpus.iter().filter(|(member, _)| !member.is_lost()).map(state).collect()
    }

    fn situation<'s>(&self, seen: &Seen, left: u64, gpus: &'s [GpuState]) -> Situation<'s> {
        let Crew { fleet, threads, .. } = self.crew;
        let computing = fleet.with_cpus() || seen.gpus.iter().all(|(gpu, _)| gpu.is_lost());
        let threads = if computing { *threads as f64 } else { 0.0 };
        fleet.situation(self.class, left as f64, threads, gpus)
    }

    /// Gives a GPU something to do, if one has room and it pays.
    fn feed(&self, seen: &Seen) -> bool {
        if seen.gpus.is_empty() || lock(&self.board).left() == 0 {
            return false;
        }
        // The one that would be done first.
        let mut order: Vec<(f64, usize)> = Vec::with_capacity(seen.gpus.len());
        let now = self.crew.fleet.now();
        for (i, (member, _)) in seen.gpus.iter().enumerate() {
            if !member.is_lost() {
                order.push((member.state(self.class, now, self.usual, false, 0.0).back, i));
            }
        }
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        order.into_iter().any(|(_, i)| {
            let (member, pinned) = &seen.gpus[i];
            if *pinned && self.under_way(member) >= AT_A_TIME {
                return false;
            }
            let slot = match member.ring().try_slot() {
                Ok(Some(slot)) => slot,
                Ok(None) => return false,
                Err(error) => {
                    if member.ring().is_lost() {
                        self.crew.fleet.lose(member, error);
                    }
                    return false;
                }
            };
            let part = self.take_for(member, *pinned, seen);
            part.map(|(part, cost)| self.send(member, *pinned, slot, part, cost)).is_some()
        })
    }

    /// Batches that the GPU has now.
    fn under_way(&self, member: &Arc<Member>) -> usize {
        lock(&self.flights).iter().filter(|flight| Arc::ptr_eq(&flight.member, member)).count()
    }

    fn take_for(&self, member: &Arc<Member>, pinned: bool, seen: &Seen) -> Option<(Part<'a>, u64)> {
        let states = self.states(seen);
        let config = member.ring().config();
        let most = config.slot_bytes as f64 + config.max_messages as f64 * self.extra;
        let now = self.crew.fleet.now();
        let own = member.state(self.class, now, self.usual, !pinned, most);
        let mut board = lock(&self.board);
        let wanted = self.situation(seen, board.left(), &states).batch(&own)? as u64;
        let most = member.ring().max_messages(self.job.digest_len());
        let part = board.take_back(&self.weights, wanted, config.slot_bytes, most)?;
        drop(board);
        let cost = self.weights.cost(part.first, part.end());
        let fill_time = if pinned { 0.0 } else { cost as f64 / self.crew.fleet.fill_rate.get() };
        member.took(self.class, now, cost, self.usual, fill_time);
        Some((part, cost))
    }

    fn send(&self, member: &Arc<Member>, pinned: bool, slot: Slot, mut part: Part<'a>, cost: u64) {
        let fleet = self.crew.fleet;
        let (pending, count) = match self.submit(pinned, slot, &part) {
            Ok(sent) => sent,
            Err(error) => {
                member.back(self.class, fleet.now(), cost);
                return self.fail(member, error, part);
            }
        };
        let mut cost = cost;
        if count < part.out.len() {
            let rest = part.split_off(count);
            let returned = self.weights.cost(rest.first, rest.end());
            member.returned(self.class, returned);
            cost -= returned;
            let mut board = lock(&self.board);
            match count {
                0 => board.refuse(&self.weights, rest),
                _ => board.put(&self.weights, rest),
            }
        }
        if count > 0 {
            let member = Arc::clone(member);
            lock(&self.flights).push_back(Flight { pending, part, cost, member });
        }
    }

    /// Sends as much of a part on its way as fits.
    fn submit(&self, pinned: bool, slot: Slot, part: &Part) -> Result<(Pending<'a>, usize), Error> {
        let messages = self.messages.range(part.first, part.end());
        let mut slot = slot.with_digest_len(self.job.digest_len());
        match self.job {
            Job::Hash(start) if pinned => slot.submit_pinned(Start::Hash(start), &messages),
            Job::Hash(start) => {
                // Made on a slot's first use, which is not to count as copying.
                slot.staging()?;
                let begun = Instant::now();
                let count = slot.load(&messages)?;
                self.copied(part.first, count, begun);
                Ok((slot.submit(Start::Hash(start))?, count))
            }
            Job::Hmac(keys) => {
                slot.staging()?;
                let begun = Instant::now();
                let count = slot.load_hmac(&keys.range(part.first, part.end()), &messages)?;
                self.copied(part.first, count, begun);
                Ok((slot.submit(Start::Hmac)?, count))
            }
        }
    }

    fn copied(&self, first: usize, count: usize, begun: Instant) {
        let cost = self.weights.cost(first, first + count);
        self.crew.fleet.fill_rate.measured(cost, begun.elapsed().as_secs_f64());
    }

    /// Hashes something on this thread, if there is anything for it.
    fn compute(&self, seen: &Seen) -> bool {
        let Crew { fleet, .. } = self.crew;
        let mut board = lock(&self.board);
        if let Some(group) = board.take_group() {
            drop(board);
            self.compute_group(group);
            return true;
        }
        let computing = fleet.with_cpus() || seen.gpus.iter().all(|(gpu, _)| gpu.is_lost());
        if !computing || board.left() == 0 && board.is_empty() {
            return false;
        }
        let states = self.states(seen);
        let wanted = self.situation(seen, board.left(), &states).part() as u64;
        let Some(mut part) = board.take_front(&self.weights, wanted, self.lanes) else {
            return false;
        };
        drop(board);
        let cost = self.weights.cost(part.first, part.end());
        let begun = Instant::now();
        self.job.compute(&self.messages, part.first, part.out.bytes());
        let rate = &fleet.thread_rates(self.class).hashing;
        rate.measured(cost, begun.elapsed().as_secs_f64());
        self.computed(part.out.len(), cost);
        true
    }

    fn compute_group(&self, group: Group<'a>) {
        let messages: Vec<&[u8]> = group.iter().map(|(i, _)| self.messages.get(*i)).collect();
        let digest_len = self.job.digest_len();
        let mut digests = vec![0; group.len() * digest_len];
        let keys: Vec<&[u8]> =
            self.job.keys().iter().flat_map(|k| group.iter().map(|(i, _)| k.get(*i))).collect();
        let job = match self.job {
            Job::Hash(start) => Job::Hash(start),
            Job::Hmac(_) => Job::Hmac(Messages::slices(&keys)),
        };
        job.compute(&Messages::slices(&messages), 0, &mut digests);
        let bytes: u64 = messages.iter().map(|message| message.len() as u64).sum();
        let count = group.len();
        for ((_, out), digest) in group.into_iter().zip(digests.chunks_exact(digest_len)) {
            out.copy_from_slice(digest);
        }
        digests.zeroize();
        self.computed(count, bytes + self.extra as u64 * count as u64);
    }

    fn computed(&self, count: usize, cost: u64) {
        self.crew.fleet.cpu.add(count as u64, cost - self.extra as u64 * count as u64);
        self.open.fetch_sub(count, SeqCst);
    }
}
