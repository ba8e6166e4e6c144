//! `manylane sum`: prints or checks the digests of files and trees.

use std::path::PathBuf;

use clap::{ArgAction, ValueEnum};

use crate::{cli::Common, exit};

/// Arguments of `manylane sum`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The algorithm
    #[arg(short, long, value_enum, value_name = "ALG", default_value_t = Algorithm::Sm3)]
    algorithm: Algorithm,

    /// Take directories with everything below them, in byte order of the full paths
    #[arg(short, long)]
    recursive: bool,

    /// Leave out what matches GLOB; may be given more than once
    ///
    /// Without `/`, GLOB is compared with the last component of every path below FILE; with `/`,
    /// with the whole path below FILE, where `*` and `?` do not match `/` but `**` does. A directory
    /// that matches is left out with everything below it.
    #[arg(long, value_name = "GLOB", requires = "recursive")]
    exclude: Vec<String>,

    /// Follow symbolic links found below FILE (those that are named are always followed)
    #[arg(long, requires = "recursive")]
    follow: bool,

    /// Do not enter directories of other file systems than FILE's
    #[arg(long, requires = "recursive")]
    one_file_system: bool,

    /// Write lines like `SM3 (name) = digest` (the default)
    #[arg(long, conflicts_with_all = ["untagged", "json", "check"])]
    tag: bool,

    /// Write lines like `digest  name`
    #[arg(long, conflicts_with_all = ["json", "check"])]
    untagged: bool,

    /// End lines with NUL instead of newline and write names as they are
    #[arg(short, long, conflicts_with_all = ["json", "check"])]
    zero: bool,

    /// Take the names of the files from F, each ended by NUL; from standard input if F is -
    #[arg(long, value_name = "F", conflicts_with_all = ["check", "files"])]
    files0_from: Option<PathBuf>,

    /// Compute HMACs under the key in F
    ///
    /// The key is the bytes of F as they are, whatever their number, a newline at the end
    /// included. For a key written as hexadecimal digits give hex:F; blanks and newlines in it do
    /// not count. (A file whose name begins with `hex:` is ./hex:…)
    #[arg(long, value_name = "F")]
    hmac_key_file: Option<PathBuf>,

    /// Read files without mapping them into memory
    ///
    /// No file is mapped in this version, so this changes nothing.
    #[arg(long)]
    no_mmap: bool,

    #[command(flatten)]
    check: Check,

    #[command(flatten)]
    common: Common,

    /// Files to read; standard input if there is none, or for -
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Options of `manylane sum --check`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Checking")]
struct Check {
    /// Read lists of digests from the FILEs and check the files that they name
    #[arg(short, long, conflicts_with = "recursive")]
    check: bool,

    /// Fail if a line of a list is not understood
    #[arg(long, requires = "check")]
    strict: bool,

    /// Print nothing; the exit status says it all
    #[arg(long, requires = "check")]
    status: bool,

    /// Print no OK for files that match
    #[arg(long, requires = "check")]
    quiet: bool,

    /// Point out each line that is not understood
    #[arg(short, long, requires = "check", action = ArgAction::SetTrue)]
    warn: bool,

    /// Pass over files that do not exist
    #[arg(long, requires = "check")]
    ignore_missing: bool,
}

/// The algorithms of `manylane sum`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Algorithm {
    Sm3,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> u8 {
    let _ = args;
    exit::OK
}
