//! The tables of a run of `bench aes-gpu sm4-gpu`, and of what Nsight Compute said of the kernels.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    gpu::{best, figure, gpu, provenance, text},
    median, ratio,
};
use crate::Result;

/// Rows of kernels alone: the words, and suite and end of the group's name.
const KERNELS: [(&str, &str, &str); 12] = [
    ("AES-128-CTR", "aes-gpu", "ctr-128"),
    ("AES-192-CTR", "aes-gpu", "ctr-192"),
    ("AES-256-CTR", "aes-gpu", "ctr-256"),
    ("AES-128-ECB", "aes-gpu", "encrypt-128"),
    ("AES-192-ECB", "aes-gpu", "encrypt-192"),
    ("AES-256-ECB", "aes-gpu", "encrypt-256"),
    ("AES-128-ECB, decrypt", "aes-gpu", "decrypt-128"),
    ("AES-192-ECB, decrypt", "aes-gpu", "decrypt-192"),
    ("AES-256-ECB, decrypt", "aes-gpu", "decrypt-256"),
    ("SM4-CTR", "sm4-gpu", "ctr"),
    ("SM4-ECB", "sm4-gpu", "encrypt"),
    ("SM4-ECB, decrypt", "sm4-gpu", "decrypt"),
];

/// Columns beside ours: the words, and how the contenders' names begin.
const OTHERS: [(&str, &str); 3] = [
    ("one table and an S-box (Tezcan)", "one table and an S-box"),
    ("bitsliced (Hajihassani et al.)", "bitsliced"),
    ("four functions a round (Li et al.)", "four functions a round"),
];

/// Name of what users call, as a contender.
const OURS: &str = "manylane";

/// In Tbit/s, of GB/s.
fn terabits(gigabytes: f64) -> f64 {
    gigabytes * 8e-3
}

/// Data in the device's memory, then in the host's, and energy.
pub(super) fn kernels(summary: &Value) -> Result<String> {
    let gpu = gpu(summary)?;
    let id = text(&gpu["id"]);
    let heads: Vec<&str> = OTHERS.iter().map(|(head, _)| *head).collect();
    let mut out = format!("| Data in GPU memory | manylane | {} |\n", heads.join(" | "));
    out += &format!("|---|---|{}\n", "---|".repeat(heads.len()));
    let mut rows = 0;
    for (row, suite, group) in KERNELS {
        let group = format!("{suite}/{id}/{group}");
        let Some(ours) = median(summary, &group, OURS, "gb_per_s") else { continue };
        rows += 1;
        out += &format!("| {row} | **{:.2} Tbit/s**", terabits(ours));
        if let Some(clocks) = median(summary, &group, OURS, "bytes_per_sm_clock") {
            out += &format!(", {clocks:.2} B/SM/clk");
        }
        out += " |";
        for (_, prefix) in OTHERS {
            out += &match best(summary, &group, prefix, "gb_per_s") {
                Some((other, theirs)) => {
                    // Kept is their ratio to ours.
                    let times =
                        ratio(summary, &group, other, OURS).map_or(ours / theirs, f64::recip);
                    format!(" {:.3}: manylane is {times:.2} × |", terabits(theirs))
                }
                None => " – |".to_string(),
            };
        }
        out += "\n";
    }
    if rows == 0 {
        return Err("the run has no block ciphers on GPUs".into());
    }
    out += &host(summary, &id);
    out += &energy(summary, &id);
    Ok(out + &provenance(summary, gpu))
}

/// From the host's memory, and beside the copies alone.
fn host(summary: &Value, id: &str) -> String {
    let copies = "copies both ways at once, page-locked, nothing else";
    let mut rows = String::new();
    for (place, words) in [("pinned", "page-locked"), ("pageable", "ordinary")] {
        for (suite, ciphers) in
            [("aes-gpu", &["AES-128", "AES-192", "AES-256"][..]), ("sm4-gpu", &["SM4"][..])]
        {
            let group = format!("{suite}/{id}/{place}");
            for cipher in ciphers {
                let rate = median(summary, &group, cipher, "gb_per_s");
                let share = ratio(summary, &group, cipher, copies);
                let Some((rate, share)) = rate.zip(share) else { continue };
                let of_copies = median(summary, &group, copies, "gb_per_s").unwrap_or(0.0);
                rows += &format!(
                    "| {cipher}-CTR, {words} memory | **{} GB/s** | {:.0} % of {} GB/s |\n",
                    figure(rate),
                    100.0 * share,
                    figure(of_copies),
                );
            }
        }
    }
    match rows.is_empty() {
        true => rows,
        false => format!(
            "\n| Data in the host's memory, each way | manylane | plain copies both ways at once |\n\
             |---|---|---|\n{rows}"
        ),
    }
}

