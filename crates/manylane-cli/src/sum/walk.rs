//! What is below a directory, in the byte order of the full paths.

use std::{
    cmp::Ordering,
    fs::File,
    io,
    os::unix::{ffi::OsStrExt as _, fs::FileTypeExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use globset::{GlobBuilder, GlobMatcher};
use walkdir::{DirEntry, DirEntryExt as _, WalkDir};

use crate::{complain, output::FileId, show::Name, source::Input};

/// How trees are walked.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) exclude: Vec<Glob>,
    pub(super) follow: bool,
    pub(super) one_file_system: bool,
    /// Whether to say what was passed over.
    pub(super) verbose: bool,
    pub(super) spare: Spare,
}

/// A descriptor that is kept for the time when there is no other: a directory must be read even
/// while all that there are belong to files at work.
#[derive(Debug)]
pub(super) struct Spare(Mutex<Option<File>>);

impl Default for Spare {
    fn default() -> Self {
        Spare(Mutex::new(Self::open()))
    }
}

impl Spare {
    fn open() -> Option<File> {
        File::open("/").ok()
    }

    fn lock(&self) -> MutexGuard<'_, Option<File>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the descriptor back to the system; whether there was one.
    fn spend(&self) -> bool {
        self.lock().take().is_some()
    }

    fn restore(&self) {
        let mut spare = self.lock();
        if spare.is_none() {
            *spare = Self::open();
        }
    }
}

/// How long to wait for others to close their files before a directory is tried again, and how
/// often: ten seconds in all.
const PAUSE: Duration = Duration::from_millis(10);
const TRIES: u32 = 1000;

/// A pattern of `--exclude`.
#[derive(Debug)]
pub(super) struct Glob {
    matcher: GlobMatcher,
    /// Compared with the path below the root, not with the last component alone.
    whole_path: bool,
    directories_only: bool,
}

impl Glob {
    pub(super) fn new(pattern: &str) -> Result<Self, globset::Error> {
        let trimmed = pattern.trim_end_matches('/');
        let directories_only = trimmed.len() < pattern.len();
        let whole_path = trimmed.contains('/');
        let anchored = trimmed.strip_prefix('/').unwrap_or(trimmed);
        let glob = GlobBuilder::new(anchored).literal_separator(true).build()?;
        Ok(Glob { matcher: glob.compile_matcher(), whole_path, directories_only })
    }

    fn matches(&self, below_root: &Path, is_dir: bool) -> bool {
        let subject = match below_root.file_name() {
            Some(name) if !self.whole_path => Path::new(name),
            _ => below_root,
        };
        (is_dir || !self.directories_only) && self.matcher.is_match(subject)
    }
}

/// The files of one tree.
pub(super) struct Walk<'a> {
    /// The walk of the root, and of the directories below it that had to be tried again, each below
    /// the one before.
    entries: Vec<walkdir::IntoIter>,
    /// How often the directory whose turn it is was tried again.
    tries: u32,
    root: PathBuf,
    options: &'a Options,
    own: &'a [FileId],
}

impl<'a> Walk<'a> {
    /// What is below `root`, or `root` itself if that is no directory.
    pub(super) fn new(root: PathBuf, options: &'a Options, own: &'a [FileId]) -> Self {
        let entries = vec![begin(&root, options).into_iter()];
        Walk { entries, tries: 0, root, options, own }
    }

    /// The next entry. A directory that could not be read for want of a descriptor is tried again.
    fn next_entry(&mut self) -> Option<walkdir::Result<DirEntry>> {
        loop {
            match self.entries.last_mut()?.next() {
                None => drop(self.entries.pop()),
                Some(Err(error)) if self.tries < TRIES && is_exhausted(&error) => {
                    // Sorted directories are read at once, so this is the only descriptor needed.
                    if !self.options.spare.spend() {
                        thread::sleep(PAUSE);
                    }
                    self.tries += 1;
                    let path = error.path().unwrap_or(&self.root);
                    let follow = self.options.follow || path == self.root;
                    let again = begin(path, self.options).follow_root_links(follow);
                    self.entries.push(again.into_iter());
                }
                // It has been handed out before.
                Some(Ok(entry)) if self.entries.len() > 1 && entry.depth() == 0 => {}
                Some(entry) => {
                    self.tries = 0;
                    self.options.spare.restore();
                    return Some(entry);
                }
            }
        }
    }

