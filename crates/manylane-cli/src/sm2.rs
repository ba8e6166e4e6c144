//! `manylane sm2`: keys, signatures and encryption.

mod cipher;
mod decrypt;
mod encrypt;
mod keys;
mod password;
mod signature;
mod terminal;

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use clap::{Subcommand, ValueHint};

use crate::{
    cli::When,
    complain, exit,
    output::{self, FileId, Kind, Output},
    show::{Name, Reason},
    source::{Input, Reader},
};

/// SM2 keys, signatures and encryption
///
/// Keys, signatures and ciphertexts are those of GB/T 32918 and GM/T 0009, as OpenSSL, GmSSL,
/// BouncyCastle and others write them. Secret keys are read in PEM or DER (PKCS #8, encrypted or not,
/// and SEC 1) or as hexadecimal digits; public keys in PEM or DER, from certificates (of which
/// nothing is verified), as the bytes of a point or their digits.
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Keygen(keys::KeygenArgs),
    Pub(keys::PubArgs),
    Convert(keys::ConvertArgs),
    Sign(signature::SignArgs),
    Verify(signature::VerifyArgs),
    Encrypt(encrypt::Args),
    Decrypt(decrypt::Args),
}

/// What is read, and where the result goes.
#[derive(Debug, clap::Args)]
struct Streams {
    /// Write the result to FILE instead of standard output
    ///
    /// FILE appears complete or not at all.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    #[command(flatten)]
    input: Operand,
}

/// What is read.
#[derive(Debug, clap::Args)]
struct Operand {
    /// Show progress with the rate, on standard error, for work that takes longer than a second
    ///
    /// `auto` shows it only if standard error is a terminal.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    progress: When,

    /// The file to read; standard input if there is none, or for -
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
}

impl Streams {
    /// Opens both.
    fn open(&self, kind: Kind) -> Result<(Reader, Output), Stop> {
        let output = open_output(kind, self.output.as_deref())?;
        let reader = self.input.open(output.own_files())?;
        Ok((reader, output))
    }
}

impl Operand {
    fn open(&self, own: &[FileId]) -> Result<Reader, Stop> {
        use manylane_engine::Source as _;

        let mut input = Input::given(self.file.clone(), own);
        input.open().map_err(|error| self.unreadable(&error))
    }

    /// Refuses to read the key and the input one after the other from the same place.
    fn keep_apart(&self, key: &Path) -> Result<(), Stop> {
        match key.as_os_str() == "-" && self.file.as_os_str() == "-" {
            true => Err(Stop::usage("standard input holds the key already: name a FILE")),
            false => Ok(()),
        }
    }

    fn unreadable(&self, error: &io::Error) -> Stop {
        Stop::Failed(format!("{}: {}", Name(&self.file), Reason(error)))
    }
}

fn open_output(kind: Kind, path: Option<&Path>) -> Result<Output, Stop> {
    Output::open_as(kind, path).map_err(|error| {
        let path = path.unwrap_or(Path::new("standard output"));
        Stop::Usage(match error.kind() {
            io::ErrorKind::AlreadyExists => {
                format!("{}: exists already; --force replaces it", Name(path))
            }
            _ => format!("{}: {}", Name(path), Reason(&error)),
        })
    })
}

/// Refuses to write what is no text to a terminal.
fn refuse_terminal(output: &Output) -> Result<(), Stop> {
    match output.is_interactive() {
        true => Err(Stop::Usage("no binary data to a terminal: use -o FILE".into())),
        false => Ok(()),
    }
}

/// Why the command ends early.
enum Stop {
    /// It was asked for something that it cannot do.
    Usage(String),
    /// The input cannot be read, or is not what it should be.
    Failed(String),
    /// The output does not take what is written.
    Write(io::Error),
}

impl Stop {
    fn usage(why: impl fmt::Display) -> Self {
        Stop::Usage(why.to_string())
    }

    fn failed(why: impl fmt::Display) -> Self {
        Stop::Failed(why.to_string())
    }
}

/// Runs the command.
pub(crate) fn run(args: Args) -> u8 {
    let done = match args.verb {
        Verb::Keygen(args) => keys::generate(&args),
        Verb::Pub(args) => keys::public(&args),
        Verb::Convert(args) => keys::convert(&args),
        Verb::Sign(args) => signature::sign(&args),
        Verb::Verify(args) => signature::verify(&args),
        Verb::Encrypt(args) => encrypt::run(&args),
        Verb::Decrypt(args) => decrypt::run(&args),
    };
    match done {
        Ok(()) => exit::OK,
        Err(Stop::Usage(why)) => {
            complain!("{why}");
            exit::USAGE
        }
        Err(Stop::Failed(why)) => {
            complain!("{why}");
            exit::FAILED
        }
        Err(Stop::Write(error)) => output::written(Err(error)),
    }
}
