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
const EXCHANGING: [&str; 4] = ["kernel", "gather", "reduce", "totals"];

/// The samples of gated runs: by contender and length, each the times of all GPUs.
#[derive(Clone, Debug, Default)]
pub struct Gated(BTreeMap<(String, u64), Vec<Vec<f64>>>);

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

impl Gated {
    /// Reads what `many measure` has written.
    pub fn read(csv: &str) -> Result<Gated, String> {
        let mut gated = Gated::default();
        for (number, line) in (2..).zip(csv.lines().skip(1)) {
            let wrong =
                || format!("line {number} is {line:?}, and not n,contender,clock,round,gpu,us");
            let cells: Vec<&str> = line.split(',').collect();
            let [n, contender, clock, _, gpu, micros] = cells[..] else { return Err(wrong()) };
            if clock != "gated" {
                continue;
            }
            let (n, gpu) =
                (n.parse().map_err(|_| wrong())?, gpu.parse::<usize>().map_err(|_| wrong())?);
            let micros: f64 = micros.parse().map_err(|_| wrong())?;
            let times = gated.0.entry((contender.to_owned(), n)).or_default();
            match gpu {
                0 => times.push(vec![micros]),
                _ => times.last_mut().ok_or_else(wrong)?.push(micros),
            }
        }
        Ok(gated)
    }

    /// The lengths that a contender has.
    pub fn lengths(&self, contender: &str) -> Vec<u64> {
        self.0.keys().filter(|(name, _)| name == contender).map(|(_, n)| *n).collect()
    }

    /// The median time: of the slower GPU where each has its own work. Where they exchange, all end
    /// together, and one that passed the gate before another waited for it: so it is the time of the
    /// GPU that began last.
    pub fn median(&self, contender: &str, n: u64) -> Option<f64> {
        let times = self.0.get(&(contender.to_owned(), n))?;
        let of = |gpus: &Vec<f64>| match EXCHANGING.contains(&contender) {
            true => gpus.iter().copied().fold(f64::INFINITY, f64::min),
            false => gpus.iter().copied().fold(0.0, f64::max),
        };
        median(times.iter().map(of).collect())
    }

    /// The expected maximum of `p` local times at a length of two GPUs: each GPU's is one of the samples.
    pub fn slowest(&self, contender: &str, n: u64, p: u32) -> Option<f64> {
        let times = self.0.get(&(contender.to_owned(), n))?;
        let mut all: Vec<f64> = times.iter().flatten().copied().collect();
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
        let powers = self.lengths(contender).into_iter().filter(|n| n.is_power_of_two());
        median(powers.filter_map(|n| self.above(contender, n)).collect())
    }

    fn above(&self, contender: &str, n: u64) -> Option<f64> {
        Some(self.median(contender, n)? - self.slowest("share", n, 2)?)
    }

    /// The model on two GPUs at lengths that it was not fitted to.
    pub fn held_out(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for contender in ["kernel", "gather", "reduce"] {
            let Some(alpha) = self.alpha(contender) else { continue };
            for n in self.lengths(contender).into_iter().filter(|n| !n.is_power_of_two()) {
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
        1024,share,gated,0,0,10\n1024,share,gated,0,1,12\n1024,kernel,gated,0,0,21\n1024,kernel,gated,0,1,14\n\
        1024,kernel,caller,0,0,99\n\
        1025,share,gated,0,0,20\n1025,share,gated,0,1,20\n1025,kernel,gated,0,0,22.5\n1025,kernel,gated,0,1,29\n";

    #[test]
    fn a_sum_is_its_slowest_share_and_what_was_above_it_elsewhere() {
        let gated = Gated::read(CSV).unwrap();
        // Of 10 and 12, the larger of two draws is 12 three times of four.
        assert_eq!(gated.slowest("share", 1024, 2), Some(11.5));
        assert_eq!(gated.alpha("kernel"), Some(2.5));
        let line = Line { contender: "kernel", n: 1025, model: 22.5, measured: 22.5 };
        assert_eq!(gated.held_out(), [line]);
        let eight = gated.predict("kernel", 512, 8).unwrap();
        assert!((eight - (12.0 - 2.0 / 256.0 + 2.5)).abs() < 1e-9, "{eight}");
        assert_eq!(gated.predict("kernel", 512, 64), None);
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
            Gated::read(&format!("head\n{lines}")).unwrap().pays_from("kernel")
        };
        assert_eq!(of(&[(4, 1.0, 0.9), (8, 1.0, 1.0), (16, 2.0, 1.5), (32, 4.0, 2.5)]), Some(16));
        assert_eq!(of(&[(4, 1.0, 0.9), (8, 1.0, 1.0)]), None);
    }

    #[test]
    fn lines_that_are_none_have_a_sentence() {
        for line in ["1,one", "x,one,gated,0,0,1", "1,one,gated,0,0,x", "1,one,gated,0,1,2"] {
            assert!(Gated::read(&format!("head\n{line}\n")).unwrap_err().starts_with("line 2 is"));
        }
    }
}
