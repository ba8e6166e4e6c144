//! The tables of the SM3 core in Verilog, from what its synthesis and its system in simulation recorded.

use serde_json::Value;

use crate::Result;

/// Columns of a standard-cell library: the words, the script, the key of the record, and digits after the point.
const CELLS: [(&str, &str, &str, usize); 9] = [
    ("cycles a block", "area", "cycles_per_block", 0),
    ("area: kGE", "area", "ge", 2),
    ("flip-flops", "area", "flip_flops", 0),
    ("clock gates", "area", "clock_gates", 0),
    ("pJ a block", "area", "pj_per_block", 0),
    ("speed: kGE", "speed", "ge", 2),
    ("MHz", "speed", "fmax_mhz", 0),
    ("Mbit/s", "speed", "mbit_s", 0),
    ("Mbit/s per kGE", "speed", "mbit_s_kge", 0),
];

/// Area, energy and rate, a table for each library and a line for each design, by both scripts.
pub(super) fn cells(record: &Value) -> Result<String> {
    let results = record["results"].as_array().ok_or("synth.json: no results")?;
    let libraries = record["libraries"].as_object().ok_or("synth.json: no libraries")?;
    let heads: Vec<&str> = CELLS.iter().map(|(head, ..)| *head).collect();
    let mut out = String::new();
    for (target, library) in libraries {
        let name = library["name"].as_str().unwrap_or(target);
        let of = |script: &'static str| {
            results
                .iter()
                .filter(move |row| row["target"] == target.as_str() && row["script"] == script)
        };
        out +=
            &format!("| {name} | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
        for area in of("area") {
            let design = &area["design"];
            out += &format!("| {} |", design.as_str().ok_or("synth.json: no design")?);
            let speed = of("speed").find(|row| row["design"] == *design);
            for (_, script, key, digits) in CELLS {
                let row = if script == "area" { Some(area) } else { speed };
                let scale = if key == "ge" { 1e-3 } else { 1.0 };
                out += &match row.and_then(|row| row[key].as_f64()) {
                    Some(value) => format!(" {:.digits$} |", value * scale),
                    None => " – |".to_owned(),
                };
            }
            out += "\n";
        }
        out += "\n";
    }
    if out.is_empty() {
        return Err("synth.json: no design was mapped to cells".into());
    }
    let conditions = record["conditions"].as_str().ok_or("synth.json: no conditions")?;
    Ok(format!("{out}Conditions: {conditions}.\n"))
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
                  "cycles_per_block": 68 },
                { "design": "core-r1", "target": "osu018", "script": "speed", "fmax_mhz": 70.8 },
                { "design": "core-r1", "target": "xc7", "lut": 700 },
            ],
        });
        let table = cells(&record).unwrap();
        let row = "| core-r1 | 68 | 10.45 | – | – | – | – | 71 | – | – |\n";
        assert!(table.contains(row), "{table}");
        let none = json!({ "libraries": {}, "results": [], "conditions": "" });
        assert!(cells(&none).is_err());
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
