//! Predicts times on more than two GPUs, with a *model* that is fitted to measurements on two GPUs.
//!
//! T(p) = E[max of p local times] + α. For NCCL, the model adds the difference between the times
//! that NCCL's own model predicts for p GPUs and for two GPUs. The expectation is over the measured
//! samples, so it includes the variation between GPUs. α is the median, over the lengths that are
//! powers of two, of the time of a sum on two GPUs minus this expectation. The other lengths are
//! held out to test the model.

use std::collections::BTreeMap;

/// NCCL's model of a small all-gather (ring) and a small integer all-reduce (tree), with eight GPUs
/// per host: the number of GPUs, and the two times in microseconds. The times are computed from the
/// constants in NCCL's `tuning.cc`.
const NCCL: [(u32, f64, f64); 5] =
    [(2, 7.2, 8.0), (4, 8.4, 10.4), (8, 10.8, 15.2), (64, 82.0, 45.0), (1024, 1246.0, 85.0)];

/// The competitors in which the GPUs wait for each other.
const EXCHANGING: [&str; 5] = ["kernel", "told", "gather", "reduce", "totals"];

/// A GPU-gated run: its round, and the time on each GPU.
#[derive(Clone, Debug)]
struct Run {
    round: u32,
    gpus: Vec<f64>,
}

/// The samples of `many measure`, by competitor and length.
#[derive(Clone, Debug, Default)]
pub struct Times {
    gated: BTreeMap<(String, u64), Vec<Run>>,
    caller: BTreeMap<(String, u64), Vec<f64>>,
}

/// The median and the quartiles of a difference within each round, over all rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// The lower quartile.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub high: f64,
}

/// A prediction of the model, and the corresponding measured time.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// `kernel`, `gather` or `reduce`.
    pub competitor: &'static str,
    /// The total number of elements.
    pub n: u64,
    /// The predicted time in microseconds.
    pub model: f64,
    /// The median of the measured times in microseconds.
    pub measured: f64,
}

impl Times {
    /// Reads the CSV file of `many measure`.
    pub fn read(csv: &str) -> Result<Times, String> {
        let mut times = Times::default();
        for (number, line) in (2..).zip(csv.lines().skip(1)) {
            let wrong = || {
                format!(
                    "line {number} is {line:?}, but must have the form n,competitor,clock,round,gpu,us"
                )
            };
            let cells: Vec<&str> = line.split(',').collect();
            let [n, competitor, clock, round, gpu, micros] = cells[..] else {
                return Err(wrong());
            };
            let (n, gpu) =
                (n.parse().map_err(|_| wrong())?, gpu.parse::<usize>().map_err(|_| wrong())?);
            let round = round.parse().map_err(|_| wrong())?;
            let micros: f64 = micros.parse().map_err(|_| wrong())?;
            let key = (competitor.to_owned(), n);
            match (clock, gpu) {
                ("gated", 0) => {
                    times.gated.entry(key).or_default().push(Run { round, gpus: vec![micros] });
                }
                ("gated", _) => {
                    let run = times.gated.get_mut(&key).and_then(|runs| runs.last_mut());
                    run.ok_or_else(wrong)?.gpus.push(micros);
                }
                ("caller", _) => times.caller.entry(key).or_default().push(micros),
                _ => {}
            }
        }
        Ok(times)
    }

    /// Returns the lengths of a competitor's GPU-gated runs.
    pub fn lengths(&self, competitor: &str) -> Vec<u64> {
        self.gated.keys().filter(|(name, _)| name == competitor).map(|(_, n)| *n).collect()
    }

    /// Returns the median wall time of a call, in microseconds.
    pub fn caller(&self, competitor: &str, n: u64) -> Option<f64> {
        median(self.caller.get(&(competitor.to_owned(), n))?.clone())
    }

    /// Returns the lengths at which the wall times of a competitor were measured.
    pub fn called(&self, competitor: &str) -> Vec<u64> {
        self.caller.keys().filter(|(name, _)| name == competitor).map(|(_, n)| *n).collect()
    }

    /// Returns the median time of a run, in microseconds. If each GPU has its own work, a run's
    /// time is the slower GPU's time. If the GPUs exchange data, they finish together, and a GPU
    /// that started early has waited for the others, so a run's time is the mean over the GPUs.
    pub fn median(&self, competitor: &str, n: u64) -> Option<f64> {
        median(self.runs(competitor, n)?.map(|(_, micros)| micros).collect())
    }

