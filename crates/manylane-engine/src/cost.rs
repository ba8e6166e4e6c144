//! The model of what takes how long, from rates that are measured as work is done.
//!
//! Work is counted in *cost*: bytes of messages, and for each message the blocks that are hashed
//! beyond them. Times are in seconds. Nothing here knows of threads or devices: the same functions
//! decide for those there are and for simulated ones.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How long a CPU thread is at one part of a batch, about: short beside a batch that is worth
/// sharing, long beside what it costs to take a part (under a microsecond). Threads look after GPUs
/// between parts.
const PART_TIME: f64 = 150e-6;

/// The same at the end of a batch, where parts get shorter so that all end together.
const LEAST_PART_TIME: f64 = 30e-6;

/// Least work for a GPU, in time of a CPU thread: to send and collect a batch takes that some 30 µs.
const LEAST_BATCH_TIME: f64 = 60e-6;

/// Cost of a batch, at least, where the GPU works alone and gets everything in the end.
const LEAST_ALONE: f64 = 256e3;

/// How long a GPU is at one batch, at most about: with all slots filled, an error in its rate then
/// shifts the end by a small part of a few milliseconds.
const BATCH_TIME: f64 = 300e-6;

/// How long it is at one batch, at least, unless that is all that is left: slots are few, and many
/// small batches would fill them before there is enough to bridge the latency.
const LEAST_TIME: f64 = 40e-6;

/// Part of its share of the rest that a GPU is given at a time. Rates are estimates, and the rest
/// is shared anew for every batch, so an error shrinks with each.
const AT_A_TIME: f64 = 1.0 / 3.0;

/// How long a thread copies into a slot, at least, unless that is all that is left: beside what it
/// costs to send one.
const LEAST_FILL_TIME: f64 = 50e-6;

/// The same where there is enough left. Two megabytes in each of two dozen slots stay in the cache from
/// the copy into them to that to the GPU: memory is read once instead of read, read, written and read.
const USUAL_FILL_TIME: f64 = 500e-6;

/// Part of the rest's time for which a thread reads files into one slot: so long a GPU waits for the first.
const FILL_AT_A_TIME: f64 = 1.0 / 16.0;

/// The same at most, where slots must be fuller, or there would not be enough of them.
const MOST_FILL: f64 = 1.0 / 6.0;

/// What an idle GPU must seem to save to be woken for what threads have to copy: that is
/// estimated too high for short work. Measured beside sixteen threads on an H100: 1.1 ms of work took
/// 1.2 to 1.3 ms where 0.3 to 0.7 were to be saved, and 9.2 took 6.5.
const LEAST_SAVED: f64 = 1e-3;

/// From the submission of an empty batch to its digests.
const LATENCY: f64 = 60e-6;

/// Part of the estimated time of a batch that the longest message given to a GPU may take.
const LONGEST: f64 = 0.25;

/// Time from which on a measured rate is not an accident of when threads look.
const MEASURED: f64 = 1e-3;

/// Time over which half of a measured rate is forgotten.
const HALF_LIFE: f64 = 2e-3;

/// A rate in cost a second, as last seen.
pub(crate) struct Rate(AtomicU64);

impl Rate {
    /// A guess, until something is measured.
    pub(crate) fn new(guess: f64) -> Self {
        Rate(AtomicU64::new(guess.to_bits()))
    }

    pub(crate) fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }

    /// Takes a measurement into account; the longer, the more. Of two at the same moment one may
    /// be forgotten.
    pub(crate) fn measured(&self, cost: u64, seconds: f64) {
        if cost > 0 && seconds > 0.0 {
            let kept = HALF_LIFE / (HALF_LIFE + seconds);
            // Times are averaged, not rates, as they are what adds up.
            let time = kept / self.get() + (1.0 - kept) * seconds / cost as f64;
            self.0.store((1.0 / time).to_bits(), Relaxed);
        }
    }
}

