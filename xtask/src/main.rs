//! The project's own tasks. `cargo xtask help` lists them; CONTRIBUTING.md says when to run which.

mod amd;
mod arm;
mod capi;
mod constant_time;
mod emulated;
mod fuzz;
mod kernels;
mod licences;
mod needs;
mod objcode;
mod provider;
mod python;
mod readme;
mod rtl;
mod steps;
mod suite;
mod sum_bench;
mod tidy;
mod tree;
mod venv;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::{Parser, Subcommand};

/// Why a task failed, in words for the person who runs it.
type Result<T = ()> = std::result::Result<T, String>;

/// The project's own tasks.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Every check of the repository; installs what the checks need (as root or with sudo).
    ///
    /// Runs all steps even if one fails, lists the machines that this processor could not run,
    /// and closes with the number of tests that passed and failed.
    Test(suite::Options),
    /// The mechanical rules of the sources: unsafe code, file sizes, documents, manifests.
    Tidy,
    /// What is generated: the tables in the READMEs, from the records under bench/runs, the header of the C
    /// library, and the GPU kernels as PTX.
    Gen(readme::Options),
    /// Licences, origins and versions of all dependencies.
    Licences,
    /// The kernels' machine code for AMD's and Hygon's GPUs, by hipRTC and clang, without a GPU.
    Amd,
    /// Registers and spills of the kernels on every architecture of NVIDIA, by its assemblers.
    Ptxas,
    /// The GPU kernels on the host, under the address and undefined-behaviour sanitizers.
    Emulated,
    /// Constant time by valgrind: secrets marked undefined, no branch or index may depend on one.
    Ct,
    /// Constant time by the object code: secrets followed through every instruction of every
    /// kernel; also counts calls and spilled vectors in hot loops.
    Objcode(objcode::Options),
    /// Constant time by the clock, as dudect does: keys fixed against keys drawn at random.
    ///
    /// Noisy by nature, so run by hand on a quiet machine and no part of `test`.
    Dudect(constant_time::DudectOptions),
    /// The library's tests that take minutes, optimised: every form of a hundred thousand keys. Then
    /// builds the fuzz targets (see `fuzz`), which `test` only type-checks.
    Long,
    /// The SM3 core in Verilog: its tools, checks, proofs and measurements.
    Rtl(rtl::Options),
    /// The C library: header, build, and programs in C and C++ under sanitizers.
    Capi(capi::Options),
    /// Installs the C library, its header, the command with its manual, and the OpenSSL provider.
    Install(capi::install::Options),
    /// Makes a package for Debian of the same.
    Deb(capi::deb::Options),
    /// The OpenSSL provider as users build it, with a newer OpenSSL, and its speed.
    Provider(provider::Options),
    /// The Python package: tests, fuzzing, measurements.
    Python(python::Options),
    /// The Python package as a wheel for glibc 2.17 and later (about five minutes).
    Wheel(python::WheelOptions),
    /// Writes a tree of files with log-normal sizes, the same for the same seed.
    Tree(tree::Options),
    /// Compares `manylane sum` with `cksum -a sm3` run by xargs, as whole commands.
    SumBench(sum_bench::Options),
    /// Runs the fuzz targets (needs a nightly compiler and cargo-fuzz).
    Fuzz(fuzz::Options),
    /// Runs a command and writes its time and peak memory as JSON; used by `sum-bench`.
    #[command(hide = true)]
    Measured(sum_bench::MeasuredOptions),
}

fn main() -> ExitCode {
    let done = match Cli::parse().task {
        Task::Test(options) => return suite::run(&options),
        Task::Tidy => tidy::run(),
        Task::Gen(options) => readme::run(&options)
            .and_then(|()| capi::header::generate(options.check))
            .and_then(|()| kernels::generate(options.check)),
        Task::Licences => licences::run(),
        Task::Amd => amd::run(),
        Task::Ptxas => kernels::assemble(),
        Task::Emulated => return emulated::run(),
        Task::Ct => constant_time::valgrind(),
        Task::Objcode(options) => objcode::run(&options),
        Task::Dudect(options) => constant_time::dudect(&options),
        Task::Long => suite::long(),
        Task::Rtl(options) => return rtl::run(&options),
        Task::Capi(options) => return capi::run(&options),
        Task::Install(options) => capi::install::run(&options),
        Task::Deb(options) => capi::deb::run(&options),
        Task::Provider(options) => return provider::run(&options),
        Task::Python(options) => return python::run(&options),
        Task::Wheel(options) => python::wheel(&options),
        Task::Tree(options) => tree::run(&options),
        Task::SumBench(options) => sum_bench::run(&options),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Measured(options) => return sum_bench::measured(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root")
}

/// The target directory that this very program was built in.
fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// The same cargo that runs this task, in the repository's root. What it tests keeps nothing in the
/// user's cache, and takes nothing from there.
fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root()).env("MANYLANE_CACHE", "off");
    cargo
}

/// Runs a command to its end; an error unless it succeeds.
fn run_command(command: &mut Command) -> Result {
    let shown = steps::show(command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}`: {status}")),
        Err(error) => Err(format!("`{shown}`: {error}")),
    }
}

/// The standard output of a command that succeeds.
fn output_of(command: &mut Command) -> Result<String> {
    let shown = steps::show(command);
    let output = command.output().map_err(|error| format!("`{shown}`: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{shown}`: {}\n{}", output.status, stderr.trim_end()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{shown}`: output is not UTF-8"))
}
