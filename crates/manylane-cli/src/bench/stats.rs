//! Medians and their intervals, without any assumption on how samples are distributed.

use serde::{Deserialize, Serialize};

/// A median with its 95% confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Estimate {
    /// The sample median.
    pub(super) median: f64,
    /// The interval's ends; none where there are fewer than six observations, for no interval of
    /// order statistics then reaches 95%.
    pub(super) interval: Option<(f64, f64)>,
}

impl Estimate {
    /// Estimates the median of what `observations` were drawn from. `None` if there are none.
    ///
    /// The interval runs between two order statistics. Each observation falls below the true
    /// median with probability one half, so how many do is binomial; the k-th smallest and the
    /// k-th largest enclose the median except with probability 2·P(Bin(n, ½) < k). The largest k
    /// that keeps this at 5% or less gives the narrowest such interval.
    pub(super) fn of(observations: &[f64]) -> Option<Self> {
        let mut sorted = observations.to_vec();
        let median = median(&mut sorted)?;
        let interval = rank(sorted.len()).map(|k| (sorted[k - 1], sorted[sorted.len() - k]));
        Some(Estimate { median, interval })
    }

    /// The estimate of a quantity that is `f` of this one; `f` must be monotonic.
    pub(super) fn map(self, f: impl Fn(f64) -> f64) -> Self {
        let ends = |(low, high)| {
            let (a, b): (f64, f64) = (f(low), f(high));
            (a.min(b), a.max(b))
        };
        Estimate { median: f(self.median), interval: self.interval.map(ends) }
    }

    /// Half the interval's width in parts of the median.
    pub(super) fn relative_half_width(self) -> Option<f64> {
        self.interval.map(|(low, high)| (high - low) / 2.0 / self.median)
    }

    /// The ratio of this estimate to an independent one, both positive.
    ///
    /// Half-widths are combined in quadrature in the logarithm, each side with the ends that push
    /// the ratio that way; for equal widths this is 1/√2 as wide as demanding that the intervals
    /// do not touch, which would be a test at far more than 95%.
    pub(super) fn over(self, base: Estimate) -> Estimate {
        let ratio = self.median / base.median;
        let interval =
            self.interval.zip(base.interval).map(|((low, high), (base_low, base_high))| {
                let side = |x: f64, x_median: f64, y: f64, y_median: f64| {
                    (x / x_median).ln().hypot((y / y_median).ln())
                };
                let down = side(low, self.median, base_high, base.median);
                let up = side(high, self.median, base_low, base.median);
                (ratio * (-down).exp(), ratio * up.exp())
            });
        Estimate { median: ratio, interval }
    }
}

/// The median; sorts the values. `None` of nothing.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len();
    match n {
        0 => None,
        n if n % 2 == 1 => Some(values[n / 2]),
        n => Some((values[n / 2 - 1] + values[n / 2]) / 2.0),
    }
}

/// The smallest value that at least the share `p` of the sorted values does not exceed. `None` of
/// nothing.
pub(super) fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    let rank = (p * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// The largest k, from 1, with 2·P(Bin(n, ½) < k) ≤ 5%.
fn rank(n: usize) -> Option<usize> {
    // C(n, i) / 2^n by its logarithm, so that thousands of observations do not underflow.
    let mut ln_term = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    let mut k = 0;
    while k < n {
        below += ln_term.exp();
        if 2.0 * below > 0.05 {
            break;
        }
        ln_term += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
        k += 1;
    }
    (k > 0).then_some(k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_percentiles() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&hundred, 0.5), Some(50.0));
        assert_eq!(percentile(&hundred, 0.99), Some(99.0));
        assert_eq!(percentile(&hundred, 1.0), Some(100.0));
        assert_eq!(percentile(&hundred, 0.0), Some(1.0));
        assert_eq!(percentile(&[], 0.5), None);
    }

    /// The ranks of the tables in textbooks (Conover, Practical Nonparametric Statistics).
    #[test]
    fn ranks_are_those_of_the_tables() {
        let table = [(5, None), (6, Some(1)), (8, Some(1)), (9, Some(2)), (12, Some(3))];
        for (n, k) in table.into_iter().chain([(20, Some(6)), (24, Some(7)), (100, Some(40))]) {
            assert_eq!(rank(n), k, "n = {n}");
        }
        let k = rank(10_000).unwrap() as f64;
        assert!((k - (5000.0 - 0.98 * 100.0)).abs() < 2.0, "normal limit, got {k}");
    }

    /// Of intervals from a skewed distribution with a known median, 95% hold it.
    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let mut rng = fastrand::Rng::with_seed(1);
        let (trials, n) = (4000, 24);
        let covering = (0..trials)
            .filter(|_| {
                let sample: Vec<f64> = (0..n).map(|_| -rng.f64().ln()).collect();
                let (low, high) = Estimate::of(&sample).unwrap().interval.unwrap();
                (low..=high).contains(&std::f64::consts::LN_2)
            })
            .count();
        // Exactly 97.7% for these ranks, with a standard deviation of 0.24%.
        let share = covering as f64 / f64::from(trials);
        assert!((0.967..0.987).contains(&share), "{share}");
    }

    #[test]
    fn too_few_observations_have_no_interval() {
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[1.0; 5]), Some(Estimate { median: 1.0, interval: None }));
        assert_eq!(Estimate::of(&[1.0; 6]).unwrap().interval, Some((1.0, 1.0)));
    }

    #[test]
    fn mapping_keeps_the_ends_in_order() {
        let estimate = Estimate { median: 2.0, interval: Some((1.0, 4.0)) };
        let inverse = estimate.map(|x| 1.0 / x);
        assert_eq!(inverse, Estimate { median: 0.5, interval: Some((0.25, 1.0)) });
    }

    #[test]
    fn ratios_combine_their_widths() {
        let a = Estimate { median: 1.0, interval: Some((0.99, 1.01)) };
        let b = Estimate { median: 2.0, interval: Some((1.98, 2.02)) };
        let (low, high) = b.over(a).interval.unwrap();
        assert!((2.0 * 0.9855..2.0 * 0.9865).contains(&low), "{low}");
        assert!((2.0 * 1.0135..2.0 * 1.0145).contains(&high), "{high}");
        let exact = Estimate { median: 1.0, interval: Some((1.0, 1.0)) };
        let (low, high) = a.over(exact).interval.unwrap();
        assert!((low - 0.99).abs() < 1e-12 && (high - 1.01).abs() < 1e-12);
    }
}
