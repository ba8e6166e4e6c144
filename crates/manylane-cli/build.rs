//! Tells the command which sources and which compiler it was built from, for `manylane bench`.

use std::{env, path::Path, process::Command};

fn main() {
    let root = Path::new("../..");
    // Outside a checkout there is nothing to watch, and no commit to name.
    for path in ["crates", "Cargo.toml", "Cargo.lock", ".git/HEAD", ".git/logs/HEAD"] {
        let path = root.join(path);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\x1f', " ");
    if let Some(version) = output(Command::new(rustc).arg("--version")) {
        let flags = if flags.is_empty() { flags } else { format!(" with {flags}") };
        println!("cargo::rustc-env=MANYLANE_COMPILER={version}{flags}");
    }
    for (name, variable) in [("TARGET", "MANYLANE_TARGET"), ("PROFILE", "MANYLANE_PROFILE")] {
        if let Ok(value) = env::var(name) {
            println!("cargo::rustc-env={variable}={value}");
        }
    }
    if root.join(".git").exists() {
        let git = |arguments: &[&str]| output(Command::new("git").args(arguments));
        if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
            let changes = git(&["status", "--porcelain", "--", "../../crates"]);
            let mark =
                if changes.is_some_and(|changes| changes.is_empty()) { "" } else { "-dirty" };
            println!("cargo::rustc-env=MANYLANE_COMMIT={commit}{mark}");
        }
    }
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
