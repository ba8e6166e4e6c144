//! The GPU kernels on the host under the address and undefined-behaviour sanitizers: all vectors,
//! layouts and random messages, on the emulated device. A planted overrun must be found.

use std::{
    fs,
    path::Path,
    process::{Command, ExitCode},
};

use crate::{Result, cargo, output_of, root, steps::Steps, target_dir};

/// Tests of `manylane-gpu` that run kernels.
const TESTS: [&str; 10] = [
    "sm3",
    "sm3_hip",
    "comparators",
    "sha3",
    "sha3_hip",
    "sha3_comparators",
    "ring",
    "block",
    "block_hip",
    "block_ring",
];

/// The kernels' function that writes a digest, and a byte behind it written as it was: digests stay
/// right, but the last one's neighbour is not the kernel's.
const PLANT: (&str, &str) = (
    "DEVICE void store_digest(u8 *out, const u32 (&V)[8]) {\n",
    "    volatile u8 *behind = out + 32;\n    *behind = *behind;\n",
);

/// `cargo xtask emulated`.
pub(crate) fn run() -> ExitCode {
    let mut all = Steps::default();
    steps(&mut all);
    all.close(&[])
}

/// The suite's steps.
pub(crate) fn steps(steps: &mut Steps) {
    match tests(None) {
        Ok(mut command) => {
            steps.tests("GPU kernels on the host, with sanitizers", &mut command);
        }
        Err(why) => steps.check("GPU kernels on the host, with sanitizers", || Err(why)),
    }
    steps.check("the sanitizers find a planted overrun", planted);
}

/// The tests with the emulated device built with sanitizers, and its kernels from a folder.
fn tests(kernels: Option<&Path>) -> Result<Command> {
    // The sanitizer's library must come before all others in a program that was built without it.
    let library = output_of(Command::new("c++").arg("-print-file-name=libasan.so"))?;
    let mut command = cargo();
    command
        .args(["test", "--quiet", "--locked", "--package", "manylane-gpu"])
        .args(
            TESTS[..if kernels.is_some() { 1 } else { TESTS.len() }]
                .iter()
                .flat_map(|test| ["--test", test]),
        )
        // By way of `env`, so that only the tests have it, not the compiler.
        .args(["--config", &runner(library.trim())])
        .env("MANYLANE_EMULATOR_SANITIZE", "1")
        .env("RUST_BACKTRACE", "0")
        // A driver built otherwise, so another folder.
        .env("CARGO_TARGET_DIR", target_dir().join("sanitized"));
    if let Some(kernels) = kernels {
        command.env("MANYLANE_EMULATOR_KERNELS", kernels);
    }
    Ok(command)
}

fn runner(library: &str) -> String {
    // Streams' threads and what they use live as long as the process.
    format!(
        "target.'cfg(unix)'.runner=['env','LD_PRELOAD={library}','ASAN_OPTIONS=detect_leaks=0']"
    )
}

fn planted() -> Result {
    let from = root().join("crates/manylane-gpu/kernels");
    let to = target_dir().join("planted-kernels");
    let fail = |error: std::io::Error| format!("{}: {error}", to.display());
    fs::create_dir_all(&to).map_err(fail)?;
    for entry in fs::read_dir(&from).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let text = fs::read_to_string(&path).map_err(fail)?;
        let text = text.replace(PLANT.0, &format!("{}{}", PLANT.0, PLANT.1));
        let name = path.file_name().unwrap_or_default();
        fs::write(to.join(name), text).map_err(fail)?;
    }
    let to = fs::canonicalize(&to).map_err(fail)?;
    let output = tests(Some(&to))?.output().map_err(fail)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && errors.contains("AddressSanitizer: heap-buffer-overflow") {
        return Ok(());
    }
    Err(format!("a byte written behind the digests was not found:\n{errors}"))
}
