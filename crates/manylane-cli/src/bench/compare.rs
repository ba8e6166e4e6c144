//! `manylane bench compare`: is the second run slower than the first, beyond doubt and a bound?

use std::{collections::BTreeSet, fs, path::Path, str::FromStr};

use super::{
    model::{Measured, Metric, SCHEMA_VERSION, Setup, Summary},
    report::{Table, half_width, number},
    stats::Estimate,
};
use crate::show::{Name, Reason};

/// A loss that is let pass, as a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bound(f64);

impl FromStr for Bound {
    type Err = String;

    /// Reads a percentage, with or without the sign.
    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text.strip_suffix('%').unwrap_or(text).trim();
        match percent.parse::<f64>() {
            Ok(percent) if (0.0..100.0).contains(&percent) => Ok(Bound(percent / 100.0)),
            _ => Err("expected a percentage from 0% to below 100%".into()),
        }
    }
}

/// What a comparison says of one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The whole interval is beyond the bound.
    Regression,
    /// The median is beyond the bound, the interval is not, or there is none.
    Suspect,
    /// The whole interval is above one.
    Faster,
    /// None of these.
    Same,
    /// Measured in the first run only, though the second ran its group.
    Gone,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Regression => "REGRESSION",
            Verdict::Suspect => "slower, not certain",
            Verdict::Faster => "faster",
            Verdict::Same => "",
            Verdict::Gone => "GONE",
        }
    }
}

/// One figure in both runs.
#[derive(Debug)]
struct Line {
    group: String,
    contender: String,
    peer: bool,
    metric: Metric,
    before: f64,
    after: Option<f64>,
    /// Speed of the second run over that of the first.
    change: Option<Estimate>,
    verdict: Verdict,
}

/// A comparison of two runs.
#[derive(Debug)]
pub(super) struct Comparison {
    lines: Vec<Line>,
    /// Groups that only one run has.
    unmatched: Vec<String>,
}

/// Reads a run's summary.
///
/// # Errors
/// If there is none, or none of this schema.
pub(super) fn read(folder: &Path) -> Result<Summary, String> {
    if folder.is_file() {
        return Err(format!("{}: a file, not the folder of a run", Name(folder)));
    }
    let path = folder.join("summary.json");
    let because = |why: &dyn std::fmt::Display| format!("{}: {why}", Name(&path));
    let text = fs::read_to_string(&path).map_err(|why| because(&Reason(&why)))?;
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|why| because(&why))?;
    if json["schema_version"] != SCHEMA_VERSION {
        let version = &json["schema_version"];
        return Err(because(&format_args!("schema version {version}, not {SCHEMA_VERSION}")));
    }
    serde_json::from_value(json).map_err(|why| because(&why))
}

