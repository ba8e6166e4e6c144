//! Passwords, which never stand on the command line itself.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use zeroize::Zeroizing;

use super::{Stop, terminal};
use crate::show::{Name, Reason};

/// Bytes of the longest password.
const LONGEST: usize = 4096;

/// Where a password comes from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    File(PathBuf),
    Variable(OsString),
    Descriptor(u32),
    Prompt,
}

/// How the help of an option names the sources.
pub(super) const SOURCES: &str = "file:F|env:V|fd:N|prompt";

impl Source {
    /// Reads an argument.
    pub(super) fn parse(argument: &OsStr) -> Result<Self, String> {
        let bytes = argument.as_bytes();
        let after = |prefix: &str| bytes.strip_prefix(prefix.as_bytes()).map(OsStr::from_bytes);
        let number = |text: &OsStr| text.to_str().and_then(|text| text.parse().ok());
        if argument == "prompt" {
            Ok(Source::Prompt)
        } else if let Some(path) = after("file:") {
            Ok(Source::File(path.into()))
        } else if let Some(name) = after("env:") {
            Ok(Source::Variable(name.into()))
        } else if let Some(number) = after("fd:").and_then(number) {
            Ok(Source::Descriptor(number))
        } else {
            Err(format!("not one of {SOURCES}"))
        }
    }

    /// The file that it is in.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Source::File(path) => Some(path),
            _ => None,
        }
    }

    /// The password of a key that is read.
    pub(super) fn read(&self) -> Result<Zeroizing<Vec<u8>>, Stop> {
        match self {
            Source::File(path) => from_file(path, &Name(path)),
            Source::Descriptor(number) => {
                let path = format!("/dev/fd/{number}");
                from_file(Path::new(&path), &format_args!("descriptor {number}"))
            }
            Source::Variable(name) => match env::var_os(name) {
                Some(password) => Ok(Zeroizing::new(password.into_vec())),
                None => Err(Stop::Usage(format!("{}: no such variable", Name(Path::new(name))))),
            },
            Source::Prompt => from_terminal("Password: "),
        }
    }

    /// The password of a key that is written: asked for twice, and not empty.
    pub(super) fn choose(&self) -> Result<Zeroizing<Vec<u8>>, Stop> {
        let password = self.read()?;
        if password.is_empty() {
            return Err(Stop::usage("the password is empty"));
        }
        if matches!(self, Source::Prompt) && from_terminal("The same again: ")? != password {
            return Err(Stop::usage("the passwords differ"));
        }
        Ok(password)
    }
}

/// The first line, without its end. What follows it is left for others who read from there.
fn from_file(path: &Path, name: &dyn std::fmt::Display) -> Result<Zeroizing<Vec<u8>>, Stop> {
    let line = File::open(path).and_then(|mut file| line(&mut file));
    line.map_err(|error| Stop::Usage(format!("password from {name}: {}", Reason(&error))))
}

fn from_terminal(prompt: &str) -> Result<Zeroizing<Vec<u8>>, Stop> {
    terminal::ask(prompt, LONGEST)
        .map_err(|error| Stop::Usage(format!("password from the terminal: {}", Reason(&error))))
}

fn line(file: &mut dyn Read) -> io::Result<Zeroizing<Vec<u8>>> {
    // All the room at once: growing would leave copies behind.
    let mut line = Zeroizing::new(Vec::with_capacity(LONGEST));
    let mut byte = Zeroizing::new([0]);
    while file.read(&mut *byte)? == 1 && byte[0] != b'\n' {
        if line.len() == LONGEST {
            return Err(io::Error::other(format!("longer than {LONGEST} bytes")));
        }
        line.push(byte[0]);
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_where_it_ends() {
        for (text, password, rest) in [
            (&b"secret\nrest"[..], &b"secret"[..], &b"rest"[..]),
            (b"two words \r\n", b"two words ", b""),
            (b"no end", b"no end", b""),
            (b"\n", b"", b""),
            (b"", b"", b""),
        ] {
            let mut reader = text;
            assert_eq!(line(&mut reader).unwrap()[..], *password);
            assert_eq!(reader, rest);
        }
        assert_eq!(line(&mut &[b'x'; LONGEST][..]).unwrap().len(), LONGEST);
        assert!(line(&mut &[b'x'; LONGEST + 1][..]).is_err());
    }

    #[test]
    fn sources_are_named() {
        for wrong in ["", "secret", "pass:secret", "fd:", "fd:-1", "fd:x", "Prompt"] {
            assert!(Source::parse(wrong.as_ref()).is_err(), "{wrong}");
        }
        assert!(matches!(Source::parse("fd:3".as_ref()), Ok(Source::Descriptor(3))));
    }
}
