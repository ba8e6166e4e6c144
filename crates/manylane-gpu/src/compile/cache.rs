//! Code objects of earlier runs, in a directory that only this user can write.
//!
//! What is loaded into a GPU can read whatever is hashed there, so a file counts only if nobody
//! else can have made it: directory and file belong to the effective user, nobody else may write
//! to them, neither is reached through a symbolic link at its own name, and the content has the
//! digest that it was stored with, which covers the key as well. A process that runs with other
//! rights than its caller's has no cache. In any doubt the answer is that nothing is there.

use std::{
    env, fs,
    io::{self, Read as _, Write as _},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process,
    time::SystemTime,
};

use manylane::sm3::{DIGEST_LEN, Digest as _, Sm3};
use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, mkdirat, openat, renameat, unlinkat},
    io::Errno,
    process::{getegid, geteuid, getgid, getuid},
};

use super::Key;

/// What a file begins with, before the digest and the code object.
const MAGIC: &[u8] = b"manylane code object 1\n";

/// Code objects have some tens of KiB.
const LIMIT: u64 = 64 << 20;

/// An open directory that passed the checks. Files in it are reached through its descriptor, so
/// that nothing done to the path later changes which directory that is.
pub(super) struct Cache(OwnedFd);

impl Cache {
    /// The user's cache: the folder that `MANYLANE_CACHE` names, or `manylane` in
    /// `XDG_CACHE_HOME` or `~/.cache`. None if `MANYLANE_CACHE` is `off`, or something is not as
    /// it must be.
    pub(super) fn open() -> Option<Self> {
        if getuid() != geteuid() || getgid() != getegid() {
            return None;
        }
        match env::var_os("MANYLANE_CACHE") {
            Some(off) if off == "off" => None,
            Some(path) if !path.is_empty() => Self::at(Path::new(&path)),
            _ => {
                let set =
                    |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
                let base = set("XDG_CACHE_HOME");
                Self::under(&base.or_else(|| set("HOME").map(|home| home.join(".cache")))?)
            }
        }
    }

    /// `manylane` in a user's folder for caches, which must be this user's: root with the HOME of
    /// another user neither reads that one's files nor leaves its own there.
    fn under(base: &Path) -> Option<Self> {
        let owned = |path: &Path| {
            let folder = openat(CWD, path, directory() - OFlags::NOFOLLOW, Mode::empty()).ok()?;
            (fstat(&folder).ok()?.st_uid == geteuid().as_raw()).then_some(())
        };
        if !base.exists() {
            owned(base.parent()?)?;
            // Another process may be first.
            let _ = mkdirat(CWD, base, Mode::RWXU);
        }
        owned(base)?;
        Self::at(&base.join("manylane"))
    }

    /// This folder, made if it is not there.
    fn at(path: &Path) -> Option<Self> {
        if !path.is_absolute() {
            return None;
        }
        match mkdirat(CWD, path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(_) => return None,
        }
        let folder = openat(CWD, path, directory(), Mode::empty()).ok()?;
        let stat = fstat(&folder).ok()?;
        is_ours(&stat, FileType::Directory).then_some(Cache(folder))
    }

    /// The code object that was stored under this key.
    pub(super) fn load(&self, key: &Key) -> Option<Vec<u8>> {
        // NONBLOCK: a pipe of that name would be waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat(&self.0, file_name(key), flags, Mode::empty()).ok()?;
        let stat = fstat(&file).ok()?;
        if !is_ours(&stat, FileType::RegularFile) {
            return None;
        }
        let mut content = Vec::new();
        fs::File::from(file).take(LIMIT).read_to_end(&mut content).ok()?;
        let (digest, object) = content.strip_prefix(MAGIC)?.split_first_chunk::<DIGEST_LEN>()?;
        (*digest == seal(key, object)).then(|| object.to_vec())
    }

    /// Keeps a code object. Readers and other writers see the old file or the whole new one.
    ///
    /// # Errors
    /// What the system says; then nothing is kept.
    pub(super) fn store(&self, key: &Key, object: &[u8]) -> io::Result<()> {
        let name = file_name(key);
        // Processes in different containers may share the folder and have the same number.
        let time = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let temporary = format!(".{name}.{}.{time}", process::id());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.0, &temporary, flags, Mode::RUSR | Mode::WUSR)?;
        let written = write(file.into(), key, object)
            .and_then(|()| Ok(renameat(&self.0, &temporary, &self.0, &name)?));
        if written.is_err() {
            let _ = unlinkat(&self.0, &temporary, AtFlags::empty());
        }
        written
    }
}

fn write(mut file: fs::File, key: &Key, object: &[u8]) -> io::Result<()> {
    file.write_all(MAGIC)?;
    file.write_all(&seal(key, object))?;
    file.write_all(object)?;
    // Some file systems report a full disk only now.
    file.sync_all()
}

fn directory() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn is_ours(stat: &rustix::fs::Stat, kind: FileType) -> bool {
    let by_others = Mode::WGRP | Mode::WOTH;
    FileType::from_raw_mode(stat.st_mode) == kind
        && stat.st_uid == geteuid().as_raw()
        && !Mode::from_raw_mode(stat.st_mode).intersects(by_others)
}

fn file_name(key: &Key) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn seal(key: &Key, object: &[u8]) -> Key {
    Sm3::new().chain_update(MAGIC).chain_update(key).chain_update(object).finalize().into()
}

#[cfg(test)]
mod tests;
