//! One input of a verb, as it is opened and read.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read, Seek as _},
    os::{
        fd::AsFd as _,
        unix::fs::{FileExt, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use manylane_engine::{ReadAt, Source};

use crate::{output::FileId, standard};

/// Something to hash, by its name.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    name: PathBuf,
    from: From,
    /// Files that are written to meanwhile.
    own: &'a [FileId],
}

#[derive(Debug)]
enum From {
    Stdin,
    /// A name that was given: whatever it names is read.
    Given {
        len: Option<u64>,
        may_wait: bool,
    },
    /// A regular file that was found in a directory, behind a symbolic link or not.
    Found {
        follow: bool,
    },
    /// Something that cannot be read, and why.
    Nothing(Option<io::Error>),
}

impl<'a> Input<'a> {
    /// What a name on the command line or in a list means: `-` is standard input.
    pub(crate) fn given(name: PathBuf, own: &'a [FileId]) -> Self {
        let from = if name.as_os_str() == "-" {
            From::Stdin
        } else {
            match name.metadata() {
                Ok(metadata) => From::Given {
                    len: metadata.is_file().then_some(metadata.len()),
                    may_wait: !metadata.is_file() && !metadata.file_type().is_block_device(),
                },
                Err(error) => From::Nothing(Some(error)),
            }
        };
        Input { name, from, own }
    }

    /// A regular file in a directory that is walked.
    pub(crate) fn found(name: PathBuf, follow: bool, own: &'a [FileId]) -> Self {
        Input { name, from: From::Found { follow }, own }
    }

    /// A name that stands for an error.
    pub(crate) fn error(name: PathBuf, error: io::Error) -> Self {
        Input { name, from: From::Nothing(Some(error)), own: &[] }
    }

    /// Its name, `-` for standard input.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }
}

impl Source for Input<'_> {
    type Reader = Reader;

    fn open(&mut self) -> io::Result<Reader> {
        let file = match &mut self.from {
            From::Stdin => {
                standard::input()?;
                File::from(io::stdin().as_fd().try_clone_to_owned()?)
            }
            From::Given { .. } => File::open(&self.name)?,
            From::Found { follow } => {
                // Should the file have become a pipe since it was found, opening it must not wait;
                // nor may a link that took its place be followed. Regular files ignore the first.
                let flags = if *follow { 0 } else { libc::O_NOFOLLOW };
                let open =
                    |flags| OpenOptions::new().read(true).custom_flags(flags).open(&self.name);
                match open(flags | libc::O_NONBLOCK) {
                    // Someone holds a lease on the file and is being asked to give it up.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => open(flags)?,
                    opened => opened?,
                }
            }
            From::Nothing(error) => {
                return Err(error.take().unwrap_or_else(|| io::ErrorKind::NotFound.into()));
            }
        };
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from_raw_os_error(libc::EISDIR));
        }
        if matches!(self.from, From::Found { .. }) && !metadata.is_file() {
            return Err(io::Error::other("no longer a regular file"));
        }
        if metadata.is_file() && self.own.contains(&FileId::of(&metadata)) {
            return Err(io::Error::other("input file is output file"));
        }
        let before = metadata.is_file().then(|| Stamp::of(&metadata));
        Ok(Reader { file, before })
    }

    fn len_hint(&self) -> Option<u64> {
        match self.from {
            From::Given { len, .. } => len,
            _ => None,
        }
    }

    fn open_len(&self, reader: &Reader) -> Option<u64> {
        // Files that the kernel makes up have length 0, or a page's, whatever they hold: a plan may
        // err, so that does no harm.
        reader.before.as_ref().map(|stamp| stamp.len)
    }

    fn at_any_offset(&self, reader: &Reader) -> Option<Arc<dyn ReadAt>> {
        // Standard input begins where whoever had it before has left it, and is left at its end.
        if matches!(self.from, From::Stdin) {
            return None;
        }
        // With a descriptor of its own, if there is one: the reader's is closed by whoever has the source.
        let Reader { file, before } = reader;
        let before = Some(before.clone()?);
        Some(Arc::new(Reader { file: file.try_clone().ok()?, before }))
    }

    fn opens_again(&self) -> bool {
        matches!(self.from, From::Found { .. } | From::Given { may_wait: false, .. })
    }

    fn may_wait(&self) -> bool {
        matches!(self.from, From::Stdin | From::Given { may_wait: true, .. })
    }
}

/// What tells that a file was written to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: (i64, i64),
    /// Unlike the time before, nobody can set this one back.
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Stamp {
            len: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// An open input. Its end is an error if a regular file was written to since it was opened: the
/// bytes that were read then need never have been in the file together.
#[derive(Debug)]
pub(crate) struct Reader {
    file: File,
    before: Option<Stamp>,
}

impl Reader {
    /// Fails at the end of a file that was written to.
    fn check(&self, at_end: bool) -> io::Result<()> {
        if at_end
            && let Some(before) = &self.before
            && Stamp::of(&self.file.metadata()?) != *before
        {
            return Err(io::Error::other("changed while it was read"));
        }
        Ok(())
    }

    /// The file itself, for what is not read from its start to its end. Reading at its end through this
    /// one asks nothing about it.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Where a regular file will be read next, and how much of it there was when it was opened. Those
    /// that the kernel makes up have any length.
    pub(crate) fn rest(&self) -> Option<(u64, u64)> {
        let (len, mut file) = (self.before.as_ref()?.len, &self.file);
        let start = file.stream_position().ok()?;
        Some((start, len.checked_sub(start)?))
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.check(read == 0 && !buffer.is_empty())?;
        Ok(read)
    }
}

impl ReadAt for Reader {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = FileExt::read_at(&self.file, buffer, offset)?;
        self.check(read == 0 && !buffer.is_empty())?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, thread, time::Duration};

    use super::*;

    #[test]
    fn a_file_that_was_written_to_is_known_by_any_of_its_times() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "old").unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let read = |meanwhile: &dyn Fn()| {
            let mut reader = Input::found(path.clone(), false, &[]).open().unwrap();
            let mut bytes = [0; 8];
            assert_eq!(reader.read(&mut bytes).unwrap(), 3);
            // Longer than the clock of the times stands still.
            thread::sleep(Duration::from_millis(20));
            meanwhile();
            reader.read(&mut bytes)
        };
        assert_eq!(read(&|| ()).unwrap(), 0);
        let back = || {
            fs::write(&path, "new").unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        };
        let error = read(&back).unwrap_err();
        assert_eq!(error.to_string(), "changed while it was read");
    }
}