/// Gbit/s per W of the GPU, where the run knows.
fn energy(summary: &Value, id: &str) -> String {
    let mut known = Vec::new();
    for (suite, cipher) in
        [("aes-gpu", "AES-128"), ("aes-gpu", "AES-192"), ("aes-gpu", "AES-256"), ("sm4-gpu", "SM4")]
    {
        let group = format!("{suite}/{id}/energy");
        let joules = median(summary, &group, &format!("{cipher}, {OURS}"), "joules_per_gb");
        known.extend(joules.map(|joules| format!("{cipher}-CTR {}", figure(8.0 / joules))));
    }
    match known.is_empty() {
        true => String::new(),
        false => format!(
            "\nGbit/s per W of the GPU at steady work on data in its memory, idle power included: {}.\n",
            known.join(", ")
        ),
    }
}

/// Kernels that are shown: the words, and the kernel's name.
const PROFILED: [(&str, &str); 13] = [
    ("AES-128-CTR, four tables", "aes128_ctr_4"),
    ("AES-128-CTR, two tables", "aes128_ctr_2"),
    ("AES-128-CTR, one table", "aes128_ctr_1"),
    ("AES-192-CTR, four tables", "aes192_ctr_4"),
    ("AES-256-CTR, four tables", "aes256_ctr_4"),
    ("AES-128-ECB, four tables", "aes128_encrypt_4"),
    ("AES-128-ECB decrypt, four tables", "aes128_decrypt_4"),
    ("SM4-CTR, four tables", "sm4_ctr_4"),
    ("SM4-CTR, two tables", "sm4_ctr_2"),
    ("SM4-ECB, four tables", "sm4_ecb_4"),
    ("AES-128-CTR, one table and an S-box (Tezcan)", "comparator_aes128_one_table"),
    ("AES-128-CTR, bitsliced (Hajihassani et al.)", "comparator_aes128_bits"),
    ("AES-128-CTR, four functions a round (Li et al.)", "comparator_aes128_steps"),
];

/// Columns: the words, and section and name of the metric.
const METRICS: [(&str, &str, &str); 7] = [
    ("occupancy", "Occupancy", "Achieved Occupancy"),
    ("SM", "GPU Speed Of Light Throughput", "Compute (SM) Throughput"),
    ("memory", "GPU Speed Of Light Throughput", "Memory Throughput"),
    ("L1", "GPU Speed Of Light Throughput", "L1/TEX Cache Throughput"),
    ("L2", "GPU Speed Of Light Throughput", "L2 Cache Throughput"),
    ("DRAM", "GPU Speed Of Light Throughput", "DRAM Throughput"),
    ("L2 hits", "Memory Workload Analysis", "L2 Hit Rate"),
];

/// What the slides of Di Iorio and Costanzi Fantini say of a GTX 1650, in the order of [`METRICS`].
const SLIDES: [(&str, [&str; 7]); 2] = [
    (
        "published, GTX 1650: one table (Tezcan)",
        ["94.4", "93.2", "93.2", "98.7", "0.5", "1.2", "23.4"],
    ),
    (
        "published, GTX 1650: four functions (Li et al.)",
        ["24.4", "5.2", "2.1", "23.8", "–", "–", "65.0"],
    ),
];

/// Counters of shared memory's banks: conflicts, and what they are a part of.
const CONFLICTS: [&str; 2] = [
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
];

/// Metrics of one launch, by section and name.
type Launch = BTreeMap<(String, String), f64>;

/// Of what Nsight Compute wrote of the block ciphers' kernels.
pub(super) fn profile(csv: &str) -> Result<String> {
    let mut out = profile_of(csv, &PROFILED)?;
    for (words, cells) in SLIDES {
        out += &format!("| {words} | {} | – |\n", cells.join(" | "));
    }
    Ok(out)
}

/// Of what Nsight Compute wrote of kernels, by words and names: shares of what the card could do, in percent.
pub(super) fn profile_of(csv: &str, kernels: &[(&str, &str)]) -> Result<String> {
    let launches = longest(csv)?;
    let heads: Vec<&str> = METRICS.iter().map(|(head, ..)| *head).collect();
    let mut out = format!("| % of what there is | {} | bank conflicts |\n", heads.join(" | "));
    out += &format!("|---|{}---|\n", "---|".repeat(heads.len()));
    let mut rows = 0;
    for (words, kernel) in kernels {
        let Some(launch) = launches.get(*kernel) else { continue };
        rows += 1;
        let value = |section: &str, metric: &str| launch.get(&(section.into(), metric.into()));
        let cell = |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.1}"));
        out += &format!("| {words} |");
        for (_, section, metric) in METRICS {
            out += &format!(" {} |", cell(value(section, metric).copied()));
        }
        let counter = |name| {
            let mut found = launch.iter().filter(|((_, metric), _)| metric == name);
            found.next().map(|(_, value)| *value)
        };
        // A kernel may read no shared memory at all.
        let share = counter(CONFLICTS[0]).zip(counter(CONFLICTS[1]).filter(|all| *all > 0.0));
        out += &format!(" {} |\n", cell(share.map(|(conflicts, all)| 100.0 * conflicts / all)));
    }
    if rows == 0 {
        return Err("ncu.csv has none of the kernels".into());
    }
    Ok(out)
}

