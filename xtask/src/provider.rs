//! The OpenSSL provider beyond what `cargo test` runs of it: as users build it, with OpenSSL 4, and its speed.

use std::{
    fs,
    path::PathBuf,
    process::{Command, ExitCode},
};

use clap::Args;
use serde_json::{Value, json};

use crate::{Result, cargo, needs, output_of, root, run_command, steps::Steps, target_dir};

#[derive(Args)]
pub(crate) struct Options {
    /// Builds OpenSSL 4 and runs the tests with it, TLS 1.3 with RFC 8998 among them.
    #[arg(long)]
    newer: bool,
    /// Compares `openssl speed` with and without the provider.
    #[arg(long, conflicts_with = "newer")]
    speed: bool,
    /// Rounds of the comparison: each runs both sides.
    #[arg(long, default_value_t = 5, value_name = "N", requires = "speed")]
    rounds: usize,
    /// Writes the comparison as JSON.
    #[arg(short, long, value_name = "FILE", requires = "speed")]
    output: Option<PathBuf>,
    /// Install nothing; what is missing fails.
    #[arg(long)]
    no_install: bool,
}

/// OpenSSL's version in `openssl.lock`.
const NEWER: &str = "4.0.3";

/// Calls of each random test, where the tests that all changes must pass run tens.
const COUNT: &str = "3000";

/// `cargo xtask provider`.
pub(crate) fn run(options: &Options) -> ExitCode {
    let mut steps = Steps::default();
    steps.check("what the tests need", || needs::provide_provider(!options.no_install));
    steps.command(
        "release build",
        cargo().args(["build", "--quiet", "--locked", "--release", "-p", "manylane-provider"]),
    );
    if options.speed {
        steps.check("speed", || speed(options));
    } else if options.newer {
        steps.check(&format!("OpenSSL {NEWER}"), build_newer);
        steps.tests(
            &format!("the provider in OpenSSL {NEWER}"),
            tests()
                .env("MANYLANE_OPENSSL", newer_dir().join("installed"))
                // nginx is the system's, and with the system's OpenSSL.
                .args(["--", "--include-ignored", "--skip", "nginx"]),
        );
    } else {
        steps.tests("the provider as users build it", tests().env("COUNT", COUNT));
    }
    steps.close_alone()
}

/// The tests of the provider with the library that the release build has made.
fn tests() -> Command {
    let mut command = cargo();
    command
        .args([
            "test",
            "--quiet",
            "--locked",
            "--release",
            "-p",
            "manylane-provider",
            "--no-fail-fast",
        ])
        .env("MANYLANE_PROVIDER", library());
    command
}

fn library() -> PathBuf {
    target_dir().join("release/libmanylane_provider.so")
}

fn newer_dir() -> PathBuf {
    target_dir().join(format!("openssl-{NEWER}"))
}

/// Builds the newer OpenSSL, once: its command, libraries and headers.
fn build_newer() -> Result {
    let dir = newer_dir();
    if dir.join("installed/bin/openssl").exists() {
        return Ok(());
    }
    let fail = |error: std::io::Error| format!("{}: {error}", dir.display());
    let build = dir.join("build");
    fs::create_dir_all(&build).map_err(fail)?;
    for (name, content) in [
        ("Cargo.toml", include_str!("provider/openssl.toml")),
        ("Cargo.lock", include_str!("provider/openssl.lock")),
        ("lib.rs", ""),
    ] {
        fs::write(dir.join(name), content).map_err(fail)?;
    }
    // The sources' files as they are: cargo's own directory of unpacked crates may be read-only.
    output_of(cargo().current_dir(&dir).args(["vendor", "--quiet", "--locked", "sources"]))?;
    let configure = dir.join("sources/openssl-src/openssl/Configure");
    // The crate has no lists of exported symbols, without which there are no shared libraries.
    let words =
        ["no-shared", "no-module", "no-legacy", "no-tests", "no-docs", "no-engine", "--libdir=lib"];
    let prefix = format!("--prefix={}", dir.join("installed").display());
    let mut perl = Command::new("perl");
    output_of(perl.current_dir(&build).arg(configure).args(words).arg(prefix))?;
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut make = Command::new("make");
    output_of(make.current_dir(&build).arg(format!("-j{jobs}")))?;
    output_of(Command::new("make").current_dir(&build).arg("install_sw")).map(|_| ())
}

/// What is compared: words of `openssl speed`, what of its line counts, and by how much ours should be faster.
struct Case {
    name: &'static str,
    words: &'static [&'static str],
    line: &'static str,
    field: usize,
    unit: &'static str,
    bar: f64,
}