/// Compares run `b` with run `a`.
///
/// # Errors
/// If the runs were made on different hardware, or with other limits on it: their difference
/// would then say nothing of the code.
pub(super) fn compare(a: &Summary, b: &Summary, bound: Bound) -> Result<Comparison, String> {
    let (one, other) = (&a.setup, &b.setup);
    let same = [
        ("processors", &one.hardware.cpu, &other.hardware.cpu),
        ("processors", &one.hardware.cpu_id, &other.hardware.cpu_id),
        ("architectures", &one.hardware.arch, &other.hardware.arch),
    ];
    if let Some((what, a, b)) = same.into_iter().find(|(_, a, b)| a != b) {
        return Err(format!("runs on different {what}: {a}; {b}"));
    }
    if one.hardware.processors != other.hardware.processors {
        let (a, b) = (one.hardware.processors, other.hardware.processors);
        return Err(format!("runs on {a} and on {b} processors"));
    }
    let gpus = |setup: &Setup| -> Vec<(String, String)> {
        setup.gpus.iter().map(|gpu| (gpu.id.clone(), gpu.name.clone())).collect()
    };
    if gpus(one) != gpus(other) {
        let name = |setup| {
            let names: Vec<_> =
                gpus(setup).into_iter().map(|(id, name)| id + " " + &name).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        return Err(format!("runs on different GPUs: {}; {}", name(one), name(other)));
    }
    if one.machines.forced != other.machines.forced {
        let name = |forced: &Option<String>| forced.clone().unwrap_or_else(|| "unset".into());
        let (a, b) = (name(&one.machines.forced), name(&other.machines.forced));
        return Err(format!("runs with MANYLANE_MACHINE {a} and {b}"));
    }
    let groups = |summary: &Summary| -> BTreeSet<String> {
        summary.results.iter().map(|measured| measured.group.clone()).collect()
    };
    let (in_a, in_b) = (groups(a), groups(b));
    let unmatched = in_a.symmetric_difference(&in_b).cloned().collect();
    let busy = a.is_busy() || b.is_busy();
    let mut lines = Vec::new();
    for before in a.results.iter().filter(|measured| in_b.contains(&measured.group)) {
        let same = |after: &&Measured| {
            (&after.group, &after.contender) == (&before.group, &before.contender)
        };
        lines.extend(compare_one(before, b.results.iter().find(same), bound, busy));
    }
    Ok(Comparison { lines, unmatched })
}

/// The figures that stand for a result. Of several that say the same, the one that depends least
/// on what is not the code: clocks rather than seconds.
fn headline(before: &Measured, after: Option<&Measured>) -> Vec<Metric> {
    let both = |metric: &Metric| {
        before.metrics.contains_key(metric)
            && after.is_none_or(|after| after.metrics.contains_key(metric))
    };
    let latencies = [Metric::P50Us, Metric::P99Us];
    if latencies.iter().all(both) {
        return latencies.to_vec();
    }
    Metric::ALL.into_iter().find(both).into_iter().collect()
}

fn compare_one(before: &Measured, after: Option<&Measured>, bound: Bound, busy: bool) -> Vec<Line> {
    let line = |metric| {
        let old = before.metrics[&metric];
        let new = after.map(|after| after.metrics[&metric]);
        let change = new.map(|new| speed_ratio(metric, old.into(), new.into()));
        Line {
            group: before.group.clone(),
            contender: before.contender.clone(),
            peer: before.peer,
            metric,
            before: old.median,
            after: new.map(|new| new.median),
            change,
            verdict: match change.map_or(Verdict::Gone, |change| judge(change, bound)) {
                // Others took the cores that this figure needs all of.
                Verdict::Regression if busy && !before.one_core => Verdict::Suspect,
                verdict => verdict,
            },
        }
    };
    headline(before, after).into_iter().map(line).collect()
}

fn speed_ratio(metric: Metric, old: Estimate, new: Estimate) -> Estimate {
    if metric.more_is_better() { new.over(old) } else { old.over(new) }
}

fn judge(change: Estimate, bound: Bound) -> Verdict {
    let least = 1.0 - bound.0;
    match change.interval {
        Some((_, high)) if high < least => Verdict::Regression,
        _ if change.median < least => Verdict::Suspect,
        Some((low, _)) if low > 1.0 => Verdict::Faster,
        _ => Verdict::Same,
    }
}

impl Comparison {
    /// Whether something of ours is slower past the bound, or was not measured any more. What
    /// peers do is shown, for it tells how alike the machine was, but is no fault of ours.
    pub(super) fn failed(&self) -> bool {
        let bad = |line: &Line| matches!(line.verdict, Verdict::Regression | Verdict::Gone);
        self.lines.iter().any(|line| bad(line) && !line.peer)
    }

    /// For a terminal.
    pub(super) fn text(&self) -> String {
        let row = |line: &Line| {
            let percent = |change: Estimate| format!("{:+.1}%", (change.median - 1.0) * 100.0);
            let verdict = match (line.peer, line.verdict) {
                (true, Verdict::Same) => "a peer".to_owned(),
                (true, verdict) => format!("a peer: {}", verdict.name().to_lowercase()),
                (false, verdict) => verdict.name().to_owned(),
            };
            vec![
                line.group.clone(),
                line.contender.clone(),
                line.metric.name().to_owned(),
                number(line.before),
                line.after.map_or_else(String::new, number),
                line.change.map_or_else(String::new, percent),
                line.change.map_or_else(String::new, |change| half_width(change.into())),
                verdict,
            ]
        };
        let table = Table {
            title: "Speed of the second run in relation to the first".into(),
            columns: vec!["group", "contender", "figure", "first", "second", "speed", "±95%", ""],
            rows: self.lines.iter().map(row).collect(),
        };
        let mut text = table.text();
        for group in &self.unmatched {
            text += &format!("in one run only: {group}\n");
        }
        let count = |verdict| {
            self.lines.iter().filter(|line| !line.peer && line.verdict == verdict).count()
        };
        text + &format!(
            "{} figures of ours: {} slower past the bound, {} slower but not certain, {} faster, \
             {} gone\n",
            self.lines.iter().filter(|line| !line.peer).count(),
            count(Verdict::Regression),
            count(Verdict::Suspect),
            count(Verdict::Faster),
            count(Verdict::Gone)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{example, model::Figure};

    const BOUND: Bound = Bound(0.03);

    /// A run whose contender `ours` has this many bytes a clock, give or take `half`.
    fn run(bytes_per_clock: f64, half: f64) -> Summary {
        let mut summary = example::summary();
        let ours = summary.results.iter_mut().find(|r| r.contender == "ours").unwrap();
        let (low, high) = (bytes_per_clock - half, bytes_per_clock + half);
        let figure = Figure { median: bytes_per_clock, low: Some(low), high: Some(high) };
        ours.metrics.insert(Metric::BytesPerClock, figure);
        summary
    }

    fn verdict(a: &Summary, b: &Summary) -> (Verdict, bool) {
        let comparison = compare(a, b, BOUND).unwrap();
        let line = comparison.lines.iter().find(|line| line.contender == "ours").unwrap();
        assert_eq!(line.metric, Metric::BytesPerClock);
        assert!(comparison.text().contains("ours"));
        (line.verdict, comparison.failed())
    }

    #[test]
    fn regressions_are_told_from_noise() {
        let a = run(1.0, 0.005);
        assert_eq!(verdict(&a, &a), (Verdict::Same, false));
        assert_eq!(verdict(&a, &run(0.98, 0.005)), (Verdict::Same, false), "within the bound");
        assert_eq!(verdict(&a, &run(0.95, 0.005)), (Verdict::Regression, true));
        assert_eq!(verdict(&a, &run(0.95, 0.05)), (Verdict::Suspect, false), "too wide");
        assert_eq!(verdict(&a, &run(1.05, 0.005)), (Verdict::Faster, false));
        let mut short = run(0.5, 0.005);
        let ours = short.results.iter_mut().find(|r| r.contender == "ours").unwrap();
        let figure = Figure { median: 0.5, low: None, high: None };
        ours.metrics.insert(Metric::BytesPerClock, figure);
        assert_eq!(verdict(&a, &short), (Verdict::Suspect, false), "no interval");
    }

    #[test]
    fn less_is_better_for_latencies() {
        let exactly = |median| Estimate { median, interval: Some((median, median)) };
        let slower = speed_ratio(Metric::P99Us, exactly(100.0), exactly(110.0));
        assert_eq!(judge(slower, BOUND), Verdict::Regression);
        let faster = speed_ratio(Metric::ClocksPerUnit, exactly(110.0), exactly(100.0));
        assert_eq!(judge(faster, BOUND), Verdict::Faster);
    }

    #[test]
    fn all_cores_are_not_judged_on_a_busy_machine() {
        let (mut a, mut b) = (run(1.0, 0.005), run(0.9, 0.005));
        for summary in [&mut a, &mut b] {
            summary.results.iter_mut().for_each(|measured| measured.one_core = false);
        }
        assert_eq!(verdict(&a, &b), (Verdict::Regression, true));
        b.others_load = Some(0.5);
        assert_eq!(verdict(&a, &b), (Verdict::Suspect, false));
        b.results.iter_mut().for_each(|measured| measured.one_core = true);
        a.results.iter_mut().for_each(|measured| measured.one_core = true);
        assert_eq!(verdict(&a, &b), (Verdict::Regression, true), "of undisturbed samples");
    }

    #[test]
    fn what_is_gone_is_a_failure_and_peers_are_not_ours() {
        let a = run(1.0, 0.005);
        let mut b = a.clone();
        b.results.retain(|measured| measured.contender != "ours");
        assert!(compare(&a, &b, BOUND).unwrap().failed());
        let mut b = a.clone();
        b.results.retain(|measured| !measured.peer);
        assert!(!compare(&a, &b, BOUND).unwrap().failed());
        let mut b = a.clone();
        b.results.iter_mut().for_each(|measured| measured.group = "suite/another/1".into());
        let comparison = compare(&a, &b, BOUND).unwrap();
        assert!(comparison.lines.is_empty() && comparison.unmatched.len() > 1);
        assert!(comparison.text().contains("in one run only: suite/another/1"));
    }

    #[test]
    fn runs_on_different_machines_are_refused() {
        let a = run(1.0, 0.005);
        let mut cpu = a.clone();
        cpu.setup.hardware.cpu = "another".into();
        assert!(compare(&a, &cpu, BOUND).unwrap_err().contains("different processors"));
        let mut gpu = a.clone();
        gpu.setup.gpus[0].name = "another".into();
        assert!(compare(&a, &gpu, BOUND).unwrap_err().contains("different GPUs"));
        let mut forced = a.clone();
        forced.setup.machines.forced = Some("avx2".into());
        assert!(compare(&a, &forced, BOUND).unwrap_err().contains("MANYLANE_MACHINE"));
        let mut more = a.clone();
        more.setup.hardware.processors += 1;
        assert!(compare(&a, &more, BOUND).is_err());
    }

    #[test]
    fn other_schemas_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).is_err(), "no file");
        let mut json = serde_json::to_value(run(1.0, 0.005)).unwrap();
        let path = folder.path().join("summary.json");
        fs::write(&path, json.to_string()).unwrap();
        assert!(read(folder.path()).is_ok());
        json["schema_version"] = 2.into();
        fs::write(&path, json.to_string()).unwrap();
        assert!(read(folder.path()).unwrap_err().contains("schema version 2, not 1"));
    }

    #[test]
    fn bounds_are_percentages() {
        assert_eq!("3%".parse(), Ok(Bound(0.03)));
        assert_eq!("12.5".parse(), Ok(Bound(0.125)));
        for text in ["", "x", "-1%", "100%", "nan", "3%%"] {
            assert!(text.parse::<Bound>().is_err(), "{text}");
        }
    }
}
