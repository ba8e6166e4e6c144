//! From samples to figures.

use std::collections::BTreeMap;

use super::{
    measure::{Cores, Group, Log, Sample, Verdict},
    model::{Figure, Measured, Metric, Ratio, RawContender, RawGroup, Samples},
    stats::{Estimate, median},
};

/// The figures of a group's contenders; for those without a single undisturbed sample, their
/// names.
pub(super) fn group(group: &Group, logs: &[Log]) -> (Vec<Measured>, Vec<Ratio>, Vec<String>) {
    let mut measured = Vec::new();
    let mut missing = Vec::new();
    for log in logs {
        match contender(group, log) {
            Some(figures) => measured.push(figures),
            None => missing.push(format!("{}/{}", group.id, log.name)),
        }
    }
    let named = |name: &str| logs.iter().find(|log| log.name == name);
    let others = logs.iter().filter(|log| Some(&log.name[..]) != group.base);
    let to_base = others.zip(std::iter::repeat(group.base.and_then(named)));
    let pairs = group.pairs.iter().map(|(one, other)| (named(one), named(other)));
    let ratios = to_base
        .map(|(log, base)| (Some(log), base))
        .chain(pairs)
        .filter_map(|(log, base)| ratio(group, log?, base?))
        .collect();
    (measured, ratios, missing)
}

fn contender(group: &Group, log: &Log) -> Option<Measured> {
    let calls = f64::from(log.calls);
    let seconds = Estimate::of(&by_visit(log, |sample| Some(sample.seconds / calls)))?;
    let clocks = |sample: &Sample| Some(sample.seconds * sample.hz? / calls);
    let clocks = Estimate::of(&by_visit(log, clocks));
    let (bytes, units) = (log.work.bytes as f64, log.work.units as f64);
    let mut metrics = BTreeMap::new();
    let mut put = |metric, estimate: Estimate| metrics.insert(metric, Figure::from(estimate));
    let gpu = match group.cores {
        Cores::Gpu { multiprocessors } => Some(f64::from(multiprocessors)),
        Cores::One | Cores::All => None,
    };
    if bytes > 0.0 {
        put(Metric::GbPerS, seconds.map(|seconds| bytes / seconds / 1e9));
        clocks.map(|clocks| match gpu {
            Some(all) => put(Metric::BytesPerSmClock, clocks.map(|clocks| bytes / clocks / all)),
            None => put(Metric::BytesPerClock, clocks.map(|clocks| bytes / clocks)),
        });
    }
    if units > 0.0 {
        put(Metric::UnitsPerS, seconds.map(|seconds| units / seconds));
    }
    match gpu {
        Some(_) => put(Metric::UsPerCall, seconds.map(|seconds| seconds * 1e6)),
        None => clocks.and_then(|clocks| put(Metric::ClocksPerUnit, clocks.map(|c| c / units))),
    };
    let watts = Estimate::of(&by_visit(log, |sample| Some(sample.joules? / sample.seconds)));
    watts.map(|watts| put(Metric::Watts, watts));
    let joules = Estimate::of(&by_visit(log, |sample| Some(sample.joules? / calls)));
    joules.filter(|_| bytes > 0.0).map(|j| put(Metric::JoulesPerGb, j.map(|j| j / bytes * 1e9)));
    let share = log.work.counted_clocks.zip(clocks).map(|(counted, took)| counted / took.median);
    let mut hz: Vec<f64> = kept(log).filter_map(|sample| sample.hz).collect();
    Some(Measured {
        group: group.id.clone(),
        contender: log.name.clone(),
        kernel: log.kernel.map(str::to_owned),
        peer: log.peer,
        unit: group.unit.to_owned(),
        bytes_per_call: log.work.bytes,
        units_per_call: log.work.units,
        calls_per_sample: log.calls,
        working_set_bytes: group.working_set,
        one_core: group.cores == Cores::One,
        samples: count(log),
        clock_hz: median(&mut hz),
        share_of_ceiling: share,
        metrics,
    })
}

/// How many times as fast a contender is as the base: the work of each over its clocks (or its
/// time, where not all is done by one clock), from samples of the same turn.
fn ratio(group: &Group, log: &Log, base: &Log) -> Option<Ratio> {
    let cost = |log: &Log, sample: &Sample| {
        let work = if log.work.bytes > 0 { log.work.bytes } else { log.work.units };
        let calls = f64::from(log.calls);
        let hz = sample.hz.filter(|_| group.cores == Cores::One);
        sample.seconds * hz.unwrap_or(1.0) / calls / work as f64
    };
    let turns: BTreeMap<(u32, u32), f64> =
        kept(base).map(|sample| ((sample.visit, sample.turn), cost(base, sample))).collect();
    let pairs = by_visit(log, |sample| {
        turns.get(&(sample.visit, sample.turn)).map(|base| base / cost(log, sample))
    });
    let figure = Estimate::of(&pairs)?.into();
    Some(Ratio {
        group: group.id.clone(),
        contender: log.name.clone(),
        base: base.name.clone(),
        figure,
    })
}

