//! `manylane bench`: measures suites of contenders on this machine, and compares two runs.
//!
//! | file | what it holds |
//! |---|---|
//! | `measure.rs` | the measuring core: groups of contenders, turns, samples |
//! | `clock.rs`, `os.rs` | the clock beside every sample; what disturbed it |
//! | `stats.rs`, `summarise.rs` | medians and intervals; from samples to figures |
//! | `counts.rs` | what the counted operations allow |
//! | `peers.rs` | other implementations, loaded at run time |
//! | `sm3.rs` | the suite of that name |
//! | `setup.rs`, `model.rs`, `report.rs` | what a run leaves behind, as JSON and as tables |
//!
//! bench/README.md says how to read the figures.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args as ClapArgs, Subcommand, builder::PossibleValuesParser};
use manylane::cpu::Machine;

use self::{
    measure::{Effort, Group, Log, Runner},
    model::{Raw, RawKind, SCHEMA_VERSION, Summary, SummaryKind},
};
use crate::{complain, exit};

mod clock;
mod counts;
mod data;
mod measure;
mod model;
mod os;
pub(crate) mod peers;
mod report;
mod setup;
mod sm3;
mod stats;
mod summarise;

/// Arguments of `manylane bench`.
#[derive(ClapArgs, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    /// Suites to run; all of them by default
    #[arg(value_name = "SUITE", value_parser = PossibleValuesParser::new(SUITES.map(|s| s.0)))]
    suites: Vec<String>,

    /// Fewer and shorter samples: for a look, not for figures to quote
    #[arg(long)]
    quick: bool,

    /// Run only the groups whose name contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,

    /// Write setup.json, raw.json, summary.json and summary.md into this folder
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
        max_regression: String,
    },
}

/// A suite: its name, and how its groups are made.
type Suite = (&'static str, fn() -> Vec<Group>);

/// Every suite.
const SUITES: [Suite; 1] = [("sm3", sm3::groups)];

/// Runs the command: 0 if all went well, 1 if something was slower or could not be measured,
/// 2 if the arguments make no sense.
pub(crate) fn run(args: &Args) -> ExitCode {
    ExitCode::from(match &args.command {
        Some(Command::Compare { .. }) => exit::USAGE,
        None => measure(args),
    })
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
    let (suites, mut groups) = chosen(&args.suites);
    if let Some(part) = &args.only {
        groups.retain(|group| group.id.contains(part));
    }
    let mut runner = Runner::new(if args.quick { Effort::QUICK } else { Effort::FULL });
    let setup = setup::describe(&suites, args.quick, &runner);
    let logs = match runner.run(&groups) {
        Ok(logs) => logs,
        Err(why) => {
            complain!("{why}");
            return exit::FAILED;
        }
    };
    let mut summary = Summary {
        schema_version: SCHEMA_VERSION,
        kind: SummaryKind::Kind,
        setup,
        results: Vec::new(),
        ratios: Vec::new(),
        not_measured: BTreeMap::new(),
    };
    for (group, logs) in groups.iter().zip(&logs) {
        let (measured, ratios, missing) = summarise::group(group, logs);
        summary.results.extend(measured);
        summary.ratios.extend(ratios);
        let disturbed = |name| (name, "the machine disturbed every sample".to_owned());
        summary.not_measured.extend(missing.into_iter().map(disturbed));
    }
    let tables = report::tables(&groups, &summary);
    if let Some(folder) = &args.output {
        let raw = raw(&groups, &logs);
        if let Err(why) = write(folder, &summary, &raw, &report::markdown(&tables, &summary)) {
            complain!("{}: {why}", folder.display());
            return exit::FAILED;
        }
    }
    let text = match args.json {
        true => json(&summary),
        false => report::text(&tables, &summary),
    };
    if let Err(why) = io::Write::write_all(&mut io::stdout().lock(), text.as_bytes()) {
        complain!("standard output: {why}");
        return exit::FAILED;
    }
    if summary.not_measured.is_empty() { exit::OK } else { exit::FAILED }
}

/// The groups of the suites named, or of all.
fn chosen(names: &[String]) -> (Vec<String>, Vec<Group>) {
    let chosen = |suite: &&Suite| names.is_empty() || names.iter().any(|name| name == suite.0);
    let suites = SUITES.iter().filter(chosen);
    suites.clone().map(|suite| suite.0.to_owned()).zip(suites.map(|suite| suite.1())).fold(
        (Vec::new(), Vec::new()),
        |(mut names, mut all), (name, groups)| {
            names.push(name);
            all.extend(groups);
            (names, all)
        },
    )
}

fn raw(groups: &[Group], logs: &[Vec<Log>]) -> Raw {
    let groups = groups.iter().zip(logs).map(|(group, logs)| summarise::raw(group, logs)).collect();
    Raw { schema_version: SCHEMA_VERSION, kind: RawKind::Kind, groups, latencies: Vec::new() }
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
    fs::write(folder.join("summary.md"), markdown)
}