/// The longest launch of each kernel: others are known answers, on little data.
fn longest(csv: &str) -> Result<BTreeMap<String, Launch>> {
    let mut lines = csv.lines().map(fields);
    let head = lines.next().ok_or("ncu.csv is empty")?;
    let column = |name: &str| {
        let at = head.iter().position(|field| *field == name);
        at.ok_or_else(|| format!("ncu.csv has no column {name}"))
    };
    let (id, kernel) = (column("ID")?, column("Kernel Name")?);
    let (process, section) = (column("Process ID")?, column("Section Name")?);
    let (metric, value) = (column("Metric Name")?, column("Metric Value")?);
    let mut launches: BTreeMap<(&str, &str, &str), Launch> = BTreeMap::new();
    for line in lines {
        // The heading of the next suite, or a value that is no number.
        let Some(number) = line.get(value).and_then(|text| text.replace(',', "").parse().ok())
        else {
            continue;
        };
        let launch = launches.entry((line[kernel], line[process], line[id])).or_default();
        launch.insert((line[section].to_string(), line[metric].to_string()), number);
    }
    let duration = |launch: &Launch| {
        let mut found = launch.iter().filter(|((_, metric), _)| metric == "Duration");
        found.next().map_or(0.0, |(_, value)| *value)
    };
    let mut longest: BTreeMap<String, Launch> = BTreeMap::new();
    for ((kernel, ..), launch) in launches {
        let known = longest.entry(kernel.to_string()).or_default();
        if duration(&launch) >= duration(known) {
            *known = launch;
        }
    }
    Ok(longest)
}

/// The fields of a line, each of which is in quotation marks; those at the end may be missing.
fn fields(line: &str) -> Vec<&str> {
    line.trim_end_matches(',').trim_matches('"').split("\",\"").collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(group: &str, contender: &str, rate: f64) -> Value {
        json!({
            "group": group,
            "contender": contender,
            "metrics": {
                "gb_per_s": { "median": rate }, "bytes_per_sm_clock": { "median": rate / 200.0 },
                "joules_per_gb": { "median": 0.5 },
            },
        })
    }

    #[test]
    fn rates_stand_beside_others_and_copies() {
        let summary = json!({
            "setup": { "gpus": [{ "id": "cuda:0", "name": "G" }] },
            "results": [
                result("aes-gpu/cuda:0/ctr-128", "manylane", 900.0),
                result("aes-gpu/cuda:0/ctr-128", "manylane, one table", 950.0),
                result("aes-gpu/cuda:0/ctr-128", "one table and an S-box (Tezcan)", 450.0),
                result("sm4-gpu/cuda:0/pinned", "SM4", 48.0),
                result("sm4-gpu/cuda:0/energy", "SM4, manylane", 900.0),
            ],
            "ratios": [{
                "group": "sm4-gpu/cuda:0/pinned", "contender": "SM4", "median": 0.96,
                "base": "copies both ways at once, page-locked, nothing else",
            }],
        });
        let table = kernels(&summary).unwrap();
        for words in [
            "| AES-128-CTR | **7.20 Tbit/s**, 4.50 B/SM/clk | 3.600: manylane is 2.00 × | – | – |",
            "| SM4-CTR, page-locked memory | **48.0 GB/s** | 96 % of 0.00 GB/s |",
            "included: SM4-CTR 16.0.",
        ] {
            assert!(table.contains(words), "{words} in {table}");
        }
        let none = json!({ "setup": { "gpus": [{ "id": "cuda:0" }] }, "results": [] });
        assert!(kernels(&none).is_err());
    }

    #[test]
    fn the_longest_launch_of_a_kernel_counts() {
        let head = r#""ID","Process ID","Kernel Name","Grid Size","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name""#;
        let line = |id: u32, section: &str, metric: &str, value: &str| {
            format!(
                r#""{id}","460","sm4_ctr_4","({id}, 1, 1)","{section}","{metric}","%","{value}","#
            )
        };
        let light = "GPU Speed Of Light Throughput";
        let csv = [
            head.to_string(),
            line(0, light, "Duration", "11,712"),
            line(0, light, "Compute (SM) Throughput", "1.87"),
            line(1, light, "Duration", "1,200,000"),
            line(1, light, "Compute (SM) Throughput", "93.24"),
            line(1, "Memory Workload Analysis", "Memory Throughput", "6,579,234,972.68"),
            line(1, "Command line profiler metrics", CONFLICTS[0], "5"),
            line(1, "Command line profiler metrics", CONFLICTS[1], "1,000"),
            head.to_string(),
        ];
        let table = profile(&csv.join("\n")).unwrap();
        let row = "| SM4-CTR, four tables | – | 93.2 | – | – | – | – | – | 0.5 |";
        assert!(table.contains(row), "{table}");
        assert!(profile(head).is_err() && profile("").is_err());
    }
}
