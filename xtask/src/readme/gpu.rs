//! The tables of a run of `bench sm3-gpu`.

use serde_json::Value;

use super::{median, ratio};
use crate::Result;

/// Rows of kernels alone: the words of the row, the end of the group's name, and the metric that
/// counts with its unit and scale.
const KERNELS: [(&str, &str, &str, &str, f64); 8] = [
    ("540,672 × 8 KiB", "kernel-8192", "gb_per_s", "GB/s", 1.0),
    ("33,792 × 8 KiB", "kernel-8192-short-batch", "gb_per_s", "GB/s", 1.0),
    ("67,108,864 × 64 B", "kernel-64", "gb_per_s", "GB/s", 1.0),
    ("67,108,864 × 32 B", "kernel-32", "units_per_s", "G messages/s", 1e-9),
    ("67,108,864 × 55 B, one after another", "kernel-55", "units_per_s", "G messages/s", 1e-9),
    ("200,000 × 1…8192 B, any byte", "kernel-1-8192-200000", "gb_per_s", "GB/s", 1.0),
    ("1,000,000 × 1…8192 B, any byte", "kernel-1-8192-1000000", "gb_per_s", "GB/s", 1.0),
    ("HMAC of 4,194,304 × 256 B, a key each", "hmac-256", "units_per_s", "G messages/s", 1e-9),
];

/// Columns beside ours: the words, and how its contenders' names begin; the best of them counts.
const OTHERS: [(&str, &str); 3] = [
    ("HI-SM3's layout", "HI-SM3"),
    ("padded on the CPU (Sun et al.)", "padded on the CPU (Sun et al.), kernel alone"),
    ("as the standard is written", "plain"),
];

/// Data in the device's memory, digests stored there.
pub(super) fn kernels(summary: &Value) -> Result<String> {
    let gpu = gpu(summary)?;
    let id = text(&gpu["id"]);
    let heads: Vec<&str> = OTHERS.iter().map(|(head, _)| *head).collect();
    let mut out = format!("| SM3 in GPU memory | manylane | {} |\n", heads.join(" | "));
    out += &format!("|---|---|{}\n", "---|".repeat(heads.len()));
    for (row, group, metric, unit, scale) in KERNELS {
        let group = format!("sm3-gpu/{id}/{group}");
        let name = if group.contains("/hmac") { "hmac_many" } else { "hash_many" };
        let ours = median(summary, &group, name, metric);
        let ours = ours.ok_or_else(|| format!("{group}: ours was not measured"))?;
        out += &format!("| {row} | **{} {unit}**", figure(ours * scale));
        if let Some(clocks) = median(summary, &group, name, "bytes_per_sm_clock") {
            out += &format!(", {clocks:.2} B/SM/clk");
        }
        out += " |";
        for (_, prefix) in OTHERS {
            out += &match best(summary, &group, prefix, metric) {
                Some((other, theirs)) => {
                    // Kept is their ratio to ours.
                    let times =
                        ratio(summary, &group, other, name).map_or(ours / theirs, f64::recip);
                    format!(" {} {unit}: manylane is {times:.2} × |", figure(theirs * scale))
                }
                None => " – |".to_string(),
            };
        }
        out += "\n";
    }
    Ok(out + &provenance(summary, gpu))
}

/// Rows of what begins in the host's memory: the words, and the end of the group's name.
const PLACES: [(&str, &str); 5] = [
    ("8-KiB messages in page-locked memory", "pinned"),
    ("1…8192-byte messages in page-locked memory", "pinned-1-8192"),
    ("8-KiB messages in ordinary memory", "pageable"),
    ("files of 128 KiB in the page cache", "files-131072"),
    ("files of 16 KiB in the page cache", "files-16384"),
];

