//! `manylane aes` and `manylane sm4`: encryption of files.

mod authenticated;
mod frame;
mod help;
mod key;
mod plan;
mod raw;

use std::{
    num::NonZeroUsize,
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Instant,
};

use clap::{Subcommand, ValueEnum, ValueHint};
use manylane_engine::{Config, Device, Engine, Progress};
use serde::Serialize;

use self::plan::{Plan, Raw};
use crate::{
    cli::jobs,
    complain,
    filter::{Stop, Streams, is_text, refuse_terminal, unreadable_for_people},
    output::{self, Kind, Output},
    progress,
    show::Name,
    source::Reader,
};

/// AES encryption of files
///
/// Without --iv, files are encrypted with authentication, in a format of chunks that is read and written on all
/// cores; up to 256 TiB in a file are recommended. With --iv, what is written is what other programs read.
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct AesArgs {
    #[command(subcommand)]
    verb: AesVerb,
}

/// SM4 encryption of files
///
/// Without --iv, files are encrypted with authentication, in a format of chunks that is read and written on all
/// cores; up to 256 TiB in a file are recommended. With --iv, what is written is what other programs read.
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Sm4Args {
    #[command(subcommand)]
    verb: Sm4Verb,
}

#[derive(Debug, Subcommand)]
enum AesVerb {
    #[command(about = help::ENCRYPT, long_about = help::ENCRYPT_LONG)]
    #[command(after_long_help = help::AES_ENCRYPT)]
    Encrypt(Options),
    #[command(about = help::DECRYPT, long_about = help::DECRYPT_LONG)]
    #[command(after_long_help = help::AES_DECRYPT)]
    Decrypt(Options),
}

#[derive(Debug, Subcommand)]
enum Sm4Verb {
    #[command(about = help::ENCRYPT, long_about = help::ENCRYPT_LONG)]
    #[command(after_long_help = help::SM4_ENCRYPT)]
    Encrypt(Options),
    #[command(about = help::DECRYPT, long_about = help::DECRYPT_LONG)]
    #[command(after_long_help = help::SM4_DECRYPT)]
    Decrypt(Options),
}

// The same for both verbs and both ciphers; what the verbs do is said in `help`.
#[derive(Debug, clap::Args)]
struct Options {
    /// The file of the key: its bytes or their hexadecimal digits
    ///
    /// A file of as many digits as a key has, with a line end or without, is read as
    /// digits; any other is the key itself. The length says which AES it is.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    key_file: PathBuf,

    /// The mode of operation
    #[arg(short, long, value_enum, default_value_t = Mode::Gcm)]
    mode: Mode,

    /// The IV, nonce, first counter or tweak in hexadecimal digits: the file is raw then
    ///
    /// GCM takes any length, best 12 bytes; CCM 7 to 13; the others have 16 bytes. GCM, CCM, CTR and OFB lose all
    /// security if two files have the same one under a key; that of CBC and CFB must not be predictable.
    #[arg(long, value_name = "HEX", value_parser = key::parse_iv)]
    iv: Option<key::Iv>,

    /// Authenticate what this file holds, too; it is needed to decrypt
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    aad: Option<PathBuf>,

    /// The standard of XTS: SM4 has two, AES has IEEE's
    #[arg(long, value_enum, value_name = "STANDARD")]
    xts: Option<Xts>,

    /// Bytes of XTS's data units, whose tweaks are numbers from --iv on (little-endian) [default: one data unit]
    #[arg(long, value_name = "BYTES")]
    sector: Option<usize>,

    /// No PKCS #7 padding in CBC and ECB: the file must be whole blocks of 16 bytes
    #[arg(long)]
    no_padding: bool,

    /// No warning that a mode does not authenticate
    #[arg(short, long)]
    quiet: bool,

    /// Use N threads [default: one for each CPU this process may use]
    #[arg(short, long, value_name = "N", value_parser = jobs())]
    jobs: Option<NonZeroUsize>,

    /// Say on standard error what was done
    #[arg(short, long)]
    verbose: bool,

    /// Write what was done as a line of JSON to standard output; needs -o
    #[arg(long, requires = "output")]
    json: bool,

    #[command(flatten)]
    streams: Streams,
}

/// Modes of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Authenticated; the ciphertext is followed by a tag of 16 bytes if --iv is given
    Gcm,
    /// Authenticated, with --iv only; slower
    Ccm,
    /// A counter of 128 bits, as OpenSSL has it
    Ctr,
    Cbc,
    /// Every block by itself: equal blocks stay equal
    Ecb,
    /// With segments of a block
    Cfb,
    Ofb,
    /// For disks
    Xts,
}

/// Standards of XTS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Xts {
    /// GB/T 17964-2021
    Gb,
    /// IEEE 1619, NIST SP 800-38E
    Ieee,
}

/// Which cipher it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Aes,
    Sm4,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Encrypt,
    Decrypt,
}

/// Runs `manylane aes`.
pub(crate) fn aes(args: AesArgs) -> u8 {
    Stop::status(match args.verb {
        AesVerb::Encrypt(options) => run(Family::Aes, Direction::Encrypt, &options),
        AesVerb::Decrypt(options) => run(Family::Aes, Direction::Decrypt, &options),
    })
}

/// Runs `manylane sm4`.
pub(crate) fn sm4(args: Sm4Args) -> u8 {
    Stop::status(match args.verb {
        Sm4Verb::Encrypt(options) => run(Family::Sm4, Direction::Encrypt, &options),
        Sm4Verb::Decrypt(options) => run(Family::Sm4, Direction::Decrypt, &options),
    })
}

