//! What is generated from records and committed: the tables in the READMEs.
//!
//! A table stands between `<!-- gen: NAME FOLDER -->` and `<!-- /gen -->`; FOLDER is the run under
//! `bench/runs` that it quotes.

mod block;
mod block_gpu;
mod gpu;
mod rtl;
mod sha3;
mod sm2;

use std::{fs, path::Path};

use serde_json::Value;

use crate::{Result, root};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Change nothing; fail if a table is not what the records say
    #[arg(long)]
    pub(crate) check: bool,
}

/// Files that hold generated tables.
const FILES: [&str; 4] = ["README.md", "README.zh-CN.md", "bench/README.md", "rtl/sm3/README.md"];

pub(crate) fn run(options: &Options) -> Result {
    let mut stale = Vec::new();
    for name in FILES {
        let path = root().join(name);
        let old = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        let new = regenerate(&old, &|table, folder| table_of(table, &root().join(folder)))
            .map_err(|error| format!("{name}: {error}"))?;
        if new == old {
            continue;
        }
        if options.check {
            stale.push(name);
        } else {
            fs::write(&path, new).map_err(|error| format!("{name}: {error}"))?;
            println!("{name}: tables written anew");
        }
    }
    match stale[..] {
        [] => Ok(()),
        _ => Err(format!("{}: not what bench/runs says; run `cargo xtask gen`", stale.join(", "))),
    }
}

/// The text with every table replaced by what `table` says.
fn regenerate(text: &str, table: &dyn Fn(&str, &str) -> Result<String>) -> Result<String> {
    const OPEN: &str = "<!-- gen: ";
    const CLOSE: &str = "<!-- /gen -->";
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (header, body) = after.split_once(" -->\n").ok_or("a `gen` comment without an end")?;
        let (_, after) = body.split_once(CLOSE).ok_or("a `gen` comment without its `/gen`")?;
        let (name, folder) = header.split_once(' ').ok_or("a `gen` comment without a folder")?;
        out += &format!("{before}{OPEN}{header} -->\n{}{CLOSE}", table(name, folder)?);
        rest = after;
    }
    Ok(out + rest)
}

