//! What verbs share that read one input and write one output.

use std::{
    fmt,
    fs::{File, Metadata},
    io::{self, Read, Seek as _, SeekFrom, Write as _},
    os::{
        fd::AsFd as _,
        unix::fs::{FileExt as _, FileTypeExt as _},
    },
    path::{Path, PathBuf},
};

use clap::ValueHint;
use zeroize::Zeroizing;

use crate::{
    cli::When,
    complain, exit,
    output::{self, FileId, Kind, Output},
    show::{Name, Reason},
    source::{Input, Reader},
    standard,
};

/// What is read, and where the result goes.
#[derive(Debug, clap::Args)]
pub(crate) struct Streams {
    /// Write the result to FILE instead of standard output
    ///
    /// FILE appears complete or not at all.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) input: Operand,
}

/// What is read.
#[derive(Debug, clap::Args)]
pub(crate) struct Operand {
    /// Show progress with the rate, on standard error, for work that takes longer than a second
    ///
    /// `auto` shows it only if standard error is a terminal.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    pub(crate) progress: When,

    /// The file to read; standard input if there is none, or for -
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

/// A file that is read besides the input: what it holds, and its name.
pub(crate) type Beside<'a> = (&'static str, &'a Path);

impl Streams {
    /// Opens both, unless the output would take the place of a file that is read besides.
    pub(crate) fn open(&self, kind: Kind, beside: &[Beside]) -> Result<(Reader, Output), Stop> {
        let output = open_output(kind, self.output.as_deref())?;
        let is_own = |metadata: Metadata| output.own_files().contains(&FileId::of(&metadata));
        for (what, path) in beside {
            if metadata(path).is_ok_and(is_own) {
                let name = Name(path);
                return Err(Stop::Usage(format!("{name}: the output file holds {what}")));
            }
        }
        let reader = self.input.open(output.own_files())?;
        Ok((reader, output))
    }
}

impl Operand {
    pub(crate) fn open(&self, own: &[FileId]) -> Result<Reader, Stop> {
        use manylane_engine::Source as _;

        let mut input = Input::given(self.file.clone(), own);
        input.open().map_err(|error| self.unreadable(&error))
    }

    /// Refuses to read two of these one after the other from what can be read once only: the second would seem to be
    /// empty.
    pub(crate) fn keep_apart(&self, beside: &[Beside]) -> Result<(), Stop> {
        let all = [beside, &[("FILE", &self.file)]].concat();
        let once: Vec<_> = all.iter().filter_map(|(_, path)| Once::of(path)).collect();
        let two = |is_same: fn(&Once, &Once) -> bool| {
            once.iter().enumerate().any(|(i, a)| once[..i].iter().any(|b| is_same(a, b)))
        };
        let what = if two(|a, b| a.is_stdin && b.is_stdin) {
            "standard input"
        } else if two(|a, b| a.pipe.is_some() && a.pipe == b.pipe) {
            "a pipe"
        } else {
            return Ok(());
        };
        let names: Vec<_> = beside.iter().map(|(what, _)| *what).collect();
        Err(Stop::Usage(format!("{what} can be only one of {} and FILE", names.join(", "))))
    }

    pub(crate) fn unreadable(&self, error: &io::Error) -> Stop {
        self.failed(Reason(error))
    }

    /// What is wrong with the input.
    pub(crate) fn failed(&self, why: impl fmt::Display) -> Stop {
        Stop::Failed(format!("{}: {why}", Name(&self.file)))
    }
}

/// What can be read once only.
struct Once {
    is_stdin: bool,
    pipe: Option<FileId>,
}

impl Once {
    fn of(path: &Path) -> Option<Self> {
        let names = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
        let is_stdin = names.iter().any(|name| path.as_os_str() == *name);
        let is_pipe = |metadata: &Metadata| metadata.file_type().is_fifo();
        let pipe = metadata(path).ok().filter(is_pipe).map(|metadata| FileId::of(&metadata));
        (is_stdin || pipe.is_some()).then_some(Once { is_stdin, pipe })
    }
}

/// Of what a name on the command line stands for.
fn metadata(path: &Path) -> io::Result<Metadata> {
    match path.as_os_str() == "-" {
        true => File::from(io::stdin().as_fd().try_clone_to_owned()?).metadata(),
        false => path.metadata(),
    }
}

pub(crate) fn open_output(kind: Kind, path: Option<&Path>) -> Result<Output, Stop> {
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
pub(crate) fn refuse_terminal(output: &Output) -> Result<(), Stop> {
    match output.is_interactive() {
        true => Err(Stop::Usage("no binary data to a terminal: use -o FILE".into())),
        false => Ok(()),
    }
}

/// Whether a terminal shows it as it is: nothing that moves, hides or reorders what is beside it.
pub(crate) fn is_text(message: &[u8]) -> bool {
    let is_shown = |char: char| match char {
        '\n' | '\t' => true,
        // Unicode's format characters (Cf): of no width, or of another direction; and its separators of lines.
        '\u{ad}'
        | '\u{600}'..='\u{605}'
        | '\u{61c}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'..='\u{891}'
        | '\u{8e2}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{110bd}'
        | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e007f}' => false,
        _ => !char.is_control(),
    };
    std::str::from_utf8(message).is_ok_and(|text| text.chars().all(is_shown))
}

pub(crate) fn unreadable_for_people() -> Stop {
    Stop::usage("no binary data, nor a long message, to a terminal: use -o FILE")
}

/// Why the command ends early.
pub(crate) enum Stop {
    /// It was asked for something that it cannot do.
    Usage(String),
    /// The input cannot be read, or is not what it should be.
    Failed(String),
    /// The output does not take what is written.
    Write(io::Error),
}

impl Stop {
    pub(crate) fn usage(why: impl fmt::Display) -> Self {
        Stop::Usage(why.to_string())
    }

