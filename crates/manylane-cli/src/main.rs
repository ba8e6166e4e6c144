//! The `manylane` command.

mod bench;
mod block;
mod cli;
mod docs;
mod environment;
mod filter;
mod info;
mod output;
mod progress;
mod show;
mod sm2;
mod source;
mod standard;
mod sum;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::Parser as _;

use crate::cli::{Cli, Command};

/// Exit statuses, the same for every verb; `cli.rs` documents them.
pub(crate) mod exit {
    /// Everything was done, and everything matched.
    pub(crate) const OK: u8 = 0;
    /// A mismatch, or an input that could not be read.
    pub(crate) const FAILED: u8 = 1;
    /// The command was asked for something it cannot do.
    pub(crate) const USAGE: u8 = 2;
    /// The reader of the output went away: what a shell reports for a process that SIGPIPE ended.
    pub(crate) const PIPE: u8 = 141;
}

/// Writes a diagnostic line, `manylane: …`, to standard error.
///
/// A closed standard error must not end the work, so a failure to write is ignored.
macro_rules! complain {
    ($($what:tt)*) => {{
        use std::io::Write as _;
        let _ = $crate::progress::aside(|| {
            writeln!(std::io::stderr().lock(), "manylane: {}", format_args!($($what)*))
        });
    }};
}
pub(crate) use complain;

fn main() -> ExitCode {
    environment::prepare();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and versions are answers, which somebody waits for.
        Err(answer) if !answer.use_stderr() => {
            return ExitCode::from(output::written(standard::output().and_then(|()| {
                answer.print()?;
                io::stdout().flush()
            })));
        }
        Err(mistake) => {
            let _ = mistake.print();
            return ExitCode::from(exit::USAGE);
        }
    };
    if let Err(name) = manylane::cpu::forced() {
        complain!(
            "{}={name:?}: not a machine that this processor has; `manylane info` without the \
             variable lists them",
            manylane::cpu::FORCE
        );
        return ExitCode::from(exit::USAGE);
    }
    ExitCode::from(match cli.command {
        Command::Sum(args) => sum::run(args),
        Command::Bench(args) => return bench::run(&args),
        Command::Sm2(args) => sm2::run(args),
        Command::Aes(args) => block::aes(args),
        Command::Sm4(args) => block::sm4(args),
        Command::Info(args) => info::run(&args),
        Command::Completions(args) => docs::completions(&args),
        Command::Man(args) => docs::man(&args),
    })
}
