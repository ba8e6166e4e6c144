//! `cargo xtask capi`: the C library, its header, and programs in C and C++ that use it under sanitizers.

pub(crate) mod deb;
pub(crate) mod header;
pub(crate) mod install;
mod notices;
mod programs;
mod versions;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::Args;
use serde::Deserialize;

use crate::{Result, cargo, output_of, root, run_command, steps::Steps, suite, target_dir};

/// What the library needs of the system, as `rustc --print native-static-libs` says.
pub(crate) const SYSTEM_LIBRARIES: [&str; 6] =
    ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

/// What a program that runs in place of an older library may expect of it: changes with the ABI.
const SONAME: &str = "libmanylane.so.0";

#[derive(Args)]
pub(crate) struct Options {
    /// Optimised, as it is installed; takes minutes.
    #[arg(long)]
    release: bool,
    /// Also write how fast C's calls are beside Rust's, as JSON, to this file.
    #[arg(long, value_name = "FILE")]
    bench: Option<PathBuf>,
}

/// The library's folder in the repository.
fn folder() -> PathBuf {
    root().join("crates/manylane-capi")
}

pub(crate) fn run(options: &Options) -> ExitCode {
    let mut all = Steps::default();
    steps_with(&mut all, Tested::Alone, options.release);
    if let Some(file) = &options.bench {
        all.check("C library: cost of a call", || programs::bench(file));
    }
    all.close_alone()
}

/// The suite's steps.
pub(crate) fn steps(steps: &mut Steps) {
    steps_with(steps, Tested::WithAll, false);
}

fn steps_with(steps: &mut Steps, tested: Tested, release: bool) {
    steps.check("C library: the header is what the sources say", || header::generate(true));
    let mut built = None;
    steps.check("C library: build", || {
        let artifacts = Artifacts::build(tested)?;
        let library = match release {
            true => Library::release()?,
            false => Library::new("debug", &artifacts.archive)?,
        };
        built = Some((artifacts, library));
        Ok(())
    });
    let Some((artifacts, library)) = built else { return };
    steps.check("C library: what it exports", || exports(&library));
    programs::steps(steps, &library, &artifacts.vectors);
    steps.check("C library: installed, found by pkg-config", || install::check(&library));
}

/// With what the crate's tests are built. Together with all others, the suite has built them before; alone, the
/// crates that it depends on may have fewer features, and so are built once more.
#[derive(Clone, Copy)]
enum Tested {
    WithAll,
    Alone,
}

/// What building the crate's tests leaves: the library as it is for them, and an example.
struct Artifacts {
    archive: PathBuf,
    vectors: PathBuf,
}

impl Artifacts {
    fn build(tested: Tested) -> Result<Self> {
        let packages = match tested {
            Tested::WithAll => &["--workspace"][..],
            Tested::Alone => &["--package", "manylane-capi"],
        };
        let messages = output_of(
            cargo()
                .args(["test", "--quiet", "--locked", "--no-run", "--message-format=json"])
                .args(packages)
                .args(suite::OPTIMISED),
        )?;
        let files: Vec<PathBuf> = messages
            .lines()
            .filter_map(|line| serde_json::from_str::<Message>(line).ok())
            .flat_map(|message| message.filenames)
            .collect();
        let find = |folder: &str, is_it: &dyn Fn(&str) -> bool| {
            let is_there = |path: &&PathBuf| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                path.parent().is_some_and(|parent| parent.ends_with(folder)) && is_it(&name)
            };
            files.iter().find(is_there).cloned().ok_or("cargo names no such file")
        };
        let is_archive = |name: &str| name.starts_with("libmanylane_capi") && name.ends_with(".a");
        Ok(Artifacts {
            archive: find("deps", &is_archive)?,
            vectors: find("examples", &|name| name == "vectors")?,
        })
    }
}

/// What cargo says of something that it built.
#[derive(Deserialize)]
struct Message {
    filenames: Vec<PathBuf>,
}

/// Both forms of the library, in one folder.
pub(crate) struct Library {
    pub(crate) folder: PathBuf,
}

