//! A run for people: tables for a terminal and the same in Markdown.

use std::fmt::Write as _;

use super::{
    block, block_gpu,
    data::bytes_label,
    measure::{Cores, Group, Plan},
    model::{Counted, Figure, Measured, Metric, Published, Ratio, Setup, Summary},
    sha3, sm2,
};

/// A table of text.
pub(super) struct Table {
    pub(super) title: String,
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// For a terminal: columns aligned, numbers to the right.
    pub(super) fn text(&self) -> String {
        let cells = |column: usize| self.rows.iter().map(move |row| &row[column][..]);
        let width = |column: usize| {
            let longest = cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0);
            longest.max(self.columns[column].chars().count())
        };
        let is_number =
            |column: usize| cells(column).all(|cell| !cell.starts_with(char::is_alphabetic));
        let shapes: Vec<_> =
            (0..self.columns.len()).map(|column| (width(column), is_number(column))).collect();
        let line = |row: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for (cell, (width, right)) in row.zip(&shapes) {
                let _ = match right {
                    true => write!(line, "{cell:>width$}  "),
                    false => write!(line, "{cell:<width$}  "),
                };
            }
            format!("{}\n", line.trim_end())
        };
        let mut text = format!("{}\n", self.title);
        text += &line(&mut self.columns.iter().copied());
        for row in &self.rows {
            text += &line(&mut row.iter().map(String::as_str));
        }
        text
    }

    /// As a section of a Markdown document.
    pub(super) fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n", self.title);
        text +=
            &format!("| {} |\n|{}\n", self.columns.join(" | "), "---|".repeat(self.columns.len()));
        for row in &self.rows {
            text += &format!("| {} |\n", row.join(" | "));
        }
        text
    }
}

/// The tables of a run: one for each part of a suite.
pub(super) fn tables(plan: &Plan, summary: &Summary) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut in_pairs: Option<Table> = None;
    for group in &plan.groups {
        if tables.last().is_none_or(|table| table.title != group.part) {
            tables.extend(in_pairs.take());
            tables.push(match group.cores {
                Cores::Gpu { .. } => empty_gpu_table(group),
                Cores::One | Cores::All => empty_table(group),
            });
        }
        let table = tables.last_mut().expect("one was pushed");
        let measured = summary.results.iter().filter(|measured| measured.group == group.id);
        for (i, measured) in measured.enumerate() {
            let parameter = if i == 0 { &group.parameter[..] } else { "" };
            table.rows.push(match group.cores {
                Cores::Gpu { .. } => gpu_row(parameter, group, measured, summary),
                Cores::One | Cores::All => row(parameter, group, measured, summary),
            });
        }
        let rows = pairs(group, summary);
        in_pairs.get_or_insert_with(|| empty_table_of_pairs(group)).rows.extend(rows);
    }
    tables.extend(in_pairs);
    tables.extend(block_gpu::beside_the_slides(summary));
    tables.extend(sm2::predictions(summary));
    tables.extend(sm2::beside_the_paper(summary));
    tables.push(block::beside_the_slides(summary));
    tables.extend(sha3::slides::tables(summary));
    tables.extend(plan.latencies.iter().map(|group| {
        Table {
            title: group.part.to_owned(),
            columns: vec!["work", "load", "units/s", "±95%", "p50 µs", "±95%", "p99 µs", "±95%"],
            rows: summary
                .results
                .iter()
                .filter(|measured| measured.group == group.id)
                .enumerate()
                .map(|(i, measured)| {
                    let parameter = if i == 0 { &group.parameter[..] } else { "" };
                    let mut row = vec![parameter.to_owned(), measured.contender.clone()];
                    for metric in [Metric::UnitsPerS, Metric::P50Us, Metric::P99Us] {
                        let figure = measured.metrics.get(&metric);
                        row.push(figure.map_or_else(String::new, |figure| number(figure.median)));
                        row.push(figure.map_or_else(String::new, |figure| half_width(*figure)));
                    }
                    row
                })
                .collect(),
        }
    }));
    tables.push(arm(plan, summary));
    tables.push(published(summary));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// Instructions of AArch64.
