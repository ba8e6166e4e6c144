//! `cargo xtask test`: every check of the repository.

use std::process::{Command, ExitCode};

use clap::Args;

use crate::{
    Result, amd, arm, capi, cargo, constant_time, emulated, fuzz, kernels, licences, needs,
    objcode, output_of, python, readme, root, rtl, run_command, steps::Steps, target_dir, tidy,
};

#[derive(Args)]
pub(crate) struct Options {
    /// Fail unless the tests of these machines ran: names separated by commas, or `all`.
    #[arg(long, value_name = "MACHINES", value_delimiter = ',')]
    require: Vec<String>,
    /// Install nothing; what is missing fails.
    #[arg(long)]
    no_install: bool,
}

/// Kernels without any optimisation take ten times as long to test as with the least of it; the
/// tests themselves and everything else are sooner built than run.
pub(crate) const OPTIMISED: [&str; 4] = [
    "--config",
    "profile.dev.package.manylane.opt-level=1",
    "--config",
    "profile.dev.package.manylane-engine.opt-level=1",
];

/// Tests of SM2 that compute what machines compute differently. The others read and write forms of
/// keys, signatures and ciphertexts, which is the same code on all of them.
const SM2_ON_MACHINES: [&str; 4] = ["sm2_encrypt", "sm2_known_answers", "sm2_many", "sm2_sign"];

/// Tells the library's tests which machines they must cover.
const REQUIRE: &str = "MANYLANE_REQUIRE";

pub(crate) fn run(options: &Options) -> ExitCode {
    let mut steps = Steps::default();
    steps.check("what the tests need", || needs::provide(!options.no_install));
    steps.check("tidy", tidy::run);
    steps.check("figures of the READMEs", || readme::run(&readme::Options { check: true }));
    steps.command("rustfmt", cargo().args(["fmt", "--all", "--check"]));
    steps.check("licences", licences::run);
    steps.command(
        "clippy",
        cargo()
            .args(["clippy", "--quiet", "--locked", "--workspace", "--all-targets"])
            .args(["--", "-D", "warnings"]),
    );
    // They need a nightly compiler to run, but not to be checked.
    steps.command(
        "fuzz targets",
        cargo()
            .args(["check", "--quiet", "--locked", "--bins", "--manifest-path", "fuzz/Cargo.toml"])
            .env("CARGO_TARGET_DIR", target_dir().join("fuzz")),
    );
    steps.command(
        "documentation",
        cargo()
            .args(["doc", "--quiet", "--locked", "--workspace", "--lib", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    );
    for (reference, file) in [
        ("ref/sm3.py", "vectors/sm3.json"),
        ("ref/sm2_vectors.py", "vectors/sm2.json"),
        ("ref/frame.py", "vectors/frame.json"),
        ("ref/sm2_base.py", "crates/manylane/src/sm2/base.bin"),
        ("ref/block_vectors.py", "vectors/aes.json"),
        ("ref/block_vectors.py", "vectors/sm4.json"),
        ("ref/sha3_vectors.py", "vectors/sha3.json"),
    ] {
        steps.command(
            &format!("{reference} against {file}"),
            Command::new("python3").current_dir(root()).args([reference, "--check", file]),
        );
    }

    // Programs as users build them; the checks of their machine code need them.
    steps.command(
        "release build",
        cargo().args(["build", "--quiet", "--locked", "--release"]).args([
            "--package",
            "manylane-ct",
            "--package",
            "manylane-cli",
        ]),
    );
    let mut machines = Vec::new();
    steps.check("machines of this processor", || {
        machines = Machine::all()?;
        for Machine { name, place } in &machines {
            println!("{name}: {}", place.describe());
        }
        Ok(())
    });
    let required = match required(&options.require, &machines) {
        Ok(required) => required,
        Err(why) => {
            steps.check("required machines", || Err(why));
            Vec::new()
        }
    };
    let of = |names: &[&str]| -> Vec<String> {
        required.iter().filter(|name| names.contains(&name.as_str())).cloned().collect()
    };

    let native: Vec<&str> =
        machines.iter().filter(|m| m.place != Place::Foreign).map(Machine::name).collect();
    steps.tests(
        "tests",
        cargo()
            .args(["test", "--quiet", "--locked", "--workspace", "--no-fail-fast"])
            .args(OPTIMISED)
            .env(REQUIRE, of(&native).join(",")),
    );
    let mut ran = Vec::new();
    for machine in machines.iter().filter(|machine| machine.place == Place::Here) {
        // The names are the library's own, so none can be misspelt and thus ignored.
        let some = steps.tests(
            &format!("tests of the library, forced to {}", machine.name),
            cargo()
                // The whole workspace, for a package by itself would be built again with other
                // features of its dependencies.
                .args(["test", "--quiet", "--locked", "--workspace", "--no-fail-fast"])
                .args(["--lib", "--test", "coverage", "--test", "sm3_*"])
                .args(SM2_ON_MACHINES.iter().flat_map(|test| ["--test", test]))
                .args(OPTIMISED)
                .env("MANYLANE_MACHINE", &machine.name)
                .env(REQUIRE, &machine.name),
        );
        ran.extend(some.then(|| machine.name.clone()));
    }
    if cfg!(not(target_arch = "aarch64")) {
        for processor in &arm::PROCESSORS {
            for (test, why) in arm::SKIPPED {
                steps.skip(&format!("{test} on qemu's {}", processor.name), why);
            }
            let some = steps.tests(
                &format!("tests for AArch64 on qemu's {}", processor.name),
                arm::cargo_for(processor, "test")
                    .args(["--quiet", "--package", "manylane", "--package", "manylane-engine"])
                    .args(["--lib", "--tests", "--no-fail-fast", "--"])
                    .args(arm::SKIPPED.iter().flat_map(|(test, _)| ["--skip", test]))
                    .env(REQUIRE, processor.machines.join(",")),
            );
            ran.extend(processor.machines.iter().filter(|_| some).map(|name| name.to_string()));
        }
    }
    emulated::steps(&mut steps);
    steps.check("kernels for AMD's GPUs", amd::run);
    steps.check("kernels as PTX are what the sources give", || kernels::generate(true));
    steps.check("kernels for NVIDIA's GPUs: registers, no spill", kernels::assemble);
    constant_time::steps(&mut steps, &machines);
    rtl::steps(&mut steps, !options.no_install);
    capi::steps(&mut steps);
    python::steps(&mut steps, !options.no_install);
    steps.check("object code", || objcode::run(&objcode::Options::default()));

    let not_run: Vec<String> =
        machines.iter().map(|m| m.name.clone()).filter(|name| !ran.contains(name)).collect();
    if !required.is_empty() {
        steps.check("required machines ran", || {
            let missing: Vec<_> = required.iter().filter(|name| !ran.contains(name)).collect();
            if missing.is_empty() { Ok(()) } else { Err(format!("not run: {missing:?}")) }
        });
    }
    steps.close(&not_run)
}

/// `cargo xtask long`.
pub(crate) fn long() -> Result {
    run_command(
        cargo()
            .args(["test", "--locked", "--release", "--package", "manylane", "--tests"])
            .args(["--", "--ignored"]),
    )?;
    fuzz::build()
}

/// A machine that some kernel is written for, as the library itself names it.
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) place: Place,
}