/// A GPU, as the plan sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuState {
    /// Cost a second when it has enough to do.
    pub(crate) rate: f64,
    /// When all that it was given will be back.
    pub(crate) back: f64,
    /// Time that a message of usual length takes one of its threads.
    pub(crate) chain: f64,
    /// Whether a thread has to copy what it is given.
    pub(crate) staged: bool,
    /// Most cost that one batch may have.
    pub(crate) most: f64,
    /// Batches that may be under way or being filled.
    pub(crate) slots: f64,
}

impl GpuState {
    /// When an empty batch would be back if it were sent now.
    fn ready(&self) -> f64 {
        self.back.max(latency(self.chain))
    }
}

/// How long a batch takes beyond its turn in the copies.
fn latency(chain: f64) -> f64 {
    chain + LATENCY
}

/// What a GPU has been given. Times count from any moment.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    under_way: u64,
    /// From here on, cost comes back at the GPU's rate.
    since: f64,
    /// Cost that came back without a pause since some moment, and that moment.
    measured: Option<(u64, f64)>,
}

impl Backlog {
    /// Something has been taken for the GPU, which a thread copies in `fill_time`. `chain` is as in
    /// [`GpuState`].
    pub(crate) fn took(&mut self, now: f64, cost: u64, chain: f64, fill_time: f64) {
        if self.under_way == 0 {
            self.since = now + fill_time + latency(chain);
            self.measured = None;
        }
        self.under_way += cost;
    }

    /// It is back, with digests or without. Now and then gives a cost and the seconds in which so
    /// much came back.
    pub(crate) fn back(&mut self, now: f64, cost: u64) -> Option<(u64, f64)> {
        self.under_way -= cost;
        self.since = now;
        // The first of a row also has its latency, and waited to be looked for.
        let (before, begun) = *self.measured.get_or_insert((0, now));
        let (so_far, time) = (before + if now > begun { cost } else { 0 }, now - begun);
        self.measured = Some((so_far, begun));
        (time >= MEASURED).then(|| {
            self.measured = Some((0, now));
            (so_far, time)
        })
    }

    /// Something that had been taken for the GPU never went there.
    pub(crate) fn returned(&mut self, cost: u64) {
        self.under_way -= cost;
    }

    /// When all of it will be back, at that rate.
    pub(crate) fn end(&self, now: f64, rate: f64) -> f64 {
        match self.under_way {
            0 => 0.0,
            cost => (self.since + cost as f64 / rate - now).max(0.0),
        }
    }
}

/// What is left to be done, and by whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation<'a> {
    /// Cost that nobody has taken.
    pub(crate) left: f64,
    /// Cost a second of one CPU thread; zero if they are not to compute.
    pub(crate) thread_rate: f64,
    /// Cost a second that one CPU thread copies into page-locked memory.
    pub(crate) fill_rate: f64,
    /// CPU threads that compute.
    pub(crate) threads: f64,
    /// All GPUs in use.
    pub(crate) gpus: &'a [GpuState],
}

