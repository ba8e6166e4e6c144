//! `manylane bench`: measures suites of contenders on this machine, and compares two runs.
//!
//! | file | what it holds |
//! |---|---|
//! | `measure.rs` | the measuring core: groups of contenders, turns, samples |
//! | `clock.rs`, `os.rs` | the clock beside every sample; what disturbed it |
//! | `latency.rs` | requests that arrive by themselves, and how long they wait |
//! | `stats.rs`, `summarise.rs` | medians and intervals; from samples to figures |
//! | `counts.rs` | what the counted operations allow |
//! | `arm.rs` | instructions counted under an emulator |
//! | `peers.rs` | other implementations, loaded at run time |
//! | `sm3.rs`, `sm3_gpu.rs`, `sm2.rs`, `sha3.rs`, `sha3_gpu.rs` | the suites of these names |
//! | `block.rs` | the suites `aes` and `sm4` |
//! | `block_gpu.rs` | suites `aes-gpu` and `sm4-gpu` |
//! | `gpu.rs` | what the suites of GPUs have in common |
//! | `sensors.rs` | clock and energy of devices |
//! | `published.rs` | figures of others, to set beside |
//! | `plot.rs` | figures as pictures |
//! | `setup.rs`, `model.rs`, `report.rs` | what a run leaves behind, as JSON and as tables |
//! | `compare.rs` | two runs |
//!
//! bench/README.md says how to read the figures.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    str::FromStr as _,
};

use clap::{Args as ClapArgs, Subcommand, builder::PossibleValuesParser};
use manylane::cpu::Machine;
use manylane_engine::Device;

use self::{
    block_gpu::Family,
    measure::{Effort, Logs, Plan, Runner},
    model::{GpuSetup, Raw, RawKind, SCHEMA_VERSION, Setup, Summary, SummaryKind},
};
pub(crate) use self::{gpu::kernel as kernel_setup, model::KernelSetup};
use crate::{
    complain, exit,
    output::print,
    show::{Name, Reason},
};

mod arm;
mod block;
mod block_gpu;
mod clock;
mod compare;
mod counts;
mod data;
#[cfg(test)]
mod example;
mod gpu;
mod latency;
mod measure;
mod model;
mod os;
pub(crate) mod peers;
mod plot;
mod published;
mod report;
#[cfg(test)]
mod schema;
mod sensors;
mod setup;
mod sha3;
mod sha3_gpu;
mod sm2;
mod sm3;
mod sm3_gpu;
mod stats;
mod summarise;

/// Arguments of `manylane bench`.
#[derive(ClapArgs, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    /// Suites to run; all of them by default, of those that this machine has the devices for
    #[arg(value_name = "SUITE", value_parser = PossibleValuesParser::new(SUITES))]
    suites: Vec<String>,

    /// Fewer and shorter samples: for a look, not for figures to quote
    #[arg(long)]
    quick: bool,

    /// Run only the groups whose name contains this; several times for several
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,

    /// GPUs that the suites of GPUs measure: cuda[:N], hip[:N], or all there are
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = Device::from_str)]
    device: Device,

    /// Count the instructions of PROGRAM, an AArch64 build of this one, under qemu-aarch64 for suite sm2
    #[arg(long, value_name = "PROGRAM", value_hint = clap::ValueHint::FilePath)]
    arm: Option<PathBuf>,

    /// Write setup.json, raw.json, summary.json, summary.md and plots into this folder
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Print the summary as JSON instead of tables
    #[arg(long)]
    json: bool,

    /// Fail if one of these machines cannot run here
    #[arg(
        long,
        value_name = "MACHINE",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(Machine::ALL.map(Machine::name))
    )]
    require: Vec<String>,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Compare two recorded runs; exit status 1 if the second is slower past the bound
    Compare {
        /// Folder of the run to compare with
        a: PathBuf,
        /// Folder of the run in question
        b: PathBuf,
        /// Largest loss that is let pass
        #[arg(long, value_name = "PERCENT", default_value = "3%")]
        max_regression: compare::Bound,
    },
    /// Make calls of suite sm2 and nothing else, for their instructions to be counted
    #[command(hide = true)]
    Repeat {
        /// The group's name
        group: String,
        /// The contender's
        contender: String,
        /// How many calls
        calls: u32,
    },
    /// Launch each kernel of a suite once and nothing else, for a profiler or a sanitizer to look at
    #[command(hide = true)]
    Launch {
        /// The suite's name
        #[arg(value_parser = PossibleValuesParser::new([AES_GPU, SM4_GPU, SHA3_GPU]))]
        suite: String,
        /// The GPU
        #[arg(long, value_name = "DEVICE", default_value = "cuda", value_parser = Device::from_str)]
        device: Device,
        /// Bytes of a launch at most
        #[arg(long, default_value_t = 1 << 30)]
        bytes: usize,
    },
}