fn kept(log: &Log) -> impl Iterator<Item = &Sample> {
    log.samples.iter().filter(|sample| sample.verdict == Verdict::Kept)
}

/// One observation a visit: the median over its undisturbed samples.
fn by_visit(log: &Log, value: impl Fn(&Sample) -> Option<f64>) -> Vec<f64> {
    let mut visits: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for sample in kept(log) {
        visits.entry(sample.visit).or_default().extend(value(sample));
    }
    visits.values_mut().filter_map(|values| median(values)).collect()
}

fn count(log: &Log) -> Samples {
    let mut samples =
        Samples { visits: by_visit(log, |_| Some(0.0)).len() as u32, ..<_>::default() };
    for sample in &log.samples {
        *match sample.verdict {
            Verdict::Kept => &mut samples.kept,
            Verdict::Preempted => &mut samples.preempted,
            Verdict::Unsteady => &mut samples.unsteady_clock,
        } += 1;
    }
    samples
}

/// A group's samples for the record.
pub(super) fn raw(group: &Group, logs: &[Log]) -> RawGroup {
    let sample = |sample: &Sample| {
        let nanoseconds = (sample.seconds * 1e9).round() as u64;
        let verdict = match sample.verdict {
            Verdict::Kept => 'k',
            Verdict::Preempted => 'p',
            Verdict::Unsteady => 'u',
        };
        (sample.visit, sample.turn, nanoseconds, sample.hz.map(|hz| hz.round() as u64), verdict)
    };
    let contender = |log: &Log| RawContender {
        contender: log.name.clone(),
        calls_per_sample: log.calls,
        samples: log.samples.iter().map(sample).collect(),
        joules: log.samples.iter().filter_map(|sample| sample.joules).collect(),
    };
    RawGroup { group: group.id.clone(), contenders: logs.iter().map(contender).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::example;

    #[test]
    fn disturbed_samples_do_not_count() {
        let logs = [example::log("peer", 2e-6), example::log("ours", 1e-6)];
        let (measured, ratios, missing) = group(&example::group(), &logs);
        assert!(missing.is_empty());
        let ours = &measured[1];
        let samples = Samples { visits: 10, kept: 20, preempted: 10, unsteady_clock: 0 };
        assert_eq!((&ours.contender[..], ours.samples), ("ours", samples));
        // A call takes 0.5 µs, 1000 clocks, and up to 9% more: 1.045 at the median.
        let near = |metric, expected: f64| {
            let figure = ours.metrics[&metric];
            assert!((figure.median / expected - 1.0).abs() < 1e-3, "{metric:?}: {figure:?}");
            assert!(figure.low.unwrap() < figure.median && figure.median < figure.high.unwrap());
        };
        near(Metric::BytesPerClock, 1.0 / 1.045);
        near(Metric::GbPerS, 2.0 / 1.045);
        near(Metric::ClocksPerUnit, 104.5);
        near(Metric::UnitsPerS, 2e7 / 1.045);
        assert!((ours.share_of_ceiling.unwrap() - 1.0 / 1.045).abs() < 1e-3);
        // What slowed both in a visit is no part of their ratio.
        let [ratio, pair] = &ratios[..] else { panic!("{ratios:?}") };
        assert!((pair.figure.median - 0.5).abs() < 1e-9);
        assert_eq!((&pair.contender[..], &pair.base[..]), ("peer", "ours"));
        assert!((ratio.figure.median - 2.0).abs() < 1e-9);
        assert!((ratio.figure.low.unwrap() - 2.0).abs() < 1e-9);
        assert_eq!((&ratio.contender[..], &ratio.base[..]), ("ours", "peer"));
    }

    #[test]
    fn nothing_is_made_up_from_disturbed_samples() {
        let mut log = example::log("ours", 1e-6);
        log.samples.iter_mut().for_each(|sample| sample.verdict = Verdict::Unsteady);
        let (measured, ratios, missing) = group(&example::group(), &[log]);
        assert!(measured.is_empty() && ratios.is_empty());
        assert_eq!(missing, ["suite/part/1/ours"]);
    }

    #[test]
    fn raw_samples_keep_their_verdict() {
        let raw = raw(&example::group(), &[example::log("ours", 1e-6)]);
        let samples = &raw.contenders[0].samples;
        assert_eq!(samples[0], (0, 0, 10_000, Some(2_000_000_000), 'p'));
        assert_eq!(samples[1], (0, 1, 1_000, Some(2_000_000_000), 'k'));
    }
}
