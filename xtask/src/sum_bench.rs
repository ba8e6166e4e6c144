//! `manylane sum` as a whole command: against what a user has today on a tree, and against the
//! hash alone on one large file.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use clap::Args;
use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Result, cargo, output_of, run_command, steps::show, target_dir, tree};

#[derive(Args)]
pub(crate) struct Options {
    /// A tree of files, such as `cargo xtask tree` writes.
    #[arg(required_unless_present = "big_file")]
    directory: Option<PathBuf>,
    /// Also a file of this size in /dev/shm, against a stream of bytes in memory.
    #[arg(long, value_name = "SIZE", value_parser = tree::parse_size)]
    big_file: Option<u64>,
    /// Runs of each contender, in turn.
    #[arg(long, default_value_t = 11)]
    runs: usize,
    /// Write sum.json into this folder.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct MeasuredOptions {
    /// Where to write the measurement.
    report: PathBuf,
    #[arg(last = true, required = true)]
    command: Vec<std::ffi::OsString>,
}

/// What one run of a command took.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Measurement {
    seconds: f64,
    /// Of the largest process of the command.
    peak_bytes: u64,
    success: bool,
}

/// Runs a command as this process's only child: then what the system says of the largest child
/// is said of that command.
pub(crate) fn measured(options: &MeasuredOptions) -> ExitCode {
    let measure = || -> Result {
        let start = Instant::now();
        let status = Command::new(&options.command[0]).args(&options.command[1..]).status();
        let seconds = start.elapsed().as_secs_f64();
        let success = status.map_err(|error| error.to_string())?.success();
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
        let peak_bytes = usage.max_rss().cast_unsigned() * 1024;
        let report = serde_json::to_string(&Measurement { seconds, peak_bytes, success })
            .map_err(|error| error.to_string())?;
        fs::write(&options.report, report).map_err(|error| error.to_string())
    };
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn run(options: &Options) -> Result {
    run_command(cargo().args([
        "build",
        "--quiet",
        "--locked",
        "--release",
        "--package",
        "manylane-cli",
    ]))?;
    let manylane = target_dir().join("release").join("manylane");
    let mut report = json!({
        "schema_version": 1,
        "kind": "sum",
        "setup": {
            "date": output_of(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]))?.trim(),
            "commit": output_of(Command::new("git").args(["describe", "--always", "--dirty"]))?.trim(),
            "processors": std::thread::available_parallelism().map_or(1, usize::from),
            "cksum": first_line(&output_of(Command::new("cksum").arg("--version"))?),
            "manylane": first_line(&output_of(Command::new(&manylane).arg("--version"))?),
        },
    });
    if let Some(directory) = &options.directory {
        report["tree"] = compare_on_tree(&manylane, directory, options.runs)?;
    }
    if let Some(size) = options.big_file {
        report["big_file"] = compare_on_file(&manylane, size, options.runs)?;
    }
    let text = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
    match &options.output {
        Some(folder) => {
            let path = folder.join("sum.json");
            let write = || -> std::io::Result<()> {
                fs::create_dir_all(folder)?;
                fs::write(&path, format!("{text}\n"))
            };
            write().map_err(|error| format!("{}: {error}", path.display()))?;
            println!("wrote {}", path.display());
        }
        None => println!("{text}"),
    }
    Ok(())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn compare_on_tree(manylane: &Path, directory: &Path, runs: usize) -> Result<serde_json::Value> {
    let mut ours = Command::new(manylane);
    ours.args(["sum", "-r"]).arg(directory);
    // Two processes, 64 files a call: what an administrator writes on two cores.
    let mut theirs = Command::new("sh");
    theirs.args(["-c", "find \"$0\" -type f -print0 | xargs -0 -P2 -n64 cksum -a sm3"]);
    theirs.arg(directory);

    // Once untimed, so that the tree is in memory for both; and to compare every digest.
    let (_, digests) = measure(&ours)?;
    let (_, expected) = measure(&theirs)?;
    let digests = sorted(&digests);
    if digests != sorted(&expected) {
        return Err("manylane and cksum differ on the tree".into());
    }
    let (files, bytes) = count(directory)?;
    if digests.len() as u64 != files {
        return Err(format!("{files} files, but {} digests", digests.len()));
    }
    let (mut manylane, mut cksum) = (Vec::new(), Vec::new());
    for run in 0..runs {
        // Who goes first changes, so that neither always follows the other.
        for turn in 0..2 {
            let first = run % 2 == turn;
            let (command, log) = if first { (&ours, &mut manylane) } else { (&theirs, &mut cksum) };
            log.push(measure(command)?.0);
        }
    }
    let ratios: Vec<f64> =
        manylane.iter().zip(&cksum).map(|(ours, theirs)| theirs.seconds / ours.seconds).collect();
    let ratio = Estimate::of(&ratios);
    let seconds =
        |log: &[Measurement]| Estimate::of(&log.iter().map(|m| m.seconds).collect::<Vec<_>>());
    let peak = |log: &[Measurement]| log.iter().map(|m| m.peak_bytes).max().unwrap_or(0);
    let (fast, slow) = (seconds(&manylane), seconds(&cksum));
    println!(
        "tree: {files} files, {bytes} bytes, digests identical\n  \
         manylane {fast} s, {:.2} GB/s, peak {:.0} MB\n  cksum    {slow} s, {:.2} GB/s\n  \
         ratio    {ratio}",
        bytes as f64 / fast.median / 1e9,
        peak(&manylane) as f64 / 1e6,
        bytes as f64 / slow.median / 1e9,
    );
    Ok(json!({
        "files": files, "bytes": bytes, "digests_identical": true,
        "commands": { "manylane": show(&ours), "cksum": show(&theirs) },
        "manylane": { "seconds": fast, "peak_bytes": peak(&manylane), "runs": manylane },
        "cksum": { "seconds": slow, "peak_bytes_of_largest_process": peak(&cksum), "runs": cksum },
        "ratio": ratio,
    }))
}