/// Every suite.
const SUITES: [&str; 9] = [SM3, SM3_GPU, SM2, AES, SM4, AES_GPU, SM4_GPU, SHA3, SHA3_GPU];
const SM3: &str = "sm3";
const SM3_GPU: &str = "sm3-gpu";
const AES_GPU: &str = "aes-gpu";
const SM4_GPU: &str = "sm4-gpu";
const SM2: &str = "sm2";
const AES: &str = "aes";
const SM4: &str = "sm4";
const SHA3: &str = "sha3";
const SHA3_GPU: &str = "sha3-gpu";

/// Runs the command: 0 if all went well, 1 if something was slower or could not be measured,
/// 2 if the arguments make no sense.
pub(crate) fn run(args: &Args) -> ExitCode {
    ExitCode::from(match &args.command {
        Some(Command::Compare { a, b, max_regression }) => compare(a, b, *max_regression),
        Some(Command::Repeat { group, contender, calls }) => {
            match arm::repeat(group, contender, *calls) {
                Ok(()) => exit::OK,
                Err(why) => {
                    complain!("{why}");
                    exit::USAGE
                }
            }
        }
        Some(Command::Launch { suite, device, bytes }) => {
            let launched = gpu::chosen(*device).and_then(|ids| {
                ids.iter().try_for_each(|id| match &suite[..] {
                    SHA3_GPU => sha3_gpu::launch_all(*id, *bytes),
                    AES_GPU => block_gpu::launch_all(Family::Aes, *id, *bytes),
                    _ => block_gpu::launch_all(Family::Sm4, *id, *bytes),
                })
            });
            match launched {
                Ok(()) => exit::OK,
                Err(why) => {
                    complain!("{why}");
                    exit::FAILED
                }
            }
        }
        None => measure(args),
    })
}

fn compare(a: &Path, b: &Path, bound: compare::Bound) -> u8 {
    let runs = compare::read(a).and_then(|a| Ok((a, compare::read(b)?)));
    match runs.and_then(|(a, b)| compare::compare(&a, &b, bound)) {
        Ok(comparison) => match print(comparison.text().as_bytes()) {
            exit::OK if comparison.failed() => exit::FAILED,
            status => status,
        },
        Err(why) => {
            complain!("cannot compare: {why}");
            exit::USAGE
        }
    }
}

fn measure(args: &Args) -> u8 {
    let machine = |name: &String| Machine::from_name(name);
    let lacking = args.require.iter().filter_map(machine).find(|machine| !machine.is_available());
    if let Some(machine) = lacking {
        complain!("the required machine {machine} cannot run here");
        return exit::FAILED;
    }
    if cfg!(debug_assertions) {
        complain!("this is a debug build, whose figures mean nothing");
    }
    let Chosen { suites, mut plan, gpus } = match chosen(args) {
        Ok(chosen) => chosen,
        Err(why) => {
            complain!("{why}");
            return exit::USAGE;
        }
    };
    let ids = || plan.groups.iter().map(|g| &g.id).chain(plan.latencies.iter().map(|g| &g.id));
    if let Some(none) = args.only.iter().find(|part| !ids().any(|id| id.contains(*part))) {
        complain!("no group's name contains '{none}'");
        return exit::USAGE;
    }
    if !args.only.is_empty() {
        let wanted = |id: &String| args.only.iter().any(|part| id.contains(part));
        plan.groups.retain(|group| wanted(&group.id));
        plan.latencies.retain(|group| wanted(&group.id));
    }
    let mut runner = Runner::new(if args.quick { Effort::QUICK } else { Effort::FULL });
    let setup = setup::describe(&suites, args.quick, &runner, gpus);
    let load = setup::Load::now();
    let logs = match runner.run(&plan) {
        Ok(logs) => logs,
        Err(why) => {
            complain!("{why}");
            return exit::FAILED;
        }
    };
    let others_load = load.of_others(setup.hardware.processors);
    let published = suites.iter().flat_map(|suite| published::figures(suite)).collect();
    let has_sm2 = suites.iter().any(|suite| suite == SM2);
    let arm = has_sm2.then(|| arm::count(args.arm.as_deref(), &plan));
    let summary = Summary { others_load, published, arm, ..summarise(setup, &plan, &logs) };
    let tables = report::tables(&plan, &summary);
    if let Some(folder) = &args.output {
        let markdown = report::markdown(&tables, &summary);
        if let Err(why) = write(folder, &summary, &raw(&plan, &logs), &markdown) {
            complain!("{}: {}", Name(folder), Reason(&why));
            return exit::FAILED;
        }
    }
    let text = if args.json { json(&summary) } else { report::text(&tables, &summary) };
    match print(text.as_bytes()) {
        exit::OK if !summary.not_measured.is_empty() => exit::FAILED,
        status => status,
    }
}

