//! `cargo xtask python` and `wheel`: the package of `crates/manylane-py`. Its tests are Python programs, run with an
//! extension that cargo has built beside everything else, so that nothing is compiled twice.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::{Args, Subcommand};

use crate::{
    Result, cargo, needs, output_of, root, run_command, steps::Steps, suite::OPTIMISED, target_dir,
    venv::Venv,
};

const CRATE: &str = "crates/manylane-py";

#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    task: Task,
    /// Install nothing; what is missing fails.
    #[arg(long, global = true)]
    no_install: bool,
}

#[derive(Subcommand)]
enum Task {
    /// The tests, on an emulated GPU too, the types, and some seconds of fuzzing.
    Test,
    /// Calls everything with random arguments: no call may crash.
    Fuzz {
        /// How long
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
    /// Measures the package against the library, hashlib and itself on two cores, as JSON.
    Bench {
        /// The record; standard output if none is given
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Args)]
pub(crate) struct WheelOptions {
    /// The folder that the wheel goes to, below the target directory unless one is given
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> ExitCode {
    let mut all = Steps::default();
    let install = !options.no_install;
    match &options.task {
        Task::Test => steps(&mut all, install),
        Task::Fuzz { seconds } => {
            if let Some(package) = Package::provided(&mut all, install) {
                fuzz(&mut all, &package, *seconds);
            }
        }
        Task::Bench { output } => all.check("python: bench", || bench(output.as_deref(), install)),
    }
    all.close_alone()
}

/// What CI runs, as steps of the whole suite.
pub(crate) fn steps(steps: &mut Steps, install: bool) {
    let Some(package) = Package::provided(steps, install) else { return };
    let tests = |folder: &str| {
        let mut command = package.python();
        command.arg(format!("{CRATE}/tests/run.py")).arg(format!("{CRATE}/tests/{folder}"));
        command
    };
    steps.tests("python: tests", tests("").arg(format!("--ignore={CRATE}/tests/gpu")));
    steps.tests(
        "python: arrays on an emulated GPU",
        tests("gpu")
            .env("LD_LIBRARY_PATH", &package.emulator)
            .env("MANYLANE_EMULATOR", "devices=2"),
    );
    steps.command(
        "python: types",
        package
            .python()
            .args(["-m", "mypy", "--strict", "--no-incremental", "--cache-dir=/dev/null"])
            .arg(format!("{CRATE}/python/manylane")),
    );
    steps.command(
        "python: stubs are as the extension",
        package.python().args(["-m", "mypy.stubtest", "manylane"]),
    );
    fuzz(steps, &package, 6);
}

fn fuzz(steps: &mut Steps, package: &Package, seconds: u32) {
    steps.command(
        "python: random arguments",
        package
            .python()
            .args(["-X", "faulthandler"])
            .arg(format!("{CRATE}/tests/fuzz.py"))
            .args(["--seconds", &seconds.to_string()])
            .env("LD_LIBRARY_PATH", &package.emulator),
    );
}

/// The package, laid out as if it were installed, and the environment that it is tested in.
struct Package {
    venv: Venv,
    /// What goes before all other packages.
    site: PathBuf,
    /// The emulated driver's folder.
    emulator: PathBuf,
}

impl Package {
    /// As a step of its own; none if it fails.
    fn provided(steps: &mut Steps, install: bool) -> Option<Self> {
        let mut package = None;
        steps.check("python: environment and extension", || {
            package = Some(Package::provide(install)?);
            Ok(())
        });
        package
    }

    fn provide(install: bool) -> Result<Self> {
        needs::provide_python(install)?;
        let venv = tools(install)?;
        // The whole workspace, for a package by itself would be built again with other features of its dependencies.
        let built = output_of(
            cargo()
                .args(["build", "--quiet", "--locked", "--workspace", "--lib"])
                .args(["--message-format", "json"])
                .args(OPTIMISED),
        )?;
        let (extension, out_dir) = artifacts(&built)?;
        let site = target_dir().join("python/site");
        lay_out(&extension, &site).map_err(|error| format!("{}: {error}", site.display()))?;
        Ok(Package { venv, site, emulator: out_dir.join("drivers/cuda") })
    }