fn table_of(table: &str, folder: &Path) -> Result<String> {
    let read_text = |name: &str| -> Result<String> {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let read = |name: &str| -> Result<Value> {
        let text = read_text(name)?;
        serde_json::from_str(&text)
            .map_err(|error| format!("{}: {error}", folder.join(name).display()))
    };
    match table {
        "grid" => grid(&read("summary.json")?),
        "peers" => peers(&read("summary.json")?),
        "gpu" => gpu::kernels(&read("summary.json")?),
        "block-gpu" => block_gpu::kernels(&read("summary.json")?),
        "ncu" => block_gpu::profile(&read_text("ncu.csv")?),
        "ncu-sha3" => sha3::profile(&read_text("ncu-sha3.csv")?),
        "gpu-host" => gpu::host(&read("summary.json")?),
        "sm2" => sm2::calls(&read("summary.json")?),
        "sm2-messages" => sm2::messages(&read("summary.json")?),
        "aes" => block::aes(&read("summary.json")?),
        "sm4" => block::sm4(&read("summary.json")?),
        "sha3" => sha3::one_core(&read("summary.json")?),
        "sha3-grid" => sha3::grid(&read("summary.json")?),
        "sha3-slides" => sha3::slides(&read("summary.json")?),
        "sha3-gpu" => sha3::kernels(&read("summary.json")?),
        "rtl-cells" => rtl::cells(&read("synth.json")?),
        "rtl-system" => rtl::system(&read("system.json")?),
        "sum" => sum(&read("sum.json")?),
        _ => Err(format!("no table is called {table}")),
    }
}

/// One metric's median of a contender in a group.
fn median(summary: &Value, group: &str, contender: &str, metric: &str) -> Option<f64> {
    let mut results = summary["results"].as_array()?.iter();
    let result = results.find(|r| r["group"] == group && r["contender"] == contender)?;
    result["metrics"][metric]["median"].as_f64()
}

/// The ratio of two contenders, taken from samples in pairs, if the run has it.
fn ratio(summary: &Value, group: &str, contender: &str, base: &str) -> Option<f64> {
    let mut ratios = summary["ratios"].as_array()?.iter();
    let found =
        |r: &&Value| r["group"] == group && r["contender"] == contender && r["base"] == base;
    ratios.find(found)?["median"].as_f64()
}

/// What was measured where and when, as the last line under a table.
fn provenance(summary: &Value) -> String {
    let setup = &summary["setup"];
    let text = |value: &Value| value.as_str().unwrap_or("unknown").to_string();
    format!(
        "\n{} ({}), {:.2} GHz measured in the run, {}, commit {}.\n",
        text(&setup["hardware"]["cpu"]),
        text(&setup["hardware"]["cpu_id"]),
        setup["clock"]["hz_by_add"].as_f64().unwrap_or(0.0) / 1e9,
        text(&setup["date"]).split('T').next().unwrap_or_default(),
        text(&setup["build"]["commit"]),
    )
}

/// Rows of the grid: the words of the row, and the group that holds its figures.
const ROWS: [(&str, &str); 4] = [
    ("many messages of 8 KiB", "sm3/many/8192"),
    ("many messages of 64 B", "sm3/many/64"),
    ("many of 0…4 KiB, mixed", "sm3/many/0-4096"),
    ("one stream", "sm3/stream/1048576"),
];

fn grid(summary: &Value) -> Result<String> {
    let machines = summary["setup"]["machines"]["run"].as_array().ok_or("no machines were run")?;
    let machines: Vec<&str> = machines.iter().filter_map(Value::as_str).collect();
    let mut out =
        format!("| SM3 | {} |\n|---|{}\n", machines.join(" | "), "---|".repeat(machines.len()));
    for (row, group) in ROWS {
        out += &format!("| {row} |");
        for machine in &machines {
            let figure = |metric| median(summary, group, machine, metric);
            out += &match (figure("bytes_per_clock"), figure("gb_per_s")) {
                (Some(per_clock), Some(rate)) => format!(" {per_clock:.3} B/clk, {rate:.2} GB/s |"),
                _ => " – |".to_string(),
            };
        }
        out += "\n";
    }
    Ok(out + &provenance(summary))
}

/// A row of the comparison: the words of the row, the group, our contender's name in it (none: the
/// best machine), the metric, and its unit and scale.
type Compared = (&'static str, &'static str, Option<&'static str>, &'static str, &'static str, f64);

const COMPARED: [Compared; 6] = [
    ("many messages of 8 KiB", "sm3/many/8192", None, "gb_per_s", "GB/s", 1.0),
    ("many messages of 64 B", "sm3/many/64", None, "gb_per_s", "GB/s", 1.0),
    ("one stream of 1 MiB", "sm3/stream/1048576", None, "gb_per_s", "GB/s", 1.0),
    ("one message of 64 B at a time", "sm3/stream/64", None, "units_per_s", "M/s", 1e-6),
    (
        "HMAC of many 64-B messages, a key each",
        "sm3/hmac/64",
        Some("hmac_many, "),
        "units_per_s",
        "M/s",
        1e-6,
    ),
    ("PBKDF2, iterations", "sm3/pbkdf2/500", Some("sm3::pbkdf2"), "units_per_s", "M/s", 1e-6),
];

fn peers(summary: &Value) -> Result<String> {
    let machines = summary["setup"]["machines"]["run"].as_array().ok_or("no machines were run")?;
    let peers = summary["setup"]["peers"].as_array().ok_or("no peers were looked for")?;
    let peers: Vec<(&str, &str)> = peers
        .iter()
        .filter(|peer| peer["missing"].is_null())
        .filter_map(|peer| Some((peer["name"].as_str()?, peer["version"].as_str()?)))
        .collect();
    let names: Vec<&str> = peers.iter().map(|(name, _)| *name).collect();
    let mut out = format!(
        "| SM3 on one core | manylane | {} |\n|---|---|{}\n",
        names.join(" | "),
        "---|".repeat(peers.len())
    );
    for (row, group, ours, metric, unit, scale) in COMPARED {
        let prefix = ours.unwrap_or_default();
        let of_machine = |machine: &Value| {
            let name = match ours {
                Some(name) if !name.ends_with(' ') => name.to_string(),
                _ => format!("{prefix}{}", machine.as_str()?),
            };
            Some((median(summary, group, &name, metric)?, name))
        };
        let best = machines.iter().filter_map(of_machine).max_by(|a, b| a.0.total_cmp(&b.0));
        let (best, name) = best.ok_or_else(|| format!("{group}: none of ours was measured"))?;
        out += &format!("| {row} | **{:.3} {unit}** |", best * scale);
        for peer in &names {
            let figure = median(summary, group, peer, metric);
            out += &match (figure, ratio(summary, group, &name, peer).or(figure.map(|f| best / f)))
            {
                (Some(figure), Some(ratio)) => {
                    format!(" {:.3} {unit}: manylane is {ratio:.2} × |", figure * scale)
                }
                _ => " – |".to_string(),
            };
        }
        out += "\n";
    }
    let versions: Vec<&str> = peers.iter().map(|(_, version)| *version).collect();
    Ok(format!("{out}\n{}. {}", versions.join("; "), provenance(summary).trim_start()))
}

fn sum(report: &Value) -> Result<String> {
    let number = |path: &str| {
        report.pointer(path).and_then(Value::as_f64).ok_or_else(|| format!("sum.json: no {path}"))
    };
    let bytes = number("/tree/bytes")?;
    let (ours, theirs) =
        (number("/tree/manylane/seconds/median")?, number("/tree/cksum/seconds/median")?);
    let mut out = String::from("| command | time | rate | peak memory |\n|---|---|---|---|\n");
    out += &format!(
        "| `manylane sum -r`, {} cores | **{ours:.2} s** | {:.2} GB/s | {:.0} MB |\n",
        number("/setup/processors")?,
        bytes / ours / 1e9,
        number("/tree/manylane/peak_bytes")? / 1e6,
    );
    out += &format!(
        "| `xargs -P2 cksum -a sm3` | {theirs:.2} s: manylane is {:.2} × | {:.2} GB/s | – |\n",
        number("/tree/ratio/median")?,
        bytes / theirs / 1e9,
    );
    let (size, rate) =
        (number("/big_file/bytes")?, number("/big_file/manylane_bytes_per_second/median")?);
    out += &format!(
        "| `manylane sum` of one file of {:.0} GiB | {:.2} s | {:.3} GB/s, {:.0} % of the stream alone | {:.0} MB |\n",
        size / f64::from(1 << 30),
        size / rate,
        rate / 1e9,
        number("/big_file/ratio/median")? * 100.0,
        number("/big_file/peak_bytes_with_mapped_pages")? / 1e6,
    );
    let setup = |name: &str| report["setup"][name].as_str().unwrap_or("unknown").to_string();
    out += &format!(
        "\n{:.0} files, {:.2} GB; {}; {}, commit {}.\n",
        number("/tree/files")?,
        bytes / 1e9,
        setup("cksum"),
        setup("date").split('T').next().unwrap_or_default(),
        setup("commit"),
    );
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_tables_are_replaced() {
        let text = "a\n<!-- gen: t f -->\nold\n<!-- /gen -->\nb\n";
        let new = regenerate(text, &|name, folder| Ok(format!("{name} of {folder}\n"))).unwrap();
        assert_eq!(new, "a\n<!-- gen: t f -->\nt of f\n<!-- /gen -->\nb\n");
        assert_eq!(regenerate(&new, &|_, _| Ok("t of f\n".into())).unwrap(), new);
        assert!(regenerate("<!-- gen: t f -->\nno end", &|_, _| Ok(String::new())).is_err());
    }

    #[test]
    fn the_grid_quotes_medians_and_leaves_gaps() {
        let summary = json!({
            "setup": { "machines": { "run": ["portable", "avx2"] } },
            "results": [{
                "group": "sm3/many/8192", "contender": "avx2",
                "metrics": {
                    "bytes_per_clock": { "median": 0.4761 }, "gb_per_s": { "median": 1.709 },
                },
            }],
        });
        let table = grid(&summary).unwrap();
        assert!(
            table.contains("| many messages of 8 KiB | – | 0.476 B/clk, 1.71 GB/s |"),
            "{table}"
        );
    }
}