/// One file to be encrypted or decrypted.
struct Job<'a> {
    family: Family,
    direction: Direction,
    options: &'a Options,
    engine: Engine,
    progress: Progress,
    /// Bytes that were read a first time, to be verified.
    verified: AtomicU64,
}

fn run(family: Family, direction: Direction, options: &Options) -> Result<(), Stop> {
    let plan = Plan::of(family, options)?;
    let mut beside = vec![("the key", &*options.key_file)];
    beside.extend(options.aad.as_deref().map(|aad| ("--aad", aad)));
    options.streams.input.keep_apart(&beside)?;
    let key = key::read(&options.key_file, family, plan.key_lens(family))?;
    let aad = options.aad.as_deref().map_or(Ok(Vec::new()), key::read_aad)?;
    let threads = Config { device: Device::Cpu, threads: options.jobs, ..Config::default() };
    let engine = Engine::new(threads).map_err(Stop::usage)?;
    let kind = match direction {
        Direction::Encrypt => Kind::Ordinary,
        Direction::Decrypt => Kind::Private,
    };
    let (mut reader, mut output) = options.streams.open(kind, &beside)?;
    if direction == Direction::Encrypt {
        refuse_terminal(&output)?;
    }
    if let Some(warning) = plan.warning().filter(|_| !options.quiet) {
        complain!("warning: {warning}");
    }
    let job = Job {
        family,
        direction,
        options,
        engine,
        progress: Progress::new(),
        verified: AtomicU64::new(0),
    };
    let begun = Instant::now();
    // What is verified before it is written is read twice.
    let is_twice = direction == Direction::Decrypt && plan.has_one_tag() && !output.is_hidden();
    let total = reader.rest().map(|(_, len)| if is_twice { 2 * len } else { len });
    let counts = progress::Stream(&job.progress);
    progress::during(options.streams.input.progress, &counts, total, || {
        job.run(&plan, &key, &aad, &mut reader, &mut output)
    })?;
    output.finish().map_err(Stop::Write)?;
    job.report(&plan, key.len(), begun)
}

impl Job<'_> {
    fn run(
        &self,
        plan: &Plan,
        key: &[u8],
        aad: &[u8],
        reader: &mut Reader,
        output: &mut Output,
    ) -> Result<(), Stop> {
        if let Plan::Frame = plan {
            return frame::run(self, key, aad, reader, output);
        }
        raw::run(self, plan, key, aad, reader, output)
    }

    /// Bytes of the input: those of a verifying pass are on the way only, not in the file.
    fn bytes_read(&self) -> u64 {
        self.progress.bytes() - self.verified.load(Relaxed)
    }

    /// Says what was done, as far as that was asked for.
    fn report(&self, plan: &Plan, key_len: usize, begun: Instant) -> Result<(), Stop> {
        let Options { streams, mode, .. } = self.options;
        let cipher = match (self.family, plan) {
            (Family::Sm4, _) => "SM4".to_owned(),
            (Family::Aes, Plan::Raw(Raw::Xts { .. })) => format!("AES-{}", 4 * key_len),
            (Family::Aes, _) => format!("AES-{}", 8 * key_len),
        };
        let mode = mode.to_possible_value().expect("no mode is hidden").get_name().to_owned();
        let framed = matches!(plan, Plan::Frame);
        let (bytes, seconds) = (self.bytes_read(), begun.elapsed().as_secs_f64());
        if self.options.verbose {
            complain!(
                "{}: {cipher}, {mode}{}, {bytes} bytes read in {seconds:.3} s{}",
                Name(&streams.input.file),
                if framed { " in chunks" } else { "" },
                match plan.is_serial(self.direction) {
                    true => ", computed by one thread".to_owned(),
                    false => format!(" by up to {} threads", self.engine.threads()),
                }
            );
        }
        if !self.options.json {
            return Ok(());
        }
        let record = Record {
            name: streams.input.file.to_string_lossy(),
            output: streams.output.as_ref().map(|path| path.to_string_lossy()),
            cipher,
            mode,
            framed,
            bytes_read: bytes,
            seconds,
        };
        let mut line = serde_json::to_vec(&record).expect("text and numbers");
        line.push(b'\n');
        output::write(&line).map_err(Stop::Write)
    }
}

/// The line of `--json`.
#[derive(Serialize)]
struct Record<'a> {
    name: std::borrow::Cow<'a, str>,
    output: Option<std::borrow::Cow<'a, str>>,
    cipher: String,
    mode: String,
    framed: bool,
    bytes_read: u64,
    seconds: f64,
}

/// A message for a terminal: shown if it turns out to be a short text.
struct Screen(zeroize::Zeroizing<Vec<u8>>);

impl Screen {
    /// Bytes of text that a person may want to see at once.
    const MOST: usize = 1 << 20;

    fn new() -> Self {
        Screen(zeroize::Zeroizing::new(Vec::with_capacity(Screen::MOST)))
    }

    /// Shows the message, now that it has been verified.
    fn show(self, output: &mut Output) -> Result<(), Stop> {
        use std::io::Write as _;

        match is_text(&self.0) {
            true => output.write_all(&self.0).map_err(Stop::Write),
            false => Err(unreadable_for_people()),
        }
    }
}

impl std::io::Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if bytes.len() > Screen::MOST - self.0.len() {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
