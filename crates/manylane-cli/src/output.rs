//! Where results go: standard output, or a file that appears complete or not at all.

use std::{
    fs::{self, File, Metadata, Permissions},
    io::{self, BufWriter, IsTerminal as _, Write},
    os::{
        fd::{AsFd as _, AsRawFd as _},
        unix::{
            ffi::OsStrExt as _,
            fs::{MetadataExt as _, PermissionsExt as _},
        },
    },
    path::{Path, PathBuf},
};

#[cfg(target_os = "linux")]
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use tempfile::NamedTempFile;

use crate::{complain, exit, show::Reason, standard};

/// Writes to standard output; the exit status.
pub(crate) fn print(text: &[u8]) -> u8 {
    written(standard::output().and_then(|()| {
        let mut out = io::stdout().lock();
        out.write_all(text)?;
        out.flush()
    }))
}

/// The exit status when the output was written or not, which is said.
pub(crate) fn written(result: io::Result<()>) -> u8 {
    match result {
        Ok(()) => exit::OK,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::PIPE,
        Err(error) => {
            complain!("write error: {}", Reason(&error));
            exit::FAILED
        }
    }
}

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
    /// A file without a name, which nothing is left of should the command end early.
    #[cfg(target_os = "linux")]
    Unnamed {
        file: File,
        path: PathBuf,
    },
    /// A file under another name, where there can be none without.
    Named {
        file: NamedTempFile,
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
            // What is read only takes nothing that is written, as what is closed.
            None if standard::output().is_err() => To::Stdout(File::open("/dev/null")?),
            None => To::Stdout(File::from(io::stdout().as_fd().try_clone_to_owned()?)),
            Some(path) => match fs::metadata(path) {
                Ok(old) if old.is_dir() => {
                    return Err(io::Error::from_raw_os_error(libc::EISDIR));
                }
                Ok(old) if !old.is_file() => To::Special(File::options().write(true).open(path)?),
                Ok(old) => {
                    // What a symbolic link leads to is replaced, not the link.
                    let to = create_beside(fs::canonicalize(path)?)?;
                    to.file().set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
                    note(Ok(old));
                    to
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    create_beside(missing(path)?)?
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
        let to = self.to.into_inner().map_err(io::IntoInnerError::into_error)?;
        if let To::Stdout(_) | To::Special(_) = to {
            return Ok(());
        }
        // The new name must not reach the disk before what it names.
        to.file().sync_all()?;
        match to {
            To::Stdout(_) | To::Special(_) => {}
            #[cfg(target_os = "linux")]
            To::Unnamed { file, path } => {
                // No system call replaces a name by a file that has none, so it gets one first.
                let link = |name: &Path| {
                    Ok(rustix::fs::linkat(
                        CWD,
                        own_name(&file),
                        CWD,
                        name,
                        AtFlags::SYMLINK_FOLLOW,
                    )?)
                };
                temporary().make_in(folder_of(&path), link)?.persist(path)?;
            }
            To::Named { file, path } => drop(file.persist(path)?),
        }
        Ok(())
    }
}

/// Mode of a new file, before the umask.
const MODE: u32 = 0o666;

/// What is to be created for a name that leads to nothing: a symbolic link stays, and what it names
/// is created.
fn missing(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    // The kernel has followed the links before, so they come to an end.
    while let Ok(to) = fs::read_link(&path) {
        path = folder_of(&path).join(to);
    }
    let bytes = path.as_os_str().as_bytes();
    // Only a directory could have such a name.
    match bytes.ends_with(b"/") || bytes.ends_with(b"/.") {
        true => Err(io::Error::from_raw_os_error(libc::EISDIR)),
        false => Ok(path),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut temporary = tempfile::Builder::new();
    temporary.prefix(".manylane-").permissions(Permissions::from_mode(MODE));
    temporary
}

/// A file that can become `path`.
fn create_beside(path: PathBuf) -> io::Result<To> {
    #[cfg(target_os = "linux")]
    if let Ok(file) = rustix::fs::open(
        folder_of(&path),
        OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::from_raw_mode(MODE),
    ) {
        let file = File::from(file);
        // Without /proc it could not be given a name in the end.
        if own_name(&file).exists() {
            return Ok(To::Unnamed { file, path });
        }
    }
    let file = temporary().tempfile_in(folder_of(&path))?;
    Ok(To::Named { file, path })
}

/// The name under which the kernel shows an open file.
#[cfg(target_os = "linux")]
fn own_name(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

impl To {
    fn file(&self) -> &File {
        match self {
            To::Stdout(file) | To::Special(file) => file,
            #[cfg(target_os = "linux")]
            To::Unnamed { file, .. } => file,
            To::Named { file, .. } => file.as_file(),
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
