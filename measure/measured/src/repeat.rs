//! Computes ratios, with their uncertainty, from several runs of one program on GPUs of one kind.
//!
//! The interval from one run describes the median of that run. This interval says nothing about the
//! next GPU, which differs in memory, clock rate and temperature. The quoted ratio is therefore the
//! geometric mean over the runs. Its 95 % prediction interval is for the median of a further run,
//! and is computed with Student's t distribution on the logarithms. [`held`] tests both intervals
//! on the existing runs.

use std::fmt::{self, Write as _};

use crate::{
    Cache, Clock, PEER, Place, Role, Run, Variant,
    pair::MATTERS,
    table::{Table, micros, size},
};

/// The file name of the page about repeated runs, which is in the folder that contains the runs.
pub const FILE: &str = "repeated.md";

/// The name of the kernel that only reads. This kernel is shown beside CUB and `reduce` to explain
/// changes between runs.
const READER: &str = "read-only";

/// The two-sided 95 % points of Student's t distribution, by degrees of freedom, starting with 1.
const STUDENT: [f64; 12] =
    [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179];

/// The runs of one program on GPUs of one kind, with the oldest first.
pub type Kind<'a> = Vec<&'a Run>;

/// Returns every kind that has at least two runs of one program. The kind with the newest run comes
/// last.
pub fn kinds(runs: &[Run]) -> Vec<Kind<'_>> {
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    let of = |run: &Run| (run.env.gpu.name.clone(), run.env.run.commit.clone());
    for run in runs {
        match kinds.iter().position(|kind| of(kind[0]) == of(run)) {
            // The kind is moved to the end, because its newest run is the newest of all so far.
            Some(at) => {
                let mut kind = kinds.remove(at);
                kind.push(run);
                kinds.push(kind);
            }
            None => kinds.push(vec![run]),
        }
    }
    kinds.retain(|kind| kind.len() > 1);
    kinds
}

/// Returns the runs of the same kind as the given run, including that run.
pub fn kind_of<'a>(runs: &'a [Run], run: &'a Run) -> Kind<'a> {
    let has = |kind: &Kind<'_>| kind.iter().any(|other| other.name == run.name);
    kinds(runs).into_iter().find(has).unwrap_or_else(|| vec![run])
}

/// A ratio over several runs: the speedup of the second variant over the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// The number of runs in which both variants were measured.
    pub runs: usize,
    /// The geometric mean of the runs' medians.
    pub mean: f64,
    /// The smallest of the runs' medians.
    pub least: f64,
    /// The largest of the runs' medians.
    pub most: f64,
    /// The 95 % prediction interval for a further run; `None` if there are fewer than three runs.
    pub interval: Option<(f64, f64)>,
}

impl Between {
    /// Returns the geometric mean of the ratios of several runs, with its spread; `None` if there
    /// are no ratios.
    pub fn of(ratios: &[f64]) -> Option<Between> {
        let count = ratios.len() as f64;
        let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        let mean = logs.iter().sum::<f64>() / count;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let interval = (ratios.len() > 2).then(|| {
            let student = STUDENT[(ratios.len() - 2).min(STUDENT.len() - 1)];
            let half = student * (squares / (count - 1.0) * (1.0 + 1.0 / count)).sqrt();
            ((mean - half).exp(), (mean + half).exp())
        });
        let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        (count > 0.0).then_some(Between {
            runs: ratios.len(),
            mean: mean.exp(),
            least,
            most,
            interval,
        })
    }

    /// Returns the ratio of two variants at a place, over all runs of a kind in which both were
    /// measured.
    pub fn ratio(kind: &[&Run], slow: &str, fast: &str, at: &Place<'_>) -> Option<Between> {
        let ratios = kind.iter().filter_map(|run| run.ratio(slow, fast, at));
        Between::of(&ratios.map(|ratio| ratio.0.median).collect::<Vec<_>>())
    }

    /// Returns one variant's times over all runs of a kind, in nanoseconds.
    pub fn time(kind: &[&Run], variant: &str, at: &Place<'_>) -> Option<Between> {
        let times = kind.iter().filter_map(|run| run.time(variant, at));
        Between::of(&times.map(|time| time.median).collect::<Vec<_>>())
    }

