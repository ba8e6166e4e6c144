//! The tables of runs of `bench sha3` and `bench sha3-gpu`.

use serde_json::Value;

use super::{
    block_gpu::profile_of,
    gpu::{best, figure, gpu, provenance as gpu_provenance, text},
    median, provenance, ratio,
};
use crate::Result;

/// Rows on one core: the words, the group that holds the figures, and the metric that counts with its unit
/// and scale.
type Row = (&'static str, &'static str, &'static str, &'static str, f64);

const ONE_CORE: [Row; 16] = [
    ("SHA3-256, one stream of 16 KiB", "sha3/stream-sha3-256/16384", "gb_per_s", "GB/s", 1.0),
    ("SHA3-256, one stream of 1 MiB", "sha3/stream-sha3-256/1048576", "gb_per_s", "GB/s", 1.0),
    ("SHA3-256, 32 B at a time", "sha3/stream-sha3-256/32", "units_per_s", "M/s", 1e-6),
    ("SHA3-224, one stream of 16 KiB", "sha3/stream-sha3-224/16384", "gb_per_s", "GB/s", 1.0),
    ("SHA3-384, one stream of 16 KiB", "sha3/stream-sha3-384/16384", "gb_per_s", "GB/s", 1.0),
    ("SHA3-512, one stream of 16 KiB", "sha3/stream-sha3-512/16384", "gb_per_s", "GB/s", 1.0),
    ("SHAKE128, one stream of 16 KiB", "sha3/stream-shake128/16384", "gb_per_s", "GB/s", 1.0),
    ("SHAKE256, one stream of 16 KiB", "sha3/stream-shake256/16384", "gb_per_s", "GB/s", 1.0),
    ("SHA3-256, many of 8 KiB", "sha3/many-sha3-256/8192", "gb_per_s", "GB/s", 1.0),
    ("SHA3-256, many of 0…4 KiB, mixed", "sha3/many-sha3-256/0-4096", "gb_per_s", "GB/s", 1.0),
    ("SHA3-256, many of 64 B", "sha3/many-sha3-256/64", "units_per_s", "M/s", 1e-6),
    ("SHA3-256, many of 32 B", "sha3/many-sha3-256/32", "units_per_s", "M/s", 1e-6),
    ("SHA3-384, many of 8 KiB", "sha3/many-sha3-384/8192", "gb_per_s", "GB/s", 1.0),
    ("SHA3-512, many of 8 KiB", "sha3/many-sha3-512/8192", "gb_per_s", "GB/s", 1.0),
    ("SHAKE128, many of 8 KiB", "sha3/many-shake128/8192", "gb_per_s", "GB/s", 1.0),
    ("SHAKE256, many of 8 KiB", "sha3/many-shake256/8192", "gb_per_s", "GB/s", 1.0),
];

const OURS: &str = "manylane";

/// What users call, beside other libraries.
pub(super) fn one_core(summary: &Value) -> Result<String> {
    let peers = summary["setup"]["peers"].as_array().ok_or("no peers were looked for")?;
    let peers: Vec<(&str, &str)> = peers
        .iter()
        .filter_map(|peer| Some((peer["name"].as_str()?, peer["version"].as_str()?)))
        .collect();
    let names: Vec<&str> = peers.iter().map(|(name, _)| *name).collect();
    let mut out = format!("| SHA-3 on one core | manylane | {} |\n", names.join(" | "));
    out += &format!("|---|---|{}\n", "---|".repeat(names.len()));
    for (words, group, metric, unit, scale) in ONE_CORE {
        let figure_of = |name: &str| median(summary, group, name, metric);
        let ours = figure_of(OURS).ok_or_else(|| format!("{group}: ours was not measured"))?;
        out += &format!("| {words} | **{} {unit}** |", digits(ours * scale));
        for peer in &names {
            out += &match (figure_of(peer), ratio(summary, group, OURS, peer)) {
                (Some(theirs), Some(ratio)) => {
                    format!(" {}: manylane is {ratio:.2} × |", digits(theirs * scale))
                }
                _ => " – |".to_owned(),
            };
        }
        out += "\n";
    }
    let versions: Vec<&str> = peers.iter().map(|(_, version)| *version).collect();
    Ok(format!("{out}\n{}. {}", versions.join("; "), provenance(summary).trim_start()))
}

