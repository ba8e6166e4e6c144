//! The one definition of the command line: help, manual pages and completions come from it.

use std::{num::NonZeroUsize, path::PathBuf, str::FromStr as _};

use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{RangedU64ValueParser, TypedValueParser},
};
use manylane_engine::Device;

use crate::{bench, block, docs, info, sm2, sum};

/// Bulk cryptography at the speed of the hardware.
#[derive(Debug, Parser)]
#[command(name = "manylane", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Exit status:
  0    everything was done and everything matched
  1    a mismatch, a bad signature, or an input that could not be read
  2    wrong usage or configuration
  141  the reader of the output went away (a closed pipe)

Environment:
  MANYLANE_MACHINE  the most capable machine that may be used, for tests and comparisons:
                    portable, sse, aesni, bmi2, avx2, avx512, vaes, gfni, ifma, neon, armaes,
                    armsha3 or armcrypto
  MANYLANE_CACHE    the folder for kernels compiled for AMD and Hygon GPUs [default:
                    manylane in XDG_CACHE_HOME or ~/.cache], or off";

/// The verbs; what each does is written at its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Sum(sum::Args),
    Sm2(sm2::Args),
    Aes(block::AesArgs),
    Sm4(block::Sm4Args),
    /// Measure the algorithms on this machine
    Bench(bench::Args),
    Info(info::Args),
    Completions(docs::CompletionsArgs),
    Man(docs::ManArgs),
}

/// Options that every verb that computes takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Common {
    /// Where to compute: auto, cpu, cuda[:N], hip[:N] or all
    ///
    /// `auto` takes what is fastest for the work at hand: GPUs too, where there is enough of it to
    /// pay for opening them. `cuda` and `hip` are the first GPU of that kind; `all` is every GPU
    /// there is together with the processor's cores. A device that fails during the work is given
    /// up with a warning, and its part is done elsewhere.
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = Device::from_str)]
    pub(crate) device: Device,

    /// Use N threads [default: one for each CPU this process may use]
    #[arg(short, long, value_name = "N", value_parser = jobs())]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// Say more on standard error: what was skipped and what was chosen
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Write JSON Lines instead of text: an object for each file
    #[arg(long)]
    pub(crate) json: bool,

    /// Show progress with the rate, on standard error, for work that takes longer than a second
    ///
    /// `auto` shows it only if standard error is a terminal.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    pub(crate) progress: When,

    /// Write the result to FILE instead of standard output
    ///
    /// FILE appears complete or not at all: the result goes to a temporary file in the same
    /// directory, which replaces FILE at the end.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// More threads than any machine has processors are a slip, and might not all start.
const MAX_JOBS: u64 = 1024;

/// Reads a number of threads.
pub(crate) fn jobs() -> impl TypedValueParser<Value = NonZeroUsize> {
    let range = RangedU64ValueParser::<usize>::new().range(1..=MAX_JOBS);
    range.map(|jobs| NonZeroUsize::MIN.saturating_add(jobs - 1))
}

/// When to show something that only a person at a terminal wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}