    /// Returns whether the runs disagree about which variant is faster, or agree that the
    /// difference is irrelevant.
    pub fn tie(&self) -> bool {
        let near = |ratio: f64| (ratio - 1.0).abs() < MATTERS;
        (self.least < 1.0 && self.most > 1.0) || (near(self.least) && near(self.most))
    }

    /// Returns the relative difference between the largest and the smallest median.
    pub fn spread(&self) -> f64 {
        self.most / self.least - 1.0
    }
}

impl fmt::Display for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.mean < 10.0 { 3 } else { 2 };
        write!(f, "{:.digits$}", self.mean)?;
        match self.interval {
            Some((low, high)) => write!(f, " [{low:.digits$}, {high:.digits$}]")?,
            None if self.runs == 2 => {
                write!(f, " ({:.digits$}, {:.digits$})", self.least, self.most)?
            }
            None => {}
        }
        f.write_str(if self.runs > 1 && self.tie() { " tie" } else { "" })
    }
}

/// The number of trials, and the number of those in which an interval contained a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// The number of trials in which the interval contained the value.
    pub held: usize,
    /// The number of trials.
    pub tried: usize,
}

impl Held {
    fn add(&mut self, held: bool) {
        self.held += usize::from(held);
        self.tried += 1;
    }

    /// Returns the fraction of trials in which the interval contained the value; NaN if there were
    /// no trials.
    pub fn share(&self) -> f64 {
        self.held as f64 / self.tried as f64
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} ({:.1} %)", self.held, self.tried, 100.0 * self.share())
    }
}

/// Tests both kinds of interval for ratios to CUB on the runs of a kind. Counts how often the
/// interval from one run contains another run's median, and how often the interval from all runs
/// but one contains the median of the remaining run.
pub fn held(kind: &[&Run]) -> (Held, Held) {
    let (mut within, mut between) = (Held::default(), Held::default());
    for element in kind[0].elements() {
        for n in sizes(kind, &element) {
            let at = place(&element, n);
            for variant in sums(kind[0]) {
                let ratios: Vec<_> =
                    kind.iter().filter_map(|run| run.ratio(PEER, &variant.name, &at)).collect();
                for (one, ratio) in ratios.iter().enumerate() {
                    let others = || ratios.iter().enumerate().filter(|(at, _)| *at != one);
                    for (_, other) in others() {
                        within.add((ratio.0.low..=ratio.0.high).contains(&other.0.median));
                    }
                    let others: Vec<f64> = others().map(|(_, other)| other.0.median).collect();
                    if let Some((low, high)) = Between::of(&others).and_then(|all| all.interval) {
                        between.add((low..=high).contains(&ratio.0.median));
                    }
                }
            }
        }
    }
    (within, between)
}

/// The fastest step at a size, over all runs of a kind.
#[derive(Clone, Debug)]
pub struct First {
    /// The number of elements.
    pub n: u64,
    /// The step with the best mean ratio to CUB.
    pub step: String,
    /// The steps that tie with the fastest step.
    pub ties: Vec<String>,
    /// The speedup of `reduce` over the fastest step; above one, `reduce` is faster.
    pub reduce: Option<Between>,
}

/// Returns the fastest step at every size that all runs of a kind have, from GPU-gated times for
/// `f32` with a cold L2 cache.
pub fn first(kind: &[&Run]) -> Vec<First> {
    let steps = kind[0].steps();
    let reduce = kind[0].env.of(Role::Reduce).next();
    let of_size = |n: u64| {
        let at = place("f32", n);
        let mean = |step: &&&Variant| Some(Between::ratio(kind, PEER, &step.name, &at)?.mean);
        let rated = steps.iter().filter_map(|step| Some((mean(&step)?, step)));
        let (_, best) = rated.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let against = |name: &str| Between::ratio(kind, &best.name, name, &at);
        let ties = steps.iter().filter(|step| step.name != best.name);
        let ties = ties.filter(|step| against(&step.name).is_some_and(|ratio| ratio.tie()));
        Some(First {
            n,
            step: best.name.clone(),
            ties: ties.map(|step| step.name.clone()).collect(),
            reduce: reduce.and_then(|reduce| against(&reduce.name)),
        })
    };
    sizes(kind, "f32").into_iter().filter_map(of_size).collect()
}