/// With as many digits as a reader needs.
fn digits(value: f64) -> String {
    match value {
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

/// Rows of the grid: the words, and the group.
const GRID: [(&str, &str); 4] = [
    ("many messages of 8 KiB", "sha3/many-sha3-256/8192"),
    ("many messages of 64 B", "sha3/many-sha3-256/64"),
    ("many of 0…4 KiB, mixed", "sha3/many-sha3-256/0-4096"),
    ("one stream", "sha3/stream-sha3-256/16384"),
];

/// SHA3-256 on each machine that some row has.
pub(super) fn grid(summary: &Value) -> Result<String> {
    let machines = summary["setup"]["machines"]["run"].as_array().ok_or("no machines were run")?;
    let rate = |machine: &str, group: &str| {
        let of = |metric| median(summary, group, machine, metric);
        of("bytes_per_clock").zip(of("gb_per_s"))
    };
    let machines: Vec<&str> = machines
        .iter()
        .filter_map(Value::as_str)
        .filter(|machine| GRID.iter().any(|(_, group)| rate(machine, group).is_some()))
        .collect();
    if machines.is_empty() {
        return Err("the run has no SHA-3".into());
    }
    let mut out = format!("| SHA3-256 | {} |\n", machines.join(" | "));
    out += &format!("|---|{}\n", "---|".repeat(machines.len()));
    for (words, group) in GRID {
        out += &format!("| {words} |");
        for machine in &machines {
            out += &match rate(machine, group) {
                Some((per_clock, rate)) => format!(" {per_clock:.3} B/clk, {rate:.2} GB/s |"),
                None => " – |".to_owned(),
            };
        }
        out += "\n";
    }
    Ok(out + &provenance(summary))
}

/// Groups of an experiment: the lengths, each with the group's name, in the order of the run; on the GPU
/// where the run has one.
fn experiment(summary: &Value, kind: &str) -> Vec<(u64, String)> {
    let prefix = match gpu(summary) {
        Ok(gpu) => format!("sha3-gpu/{}/{kind}-", text(&gpu["id"])),
        Err(_) => format!("sha3/{kind}/"),
    };
    let results = summary["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let length = |result: &Value| {
        let group = result["group"].as_str()?;
        Some((group.strip_prefix(&prefix)?.parse().ok()?, group.to_owned()))
    };
    let mut groups: Vec<_> = results.iter().filter_map(length).collect();
    groups.dedup();
    groups
}

const PLAIN: &str = "plain, one core";

/// The slides' two experiments: MB/s, and how many times as fast as plain code.
pub(super) fn slides(summary: &Value) -> Result<String> {
    let mut out = String::new();
    for (kind, head) in [("file", "One file, MB/s"), ("volume", "A million messages, MB/s")] {
        let groups = experiment(summary, kind);
        let Some((_, first)) = groups.first() else {
            return Err(format!("the run has no experiment `{kind}`"));
        };
        let results = summary["results"].as_array().map(Vec::as_slice).unwrap_or_default();
        let of_first = results.iter().filter(|result| result["group"] == first[..]);
        let contenders: Vec<&str> = of_first.filter_map(|r| r["contender"].as_str()).collect();
        out += &format!("| {head} | {} |\n", contenders.join(" | "));
        out += &format!("|---|{}\n", "---|".repeat(contenders.len()));
        for (len, group) in &groups {
            out += &format!("| {} |", length(*len));
            for contender in &contenders {
                let rate = median(summary, group, contender, "gb_per_s");
                out += &match (rate, ratio(summary, group, contender, PLAIN)) {
                    (Some(rate), Some(times)) => {
                        format!(" {}, {} × |", whole(1e3 * rate), digits(times))
                    }
                    (Some(rate), None) => format!(" {} |", whole(1e3 * rate)),
                    _ => " – |".to_owned(),
                };
            }
            out += "\n";
        }
        out += "\n";
    }
    let provenance = match gpu(summary) {
        Ok(gpu) => gpu_provenance(summary, gpu),
        Err(_) => provenance(summary),
    };
    Ok(out + provenance.trim_start())
}

/// MB/s, which are from under one to a million.
fn whole(rate: f64) -> String {
    if rate < 100.0 { digits(rate) } else { format!("{rate:.0}") }
}

fn length(bytes: u64) -> String {
    match bytes {
        b if b % (1 << 20) == 0 => format!("{} MiB", b >> 20),
        b if b % (1 << 10) == 0 => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

/// Rows of kernels alone: the words, the end of the group's name, and the metric that counts with its unit
/// and scale.
const KERNELS: [Row; 13] = [
    ("SHA3-256, 8 KiB", "sha3-256-8192", "gb_per_s", "GB/s", 1.0),
    ("SHA3-256, 4 KiB", "sha3-256-4096", "gb_per_s", "GB/s", 1.0),
    ("SHA3-256, 512 B", "sha3-256-512", "gb_per_s", "GB/s", 1.0),
    ("SHA3-256, 64 B", "sha3-256-64", "units_per_s", "G messages/s", 1e-9),
    ("SHA3-256, 55 B, one after another", "sha3-256-55", "units_per_s", "G messages/s", 1e-9),
    ("SHA3-256, 32 B", "sha3-256-32", "units_per_s", "G messages/s", 1e-9),
    ("SHA3-256, 1…8192 B, any byte", "sha3-256-1-8192", "gb_per_s", "GB/s", 1.0),
    ("SHA3-224, 8 KiB", "sha3-224-8192", "gb_per_s", "GB/s", 1.0),
    ("SHA3-384, 8 KiB", "sha3-384-8192", "gb_per_s", "GB/s", 1.0),
    ("SHA3-512, 8 KiB", "sha3-512-8192", "gb_per_s", "GB/s", 1.0),
    ("SHAKE128, 8 KiB", "shake128-8192", "gb_per_s", "GB/s", 1.0),
    ("SHAKE256, 8 KiB", "shake256-8192", "gb_per_s", "GB/s", 1.0),
    ("TurboSHAKE128, 8 KiB", "turboshake128-8192", "gb_per_s", "GB/s", 1.0),
];

/// How the name of the slides' kernel begins.
const SLIDES: &str = "a thread block a message";

/// Data in the GPU's memory, then in the host's, and energy.
pub(super) fn kernels(summary: &Value) -> Result<String> {
    let gpu = gpu(summary)?;
    let id = text(&gpu["id"]);
    let mut out = "| SHA-3 in GPU memory | manylane | a thread block a message, state in shared \
                   memory (slides) |\n|---|---|---|\n"
        .to_owned();
    let mut rows = 0;
    for (words, group, metric, unit, scale) in KERNELS {
        let group = format!("sha3-gpu/{id}/kernel-{group}");
        let Some(ours) = median(summary, &group, "hash_many", metric) else { continue };
        rows += 1;
        out += &format!("| {words} | **{} {unit}**", figure(ours * scale));
        if let Some(clocks) = median(summary, &group, "hash_many", "bytes_per_sm_clock") {
            out += &format!(", {clocks:.2} B/SM/clk");
        }
        out += &match best(summary, &group, SLIDES, metric) {
            Some((name, theirs)) => {
                // Kept is their ratio to ours.
                let times =
                    ratio(summary, &group, name, "hash_many").map_or(ours / theirs, f64::recip);
                format!(" | {}: manylane is {times:.1} × |\n", digits(theirs * scale))
            }
            None => " | – |\n".to_owned(),
        };
    }
    if rows == 0 {
        return Err("the run has no SHA-3 on GPUs".into());
    }
    out += &host(summary, &id);
    let energy =
        |name: &str, metric| median(summary, &format!("sha3-gpu/{id}/energy"), name, metric);
    let name = "hash_many, 8 KiB, kernel alone";
    if let (Some(joules), Some(watts), Some(idle)) = (
        energy(name, "joules_per_gb"),
        energy(name, "watts"),
        energy("idle, with a context", "watts"),
    ) {
        out += &format!(
            "\nEnergy of the GPU at steady work on 8-KiB messages in its memory: {joules:.2} J/GB at \
             {watts:.0} W; idle {idle:.0} W, which the work's includes.\n"
        );
    }
    Ok(out + &gpu_provenance(summary, gpu))
}

/// Kernels that Nsight Compute is asked about: the words, and the kernel's name.
const PROFILED: [(&str, &str); 10] = [
    ("SHA3-256, 8 KiB", "sha3_hash_rows_136"),
    ("SHA3-256, 55 B", "sha3_hash_short_136"),
    ("SHA3-256, 32 B", "sha3_hash_32"),
    ("SHA3-256, any lengths", "sha3_hash_many_136"),
    ("SHA3-384, 8 KiB", "sha3_hash_rows_104"),
    ("SHA3-512, 8 KiB", "sha3_hash_rows_72"),
    ("SHAKE128, 8 KiB", "sha3_hash_rows_168"),
    ("SHA3-224, 8 KiB", "sha3_hash_rows_144"),
    ("a thread block a message, state in shared memory (slides), 512 B", "comparator_sha3_block"),
    ("one thread, one message, 512 B", "comparator_sha3_serial"),
];

/// Of what Nsight Compute wrote of the kernels.
pub(super) fn profile(csv: &str) -> Result<String> {
    profile_of(csv, &PROFILED)
}

/// Rows of what begins in the host's memory: the words, and the end of the group's name.
const PLACES: [(&str, &str); 3] = [
    ("8-KiB messages in page-locked memory", "pinned"),
    ("1…8192-byte messages in page-locked memory", "pinned-1-8192"),
    ("8-KiB messages in ordinary memory", "pageable"),
];

/// From the host's memory to digests there; nothing where the run has none of it.
fn host(summary: &Value, id: &str) -> String {
    let mut rows = String::new();
    for (words, group) in PLACES {
        let group = format!("sha3-gpu/{id}/{group}");
        let rate = |name: &str| best(summary, &group, name, "gb_per_s").map(|(_, rate)| rate);
        let (cpu, alone) = (rate("cpu"), rate(id));
        let Some(all) = rate("all") else { continue };
        let cell = |rate: Option<f64>| rate.map_or("–".into(), figure);
        rows += &format!("| {words} | {} | {} | **{}** |", cell(cpu), cell(alone), figure(all));
        rows += &format!(" {} | {} |\n", cell(rate("copy to the device")), cell(rate("OpenSSL")));
    }
    if rows.is_empty() {
        return rows;
    }
    let cores = summary["setup"]["hardware"]["processors"].as_u64();
    let cores = cores.map_or_else(|| "all cores".into(), |cores| format!("{cores} cores"));
    format!(
        "\n| SHA3-256, GB/s | {cores} | GPU alone | together | copy to the GPU | OpenSSL, all cores |\n\
         |---|---|---|---|---|---|\n{rows}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(group: &str, contender: &str, rate: f64) -> Value {
        json!({
            "group": group, "contender": contender,
            "metrics": {
                "gb_per_s": { "median": rate }, "units_per_s": { "median": rate * 1e9 },
                "bytes_per_clock": { "median": rate / 3.0 },
                "bytes_per_sm_clock": { "median": rate / 250.0 },
            },
        })
    }

    fn ratio_of(group: &str, contender: &str, base: &str, median: f64) -> Value {
        json!({ "group": group, "contender": contender, "base": base, "median": median })
    }

    #[test]
    fn rows_have_their_figures() {
        let mut results = ONE_CORE.map(|row| result(row.1, OURS, 2.5)).to_vec();
        results.push(result(ONE_CORE[0].1, "Nettle", 0.25));
        results.push(result(GRID[0].1, "avx512", 2.75));
        let mut summary = json!({
            "setup": {
                "peers": [
                    { "name": "Nettle", "version": "Nettle 3.8" },
                    { "name": "OpenSSL", "version": null },
                ],
                "machines": { "run": ["portable", "avx512"] },
            },
            "results": results,
            "ratios": [ratio_of(ONE_CORE[0].1, OURS, "Nettle", 9.87)],
        });
        let table = one_core(&summary).unwrap();
        let row =
            "| SHA3-256, one stream of 16 KiB | **2.50 GB/s** | 0.250: manylane is 9.87 × |\n";
        assert!(table.contains(row), "{table}");
        assert!(table.contains("| SHA3-256, many of 32 B | **2500.0 M/s** | – |\n"), "{table}");
        let table = grid(&summary).unwrap();
        assert!(table.starts_with("| SHA3-256 | avx512 |\n"), "{table}");
        assert!(table.contains("| many messages of 8 KiB | 0.917 B/clk, 2.75 GB/s |"), "{table}");
        summary["results"].as_array_mut().unwrap().remove(3);
        assert!(one_core(&summary).is_err(), "ours is missing");
    }

    #[test]
    fn experiments_are_set_beside_plain_code() {
        let groups = ["sha3/file/1024", "sha3/file/10485760", "sha3/volume/32"];
        let results = groups.map(|group| [result(group, PLAIN, 0.1), result(group, "O", 0.5)]);
        let ratios = groups.map(|group| ratio_of(group, "O", PLAIN, 5.0));
        let summary = json!({ "setup": {}, "results": results.as_flattened(), "ratios": ratios });
        let table = slides(&summary).unwrap();
        for row in [
            "| One file, MB/s | plain, one core | O |\n",
            "| 10 MiB | 100 | 500, 5.00 × |\n",
            "| 32 B | 100 | 500, 5.00 × |\n",
        ] {
            assert!(table.contains(row), "{row} in {table}");
        }
        assert!(slides(&json!({ "setup": {}, "results": [] })).is_err());
    }

    #[test]
    fn kernels_stand_beside_that_of_the_slides() {
        let group = "sha3-gpu/cuda:0/kernel-sha3-256-8192";
        let mut summary = json!({
            "setup": { "gpus": [{ "id": "cuda:0", "name": "G" }] },
            "results": [
                result(group, "hash_many", 500.0),
                result(group, "a thread block a message, state in shared memory", 12.5),
                result("sha3-gpu/cuda:0/pinned", "all", 60.0),
            ],
            "ratios": [],
        });
        let table = kernels(&summary).unwrap();
        for row in [
            "| SHA3-256, 8 KiB | **500 GB/s**, 2.00 B/SM/clk | 12.5: manylane is 40.0 × |\n",
            "| 8-KiB messages in page-locked memory | – | – | **60.0** | – | – |\n",
        ] {
            assert!(table.contains(row), "{row} in {table}");
        }
        summary["results"] = json!([]);
        assert!(kernels(&summary).is_err());
    }
}