impl Situation<'_> {
    /// Cost a second of a GPU, as far as threads can copy so much.
    fn rate(&self, gpu: &GpuState) -> f64 {
        if gpu.staged { gpu.rate.min(self.fill_rate * self.threads.max(1.0)) } else { gpu.rate }
    }

    /// The same, less what the threads would have computed instead of copying.
    fn gain(&self, gpu: &GpuState) -> f64 {
        let lost = if gpu.staged { self.thread_rate / self.fill_rate } else { 0.0 };
        self.rate(gpu) * (1.0 - lost).max(0.0)
    }

    /// How long a thread must copy into a slot at least, so that the ring's slots are enough for the
    /// GPU's rate: each is in use while it is filled, copied, and waited for.
    fn bridging_fill_time(&self, gpu: &GpuState) -> f64 {
        let per_slot = gpu.slots / self.rate(gpu) - self.fill_rate.recip() - gpu.rate.recip();
        let time = latency(gpu.chain) / per_slot / self.fill_rate;
        if per_slot > 0.0 { time } else { f64::INFINITY }
    }

    /// When all would be done if each took what makes all end together.
    pub(crate) fn end(&self) -> f64 {
        let cpus = (self.thread_rate * self.threads, 0.0);
        let devices = || self.gpus.iter().map(|gpu| (self.gain(gpu), gpu.ready())).chain([cpus]);
        // Those that would begin later than that take no part; without them it ends sooner.
        let mut end = f64::INFINITY;
        loop {
            let (mut work, mut rate) = (self.left, 0.0);
            for (device_rate, ready) in devices().filter(|(_, ready)| *ready < end) {
                work += device_rate * ready;
                rate += device_rate;
            }
            let sooner = work / rate;
            if sooner.is_nan() || sooner >= end {
                return end;
            }
            end = sooner;
        }
    }

    /// Cost that a GPU should be given now; none if the others are done sooner without.
    pub(crate) fn batch(&self, gpu: &GpuState) -> Option<f64> {
        let saved = self.left / (self.thread_rate * self.threads) - self.end();
        if gpu.staged && gpu.back == 0.0 && saved < LEAST_SAVED {
            return None;
        }
        self.batch_within(gpu, BATCH_TIME, |_| USUAL_FILL_TIME)
    }

    /// The same for a batch that a thread reads from files. That takes it many times as long as
    /// the GPU, whose rate is then measured no higher than files come; so slots are filled.
    pub(crate) fn batch_of_sources(&self, gpu: &GpuState) -> Option<f64> {
        self.batch_within(gpu, f64::INFINITY, |end| end * FILL_AT_A_TIME)
    }

    /// The same in that time of the GPU, and, unless it must be more, of the thread that copies.
    fn batch_within(
        &self,
        gpu: &GpuState,
        seconds: f64,
        fill_time: impl Fn(f64) -> f64,
    ) -> Option<f64> {
        let (end, rate) = (self.end(), self.rate(gpu));
        let share = rate * (end - gpu.ready());
        let mut cost = (share * AT_A_TIME).max(rate * LEAST_TIME).min(share);
        cost = cost.min(gpu.rate * seconds).min(gpu.most);
        if gpu.staged {
            // One thread copies it all, while the GPU may wait, and is to be done early enough.
            let time = fill_time(end).max(self.bridging_fill_time(gpu));
            let time = time.min(end * MOST_FILL).max(LEAST_FILL_TIME);
            cost = cost.min(self.fill_rate * time);
            cost = cost.min((end - latency(gpu.chain)) / (self.fill_rate.recip() + rate.recip()));
        }
        if self.thread_rate * self.threads == 0.0 {
            return Some(cost.max(LEAST_ALONE));
        }
        let least = self.thread_rate * LEAST_BATCH_TIME;
        (share >= least && self.gain(gpu) > 0.0).then_some(cost.max(least))
    }

    /// Cost that a CPU thread should take now.
    pub(crate) fn part(&self) -> f64 {
        let wanted =
            |gpu: &GpuState| gpu.staged && self.rate(gpu) < gpu.rate && self.gain(gpu) > 0.0;
        // Where threads are too few to keep a GPU busy, none should be at anything else for long.
        let most = if self.gpus.iter().any(wanted) { LEAST_PART_TIME } else { PART_TIME };
        self.thread_rate * (self.end() / 2.0).clamp(LEAST_PART_TIME, most)
    }
}

/// What a GPU thread hashes of one message in a second, in bytes.
pub(crate) fn chain_rate(clock_khz: u32, clocks_per_byte: f64) -> f64 {
    // Emulated devices may have no clock.
    f64::from(clock_khz.max(100_000)) * 1e3 / clocks_per_byte
}

