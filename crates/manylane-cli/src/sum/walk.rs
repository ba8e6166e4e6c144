//! What is below a directory, in the byte order of the full paths.

use std::{
    cmp::Ordering,
    io,
    os::unix::{ffi::OsStrExt as _, fs::FileTypeExt as _},
    path::{Path, PathBuf},
};

use globset::{GlobBuilder, GlobMatcher};
use walkdir::{DirEntry, DirEntryExt as _, WalkDir};

use super::source::Input;
use crate::{complain, output::FileId, show::Name};

/// How trees are walked.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) exclude: Vec<Glob>,
    pub(super) follow: bool,
    pub(super) one_file_system: bool,
    /// Whether to say what was passed over.
    pub(super) verbose: bool,
}

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
    entries: walkdir::IntoIter,
    root: PathBuf,
    options: &'a Options,
    own: &'a [FileId],
}

impl<'a> Walk<'a> {
    /// What is below `root`, or `root` itself if that is no directory.
    pub(super) fn new(root: PathBuf, options: &'a Options, own: &'a [FileId]) -> Self {
        let entries = WalkDir::new(&root)
            .follow_links(options.follow)
            .same_file_system(options.one_file_system)
            .sort_by(byte_order)
            .into_iter();
        Walk { entries, root, options, own }
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
            let entry = match self.entries.next()? {
                Ok(entry) => entry,
                Err(error) => return Some(failed(error, &self.root)),
            };
            let kind = entry.file_type();
            if self.is_excluded(&entry) {
                if kind.is_dir() {
                    self.entries.skip_current_dir();
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