    /// Returns the round and time of every run.
    fn runs(&self, competitor: &str, n: u64) -> Option<impl Iterator<Item = (u32, f64)>> {
        let exchanging = EXCHANGING.contains(&competitor);
        let of = move |run: &Run| match exchanging {
            true => run.gpus.iter().sum::<f64>() / run.gpus.len() as f64,
            false => run.gpus.iter().copied().fold(0.0, f64::max),
        };
        let runs = self.gated.get(&(competitor.to_owned(), n))?;
        Some(runs.iter().map(move |run| (run.round, of(run))))
    }

    /// Returns the difference between the times of two competitors within each round. Uses the mean
    /// of the runs in both orders, so that linear drift within a round cancels.
    pub fn above(&self, competitor: &str, base: &str, n: u64) -> Option<Paired> {
        let mut sums: BTreeMap<u32, [(f64, f64); 2]> = BTreeMap::new();
        for (side, name) in [competitor, base].into_iter().enumerate() {
            for (round, micros) in self.runs(name, n)? {
                let (sum, count) = &mut sums.entry(round).or_default()[side];
                (*sum, *count) = (*sum + micros, *count + 1.0);
            }
        }
        let both = sums.values().filter(|[ours, theirs]| ours.1 > 0.0 && theirs.1 > 0.0);
        let mut all: Vec<f64> =
            both.map(|[ours, theirs]| ours.0 / ours.1 - theirs.0 / theirs.1).collect();
        all.sort_by(f64::total_cmp);
        let quarter = all.len() / 4;
        let (low, high) = (*all.get(quarter)?, *all.get(all.len() - 1 - quarter)?);
        Some(Paired { low, median: median(all)?, high })
    }

    /// Returns the median, over all lengths, of the difference between the times of two
    /// competitors.
    pub fn above_at_all(&self, competitor: &str, base: &str) -> Option<f64> {
        let lengths = self.lengths(competitor).into_iter();
        median(lengths.filter_map(|n| Some(self.above(competitor, base, n)?.median)).collect())
    }

    /// Returns the expected maximum of `p` times drawn from a competitor's samples on two GPUs at
    /// one length.
    pub fn slowest(&self, competitor: &str, n: u64, p: u32) -> Option<f64> {
        let runs = self.gated.get(&(competitor.to_owned(), n))?;
        let mut all: Vec<f64> = runs.iter().flat_map(|run| run.gpus.iter().copied()).collect();
        all.sort_by(f64::total_cmp);
        let count = all.len() as f64;
        // The probability that the maximum is at most the i-th time is (i / count)^p.
        let below = |i: usize| (i as f64 / count).powi(p as i32);
        Some(all.iter().enumerate().map(|(i, time)| time * (below(i + 1) - below(i))).sum())
    }

    /// Returns the smallest measured length at and above which two GPUs are faster than one GPU.
    pub fn pays_from(&self, competitor: &str) -> Option<u64> {
        let pays = |n: &u64| match (self.median(competitor, *n), self.median("one", *n)) {
            (Some(two), Some(one)) => two < one,
            _ => false,
        };
        self.lengths(competitor).into_iter().rev().take_while(pays).last()
    }

    /// Returns the model's α in microseconds: the median, over the powers of two, of the time minus
    /// the expected time of the slowest shard.
    pub fn alpha(&self, competitor: &str) -> Option<f64> {
        let powers =
            self.lengths(competitor).into_iter().filter(|n| n.is_power_of_two() && parts(*n));
        let above = |n| Some(self.median(competitor, n)? - self.slowest("share", n, 2)?);
        median(powers.filter_map(above).collect())
    }

    /// Returns the model's predictions for two GPUs at the lengths that were not used for the fit.
    pub fn held_out(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for competitor in ["kernel", "gather", "reduce"] {
            let Some(alpha) = self.alpha(competitor) else { continue };
            let others = self.lengths(competitor).into_iter().filter(|n| !n.is_power_of_two());
            for n in others.filter(|n| parts(*n)) {
                if let (Some(share), Some(measured)) =
                    (self.slowest("share", n, 2), self.median(competitor, n))
                {
                    lines.push(Line { competitor, n, model: share + alpha, measured });
                }
            }
        }
        lines
    }

    /// Returns the predicted time on `p` GPUs with `each` elements each, in microseconds.
    pub fn predict(&self, competitor: &str, each: u64, p: u32) -> Option<f64> {
        let share = self.slowest("share", each.checked_mul(2)?, p)?;
        let nccl = |p| NCCL.iter().find(|(known, ..)| *known == p);
        let (two, more) = (nccl(2)?, nccl(p)?);
        let hops = match competitor {
            "kernel" if p > 8 => return None,
            // A switch connects the GPUs, so every GPU is one hop from every other.
            "kernel" => 0.0,
            "gather" => more.1 - two.1,
            _ => more.2 - two.2,
        };
        Some(share + self.alpha(competitor)? + hops)
    }
}

