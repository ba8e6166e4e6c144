//! The plan for sources, in simulated time: threads that read and hash, and a GPU behind a bus.

use proptest::{prelude::*, test_runner::RngSeed};

use super::{BEYOND, Plan};
use crate::class::Class;
use crate::{
    cost::{Backlog, GpuState, Rate},
    sources::LOOK_AHEAD,
};

/// What a GPU thread hashes of one source in a second, in bytes.
const CHAIN_RATE: f64 = 50e6;

/// From the submission of a batch to its digests, beyond its turn on the bus.
const LATENCY: f64 = 60e-6;

/// What a thread has to do for a batch beside reading it.
const SENDING: f64 = 20e-6;

/// How often a thread looks that may not hash.
const NAP: f64 = 150e-6;

const SLOT: f64 = 16e6;

/// Sources of one length in the page cache, and a machine.
#[derive(Clone, Copy, Debug)]
struct Scene {
    count: f64,
    len: f64,
    threads: usize,
    /// Bytes a second of one thread.
    read: f64,
    hash: f64,
    bus: f64,
}

impl Scene {
    /// How many slots the ring has.
    fn slots(self) -> usize {
        (2 * self.threads + 8).clamp(12, 40)
    }
}

/// A run under way.
struct Simulation {
    scene: Scene,
    with_cpus: bool,
    left: f64,
    done: f64,
    /// When each thread has ended what it is at.
    free: Vec<f64>,
    /// When batches will be back, their cost, and how many sources they have.
    under_way: Vec<(f64, u64, f64)>,
    bus_free: f64,
    backlog: Backlog,
    gpu_rate: Rate,
    thread_rate: Rate,
    fill_rate: Rate,
    end: f64,
}

impl Simulation {
    /// Seconds until all is done.
    fn run(scene: Scene, with_cpus: bool, with_gpu: bool) -> f64 {
        let mut all = Simulation {
            scene,
            with_cpus,
            left: scene.count,
            done: 0.0,
            free: vec![0.0; scene.threads],
            under_way: Vec::new(),
            bus_free: 0.0,
            backlog: Backlog::default(),
            gpu_rate: Rate::new(12e9),
            thread_rate: Rate::new(2e9),
            fill_rate: Rate::new(5e9),
            end: 0.0,
        };
        while all.left > 0.0 {
            let free = &all.free;
            let thread =
                (0..free.len()).min_by(|&a, &b| free[a].total_cmp(&free[b])).expect("a thread");
            let now = all.free[thread];
            all.collect(now);
            all.free[thread] = match all.plan(now).filter(|_| with_gpu) {
                Some(plan) => all.fill(now, &plan),
                None if with_cpus => all.hash(now),
                None => now + NAP,
            };
        }
        all.end
    }

    fn cost(&self) -> f64 {
        self.scene.len + Class::SM3.extra() as f64
    }

    fn collect(&mut self, now: f64) {
        if let Some(at) = self.under_way.iter().position(|&(back, ..)| back <= now) {
            let (_, cost, count) = self.under_way.remove(at);
            if let Some((cost, seconds)) = self.backlog.back(now, cost) {
                self.gpu_rate.measured(cost, seconds);
            }
            self.done += count;
        }
    }

    fn plan(&self, now: f64) -> Option<Plan> {
        let Scene { len, threads, .. } = self.scene;
        let rate = self.gpu_rate.get().min(SLOT / len * self.scene.slots() as f64 * CHAIN_RATE);
        let gpu = GpuState {
            rate,
            back: self.backlog.end(now, rate),
            chain: len / CHAIN_RATE,
            staged: true,
            most: SLOT,
            slots: self.scene.slots() as f64,
        };
        let seen = self.left.min(LOOK_AHEAD as f64);
        let beyond = if self.left > seen { self.done * BEYOND } else { 0.0 };
        let rates = (self.thread_rate.get(), self.fill_rate.get());
        let gpus = [gpu];
        let left = (seen + beyond) * self.cost();
        let now = Plan::situation(left, rates, threads, self.with_cpus, &gpus);
        Plan::new(&now, &gpu).filter(|_| self.under_way.len() < self.scene.slots())
    }

    fn fill(&mut self, now: f64, plan: &Plan) -> f64 {
        let Scene { len, read, bus, .. } = self.scene;

        let most = (plan.cost as f64).min(plan.time.as_secs_f64() * read) / self.cost();
        let count = most.min((SLOT - 256e3) / len).ceil().min(self.left);
        self.left -= count;
        let cost = count * self.cost();
        let took = cost / read;
        self.fill_rate.measured(cost as u64, took);
        self.backlog.took(now, cost as u64, len / CHAIN_RATE, took);
        let sent = now + took + SENDING;
        self.bus_free = self.bus_free.max(sent) + cost / bus;
        let back = self.bus_free + len / CHAIN_RATE + LATENCY;
        self.under_way.push((back, cost as u64, count));
        self.end = self.end.max(back);
        sent
    }

    /// One turn of a thread's lanes.
    fn hash(&mut self, now: f64) -> f64 {
        let Scene { len, read, hash, .. } = self.scene;
        let count = (16.0 * (65536.0 / len).clamp(0.25, 1.0)).min(self.left);
        self.left -= count;
        let cost = count * self.cost();
        let took = cost / read + cost / hash;
        self.thread_rate.measured(cost as u64, took);
        self.done += count;
        self.end = self.end.max(now + took);
        now + took
    }
}

proptest! {
    // The same cases every time: bounds of a model are found by a search, not by whoever is unlucky.
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(3), ..ProptestConfig::with_cases(100) })]

    #[test]
    fn never_slower_than_the_better_alone(
        count in 1000..50_000u32,
        len in 100.0..256e3f64,
        threads in 1..64usize,
        read in 0.5e9..8e9f64,
        hash in 0.7e9..4e9f64,
        bus in 12e9..60e9f64,
    ) {
        let scene = Scene { count: f64::from(count), len, threads, read, hash, bus };
        let cpu = Simulation::run(scene, true, false);
        let gpu = Simulation::run(scene, false, true);
        let both = Simulation::run(scene, true, true);
        let least = cpu.min(gpu);
        // Of 2500 cases, 96 % were within 1.05 times the better or a millisecond, and the worst 3.3 ms
        // beyond 1.25 times: fifty and more cores whose end comes sooner than it seems, while a GPU that
        // adds a tenth to them still has something to do.
        prop_assert!(both <= 1.25 * least + 5e-3, "{both}, CPU {cpu}, GPU {gpu}: {scene:?}");
    }
}

#[test]
fn together_they_are_faster_than_the_better_alone() {
    // Sixteen cores that read 6 GB/s and hash 2.5 GB/s each; a GPU on PCIe 5.
    let scene = |len| Scene { count: 16384.0, len, threads: 16, read: 6e9, hash: 2.5e9, bus: 53e9 };
    for (len, gain) in [(16e3, 1.1), (64e3, 1.2), (128e3, 1.2), (250e3, 1.2)] {
        let cpu = Simulation::run(scene(len), true, false);
        let gpu = Simulation::run(scene(len), false, true);
        let both = Simulation::run(scene(len), true, true);
        let best = cpu.min(gpu);
        assert!(both * gain <= best, "{len}: {both}, CPU {cpu}, GPU {gpu}");
    }
}
