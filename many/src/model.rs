//! What more GPUs would take: a *model*, from what was measured on two.
//!
//! T(p) = E[max of p local times] + α, and for NCCL what its own model adds for p GPUs above two. The
//! expectation is over the measured samples, so that it knows how uneven GPUs are; α is the median, over
//! powers of two, of what a sum took above it on two GPUs. Lengths that are no powers of two are held
//! out: there the model says what was measured, or it does not.

use std::collections::BTreeMap;

/// NCCL's model of a small all-gather (ring) and a small integer all-reduce (tree), with eight GPUs a
/// host, in microseconds, from the constants of its `tuning.cc`.
const NCCL: [(u32, f64, f64); 5] =
    [(2, 7.2, 8.0), (4, 8.4, 10.4), (8, 10.8, 15.2), (64, 82.0, 45.0), (1024, 1246.0, 85.0)];

/// Those whose GPUs wait for each other.
const EXCHANGING: [&str; 5] = ["kernel", "told", "gather", "reduce", "totals"];

/// One gated run: in which round, and the times of all GPUs.
#[derive(Clone, Debug)]
struct Run {
    round: u32,
    gpus: Vec<f64>,
}

/// The samples of `many measure`, by contender and length.
#[derive(Clone, Debug, Default)]
pub struct Times {
    gated: BTreeMap<(String, u64), Vec<Run>>,
    caller: BTreeMap<(String, u64), Vec<f64>>,
}

/// A difference that was taken within each round: its median over the rounds, and its quartiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// A quarter of the rounds had less.
    pub low: f64,
    /// Half of them.
    pub median: f64,
    /// Three quarters of them.
    pub high: f64,
}

/// A line of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// `kernel`, `gather` or `reduce`.
    pub contender: &'static str,
    /// Elements in all.
    pub n: u64,
    /// Microseconds, by the model.
    pub model: f64,
    /// Microseconds, measured, in the median.
    pub measured: f64,
}

