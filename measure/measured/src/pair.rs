//! Compares two variants by the ratio of their times in each round.

use std::fmt;

use numbers::sorted;

use crate::stats::{Summary, batches};

/// A ratio within this distance of one is irrelevant, even if its interval is narrow.
pub const MATTERS: f64 = 0.005;

/// The speedup of the second variant over the first, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio(pub Summary);

/// The verdict on whether the second variant is faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is above one, and the ratio is relevant.
    Faster,
    /// The whole interval is below one, and the ratio is relevant.
    Slower,
    /// The interval contains one, or the ratio is within half a percent of one.
    NoDifference,
}

/// Returns the mean of each pair of rounds, of which the second ran in reverse order: A B, then B
/// A.
///
/// The preceding kernel changes a kernel's time. Over both orders, each variant follows each of its
/// two neighbours. A round that lacks its partner is left out.
pub fn there_and_back(times: &[(u32, u64)]) -> Vec<(u32, f64)> {
    let both = times.windows(2).filter(|two| two[0].0 % 2 == 0 && two[1].0 == two[0].0 + 1);
    both.map(|two| (two[0].0 / 2, (two[0].1 + two[1].1) as f64 / 2.0)).collect()
}

/// Returns the fraction by which a variant is slower in one order than in the other: 0.02 means 2
/// %. Returns `None` if there are too few rounds to tell.
pub fn order_effect(times: &[(u32, u64)]) -> Option<f64> {
    let median = |parity| {
        let times = times.iter().filter(|(round, _)| round % 2 == parity);
        Summary::of(times.map(|&(_, ns)| ns as f64)).filter(|s| s.count > 5).map(|s| s.median)
    };
    let (even, odd) = (median(0)?, median(1)?);
    Some(even.max(odd) / even.min(odd) - 1.0)
}

impl Ratio {
    /// Returns the ratio of the first variant's time to the second's, over the pairs of rounds in
    /// which both were timed. Returns `None` if no pair of rounds has both times.
    ///
    /// The ratio is the median over batches of pairs, where each batch contributes the ratio of its
    /// two total times. The quartiles and the count are those of the pairs.
    ///
    /// Both slices must be sorted by round, with one time for each round.
    pub fn of(first: &[(u32, u64)], second: &[(u32, u64)]) -> Option<Ratio> {
        let second = there_and_back(second);
        let mut rest = second.iter().peekable();
        let mut both = Vec::with_capacity(second.len());
        for (pair, ns) in there_and_back(first) {
            while rest.next_if(|(other, _)| *other < pair).is_some() {}
            if let Some((_, other)) = rest.next_if(|(other, _)| *other == pair) {
                both.push((ns, *other));
            }
        }
        let of_batch = |batch: std::ops::Range<usize>| {
            let sums = both[batch].iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
            sums.0 / sums.1
        };
        let summary = Summary::of(batches(both.len()).map(of_batch))?;
        Some(Ratio(summary.spread(&sorted(both.iter().map(|(first, second)| first / second)))))
    }

