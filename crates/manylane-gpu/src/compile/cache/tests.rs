use std::{
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use super::*;

const KEY: Key = [7; 32];
const OBJECT: &[u8] = b"a code object";

/// A cache in a folder of its own, and that folder.
fn cache() -> (tempfile::TempDir, PathBuf, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("manylane");
    let cache = Cache::at(&path).unwrap();
    (folder, path, cache)
}

/// The same with an entry, and the entry's path.
fn filled() -> (tempfile::TempDir, PathBuf, Cache) {
    let (folder, path, cache) = cache();
    cache.store(&KEY, OBJECT).unwrap();
    assert_eq!(cache.load(&KEY).unwrap(), OBJECT);
    (folder, path.join(file_name(&KEY)), cache)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A folder of another user: one that is made so by root, or else root's.
fn foreign(folder: &Path) -> PathBuf {
    if geteuid().is_root() {
        let path = folder.join("foreign");
        fs::create_dir(&path).unwrap();
        chown(&path, Some(65534), Some(65534)).unwrap();
        path
    } else {
        "/usr".into()
    }
}

#[test]
fn what_is_stored_is_loaded_and_private() {
    let (_folder, file, cache) = filled();
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
    assert_eq!(cache.load(&[8; 32]), None);
    cache.store(&KEY, b"another").unwrap();
    assert_eq!(cache.load(&KEY).unwrap(), b"another");
    // Nothing temporary is left.
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn every_changed_bit_is_noticed() {
    let (_folder, file, cache) = filled();
    let content = fs::read(&file).unwrap();
    for bit in 0..8 * content.len() {
        let mut changed = content.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        fs::write(&file, &changed).unwrap();
        assert_eq!(cache.load(&KEY), None, "bit {bit}");
    }
    for len in 0..content.len() {
        fs::write(&file, &content[..len]).unwrap();
        assert_eq!(cache.load(&KEY), None, "{len} bytes");
    }
    fs::write(&file, [&content[..], b"x"].concat()).unwrap();
    assert_eq!(cache.load(&KEY), None);
    fs::write(&file, &content).unwrap();
    assert_eq!(cache.load(&KEY).unwrap(), OBJECT);
}

#[test]
fn an_entry_under_another_name_is_not_taken() {
    let (_folder, file, cache) = filled();
    fs::rename(&file, file.with_file_name(file_name(&[8; 32]))).unwrap();
    assert_eq!(cache.load(&[8; 32]), None);
}

#[test]
fn a_file_that_others_can_write_is_not_taken_and_then_replaced() {
    for mode in [0o620, 0o602] {
        let (_folder, file, cache) = filled();
        set_mode(&file, mode);
        assert_eq!(cache.load(&KEY), None, "{mode:o}");
        cache.store(&KEY, OBJECT).unwrap();
        assert_eq!(cache.load(&KEY).unwrap(), OBJECT);
    }
}

#[test]
fn what_is_no_plain_file_is_not_taken() {
    let (_folder, file, cache) = filled();
    let elsewhere = file.with_file_name("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    assert_eq!(cache.load(&KEY), None);
    // The link is replaced, not followed.
    cache.store(&KEY, b"another").unwrap();
    assert!(fs::symlink_metadata(&file).unwrap().is_file());
    assert!(fs::read(&elsewhere).unwrap().ends_with(OBJECT));

    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(cache.load(&KEY), None);
    assert!(cache.store(&KEY, OBJECT).is_err());
    fs::remove_dir(&file).unwrap();

    rustix::fs::mknodat(CWD, &file, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert_eq!(cache.load(&KEY), None);
}

#[test]
fn a_folder_that_others_can_write_is_no_cache() {
    let (_folder, path, _) = cache();
    for mode in [0o720, 0o702, 0o777] {
        set_mode(&path, mode);
        assert!(Cache::at(&path).is_none(), "{mode:o}");
    }
    for mode in [0o700, 0o755] {
        set_mode(&path, mode);
        assert!(Cache::at(&path).is_some(), "{mode:o}");
    }
}

#[test]
fn a_link_a_file_and_a_relative_path_are_no_cache() {
    let (folder, path, _) = cache();
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(Cache::at(&link).is_none());
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(Cache::at(&file).is_none());
    assert!(Cache::at(Path::new("manylane-cache")).is_none());
    assert!(Cache::at(&folder.path().join("no/such")).is_none());
}

#[test]
fn another_users_folder_is_no_cache_and_gets_none() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = foreign(folder.path());
    assert!(Cache::at(&foreign).is_none());
    assert!(Cache::under(&foreign).is_none());
    assert!(Cache::under(&foreign.join(".cache")).is_none());
    for made in ["manylane", ".cache"] {
        assert!(!foreign.join(made).exists(), "{made}");
    }
}

#[test]
fn another_users_file_is_not_taken() {
    let (_folder, file, cache) = filled();
    if geteuid().is_root() {
        chown(&file, Some(65534), None).unwrap();
        assert_eq!(cache.load(&KEY), None);
    } else {
        // Only root can give a file away; what is asked of it is asked of any file.
        let stat = rustix::fs::stat("/etc/passwd").unwrap();
        assert!(!is_ours(&stat, FileType::RegularFile));
    }
}

#[test]
fn the_users_folder_is_made_if_its_parent_is_the_users() {
    let home = tempfile::tempdir().unwrap();
    let base = home.path().join(".cache");
    let cache = Cache::under(&base).unwrap();
    cache.store(&KEY, OBJECT).unwrap();
    assert_eq!(fs::metadata(&base).unwrap().mode() & 0o777, 0o700);
    assert!(base.join("manylane").join(file_name(&KEY)).exists());
    assert!(Cache::under(&home.path().join("a/b")).is_none());
}

#[test]
fn the_folder_is_the_one_that_was_checked() {
    let (folder, path, cache) = cache();
    fs::rename(&path, folder.path().join("moved")).unwrap();
    fs::create_dir(&path).unwrap();
    cache.store(&KEY, OBJECT).unwrap();
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    assert_eq!(cache.load(&KEY).unwrap(), OBJECT);
}

#[test]
fn readers_never_see_half_of_what_writers_write() {
    let (_folder, path, first) = cache();
    first.store(&KEY, &[0; 100_000]).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 1..4u8 {
            let (path, stop) = (&path, &stop);
            scope.spawn(move || {
                let cache = Cache::at(path).unwrap();
                while !stop.load(Relaxed) {
                    cache.store(&KEY, &vec![writer; 100_000 + usize::from(writer)]).unwrap();
                }
            });
        }
        for _ in 0..200 {
            let object = first.load(&KEY).expect("there is always a whole one");
            let writer = object[0];
            assert_eq!(object, vec![writer; 100_000 + usize::from(writer)]);
        }
        stop.store(true, Relaxed);
    });
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
}