fn arm(plan: &Plan, summary: &Summary) -> Table {
    let counts = summary.arm.as_ref().map(|arm| &arm.counts[..]).unwrap_or_default();
    let row = |counted: &Counted| {
        let group = plan.groups.iter().find(|group| group.id == counted.group)?;
        let instructions = counted.instructions as f64;
        let each_byte = match counted.bytes_per_call {
            0 => String::new(),
            bytes => number(instructions / bytes as f64),
        };
        let work = match counted.bytes_per_call {
            0 => group.parameter.clone(),
            _ => format!("{}, {}", group.part, group.parameter),
        };
        Some(vec![counted.processor.clone(), work, number(instructions), each_byte])
    };
    Table {
        title: "Instructions on AArch64, counted under qemu: NOT a timing".to_owned(),
        columns: vec!["processor imitated", "work", "instructions", "each byte"],
        rows: counts.iter().filter_map(row).collect(),
    }
}

/// Figures of others.
fn published(summary: &Summary) -> Table {
    let row = |figure: &Published| {
        vec![
            figure.source.clone(),
            figure.device.clone(),
            figure.work.clone(),
            number(figure.gb_per_s),
            figure.latency_ms.map_or_else(String::new, number),
            figure.bytes_per_sm_clock.map_or_else(String::new, number),
            figure.gbit_per_s_per_watt.map_or_else(String::new, number),
        ]
    };
    Table {
        title: "Published by others, NOT measured here".to_owned(),
        columns: vec![
            "source",
            "device",
            "work",
            "GB/s",
            "latency ms",
            "bytes/SM/clock",
            "Gbit/s per W",
        ],
        rows: summary.published.iter().map(row).collect(),
    }
}

/// Ratios to others than the group's base.
fn pairs(group: &Group, summary: &Summary) -> Vec<Vec<String>> {
    let ratios = summary.ratios.iter().filter(|ratio| {
        ratio.group == group.id && group.base.is_none_or(|base| ratio.base != base)
    });
    let row = |(i, ratio): (usize, &Ratio)| {
        let figure = ratio.figure;
        let parameter = if i == 0 { group.parameter.clone() } else { String::new() };
        let speed = format!("{:.1}%", figure.median * 100.0);
        vec![parameter, ratio.contender.clone(), ratio.base.clone(), speed, half_width(figure)]
    };
    ratios.enumerate().map(row).collect()
}

fn empty_table_of_pairs(group: &Group) -> Table {
    Table {
        title: format!("{}: speed of one in relation to another", group.part),
        columns: vec!["work", "contender", "in relation to", "speed", "±95%"],
        rows: Vec::new(),
    }
}

fn empty_table(group: &Group) -> Table {
    let times = match group.base {
        Some("OpenSSL") => "× OpenSSL",
        Some("libgcrypt") => "× libgcrypt",
        Some(_) => "× base",
        None => "",
    };
    Table {
        title: group.part.to_owned(),
        columns: vec![
            "work",
            "contender",
            "bytes/clock",
            "clocks/unit",
            "±95%",
            "GB/s",
            "units/s",
            times,
            "±95%",
            "of ceiling",
            "GHz",
            "data",
            "kept",
            "put aside",
        ],
        rows: Vec::new(),
    }
}

fn row(parameter: &str, group: &Group, measured: &Measured, summary: &Summary) -> Vec<String> {
    let figure = |metric| measured.metrics.get(&metric).copied();
    let median = |metric| figure(metric).map_or_else(String::new, |figure| number(figure.median));
    let spread = [Metric::ClocksPerUnit, Metric::UnitsPerS].into_iter().find_map(figure);
    let ratio = summary
        .ratios
        .iter()
        .find(|ratio| {
            (&ratio.group, &ratio.contender) == (&group.id, &measured.contender)
                && Some(&ratio.base[..]) == group.base
        })
        .map(|ratio| ratio.figure);
    let samples = measured.samples;
    vec![
        parameter.to_owned(),
        measured.contender.clone(),
        median(Metric::BytesPerClock),
        median(Metric::ClocksPerUnit),
        spread.map_or_else(String::new, half_width),
        median(Metric::GbPerS),
        median(Metric::UnitsPerS),
        ratio.map_or_else(String::new, |ratio| number(ratio.median)),
        ratio.map_or_else(String::new, half_width),
        measured
            .share_of_ceiling
            .map_or_else(String::new, |share| format!("{:.0}%", share * 100.0)),
        measured.clock_hz.map_or_else(String::new, |hz| format!("{:.2}", hz / 1e9)),
        match measured.working_set_bytes {
            small if small < 1 << 10 => bytes_label(small),
            large => bytes_label(large >> 10 << 10),
        },
        samples.kept.to_string(),
        (samples.preempted + samples.unsteady_clock).to_string(),
    ]
}