    pub(crate) fn failed(why: impl fmt::Display) -> Self {
        Stop::Failed(why.to_string())
    }

    /// The exit status when the command is done or ended early, which is said.
    pub(crate) fn status(done: Result<(), Stop>) -> u8 {
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
}

/// Reads a file that may hold a key; - is standard input. One that is longer than `longest` bytes is refused.
pub(crate) fn read_secret(path: &Path, longest: usize) -> Result<Zeroizing<Vec<u8>>, Stop> {
    let unusable = |why: &dyn fmt::Display| Stop::Usage(format!("{}: {why}", Name(path)));
    let open = || match path.as_os_str() == "-" {
        true => {
            standard::input()?;
            Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
        }
        false => File::open(path),
    };
    let bytes = open()
        .and_then(|mut file| read_start(&mut file, longest + 1))
        .map_err(|error| unusable(&Reason(&error)))?;
    match bytes.len() > longest {
        true => Err(unusable(&format_args!("longer than {longest} bytes"))),
        false => Ok(bytes),
    }
}

/// Reads `most` bytes or to the end, into memory that leaves no copies behind where it grows.
pub(crate) fn read_start(reader: &mut dyn Read, most: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    const FIRST: usize = 4 << 10;
    let mut bytes = Zeroizing::new(vec![0; most.min(FIRST)]);
    let mut len = 0;
    loop {
        len += read_full(reader, &mut bytes[len..])?;
        if len < bytes.len() || len == most {
            bytes.truncate(len);
            return Ok(bytes);
        }
        let mut grown = Zeroizing::new(vec![0; most.min(2 * len)]);
        grown[..len].copy_from_slice(&bytes);
        bytes = grown;
    }
}

/// Fills the buffer, or reads to the end: the number of bytes.
pub(crate) fn read_full(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match reader.read(&mut buffer[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

/// A file without a name, in the folder for such files, that only this user may read.
pub(crate) fn spool() -> Result<File, Stop> {
    tempfile::tempfile().map_err(|error| spooling(&error))
}

/// Why something could not be kept in a temporary file.
pub(crate) fn spooling(error: &io::Error) -> Stop {
    Stop::Failed(format!("a temporary file in TMPDIR: {}", Reason(error)))
}

/// An input that can be read more than once: a ciphertext, since what is kept of a pipe is on a disk.
pub(crate) struct Kept {
    pub(crate) file: File,
    /// Where it begins.
    pub(crate) start: u64,
    pub(crate) len: u64,
}

impl Kept {
    /// All of the input: `start`, which has been read, and what follows it. `rest` is what the reader said of itself
    /// before.
    pub(crate) fn new(
        operand: &Operand,
        rest: Option<(u64, u64)>,
        start: &[u8],
        reader: &mut Reader,
    ) -> Result<Self, Stop> {
        // Files that the kernel makes up do not have the length that they say.
        if let Some((at, len)) = rest.filter(|(_, len)| *len >= start.len() as u64) {
            let file = reader.file().try_clone().map_err(|error| operand.unreadable(&error))?;
            return Ok(Kept { file, start: at, len });
        }
        let mut spool = spool()?;
        spool.write_all(start).map_err(|error| spooling(&error))?;
        let (mut buffer, mut len) = (vec![0; 1 << 20], start.len() as u64);
        loop {
            let read =
                read_full(reader, &mut buffer).map_err(|error| operand.unreadable(&error))?;
            if read == 0 {
                return Ok(Kept { file: spool, start: 0, len });
            }
            spool.write_all(&buffer[..read]).map_err(|error| spooling(&error))?;
            len += read as u64;
        }
    }

    /// The file, to be read from the kept input's byte `offset` on.
    pub(crate) fn at(&self, offset: u64) -> io::Result<&File> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.start + offset))?;
        Ok(file)
    }

    /// Reads all of `buffer` from the kept input's byte `offset` on, wherever the file is read.
    pub(crate) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, self.start + offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_not_show_is_no_text() {
        for text in ["", "plain\n\ttext", "全角 ü é", "1 < 2"] {
            assert!(is_text(text.as_bytes()), "{text:?}");
        }
        let hidden = [
            "\u{1b}[31m",
            "\r",
            "\u{9b}",
            "\u{202e}",
            "\u{2066}",
            "\u{200b}",
            "\u{200d}",
            "\u{feff}",
            "\u{2028}",
            "\u{e0041}",
        ];
        for text in hidden {
            assert!(!is_text(format!("a{text}b").as_bytes()), "{text:?}");
        }
        assert!(!is_text(b"\xff"));
    }

    #[test]
    fn the_start_is_read_whole_or_as_far_as_asked() {
        let text: Vec<u8> = (0..20_000u32).map(|i| i as u8 ^ (i >> 8) as u8).collect();
        for len in [0, 1, 4095, 4096, 4097, 8192, 20_000] {
            for most in [1, 4095, 4096, 4097, 12_288, 20_000, 1 << 20] {
                // In pieces, as from a pipe.
                let mut reader = text[..len / 3].chain(&text[len / 3..len]);
                let read = read_start(&mut reader, most).unwrap();
                assert!(*read == text[..len.min(most)], "{most} of {len}");
                let mut rest = Vec::new();
                reader.read_to_end(&mut rest).unwrap();
                assert!(rest == text[len.min(most)..len], "{most} of {len}");
            }
        }
    }
}