impl Times {
    /// Reads what `many measure` has written.
    pub fn read(csv: &str) -> Result<Times, String> {
        let mut times = Times::default();
        for (number, line) in (2..).zip(csv.lines().skip(1)) {
            let wrong =
                || format!("line {number} is {line:?}, and not n,contender,clock,round,gpu,us");
            let cells: Vec<&str> = line.split(',').collect();
            let [n, contender, clock, round, gpu, micros] = cells[..] else {
                return Err(wrong());
            };
            let (n, gpu) =
                (n.parse().map_err(|_| wrong())?, gpu.parse::<usize>().map_err(|_| wrong())?);
            let round = round.parse().map_err(|_| wrong())?;
            let micros: f64 = micros.parse().map_err(|_| wrong())?;
            let key = (contender.to_owned(), n);
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

    /// The lengths that a contender has, of gated runs.
    pub fn lengths(&self, contender: &str) -> Vec<u64> {
        self.gated.keys().filter(|(name, _)| name == contender).map(|(_, n)| *n).collect()
    }

    /// What a caller waits for, in the median.
    pub fn caller(&self, contender: &str, n: u64) -> Option<f64> {
        median(self.caller.get(&(contender.to_owned(), n))?.clone())
    }

    /// The lengths at which a contender's callers were timed.
    pub fn called(&self, contender: &str) -> Vec<u64> {
        self.caller.keys().filter(|(name, _)| name == contender).map(|(_, n)| *n).collect()
    }

    /// The median time: of the slower GPU where each has its own work. Where they exchange, all end
    /// together, and one that began before another waited for it: so it is the mean of their times.
    pub fn median(&self, contender: &str, n: u64) -> Option<f64> {
        median(self.runs(contender, n)?.map(|(_, micros)| micros).collect())
    }

    /// Every run's round and time.
    fn runs(&self, contender: &str, n: u64) -> Option<impl Iterator<Item = (u32, f64)>> {
        let exchanging = EXCHANGING.contains(&contender);
        let of = move |run: &Run| match exchanging {
            true => run.gpus.iter().sum::<f64>() / run.gpus.len() as f64,
            false => run.gpus.iter().copied().fold(0.0, f64::max),
        };
        let runs = self.gated.get(&(contender.to_owned(), n))?;
        Some(runs.iter().map(move |run| (run.round, of(run))))
    }

    /// What a contender takes above another, round by round: of each the mean of its runs there and
    /// back, so that what drifts evenly within a round is nobody's.
    pub fn above(&self, contender: &str, base: &str, n: u64) -> Option<Paired> {
        let mut sums: BTreeMap<u32, [(f64, f64); 2]> = BTreeMap::new();
        for (side, name) in [contender, base].into_iter().enumerate() {
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

    /// The median of what a contender takes above another, over all lengths.
    pub fn above_at_all(&self, contender: &str, base: &str) -> Option<f64> {
        let lengths = self.lengths(contender).into_iter();
        median(lengths.filter_map(|n| Some(self.above(contender, base, n)?.median)).collect())
    }

    /// The expected maximum of `p` local times at a length of two GPUs: each GPU's is one of the samples.
    pub fn slowest(&self, contender: &str, n: u64, p: u32) -> Option<f64> {
        let runs = self.gated.get(&(contender.to_owned(), n))?;
        let mut all: Vec<f64> = runs.iter().flat_map(|run| run.gpus.iter().copied()).collect();
        all.sort_by(f64::total_cmp);
        let count = all.len() as f64;
        // P(max ≤ the i-th) = (i / count)^p.
        let below = |i: usize| (i as f64 / count).powi(p as i32);
        Some(all.iter().enumerate().map(|(i, time)| time * (below(i + 1) - below(i))).sum())
    }

    /// The length from which on, at all that were measured, two GPUs take less than one.
    pub fn pays_from(&self, contender: &str) -> Option<u64> {
        let pays = |n: &u64| match (self.median(contender, *n), self.median("one", *n)) {
            (Some(two), Some(one)) => two < one,
            _ => false,
        };
        self.lengths(contender).into_iter().rev().take_while(pays).last()
    }

    /// Microseconds above the slowest share, in the median over powers of two.
    pub fn alpha(&self, contender: &str) -> Option<f64> {
        let powers =
            self.lengths(contender).into_iter().filter(|n| n.is_power_of_two() && parts(*n));
        let above = |n| Some(self.median(contender, n)? - self.slowest("share", n, 2)?);
        median(powers.filter_map(above).collect())
    }

    /// The model on two GPUs at lengths that it was not fitted to.
    pub fn held_out(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for contender in ["kernel", "gather", "reduce"] {
            let Some(alpha) = self.alpha(contender) else { continue };
            let others = self.lengths(contender).into_iter().filter(|n| !n.is_power_of_two());
            for n in others.filter(|n| parts(*n)) {
                if let (Some(share), Some(measured)) =
                    (self.slowest("share", n, 2), self.median(contender, n))
                {
                    lines.push(Line { contender, n, model: share + alpha, measured });
                }
            }
        }
        lines
    }

    /// Microseconds of `p` GPUs with so many elements each, by the model.
    pub fn predict(&self, contender: &str, each: u64, p: u32) -> Option<f64> {
        let share = self.slowest("share", each.checked_mul(2)?, p)?;
        let nccl = |p| NCCL.iter().find(|(known, ..)| *known == p);
        let (two, more) = (nccl(2)?, nccl(p)?);
        let hops = match contender {
            "kernel" if p > 8 => return None,
            // A switch: every GPU is one hop from every other.
            "kernel" => 0.0,
            "gather" => more.1 - two.1,
            _ => more.2 - two.2,
        };
        Some(share + self.alpha(contender)? + hops)
    }
}

/// Whether a sum of so many floats has parts, which the model is of: fewer elements travel themselves.
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

    const CSV: &str = "n,contender,clock,round,gpu,us\n\
        131072,share,gated,0,0,10\n131072,share,gated,0,1,12\n131072,kernel,gated,0,0,15\n131072,kernel,gated,0,1,13\n\
        131072,kernel,caller,0,0,99\n\
        131073,share,gated,0,0,20\n131073,share,gated,0,1,20\n131073,kernel,gated,0,0,22\n131073,kernel,gated,0,1,23\n";

    #[test]
    fn a_sum_is_its_slowest_share_and_what_was_above_it_elsewhere() {
        // A length without parts is no part of the model.
        let small = "1024,share,gated,0,0,1\n1024,kernel,gated,0,0,99\n1000,share,gated,0,0,1\n1000,kernel,gated,0,0,99\n";
        let times = Times::read(&format!("{CSV}{small}")).unwrap();
        // Of 10 and 12, the larger of two draws is 12 three times of four.
        assert_eq!(times.slowest("share", 131_072, 2), Some(11.5));
        assert_eq!(times.alpha("kernel"), Some(2.5));
        let line = Line { contender: "kernel", n: 131_073, model: 22.5, measured: 22.5 };
        assert_eq!(times.held_out(), [line]);
        let eight = times.predict("kernel", 65_536, 8).unwrap();
        assert!((eight - (12.0 - 2.0 / 256.0 + 2.5)).abs() < 1e-9, "{eight}");
        assert_eq!(times.predict("kernel", 65_536, 64), None);
    }

    #[test]
    fn two_pay_from_where_they_are_ahead_to_the_end() {
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

    /// A GPU that warms up takes longer from round to round: no difference between two contenders.
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
    fn callers_have_a_clock_of_their_own() {
        let csv = "head\n8,torch,caller,0,0,5\n8,torch,caller,1,0,7\n8,torch,queued,0,0,1\n";
        let times = Times::read(csv).unwrap();
        assert_eq!((times.caller("torch", 8), times.called("torch")), (Some(6.0), vec![8]));
        assert!(times.lengths("torch").is_empty());
    }

    #[test]
    fn lines_that_are_none_have_a_sentence() {
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