fn empty_gpu_table(group: &Group) -> Table {
    Table {
        title: group.part.to_owned(),
        columns: vec![
            "work",
            "contender",
            group.unit,
            "bytes/SM/clock",
            "GB/s",
            "units/s",
            "µs/call",
            "±95%",
            "× base",
            "J/GB",
            "W",
            "GHz",
            "samples",
        ],
        rows: Vec::new(),
    }
}

fn gpu_row(parameter: &str, group: &Group, measured: &Measured, summary: &Summary) -> Vec<String> {
    let median = |metric| {
        let figure = measured.metrics.get(&metric);
        figure.map_or_else(String::new, |figure| number(figure.median))
    };
    let is_base = Some(&measured.contender[..]) == group.base;
    let ratio = summary
        .ratios
        .iter()
        .find(|ratio| (&ratio.group, &ratio.contender) == (&group.id, &measured.contender));
    vec![
        parameter.to_owned(),
        measured.contender.clone(),
        if measured.units_per_call > 0 {
            measured.units_per_call.to_string()
        } else {
            String::new()
        },
        median(Metric::BytesPerSmClock),
        median(Metric::GbPerS),
        median(Metric::UnitsPerS),
        median(Metric::UsPerCall),
        measured.metrics.get(&Metric::UsPerCall).map_or_else(String::new, |f| half_width(*f)),
        match ratio {
            Some(ratio) => number(ratio.figure.median),
            None if is_base => "base".to_owned(),
            None => String::new(),
        },
        median(Metric::JoulesPerGb),
        median(Metric::Watts),
        measured.clock_hz.map_or_else(String::new, |hz| format!("{:.3}", hz / 1e9)),
        measured.samples.kept.to_string(),
    ]
}

/// Half the interval in percent of the median.
pub(super) fn half_width(figure: Figure) -> String {
    let relative = super::stats::Estimate::from(figure).relative_half_width();
    relative.map_or_else(|| "?".to_owned(), |width| format!("{:.1}%", width * 100.0))
}

/// Four significant digits, and thousands as k, M and G.
pub(super) fn number(value: f64) -> String {
    let (value, suffix) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, " G"),
        v if v >= 1e6 => (value / 1e6, " M"),
        v if v >= 1e5 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let decimals = match value.abs() {
        v if v < 10.0 => 3,
        v if v < 100.0 => 2,
        v if v < 1000.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}{suffix}")
}

/// What a run was made with, and what it lacks, line by line.
pub(super) fn setup_lines(setup: &Setup) -> Vec<String> {
    let hardware = &setup.hardware;
    let caches: Vec<_> =
        hardware.caches.iter().map(|(name, size)| format!("{name} {size}")).collect();
    let mut lines = vec![
        format!(
            "{} ({}){}, {} processors, {}",
            hardware.cpu,
            hardware.cpu_id,
            if hardware.virtual_machine == Some(true) { " in a virtual machine" } else { "" },
            hardware.processors,
            hardware.kernel
        ),
        format!("caches: {}", caches.join(", ")),
        match setup.clock {
            Some(clock) => format!(
                "clock: {:.3} GHz by additions, {:.3} GHz by the second chain{}; {} of {} readings \
                 disturbed",
                clock.hz_by_add / 1e9,
                clock.hz_by_other / 1e9,
                if clock.agree { "" } else { ": THEY DISAGREE, bytes/clock are not to be trusted" },
                clock.disturbed,
                clock.readings
            ),
            None => "clock: none for this architecture, so no figures per clock".into(),
        },
        format!(
            "manylane {}{}, {}, {}, {}",
            setup.build.version,
            setup.build.commit.as_ref().map_or_else(String::new, |commit| format!(" ({commit})")),
            setup.build.compiler,
            setup.build.target,
            setup.build.profile
        ),
    ];
    for gpu in &setup.gpus {
        lines.push(format!(
            "{}: {}, {}, {} multiprocessors up to {:.2} GHz, {:.0} GiB, driver {}; {}",
            gpu.id,
            gpu.name,
            gpu.architecture,
            gpu.multiprocessors,
            gpu.clock_hz / 1e9,
            gpu.memory_bytes as f64 / f64::from(1 << 30),
            gpu.driver,
            gpu.sensors
        ));
    }
    for peer in &setup.peers {
        lines.push(match (&peer.version, &peer.missing) {
            (Some(version), _) => format!("{}: {version}", peer.name),
            (None, why) => {
                format!("{}: not measured: {}", peer.name, why.as_deref().unwrap_or("missing"))
            }
        });
    }
    if let Some(forced) = &setup.machines.forced {
        lines.push(format!("MANYLANE_MACHINE={forced}"));
    }
    lines
}

