//! `manylane sum`: prints or checks the digests of files and trees.

mod algorithm;
mod check;
mod key;
mod operands;
mod records;
mod report;
mod walk;

use std::{
    fs::Metadata,
    io::{self, IsTerminal as _},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use clap::{
    ValueHint,
    builder::{OsStringValueParser, TypedValueParser as _},
};
use manylane_cli::lines::{End, Style};
use manylane_engine::{Config, Engine, Function, Progress};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use self::{
    algorithm::{Algorithm, Choice},
    check::Checker,
    operands::Operands,
    report::{Form, Report},
};
use crate::{
    cli::Common,
    complain, exit,
    output::{self, Output},
    progress,
    show::{Name, Reason},
};

/// Print or check the digests of files and trees
///
/// Many files are hashed at once: small ones side by side in the lanes of the vector unit, on all
/// cores, and on GPUs where there are any (see --device). With most algorithms one file is one serial
/// stream: each block needs the result of the one before it, so no number of cores, lanes or GPUs makes a
/// single file faster. KT128 (k12) and KT256 are trees: all cores take part in one long file.
///
/// Results come in the order of the arguments, and below a directory in the byte order of the full
/// paths, whatever the number of threads. A file that cannot be read, or that is written to while it
/// is read, gives a message instead of a digest; all others are still summed, and the exit status is
/// 1.
///
/// With -r, hidden files are included, symbolic links are passed over (see --follow), and so are
/// pipes, sockets and devices; what is named itself is read whatever it is. The file that the output
/// goes to is left out.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The algorithm [default: sm3]
    ///
    /// With -c, lines that name an algorithm are checked by it, unless one is given here: then only lines of
    /// that are read.
    #[arg(short, long, value_enum, value_name = "ALG")]
    algorithm: Option<Algorithm>,

    /// Bits of a digest, a multiple of 8 up to 512, for shake128 and others that have any length
    ///
    /// Without it shake128, turboshake128 and kt128 have 256, and shake256, turboshake256 and kt256 have 512.
    /// With -c, lines that name their algorithm may have digests of any length unless this is given.
    #[arg(short, long, value_name = "BITS")]
    length: Option<usize>,

    /// Take directories with everything below them, in byte order of the full paths
    #[arg(short, long)]
    recursive: bool,

    /// Leave out what matches GLOB; may be given more than once
    ///
    /// Without `/`, GLOB is compared with the last component of every path below FILE; with `/`,
    /// with the whole path below FILE, where `*` does not match `/` but `**` does. `?` and `[…]` match
    /// one byte. A directory that matches is left out with everything below it; with `/` at its end,
    /// GLOB matches directories only.
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

    /// Compute HMACs under the key in F, with sm3, a sha3 or keccak-256
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
    // The parser that `PathBuf` has of itself refuses the empty name, which is a file like any other
    // that does not exist.
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath)]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from))]
    files: Vec<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  manylane sum *.iso                    lines that `cksum -a sm3 --check` reads
  manylane sum -a sha3-256 *.iso        the same for `cksum --check`
  manylane sum -a k12 huge.img          one long file on all cores
  manylane sum -r /usr/share > SM3SUMS  a whole tree
  manylane sum -c SM3SUMS               compare the files with their digests
  manylane sum -c --quiet SM3SUMS       the same, but say only what differs
  manylane sum -r --exclude .git --exclude '*.o' -o ../SM3SUMS .
  find . -newer stamp -type f -print0 | manylane sum --files0-from -
  manylane sum --hmac-key-file key.bin backup.tar
  openssl dgst -sha3-512 *.iso | manylane sum -c

JSON:
  Without -c, an object has name, algorithm, digest and size (bytes read), or name and error.
  With -c, it has name, algorithm and status: ok, failed or unreadable, the last with error.
  A name that is not UTF-8 is followed by name_hex, its bytes as hexadecimal digits.

Exit status:
  0    every file was read, and with -c every file matched
  1    a file could not be read or did not match
  2    wrong usage or configuration
  141  the reader of the output went away (a closed pipe)";

/// Options of `manylane sum --check`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Checking")]
struct Check {
    /// Read lists of digests from the FILEs and check the files that they name
    ///
    /// Each line may be `SM3 (name) = digest` or `digest  name` as `manylane sum` and `cksum -a sm3`
    /// write them, with escaped names or without, or `SM3(name)= digest` or `digest *name` as
    /// `openssl dgst` does; likewise SHA3-256 and the others. A line without a name of an algorithm is of
    /// --algorithm. With --hmac-key-file the digests are HMACs, tagged HMAC-SM3 and so on.
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
    #[arg(short, long, requires = "check")]
    warn: bool,

    /// Pass over files that do not exist
    #[arg(long, requires = "check")]
    ignore_missing: bool,
}

impl Check {
    fn options(&self) -> check::Options {
        let Check { check: _, strict, status, quiet, warn, ignore_missing } = *self;
        check::Options { strict, status, quiet, warn, ignore_missing }
    }
}

/// Why the command ends early.
enum Stop {
    /// It was asked for something that it cannot do.
    Usage(String),
    /// The output does not take what is written.
    Write(io::Error),
}

/// Runs the command.
pub(crate) fn run(args: Args) -> u8 {
    match try_run(args) {
        Ok(true) => exit::OK,
        Ok(false) => exit::FAILED,
        Err(Stop::Usage(why)) => {
            complain!("{why}");
            exit::USAGE
        }
        Err(Stop::Write(error)) => output::written(Err(error)),
    }
}