/// The length from which messages stay on the CPU, in a batch that takes about `seconds`.
pub(crate) fn longest(chain_rate: f64, seconds: f64) -> f64 {
    chain_rate * seconds * LONGEST
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, test_runner::RngSeed};

    use super::*;

    #[test]
    fn a_rate_follows_what_is_measured() {
        let rate = Rate::new(1e9);
        for _ in 0..20 {
            rate.measured(2_000_000, 1e-3);
        }
        assert!((rate.get() / 2e9 - 1.0).abs() < 0.01, "{}", rate.get());
        rate.measured(1, 0.0);
        rate.measured(0, 1.0);
        assert!((rate.get() / 2e9 - 1.0).abs() < 0.01, "{}", rate.get());
    }

    fn gpu(rate: f64, back: f64) -> GpuState {
        GpuState { rate, back, chain: 0.0, staged: false, most: 16e6, slots: 12.0 }
    }

    #[test]
    fn devices_that_begin_late_take_no_part() {
        let gpus = [gpu(50e9, 0.0), gpu(50e9, 1.0)];
        let now =
            Situation { left: 1e8, thread_rate: 2e9, fill_rate: 8e9, threads: 10.0, gpus: &gpus };
        let end = now.end();
        let expected = (1e8 + 50e9 * LATENCY) / 70e9;
        assert!((end / expected - 1.0).abs() < 1e-9, "{end} {expected}");
        assert!(now.batch(&gpus[0]).is_some());
        assert_eq!(now.batch(&gpus[1]), None);
    }

    #[test]
    fn little_work_stays_where_it_is() {
        let gpus = [gpu(50e9, 0.0)];
        let now =
            Situation { left: 1e6, thread_rate: 2e9, fill_rate: 8e9, threads: 16.0, gpus: &gpus };
        assert_eq!(now.batch(&gpus[0]), None);
        // Without the CPU, the GPU takes the last byte too.
        let now = Situation { left: 1.0, threads: 0.0, ..now };
        assert!(now.batch(&gpus[0]).is_some());
    }

    /// A GPU of the simulation: batches go through one after another, each result is seen later.
    struct SimulatedGpu {
        rate: f64,
        chain: f64,
        fill_rate: Option<f64>,
        slots: usize,
        free_at: f64,
        backlog: Backlog,
        /// When each batch will be done, and its cost.
        under_way: Vec<(f64, u64)>,
    }

    /// Runs a batch by the plan's decisions, which know rates only up to `error`; says when it is
    /// done. `cpus` is whether CPU threads compute.
    fn simulate(
        work: f64,
        threads: usize,
        thread_rate: f64,
        gpus: &mut [SimulatedGpu],
        cpus: bool,
        error: f64,
    ) -> f64 {
        let mut left = work;
        let mut free: Vec<f64> = vec![0.0; threads];
        let mut end = 0f64;
        loop {
            let thread = (0..threads).min_by(|&a, &b| free[a].total_cmp(&free[b])).unwrap();
            let now = free[thread];
            if left <= 0.0 {
                break;
            }
            for gpu in gpus.iter_mut() {
                while let Some((_, cost)) = gpu.under_way.pop_if(|(done, _)| *done <= now) {
                    gpu.backlog.back(now, cost);
                }
            }
            let states: Vec<GpuState> = gpus
                .iter()
                .map(|gpu| GpuState {
                    rate: gpu.rate * error,
                    back: gpu.backlog.end(now, gpu.rate * error),
                    chain: gpu.chain,
                    staged: gpu.fill_rate.is_some(),
                    most: 16e6,
                    slots: gpu.slots as f64,
                })
                .collect();
            let thread_rate_known = if cpus { thread_rate / error } else { 0.0 };
            let situation = Situation {
                left,
                thread_rate: thread_rate_known,
                fill_rate: gpus.iter().find_map(|gpu| gpu.fill_rate).unwrap_or(1e9) * error,
                threads: if cpus { threads as f64 } else { 0.0 },
                gpus: &states,
            };
            let taker = (0..gpus.len()).find_map(|i| {
                let has_slot = gpus[i].under_way.len() < gpus[i].slots;
                has_slot.then(|| situation.batch(&states[i])).flatten().map(|cost| (i, cost))
            });
            if let Some((i, cost)) = taker {
                let cost = cost.min(left);
                left -= cost;
                let gpu = &mut gpus[i];
                let fill = gpu.fill_rate.map_or(0.0, |rate| cost / rate);
                free[thread] = now + 20e-6 + fill;
                let begin = free[thread].max(gpu.free_at);
                gpu.free_at = begin + cost / gpu.rate;
                let done = gpu.free_at + gpu.chain + LATENCY;
                gpu.under_way.insert(0, (done, cost as u64));
                gpu.backlog.took(now, cost as u64, gpu.chain, fill / error);
                end = end.max(done);
            } else if cpus {
                let cost = situation.part().min(left);
                left -= cost;
                free[thread] = now + 1e-6 + cost / thread_rate;
                end = end.max(free[thread]);
            } else {
                free[thread] = now + 50e-6;
            }
        }
        end
    }

    fn simulated(rates: &[f64], chain: f64, fill_rate: Option<f64>) -> Vec<SimulatedGpu> {
        let gpu = |&rate: &f64| SimulatedGpu {
            rate,
            chain,
            fill_rate,
            slots: 12,
            free_at: 0.0,
            backlog: Backlog::default(),
            under_way: Vec::new(),
        };
        rates.iter().map(gpu).collect()
    }

    proptest! {
        // The same cases every time: bounds of a model are found by a search, not by whoever is unlucky.
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(3), ..ProptestConfig::with_cases(100) })]

        #[test]
        fn all_end_together(
            work in 0.5e9..20e9f64,
            threads in 2..64usize,
            thread_rate in 0.3e9..4e9f64,
            rates in prop::collection::vec(5e9..60e9f64, 0..5),
            chain in 0.0..500e-6f64,
            error in 0.9..1.1f64,
        ) {
            let mut gpus = simulated(&rates, chain, None);
            let took = simulate(work, threads, thread_rate, &mut gpus, true, error);
            // What sending takes the threads is lost to everyone.
            let batches = rates.iter().sum::<f64>() / 16e6 * 20e-6;
            let rate = thread_rate * (threads as f64 - batches) + rates.iter().sum::<f64>();
            let best = work / rate + chain;
            prop_assert!(took <= 1.05 * best + 300e-6, "{took} instead of {best}");
        }

        #[test]
        fn never_slower_than_the_better_alone(
            work in 1e5..5e9f64,
            threads in 1..64usize,
            thread_rate in 0.7e9..4e9f64,
            rate in 5e9..60e9f64,
            chain in 0.0..2e-3f64,
            fill_rate in prop::option::of(2e9..10e9f64),
        ) {
            let mut together = simulated(&[rate], chain, fill_rate);
            let took = simulate(work, threads, thread_rate, &mut together, true, 1.0);
            let cpu = simulate(work, threads, thread_rate, &mut [], true, 1.0);
            let mut alone = simulated(&[rate], chain, fill_rate);
            let gpu = simulate(work, threads, thread_rate, &mut alone, false, 1.0);
            // A thread may have begun a part just before it was wanted for the GPU. The worst of
            // 3,000 cases, with threads that are too few to fill the slots, was 1.17.
            let least = 1.1 * cpu.min(gpu) + PART_TIME;
            prop_assert!(took <= least, "{took}, CPU {cpu}, GPU {gpu}");
        }

        #[test]
        fn shares_make_up_the_whole(
            left in 1e5..5e9f64,
            thread_rate in 0.3e9..4e9f64,
            states in prop::collection::vec((1e9..60e9f64, 0.0..1.0f64), 0..9),
        ) {
            let gpus: Vec<_> = states.iter().map(|&(rate, back)| gpu(rate, back)).collect();
            let now = Situation { left, thread_rate, fill_rate: 8e9, threads: 16.0, gpus: &gpus };
            let end = now.end();
            let shares: f64 =
                gpus.iter().map(|gpu| gpu.rate * (end - gpu.ready()).max(0.0)).sum();
            let all = shares + thread_rate * 16.0 * end;
            prop_assert!((all / left - 1.0).abs() < 1e-6, "{all} of {left}");
        }
    }
}
