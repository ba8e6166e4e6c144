//! `manylane sum --check`: the files that a list names, against the digests that it gives them.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader},
    ops::ControlFlow,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
};

use manylane_cli::lines::{self, DIGEST_LEN, Entry, Kind};
use manylane_engine::{Done, Engine, Function, Progress, Source};

use super::{
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
    pub(super) function: &'a Function,
    pub(super) kind: Kind,
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
        let all = self.engine.hash_sources(self.function, self.progress, &mut lines, |done| {
            match self.judge(done, &mut tally, report) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            }
        });
        match all {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(self.conclude(&lines, &tally)),
        }
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
            false => report.verdict(name, verdict, done.result.as_ref().err()),
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
            let (one, many, what) = match self.kind {
                Kind::Sm3 => ("line is an HMAC", "lines are HMACs", "without --hmac-key-file"),
                Kind::HmacSm3 => {
                    ("line is", "lines are", "without an HMAC in spite of --hmac-key-file")
                }
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
fn is_same(a: &[u8; DIGEST_LEN], b: &[u8; DIGEST_LEN]) -> bool {
    std::hint::black_box(a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b))) == 0
}

/// A file of a list, with the digest that it should have.
struct Listed<'a> {
    input: Input<'a>,
    digest: [u8; DIGEST_LEN],
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
    kind: Kind,
    warn: bool,
    own: &'a [FileId],
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
            kind: checker.kind,
            warn: checker.options.warn,
            own: checker.own,
            entries: 0,
            malformed: 0,
            of_other_kind: 0,
            error: None,
        })
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Listed<'a>;

    fn next(&mut self) -> Option<Listed<'a>> {
        while self.error.is_none() {
            let (number, line) = match self.records.next()? {
                Ok(record) => record,
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            };
            let reason = match line.map(lines::parse) {
                Some(Ok(None)) => continue,
                Some(Ok(Some(Entry { kind, .. }))) if kind.is_some_and(|k| k != self.kind) => {
                    self.of_other_kind += 1;
                    continue;
                }
                Some(Ok(Some(Entry { name, digest, .. }))) => {
                    if self.is_stdin && *name == *b"-" {
                        "standard input holds the list already".to_owned()
                    } else {
                        self.entries += 1;
                        let name = PathBuf::from(OsString::from_vec(name.into_owned()));
                        return Some(Listed { input: Input::given(name, self.own), digest });
                    }
                }
                Some(Err(malformed)) => malformed.to_string(),
                None => "too long".to_owned(),
            };
            self.malformed += 1;
            if self.warn {
                complain!(
                    "{}: {number}: improperly formatted SM3 checksum line: {reason}",
                    Name(self.list)
                );
            }
        }
        None
    }
}
