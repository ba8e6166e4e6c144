//! How names and errors appear in diagnostics.

use std::{fmt, io, os::unix::ffi::OsStrExt as _, path::Path};

/// A file's name on one line of a terminal, whatever bytes it has: as it is if it is plain text,
/// else quoted so that a shell understands it.
pub(crate) struct Name<'a>(pub(crate) &'a Path);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.to_str() {
            Some("-") => f.write_str("standard input"),
            Some("") => f.write_str("''"),
            Some(name) if !name.chars().any(char::is_control) => f.write_str(name),
            _ => {
                f.write_str("$'")?;
                for chunk in self.0.as_os_str().as_bytes().utf8_chunks() {
                    for char in chunk.valid().chars() {
                        match char {
                            '\n' => f.write_str("\\n")?,
                            '\r' => f.write_str("\\r")?,
                            '\t' => f.write_str("\\t")?,
                            '\\' | '\'' => write!(f, "\\{char}")?,
                            _ if char.is_control() => {
                                let mut bytes = [0; 4];
                                for byte in char.encode_utf8(&mut bytes).bytes() {
                                    write!(f, "\\x{byte:02x}")?;
                                }
                            }
                            _ => write!(f, "{char}")?,
                        }
                    }
                    for byte in chunk.invalid() {
                        write!(f, "\\x{byte:02x}")?;
                    }
                }
                f.write_str("'")
            }
        }
    }
}

/// The text of an error without the number that the standard library adds to the system's words,
/// and without the temporary file's name that may follow it.
pub(crate) struct Reason<'a>(pub(crate) &'a io::Error);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        f.write_str(text.split_once(" (os error ").map_or(&text, |(words, _)| words))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn names_stay_on_one_line() {
        let shown = |name: &[u8]| Name(Path::new(OsStr::from_bytes(name))).to_string();
        assert_eq!(shown("a b/ü (1)".as_bytes()), "a b/ü (1)");
        assert_eq!(shown(b"-"), "standard input");
        assert_eq!(shown(b"a\nb'\\\xff"), r"$'a\nb\'\\\xff'");
        assert_eq!(shown(b"\x1b[31m"), r"$'\x1b[31m'");
        assert_eq!(shown("\u{9b}".as_bytes()), r"$'\xc2\x9b'");
    }

    #[test]
    fn reasons_have_no_numbers() {
        let error = io::Error::from_raw_os_error(libc::ENOENT);
        assert_eq!(Reason(&error).to_string(), "No such file or directory");
        assert_eq!(Reason(&io::Error::other("why")).to_string(), "why");
        let error = tempfile::tempfile_in("/nowhere/at/all").unwrap_err();
        assert_eq!(Reason(&error).to_string(), "No such file or directory");
        let error = tempfile::NamedTempFile::new_in("/nowhere/at/all").unwrap_err();
        assert_eq!(Reason(&error).to_string(), "No such file or directory");
    }
}