/// Returns whether a sum of `n` floats exchanges partial sums, as the model assumes. Smaller sums
/// exchange elements.
pub fn parts(n: u64) -> bool {
    matches!(reduce::shape::pick(n, 4), Some(reduce::Shape::Chunks { .. }))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "n,competitor,clock,round,gpu,us\n\
        131072,share,gated,0,0,10\n131072,share,gated,0,1,12\n131072,kernel,gated,0,0,15\n131072,kernel,gated,0,1,13\n\
        131072,kernel,caller,0,0,99\n\
        131073,share,gated,0,0,20\n131073,share,gated,0,1,20\n131073,kernel,gated,0,0,22\n131073,kernel,gated,0,1,23\n";

    #[test]
    fn a_prediction_is_the_slowest_shard_plus_alpha() {
        // The model excludes small lengths, which exchange no partial sums.
        let small = "1024,share,gated,0,0,1\n1024,kernel,gated,0,0,99\n1000,share,gated,0,0,1\n1000,kernel,gated,0,0,99\n";
        let times = Times::read(&format!("{CSV}{small}")).unwrap();
        // The larger of two values drawn from {10, 12} is 12 with probability 3/4.
        assert_eq!(times.slowest("share", 131_072, 2), Some(11.5));
        assert_eq!(times.alpha("kernel"), Some(2.5));
        let line = Line { competitor: "kernel", n: 131_073, model: 22.5, measured: 22.5 };
        assert_eq!(times.held_out(), [line]);
        let eight = times.predict("kernel", 65_536, 8).unwrap();
        assert!((eight - (12.0 - 2.0 / 256.0 + 2.5)).abs() < 1e-9, "{eight}");
        assert_eq!(times.predict("kernel", 65_536, 64), None);
    }

    #[test]
    fn two_pay_from_the_length_where_they_stay_ahead() {
        let line = |(n, one, two): &(u64, f64, f64)| {
            format!(
                "{n},one,gated,0,0,{one}\n{n},kernel,gated,0,0,{two}\n{n},kernel,gated,0,1,{two}\n"
            )
        };
        let of = |times: &[(u64, f64, f64)]| {
            let lines: String = times.iter().map(line).collect();
            Times::read(&format!("head\n{lines}")).unwrap().pays_from("kernel")
        };
        assert_eq!(of(&[(4, 1.0, 0.9), (8, 1.0, 1.0), (16, 2.0, 1.5), (32, 4.0, 2.5)]), Some(16));
        assert_eq!(of(&[(4, 1.0, 0.9), (8, 1.0, 1.0)]), None);
    }

    /// Checks that a slowdown from round to round, as of a GPU that warms up, does not count as a
    /// difference between two competitors.
    #[test]
    fn a_difference_is_that_of_each_round() {
        let line = |name: &str, round: u32, micros: u32| {
            format!("8,{name},gated,{round},0,{micros}\n8,{name},gated,{round},1,{micros}\n")
        };
        let mut csv = "head\n".to_owned();
        for round in 0..9 {
            let slow = 100 * round;
            csv += &line("share", round, 10 + slow);
            csv += &line("kernel", round, 13 + slow);
            csv += &line("kernel", round, 15 + slow);
            csv += &line("share", round, 12 + slow);
        }
        let above = Times::read(&csv).unwrap().above("kernel", "share", 8);
        assert_eq!(above, Some(Paired { low: 3.0, median: 3.0, high: 3.0 }));
        assert_eq!(Times::read(&csv).unwrap().above("gather", "share", 8), None);
        assert_eq!(Times::read(&csv).unwrap().above_at_all("kernel", "share"), Some(3.0));
        assert_eq!(Times::read(&csv).unwrap().above_at_all("gather", "share"), None);
    }

    #[test]
    fn wall_times_are_kept_apart() {
        let csv = "head\n8,torch,caller,0,0,5\n8,torch,caller,1,0,7\n8,torch,queued,0,0,1\n";
        let times = Times::read(csv).unwrap();
        assert_eq!((times.caller("torch", 8), times.called("torch")), (Some(6.0), vec![8]));
        assert!(times.lengths("torch").is_empty());
    }

    #[test]
    fn malformed_lines_are_errors() {
        for line in [
            "1,one",
            "x,one,gated,0,0,1",
            "1,one,gated,0,0,x",
            "1,one,gated,0,1,2",
            "1,one,gated,x,0,2",
        ] {
            assert!(Times::read(&format!("head\n{line}\n")).unwrap_err().starts_with("line 2 is"));
        }
    }
}
