//! Medians, quartiles, and how sure a median is.
//!
//! Times of a GPU are skewed and have outliers, so intervals rest on ranks: no assumption on the
//! distribution.
//!
//! They also come in lumps. Events are stamped in ticks (32 ns on an H200), and a short kernel ends
//! a whole number of steps of its machinery after it began (about 160 ns there): all samples of a
//! time of 5.4 µs are near 5.25, 5.41 or 5.57. The median of such samples jumps from lump to lump,
//! and its interval may be one value wide where nothing is known better than the distance of two.
//! The lumps' shares carry the rest: a tick that begins at a random moment is passed as often as
//! the time is longer than the ticks before it, so that the *mean* of many samples is right far
//! below the tick. So many samples are first cut into [`BATCHES`] of neighbours, each batch gives
//! its mean, and the median and its interval are those of the batches' means. A hiccup spoils one
//! batch, and a drift that lasts for less than a batch is in its mean, not between the ranks.
//! What is estimated lies between the median of all samples and their mean, and comes nearer to the
//! mean the more samples a batch has.

use std::ops::Range;

use numbers::{quantile, sorted};

/// The most batches. Their ranks give an interval of 96 %; more would leave fewer samples in each.
pub const BATCHES: usize = 40;

/// The batches of that many samples, as ranges of equal length or one more; each of one sample
/// where there are no more samples than batches.
pub fn batches(count: usize) -> impl Iterator<Item = Range<usize>> {
    let batches = count.min(BATCHES);
    (0..batches).map(move |at| at * count / batches..(at + 1) * count / batches)
}

/// A median with its quartiles and the interval that holds the true median 95 times in 100.
///
/// From [`batched`](Summary::batched), median and interval are those of the batches' means, and
/// the quartiles those of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many values.
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
    /// Of values in any order; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Summary> {
        let values = sorted(values);
        if values.is_empty() {
            return None;
        }
        let (low, high) = match ranks(values.len()) {
            Some((low, high)) => (values[low], values[high]),
            // Too few to say anything: the interval holds everything.
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

    /// Of values in the order in which they were taken, in batches; `None` if there are none.
    pub fn batched(values: &[f64]) -> Option<Summary> {
        let mean = |batch: Range<usize>| {
            let count = batch.len() as f64;
            values[batch].iter().sum::<f64>() / count
        };
        let all = sorted(values.iter().copied());
        let of_batches = Summary::of(batches(values.len()).map(mean))?;
        Some(of_batches.spread(&all))
    }

    /// With the count and the quartiles of these sorted values.
    pub(crate) fn spread(self, sorted: &[f64]) -> Summary {
        let (q1, q3) = (quantile(sorted, 0.25), quantile(sorted, 0.75));
        Summary { count: sorted.len(), q1, q3, ..self }
    }

    /// The width of the interval, relative to the median.
    pub fn width(&self) -> f64 {
        (self.high - self.low) / self.median
    }
}

