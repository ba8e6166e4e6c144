//! The measuring core: contenders take turns, every sample has its own clock, and samples that
//! the machine disturbed are put aside.
//!
//! A suite is a list of [`Group`]s; a group is a list of [`Contender`]s that are compared with one
//! another. The run goes through all groups several times. In each *visit* a group is built
//! anew, with its data elsewhere in memory, and its contenders take turns in an order shuffled
//! turn by turn; the median of a visit's samples is one observation. So a slow change of the
//! machine meets all contenders of a group alike, and what differs between visits (where data
//! lies, who else uses the machine) is in the interval, which is drawn over visits.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::{
    clock::{Clock, Reading},
    latency::{self, LatencyGroup, LatencyLog},
    os::{self, Affinity, Scope},
};

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Visits to each group.
    pub(super) visits: u32,
    /// Samples of each contender wanted from a visit.
    pub(super) samples: u32,
    /// Shortest sample.
    pub(super) sample: Duration,
}

impl Effort {
    /// For figures to quote.
    pub(super) const FULL: Effort =
        Effort { visits: 24, samples: 12, sample: Duration::from_millis(1) };

    /// For a look.
    pub(super) const QUICK: Effort =
        Effort { visits: 12, samples: 3, sample: Duration::from_micros(400) };
}

/// Seed of everything a run draws: data, lengths, the order of turns.
pub(super) const SEED: u64 = 0x6d61_6e79;

/// Which processors a group uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cores {
    /// One, to which the measuring thread is bound; clocks are meaningful.
    One,
    /// All that the process may use.
    All,
    /// A graphics processor, alone or with the processor's cores; calls time themselves.
    Gpu {
        /// How many streaming multiprocessors, or compute units, it has.
        multiprocessors: u32,
    },
}

/// What one call of a contender does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// Bytes of messages; zero where bytes are no measure of the work.
    pub(super) bytes: u64,
    /// Units, such as messages or iterations.
    pub(super) units: u64,
    /// Clocks that the counted operations take at least, where they are counted.
    pub(super) counted_clocks: Option<f64>,
}

/// Does the work once.
type Once = Box<dyn FnMut(&mut [u8])>;

/// Does the work so many times.
type Times = Box<dyn FnMut(u32, &mut [u8]) -> Result<Timing, String>>;

/// How a contender's work is done, and by whose clock.
pub(super) enum Call {
    /// Does the work once, on the calling thread or while it waits; the runner takes the time.
    Here(Once),
    /// The same for work that a call uses up: the first function makes it anew before each call, which
    /// is no part of the time. A sample is one call.
    Prepared(Box<dyn FnMut()>, Once),
    /// Does the work so many times and says how long that took: a device has its own clock.
    Elsewhere(Times),
}

/// What a contender says of calls that it has timed itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) seconds: f64,
    /// The clock of the device, where it was read meanwhile.
    pub(super) hz: Option<f64>,
    /// The energy that was used, where that is what the contender is about.
    pub(super) joules: Option<f64>,
}

impl Call {
    /// A call that the runner times.
    pub(super) fn here(call: impl FnMut(&mut [u8]) + 'static) -> Self {
        Call::Here(Box::new(call))
    }

    /// A call that the runner times, of work that is prepared before each.
    pub(super) fn prepared(
        prepare: impl FnMut() + 'static,
        call: impl FnMut(&mut [u8]) + 'static,
    ) -> Self {
        Call::Prepared(Box::new(prepare), Box::new(call))
    }

    /// A call that times itself.
    pub(super) fn elsewhere(
        call: impl FnMut(u32, &mut [u8]) -> Result<Timing, String> + 'static,
    ) -> Self {
        Call::Elsewhere(Box::new(call))
    }

    /// Does the work once.
    pub(super) fn once(&mut self, output: &mut [u8]) -> Result<(), String> {
        self.times(1, output).map(drop)
    }

    /// Does the work so many times; the seconds that took.
    fn times(&mut self, calls: u32, output: &mut [u8]) -> Result<f64, String> {
        match self {
            Call::Here(call) => {
                let start = Instant::now();
                (0..calls).for_each(|_| call(black_box(&mut *output)));
                Ok(start.elapsed().as_secs_f64())
            }
            Call::Prepared(prepare, call) => {
                let mut elapsed = Duration::ZERO;
                for _ in 0..calls {
                    prepare();
                    let start = Instant::now();
                    call(black_box(&mut *output));
                    elapsed += start.elapsed();
                }
                Ok(elapsed.as_secs_f64())
            }
            Call::Elsewhere(call) => call(calls, output).map(|timing| timing.seconds),
        }
    }
}