/// Whether everything could be read and matched.
fn try_run(args: Args) -> Result<bool, Stop> {
    let choice = Choice::new(args.algorithm, args.length, args.hmac_key_file.is_some());
    let choice = choice.map_err(Stop::Usage)?;
    allow_more_files();
    let common = &args.common;
    let config = Config { device: common.device, threads: common.jobs, ..Config::default() };
    let engine = Engine::new(config).map_err(|error| Stop::Usage(error.to_string()))?;
    let key = args.hmac_key_file.as_ref().map(|file| key::read(file, common.verbose)).transpose();
    let key = key.map_err(Stop::Usage)?;
    let function = |kind, len| algorithm::function(kind, len, key.as_ref().map(|key| &key[..]));
    let walking = walk::Options {
        exclude: globs(&args.exclude)?,
        follow: args.follow,
        one_file_system: args.one_file_system,
        verbose: common.verbose,
        spare: walk::Spare::default(),
    };
    let mut output = Output::open(common.output.as_deref()).map_err(|error| {
        let path = common.output.as_deref().unwrap_or(Path::new("standard output"));
        Stop::Usage(format!("{}: {}", Name(path), Reason(&error)))
    })?;

    let own = output.own_files().to_vec();
    let form = match common.json {
        true => Form::Json,
        false => Form::Lines(
            if args.untagged { Style::Untagged } else { Style::Tagged(choice.kind()) },
            if args.zero { End::Nul } else { End::Newline },
        ),
    };
    let mut report = Report::new(&mut output, form, choice.kind());
    let counts = Progress::new();
    let all_fine = if args.check.check {
        let checker = Checker {
            engine: &engine,
            function: &function,
            choice,
            progress: &counts,
            options: args.check.options(),
            own: &own,
        };
        progress::during(common.progress, &counts, None, || {
            check_lists(&checker, args.files, &mut report)
        })
    } else {
        let nothing_named = args.files.is_empty() && args.files0_from.is_none();
        if args.recursive && nothing_named && io::stdin().is_terminal() {
            complain!("reading standard input; for the files below this directory, name it: .");
        }
        let recursive = args.recursive.then_some(&walking);
        let total = if args.recursive { None } else { total_len(&args.files) };
        let operands = match args.files0_from {
            Some(list) => Operands::listed(list, recursive, &own),
            None => Operands::given(args.files, recursive, &own),
        };
        progress::during(common.progress, &counts, total, || {
            let function = function(choice.kind(), choice.digest_len());
            print(&engine, &function, &counts, operands, &mut report)
        })
    }
    .map_err(Stop::Write);
    tell(&engine, choice, common.verbose);
    let all_fine = all_fine?;
    output.finish().map_err(Stop::Write)?;
    Ok(all_fine)
}

/// Says which devices failed, and, if asked to, which did what.
fn tell(engine: &Engine, choice: Choice, verbose: bool) {
    for warning in engine.warnings() {
        complain!("warning: {warning}");
    }
    if verbose {
        let explained = engine.explain(choice.kind().algorithm);
        explained.to_string().lines().for_each(|line| complain!("{line}"));
        for share in engine.shares().iter().filter(|share| share.messages > 0) {
            complain!("{}: {} messages, {} bytes", share.device, share.messages, share.bytes);
        }
    }
}

/// Raises the number of files that may be open to what this process may ask for: the usual one is
/// made for programs that wait with select(2), and a machine with many lanes and cores needs more.
fn allow_more_files() {
    let limit = getrlimit(Resource::Nofile);
    // If it is refused, fewer are open at a time.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

fn globs(patterns: &[String]) -> Result<Vec<walk::Glob>, Stop> {
    let glob = |pattern: &String| {
        walk::Glob::new(pattern).map_err(|error| Stop::Usage(format!("--exclude: {error}")))
    };
    patterns.iter().map(glob).collect()
}

/// Bytes of all files together, where each of them is a regular file.
fn total_len(files: &[PathBuf]) -> Option<u64> {
    let len = |file: &PathBuf| file.metadata().ok().filter(Metadata::is_file).map(|m| m.len());
    if files.is_empty() { None } else { files.iter().map(len).sum() }
}

/// Prints the digest of each input; whether all have one.
fn print(
    engine: &Engine,
    function: &Function,
    counts: &Progress,
    operands: Operands<'_>,
    report: &mut Report<'_>,
) -> io::Result<bool> {
    let mut all_fine = true;
    let all = engine.hash_sources(function, counts, operands, |done| {
        let name = done.source.name();
        let written = match &done.result {
            Ok(summary) => report.digest(name, summary),
            Err(error) => {
                all_fine = false;
                report.error(name, error)
            }
        };
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    });
    match all {
        ControlFlow::Continue(()) => Ok(all_fine),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Checks one list after the other; whether all are fine.
fn check_lists(
    checker: &Checker<'_>,
    mut lists: Vec<PathBuf>,
    report: &mut Report<'_>,
) -> io::Result<bool> {
    if lists.is_empty() {
        lists.push("-".into());
    }
    let mut all_fine = true;
    for list in &lists {
        all_fine &= checker.check(list, report)?;
    }
    Ok(all_fine)
}