/// The indices, in sorted order, between which the true median lies with at least 95 %.
///
/// How many of `count` values are below the true median is binomial with one half, whatever the
/// distribution. Below six values no such pair exists.
fn ranks(count: usize) -> Option<(usize, usize)> {
    const TAIL: f64 = 0.025;
    let low = if count <= 1000 {
        // Exact: add up the binomial's tail. 2⁻¹⁰⁰⁰ is still a double.
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
        // The normal approximation, rounded outwards; off by less than one rank from here on.
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
    fn of_nothing_there_is_no_summary() {
        assert_eq!(Summary::of([]), None);
        assert_eq!(Summary::batched(&[]), None);
    }

    #[test]
    fn ranks_are_those_of_the_binomial_tables() {
        // Any table of the sign test: 6 values take the extremes, 20 the 6th and 15th, 100 the
        // 40th and 61st.
        for (count, low, high) in [(6, 1, 6), (10, 2, 9), (20, 6, 15), (50, 18, 33), (100, 40, 61)]
        {
            assert_eq!(ranks(count), Some((low - 1, high - 1)), "{count}");
        }
        assert_eq!(ranks(5), None);
        // Of more than a thousand the ranks are the exact tail's too, added up by big integers.
        assert_eq!([1500, 2000].map(ranks), [Some((711, 788)), Some((955, 1044))]);
        // Exact and approximate meet.
        let (low, high) = ranks(1000).unwrap();
        let (low_, high_) = ranks(1001).unwrap();
        assert!(low.abs_diff(low_) <= 1 && high.abs_diff(high_) <= 2);
    }

    #[test]
    fn the_width_is_a_share_of_the_median() {
        let summary = Summary { median: 10.0, low: 9.0, high: 12.0, ..Summary::of([1.0]).unwrap() };
        assert_eq!(summary.width(), 0.3);
    }

    /// The share of experiments whose interval holds the true median.
    fn coverage(count: usize, median: f64, draw: impl Fn(&mut ChaCha8Rng) -> f64) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let held = (0..2000).filter(|_| {
            let summary = Summary::of((0..count).map(|_| draw(&mut rng))).unwrap();
            summary.low <= median && median <= summary.high
        });
        held.count() as f64 / 2000.0
    }

    #[test]
    fn intervals_hold_the_median_of_known_distributions() {
        // Exponential: median ln 2. Uniform: one half. Cauchy: 0, and it has no mean at all.
        for count in [11, 41, 151, 1501] {
            let exponential = coverage(count, 2f64.ln(), |rng| -(1.0 - rng.random::<f64>()).ln());
            let uniform = coverage(count, 0.5, |rng| rng.random::<f64>());
            let cauchy = coverage(count, 0.0, |rng| {
                (std::f64::consts::PI * (rng.random::<f64>() - 0.5)).tan()
            });
            for share in [exponential, uniform, cauchy] {
                // 95 %, a little more where ranks are coarse, within the noise of 2000 trials.
                assert!((0.935..=0.995).contains(&share), "{count}: {share}");
            }
        }
    }

    #[test]
    fn batches_hold_every_sample_once() {
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
        // Few are as they were: no batch has more than one.
        let few = [3.0, 1.0, 2.0, 9.0, 5.0, 4.0, 7.0];
        assert_eq!(Summary::batched(&few), Summary::of(few));
        assert_eq!(Summary::batched(&[]), None);
    }

    #[test]
    fn quartiles_of_batches_are_those_of_all_samples() {
        // 40 batches of 0, 100, 200, 300, 400: every mean is 200, and the samples scatter.
        let values: Vec<f64> = (0..200).map(|at| f64::from(at % 5) * 100.0).collect();
        let summary = Summary::batched(&values).unwrap();
        assert_eq!((summary.low, summary.median, summary.high), (200.0, 200.0, 200.0));
        assert_eq!((summary.count, summary.q1, summary.q3), (200, 100.0, 300.0));
    }

    /// A time as two stamps give it: ticks that begin at a random moment.
    fn ticked(rng: &mut ChaCha8Rng, time: f64, tick: f64) -> f64 {
        let start = tick * rng.random::<f64>();
        (((start + time) / tick).floor() - (start / tick).floor()) * tick
    }

    /// Of 500 experiments: the share whose interval holds the truth, and the mean width.
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
    fn batches_see_below_the_tick_where_a_median_does_not() {
        // 5403.7 ns, jitter of ±8 ns, ticks of 32 ns.
        let draw = |rng: &mut ChaCha8Rng| {
            let time = 5403.7 + 16.0 * (rng.random::<f64>() - 0.5);
            ticked(rng, time, 32.0)
        };
        let (share, width) = held(800, 5403.7, Summary::batched, draw);
        assert!(share >= 0.93 && width < 6.0, "{share}, {width}");
        // The median is a tick, and sure of it: 5408 ± 0.
        let plain = |values: &[f64]| Summary::of(values.iter().copied());
        let (share, width) = held(800, 5403.7, plain, draw);
        assert!(share < 0.05 && width < 1.0, "{share}, {width}");
    }

    #[test]
    fn batches_see_below_lumps() {
        // A kernel ends 0, 1 or 2 steps of 160 ns late, at 30, 42 and 28 %: 5246 + 0.98 · 160.
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
        // Where the middle lump has less than half of the samples, a median's interval may be
        // a lump wide, and where it has more, nothing.
        let plain = |values: &[f64]| Summary::of(values.iter().copied());
        let (share, _) = held(800, truth, plain, draw);
        assert!(share < 0.5, "{share}");
    }

    #[test]
    fn a_batch_is_spoiled_by_a_hiccup_and_the_summary_is_not() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut values: Vec<f64> = (0..800).map(|_| 5000.0 + 100.0 * rng.random::<f64>()).collect();
        let calm = Summary::batched(&values).unwrap();
        // Five in 800 take twenty times as long, each in another batch: the mean is off by 12 %.
        for at in [3, 170, 333, 512, 777] {
            values[at] = 1e5;
        }
        let rough = Summary::batched(&values).unwrap();
        assert!((rough.median / calm.median - 1.0).abs() < 0.002, "{rough:?}");
        assert!(rough.high / calm.high < 1.002 && rough.q3 < 5100.0, "{rough:?}");
    }

    #[test]
    fn batches_of_known_distributions_hold_their_own_median() {
        // The sum of k exponentials has the median k − 1/3 + 8/405k (Ramanujan): between the
        // exponential's own, ln 2, and its mean, 1.
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
