//! Rounds: every competitor runs once per round, until the ratios between them have converged.

use std::time::{Duration, Instant};

use common::Result;
use measured::pair::Ratio;

/// The conditions under which rounds end.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    /// The target width of the intervals, relative to the ratio, at which rounds end.
    pub target: f64,
    /// The minimum number of rounds.
    pub least: u32,
    /// The maximum number of rounds.
    pub most: u32,
    /// The deadline.
    pub deadline: Instant,
}

/// The result of the rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    /// The times of each competitor, as pairs of a round number and a time in nanoseconds.
    pub times: Vec<Vec<(u32, u64)>>,
    /// The number of rounds that were kept.
    pub kept: u32,
    /// The number of rounds that were discarded because the clock rate was low.
    pub rejected: u32,
    /// The width of the widest interval of any pair, relative to the pair's ratio.
    pub widest: f64,
    /// The pair with the widest interval.
    pub pair: (usize, usize),
    /// Whether the widest interval reached the target.
    pub converged: bool,
}

/// The clock rate that a round must reach to be kept.
#[allow(missing_debug_implementations, reason = "it holds a closure")]
pub struct Held<'c> {
    /// Reads the clock rate in MHz; `None` if it cannot be read, in which case no round is
    /// discarded.
    pub read: &'c dyn Fn() -> Option<u32>,
    /// The required rate in MHz, which is initially the rate at the start. If the GPU does not
    /// return to this rate, the required rate is lowered.
    pub mhz: u32,
}

/// The minimum time between readings, because a reading keeps the driver busy.
const BETWEEN_READINGS: Duration = Duration::from_millis(2);

/// The number of consecutive low readings after which the current rate becomes the required rate.
const PATIENCE: u32 = 50;

/// The number of rounds between two checks of the intervals.
const LOOK: u32 = 10;

/// Runs rounds; `sample` returns the time of one competitor, in nanoseconds.
///
/// Rounds come in pairs. The second round of a pair runs in reverse order, so that no competitor
/// always follows the same other competitor.
pub fn run(
    competitors: usize,
    pairs: &[(usize, usize)],
    until: &Until,
    clock: &mut Held<'_>,
    mut sample: impl FnMut(usize) -> Result<u64>,
) -> Result<Rounds> {
    let mut rounds = Rounds { times: vec![Vec::new(); competitors], ..Rounds::default() };
    let mut round = 0;
    let mut low = 0;
    let mut looked = 0;
    rounds.widest = f64::INFINITY;
    loop {
        // The rounds between two readings of the clock are kept or discarded together.
        let started = Instant::now();
        let first = round;
        let mut block = vec![Vec::new(); competitors];
        loop {
            for (at, times) in block.iter_mut().enumerate() {
                times.push((round, sample(at)?));
            }
            for (at, times) in block.iter_mut().enumerate().rev() {
                times.push((round + 1, sample(at)?));
            }
            round += 2;
            let many = round - first;
            let enough = many >= LOOK || rounds.kept + many >= until.most;
            if enough || started.elapsed() >= BETWEEN_READINGS {
                break;
            }
        }
        match (clock.read)() {
            Some(mhz) if mhz < clock.mhz => {
                rounds.rejected += round - first;
                low += 1;
                if low == PATIENCE {
                    (clock.mhz, low) = (mhz, 0);
                }
            }
            _ => {
                low = 0;
                rounds.kept += round - first;
                for (times, block) in rounds.times.iter_mut().zip(block) {
                    times.extend(block);
                }
            }
        }
        let over = rounds.kept >= until.most
            || Instant::now() >= until.deadline
            || rounds.rejected > 10 * until.most;
        if over || rounds.kept >= looked + LOOK {
            looked = rounds.kept;
            rounds.look(pairs);
            rounds.converged = rounds.widest <= until.target;
            if over || (rounds.converged && rounds.kept >= until.least) {
                return Ok(rounds);
            }
        }
    }
}

