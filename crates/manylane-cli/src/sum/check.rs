//! `manylane sum --check`: the files that a list names, against the digests that it gives them.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader},
    ops::ControlFlow,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use manylane::hash::Digest;
use manylane_cli::lines::{self, Entry, Kind, Malformed};
use manylane_engine::{Done, Engine, Function, Progress, ReadAt, Source};

use super::{
    algorithm::Choice,
    records::Records,
    report::{Report, Verdict},
};
use crate::{
    complain,
    output::FileId,
    show::{Name, Reason},
    source::{Input, Reader},
    standard,
};

/// What counts as a failure, and what is said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) strict: bool,
    pub(super) status: bool,
    pub(super) quiet: bool,
    pub(super) warn: bool,
    pub(super) ignore_missing: bool,
}

/// What is needed to check any list.
pub(super) struct Checker<'a> {
    pub(super) engine: &'a Engine,
    /// The function whose digests are of a kind and have so many bytes.
    pub(super) function: &'a dyn Fn(Kind, usize) -> Function,
    pub(super) choice: Choice,
    pub(super) progress: &'a Progress,
    pub(super) options: Options,
    pub(super) own: &'a [FileId],
}

/// Files of one list, by what became of them.
#[derive(Default)]
struct Tally {
    matched: u64,
    mismatched: u64,
    unreadable: u64,
}

impl Checker<'_> {
    /// Checks the files of one list; whether that list is fine.
    ///
    /// # Errors
    /// If the report cannot be written.
    pub(super) fn check(&self, list: &Path, report: &mut Report<'_>) -> io::Result<bool> {
        let mut lines = match Lines::open(list, self) {
            Ok(lines) => lines,
            Err(error) => {
                complain!("{}: {}", Name(list), Reason(&error));
                return Ok(false);
            }
        };
        let mut tally = Tally::default();
        // A run computes one function; where the next line has another one, the next run begins.
        while let Some((kind, len)) = lines.of_next() {
            let function = (self.function)(kind, len);
            let all = self.engine.hash_sources(&function, self.progress, &mut lines, |done| {
                match self.judge(done, &mut tally, report) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => ControlFlow::Break(error),
                }
            });
            if let ControlFlow::Break(error) = all {
                return Err(error);
            }
        }
        Ok(self.conclude(&lines, &tally))
    }

    fn judge(
        &self,
        done: Done<Listed<'_>>,
        tally: &mut Tally,
        report: &mut Report<'_>,
    ) -> io::Result<()> {
        let name = done.source.input.name();
        let options = &self.options;
        let verdict = match &done.result {
            Ok(summary) if is_same(&summary.digest, &done.source.digest) => {
                tally.matched += 1;
                Verdict::Ok
            }
            Ok(_) => {
                tally.mismatched += 1;
                Verdict::Failed
            }
            Err(error) => {
                if options.ignore_missing && error.kind() == io::ErrorKind::NotFound {
                    return Ok(());
                }
                complain!("{}: {}", Name(name), Reason(error));
                tally.unreadable += 1;
                Verdict::Unreadable
            }
        };
        match options.status || options.quiet && verdict == Verdict::Ok {
            true => Ok(()),
            false => report.verdict(name, done.source.kind, verdict, done.result.as_ref().err()),
        }
    }

    /// Says what the list came to; whether it is fine.
    fn conclude(&self, lines: &Lines<'_>, tally: &Tally) -> bool {
        let Options { strict, status, ignore_missing, .. } = self.options;
        if let Some(error) = &lines.error {
            complain!("{}: {}", Name(lines.list), Reason(error));
        }
        if lines.entries == 0 && lines.of_other_kind == 0 {
            if lines.error.is_none() {
                complain!("{}: no properly formatted checksum lines found", Name(lines.list));
            }
            return false;
        }
        if !status {
            warn(lines.malformed, "line is", "lines are", "improperly formatted");
            let (one, many, what) = match self.choice.is_hmac {
                false => ("line is an HMAC", "lines are HMACs", "without --hmac-key-file"),
                true => ("line is", "lines are", "without an HMAC in spite of --hmac-key-file"),
            };
            warn(lines.of_other_kind, one, many, what);
            warn(tally.unreadable, "listed file", "listed files", "could not be read");
            let [one, many] = ["computed checksum did", "computed checksums did"];
            warn(tally.mismatched, one, many, "NOT match");
            if ignore_missing && tally.matched == 0 {
                complain!("{}: no file was verified", Name(lines.list));
            }
        }
        tally.matched > 0
            && tally.mismatched == 0
            && tally.unreadable == 0
            && lines.of_other_kind == 0
            && lines.error.is_none()
            && (!strict || lines.malformed == 0)
    }
}

fn warn(count: u64, one: &str, many: &str, what: &str) {
    if count > 0 {
        complain!("WARNING: {count} {} {what}", if count == 1 { one } else { many });
    }
}

/// Compares in a time that does not depend on where the two differ: one may be an HMAC that
/// whoever wrote the list would like to learn.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b));
    a.len() == b.len() && std::hint::black_box(difference) == 0
}

/// A file of a list, with the digest that it should have.
struct Listed<'a> {
    input: Input<'a>,
    kind: Kind,
    digest: Digest,
}

