//! The tables of the SM3 core in Verilog, from what its synthesis and its system in simulation recorded.

use serde_json::Value;

use crate::Result;

/// Columns of a standard-cell library: the words, the key of the record, and digits after the point.
const CELLS: [(&str, &str, usize); 8] = [
    ("kGE", "ge", 2),
    ("flip-flops", "flip_flops", 0),
    ("clock gates", "clock_gates", 0),
    ("MHz", "fmax_mhz", 0),
    ("cycles a block", "cycles_per_block", 0),
    ("Mbit/s", "mbit_s", 0),
    ("Mbit/s per kGE", "mbit_s_kge", 0),
    ("pJ a block", "pj_per_block", 0),
];

/// Area, rate and energy in every library that the record has.
pub(super) fn cells(record: &Value) -> Result<String> {
    let results = record["results"].as_array().ok_or("synth.json: no results")?;
    let heads: Vec<&str> = CELLS.iter().map(|(head, ..)| *head).collect();
    let mut out = format!("| design | library, script | {} |\n", heads.join(" | "));
    out += &format!("|---|---|{}\n", "---|".repeat(heads.len()));
    let before = out.len();
    for result in results.iter().filter(|result| result["ge"].is_number()) {
        let text = |key: &str| result[key].as_str().ok_or_else(|| format!("synth.json: no {key}"));
        let target = text("target")?;
        let library = record["libraries"][target]["name"].as_str().unwrap_or(target);
        out += &format!("| {} | {library}, {} |", text("design")?, text("script")?);
        for (_, key, digits) in CELLS {
            let scale = if key == "ge" { 1e-3 } else { 1.0 };
            out += &match result[key].as_f64() {
                Some(value) => format!(" {:.digits$} |", value * scale),
                None => " – |".to_owned(),
            };
        }
        out += "\n";
    }
    if out.len() == before {
        return Err("synth.json: no design was mapped to cells".into());
    }
    let conditions = record["conditions"].as_str().ok_or("synth.json: no conditions")?;
    Ok(format!("{out}\nConditions: {conditions}.\n"))
}

/// Methods of the system, and what they are called in the table.
const METHODS: [(&str, &str); 5] = [
    ("software", "software"),
    ("stall", "core, bus waits"),
    ("poll", "core, polled"),
    ("dma", "core, DMA"),
    ("paper", "the paper's core"),
];

/// Cycles of one message by its length on the first core of the record.
pub(super) fn system(record: &Value) -> Result<String> {
    let core = record["cores"].get(0).ok_or("system.json: no cores")?;
    let rows = core["rows"].as_array().ok_or("system.json: no rows")?;
    let cycles = |method: &str, length: u64| {
        let mut rows = rows.iter();
        rows.find(|r| r["method"] == method && r["length"] == length)?["cycles"].as_u64()
    };
    let mut lengths: Vec<u64> = rows.iter().filter_map(|row| row["length"].as_u64()).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let heads: Vec<&str> = METHODS.iter().map(|(_, head)| *head).collect();
    let mut out =
        format!("| bytes | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for length in lengths {
        out += &format!("| {length} |");
        for (method, _) in METHODS {
            out += &match cycles(method, length) {
                Some(cycles) => format!(" {cycles} |"),
                None => " – |".to_owned(),
            };
        }
        out += "\n";
    }
    let processor = record["processor"].as_str().ok_or("system.json: no processor")?;
    Ok(format!("{out}\nCycles of {processor}.\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cells_are_quoted_and_gaps_left() {
        let record = json!({
            "libraries": { "osu018": { "name": "osu018_stdcells" } },
            "conditions": "typical corner",
            "results": [
                { "design": "core-r1", "target": "osu018", "script": "area", "ge": 10452.7,
                  "fmax_mhz": 70.8 },
                { "design": "core-r1", "target": "xc7", "lut": 700 },
            ],
        });
        let table = cells(&record).unwrap();
        let row = "| core-r1 | osu018_stdcells, area | 10.45 | – | – | 71 | – | – | – | – |\n";
        assert!(table.contains(row), "{table}");
        assert!(cells(&json!({ "results": [], "conditions": "" })).is_err());
    }

    #[test]
    fn lengths_are_in_order() {
        let row = |method: &str, length: u64| json!({"method": method, "length": length, "cycles": 10 * length});
        let record = json!({
            "processor": "Ibex",
            "cores": [{ "rows": [row("software", 64), row("software", 8), row("dma", 64)] }],
        });
        let table = system(&record).unwrap();
        assert!(
            table.contains("| 8 | 80 | – | – | – | – |\n| 64 | 640 | – | – | 640 | – |\n"),
            "{table}"
        );
        assert!(system(&json!({})).is_err());
    }
}