impl Rounds {
    /// Finds the pair with the widest interval.
    fn look(&mut self, pairs: &[(usize, usize)]) {
        let width = |&(first, second): &(usize, usize)| {
            let ratio = Ratio::of(&self.times[first], &self.times[second]);
            (ratio.map_or(f64::INFINITY, |ratio| ratio.0.width()), (first, second))
        };
        let widest = pairs.iter().map(width).max_by(|a, b| a.0.total_cmp(&b.0));
        (self.widest, self.pair) = widest.unwrap_or((0.0, (0, 0)));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn limits(most: u32) -> Until {
        Until { target: 0.005, least: 20, most, deadline: Instant::now() + Duration::from_secs(20) }
    }

    fn no_clock() -> Option<u32> {
        None
    }

    /// Returns noise between -1 and 1, which is the same in every run.
    fn noise(seed: &Cell<u64>) -> f64 {
        seed.set(seed.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        (seed.get() >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    }

    #[test]
    fn the_order_is_reversed_in_every_other_round() {
        let mut order = Vec::new();
        let mut clock = Held { read: &no_clock, mhz: 0 };
        let rounds = run(3, &[], &limits(4), &mut clock, |at| {
            order.push(at);
            Ok(100)
        })
        .unwrap();
        assert_eq!(order, [0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0]);
        assert_eq!((rounds.kept, rounds.rejected), (4, 0));
        assert_eq!(rounds.times[1], [(0, 100), (1, 100), (2, 100), (3, 100)]);
    }

    #[test]
    fn rounds_stop_when_the_ratio_has_converged() {
        let seed = Cell::new(1);
        let mut clock = Held { read: &no_clock, mhz: 0 };
        let calm = run(2, &[(0, 1)], &limits(5000), &mut clock, |at| {
            Ok((1e6 * (1.0 + at as f64) * (1.0 + 0.01 * noise(&seed))) as u64)
        })
        .unwrap();
        assert!(calm.converged && calm.kept < 1000, "{} {}", calm.kept, calm.widest);
        let ratio = Ratio::of(&calm.times[0], &calm.times[1]).unwrap();
        assert!((ratio.0.median - 0.5).abs() < 0.0025, "{ratio}");
        // With ten times the noise, the rounds report that they have not converged.
        let wild = run(2, &[(0, 1)], &limits(200), &mut clock, |_| {
            Ok((1e6 * (1.0 + 0.3 * noise(&seed))) as u64)
        })
        .unwrap();
        assert!(!wild.converged && wild.kept == 200 && wild.widest > 0.005, "{}", wild.widest);
        assert_eq!(wild.pair, (0, 1));
    }

    #[test]
    fn rounds_at_a_low_clock_are_discarded_and_counted() {
        let reading = Cell::new(0u32);
        let clock = || {
            reading.set(reading.get() + 1);
            // Every third reading is below the required rate.
            Some(if reading.get().is_multiple_of(3) { 1500 } else { 1980 })
        };
        let mut held = Held { read: &clock, mhz: 1980 };
        let rounds = run(2, &[(0, 1)], &limits(30), &mut held, |_| {
            std::thread::sleep(Duration::from_micros(1100));
            Ok(1000)
        })
        .unwrap();
        assert!(rounds.converged && rounds.kept >= 20 && rounds.rejected >= 8, "{rounds:?}");
        assert_eq!(held.mhz, 1980);
        assert_eq!(rounds.times[0].len() as u32, rounds.kept);
    }

    #[test]
    fn a_gpu_that_stays_slow_is_measured_as_it_is() {
        let clock = || Some(1200);
        let mut held = Held { read: &clock, mhz: 1980 };
        let rounds = run(1, &[], &limits(20), &mut held, |_| {
            std::thread::sleep(Duration::from_micros(1100));
            Ok(1000)
        })
        .unwrap();
        assert_eq!((rounds.kept, rounds.rejected, held.mhz), (20, 2 * PATIENCE, 1200));
    }

    #[test]
    fn a_clock_that_stays_low_ends_it_with_nothing_kept() {
        let clock = || Some(1200);
        let mut held = Held { read: &clock, mhz: 1980 };
        let rounds = run(1, &[], &limits(2), &mut held, |_| Ok(1000)).unwrap();
        // Two rounds were discarded for each reading, until more than ten times the maximum number
        // of rounds were discarded.
        assert_eq!((rounds.kept, rounds.rejected, held.mhz), (0, 22, 1980));
    }

    #[test]
    fn the_deadline_is_met() {
        let mut clock = Held { read: &no_clock, mhz: 0 };
        let limits = Until { deadline: Instant::now(), ..limits(1000) };
        let rounds = run(2, &[(0, 1)], &limits, &mut clock, |_| Ok(1000)).unwrap();
        assert!(rounds.kept >= 1 && rounds.kept <= LOOK);
        let failed = run(1, &[], &limits, &mut clock, |_| Err(common::Error::NoGpu));
        assert!(failed.is_err());
    }
}
