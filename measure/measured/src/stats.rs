//! Medians and quartiles, with confidence intervals for medians.
//!
//! GPU times are skewed and have outliers, so intervals are based on ranks, without an assumption
//! about the distribution.
//!
//! Times are also quantized. Events have timestamps in ticks (32 ns on an H200), and a short kernel
//! takes an integer number of hardware steps (about 160 ns on that GPU). If a time is 5.4 µs, for
//! example, all samples are near 5.25, 5.41 or 5.57 µs. The median of such samples jumps between
//! these values, and its interval may have width zero although the time is known no more precisely
//! than the distance between the values. The remaining information is in the frequencies of the
//! values. If the phase is random, the probability that a time is rounded up to the next tick is
//! its excess over the tick below, in ticks. The *mean* of many samples is therefore accurate far
//! below the tick. For this reason, many samples are first divided into [`BATCHES`] batches of
//! neighbouring samples. Each batch is replaced by its mean, and the median and its interval are
//! computed from these means. An outlier spoils only one batch, and drift within a batch does not
//! widen the interval. The estimate lies between the median and the mean of all samples, and
//! approaches the mean as batches grow.

use std::ops::Range;

use numbers::{quantile, sorted};

/// The maximum number of batches. The ranks of 40 batches give a 96 % interval; if there were more
/// batches, each would have fewer samples.
pub const BATCHES: usize = 40;

/// Returns the batches as ranges of samples, whose lengths differ by at most one. If there are no
/// more samples than batches, each batch has one sample.
pub fn batches(count: usize) -> impl Iterator<Item = Range<usize>> {
    let batches = count.min(BATCHES);
    (0..batches).map(move |at| at * count / batches..(at + 1) * count / batches)
}

/// A median, with its quartiles and its 95 % confidence interval.
///
/// In a summary from [`batched`](Summary::batched), the median and the interval are those of the
/// batches' means, and the quartiles are those of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The number of values.
    pub count: usize,
    /// The median.
    pub median: f64,
    /// The first quartile.
    pub q1: f64,
    /// The third quartile.
    pub q3: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Summary {
    /// Returns the summary of values, which may be in any order; `None` if there are no values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Summary> {
        let values = sorted(values);
        if values.is_empty() {
            return None;
        }
        let (low, high) = match ranks(values.len()) {
            Some((low, high)) => (values[low], values[high]),
            // There are too few values, so the interval is unbounded.
            None => (0.0, f64::INFINITY),
        };
        Some(Summary {
            count: values.len(),
            median: quantile(&values, 0.5),
            q1: quantile(&values, 0.25),
            q3: quantile(&values, 0.75),
            low,
            high,
        })
    }

    /// Divides values, in the order in which they were taken, into batches, and returns their
    /// summary; `None` if there are no values.
    pub fn batched(values: &[f64]) -> Option<Summary> {
        let mean = |batch: Range<usize>| {
            let count = batch.len() as f64;
            values[batch].iter().sum::<f64>() / count
        };
        let all = sorted(values.iter().copied());
        let of_batches = Summary::of(batches(values.len()).map(mean))?;
        Some(of_batches.spread(&all))
    }

    /// Replaces the count and the quartiles with those of these sorted values.
    pub(crate) fn spread(self, sorted: &[f64]) -> Summary {
        let (q1, q3) = (quantile(sorted, 0.25), quantile(sorted, 0.75));
        Summary { count: sorted.len(), q1, q3, ..self }
    }

    /// Returns the width of the interval, relative to the median.
    pub fn width(&self) -> f64 {
        (self.high - self.low) / self.median
    }
}