/// Makes contenders, with data drawn anew.
pub(super) type Build = Box<dyn Fn(&mut fastrand::Rng) -> Result<Vec<Contender>, String>>;

/// One way to do a group's work.
pub(super) struct Contender {
    pub(super) name: String,
    /// The kernel that ran when it was asked, for contenders of ours.
    pub(super) kernel: Option<&'static str>,
    pub(super) work: Work,
    /// Whether it is somebody else's work.
    pub(super) peer: bool,
    /// Where it puts what it computes. Contenders of a group are compared in as much of it as
    /// they share: slow ones may take only the first messages, for a sample to stay short.
    pub(super) output: Vec<u8>,
    pub(super) call: Call,
}

/// Contenders that are compared with one another.
pub(super) struct Group {
    /// Its path: suite, part, parameter.
    pub(super) id: String,
    /// Heading of the groups that differ in the parameter only.
    pub(super) part: &'static str,
    pub(super) parameter: String,
    /// What a unit of work is, in the plural.
    pub(super) unit: &'static str,
    /// Bytes that are read and written again and again.
    pub(super) working_set: u64,
    /// The contender that the others are set in relation to.
    pub(super) base: Option<&'static str>,
    /// Contenders to set in relation to others than the base, by name.
    pub(super) pairs: Vec<(String, String)>,
    pub(super) cores: Cores,
    /// How much of it is measured, if not as much as of the others.
    pub(super) effort: Option<Effort>,
    /// Whether all contenders must produce the same output.
    pub(super) same_output: bool,
    pub(super) build: Build,
}

/// All that a run is to measure.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) groups: Vec<Group>,
    pub(super) latencies: Vec<LatencyGroup>,
}

/// All that a run has measured, in the order of the plan.
pub(super) struct Logs {
    pub(super) groups: Vec<Vec<Log>>,
    pub(super) latencies: Vec<Vec<LatencyLog>>,
}

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Kept,
    /// The thread lost its processor too often, or processor time and elapsed time differ.
    Preempted,
    /// The clock before and after the sample could not be read or was not the same.
    Unsteady,
}

/// One timing of a number of calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) visit: u32,
    pub(super) turn: u32,
    pub(super) seconds: f64,
    pub(super) hz: Option<f64>,
    pub(super) joules: Option<f64>,
    pub(super) verdict: Verdict,
}

/// All samples of one contender.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) name: String,
    pub(super) kernel: Option<&'static str>,
    pub(super) peer: bool,
    pub(super) work: Work,
    /// Calls in each sample.
    pub(super) calls: u32,
    pub(super) samples: Vec<Sample>,
}

/// Measures groups.
pub(super) struct Runner {
    pub(super) effort: Effort,
    clock: Option<Clock>,
    rng: fastrand::Rng,
    all: Option<Affinity>,
    cpus: Vec<usize>,
    /// Index in `cpus` of the processor in use.
    cpu: usize,
}

impl Runner {
    /// A runner for the calling thread.
    pub(super) fn new(effort: Effort) -> Self {
        let all = Affinity::current().ok();
        let cpus = all.as_ref().map(Affinity::cpus).unwrap_or_default();
        let rng = fastrand::Rng::with_seed(SEED);
        Runner { effort, clock: Clock::new(), rng, all, cpus, cpu: 0 }
    }

