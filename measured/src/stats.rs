//! Medians, quartiles, and how sure a median is.
//!
//! Times of a GPU are skewed, have outliers and come in ticks, so everything here rests on ranks:
//! no mean, no assumption on the distribution.

/// A quantile of sorted values: between two of them, in proportion (Hyndman and Fan's type 7).
/// NaN if there are none.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = q.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// The values in order.
pub fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

/// A median with its quartiles and the interval that holds the true median 95 times in 100.
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
    fn quantiles_are_between_values() {
        let values = sorted([5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|q| quantile(&values, q)), [1., 2., 3., 4., 5.]);
        assert_eq!(quantile(&[1.0, 2.0], 0.5), 1.5);
        assert!(quantile(&[], 0.5).is_nan());
        assert_eq!(Summary::of([]), None);
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
        // Exact and approximate meet.
        let (low, high) = ranks(1000).unwrap();
        let (low_, high_) = ranks(1001).unwrap();
        assert!(low.abs_diff(low_) <= 1 && high.abs_diff(high_) <= 2);
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