impl Source for Listed<'_> {
    type Reader = Reader;

    fn open(&mut self) -> io::Result<Reader> {
        self.input.open()
    }

    fn len_hint(&self) -> Option<u64> {
        self.input.len_hint()
    }

    fn open_len(&self, reader: &Reader) -> Option<u64> {
        self.input.open_len(reader)
    }

    fn at_any_offset(&self, reader: &Reader) -> Option<Arc<dyn ReadAt>> {
        self.input.at_any_offset(reader)
    }

    fn opens_again(&self) -> bool {
        self.input.opens_again()
    }

    fn may_wait(&self) -> bool {
        self.input.may_wait()
    }
}

/// The files of a list, read as they are needed.
struct Lines<'a> {
    list: &'a Path,
    is_stdin: bool,
    records: Records<Box<dyn BufRead + Send>>,
    choice: Choice,
    warn: bool,
    own: &'a [FileId],
    /// What the digests of this run are of, and their bytes.
    of_run: Option<(Kind, usize)>,
    /// What was read and belongs to the next run.
    ahead: Option<Listed<'a>>,
    /// Lines that name a file.
    entries: u64,
    /// Lines that are not understood.
    malformed: u64,
    /// Lines with a digest where an HMAC is due, or the other way round.
    of_other_kind: u64,
    /// Why the list could not be read to its end.
    error: Option<io::Error>,
}

impl<'a> Lines<'a> {
    fn open(list: &'a Path, checker: &Checker<'a>) -> io::Result<Self> {
        let is_stdin = list.as_os_str() == "-";
        let reader: Box<dyn BufRead + Send> = match is_stdin {
            true => {
                standard::input()?;
                Box::new(BufReader::new(io::stdin()))
            }
            false => Box::new(BufReader::new(File::open(list)?)),
        };
        Ok(Lines {
            list,
            is_stdin,
            records: Records::new(reader, b'\n'),
            choice: checker.choice,
            warn: checker.options.warn,
            own: checker.own,
            of_run: None,
            ahead: None,
            entries: 0,
            malformed: 0,
            of_other_kind: 0,
            error: None,
        })
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Listed<'a>;

    /// The next file of this run.
    fn next(&mut self) -> Option<Listed<'a>> {
        let next = self.ahead.take().or_else(|| self.read())?;
        if self.of_run == Some(next.of()) {
            return Some(next);
        }
        self.ahead = Some(next);
        None
    }
}

impl<'a> Lines<'a> {
    /// Begins a run with the next file, if there is one: says what its digest is of.
    fn of_next(&mut self) -> Option<(Kind, usize)> {
        self.ahead = self.ahead.take().or_else(|| self.read());
        self.of_run = self.ahead.as_ref().map(Listed::of);
        self.of_run
    }

    /// The next file.
    fn read(&mut self) -> Option<Listed<'a>> {
        let choice = self.choice;
        while self.error.is_none() {
            let (number, line) = match self.records.next()? {
                Ok(record) => record,
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            };
            let reason = match line
                .map(|line| lines::parse(line).and_then(|entry| judge(choice, entry)))
            {
                Some(Ok(Judged::Nothing)) => continue,
                Some(Ok(Judged::OtherKind)) => {
                    self.of_other_kind += 1;
                    continue;
                }
                Some(Ok(Judged::File(name, kind, digest))) => {
                    if self.is_stdin && name == *b"-" {
                        "standard input holds the list already".to_owned()
                    } else {
                        self.entries += 1;
                        let name = PathBuf::from(OsString::from_vec(name));
                        return Some(Listed { input: Input::given(name, self.own), kind, digest });
                    }
                }
                Some(Err(malformed)) => malformed.to_string(),
                None => "too long".to_owned(),
            };
            self.malformed += 1;
            if self.warn {
                let list = Name(self.list);
                complain!("{list}: {number}: improperly formatted checksum line: {reason}");
            }
        }
        None
    }
}

/// What a line is to those who asked for something.
fn judge(choice: Choice, entry: Option<Entry<'_>>) -> Result<Judged, Malformed> {
    let Some(Entry { kind, name, digest }) = entry else { return Ok(Judged::Nothing) };
    let due = match kind {
        Some(kind) if !choice.allows(kind.algorithm) => {
            return Err(Malformed::Algorithm(kind.to_string()));
        }
        Some(kind) if kind.is_hmac != choice.is_hmac => return Ok(Judged::OtherKind),
        Some(kind) if choice.allows_len(kind.algorithm, digest.len()) => digest.len(),
        _ => choice.digest_len(),
    };
    if digest.len() != due {
        return Err(Malformed::Digest(Some(2 * due)));
    }
    Ok(Judged::File(name.into_owned(), kind.unwrap_or(choice.kind()), digest))
}

/// What a line is.
enum Judged {
    /// A comment, say.
    Nothing,
    /// A digest where an HMAC is due, or the other way round.
    OtherKind,
    /// A file by its name, and its digest.
    File(Vec<u8>, Kind, Digest),
}

impl Listed<'_> {
    /// What its digest is of, and how many bytes it has.
    fn of(&self) -> (Kind, usize) {
        (self.kind, self.digest.len())
    }
}