/// One file in memory against the stream alone, both as bytes a second: reading, mapping and
/// printing may cost five percent.
fn compare_on_file(manylane: &Path, size: u64, runs: usize) -> Result<serde_json::Value> {
    let folder = tempfile::tempdir_in("/dev/shm").map_err(|error| format!("/dev/shm: {error}"))?;
    let path = folder.path().join("big.bin");
    write_file(&path, size).map_err(|error| format!("{}: {error}", path.display()))?;

    let mut ours = Command::new(manylane);
    ours.arg("sum").arg(&path);
    let (_, digest) = measure(&ours)?;
    let expected = output_of(Command::new("openssl").args(["dgst", "-sm3", "-r"]).arg(&path))?;
    let expected = expected.split(' ').next().unwrap_or_default().to_string();
    if !digest.contains(&expected) {
        return Err(format!("manylane and openssl differ on {}", path.display()));
    }
    let mut log = Vec::new();
    let mut streams = Vec::new();
    for _ in 0..runs {
        // In turn, because the clock of a shared machine changes between minutes.
        log.push(measure(&ours)?.0);
        streams.push(stream_rate(manylane)?);
    }
    let rates: Vec<f64> = log.iter().map(|m| size as f64 / m.seconds).collect();
    let ratios: Vec<f64> = rates.iter().zip(&streams).map(|(file, stream)| file / stream).collect();
    let (file, stream, ratio) =
        (Estimate::of(&rates), Estimate::of(&streams), Estimate::of(&ratios));
    let peak = log.iter().map(|m| m.peak_bytes).max().unwrap_or(0);
    println!(
        "file of {size} bytes in memory, digest identical to openssl's\n  \
         manylane sum {:.3} GB/s\n  stream alone {:.3} GB/s\n  ratio        {ratio}",
        file.median / 1e9,
        stream.median / 1e9,
    );
    Ok(json!({
        "bytes": size, "digest_identical": true,
        // A mapped file counts as the process's memory while its pages are mapped.
        "peak_bytes_with_mapped_pages": peak,
        "manylane_bytes_per_second": file, "stream_bytes_per_second": stream,
        "ratio": ratio, "runs": log, "streams": streams,
    }))
}

/// Bytes a second of one stream from memory, of the fastest machine, by the command's own
/// benchmark. That refuses to give figures it was disturbed in, so it is asked again.
fn stream_rate(manylane: &Path) -> Result<f64> {
    const TRIES: usize = 5;
    let mut last = String::new();
    for _ in 0..TRIES {
        match try_stream_rate(manylane) {
            Ok(rate) => return Ok(rate),
            Err(why) => last = why,
        }
    }
    Err(format!("no rate of the stream alone in {TRIES} tries: {last}"))
}