impl Library {
    /// `libmanylane.a`, and `libmanylane.so` linked from it.
    fn new(folder: &str, archive: &Path) -> Result<Self> {
        let folder = target_dir().join("capi").join(folder);
        create_dir(&folder)?;
        let library = Library { folder };
        copy(archive, &library.archive())?;
        library.link()?;
        Ok(library)
    }

    /// As it is installed. With one kind of library only, for cargo optimises none across crates where there are two.
    pub(crate) fn release() -> Result<Self> {
        run_command(
            cargo()
                .args(["rustc", "--quiet", "--locked", "--package", "manylane-capi", "--lib"])
                .args(["--release", "--crate-type", "staticlib"]),
        )?;
        Library::new("release", &target_dir().join("release/libmanylane_capi.a"))
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.folder.join("libmanylane.a")
    }

    /// The file with the whole version in its name.
    pub(crate) fn shared(&self) -> PathBuf {
        self.folder.join(shared_name())
    }

    fn link(&self) -> Result {
        run_command(
            Command::new("cc")
                .args(["-shared", "-o"])
                .arg(self.shared())
                .arg("-Wl,--whole-archive")
                .arg(self.archive())
                .arg("-Wl,--no-whole-archive")
                .arg(format!("-Wl,--version-script={}", folder().join("manylane.map").display()))
                .arg(format!("-Wl,-soname,{SONAME}"))
                // Threads may outlive what has loaded the library: it stays.
                .args(["-Wl,-z,nodelete", "-Wl,-z,defs", "-Wl,-z,relro,-z,now"])
                .args(["-Wl,--gc-sections", "-Wl,--build-id=sha1"])
                .args(SYSTEM_LIBRARIES),
        )?;
        links(&self.folder)
    }
}

/// The names by which a linker and a loader look for the shared library.
pub(crate) fn links(folder: &Path) -> Result {
    for (link, to) in [(SONAME, shared_name().as_str()), ("libmanylane.so", SONAME)] {
        let path = folder.join(link);
        let _ = fs::remove_file(&path);
        std::os::unix::fs::symlink(to, &path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

pub(crate) fn shared_name() -> String {
    format!("libmanylane.so.{}", env!("CARGO_PKG_VERSION"))
}

/// The shared library exports the functions of the header under the versions that `manylane.map` gives them, and
/// nothing else.
fn exports(library: &Library) -> Result {
    let table = output_of(
        Command::new("nm")
            .args(["--dynamic", "--defined-only", "--with-symbol-versions"])
            .arg(library.shared()),
    )?;
    let mut exported: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2))
        // The versions themselves are symbols too.
        .filter(|symbol| symbol.contains('@'))
        .collect();
    exported.sort_unstable();
    let map = versions::committed()?;
    let mut declared: Vec<String> =
        map.iter().map(|(name, version)| format!("{name}@@{version}")).collect();
    declared.sort_unstable();
    let missing: Vec<_> =
        declared.iter().filter(|name| !exported.contains(&name.as_str())).collect();
    let more: Vec<_> =
        exported.iter().filter(|name| !declared.iter().any(|d| d == *name)).collect();
    if missing.is_empty() && more.is_empty() {
        println!("{} functions", declared.len());
        return Ok(());
    }
    Err(format!("declared and not exported: {missing:?}; exported and not declared: {more:?}"))
}

/// The folder in which a file is: this one, or one in it, as that of libraries for an architecture.
pub(crate) fn find_dir(folder: &Path, name: &str) -> Result<PathBuf> {
    let inner = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut folders = vec![folder.to_owned()];
    folders.extend(inner.flatten().map(|entry| entry.path()));
    let found = folders.into_iter().find(|folder| folder.join(name).exists());
    found.ok_or_else(|| format!("{}: no {name}", folder.display()))
}

/// Makes a folder with all above it.
pub(crate) fn create_dir(path: &Path) -> Result {
    fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))
}

pub(crate) fn copy(from: &Path, to: &Path) -> Result {
    let copied = fs::copy(from, to);
    copied.map(drop).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> Result {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
