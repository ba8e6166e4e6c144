//! Constant time, by valgrind and by the clock: runs the programs of `crates/manylane-ct`.

use std::{path::PathBuf, process::Command};

use clap::Args;

use crate::{
    Result, cargo, root, run_command,
    steps::Steps,
    suite::{Machine, Place},
    target_dir,
};

/// Machines that valgrind cannot run: the check of the object code and `dudect` cover them.
const NOT_UNDER_VALGRIND: [&str; 4] = ["avx512", "vaes", "gfni", "ifma"];

/// The one place where the library branches on what was secret until then.
const EXCUSED: &str = "crates/manylane-ct/reveal.supp";

/// A program of `crates/manylane-ct`, built as users build theirs.
pub(crate) fn program(name: &str) -> PathBuf {
    target_dir().join("release").join(name)
}

pub(crate) fn build() -> Result {
    run_command(cargo().args([
        "build",
        "--quiet",
        "--locked",
        "--release",
        "--package",
        "manylane-ct",
    ]))
}

/// `cargo xtask ct`.
pub(crate) fn valgrind() -> Result {
    build()?;
    for machine in Machine::all()?.iter().filter(|machine| is_checked(machine)) {
        run_command(&mut ctgrind(machine))?;
    }
    Ok(())
}

/// The same as steps of the test suite, whose machines have been detected on the bare processor:
/// one that valgrind hides is a failure.
pub(crate) fn steps(steps: &mut Steps, machines: &[Machine]) {
    for machine in machines.iter().filter(|machine| is_checked(machine)) {
        let name = format!("constant time of {} under valgrind", machine.name);
        steps.tests(&name, &mut ctgrind(machine));
    }
}

fn is_checked(machine: &Machine) -> bool {
    // On AArch64 only the object code is checked: these client requests are x86-64's.
    cfg!(target_arch = "x86_64")
        && machine.place == Place::Here
        && !NOT_UNDER_VALGRIND.contains(&machine.name.as_str())
}

fn ctgrind(machine: &Machine) -> Command {
    let mut valgrind = Command::new("valgrind");
    valgrind
        // The program counts the reports itself: those of the planted leaks must be there.
        .args(["--quiet", "--error-limit=no", "--log-file=/dev/null"])
        .arg(format!("--suppressions={}", root().join(EXCUSED).display()))
        .arg(program("ctgrind"))
        .env("MANYLANE_MACHINE", &machine.name);
    valgrind
}

#[derive(Args)]
pub(crate) struct DudectOptions {
    /// The machine to time; the most capable one if not given.
    #[arg(long)]
    machine: Option<String>,
    /// Seconds for each of the cases.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// `cargo xtask dudect`.
pub(crate) fn dudect(options: &DudectOptions) -> Result {
    build()?;
    let mut dudect = Command::new(program("dudect"));
    dudect.arg(options.seconds.to_string());
    if let Some(machine) = &options.machine {
        dudect.env("MANYLANE_MACHINE", machine);
    }
    run_command(&mut dudect)
}