const CASES: [Case; 4] = [
    Case {
        name: "sm3, 16 KiB",
        words: &["-bytes", "16384", "-evp", "sm3"],
        line: "+F:",
        field: 3,
        unit: "bytes/s",
        bar: 1.25,
    },
    Case {
        name: "sm4-ctr, 16 KiB",
        words: &["-bytes", "16384", "-evp", "sm4-ctr"],
        line: "+F:",
        field: 3,
        unit: "bytes/s",
        bar: 20.0,
    },
    Case { name: "sm2 sign", words: &["sm2"], line: "+F7:", field: 4, unit: "1/s", bar: 12.0 },
    Case { name: "sm2 verify", words: &["sm2"], line: "+F7:", field: 5, unit: "1/s", bar: 4.0 },
];

fn speed(options: &Options) -> Result {
    let dir = target_dir().join("provider-speed");
    let fail = |error: std::io::Error| format!("{}: {error}", dir.display());
    fs::create_dir_all(&dir).map_err(fail)?;
    let config = dir.join("openssl.cnf");
    fs::write(&config, CONFIG.replace("MODULE", &library().display().to_string())).map_err(fail)?;
    let mut results: Vec<[Vec<f64>; 2]> = CASES.iter().map(|_| Default::default()).collect();
    for round in 0..options.rounds.max(1) {
        // Both sides right after each other, and each first in turn.
        for (case, result) in CASES.iter().zip(&mut results) {
            for side in [round % 2, 1 - round % 2] {
                let mut command = Command::new("openssl");
                command.args(["speed", "-mr", "-seconds", "2"]).args(case.words);
                command.env(
                    "OPENSSL_CONF",
                    if side == 0 { config.as_os_str() } else { "/dev/null".as_ref() },
                );
                result[side].push(figure(&output_of(&mut command)?, case)?);
            }
        }
    }
    let mut missed = Vec::new();
    let mut cases = Vec::new();
    for (case, [ours, theirs]) in CASES.iter().zip(&results) {
        let (ours_median, theirs_median) = (median(ours), median(theirs));
        let ratio = ours_median / theirs_median;
        println!(
            "{}: {ours_median:.4e} against {theirs_median:.4e} {}, {ratio:.2} x",
            case.name, case.unit
        );
        if ratio < case.bar {
            missed.push(format!("{}: {ratio:.2} x where {} x is due", case.name, case.bar));
        }
        cases.push(json!({
            "name": case.name,
            "command": format!("openssl speed -mr -seconds 2 {}", case.words.join(" ")),
            "unit": case.unit,
            "manylane": { "median": ours_median, "rounds": ours },
            "openssl": { "median": theirs_median, "rounds": theirs },
            "ratio": ratio,
            "bar": case.bar,
        }));
    }
    let record = json!({ "suite": "provider", "setup": setup()?, "cases": cases });
    if let Some(path) = &options.output {
        let text = serde_json::to_string_pretty(&record).map_err(|error| error.to_string())?;
        fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if missed.is_empty() { Ok(()) } else { Err(missed.join("; ")) }
}

/// The figure in the lines that `openssl speed -mr` prints.
fn figure(output: &str, case: &Case) -> Result<f64> {
    let line = output.lines().find(|line| line.starts_with(case.line));
    let field = line.and_then(|line| line.split(':').nth(case.field));
    field
        .and_then(|field| field.trim().parse().ok())
        .ok_or_else(|| format!("{}: no figure in what openssl says:\n{output}", case.name))
}

fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

fn setup() -> Result<Value> {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    Ok(json!({
        "cpu": model.map_or("unknown", |(_, model)| model),
        "threads": std::thread::available_parallelism().map_or(0, usize::from),
        "load": fs::read_to_string("/proc/loadavg").unwrap_or_default().trim_end(),
        "openssl": output_of(Command::new("openssl").arg("version"))?.trim_end(),
        "rustc": output_of(Command::new("rustc").arg("--version"))?.trim_end(),
        "commit": output_of(Command::new("git").current_dir(root()).args(["rev-parse", "HEAD"]))?.trim_end(),
        "changed": run_command(Command::new("git").current_dir(root()).args(["diff", "--quiet", "HEAD"])).is_err(),
    }))
}

const CONFIG: &str = "\
openssl_conf = init

[init]
providers = providers
alg_section = algorithms

[providers]
default = default_provider
manylane = manylane_provider

[default_provider]
activate = 1

[manylane_provider]
module = MODULE
activate = 1

[algorithms]
default_properties = ?provider=manylane
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found() {
        let sm3 = "+H:16384\n+F:25:sm3:274227200.00\n";
        assert_eq!(figure(sm3, &CASES[0]), Ok(274_227_200.0));
        let sm2 = "+F7:0:256:CurveSM2:2073.170732:2460.000000\n";
        assert_eq!((figure(sm2, &CASES[2]), figure(sm2, &CASES[3])), (Ok(2073.170732), Ok(2460.0)));
        assert!(figure(sm3, &CASES[2]).is_err());
    }

    #[test]
    fn medians() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0])), (2.0, 2.5));
    }
}