fn try_stream_rate(manylane: &Path) -> Result<f64> {
    const GROUP: &str = "sm3/stream/1048576";
    let output = output_of(
        Command::new(manylane).args(["bench", "sm3", "--quick", "--json", "--only", GROUP]),
    )?;
    let summary: serde_json::Value =
        serde_json::from_str(&output).map_err(|error| error.to_string())?;
    let machines = summary["setup"]["machines"]["run"].as_array();
    let is_machine = |name: &serde_json::Value| machines.is_some_and(|all| all.contains(name));
    let results = summary["results"].as_array().into_iter().flatten();
    let rates = results
        .filter(|result| result["group"] == GROUP && is_machine(&result["contender"]))
        .filter_map(|result| result["metrics"]["gb_per_s"]["median"].as_f64());
    let fastest = rates.reduce(f64::max).map(|rate| rate * 1e9);
    fastest.ok_or_else(|| format!("no rates of {GROUP} in the summary"))
}

fn write_file(path: &Path, size: u64) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    let mut random = tree::Random::new(1, 0);
    let mut block = vec![0; 1 << 20];
    let mut left = size as usize;
    while left > 0 {
        let part = &mut block[..left.min(1 << 20)];
        random.fill(part);
        file.write_all(part)?;
        left -= part.len();
    }
    Ok(())
}

/// Runs a command with its output in a file; what it took, and what it wrote.
fn measure(command: &Command) -> Result<(Measurement, String)> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (report, output) = (folder.path().join("report"), folder.path().join("output"));
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let stdout = File::create(&output).map_err(|error| error.to_string())?;
    let mut wrapped = Command::new(this);
    wrapped.arg("measured").arg(&report).arg("--").arg(command.get_program());
    wrapped.args(command.get_args()).stdin(Stdio::null()).stdout(stdout);
    run_command(&mut wrapped)?;
    let report = fs::read_to_string(&report).map_err(|error| error.to_string())?;
    let report: Measurement = serde_json::from_str(&report).map_err(|error| error.to_string())?;
    if !report.success {
        return Err(format!("`{}` failed", show(command)));
    }
    Ok((report, fs::read_to_string(&output).map_err(|error| error.to_string())?))
}

fn sorted(lines: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    lines
}

/// Files of a tree and their bytes.
fn count(directory: &Path) -> Result<(u64, u64)> {
    let fail = |error: std::io::Error| format!("{}: {error}", directory.display());
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(directory).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let kind = entry.file_type().map_err(fail)?;
        if kind.is_dir() {
            let (more, longer) = count(&entry.path())?;
            (files, bytes) = (files + more, bytes + longer);
        } else if kind.is_file() {
            (files, bytes) = (files + 1, bytes + entry.metadata().map_err(fail)?.len());
        }
    }
    Ok((files, bytes))
}

/// A median and the interval that holds it with at least 95% (by order statistics: no
/// distribution is assumed).
#[derive(Clone, Copy, Debug, Serialize)]
struct Estimate {
    median: f64,
    low: f64,
    high: f64,
}

impl Estimate {
    fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
        let rank = interval_rank(n);
        Estimate { median, low: sorted[rank], high: sorted[n - 1 - rank] }
    }
}

impl std::fmt::Display for Estimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} [{:.3}, {:.3}]", self.median, self.low, self.high)
    }
}

/// The largest rank k, from 0, such that the median lies below the k-th smallest of n values, or
/// above the k-th largest, with at most 5%; 0 if n is too small for that.
fn interval_rank(n: usize) -> usize {
    let mut below = 0.0;
    let mut choose = 1.0;
    for k in 0..n {
        below += choose * 0.5_f64.powi(n as i32);
        if below > 0.025 {
            return k.saturating_sub(1);
        }
        choose *= (n - k) as f64 / (k + 1) as f64;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_tables() {
        // Ranks of the 95% interval of a median, counted from 1: n = 11: 2; 20: 6; 30: 10.
        assert_eq!([6, 11, 20, 30].map(interval_rank), [0, 1, 5, 9]);
        let estimate = Estimate::of(&[5.0, 1.0, 4.0, 2.0, 3.0, 6.0]);
        assert_eq!((estimate.low, estimate.median, estimate.high), (1.0, 3.5, 6.0));
    }

    #[test]
    fn trees_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::write(folder.path().join("a/b/c"), "123").unwrap();
        fs::write(folder.path().join("d"), "45").unwrap();
        assert_eq!(count(folder.path()), Ok((2, 5)));
    }
}
