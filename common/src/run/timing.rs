//! Measured times, with all samples and their statistics.

/// The times of one sum, with one time for each sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The times of the samples in seconds, in the order of measurement.
    pub samples: Vec<f64>,
    /// Whether the input was outside L2 when each sample began.
    pub cold: bool,
    /// Whether all launches in a sample were queued before the first of them began.
    pub gated: bool,
}

/// The number of initial samples that are discarded, because the instruction caches are cold in the
/// first launches.
pub(super) const WARM_UP: usize = 3;

impl Timing {
    /// Returns the median, in seconds.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Returns the quartiles, in seconds.
    pub fn quartiles(&self) -> (f64, f64) {
        (self.quantile(0.25), self.quantile(0.75))
    }

    /// Returns a quantile, in seconds.
    pub fn quantile(&self, q: f64) -> f64 {
        numbers::quantile(&numbers::sorted(self.samples.iter().copied()), q)
    }

    /// Returns the bandwidth in bytes per second: `bytes`, which are read once, divided by the
    /// median time.
    pub fn bandwidth(&self, bytes: u64) -> f64 {
        bytes as f64 / self.median()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(samples: &[f64]) -> Timing {
        Timing { samples: samples.to_vec(), cold: true, gated: true }
    }

    #[test]
    fn median_and_quartiles() {
        let t = timing(&[5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!(t.median(), 3.0);
        assert_eq!(t.quartiles(), (2.0, 4.0));
        assert_eq!(timing(&[1.0, 2.0]).median(), 1.5);
        assert_eq!(timing(&[7.0]).quartiles(), (7.0, 7.0));
        assert!(timing(&[]).median().is_nan());
    }

    #[test]
    fn bandwidth_times_time_is_bytes() {
        let t = timing(&[2e-6]);
        assert_eq!(t.bandwidth(4_000_000), 2e12);
    }
}