/// Returns the page about all kinds that have repeated runs.
pub fn page(kinds: &[Kind<'_>]) -> String {
    let mut page = "# Repeated runs of the same program\n\nThis page is generated by `cargo x results`; do not edit it.\n\
         A cell is the geometric mean of the runs' medians, with the 95 % prediction interval for a further run (Student's t distribution on the logarithms). If there are only two runs, the two medians replace the interval. \
         *tie* means that the runs disagree about which variant is faster, or that all their ratios are within half a percent of 1. \
         Where no *tie* is shown, all runs agree on which variant is faster; but the interval may contain 1, so a further run may disagree. \
         If an interval is narrower than a unit of the last digit, its two ends are the same number. A ratio from a single run has no interval.\n\n"
        .to_owned();
    for kind in kinds {
        page += &of(kind);
    }
    page
}

/// Returns the section about a kind.
fn of(kind: &[&Run]) -> String {
    let names: Vec<String> = kind.iter().map(|run| format!("[{0}]({0})", run.name)).collect();
    let mut page = format!(
        "## {}, {} runs\n\nThe runs of the same program are {}. The tables list only the sizes that every run measured.\n\n",
        kind[0].env.gpu.name,
        kind.len(),
        names.join(", ")
    );
    let (within, between) = held(kind);
    let _ = writeln!(
        page,
        "Over all ratios to CUB, the interval of one run contained another run's median in {within} cases{}.\n",
        match between.tried {
            0 => String::new(),
            _ => format!(
                "; the interval from all runs except one contained the remaining run's median in {between}"
            ),
        }
    );
    for element in kind[0].elements() {
        let title =
            |text: &str| format!("### {}, {element}, L2 cold: {text}\n\n", kind[0].env.gpu.name);
        if sizes(kind, &element).is_empty() {
            continue;
        }
        page += &title("variation between runs");
        page += &format!(
            "A variation is the slowest run's time divided by the fastest run's, minus one. If the time of `{READER}` varied as much as CUB's, the GPUs' memory differs, and so do the times of all memory-bound kernels. If the time of `{READER}` varied less, the variation is CUB's own.\n\n"
        );
        let _ = writeln!(page, "{}", moved(kind, &element));
        let against = |variant: &Variant| {
            (variant.role.sums() && variant.name != PEER).then(|| PEER.to_owned())
        };
        page += &title("speedup over CUB");
        let _ = writeln!(page, "{}", ratios(kind, &element, against));
        let steps = kind[0].steps();
        let before = |variant: &Variant| {
            let at = steps.iter().position(|step| step.name == variant.name)?;
            Some(steps.get(at.checked_sub(1)?)?.name.clone())
        };
        page += &title("speedup over the previous step");
        let _ = writeln!(page, "{}", ratios(kind, &element, before));
    }
    page
}

fn place(element: &str, n: u64) -> Place<'_> {
    Place { element, n, cache: Cache::Cold, clock: Clock::Gpu }
}

/// Returns all sums except CUB's.
fn sums(run: &Run) -> impl Iterator<Item = &Variant> {
    run.env.variant.iter().filter(|variant| variant.role.sums() && variant.name != PEER)
}

/// Returns the sizes that all runs have.
fn sizes(kind: &[&Run], element: &str) -> Vec<u64> {
    let of = |run: &Run| run.sizes(element, Cache::Cold, Clock::Gpu);
    let all: Vec<Vec<u64>> = kind[1..].iter().map(|run| of(run)).collect();
    of(kind[0]).into_iter().filter(|n| all.iter().all(|sizes| sizes.contains(n))).collect()
}

/// Returns a table with a row for each size: the times of CUB, `reduce` and the read-only kernel,
/// and how much they vary.
fn moved(kind: &[&Run], element: &str) -> Table {
    let steps = kind[0].steps();
    let ours = kind[0].env.of(Role::Reduce).next().or(steps.last().copied());
    let ours = ours.map_or("", |ours| &ours.name);
    let mut table = Table::new([
        "size".to_owned(),
        format!("{PEER} µs"),
        format!("{ours} µs"),
        format!("{PEER} varied"),
        format!("{ours} varied"),
        format!("{READER} varied"),
        format!("{PEER} / {ours}"),
    ]);
    for n in sizes(kind, element) {
        let at = place(element, n);
        let time = |name: &str| Between::time(kind, name, &at);
        let range = |name: &str| {
            time(name)
                .map_or("–".into(), |t| format!("{} to {}", micros(t.least), micros(t.most)))
        };
        let spread = |name: &str| {
            time(name).map_or("–".into(), |time| format!("{:.1} %", 100.0 * time.spread()))
        };
        let ratio = Between::ratio(kind, PEER, ours, &at);
        table.row([
            size(n),
            range(PEER),
            range(ours),
            spread(PEER),
            spread(ours),
            spread(READER),
            ratio.map_or("–".into(), |ratio| ratio.to_string()),
        ]);
    }
    table
}

