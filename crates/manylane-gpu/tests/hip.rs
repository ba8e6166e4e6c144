//! HIP and hipRTC, emulated: what is said of devices, errors, and the cache of code objects.
//!
//! What lasts as long as a process, the driver and what was compiled, is tested in processes of
//! their own: this program starts itself again.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use manylane::sm3::{Digest as _, Sm3 as Digest};
use manylane_emulator::{Driver, count, install};
use manylane_gpu::{DeviceId, Error, Gpu, Sm3, Vendor, devices};

/// In a child: opens the first device, hashes nothing, and says what happened.
#[test]
#[ignore = "run by the other tests, in processes of their own"]
fn child() {
    install(Driver::Hip, "");
    let gpu = Gpu::open(DeviceId { vendor: Vendor::Hip, ordinal: 0 });
    let sm3 = gpu.and_then(|gpu| Sm3::new(&gpu));
    match sm3 {
        Ok(_) => println!("ready, compiled {}", count(Driver::Hip, 0, "compilations")),
        Err(error) => println!("error: {error}"),
    }
}

/// Runs [`child`] with a cache and settings of the emulator.
fn run(cache: &Path, settings: &str) -> String {
    said(child_command().env("MANYLANE_CACHE", cache).env("MANYLANE_EMULATOR", settings))
}

fn child_command() -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"]);
    command
}

fn said(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let stdout = String::from_utf8(stdout).unwrap();
    assert!(status.success(), "{stdout}{}", String::from_utf8_lossy(&stderr));
    let line = stdout.lines().find_map(|line| {
        let at = line.find("ready, ").or_else(|| line.find("error: "))?;
        Some(line[at..].to_string())
    });
    line.unwrap_or_else(|| panic!("the child says neither: {stdout}"))
}

#[test]
fn a_device_is_described() {
    install(Driver::Hip, "");
    let found = devices(Vendor::Hip).unwrap();
    assert_eq!(found.len(), 1);
    let info = &found[0];
    assert_eq!(info.id.to_string(), "hip:0");
    assert_eq!(info.name, "manylane emulated GPU");
    assert_eq!(info.architecture, "gfx90a");
    assert_eq!(info.driver, "7.0.51831");
    assert_eq!((info.multiprocessors, info.warp, info.integrated), (1, 64, false));
    assert_eq!((info.memory, info.pci.as_str()), (1 << 30, "0000:2a:00.0"));
    let id = DeviceId { vendor: Vendor::Hip, ordinal: 1 };
    assert_eq!(Gpu::open(id).unwrap_err(), Error::NoDevice { id, count: 1 });
}

#[test]
fn what_was_compiled_once_is_kept() {
    let cache = tempfile::tempdir().unwrap();
    assert_eq!(run(cache.path(), ""), "ready, compiled 1");
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
    assert_eq!(run(cache.path(), ""), "ready, compiled 0");
    // Another architecture, another code object.
    assert_eq!(run(cache.path(), "architecture=gfx1100"), "ready, compiled 1");
    // Another release of HIP too.
    assert_eq!(run(cache.path(), "driver_version=60443483"), "ready, compiled 1");
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 3);
    assert_eq!(run(cache.path(), "architecture=gfx1100"), "ready, compiled 0");
}

#[test]
fn a_damaged_entry_is_compiled_again_and_replaced() {
    let cache = tempfile::tempdir().unwrap();
    assert_eq!(run(cache.path(), ""), "ready, compiled 1");
    let file = fs::read_dir(cache.path()).unwrap().next().unwrap().unwrap().path();
    let mut content = fs::read(&file).unwrap();
    *content.last_mut().unwrap() ^= 1;
    fs::write(&file, content).unwrap();
    assert_eq!(run(cache.path(), ""), "ready, compiled 1");
    assert_eq!(run(cache.path(), ""), "ready, compiled 0");
}

#[test]
fn the_cache_can_be_turned_off_or_be_in_the_users_folder() {
    let home = tempfile::tempdir().unwrap();
    for compiled in ["ready, compiled 1", "ready, compiled 0"] {
        let mut command = child_command();
        command.env_remove("MANYLANE_CACHE").env_remove("XDG_CACHE_HOME");
        assert_eq!(said(command.env("HOME", home.path())), compiled);
    }
    assert_eq!(fs::read_dir(home.path().join(".cache/manylane")).unwrap().count(), 1);
    for _ in 0..2 {
        let mut command = child_command();
        command.env("MANYLANE_CACHE", "off").env("HOME", home.path());
        assert_eq!(said(&mut command), "ready, compiled 1");
    }
}

#[test]
fn the_compilers_log_is_kept() {
    let said = run(Path::new("off"), "fail_compile=1");
    assert!(
        said.starts_with("error: cannot compile sm3.cu for gfx90a: hiprtcCompileProgram"),
        "{said}"
    );
    let cache = tempfile::tempdir().unwrap();
    run(cache.path(), "fail_compile=1");
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
}

#[test]
fn a_library_that_is_too_old_or_finds_no_device_is_told_apart() {
    let said = run(Path::new("off"), "driver_version=40321000");
    assert!(said.contains("no HIP driver") && said.contains("HIP 4.3.21000"), "{said}");
    let said = run(Path::new("off"), "devices=0");
    assert_eq!(said, "error: no device 'hip:0': the HIP driver finds no GPU");
    let said = run(Path::new("off"), "init_code=999");
    assert_eq!(said, "error: hipInit failed: hipErrorUnknown: of an emulated GPU (999)");
}

#[test]
fn a_device_without_memory_says_so() {
    let said = run(Path::new("off"), "memory=1000");
    assert!(said.starts_with("error: out of GPU memory: hipMalloc"), "{said}");
}

#[test]
fn a_kernel_that_computes_wrong_digests_is_not_used() {
    let said = run(Path::new("off"), "flip_launch=1");
    assert!(said.contains("computes wrong digests"), "{said}");
}

/// The only file of a cache.
fn kept_in(cache: &Path) -> PathBuf {
    fs::read_dir(cache).unwrap().next().unwrap().unwrap().path()
}

/// A code object of another driver, say, that passes for whole but is of no use.
#[test]
fn a_kept_code_object_that_does_not_work_is_compiled_anew_and_replaced() {
    let cache = tempfile::tempdir().unwrap();
    assert_eq!(run(cache.path(), ""), "ready, compiled 1");
    let file = kept_in(cache.path());
    let good = fs::read(&file).unwrap();
    let magic = good.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let key: Vec<u8> = (0..32)
        .map(|i| u8::from_str_radix(&file.file_name().unwrap().to_str().unwrap()[2 * i..][..2], 16))
        .map(Result::unwrap)
        .collect();
    let object = b"no code object";
    let mut seal = Digest::new();
    for part in [&good[..magic], &key, object] {
        seal.update(part);
    }
    let seal = seal.finalize();
    fs::write(&file, [&good[..magic], &seal, object].concat()).unwrap();
    assert_eq!(run(cache.path(), ""), "ready, compiled 1");
    assert_eq!(fs::read(kept_in(cache.path())).unwrap(), good);
    assert_eq!(run(cache.path(), ""), "ready, compiled 0");
    // Nor is one trusted that computes wrong digests; what was compiled just now is not again.
    assert_eq!(run(cache.path(), "flip_launch=1"), "ready, compiled 1");
    let said = run(Path::new("off"), "flip_launch=1");
    assert!(said.contains("computes wrong digests"), "{said}");
}
