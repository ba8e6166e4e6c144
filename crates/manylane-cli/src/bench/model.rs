//! What a run leaves behind, as it is written to JSON; `bench/schema.json` describes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::stats::Estimate;

/// Version of the schema; raised when a reader of the old one would misread the new.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// Where, when and with what a run was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    pub(super) schema_version: u32,
    pub(super) kind: SetupKind,
    /// Start of the run, UTC, as ISO 8601 writes it.
    pub(super) date: String,
    pub(super) suites: Vec<String>,
    pub(super) quick: bool,
    /// Visits to each group, samples a visit, and shortest sample in microseconds.
    pub(super) visits: u32,
    pub(super) samples_per_visit: u32,
    pub(super) sample_us: u64,
    pub(super) seed: u64,
    pub(super) hardware: Hardware,
    pub(super) build: Build,
    /// The clock before the first sample; absent where none can be calibrated.
    pub(super) clock: Option<ClockSetup>,
    pub(super) machines: Machines,
    /// The graphics processors that were measured; none in runs made before there were such suites.
    #[serde(default)]
    pub(super) gpus: Vec<GpuSetup>,
    pub(super) peers: Vec<Peer>,
}

/// A graphics processor under the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct GpuSetup {
    /// As `--device` names it.
    pub(super) id: String,
    /// As its vendor names it.
    pub(super) name: String,
    pub(super) architecture: String,
    pub(super) driver: String,
    pub(super) multiprocessors: u32,
    /// Highest clock of the multiprocessors in Hz, as the driver says.
    pub(super) clock_hz: f64,
    pub(super) memory_bytes: u64,
    pub(super) integrated: bool,
    /// PCI address, or empty.
    pub(super) pci: String,
    /// Where its clock and power come from, or why they are not known.
    pub(super) sensors: String,
    pub(super) kernels: Vec<KernelSetup>,
}

/// A kernel as the driver loaded it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KernelSetup {
    pub(crate) name: String,
    /// Threads per block.
    pub(crate) block: u32,
    pub(crate) registers: u32,
    /// Bytes of local memory of each thread: spilled registers.
    pub(crate) local_bytes: u32,
}

/// Instructions that an emulated AArch64 processor executed: no timing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ArmCounts {
    pub(super) emulator: Option<String>,
    /// Why there are none.
    pub(super) missing: Option<String>,
    pub(super) counts: Vec<Counted>,
}

/// Those of one call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Counted {
    pub(super) group: String,
    pub(super) contender: String,
    /// The processor that was imitated, as the emulator names it.
    pub(super) processor: String,
    /// Bytes of messages; zero where bytes are no measure of the work.
    pub(super) bytes_per_call: u64,
    pub(super) instructions: u64,
}

/// A figure that others have published, to set beside.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Published {
    pub(super) source: String,
    pub(super) device: String,
    pub(super) work: String,
    pub(super) gb_per_s: f64,
    pub(super) latency_ms: Option<f64>,
    /// Where the clock during the measurement is known.
    pub(super) bytes_per_sm_clock: Option<f64>,
    /// Where the power was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) gbit_per_s_per_watt: Option<f64>,
}

/// The machine under the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Hardware {
    pub(super) arch: String,
    pub(super) cpu: String,
    /// Vendor, family, model and stepping as the processor numbers them.
    pub(super) cpu_id: String,
    /// Name of the core, where the ceilings of this program know it.
    pub(super) core: Option<String>,
    /// Processors that the process may use.
    pub(super) processors: usize,
    /// Size of each cache that the first processor sees: level and type, size.
    pub(super) caches: BTreeMap<String, String>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) kernel: String,
    pub(super) virtual_machine: Option<bool>,
}

/// The build of this program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Build {
    pub(super) version: String,
    /// Commit of the sources, with `-dirty` if they were changed since; absent outside git.
    pub(super) commit: Option<String>,
    pub(super) compiler: String,
    pub(super) target: String,
    pub(super) profile: String,
}

/// The clock that was calibrated before the run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ClockSetup {
    /// By the chain of additions.
    pub(super) hz_by_add: f64,
    /// By the second chain.
    pub(super) hz_by_other: f64,
    /// Whether the two agree.
    pub(super) agree: bool,
    /// Readings, and those among them whose chains disagreed.
    pub(super) readings: usize,
    pub(super) disturbed: usize,
}

/// Which machines ran.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Machines {
    pub(super) run: Vec<String>,
    /// Name, and why not.
    pub(super) not_run: BTreeMap<String, String>,
    /// Value of `MANYLANE_MACHINE`, if it was set.
    pub(super) forced: Option<String>,
}

/// A library measured beside ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Peer {
    pub(super) name: String,
    pub(super) version: Option<String>,
    /// Why there is none.
    pub(super) missing: Option<String>,
}

/// What was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Summary {
    pub(super) schema_version: u32,
    pub(super) kind: SummaryKind,
    pub(super) setup: Setup,
    /// Share of the processors' time that other processes used during the run.
    pub(super) others_load: Option<f64>,
    pub(super) results: Vec<Measured>,
    pub(super) ratios: Vec<Ratio>,
    /// Figures of others, not measured here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) published: Vec<Published>,
    /// Instructions of AArch64, counted and not measured; absent where the suite has no such part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) arm: Option<ArmCounts>,
    /// What was asked for and could not be measured, and why.
    pub(super) not_measured: BTreeMap<String, String>,
}