/// Returns the indices, in sorted order, between which the true median lies with a probability of
/// at least 95 %.
///
/// The number of values below the true median has a binomial distribution with p = 1/2, whatever
/// the distribution of the values is. If there are fewer than six values, no such pair of indices
/// exists.
fn ranks(count: usize) -> Option<(usize, usize)> {
    const TAIL: f64 = 0.025;
    let low = if count <= 1000 {
        // The exact method sums the tail of the binomial distribution. A double can represent
        // 2⁻¹⁰⁰⁰.
        let mut term = 0.5f64.powi(count as i32);
        let mut tail = 0.0;
        let mut low = None;
        for k in 0..count / 2 {
            tail += term;
            if tail > TAIL {
                break;
            }
            low = Some(k);
            term *= (count - k) as f64 / (k + 1) as f64;
        }
        low?
    } else {
        // The normal approximation is rounded outwards. For this many values, the approximation is
        // off by less than one rank.
        let spread = 1.959_964 * (count as f64).sqrt() / 2.0;
        (count as f64 / 2.0 - spread).floor() as usize - 1
    };
    Some((low, count - 1 - low))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

    use super::*;

    #[test]
    fn no_values_have_no_summary() {
        assert_eq!(Summary::of([]), None);
        assert_eq!(Summary::batched(&[]), None);
    }

    #[test]
    fn ranks_are_those_of_the_binomial_tables() {
        // The expected ranks are in any table for the sign test: for 6 values they are the
        // extremes, for 20 the 6th and 15th, and for 100 the 40th and 61st.
        for (count, low, high) in [(6, 1, 6), (10, 2, 9), (20, 6, 15), (50, 18, 33), (100, 40, 61)]
        {
            assert_eq!(ranks(count), Some((low - 1, high - 1)), "{count}");
        }
        assert_eq!(ranks(5), None);
        // Above a thousand values, the ranks still equal those from the exact tail, computed with
        // big integers.
        assert_eq!([1500, 2000].map(ranks), [Some((711, 788)), Some((955, 1044))]);
        // The exact and the approximate ranks agree where the two methods meet.
        let (low, high) = ranks(1000).unwrap();
        let (low_, high_) = ranks(1001).unwrap();
        assert!(low.abs_diff(low_) <= 1 && high.abs_diff(high_) <= 2);
    }

    #[test]
    fn the_width_is_relative_to_the_median() {
        let summary = Summary { median: 10.0, low: 9.0, high: 12.0, ..Summary::of([1.0]).unwrap() };
        assert_eq!(summary.width(), 0.3);
    }

    /// Returns the fraction of experiments whose interval contains the true median.
    fn coverage(count: usize, median: f64, draw: impl Fn(&mut ChaCha8Rng) -> f64) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let held = (0..2000).filter(|_| {
            let summary = Summary::of((0..count).map(|_| draw(&mut rng))).unwrap();
            summary.low <= median && median <= summary.high
        });
        held.count() as f64 / 2000.0
    }

    #[test]
    fn intervals_contain_the_median_of_known_distributions() {
        contain_the_median(&[11, 41, 151]);
    }

    #[test]
    #[ignore = "a sweep: cargo x ci --sweeps"]
    fn intervals_of_long_runs_contain_the_median_of_known_distributions() {
        contain_the_median(&[1501]);
    }

    fn contain_the_median(counts: &[usize]) {
        // The exponential distribution has the median ln 2, the uniform distribution one half, and
        // the Cauchy distribution, which has no mean, 0.
        for &count in counts {
            let exponential = coverage(count, 2f64.ln(), |rng| -(1.0 - rng.random::<f64>()).ln());
            let uniform = coverage(count, 0.5, |rng| rng.random::<f64>());
            let cauchy = coverage(count, 0.0, |rng| {
                (std::f64::consts::PI * (rng.random::<f64>() - 0.5)).tan()
            });
            for share in [exponential, uniform, cauchy] {
                // The coverage is 95 %, or slightly more where ranks are coarse, within the noise
                // of 2000 trials.
                assert!((0.935..=0.995).contains(&share), "{count}: {share}");
            }
        }
    }

    #[test]
    fn batches_contain_every_sample_once() {
        for count in [0, 1, 7, 40, 41, 79, 400, 1201] {
            let ranges: Vec<Range<usize>> = batches(count).collect();
            assert_eq!(ranges.len(), count.min(BATCHES));
            assert_eq!(
                ranges.iter().cloned().flatten().collect::<Vec<_>>(),
                Vec::from_iter(0..count)
            );
            let (least, most) =
                ranges.iter().fold((count, 0), |(a, b), r| (a.min(r.len()), b.max(r.len())));
            assert!(count == 0 || most - least <= 1 && least >= 1, "{count}: {least}, {most}");
        }
        // With few samples, each batch has one sample.
        let few = [3.0, 1.0, 2.0, 9.0, 5.0, 4.0, 7.0];
        assert_eq!(Summary::batched(&few), Summary::of(few));
        assert_eq!(Summary::batched(&[]), None);
    }

    #[test]
    fn quartiles_of_batches_are_those_of_all_samples() {
        // Each of the 40 batches has the samples 0, 100, 200, 300 and 400, so every mean is 200,
        // although the samples scatter.
        let values: Vec<f64> = (0..200).map(|at| f64::from(at % 5) * 100.0).collect();
        let summary = Summary::batched(&values).unwrap();
        assert_eq!((summary.low, summary.median, summary.high), (200.0, 200.0, 200.0));
        assert_eq!((summary.count, summary.q1, summary.q3), (200, 100.0, 300.0));
    }

    /// Returns a time computed from two timestamps, which are in ticks with a random phase.
    fn ticked(rng: &mut ChaCha8Rng, time: f64, tick: f64) -> f64 {
        let start = tick * rng.random::<f64>();
        (((start + time) / tick).floor() - (start / tick).floor()) * tick
    }

    /// Returns the fraction of 500 experiments whose interval contains the true value, and the mean
    /// width of the intervals.
    fn held(
        count: usize,
        truth: f64,
        summary: impl Fn(&[f64]) -> Option<Summary>,
        draw: impl Fn(&mut ChaCha8Rng) -> f64,
    ) -> (f64, f64) {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let (mut held, mut width) = (0, 0.0);
        for _ in 0..500 {
            let values: Vec<f64> = (0..count).map(|_| draw(&mut rng)).collect();
            let summary = summary(&values).unwrap();
            held += i32::from(summary.low <= truth && truth <= summary.high);
            width += summary.high - summary.low;
        }
        (f64::from(held) / 500.0, width / 500.0)
    }

    #[test]
    fn batches_resolve_below_the_tick_where_a_median_does_not() {
        // The time is 5403.7 ns with a jitter of ±8 ns, and the ticks are 32 ns.
        let draw = |rng: &mut ChaCha8Rng| {
            let time = 5403.7 + 16.0 * (rng.random::<f64>() - 0.5);
            ticked(rng, time, 32.0)
        };
        let (share, width) = held(800, 5403.7, Summary::batched, draw);
        assert!(share >= 0.93 && width < 6.0, "{share}, {width}");
        // The median is a tick, and its interval has width zero: 5408 ± 0.
        let plain = |values: &[f64]| Summary::of(values.iter().copied());
        let (share, width) = held(800, 5403.7, plain, draw);
        assert!(share < 0.05 && width < 1.0, "{share}, {width}");
    }

    #[test]
    fn batches_resolve_below_quantization() {
        // A kernel ends 0, 1 or 2 steps of 160 ns late, in 30, 42 and 28 % of the cases, so the
        // mean time is 5246 + 0.98 · 160 ns.
        let truth = 5246.0 + 0.98 * 160.0;
        let draw = |rng: &mut ChaCha8Rng| {
            let late = match rng.random::<f64>() {
                share if share < 0.3 => 0.0,
                share if share < 0.72 => 160.0,
                _ => 320.0,
            };
            ticked(rng, 5246.0 + late, 32.0)
        };
        let (share, width) = held(800, truth, Summary::batched, draw);
        assert!(share >= 0.93 && width < 40.0, "{share}, {width}");
        // If fewer than half of the samples have the middle value, the interval of a median may be
        // a step wide; if more samples have it, the width is zero.
        let plain = |values: &[f64]| Summary::of(values.iter().copied());
        let (share, _) = held(800, truth, plain, draw);
        assert!(share < 0.5, "{share}");
    }

    #[test]
    fn an_outlier_spoils_a_batch_but_not_the_summary() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut values: Vec<f64> = (0..800).map(|_| 5000.0 + 100.0 * rng.random::<f64>()).collect();
        let calm = Summary::batched(&values).unwrap();
        // Five of 800 samples take twenty times as long, each in a different batch, so the mean is
        // off by 12 %.
        for at in [3, 170, 333, 512, 777] {
            values[at] = 1e5;
        }
        let rough = Summary::batched(&values).unwrap();
        assert!((rough.median / calm.median - 1.0).abs() < 0.002, "{rough:?}");
        assert!(rough.high / calm.high < 1.002 && rough.q3 < 5100.0, "{rough:?}");
    }

    #[test]
    fn batches_of_known_distributions_contain_their_own_median() {
        // The sum of k exponentials has the median k − 1/3 + 8/405k (Ramanujan), so the estimate
        // lies between the exponential's own median, ln 2, and its mean, 1.
        let k = 20.0;
        let truth = (k - 1.0 / 3.0 + 8.0 / (405.0 * k)) / k;
        let exponential = |rng: &mut ChaCha8Rng| -(1.0 - rng.random::<f64>()).ln();
        let (share, _) = held(800, truth, Summary::batched, exponential);
        assert!(share >= 0.93, "{share}");
        let (share, _) = held(800, 0.5, Summary::batched, |rng| rng.random::<f64>());
        assert!(share >= 0.93, "{share}");
    }

    #[test]
    fn intervals_narrow_with_the_root_of_the_count() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut width = |count: usize| {
            let values = (0..count).map(|_| 1.0 + 0.1 * rng.random::<f64>());
            Summary::of(values.collect::<Vec<_>>()).unwrap().width()
        };
        let factor = width(400) / width(6400);
        assert!((2.5..6.5).contains(&factor), "{factor}");
    }
}
