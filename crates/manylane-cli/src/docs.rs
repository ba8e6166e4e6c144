//! Manual pages and completions, made from the definition in `cli.rs`.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _};

use crate::{
    cli::Cli,
    complain, exit,
    output::print,
    show::{Name, Reason},
};

/// Write a shell's completion script to standard output
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell to complete in
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

/// Write the manual pages
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write one page for each command into DIR, instead of the main page to standard output
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// `manylane completions SHELL`.
pub(crate) fn completions(args: &CompletionsArgs) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "manylane", &mut script);
    print(&script)
}

/// `manylane man [DIR]`.
pub(crate) fn man(args: &ManArgs) -> u8 {
    let command = Cli::command();
    match &args.dir {
        Some(dir) => match clap_mangen::generate_to(command, dir) {
            Ok(()) => exit::OK,
            Err(error) => {
                complain!("{}: {}", Name(dir), Reason(&error));
                exit::FAILED
            }
        },
        None => {
            let mut page = Vec::new();
            match clap_mangen::Man::new(command).render(&mut page) {
                Ok(()) => print(&page),
                Err(error) => {
                    complain!("{}", Reason(&error));
                    exit::FAILED
                }
            }
        }
    }
}
