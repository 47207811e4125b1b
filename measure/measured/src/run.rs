//! A folder in `results/` that contains one run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Cache, Cell, Clock, Env, Error, Result, Role, Sample, Sum, Variant,
    counters::Count,
    env::{More, read_toml},
    file,
    pair::{Ratio, order_effect, there_and_back},
    stats::Summary,
};

/// One run of `ladder measure`, with later additions to its folder.
#[derive(Clone, Debug)]
pub struct Run {
    /// The name of the folder.
    pub name: String,
    /// The contents of `env.toml`; the lists include the variants and absences in `python.toml`.
    pub env: Env,
    /// The rows of `cells.csv`.
    pub cells: Vec<Cell>,
    /// The rows of `sums.csv`; empty if the file does not exist.
    pub sums: Vec<Sum>,
    /// The rows of `counters.csv`; empty if the file does not exist.
    pub counters: Vec<Count>,
    /// The rows of `sweep.csv`; empty if the file does not exist.
    pub sweep: Vec<Sample>,
    /// The tick in nanoseconds, of which every GPU time is a multiple; 1 if there is no tick.
    pub tick: u64,
    series: BTreeMap<Key, Vec<(u32, u64)>>,
}

/// The time, in nanoseconds, below which ticks are visible; the driver reports longer times with
/// too few digits.
const TICKED: u64 = 1_000_000;

/// The key that all samples in a series share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    session: Session,
    variant: String,
    element: String,
    n: u64,
    cache: Cache,
    clock: Clock,
}

/// The process that took a sample. Times are compared only within a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Session {
    Ladder,
    Python,
}

impl Run {
    /// Reads a folder.
    pub fn read(folder: &Path) -> Result<Run> {
        let env = Env::read(&folder.join("env.toml"))?;
        let cells = Cell::read(&folder.join("cells.csv"))?;
        let samples = Sample::read(&Sample::path(folder))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut run = Run::new(name, env, cells, &samples);
        let there = |name: &str| Some(file::find(&folder.join(name))).filter(|path| path.exists());
        if let Some(path) = there("python.csv") {
            run.add(Session::Python, &Sample::read(&path)?);
        }
        if let Some(path) = there("python.toml") {
            let more: More = read_toml(&path)?;
            run.env.variant.extend(more.variant);
            // The variants are sorted in the order of the tables: steps, peers, ceilings, floor.
            // The sort is stable, so variants with the same role keep their order.
            run.env.variant.sort_by_key(|variant| variant.role);
            run.env.absent.extend(more.absent);
        }
        if let Some(path) = there("sums.csv") {
            run.sums = Sum::read(&path)?;
        }
        if let Some(path) = there("counters.csv") {
            run.counters = Count::read(&path)?;
        }
        if let Some(path) = there("sweep.csv") {
            run.sweep = Sample::read(&path)?;
        }
        Ok(run)
    }

    /// Makes a run from its parts.
    pub fn new(name: String, env: Env, cells: Vec<Cell>, samples: &[Sample]) -> Run {
        let (sums, counters, sweep) = (Vec::new(), Vec::new(), Vec::new());
        let tick = tick(samples);
        let mut run =
            Run { name, env, cells, sums, counters, sweep, tick, series: BTreeMap::new() };
        run.add(Session::Ladder, samples);
        run
    }

    fn add(&mut self, session: Session, samples: &[Sample]) {
        for sample in samples {
            let key = Key {
                session,
                variant: sample.variant.clone(),
                element: sample.element.clone(),
                n: sample.n,
                cache: sample.cache,
                clock: sample.clock,
            };
            self.series.entry(key).or_default().push((sample.round, sample.ns));
        }
        self.series.values_mut().for_each(|times| times.sort());
    }

    /// Returns a variant's samples in a cell, each as a round number and a time in nanoseconds, and
    /// the process that took them.
    fn times(&self, variant: &str, cell: &Place<'_>) -> Option<(Session, &[(u32, u64)])> {
        [Session::Ladder, Session::Python].into_iter().find_map(|session| {
            self.in_session(session, variant, cell).map(|times| (session, times))
        })
    }

    fn in_session(&self, session: Session, variant: &str, at: &Place<'_>) -> Option<&[(u32, u64)]> {
        let key = Key {
            session,
            variant: variant.to_owned(),
            element: at.element.to_owned(),
            n: at.n,
            cache: at.cache,
            clock: at.clock,
        };
        self.series.get(&key).map(Vec::as_slice)
    }

    /// Returns the summary of a variant's times, in nanoseconds: median, quartiles and interval.
    pub fn time(&self, variant: &str, at: &Place<'_>) -> Option<Summary> {
        let (_, times) = self.times(variant, at)?;
        let pairs: Vec<f64> = there_and_back(times).into_iter().map(|(_, ns)| ns).collect();
        Summary::batched(&pairs)
    }