    fn is_excluded(&self, entry: &DirEntry) -> bool {
        let is_dir = entry.file_type().is_dir();
        entry.depth() > 0
            && entry.path().strip_prefix(&self.root).is_ok_and(|below_root| {
                self.options.exclude.iter().any(|glob| glob.matches(below_root, is_dir))
            })
    }

    /// Whether the entry is what is being written; found by its inode, which costs no system call.
    fn is_own(&self, entry: &DirEntry) -> bool {
        self.own.iter().any(|own| {
            own.inode == entry.ino()
                && entry.metadata().is_ok_and(|metadata| FileId::of(&metadata) == *own)
        })
    }

    fn note(&self, path: &Path, why: &str) {
        if self.options.verbose {
            complain!("{}: skipped: {why}", Name(path));
        }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Input<'a>;

    fn next(&mut self) -> Option<Input<'a>> {
        loop {
            let entry = match self.next_entry()? {
                Ok(entry) => entry,
                Err(error) => return Some(failed(error, &self.root)),
            };
            let kind = entry.file_type();
            if self.is_excluded(&entry) {
                if kind.is_dir() {
                    self.entries.last_mut()?.skip_current_dir();
                }
            } else if entry.depth() == 0 {
                // What is named is read whatever it is, and followed if it is a link.
                if !kind.is_dir() && !entry.path().is_dir() {
                    return Some(Input::given(entry.into_path(), self.own));
                }
            } else if kind.is_file() {
                if !self.is_own(&entry) {
                    return Some(Input::found(entry.into_path(), self.options.follow, self.own));
                }
                complain!("{}: skipped: it is the output", Name(entry.path()));
            } else if kind.is_symlink() {
                self.note(entry.path(), "a symbolic link (--follow follows)");
            } else if kind.is_fifo() {
                self.note(entry.path(), "a named pipe");
            } else if kind.is_socket() {
                self.note(entry.path(), "a socket");
            } else if kind.is_char_device() || kind.is_block_device() {
                self.note(entry.path(), "a device");
            }
        }
    }
}

fn begin(root: &Path, options: &Options) -> WalkDir {
    WalkDir::new(root)
        .follow_links(options.follow)
        .same_file_system(options.one_file_system)
        .sort_by(byte_order)
}

/// Whether descriptors have run out.
fn is_exhausted(error: &walkdir::Error) -> bool {
    let code = error.io_error().and_then(io::Error::raw_os_error);
    matches!(code, Some(libc::EMFILE | libc::ENFILE))
}

/// Names as they compare in full paths: what follows a directory's name there is a slash.
fn byte_order(a: &DirEntry, b: &DirEntry) -> Ordering {
    fn key(entry: &DirEntry) -> impl Iterator<Item = &u8> {
        entry.file_name().as_bytes().iter().chain(entry.file_type().is_dir().then_some(&b'/'))
    }
    key(a).cmp(key(b))
}

fn failed<'a>(error: walkdir::Error, root: &Path) -> Input<'a> {
    let path = error.path().unwrap_or(root).to_owned();
    let error = match error.loop_ancestor() {
        Some(ancestor) => {
            io::Error::other(format!("a loop: the same directory as {}", Name(ancestor)))
        }
        None => error.into_io_error().unwrap_or_else(|| io::Error::other("cannot be walked")),
    };
    Input::error(path, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_or_paths() {
        let matches = |pattern: &str, path: &str, is_dir| {
            Glob::new(pattern).unwrap().matches(Path::new(path), is_dir)
        };
        assert!(matches("*.o", "a/b/c.o", false));
        assert!(!matches("*.o", "a.o/b", false));
        assert!(matches("a/*.o", "a/c.o", false));
        assert!(!matches("a/*.o", "a/b/c.o", false));
        assert!(matches("a/**/*.o", "a/b/c.o", false));
        assert!(matches("/a", "a", false));
        assert!(!matches("/a", "b/a", false));
        assert!(matches("target/", "a/target", true));
        assert!(!matches("target/", "a/target", false));
        assert!(matches(".*", "a/.git", true));
    }
}