impl Summary {
    /// Whether others used the machine so much that figures of all its cores, and latencies, say
    /// more of them than of us. Figures of one core are made of undisturbed samples only.
    pub(super) fn is_busy(&self) -> bool {
        self.others_load.is_some_and(|share| share > 0.05)
    }
}

/// One contender's figures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Path of the group.
    pub(super) group: String,
    pub(super) contender: String,
    pub(super) kernel: Option<String>,
    /// Whether it is somebody else's work.
    pub(super) peer: bool,
    pub(super) unit: String,
    pub(super) bytes_per_call: u64,
    pub(super) units_per_call: u64,
    pub(super) calls_per_sample: u32,
    pub(super) working_set_bytes: u64,
    pub(super) one_core: bool,
    pub(super) samples: Samples,
    /// Median of the clock over the samples that were kept.
    pub(super) clock_hz: Option<f64>,
    /// Clocks that the counted operations take at least, over clocks that they took.
    pub(super) share_of_ceiling: Option<f64>,
    pub(super) metrics: BTreeMap<Metric, Figure>,
}

/// What became of the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Samples {
    /// Visits that gave an observation.
    pub(super) visits: u32,
    pub(super) kept: u32,
    pub(super) preempted: u32,
    pub(super) unsteady_clock: u32,
}

/// Speed of one contender in relation to another, from samples of the same turns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ratio {
    pub(super) group: String,
    pub(super) contender: String,
    pub(super) base: String,
    /// How many times as fast as the base.
    #[serde(flatten)]
    pub(super) figure: Figure,
}

/// A median and its 95% interval, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Figure {
    pub(super) median: f64,
    /// Absent with `high` where there were too few observations.
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
}

impl From<Estimate> for Figure {
    fn from(estimate: Estimate) -> Self {
        let (low, high) = estimate.interval.unzip();
        Figure { median: estimate.median, low, high }
    }
}

impl From<Figure> for Estimate {
    fn from(figure: Figure) -> Self {
        Estimate { median: figure.median, interval: figure.low.zip(figure.high) }
    }
}

/// Quantities that are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Metric {
    BytesPerClock,
    BytesPerSmClock,
    ClocksPerUnit,
    GbPerS,
    UnitsPerS,
    P50Us,
    P99Us,
    UsPerCall,
    JoulesPerGb,
    Watts,
}

impl Metric {
    pub(super) const ALL: [Metric; 10] = [
        Metric::BytesPerClock,
        Metric::BytesPerSmClock,
        Metric::ClocksPerUnit,
        Metric::GbPerS,
        Metric::UnitsPerS,
        Metric::P50Us,
        Metric::P99Us,
        Metric::UsPerCall,
        Metric::JoulesPerGb,
        Metric::Watts,
    ];

    /// Whether more of it is better.
    pub(super) fn more_is_better(self) -> bool {
        use Metric::{BytesPerClock, BytesPerSmClock, GbPerS, UnitsPerS};
        matches!(self, BytesPerClock | BytesPerSmClock | GbPerS | UnitsPerS)
    }

    /// As JSON names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Metric::BytesPerClock => "bytes_per_clock",
            Metric::BytesPerSmClock => "bytes_per_sm_clock",
            Metric::ClocksPerUnit => "clocks_per_unit",
            Metric::GbPerS => "gb_per_s",
            Metric::UnitsPerS => "units_per_s",
            Metric::P50Us => "p50_us",
            Metric::P99Us => "p99_us",
            Metric::UsPerCall => "us_per_call",
            Metric::JoulesPerGb => "joules_per_gb",
            Metric::Watts => "watts",
        }
    }
}

/// Every sample of a run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Raw {
    pub(super) schema_version: u32,
    pub(super) kind: RawKind,
    pub(super) groups: Vec<RawGroup>,
    pub(super) latencies: Vec<RawLatency>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct RawGroup {
    pub(super) group: String,
    pub(super) contenders: Vec<RawContender>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct RawContender {
    pub(super) contender: String,
    pub(super) calls_per_sample: u32,
    /// Visit, turn, nanoseconds, clock in Hz or null, and `k` for kept, `p` for preempted, `u` for
    /// an unsteady clock.
    pub(super) samples: Vec<(u32, u32, u64, Option<u64>, char)>,
    /// Joules of each sample, for contenders that are measured for that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) joules: Vec<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct RawLatency {
    pub(super) group: String,
    pub(super) contender: String,
    /// Requests a second in each visit.
    pub(super) rates: Vec<f64>,
    /// For each visit the latencies in microseconds at these percentiles.
    pub(super) percentiles: Vec<f64>,
    pub(super) visits: Vec<Vec<f64>>,
}

/// Marks of the three files.
macro_rules! kind {
    ($name:ident, $text:literal) => {
        #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
        pub(super) enum $name {
            #[serde(rename = $text)]
            Kind,
        }
    };
}
kind!(SetupKind, "setup");
kind!(SummaryKind, "summary");
kind!(RawKind, "raw");
