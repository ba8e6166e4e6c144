//! Which GPUs an engine has, and what became of them.

use std::{
    process,
    sync::{
        Arc, Mutex, OnceLock, RwLock,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use manylane::{
    hash::{Algorithm, Lanes, Midstate},
    sm3,
};
use manylane_gpu::{DeviceId, Error, Gpu, KernelSet, Ring, RingConfig, Vendor, devices};

use crate::{
    Device,
    class::Class,
    cost::{Backlog, GpuState, Rate, Situation, chain_rate},
    runtime::lock,
};

/// Work on the CPU, done or foreseen, from which it pays to open GPUs beside it: as long as that
/// takes.
const OPENING: Duration = Duration::from_millis(500);

/// How long the end of an engine waits for GPUs that are being opened. To initialise a driver takes
/// seconds on machines with many of them.
const CLOSING: Duration = Duration::from_secs(5);

/// A rate to begin with: what any bus of a discrete GPU since 2012 carries.
const GUESS: f64 = 12e9;

/// What a thread copies into page-locked memory, to begin with: 7.5 GB/s alone and 3.5 GB/s beside
/// fifteen others on Sapphire Rapids.
const FILL_RATE: f64 = 5e9;

/// Bytes of a source that a GPU takes, at most. Hashed by one of its threads at some 37 MB/s, one of
/// this length takes 7 ms; a ring of 400 MB that is half full of such gives 28 GB/s, about what
/// sixteen threads hash that fill it.
const BRIEF: u64 = 256 << 10;

/// A ring for so many threads. Each may be filling a slot, and as many as are hashed meanwhile must be
/// ready beside these: files of 128 KiB keep a GPU busy for 4 ms, in which 50 GB/s are twenty
/// batches of 10 MB. Each thread fills a tray, and some are being copied. Memory is taken for those that
/// are used.
fn ring_config(threads: usize) -> RingConfig {
    RingConfig {
        slots: (2 * threads + 8).clamp(12, 40),
        slot_bytes: 16 << 20,
        trays: threads + 12,
        ..RingConfig::default()
    }
}

/// What has been done on one device so far.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Share {
    /// `cpu`, `cuda:0` and so on.
    pub device: String,
    /// Messages whose digests came from there.
    pub messages: u64,
    /// Bytes of these.
    pub bytes: u64,
}

/// What CPU threads make of one class of functions.
pub(crate) struct ThreadRates {
    /// Cost a second of one thread.
    pub(crate) hashing: Rate,
    /// Cost a second of one that reads sources and hashes them.
    pub(crate) reading: Rate,
}

/// What is known of sources that are read, kept from one run to the next: many last only
/// milliseconds.
pub(crate) struct Reading {
    /// Cost a second of one thread that reads for a GPU.
    pub(crate) fill_rate: Rate,
    /// Microseconds of the fleet's clock when one last began to.
    pub(crate) filled: AtomicU64,
}

/// A counter of that.
#[derive(Default)]
pub(crate) struct Counter {
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl Counter {
    pub(crate) fn add(&self, messages: u64, bytes: u64) {
        self.messages.fetch_add(messages, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// Messages and bytes so far.
    pub(crate) fn get(&self) -> (u64, u64) {
        (self.messages.load(Relaxed), self.bytes.load(Relaxed))
    }

    fn share(&self, device: String) -> Share {
        let (messages, bytes) = self.get();
        Share { device, messages, bytes }
    }
}

/// A GPU in use.
pub(crate) struct Member {
    ring: Ring,
    /// For each class of functions.
    speeds: [Speed; Class::COUNT],
    /// Index of the class that was measured last.
    measured: AtomicUsize,
    pub(crate) done: Counter,
    /// Kernels that could not be loaded.
    refused: [AtomicBool; KernelSet::ALL.len()],
    /// Why it was given up.
    lost: OnceLock<Error>,
}

/// What a GPU makes of one class of functions.
struct Speed {
    rate: Rate,
    backlog: Mutex<Backlog>,
}

impl Member {
    fn new(ring: Ring) -> Self {
        Member {
            ring,
            speeds: [(); _].map(|()| Speed { rate: Rate::new(GUESS), backlog: Mutex::default() }),
            measured: AtomicUsize::new(0),
            done: Counter::default(),
            refused: Default::default(),
            lost: OnceLock::new(),
        }
    }

    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    pub(crate) fn id(&self) -> DeviceId {
        self.ring.gpu().info().id
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.ring.is_lost() || self.lost.get().is_some()
    }

    /// Why.
    pub(crate) fn lost(&self) -> Option<&Error> {
        self.lost.get()
    }

    /// What it hashes of one message in a second, in bytes.
    pub(crate) fn chain_rate(&self, class: Class) -> f64 {
        chain_rate(self.ring.gpu().info().clock_khz, class.clocks_per_byte())
    }

    /// Its rate for what it was last measured with, if it was.
    pub(crate) fn measured(&self) -> Option<f64> {
        let last = &self.speeds[self.measured.load(Relaxed)];
        Some(last.rate.get()).filter(|&rate| rate != GUESS)
    }

    fn speed(&self, class: Class) -> &Speed {
        &self.speeds[class.index()]
    }

    /// As the plan sees it. `usual` is the length of a message, `most` the cost of a full slot.
    pub(crate) fn state(
        &self,
        class: Class,
        now: f64,
        usual: f64,
        staged: bool,
        most: f64,
    ) -> GpuState {
        let chain = usual / self.chain_rate(class);
        // Each message has one thread: long ones leave most of a GPU idle.
        let config = self.ring.config();
        let at_a_time = (config.slot_bytes as f64 / usual.max(1.0)).max(1.0) * config.slots as f64;
        let Speed { rate, backlog } = self.speed(class);
        let rate = rate.get().min(at_a_time * self.chain_rate(class));
        let back = lock(backlog).end(now, rate);
        GpuState { rate, back, chain, staged, most, slots: config.slots as f64 }
    }

    pub(crate) fn took(&self, class: Class, now: f64, cost: u64, usual: f64, fill_time: f64) {
        let chain = usual / self.chain_rate(class);
        lock(&self.speed(class).backlog).took(now, cost, chain, fill_time);
    }

    /// Something that was taken for it did not go there.
    pub(crate) fn returned(&self, class: Class, cost: u64) {
        lock(&self.speed(class).backlog).returned(cost);
    }

    pub(crate) fn back(&self, class: Class, now: f64, cost: u64) {
        let Speed { rate, backlog } = self.speed(class);
        if let Some((cost, seconds)) = lock(backlog).back(now, cost) {
            rate.measured(cost, seconds);
            self.measured.store(class.index(), Relaxed);
        }
    }
}

/// An error as a clause: the log of a compiler has many lines.
fn on_one_line(error: &Error) -> String {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" / ")
}

/// All GPUs of an engine.
pub(crate) struct Fleet {
    device: Device,
    config: RingConfig,
    pid: u32,
    /// What times count from.
    epoch: Instant,
    members: RwLock<Arc<[Arc<Member>]>>,
    /// How often `members` has changed.
    version: AtomicUsize,
    /// Threads that open GPUs or load kernels there.
    opening: Mutex<Vec<JoinHandle<()>>>,
    /// Whether it has been begun.
    opened: AtomicBool,
    /// Kernels that there is work for, beside those that every ring has.
    wanted: [AtomicBool; KernelSet::ALL.len()],
    /// Whether the engine is going.
    abandoned: AtomicBool,
    /// Nanoseconds that the CPU has worked alone.
    worked: AtomicU64,
    pub(crate) cpu: Counter,
    /// Of a CPU thread, for each class of functions.
    thread_rates: [ThreadRates; Class::COUNT],
    /// Cost a second that a CPU thread sends to a GPU that has to be copied for it.
    pub(crate) fill_rate: Rate,
    /// The same for files and other sources.
    pub(crate) reading: Reading,
    /// Why GPUs are not there.
    notes: Mutex<Vec<String>>,
    warnings: Mutex<Vec<String>>,
}

impl Fleet {
    /// Opens what has to be there from the beginning. The CPU has so many `threads`.
    pub(crate) fn new(
        device: Device,
        config: Option<RingConfig>,
        threads: usize,
    ) -> Result<Arc<Fleet>, crate::Error> {
        let sm3 = sm3::Lanes::new().count();
        let sha3 = Lanes::new(&Midstate::new(Algorithm::Sha3_256)).count();
        let rates = |class: Class| {
            let guess = class.guess(if class == Class::SM3 { sm3 } else { sha3 });
            ThreadRates { hashing: Rate::new(guess), reading: Rate::new(guess) }
        };
        let fleet = Arc::new(Fleet {
            device,
            config: config.unwrap_or_else(|| ring_config(threads)),
            pid: process::id(),
            epoch: Instant::now(),
            members: RwLock::new(Arc::new([])),
            version: AtomicUsize::new(0),
            opening: Mutex::default(),
            opened: AtomicBool::new(false),
            wanted: Default::default(),
            abandoned: AtomicBool::new(false),
            worked: AtomicU64::new(0),
            cpu: Counter::default(),
            thread_rates: Class::all().map(rates),
            fill_rate: Rate::new(FILL_RATE),
            reading: Reading { fill_rate: Rate::new(FILL_RATE), filled: AtomicU64::new(0) },
            notes: Mutex::default(),
            warnings: Mutex::default(),
        });
        if let Some(id) = device.gpu() {
            let error = |error| crate::Error::Gpu { id, error };
            fleet.open(id).map_err(error)?;
            fleet.opened.store(true, SeqCst);
        } else if device == Device::All {
            fleet.opened.store(true, SeqCst);
            fleet.open_all();
        }
        Ok(fleet)
    }

    fn open(&self, id: DeviceId) -> Result<(), Error> {
        let gpu = Gpu::open(id)?;
        if self.abandoned.load(SeqCst) {
            return Ok(());
        }
        let member = Arc::new(Member::new(Ring::new(&gpu, self.config.clone())?));
        let mut members = self.members.write().unwrap_or_else(|e| e.into_inner());
        *members = members.iter().cloned().chain([Arc::clone(&member)]).collect();
        drop(members);
        self.version.fetch_add(1, SeqCst);
        // After that, so that whoever wants kernels from now on either finds this GPU or is found here.
        for set in KernelSet::ALL.into_iter().filter(|set| self.wanted[*set as usize].load(SeqCst))
        {
            self.load(&member, set);
        }
        Ok(())
    }

    /// Opens every GPU there is, as far as it can be.
    fn open_all(&self) {
        for vendor in Vendor::ALL {
            if self.abandoned.load(SeqCst) {
                return;
            }
            let infos = match devices(vendor) {
                Ok(infos) if infos.is_empty() => {
                    lock(&self.notes).push(format!("the {vendor} driver finds no GPU"));
                    continue;
                }
                Ok(infos) => infos,
                Err(error) => {
                    lock(&self.notes).push(on_one_line(&error));
                    continue;
                }
            };
            for info in infos {
                if self.abandoned.load(SeqCst) {
                    return;
                }
                if let Err(error) = self.open(info.id) {
                    let text = format!("{} is not used: {}", info.id, on_one_line(&error));
                    lock(&self.notes).push(text.clone());
                    lock(&self.warnings).push(text);
                }
            }
        }
    }

    /// Loads kernels on a GPU, unless it has them, refused them before or is given up.
    fn load(&self, member: &Member, set: KernelSet) {
        let refused = &member.refused[set as usize];
        let is_needless = member.ring.has(set) || refused.load(SeqCst) || member.is_lost();
        if is_needless || self.abandoned.load(SeqCst) {
            return;
        }
        if let Err(error) = member.ring.load(set) {
            let text = format!("{} is not used for {set}: {}", member.id(), on_one_line(&error));
            if member.ring.is_lost() {
                self.lose(member, error);
            } else if !refused.swap(true, SeqCst) {
                lock(&self.notes).push(text.clone());
                lock(&self.warnings).push(text);
            }
        }
        // For those who look which GPUs they may use.
        self.version.fetch_add(1, SeqCst);
    }

    /// Sees to it that GPUs have these kernels: at once where GPUs were asked for, else beside the work.
    pub(crate) fn prepare(self: &Arc<Self>, set: KernelSet) {
        if !self.is_ours() {
            return;
        }
        let is_first = !self.wanted[set as usize].swap(true, SeqCst);
        let fleet = Arc::clone(self);
        let load = move || fleet.all().iter().for_each(|member| fleet.load(member, set));
        if self.device != Device::Auto {
            // Nothing if they are there. While another thread loads them, this one waits for that.
            load();
        } else if is_first && self.version() > 0 {
            self.begin(&format!("kernels of {set} are not loaded"), load);
        }
    }

    /// Does something beside the work; says what does not happen where there is no thread for it.
    fn begin(&self, otherwise: &str, work: impl FnOnce() + Send + 'static) -> bool {
        let thread = thread::Builder::new().name("manylane-gpus".to_owned()).spawn(work);
        match thread {
            Ok(thread) => {
                lock(&self.opening).push(thread);
                true
            }
            Err(error) => {
                let text = format!("{otherwise}: no thread for it: {error}");
                lock(&self.notes).push(text.clone());
                lock(&self.warnings).push(text);
                false
            }
        }
    }

    /// Whether this is the process that made it: GPU drivers do not survive a `fork`, and locks
    /// may be held for ever in a child.
    fn is_ours(&self) -> bool {
        self.pid == process::id()
    }

    /// Whether CPU threads take what GPUs could.
    pub(crate) fn with_cpus(&self) -> bool {
        self.device.gpu().is_none()
    }

    /// Forgets a little of how slowly threads copy: where that makes the plan give GPUs nothing,
    /// nothing would measure it again.
    pub(crate) fn doubt_fill_rate(&self) {
        const TIME: f64 = 200e-6;
        self.fill_rate.measured((FILL_RATE * TIME) as u64, TIME);
    }

    /// What CPU threads make of functions of that class.
    pub(crate) fn thread_rates(&self, class: Class) -> &ThreadRates {
        &self.thread_rates[class.index()]
    }

    /// What the plan knows beside what is left and who takes part.
    pub(crate) fn situation<'a>(
        &self,
        class: Class,
        left: f64,
        threads: f64,
        gpus: &'a [GpuState],
    ) -> Situation<'a> {
        let thread_rate = self.thread_rates(class).hashing.get();
        let fill_rate = self.fill_rate.get();
        Situation { left, thread_rate, fill_rate, threads, gpus }
    }

    /// Bytes of a source up to which it goes to a GPU.
    pub(crate) fn brief(&self) -> u64 {
        let RingConfig { slot_bytes, tray_bytes, .. } = self.config;
        BRIEF.min(slot_bytes as u64 / 4).min(tray_bytes as u64 - 1)
    }

    /// Seconds since some moment.
    pub(crate) fn now(&self) -> f64 {
        self.epoch.elapsed().as_secs_f64()
    }

    /// How often [`members`](Self::members) has changed.
    pub(crate) fn version(&self) -> usize {
        self.version.load(SeqCst)
    }

    /// GPUs to be used now for functions of that class.
    pub(crate) fn members(&self, class: Class) -> Vec<Arc<Member>> {
        if !self.is_ours() {
            return Vec::new();
        }
        let can = |member: &Arc<Member>| !member.is_lost() && member.ring.has(class.kernels());
        self.all().iter().filter(|member| can(member)).cloned().collect()
    }

    /// All that were opened.
    fn all(&self) -> Arc<[Arc<Member>]> {
        Arc::clone(&self.members.read().unwrap_or_else(|e| e.into_inner()))
    }

    /// Whether it is worth asking [`takes_part`](Self::takes_part).
    pub(crate) fn may_have_gpus(&self) -> bool {
        self.device != Device::Cpu
            && self.is_ours()
            && (self.version() > 0 || self.device == Device::Auto)
    }

    /// Whether GPUs take part, or may soon, in work of that class that takes the CPU that long; if it pays,
    /// begins to open them, and to load its kernels there.
    pub(crate) fn takes_part(self: &Arc<Self>, class: Class, foreseen: Duration) -> bool {
        if self.device == Device::Cpu || !self.is_ours() {
            return false;
        }
        let is_asked_for = self.device != Device::Auto;
        if is_asked_for || self.is_worth_opening(foreseen) {
            self.prepare(class.kernels());
        }
        if !is_asked_for && !self.opened.load(SeqCst) {
            if !self.is_worth_opening(foreseen) || self.opened.swap(true, SeqCst) {
                return false;
            }
            let fleet = Arc::clone(self);
            return self.begin("GPUs are not looked for", move || fleet.open_all());
        }
        let mut opening = lock(&self.opening);
        opening.retain(|thread| !thread.is_finished());
        let is_opening = !opening.is_empty();
        drop(opening);
        is_opening || !self.members(class).is_empty()
    }

    /// Whether it pays to open GPUs before work that takes the CPU that long.
    pub(crate) fn is_worth_opening(&self, foreseen: Duration) -> bool {
        Duration::from_nanos(self.worked.load(Relaxed)) + foreseen >= OPENING
    }

    /// Counts time that the CPU has worked alone.
    pub(crate) fn worked(&self, time: Duration) {
        self.worked.fetch_add(time.as_nanos() as u64, Relaxed);
    }

    /// Gives a GPU up for good; warns the first time.
    pub(crate) fn lose(&self, member: &Member, error: Error) {
        // This is what all others learn, while one knows why.
        if matches!(error, Error::Lost(_)) {
            return;
        }
        let text = format!("{} is given up, its work is done elsewhere: {error}", member.id());
        if member.lost.set(error).is_ok() {
            lock(&self.warnings).push(text);
            self.version.fetch_add(1, SeqCst);
        }
    }

    /// Warnings since the last call.
    pub(crate) fn warnings(&self) -> Vec<String> {
        if !self.is_ours() {
            return Vec::new();
        }
        std::mem::take(&mut *lock(&self.warnings))
    }

    /// What has been done where.
    pub(crate) fn shares(&self) -> Vec<Share> {
        let mut shares = vec![self.cpu.share("cpu".to_owned())];
        if self.is_ours() {
            shares.extend(self.all().iter().map(|m| m.done.share(m.id().to_string())));
        }
        shares
    }

    /// All GPUs that were opened, also those given up; and clauses that say why there are no others.
    pub(crate) fn describe(&self) -> (Vec<Arc<Member>>, Vec<String>) {
        if !self.is_ours() {
            let why = "a forked process computes without the GPUs of its parent".to_owned();
            return (Vec::new(), vec![why]);
        }
        let members = self.all().to_vec();
        let mut why = lock(&self.notes).clone();
        match self.device {
            Device::Cpu => why.push("processor cores only, as asked for".to_owned()),
            Device::Auto if !self.opened.load(SeqCst) => why.push(format!(
                "GPUs are looked for when the processor has worked {:.1} s",
                OPENING.as_secs_f64()
            )),
            Device::Cuda(_) | Device::Hip(_) => {
                why.push(
                    "the GPU takes all messages in memory that fit its ring's slots".to_owned(),
                );
            }
            Device::Auto | Device::All => {}
        }
        if !members.is_empty() {
            why.push(format!(
                "of files, GPUs take those up to {} KiB: longer ones would keep one of their threads \
                 for long",
                self.brief() >> 10
            ));
        }
        (members, why)
    }

    /// Lets the thread that opens GPUs end, and waits for that: it should not be in the driver when
    /// the process exits. That takes as long as its current step, some tenths of a second. Where a
    /// driver hangs it is left behind: what it uses is its own, or kept by it.
    pub(crate) fn close(&self) {
        if self.is_ours() {
            self.abandoned.store(true, SeqCst);
            let since = Instant::now();
            for thread in std::mem::take(&mut *lock(&self.opening)) {
                while !thread.is_finished() && since.elapsed() < CLOSING {
                    thread::sleep(Duration::from_millis(1));
                }
                if thread.is_finished() {
                    // Had it panicked, there would be no GPU and nothing else amiss.
                    let _ = thread.join();
                }
            }
        }
    }
}