    /// Returns the verdict.
    pub fn verdict(&self) -> Verdict {
        let Ratio(Summary { median, low, high, .. }) = *self;
        match () {
            _ if low > 1.0 && median >= 1.0 + MATTERS => Verdict::Faster,
            _ if high < 1.0 && median <= 1.0 - MATTERS => Verdict::Slower,
            _ => Verdict::NoDifference,
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ratio(Summary { median, low, high, .. }) = self;
        let digits = if *median < 10.0 { 3 } else { 2 };
        match high.is_finite() {
            true => write!(f, "{median:.digits$} [{low:.digits$}, {high:.digits$}]"),
            false => write!(f, "{median:.digits$} [too few rounds]"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::NoDifference => "no difference at this size",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(rounds: std::ops::Range<u32>, ns: impl Fn(u32) -> u64) -> Vec<(u32, u64)> {
        rounds.map(|round| (round, ns(round))).collect()
    }

    #[test]
    fn a_common_drift_cancels() {
        // Both variants slow down tenfold over the run, and the second is always twice as fast as
        // the first.
        let first = times(0..101, |round| 2000 + 200 * u64::from(round));
        let second = times(0..101, |round| 1000 + 100 * u64::from(round));
        let ratio = Ratio::of(&first, &second).unwrap();
        assert_eq!((ratio.0.low, ratio.0.median, ratio.0.high), (2.0, 2.0, 2.0));
        assert_eq!(ratio.verdict(), Verdict::Faster);
        assert_eq!(Ratio::of(&second, &first).unwrap().verdict(), Verdict::Slower);
    }

    #[test]
    fn a_pair_is_the_mean_of_both_orders() {
        let times = [(0, 100), (1, 300), (3, 500), (4, 50), (6, 10), (7, 30)];
        // Round 3 lacks its partner 2, and round 4 lacks its partner 5.
        assert_eq!(there_and_back(&times), [(0, 200.0), (3, 20.0)]);
    }

    #[test]
    fn quartiles_of_a_ratio_are_those_of_the_pairs() {
        // A batch has five pairs, with the ratios 1, 2, 3, 4 and 5.
        let first = times(0..400, |round| 100 * (1 + u64::from(round / 2 % 5)));
        let ratio = Ratio::of(&first, &times(0..400, |_| 100)).unwrap().0;
        assert_eq!((ratio.low, ratio.median, ratio.high), (3.0, 3.0, 3.0));
        assert_eq!((ratio.count, ratio.q1, ratio.q3), (200, 2.0, 4.0));
    }

    #[test]
    fn a_verdict_needs_the_whole_interval_and_half_a_percent() {
        let verdict = |median, low, high| {
            Ratio(Summary { count: 40, median, q1: low, q3: high, low, high }).verdict()
        };
        for (median, low, high, is) in [
            (1.2, 1.1, 1.3, Verdict::Faster),
            (1.2, 1.0, 1.3, Verdict::NoDifference),
            (1.004, 1.003, 1.005, Verdict::NoDifference),
            (0.8, 0.7, 0.9, Verdict::Slower),
            (0.8, 0.7, 1.0, Verdict::NoDifference),
            (0.997, 0.996, 0.998, Verdict::NoDifference),
        ] {
            assert_eq!(verdict(median, low, high), is, "{median} [{low}, {high}]");
        }
        let words =
            [Verdict::Faster, Verdict::Slower, Verdict::NoDifference].map(|v| v.to_string());
        assert_eq!(words, ["faster", "slower", "no difference at this size"]);
    }

    #[test]
    fn ten_times_and_more_has_two_digits() {
        let shown = |median| {
            let (low, high) = (median, median);
            Ratio(Summary { count: 40, median, q1: low, q3: high, low, high }).to_string()
        };
        assert_eq!(shown(9.5), "9.500 [9.500, 9.500]");
        assert_eq!(shown(10.0), "10.00 [10.00, 10.00]");
    }

    #[test]
    fn only_rounds_with_both_count() {
        let first = times(0..10, |_| 100);
        let second = times(5..20, |round| 50 + u64::from(round));
        // The pairs are rounds 6 and 7, and rounds 8 and 9; round 5 has no partner.
        assert_eq!(Ratio::of(&first, &second).unwrap().0.count, 2);
        assert_eq!(Ratio::of(&first, &times(50..60, |_| 1)), None);
        assert_eq!(Ratio::of(&first, &[]), None);
    }

    #[test]
    fn a_bias_of_the_order_cancels_and_is_found() {
        // The first variant is a third slower after one neighbour than after the other; the second
        // variant is equally fast after both.
        let first = times(0..100, |round| if round % 2 == 0 { 900 } else { 1100 });
        let second = times(0..100, |_| 1000);
        let ratio = Ratio::of(&first, &second).unwrap();
        assert_eq!((ratio.0.low, ratio.0.median, ratio.0.high), (1.0, 1.0, 1.0));
        assert!((order_effect(&first).unwrap() - 2.0 / 9.0).abs() < 1e-9);
        assert_eq!(order_effect(&second), Some(0.0));
        // Five rounds in each order are too few; six are enough.
        assert_eq!([10, 11, 12].map(|few| order_effect(&second[..few])), [None, None, Some(0.0)]);
    }

    #[test]
    fn noise_and_small_ratios_are_no_difference() {
        let first = times(0..200, |round| 1000 + u64::from(round * 7919 % 101));
        let second = times(0..200, |round| 1000 + u64::from(round * 104_729 % 101));
        assert_eq!(Ratio::of(&first, &second).unwrap().verdict(), Verdict::NoDifference);
        let trifle = times(0..200, |round| 1002 + u64::from(round * 7919 % 101));
        let ratio = Ratio::of(&trifle, &first).unwrap();
        assert!(ratio.0.low > 1.0, "{ratio}");
        assert_eq!(ratio.verdict(), Verdict::NoDifference);
        // Four pairs of rounds are too few for a verdict, however large the ratio is.
        let few = Ratio::of(&times(0..8, |_| 900), &times(0..8, |_| 100)).unwrap();
        assert_eq!(few.verdict(), Verdict::NoDifference);
        assert!(few.to_string().contains("too few"));
    }

    #[test]
    fn a_ratio_of_quantized_times_is_resolved_below_the_tick() {
        // The times are 5400 and 5390 ns, in ticks of 32 ns with a random phase: the medians are
        // equal, but the means differ.
        let ticked = |time: u64, seed: u64| {
            times(0..2400, |round| {
                let start = (u64::from(round) * 7919 + seed) * 13 % 32;
                (start + time) / 32 * 32
            })
        };
        let ratio = Ratio::of(&ticked(5400, 1), &ticked(5390, 5)).unwrap();
        assert!((ratio.0.median - 5400.0 / 5390.0).abs() < 2e-4, "{ratio}");
        assert!(ratio.0.low > 1.0 && ratio.0.width() < 0.001, "{ratio}");
        assert_eq!(ratio.0.count, 1200);
    }
}