    fn python(&self) -> Command {
        let mut command = self.venv.python();
        command.env("PYTHONPATH", &self.site);
        command
    }
}

fn tools(install: bool) -> Result<Venv> {
    let (requirements, setup) = (format!("{CRATE}/requirements.txt"), "cargo xtask python test");
    Venv::provide("python/venv", &requirements, setup, install)
}

/// The extension, and what the emulator's build script has made, by cargo's messages.
fn artifacts(messages: &str) -> Result<(PathBuf, PathBuf)> {
    let (mut extension, mut out_dir) = (None, None);
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let is_of = |package: &str| {
            message["package_id"].as_str().is_some_and(|id| id.contains(&format!("{package}#")))
        };
        match message["reason"].as_str() {
            Some("compiler-artifact") if is_of("/manylane-py") => {
                extension = message["filenames"][0].as_str().map(PathBuf::from);
            }
            Some("build-script-executed") if is_of("/manylane-emulator") => {
                out_dir = message["out_dir"].as_str().map(PathBuf::from);
            }
            _ => {}
        }
    }
    match (extension, out_dir) {
        (Some(extension), Some(out_dir)) => Ok((extension, out_dir)),
        _ => Err("cargo built no extension, or no emulator".into()),
    }
}

/// Puts the Python files and the extension where an interpreter finds them.
fn lay_out(extension: &Path, site: &Path) -> std::io::Result<()> {
    if site.exists() {
        fs::remove_dir_all(site)?;
    }
    copy_tree(&root().join(CRATE).join("python/manylane"), &site.join("manylane"))?;
    fs::copy(extension, site.join("manylane/_manylane.abi3.so")).map(drop)
}

fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let name = path.file_name().expect("a file in a folder");
        if path.is_dir() {
            if name != "__pycache__" {
                copy_tree(&path, &to.join(name))?;
            }
        } else if path.extension().is_none_or(|kind| kind != "so") {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// Builds as users do, and measures.
fn bench(output: Option<&Path>, install: bool) -> Result {
    needs::provide_python(install)?;
    let venv = tools(install)?;
    let site = target_dir().join("python/site-release");
    run_command(cargo().args([
        "build",
        "--quiet",
        "--locked",
        "--release",
        "--package",
        "manylane-py",
    ]))?;
    run_command(
        cargo()
            .args(["build", "--quiet", "--locked", "--release", "--package", "manylane-engine"])
            .args(["--example", "rates"]),
    )?;
    let release = target_dir().join("release");
    lay_out(&release.join("lib_manylane.so"), &site)
        .map_err(|error| format!("{}: {error}", site.display()))?;
    let mut command = venv.python();
    command
        .arg(format!("{CRATE}/bench/cpu.py"))
        .arg(release.join("examples/rates"))
        .env("PYTHONPATH", &site);
    if let Some(output) = output {
        command.arg("--output").arg(output);
    }
    run_command(&mut command)
}

/// `cargo xtask wheel`: built with zig's linker for the oldest glibc that Rust itself runs on, and checked; and a source
/// distribution that cargo takes as it is.
pub(crate) fn wheel(options: &WheelOptions) -> Result {
    needs::provide_python(true)?;
    let requirements = format!("{CRATE}/requirements-wheel.txt");
    let venv = Venv::provide("python/venv-wheel", &requirements, "cargo xtask wheel", true)?;
    let folder = options.output.clone().unwrap_or_else(|| target_dir().join("wheels"));
    let programs = venv.programs();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path)))
        .map_err(|error| error.to_string())?;
    let mut build = venv.python();
    build
        .args(["-m", "maturin", "build", "--release", "--locked", "--zig"])
        .args(["--compatibility", "manylinux2014", "--auditwheel", "check", "--out"])
        .arg(&folder)
        .env("PATH", path);
    run_command(&mut build)?;
    let (archives, tree) =
        (target_dir().join("python/sdist"), target_dir().join("python/sdist/tree"));
    let fail = |error: std::io::Error| format!("{}: {error}", archives.display());
    if archives.exists() {
        fs::remove_dir_all(&archives).map_err(fail)?;
    }
    fs::create_dir_all(&tree).map_err(fail)?;
    run_command(venv.python().args(["-m", "maturin", "sdist", "--out"]).arg(&archives))?;
    let archive = fs::read_dir(&archives)
        .map_err(fail)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|kind| kind == "gz"))
        .ok_or("maturin made no source distribution")?;
    run_command(
        Command::new("tar")
            .args(["--strip-components=1", "-xzf"])
            .arg(&archive)
            .arg("-C")
            .arg(&tree),
    )?;
    // It has fewer packages than this workspace, whose lock file it must not be held to.
    output_of(cargo().args(["metadata", "--format-version", "1"]).current_dir(&tree)).map(drop)?;
    let name = archive.file_name().expect("a file in a folder");
    fs::copy(&archive, folder.join(name)).map_err(fail).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_messages_name_what_was_built() {
        let messages = "\
            {\"reason\":\"compiler-artifact\",\"package_id\":\"path+file:///a/crates/manylane#0.1.0\",\"filenames\":[\"/x\"]}\n\
            {\"reason\":\"compiler-artifact\",\"package_id\":\"path+file:///a/crates/manylane-py#0.1.0\",\"filenames\":[\"/y\"]}\n\
            {\"reason\":\"build-script-executed\",\"package_id\":\"path+file:///a/crates/manylane-emulator#0.1.0\",\"out_dir\":\"/z\"}\n";
        assert_eq!(artifacts(messages), Ok(("/y".into(), "/z".into())));
        assert!(artifacts("").is_err());
    }

    #[test]
    fn requirements_have_exact_versions_and_hashes() {
        for name in ["requirements.txt", "requirements-wheel.txt"] {
            let text = fs::read_to_string(root().join(CRATE).join(name)).unwrap();
            let packages = text.lines().filter(|line| line.contains("==")).count();
            let others = text.lines().filter(|line| !line.contains("==") && !line.starts_with('#'));
            assert!(packages > 3 && others.clone().count() >= packages, "{name}");
            assert!(
                others.into_iter().all(|line| line.starts_with("    --hash=sha256:")),
                "{name}"
            );
        }
    }
}
