//! Where results go: standard output, or a file that appears complete or not at all.

use std::{
    fs::{self, File, Metadata, Permissions},
    io::{self, BufWriter, IsTerminal as _, Seek as _, Write},
    os::{
        fd::{AsFd as _, AsRawFd as _},
        unix::{
            ffi::OsStrExt as _,
            fs::{FileExt as _, MetadataExt as _, PermissionsExt as _},
        },
    },
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;
#[cfg(target_os = "linux")]
use rustix::fs::{AtFlags, CWD, Mode};
use tempfile::NamedTempFile;

use crate::{complain, exit, show::Reason, standard};

/// Writes to standard output; the exit status.
pub(crate) fn print(text: &[u8]) -> u8 {
    written(write(text))
}

/// Writes to standard output.
pub(crate) fn write(text: &[u8]) -> io::Result<()> {
    standard::output()?;
    let mut out = io::stdout().lock();
    out.write_all(text)?;
    out.flush()
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

/// What a file is for, which decides who may read it and whether it may take another's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A result for whoever the umask lets read it. What it replaces leaves its permissions.
    Ordinary,
    /// What only its owner may read, unless it replaces a file that has other permissions.
    Private,
    /// A key, which replaces another file only if that is asked for. Only its owner may read a
    /// secret one, whatever it replaces.
    Key { secret: bool, replaces: bool },
}

impl Kind {
    /// Mode of a new file, before the umask.
    fn mode(self) -> u32 {
        match self {
            Kind::Ordinary | Kind::Key { secret: false, .. } => 0o666,
            Kind::Private | Kind::Key { secret: true, .. } => 0o600,
        }
    }

    fn replaces(self) -> bool {
        !matches!(self, Kind::Key { replaces: false, .. })
    }
}

/// A destination that is open.
pub(crate) struct Output {
    to: BufWriter<To>,
    kind: Kind,
    /// Permissions to have in the end.
    permissions: Option<Permissions>,
    /// Where the first byte is in a file that can be written to anywhere.
    start: Option<u64>,
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
        Output::open_as(Kind::Ordinary, path)
    }

    /// [`open`](Self::open) for a file of some kind.
    pub(crate) fn open_as(kind: Kind, path: Option<&Path>) -> io::Result<Self> {
        let mut permissions = None;
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
                Ok(_) if !kind.replaces() => return Err(io::ErrorKind::AlreadyExists.into()),
                Ok(old) => {
                    // What a symbolic link leads to is replaced, not the link.
                    let to = create_beside(fs::canonicalize(path)?, kind.mode())?;
                    let old_permissions = Permissions::from_mode(old.mode() & 0o777);
                    match kind {
                        Kind::Key { secret: true, .. } => {}
                        // What is not yet known to be right is nobody else's to see.
                        Kind::Private => permissions = Some(old_permissions),
                        _ => to.file().set_permissions(old_permissions)?,
                    }
                    note(Ok(old));
                    to
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    create_beside(missing(path)?, kind.mode())?
                }
                Err(error) => return Err(error),
            },
        };
        note(to.file().metadata());
        let interactive = to.file().is_terminal();
        let start = to.start();
        let to = BufWriter::with_capacity(64 << 10, to);
        Ok(Output { to, kind, permissions, start, interactive, own })
    }

    /// The regular files that are written to or replaced: no input can be one of them.
    pub(crate) fn own_files(&self) -> &[FileId] {
        &self.own
    }

    /// Whether each line should be seen at once.
    pub(crate) fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// Whether nothing of the output is seen before [`finish`](Self::finish).
    pub(crate) fn is_hidden(&self) -> bool {
        !matches!(self.to.get_ref(), To::Stdout(_) | To::Special(_))
    }

    /// Whether [`patch`](Self::patch) is possible.
    pub(crate) fn can_patch(&self) -> bool {
        self.start.is_some()
    }

    /// Writes over what has been written first.
    pub(crate) fn patch(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.flush()?;
        let start = self.start.ok_or(io::ErrorKind::NotSeekable)?;
        self.to.get_ref().file().write_all_at(bytes, start)
    }

    /// Makes the output complete. Without this a file does not appear.
    pub(crate) fn finish(self) -> io::Result<()> {
        let to = self.to.into_inner().map_err(io::IntoInnerError::into_error)?;
        if let To::Stdout(_) | To::Special(_) = to {
            return Ok(());
        }
        if let Some(permissions) = self.permissions {
            to.file().set_permissions(permissions)?;
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
                if self.kind.replaces() {
                    temporary(self.kind.mode()).make_in(folder_of(&path), link)?.persist(path)?;
                } else {
                    link(&path)?;
                }
            }
            To::Named { file, path } if self.kind.replaces() => drop(file.persist(path)?),
            To::Named { file, path } => drop(file.persist_noclobber(path)?),
        }
        Ok(())
    }
}

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

fn temporary(mode: u32) -> tempfile::Builder<'static, 'static> {
    let mut temporary = tempfile::Builder::new();
    temporary.prefix(".manylane-").permissions(Permissions::from_mode(mode));
    temporary
}

/// A file that can become `path`.
fn create_beside(path: PathBuf, mode: u32) -> io::Result<To> {
    #[cfg(target_os = "linux")]
    if let Ok(file) = rustix::fs::open(
        folder_of(&path),
        OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::from_raw_mode(mode),
    ) {
        let file = File::from(file);
        // Without /proc it could not be given a name in the end.
        if own_name(&file).exists() {
            return Ok(To::Unnamed { file, path });
        }
    }
    let file = temporary(mode).tempfile_in(folder_of(&path))?;
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

    /// The place of the first byte that will be written, if what is there can be written again.
    fn start(&self) -> Option<u64> {
        let mut file = self.file();
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return None;
        }
        // What is opened for appending is written at its end, wherever one asks for.
        let appends = rustix::fs::fcntl_getfl(file).map_or(true, |f| f.contains(OFlags::APPEND));
        if appends { None } else { file.stream_position().ok() }
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