/// What the suites named, or all, are to measure.
#[derive(Default)]
struct Chosen {
    suites: Vec<String>,
    plan: Plan,
    gpus: Vec<GpuSetup>,
}

fn chosen(args: &Args) -> Result<Chosen, String> {
    let mut chosen = Chosen::default();
    let named = |suite: &str| args.suites.iter().any(|name| name == suite);
    if named(AES) || args.suites.is_empty() {
        // Sets a variable for a moment, so before any suite starts threads. Why there is none, setup says.
        let _ = peers::cipher::OpenSslCiphers::without_aes();
    }
    if named(SM3) || args.suites.is_empty() {
        chosen.suites.push(SM3.to_owned());
        chosen.plan = sm3::plan();
    }
    for suite in [SM3_GPU, AES_GPU, SM4_GPU, SHA3_GPU] {
        if !named(suite) && !args.suites.is_empty() {
            continue;
        }
        match gpu::chosen(args.device) {
            Ok(ids) => {
                let of_gpus = match suite {
                    SM3_GPU => sm3_gpu::suite(&ids, args.quick)?,
                    SHA3_GPU => sha3_gpu::suite(&ids, args.quick)?,
                    AES_GPU => block_gpu::suite(Family::Aes, &ids, args.quick)?,
                    _ => block_gpu::suite(Family::Sm4, &ids, args.quick)?,
                };
                chosen.suites.push(suite.to_owned());
                chosen.plan.groups.extend(of_gpus.plan.groups);
                gpu::join(&mut chosen.gpus, of_gpus.gpus);
            }
            Err(why) if named(suite) || args.device != Device::Auto => return Err(why),
            Err(why) => complain!("suite {suite} left out: {why}"),
        }
    }
    if named(SM2) || args.suites.is_empty() {
        chosen.suites.push(SM2.to_owned());
        chosen.plan.groups.extend(sm2::plan(args.quick).groups);
    }
    for (name, suite) in
        [(AES, block::aes as fn(bool) -> Plan), (SM4, block::sm4), (SHA3, sha3::plan)]
    {
        if named(name) || args.suites.is_empty() {
            chosen.suites.push(name.to_owned());
            chosen.plan.groups.extend(suite(args.quick).groups);
        }
    }
    Ok(chosen)
}

fn summarise(setup: Setup, plan: &Plan, logs: &Logs) -> Summary {
    let mut summary = Summary {
        schema_version: SCHEMA_VERSION,
        kind: SummaryKind::Kind,
        setup,
        others_load: None,
        results: Vec::new(),
        ratios: Vec::new(),
        published: Vec::new(),
        arm: None,
        not_measured: BTreeMap::new(),
    };
    for (group, logs) in plan.groups.iter().zip(&logs.groups) {
        let (measured, ratios, missing) = summarise::group(group, logs);
        summary.results.extend(measured);
        summary.ratios.extend(ratios);
        let disturbed = |name| (name, "the machine disturbed every sample".to_owned());
        summary.not_measured.extend(missing.into_iter().map(disturbed));
    }
    for (group, logs) in plan.latencies.iter().zip(&logs.latencies) {
        summary.results.extend(latency::summarise(group, logs));
    }
    summary
}

fn raw(plan: &Plan, logs: &Logs) -> Raw {
    let groups = plan.groups.iter().zip(&logs.groups);
    let latencies = plan.latencies.iter().zip(&logs.latencies);
    Raw {
        schema_version: SCHEMA_VERSION,
        kind: RawKind::Kind,
        groups: groups.map(|(group, logs)| summarise::raw(group, logs)).collect(),
        latencies: latencies.flat_map(|(group, logs)| latency::raw(group, logs)).collect(),
    }
}

fn json(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_string_pretty(value).expect("maps with text for keys");
    format!("{json}\n")
}

/// Writes the record of a run.
fn write(folder: &Path, summary: &Summary, raw: &Raw, markdown: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("setup.json"), json(&summary.setup))?;
    fs::write(folder.join("summary.json"), json(summary))?;
    // A line a contender would be best to read, but nobody reads it: as short as can be.
    fs::write(folder.join("raw.json"), serde_json::to_vec(raw)?)?;
    fs::write(folder.join("summary.md"), markdown)?;
    for (name, png) in plot::plots(summary) {
        fs::write(folder.join(name), png)?;
    }
    Ok(())
}
