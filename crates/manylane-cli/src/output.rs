//! Where results go: standard output, or a file that appears complete or not at all.

use std::{
    fs::{self, File, Metadata, Permissions},
    io::{self, BufWriter, IsTerminal as _, Write},
    os::{
        fd::AsFd as _,
        unix::fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// A file's identity, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl FileId {
    /// Of the file that the metadata are of.
    pub(crate) fn of(metadata: &Metadata) -> Self {
        FileId { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// A destination that is open.
pub(crate) struct Output {
    to: BufWriter<To>,
    /// Whether a person waits for each line.
    interactive: bool,
    own: Vec<FileId>,
}

enum To {
    Stdout(File),
    /// Something that cannot be replaced, such as a device or a pipe.
    Special(File),
    Replacing {
        temporary: NamedTempFile,
        path: PathBuf,
    },
}

impl Output {
    /// Standard output, or what `path` names.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Self> {
        let mut own = Vec::new();
        let mut note = |metadata: io::Result<Metadata>| {
            own.extend(metadata.ok().filter(Metadata::is_file).map(|m| FileId::of(&m)));
        };
        let to = match path {
            None => To::Stdout(File::from(io::stdout().as_fd().try_clone_to_owned()?)),
            Some(path) => match fs::metadata(path) {
                Ok(old) if old.is_dir() => {
                    return Err(io::Error::from_raw_os_error(libc::EISDIR));
                }
                Ok(old) if !old.is_file() => To::Special(File::options().write(true).open(path)?),
                Ok(old) => {
                    // What a symbolic link leads to is replaced, not the link.
                    let to = create_beside(fs::canonicalize(path)?, old.mode() & 0o777)?;
                    note(Ok(old));
                    to
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    create_beside(path.to_owned(), 0o666)?
                }
                Err(error) => return Err(error),
            },
        };
        note(to.file().metadata());
        let interactive = to.file().is_terminal();
        Ok(Output { to: BufWriter::with_capacity(64 << 10, to), interactive, own })
    }

    /// The regular files that are written to or replaced: no input can be one of them.
    pub(crate) fn own_files(&self) -> &[FileId] {
        &self.own
    }

    /// Whether each line should be seen at once.
    pub(crate) fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// Makes the output complete. Without this a file does not appear.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.to.into_inner().map_err(io::IntoInnerError::into_error)? {
            To::Stdout(_) | To::Special(_) => Ok(()),
            To::Replacing { temporary, path } => {
                // The new name must not reach the disk before what it names.
                temporary.as_file().sync_all()?;
                temporary.persist(path)?;
                Ok(())
            }
        }
    }
}

/// A temporary file that can be moved to `path`. It is created with `mode` less the umask.
fn create_beside(path: PathBuf, mode: u32) -> io::Result<To> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let temporary = tempfile::Builder::new()
        .prefix(".manylane-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory)?;
    Ok(To::Replacing { temporary, path })
}

impl To {
    fn file(&self) -> &File {
        match self {
            To::Stdout(file) | To::Special(file) => file,
            To::Replacing { temporary, .. } => temporary.as_file(),
        }
    }
}

impl Write for To {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
