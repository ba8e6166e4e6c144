//! Latency under an open-loop load: requests arrive when they arrive, whatever became of those
//! before.
//!
//! Arrivals are a Poisson process drawn in advance. A request's latency runs from the moment it
//! was to arrive, not from the moment it could be submitted: a server that stalls is charged for
//! everyone it kept waiting (a closed loop, which waits for each answer before the next request,
//! would count one slow request where there were hundreds).

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::{
    model::{Figure, Measured, Metric, RawLatency, Samples},
    stats::{Estimate, percentile},
};

/// Percentiles that are recorded of each visit.
pub(super) const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];

/// Measures the capacity and each load once.
pub(super) type Visit = Box<dyn Fn(&mut fastrand::Rng) -> Result<Vec<Observed>, String>>;

/// Loads to measure, as one group.
pub(super) struct LatencyGroup {
    pub(super) id: String,
    pub(super) part: &'static str,
    pub(super) parameter: String,
    /// What a request is, in the plural.
    pub(super) unit: &'static str,
    pub(super) bytes_per_unit: u64,
    pub(super) visit: Visit,
}

/// What one visit saw of one load.
pub(super) struct Observed {
    pub(super) contender: String,
    /// Requests a second: those that arrived, or, for the capacity, those that were answered.
    pub(super) rate: f64,
    /// At [`PERCENTILES`], in microseconds; empty for the capacity.
    pub(super) latencies: Vec<f64>,
}

/// All visits of one load.
#[derive(Debug, Default)]
pub(super) struct LatencyLog {
    pub(super) contender: String,
    pub(super) rates: Vec<f64>,
    pub(super) visits: Vec<Vec<f64>>,
}

/// Adds a visit to the logs.
pub(super) fn record(logs: &mut Vec<LatencyLog>, observed: Vec<Observed>) {
    for Observed { contender, rate, latencies } in observed {
        let at = logs.iter().position(|log| log.contender == contender);
        let log = match at {
            Some(at) => &mut logs[at],
            None => logs.push_mut(LatencyLog { contender, ..LatencyLog::default() }),
        };
        log.rates.push(rate);
        if !latencies.is_empty() {
            log.visits.push(latencies);
        }
    }
}

/// Moments at which `count` requests arrive, from the start, `rate` of them a second on average.
pub(super) fn poisson(count: usize, rate: f64, rng: &mut fastrand::Rng) -> Vec<Duration> {
    let mut now = 0.0;
    let mut arrive = || {
        now -= (1.0 - rng.f64()).ln() / rate;
        Duration::from_secs_f64(now)
    };
    (0..count).map(|_| arrive()).collect()
}

/// Waits until a moment, without sleeping: the scheduler would wake us too late.
pub(super) fn spin_until(moment: Instant) {
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
}

/// The latencies at [`PERCENTILES`], in microseconds.
pub(super) fn at_percentiles(latencies: &mut [f64]) -> Vec<f64> {
    latencies.sort_unstable_by(f64::total_cmp);
    let at = |p: f64| percentile(latencies, p / 100.0).map(|seconds| seconds * 1e6);
    PERCENTILES.into_iter().filter_map(at).collect()
}

/// The figures of a group's loads.
pub(super) fn summarise(group: &LatencyGroup, logs: &[LatencyLog]) -> Vec<Measured> {
    let measured = |log: &LatencyLog| {
        let at = |p: f64| {
            let column = PERCENTILES.iter().position(|&q| q == p)?;
            Estimate::of(&log.visits.iter().map(|visit| visit[column]).collect::<Vec<_>>())
        };
        let figures = [
            (Metric::UnitsPerS, Estimate::of(&log.rates)),
            (Metric::P50Us, at(50.0)),
            (Metric::P99Us, at(99.0)),
        ];
        let metrics: BTreeMap<_, _> = figures
            .into_iter()
            .filter_map(|(metric, estimate)| Some((metric, Figure::from(estimate?))))
            .collect();
        let visits = log.rates.len() as u32;
        Measured {
            group: group.id.clone(),
            contender: log.contender.clone(),
            kernel: None,
            peer: false,
            unit: group.unit.to_owned(),
            bytes_per_call: group.bytes_per_unit,
            units_per_call: 1,
            calls_per_sample: 1,
            working_set_bytes: group.bytes_per_unit,
            one_core: false,
            samples: Samples { visits, kept: visits, ..Samples::default() },
            clock_hz: None,
            share_of_ceiling: None,
            metrics,
        }
    };
    logs.iter().map(measured).collect()
}

/// The percentiles of each visit for the record.
pub(super) fn raw(group: &LatencyGroup, logs: &[LatencyLog]) -> Vec<RawLatency> {
    let raw = |log: &LatencyLog| RawLatency {
        group: group.id.clone(),
        contender: log.contender.clone(),
        rates: log.rates.clone(),
        percentiles: PERCENTILES.to_vec(),
        visits: log.visits.clone(),
    };
    logs.iter().map(raw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_come_at_their_rate_and_without_memory() {
        let mut rng = fastrand::Rng::with_seed(3);
        let (count, rate) = (100_000, 1e4);
        let arrivals = poisson(count, rate, &mut rng);
        assert!(arrivals.is_sorted());
        let span = arrivals[count - 1].as_secs_f64();
        assert!((span * rate / count as f64 - 1.0).abs() < 0.01, "{span} s");
        // Of exponential gaps, 1/e are longer than the mean.
        let long = arrivals.windows(2).filter(|w| (w[1] - w[0]).as_secs_f64() > 1.0 / rate);
        let share = long.count() as f64 / count as f64;
        assert!((share - (-1_f64).exp()).abs() < 0.01, "{share}");
    }

    #[test]
    fn visits_add_up_to_figures() {
        let group = LatencyGroup {
            id: "suite/latency/1".into(),
            part: "Latency",
            parameter: "1".into(),
            unit: "messages",
            bytes_per_unit: 256,
            visit: Box::new(|_| Ok(Vec::new())),
        };
        let mut logs = Vec::new();
        for visit in 0..6 {
            let mut latencies: Vec<f64> = (1..=100).map(|i| f64::from(i + visit) * 1e-6).collect();
            let latencies = at_percentiles(&mut latencies);
            let load = Observed { contender: "half".into(), rate: 1e5, latencies };
            let capacity =
                Observed { contender: "capacity".into(), rate: 2e5, latencies: Vec::new() };
            record(&mut logs, vec![capacity, load]);
        }
        let [capacity, half] = &summarise(&group, &logs)[..] else { panic!("two loads") };
        assert_eq!(capacity.metrics.keys().collect::<Vec<_>>(), [&Metric::UnitsPerS]);
        let p99 = half.metrics[&Metric::P99Us];
        assert!((p99.median - 101.5).abs() < 1e-9, "{p99:?}");
        assert!((p99.low.unwrap() - 99.0).abs() < 1e-9 && (p99.high.unwrap() - 104.0).abs() < 1e-9);
        assert_eq!(raw(&group, &logs)[1].visits.len(), 6);
    }
}
