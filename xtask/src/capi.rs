//! `cargo xtask capi`: the C library, its header, and programs in C and C++ that use it under sanitizers.

pub(crate) mod deb;
pub(crate) mod header;
pub(crate) mod install;
mod programs;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::Args;

use crate::{Result, cargo, root, run_command, steps::Steps, target_dir};

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
    let profile = if options.release { Profile::Release } else { Profile::Tested };
    steps_with(&mut all, profile);
    if let Some(file) = &options.bench {
        all.check("C library: cost of a call", || programs::bench(profile, file));
    }
    all.close_alone()
}

/// The suite's steps.
pub(crate) fn steps(steps: &mut Steps) {
    steps_with(steps, Profile::Tested);
}

fn steps_with(steps: &mut Steps, profile: Profile) {
    steps.check("C library: the header is what the sources say", || header::generate(true));
    let mut library = None;
    steps.check("C library: build", || {
        library = Some(Library::build(profile)?);
        Ok(())
    });
    let Some(library) = library else { return };
    steps.check("C library: what it exports", || exports(&library));
    programs::steps(steps, &library);
    steps.check("C library: installed, found by pkg-config", || install::check(&library));
}

/// How the library is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// As the suite's other tests are, whose work is used again.
    Tested,
    Release,
}

impl Profile {
    fn folder(self) -> &'static str {
        match self {
            Profile::Tested => "debug",
            Profile::Release => "release",
        }
    }

    fn arguments(self) -> Vec<&'static str> {
        match self {
            Profile::Tested => crate::suite::OPTIMISED.to_vec(),
            Profile::Release => vec!["--release"],
        }
    }
}

/// Both forms of the library, in one folder.
pub(crate) struct Library {
    pub(crate) folder: PathBuf,
}

impl Library {
    /// Builds `libmanylane.a`, and links `libmanylane.so` from it.
    pub(crate) fn build(profile: Profile) -> Result<Self> {
        run_command(
            cargo()
                .args(["rustc", "--quiet", "--locked", "--package", "manylane-capi", "--lib"])
                .args(["--crate-type", "staticlib"])
                .args(profile.arguments()),
        )?;
        let built = target_dir().join(profile.folder()).join("libmanylane_capi.a");
        let folder = target_dir().join("capi").join(profile.folder());
        create_dir(&folder)?;
        let library = Library { folder };
        copy(&built, &library.archive())?;
        library.link()?;
        Ok(library)
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

/// The shared library exports the functions of the header under their version, and nothing else.
fn exports(library: &Library) -> Result {
    let table = crate::output_of(
        Command::new("nm")
            .args(["--dynamic", "--defined-only", "--with-symbol-versions"])
            .arg(library.shared()),
    )?;
    let mut exported: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2))
        // The version itself is a symbol too.
        .filter(|&symbol| symbol != "MANYLANE_0.1")
        .collect();
    exported.sort_unstable();
    let mut declared: Vec<String> = header::functions(&header::committed()?)
        .into_iter()
        .map(|name| format!("{name}@@MANYLANE_0.1"))
        .collect();
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