/// Whether this processor has a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Here,
    Lacking,
    Foreign,
}

impl Place {
    fn describe(self) -> &'static str {
        match self {
            Place::Here => "this processor has it",
            Place::Lacking => "this processor lacks it",
            Place::Foreign => "of another architecture",
        }
    }
}

impl Machine {
    fn name(&self) -> &str {
        &self.name
    }

    /// All machines, by the library's own detection in a program that has been built before.
    pub(crate) fn all() -> Result<Vec<Machine>> {
        let list = output_of(Command::new(constant_time::program("ctgrind")).arg("machines"))?;
        list.lines().map(Machine::parse).collect()
    }

    fn parse(line: &str) -> Result<Machine> {
        let place = match line.split_once(' ') {
            Some((name, "here")) => (name, Place::Here),
            Some((name, "lacking")) => (name, Place::Lacking),
            Some((name, "foreign")) => (name, Place::Foreign),
            _ => return Err(format!("no line about a machine: {line}")),
        };
        Ok(Machine { name: place.0.into(), place: place.1 })
    }
}

/// The names that `--require` asks for.
fn required(asked: &[String], machines: &[Machine]) -> Result<Vec<String>> {
    let all = || machines.iter().map(|machine| machine.name.clone());
    if asked.iter().any(|name| name == "all") {
        return Ok(all().collect());
    }
    match asked.iter().find(|asked| all().all(|name| name != **asked)) {
        Some(unknown) => Err(format!("--require names no machine by {unknown}")),
        None => Ok(asked.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_read_and_required_by_name() {
        let machines = ["portable here", "avx512 lacking", "neon foreign"];
        let machines: Vec<Machine> =
            machines.iter().map(|line| Machine::parse(line).unwrap()).collect();
        assert_eq!(machines[1].place, Place::Lacking);
        assert!(Machine::parse("avx2").is_err());
        let asked = |names: &[&str]| {
            required(&names.iter().map(|&name| name.into()).collect::<Vec<_>>(), &machines)
        };
        assert_eq!(asked(&[]).unwrap(), [""; 0]);
        assert_eq!(asked(&["neon"]).unwrap(), ["neon"]);
        assert_eq!(asked(&["all"]).unwrap(), ["portable", "avx512", "neon"]);
        assert!(asked(&["avx1024"]).is_err());
    }
}
