//! `manylane bench`: measures suites of contenders on this machine, and compares two runs.

use std::{path::PathBuf, process::ExitCode};

use clap::{Args as ClapArgs, Subcommand};

/// Arguments of `manylane bench`.
#[derive(ClapArgs, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    /// Suites to run; all of them by default
    #[arg(value_name = "SUITE")]
    suites: Vec<String>,

    /// Fewer and shorter samples: a look, not a figure to quote
    #[arg(long)]
    quick: bool,

    /// Write setup.json, raw.json, summary.json and summary.md into this folder
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Print the summary as JSON instead of tables
    #[arg(long)]
    json: bool,

    /// Fail if one of these machines cannot run here
    #[arg(long, value_name = "MACHINE", value_delimiter = ',')]
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

/// Runs the command: 0 if all went well, 1 if something was slower or could not be measured,
/// 2 if the arguments make no sense.
pub(crate) fn run(args: &Args) -> ExitCode {
    eprintln!("manylane: bench: not measured yet: {args:?}");
    ExitCode::from(2)
}