    /// Measures all groups, visit by visit.
    ///
    /// # Errors
    /// What kept a group from being built, or contenders that disagree in what they compute.
    pub(super) fn run(&mut self, plan: &Plan) -> Result<Logs, String> {
        let mut logs = Logs {
            groups: plan.groups.iter().map(|_| Vec::new()).collect(),
            latencies: plan.latencies.iter().map(|_| Vec::new()).collect(),
        };
        let of = |group: &Group| group.effort.unwrap_or(self.effort).visits;
        let latencies = if plan.latencies.is_empty() { 0 } else { self.effort.visits };
        let visits = plan.groups.iter().map(of).max().unwrap_or(0).max(latencies);
        let steps: u64 = plan.groups.iter().map(|group| u64::from(of(group))).sum();
        let steps = steps + u64::from(latencies) * plan.latencies.len() as u64;
        let bar = ProgressBar::new(steps);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {eta} left  {msg}") {
            bar.set_style(style);
        }
        for visit in 0..visits {
            for (group, logs) in plan.groups.iter().zip(&mut logs.groups) {
                if visit >= group.effort.unwrap_or(self.effort).visits {
                    continue;
                }
                bar.set_message(group.id.clone());
                self.visit(group, visit, logs).map_err(|why| format!("{}: {why}", group.id))?;
                bar.inc(1);
            }
            self.release();
            if visit >= latencies {
                continue;
            }
            for (group, logs) in plan.latencies.iter().zip(&mut logs.latencies) {
                bar.set_message(group.id.clone());
                let seen = (group.visit)(&mut self.rng);
                latency::record(logs, seen.map_err(|why| format!("{}: {why}", group.id))?);
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        self.release();
        Ok(logs)
    }

    /// Binds the measuring thread as the group wants.
    pub(super) fn bind(&self, cores: Cores) {
        // Where processors cannot be chosen the scheduler's choice has to do.
        let _ = match (cores, self.cpus.get(self.cpu)) {
            (Cores::One, Some(&cpu)) => Affinity::one(cpu).apply(),
            _ => return self.release(),
        };
    }

    fn release(&self) {
        if let Some(all) = &self.all {
            let _ = all.apply();
        }
    }

    fn visit(&mut self, group: &Group, visit: u32, logs: &mut Vec<Log>) -> Result<(), String> {
        self.bind(group.cores);
        let mut contenders = (group.build)(&mut self.rng)?;
        let effort = group.effort.unwrap_or(self.effort);
        for contender in &mut contenders {
            let done = contender.call.once(&mut contender.output);
            done.map_err(|why| format!("{}: {why}", contender.name))?;
        }
        if group.same_output {
            check_agreement(&contenders)?;
        }
        if logs.is_empty() {
            for contender in &mut contenders {
                logs.push(Log {
                    name: contender.name.clone(),
                    kernel: contender.kernel,
                    peer: contender.peer,
                    work: contender.work,
                    calls: calls_for(contender, effort.sample)?,
                    samples: Vec::new(),
                });
            }
        }
        let from: Vec<usize> = logs.iter().map(|log| log.samples.len()).collect();
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        // Disturbed turns are made up for, within reason: a machine that is busy all the time
        // must not keep the run from ending.
        for turn in 0..3 * effort.samples {
            self.rng.shuffle(&mut order);
            for &i in &order {
                let sample = self.sample(group.cores, &mut contenders[i], logs[i].calls)?;
                logs[i].samples.push(Sample { visit, turn, ..sample });
            }
            let kept = |(log, from): (&Log, &usize)| {
                let kept = |sample: &&Sample| sample.verdict == Verdict::Kept;
                log.samples[*from..].iter().filter(kept).count()
            };
            let fewest = logs.iter().zip(&from).map(kept).min().unwrap_or(0);
            if fewest >= effort.samples as usize {
                break;
            }
            // Somebody else uses this processor: try the next one.
            if turn % 2 == 1 && fewest * 2 <= turn as usize && self.cpus.len() > 1 {
                self.cpu = (self.cpu + 1) % self.cpus.len();
                self.bind(group.cores);
            }
        }
        Ok(())
    }

    /// Times `calls` calls, after one that brings data and clock to where they will be.
    fn sample(
        &self,
        cores: Cores,
        contender: &mut Contender,
        calls: u32,
    ) -> Result<Sample, String> {
        let output = &mut contender.output[..];
        let mut nothing = || ();
        let (prepare, call): (&mut dyn FnMut(), _) = match &mut contender.call {
            Call::Here(call) => (&mut nothing, call),
            Call::Prepared(prepare, call) => (prepare, call),
            // What disturbs a device shows in the spread of its samples only.
            Call::Elsewhere(call) => {
                call(1, output)?;
                let Timing { seconds, hz, joules } = call(calls, output)?;
                return Ok(Sample {
                    visit: 0,
                    turn: 0,
                    seconds,
                    hz,
                    joules,
                    verdict: Verdict::Kept,
                });
            }
        };
        let clock = self.clock.filter(|_| cores == Cores::One);
        prepare();
        call(output);
        prepare();
        let before = clock.map(Clock::read_agreeing);
        let preemptions = os::preemptions();
        let cpu_time = os::processor_time(Scope::Thread);
        let start = Instant::now();
        for _ in 0..calls {
            call(black_box(output));
        }
        let elapsed = start.elapsed();
        let cpu_time = os::processor_time(Scope::Thread).saturating_sub(cpu_time);
        let preemptions = os::preemptions() - preemptions;
        let after = clock.map(Clock::read_agreeing);
        let hz = match (before, after) {
            (Some(before), Some(after)) => steady(before.hz(), after.hz()),
            _ => None,
        };
        let verdict = match cores {
            // Threads that work together take the processor from one another too: nothing tells that
            // from others' work.
            Cores::All | Cores::Gpu { .. } => Verdict::Kept,
            Cores::One if preemptions > bearable_preemptions(elapsed) => Verdict::Preempted,
            Cores::One if was_away(elapsed, cpu_time) => Verdict::Preempted,
            Cores::One if clock.is_some() && hz.is_none() => Verdict::Unsteady,
            Cores::One => Verdict::Kept,
        };
        let seconds = elapsed.as_secs_f64();
        Ok(Sample { visit: 0, turn: 0, seconds, hz, joules: None, verdict })
    }

    /// Clock readings for the record.
    pub(super) fn read_clock(&self, readings: usize) -> Option<Vec<Reading>> {
        let clock = self.clock?;
        self.bind(Cores::One);
        let readings = (0..readings).map(|_| clock.read()).collect();
        self.release();
        Some(readings)
    }
}

/// Whether a thread was off its processor for longer than reading two clocks can explain.
fn was_away(elapsed: Duration, cpu_time: Duration) -> bool {
    elapsed.saturating_sub(cpu_time) > Duration::from_micros(5) + elapsed / 200
}

/// Preemptions that a sample of that length may have: none if it is short; one for each 10 ms of a long
/// one, which no machine leaves alone for so long. What they took is for [`was_away`] to judge.
fn bearable_preemptions(elapsed: Duration) -> i64 {
    (elapsed.as_millis() / 10) as i64
}

/// The clock of a sample between two readings, if it was the same before and after.
fn steady(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    super::clock::agreed(before?, after?)
}

/// Calls that fill a sample.
fn calls_for(contender: &mut Contender, sample: Duration) -> Result<u32, String> {
    if matches!(contender.call, Call::Prepared(..)) {
        return Ok(1);
    }
    let mut calls = 1_u32;
    loop {
        let elapsed = contender.call.times(calls, &mut contender.output)?;
        // Long enough to divide by; an interruption would only make samples shorter.
        if elapsed >= sample.as_secs_f64() / 8.0 || calls >= 1 << 24 {
            let each = elapsed / f64::from(calls);
            return Ok(((sample.as_secs_f64() / each).ceil() as u32).max(1));
        }
        calls *= 2;
    }
}

pub(super) fn check_agreement(contenders: &[Contender]) -> Result<(), String> {
    let Some((first, others)) = contenders.split_first() else { return Ok(()) };
    let differs = |other: &&Contender| {
        let common = first.output.len().min(other.output.len());
        first.output[..common] != other.output[..common]
    };
    match others.iter().find(differs) {
        Some(other) => Err(format!("{} and {} computed different results", first.name, other.name)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(name: &str, byte: u8) -> Contender {
        Contender {
            name: name.into(),
            kernel: None,
            peer: false,
            work: Work { bytes: 1, units: 1, counted_clocks: None },
            output: vec![0],
            call: Call::here(move |out| out[0] = byte),
        }
    }

    fn plan(bytes: [u8; 2]) -> Plan {
        let group = Group {
            id: "test".into(),
            part: "Test",
            parameter: "1".into(),
            unit: "calls",
            working_set: 1,
            base: Some("a"),
            pairs: Vec::new(),
            cores: Cores::One,
            effort: None,
            same_output: true,
            build: Box::new(move |_| Ok(vec![contender("a", bytes[0]), contender("b", bytes[1])])),
        };
        Plan { groups: vec![group], latencies: Vec::new() }
    }

    const EFFORT: Effort = Effort { visits: 2, samples: 2, sample: Duration::from_micros(1) };

    #[test]
    fn contenders_take_turns() {
        let logs = Runner::new(EFFORT).run(&plan([7, 7])).unwrap().groups;
        let [a, b] = &logs[0][..] else { panic!("two contenders") };
        assert_eq!((&a.name[..], &b.name[..]), ("a", "b"));
        let turns = |log: &Log| log.samples.iter().map(|s| (s.visit, s.turn)).collect::<Vec<_>>();
        assert_eq!(turns(a), turns(b));
        for visit in 0..2 {
            let samples = turns(a).iter().filter(|turn| turn.0 == visit).count();
            assert!((2..=6).contains(&samples), "{samples}");
        }
    }

    #[test]
    fn contenders_that_disagree_are_not_measured() {
        let error = Runner::new(EFFORT).run(&plan([7, 8])).err().unwrap();
        assert_eq!(error, "test: a and b computed different results");
    }

    #[test]
    fn absence_is_noticed() {
        let ms = Duration::from_millis;
        assert!(!was_away(ms(10), ms(10)) && !was_away(ms(10), ms(11)));
        assert!(!was_away(Duration::from_micros(10_040), ms(10)));
        assert!(was_away(ms(11), ms(10)));
        assert_eq!([9, 10, 185].map(|n| bearable_preemptions(ms(n))), [0, 1, 18]);
        assert_eq!(steady(Some(3.0e9), None), None);
        assert_eq!(steady(Some(3.0e9), Some(2.8e9)), None);
        assert_eq!(steady(Some(3.0e9), Some(3.0e9)), Some(3.0e9));
    }
}