    /// Returns the fraction by which a variant is slower in one order of the competitors than in
    /// the other.
    pub fn order_effect(&self, variant: &str, at: &Place<'_>) -> Option<f64> {
        order_effect(self.in_session(Session::Ladder, variant, at)?)
    }

    /// Returns the speedup of the second variant over the first, from the rounds of a process that
    /// measured both.
    pub fn ratio(&self, first: &str, second: &str, at: &Place<'_>) -> Option<Ratio> {
        [Session::Ladder, Session::Python].into_iter().find_map(|session| {
            let first = self.in_session(session, first, at)?;
            Ratio::of(first, self.in_session(session, second, at)?)
        })
    }

    /// Returns the bandwidth at the median time, in bytes per second. The number of bytes is the
    /// input's size, multiplied by the number of times that the variant transfers the input.
    pub fn bandwidth(&self, variant: &Variant, at: &Place<'_>) -> Option<f64> {
        let bytes = (at.bytes() * u64::from(variant.moves)) as f64;
        self.time(&variant.name, at).map(|time| bytes / time.median * 1e9)
    }

    /// Returns the distance of a sum from the exact sum, relative to the sum's magnitude.
    pub fn error(&self, variant: &str, at: &Place<'_>) -> Option<f64> {
        let is_this =
            |s: &&Sum| (s.variant.as_str(), &*s.element, s.n) == (variant, at.element, at.n);
        self.sums.iter().find(is_this).map(|sum| sum.error / sum.sum.abs())
    }

    /// Returns the sizes that have times on a timer, in order.
    pub fn sizes(&self, element: &str, cache: Cache, clock: Clock) -> Vec<u64> {
        let keys = self.series.keys();
        let keys = keys.filter(|k| k.element == element && k.cache == cache && k.clock == clock);
        keys.map(|key| key.n).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the element types that have times, with `f32` first.
    pub fn elements(&self) -> Vec<String> {
        let all: BTreeSet<&str> = self.series.keys().map(|key| key.element.as_str()).collect();
        let known = ["f32", "i32", "f64"].into_iter().filter(|e| all.contains(e));
        known.map(str::to_owned).collect()
    }

    /// Returns the steps, in the order of the lessons.
    pub fn steps(&self) -> Vec<&Variant> {
        self.env.of(Role::Step).collect()
    }

    /// Returns whether a variant has any time for this type, cache state and timer.
    pub fn has(&self, variant: &str, element: &str, cache: Cache, clock: Clock) -> bool {
        self.series.keys().any(|k| {
            k.variant == variant && k.element == element && k.cache == cache && k.clock == clock
        })
    }

    /// Returns every series in `raw.csv` as a variant, a place and the number of samples, for
    /// checks.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, Place<'_>, usize)> {
        self.series.iter().filter(|(key, _)| key.session == Session::Ladder).map(|(key, times)| {
            let Key { variant, element, n, cache, clock, .. } = key;
            (variant.as_str(), Place { element, n: *n, cache: *cache, clock: *clock }, times.len())
        })
    }
}

/// Returns the greatest common divisor of all short GPU times.
fn tick(samples: &[Sample]) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let ticked = samples.iter().filter(|s| s.clock == Clock::Gpu && s.ns < TICKED);
    ticked.fold(0, |tick, sample| divisor(sample.ns, tick)).max(1)
}

/// A type, a size, a cache state and a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'e> {
    /// The element type.
    pub element: &'e str,
    /// The number of elements.
    pub n: u64,
    /// The cache state.
    pub cache: Cache,
    /// The timer.
    pub clock: Clock,
}

impl Place<'_> {
    /// Returns the size of the input, in bytes.
    pub fn bytes(&self) -> u64 {
        self.n * if self.element == "f64" { 8 } else { 4 }
    }
}

/// Returns the folders in `results` that hold a run (those that have an `env.toml`), with the
/// oldest first.
pub fn folders(results: &Path) -> Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(results) else { return Ok(Vec::new()) };
    let mut folders = Vec::new();
    for entry in entries {
        let folder = entry.map_err(Error::reading(results))?.path();
        let has = |name: &str| folder.join(name).exists();
        if has("env.toml") {
            folders.push(folder);
        } else if has("raw.csv") || has("raw.csv.gz") || has("cells.csv") {
            return Err(Error::NoMachine { folder: folder.display().to_string() });
        }
    }
    folders.sort();
    Ok(folders)
}

/// Returns the sort key that puts steps in the order of the lessons, with v2 before v10; other
/// names come last.
pub fn competitor_order(name: &str) -> (u32, &str) {
    let number = name.strip_prefix('v').and_then(|rest| rest.split('-').next()?.parse().ok());
    (number.unwrap_or(u32::MAX), name)
}