/// Returns a table with a row for each variant and a column for each size: the ratio to another
/// variant, over all runs.
fn ratios(kind: &[&Run], element: &str, other: impl Fn(&Variant) -> Option<String>) -> Table {
    let sizes = sizes(kind, element);
    let mut table = Table::new([String::new()].into_iter().chain(sizes.iter().map(|&n| size(n))));
    for variant in &kind[0].env.variant {
        let Some(other) = other(variant) else { continue };
        let ratio = |&n: &u64| Between::ratio(kind, &other, &variant.name, &place(element, n));
        let cells: Vec<Option<Between>> = sizes.iter().map(ratio).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.iter().map(|c| c.map_or("–".into(), |ratio| ratio.to_string()));
            table.row([variant.name.clone()].into_iter().chain(cells));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

    use super::*;

    #[test]
    fn a_further_run_is_contained_95_times_in_100() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for runs in [3, 4, 5, 9] {
            let mut held = Held::default();
            for _ in 0..4000 {
                // The sum of twelve uniform numbers is nearly normal.
                let mut draw = || {
                    let sum: f64 = (0..12).map(|_| rng.random::<f64>()).sum();
                    (0.02 * (sum - 6.0)).exp()
                };
                let ratios: Vec<f64> = (0..runs).map(|_| draw()).collect();
                let (low, high) = Between::of(&ratios).unwrap().interval.unwrap();
                held.add((low..=high).contains(&draw()));
            }
            assert!((0.94..0.96).contains(&held.share()), "{runs} runs: {held}");
        }
    }

    #[test]
    fn one_or_two_runs_have_no_interval() {
        assert_eq!(Between::of(&[]), None);
        let one = Between::of(&[1.25]).unwrap();
        assert_eq!((one.to_string(), one.interval), ("1.250".into(), None));
        assert_eq!(Between::of(&[1.25, 1.5]).unwrap().to_string(), "1.369 (1.250, 1.500)");
        let same = Between::of(&[1.5; 4]).unwrap();
        assert_eq!(same.to_string(), "1.500 [1.500, 1.500]");
    }

    #[test]
    fn twenty_runs_use_the_last_of_students_points() {
        // Ten logarithms are 0 and ten are 1: the mean is one half, and the deviation of the mean
        // is √(20 / 4 / 19).
        let ratios: Vec<f64> = (0..20).map(|run| f64::from(run % 2).exp()).collect();
        let all = Between::of(&ratios).unwrap();
        let half = 2.179 * (5.0f64 / 19.0 * 21.0 / 20.0).sqrt();
        let (low, high) = all.interval.unwrap();
        assert!((low.ln() - (0.5 - half)).abs() < 1e-9 && (high.ln() - (0.5 + half)).abs() < 1e-9);
    }

    #[test]
    fn ten_times_and_more_has_two_digits_and_one_run_is_no_tie() {
        let shown = |ratio: f64| Between::of(&[ratio]).unwrap().to_string();
        assert_eq!([9.5, 10.0, 1.0].map(shown), ["9.500", "10.00", "1.000"]);
        assert_eq!(Held { held: 3, tried: 8 }.to_string(), "3 of 8 (37.5 %)");
    }

    #[test]
    fn a_tie_is_a_disagreement_about_the_sign_or_a_small_ratio() {
        let tie = |ratios: &[f64]| Between::of(ratios).unwrap().tie();
        assert!(tie(&[0.98, 1.03]) && tie(&[1.001, 1.004, 1.002]) && tie(&[1.0]));
        assert!(!tie(&[1.004, 1.03]) && !tie(&[0.96, 0.99]));
        // If neither variant is faster in one run, that run does not disagree with the other run.
        assert!(!tie(&[1.0, 1.03]) && !tie(&[0.97, 1.0]));
        assert!(Between::of(&[0.98, 1.03]).unwrap().to_string().ends_with(" tie"));
    }
}