/// From the host's memory or files to digests there.
pub(super) fn host(summary: &Value) -> Result<String> {
    let gpu = gpu(summary)?;
    let id = text(&gpu["id"]);
    let cores = summary["setup"]["hardware"]["processors"].as_u64();
    let cores = cores.map_or_else(|| "all cores".into(), |cores| format!("{cores} cores"));
    let mut out = format!("| SM3, GB/s | {cores} | GPU alone | together | copy to the GPU | ");
    out += "OpenSSL, all cores |\n|---|---|---|---|---|---|\n";
    for (row, group) in PLACES {
        let group = format!("sm3-gpu/{id}/{group}");
        let rate = |name: &str| best(summary, &group, name, "gb_per_s").map(|(_, rate)| rate);
        let (cpu, alone, all) = (rate("cpu"), rate(&id), rate("all"));
        let all = all.ok_or_else(|| format!("{group}: `all` was not measured"))?;
        let better = cpu.unwrap_or(0.0).max(alone.unwrap_or(0.0));
        let cell = |rate: Option<f64>| rate.map_or("–".into(), figure);
        out += &format!("| {row} | {} | {} |", cell(cpu), cell(alone));
        out += &format!(" **{}**, {:.2} × the better alone |", figure(all), all / better);
        out += &format!(" {} | {} |\n", cell(rate("copy to the device")), cell(rate("OpenSSL")));
    }
    let group = format!("sm3-gpu/{id}/energy-8192");
    let name = "hash_many, kernel alone";
    let energy = |metric| median(summary, &group, name, metric);
    let idle = median(summary, &group, "idle, with a context", "watts");
    if let (Some(joules), Some(watts), Some(idle)) =
        (energy("joules_per_gb"), energy("watts"), idle)
    {
        out += &format!(
            "\nEnergy of the GPU at steady work on 8-KiB messages in its memory: {joules:.2} J/GB at \
             {watts:.0} W; idle {idle:.0} W, which the work's includes.\n"
        );
    }
    Ok(out + &provenance(summary, gpu))
}

pub(super) fn gpu(summary: &Value) -> Result<&Value> {
    summary["setup"]["gpus"].get(0).ok_or_else(|| "the run has no GPU".into())
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or("unknown").to_string()
}

/// With as many digits as a reader needs.
pub(super) fn figure(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// The best of the contenders whose names begin so.
pub(super) fn best<'a>(
    summary: &'a Value,
    group: &str,
    prefix: &str,
    metric: &str,
) -> Option<(&'a str, f64)> {
    let results = summary["results"].as_array()?.iter();
    results
        .filter(|r| r["group"] == group)
        .filter_map(|r| {
            let name = r["contender"].as_str().filter(|name| name.starts_with(prefix))?;
            Some((name, r["metrics"][metric]["median"].as_f64()?))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// What was measured where and when, as the last line under a table.
pub(super) fn provenance(summary: &Value, gpu: &Value) -> String {
    let setup = &summary["setup"];
    format!(
        "\n{} ({}), CUDA driver {}, SM clock at most {:.2} GHz; {}; {}, commit {}.\n",
        text(&gpu["name"]),
        text(&gpu["architecture"]),
        text(&gpu["driver"]),
        gpu["clock_hz"].as_f64().unwrap_or(0.0) / 1e9,
        text(&setup["hardware"]["cpu"]),
        text(&setup["date"]).split('T').next().unwrap_or_default(),
        text(&setup["build"]["commit"]),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(group: &str, contender: &str, rate: f64) -> Value {
        json!({
            "group": format!("sm3-gpu/cuda:1/{group}"),
            "contender": contender,
            "metrics": {
                "gb_per_s": { "median": rate }, "units_per_s": { "median": rate * 1e9 },
                "bytes_per_sm_clock": { "median": rate / 100.0 },
            },
        })
    }

    fn summary(results: Vec<Value>) -> Value {
        json!({
            "setup": { "gpus": [{ "id": "cuda:1", "name": "G" }], "hardware": { "processors": 4 } },
            "results": results,
            "ratios": [],
        })
    }

    #[test]
    fn the_best_of_the_others_stands_beside_ours() {
        let mut results: Vec<Value> =
            KERNELS.iter().map(|row| result(row.1, "hash_many", 300.0)).collect();
        results.push(result("hmac-256", "hmac_many", 2.5));
        results.push(result("kernel-8192", "HI-SM3, 4-byte loads", 200.0));
        results.push(result("kernel-8192", "HI-SM3, 8-byte loads", 240.0));
        let table = kernels(&summary(results.clone())).unwrap();
        let row = "| 540,672 × 8 KiB | **300 GB/s**, 3.00 B/SM/clk | 240 GB/s: manylane is 1.25 × | – | – |";
        assert!(table.contains(row), "{table}");
        assert!(table.contains("**2.50 G messages/s**"), "{table}");
        results.remove(0);
        assert!(kernels(&summary(results)).is_err(), "ours is missing");
    }

    #[test]
    fn together_is_set_beside_the_better_alone() {
        let rates = [("cpu", 20.0), ("cuda:1", 50.0), ("all", 65.0)];
        let results = PLACES
            .iter()
            .flat_map(|place| rates.map(|(name, rate)| result(place.1, name, rate)))
            .collect();
        let table = host(&summary(results)).unwrap();
        let row = "| 20.0 | 50.0 | **65.0**, 1.30 × the better alone | – | – |";
        assert!(table.contains(row) && table.contains("| 4 cores |"), "{table}");
    }
}
