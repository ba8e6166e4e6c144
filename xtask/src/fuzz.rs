//! Runs the fuzz targets one after another.

use std::process::Command;

use clap::Args;

use crate::{Result, output_of, root, run_command};

#[derive(Args)]
pub(crate) struct Options {
    /// Seconds for each target.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Only these targets.
    targets: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result {
    let listed = listed()?;
    let listed: Vec<&str> = listed.lines().collect();
    if let Some(unknown) = options.targets.iter().find(|name| !listed.contains(&name.as_str())) {
        return Err(format!("no fuzz target {unknown}; there are {}", listed.join(", ")));
    }
    let chosen =
        |name: &&str| options.targets.is_empty() || options.targets.iter().any(|t| t == name);
    for target in listed.iter().copied().filter(chosen) {
        println!("=== {target}");
        let mut run = fuzz();
        run.args(["run", target]);
        if target.starts_with("sm2_") {
            // The first folder takes what is found; the others give keys and ciphertexts to start from.
            let found = root().join("fuzz/corpus").join(target);
            std::fs::create_dir_all(&found).map_err(|error| error.to_string())?;
            run.arg(found).args(["vectors/interop/gmssl", "vectors/interop/tongsuo"]);
        }
        run_command(run.args(["--", &format!("-max_total_time={}", options.seconds)]))?;
    }
    Ok(())
}

/// Builds all targets as they are run. `cargo check` makes no machine code, so it does not see assembly
/// that finds no registers beside the sanitizer's.
pub(crate) fn build() -> Result {
    listed()?;
    run_command(fuzz().arg("build"))
}

/// The names of the targets, one a line.
fn listed() -> Result<String> {
    let listed = output_of(fuzz().arg("list")).map_err(|why| {
        format!("{why}\nfuzzing needs: rustup toolchain install nightly; cargo install cargo-fuzz")
    })?;
    if listed.trim().is_empty() {
        return Err("there are no fuzz targets".into());
    }
    Ok(listed)
}

fn fuzz() -> Command {
    let mut cargo = Command::new("cargo");
    cargo.arg("+nightly").arg("fuzz").current_dir(root());
    // What the outer cargo set would keep the inner one from another compiler.
    for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        cargo.env_remove(name);
    }
    cargo
}