/// What was not run: the closing lines of every report.
pub(super) fn closing_lines(summary: &Summary) -> Vec<String> {
    let machines = &summary.setup.machines;
    let mut lines = vec![format!("machines run: {}", machines.run.join(", "))];
    for (machine, why) in &machines.not_run {
        lines.push(format!("machine not run: {machine}: {why}"));
    }
    for (what, why) in &summary.not_measured {
        lines.push(format!("not measured: {what}: {why}"));
    }
    if let Some(arm) = &summary.arm {
        lines.push(match (&arm.emulator, &arm.missing) {
            (Some(emulator), _) => format!("instructions on AArch64 counted by {emulator}"),
            (None, why) => format!(
                "instructions on AArch64: not counted: {}",
                why.as_deref().unwrap_or("missing")
            ),
        });
    }
    if summary.is_busy() {
        let share = summary.others_load.unwrap_or(0.0) * 100.0;
        lines.push(format!(
            "other processes used {share:.0}% of the processors: figures of all cores and latencies \
             are not to be quoted"
        ));
    }
    if summary.setup.quick {
        lines.push("a quick run: for a look, not for figures to quote".into());
    }
    lines
}

/// The whole report for a terminal.
pub(super) fn text(tables: &[Table], summary: &Summary) -> String {
    let mut text = String::new();
    for line in setup_lines(&summary.setup) {
        text += &format!("{line}\n");
    }
    for table in tables {
        text += &format!("\n{}", table.text());
    }
    text += "\n";
    for line in closing_lines(summary) {
        text += &format!("{line}\n");
    }
    text
}

/// The whole report in Markdown.
pub(super) fn markdown(tables: &[Table], summary: &Summary) -> String {
    let setup = &summary.setup;
    let mut text = format!("# manylane bench {}, {}\n\n", setup.suites.join(" "), setup.date);
    for line in setup_lines(setup) {
        text += &format!("- {line}\n");
    }
    for table in tables {
        text += &format!("\n{}", table.markdown());
    }
    text += "\n";
    for line in closing_lines(summary) {
        text += &format!("- {line}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::example;

    #[test]
    fn reports_say_what_was_and_what_was_not_measured() {
        let (plan, _) = example::plan_and_logs();
        let mut summary = example::summary();
        summary.not_measured.insert("suite/part/2/ours".into(), "disturbed".into());
        let tables = tables(&plan, &summary);
        let titles: Vec<_> = tables.iter().map(|table| &table.title[..]).collect();
        let arm = "Instructions on AArch64, counted under qemu: NOT a timing";
        assert_eq!(titles, ["Part", "Part: speed of one in relation to another", "Latency", arm]);
        for report in [text(&tables, &summary), markdown(&tables, &summary)] {
            for said in [
                "ours",
                "2.000",
                "50.0%",
                "libgcrypt: not measured: no such file",
                "machine not run: neon: of another architecture",
                "not measured: suite/part/2/ours: disturbed",
                "instructions on AArch64 counted by emulator 1",
                "2.500",
                "a quick run",
            ] {
                assert!(report.contains(said), "{said} is missing in\n{report}");
            }
        }
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [["µ", "1.5"], ["long", "10.25"]].map(|row| row.map(str::to_owned).to_vec());
        let table =
            Table { title: "Title".into(), columns: vec!["name", "figure"], rows: rows.to_vec() };
        assert_eq!(table.text(), "Title\nname  figure\nµ        1.5\nlong   10.25\n");
        assert!(table.markdown().contains("| name | figure |\n|---|---|\n| µ | 1.5 |\n"));
    }

    #[test]
    fn numbers_keep_four_digits() {
        let shown = [0.5, 12.345, 123.45, 1234.5, 99_999.0, 123_456.0, 2.5e6, 3.25e9].map(number);
        let expected =
            ["0.500", "12.35", "123.5", "1234", "99999", "123.5 k", "2.500 M", "3.250 G"];
        assert_eq!(shown, expected);
    }
}
