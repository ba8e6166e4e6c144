//! What becomes of each file, on the output and on standard error.

use std::{
    borrow::Cow,
    io::{self, Write as _},
    os::unix::ffi::OsStrExt as _,
    path::Path,
};

use manylane_cli::lines::{self, End, Kind, Style};
use manylane_engine::Summary;
use serde::Serialize;

use crate::{
    complain,
    output::Output,
    progress,
    show::{Name, Reason},
};

/// How results are written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Lines(Style, End),
    /// JSON Lines: one object a file.
    Json,
}

/// The result of checking one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Ok,
    Failed,
    Unreadable,
}

/// One object of the JSON output.
#[derive(Serialize)]
struct Record<'a> {
    name: Cow<'a, str>,
    /// The name's bytes, where they are not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    name_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    algorithm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl<'a> Record<'a> {
    fn of(name: &'a Path) -> Self {
        Record {
            name: name.to_string_lossy(),
            name_hex: name.to_str().is_none().then(|| hex(name.as_os_str().as_bytes())),
            algorithm: None,
            digest: None,
            size: None,
            status: None,
            error: None,
        }
    }
}

/// Writes results.
pub(super) struct Report<'a> {
    output: &'a mut Output,
    form: Form,
    kind: Kind,
    line: Vec<u8>,
}

impl<'a> Report<'a> {
    pub(super) fn new(output: &'a mut Output, form: Form, kind: Kind) -> Self {
        Report { output, form, kind, line: Vec::new() }
    }

    /// The digest of a file.
    pub(super) fn digest(&mut self, name: &Path, summary: &Summary) -> io::Result<()> {
        match self.form {
            Form::Lines(style, end) => {
                let name = name.as_os_str().as_bytes();
                lines::write(&mut self.line, style, end, name, &summary.digest);
                self.send()
            }
            Form::Json => self.record(Record {
                algorithm: Some(algorithm(self.kind)),
                digest: Some(hex(&summary.digest)),
                size: Some(summary.len),
                ..Record::of(name)
            }),
        }
    }

    /// A file that has no digest.
    pub(super) fn error(&mut self, name: &Path, error: &io::Error) -> io::Result<()> {
        complain!("{}: {}", Name(name), Reason(error));
        match self.form {
            Form::Lines(..) => Ok(()),
            Form::Json => {
                self.record(Record { error: Some(Reason(error).to_string()), ..Record::of(name) })
            }
        }
    }

    /// A file that was compared with its digest in a list. The reason why it is unreadable has
    /// been said.
    pub(super) fn verdict(
        &mut self,
        name: &Path,
        kind: Kind,
        verdict: Verdict,
        error: Option<&io::Error>,
    ) -> io::Result<()> {
        match self.form {
            Form::Lines(..) => {
                let name = lines::escape(name.as_os_str().as_bytes());
                if let Cow::Owned(_) = name {
                    self.line.push(b'\\');
                }
                self.line.extend_from_slice(&name);
                self.line.extend_from_slice(match verdict {
                    Verdict::Ok => b": OK\n",
                    Verdict::Failed => b": FAILED\n",
                    Verdict::Unreadable => b": FAILED open or read\n",
                });
                self.send()
            }
            Form::Json => self.record(Record {
                algorithm: Some(algorithm(kind)),
                status: Some(verdict),
                error: error.map(|error| Reason(error).to_string()),
                ..Record::of(name)
            }),
        }
    }

    fn record(&mut self, record: Record<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.line, &record)?;
        self.line.push(b'\n');
        self.send()
    }

    fn send(&mut self) -> io::Result<()> {
        let sent = match self.output.is_interactive() {
            true => progress::aside(|| {
                self.output.write_all(&self.line)?;
                self.output.flush()
            }),
            false => self.output.write_all(&self.line),
        };
        self.line.clear();
        sent
    }
}

fn algorithm(kind: Kind) -> String {
    let hmac = if kind.is_hmac { "hmac-" } else { "" };
    format!("{hmac}{}", kind.algorithm)
}

fn hex(bytes: &[u8]) -> String {
    let mut digits = Vec::with_capacity(2 * bytes.len());
    lines::write_hex(&mut digits, bytes);
    digits.into_iter().map(char::from).collect()
}
