//! Measures one type and size: prepares and verifies the competitors, runs rounds, and verifies the
//! competitors again.

use std::{
    fmt::Display,
    time::{Duration, Instant},
};

use common::{
    Element, Error, Result,
    device::{Address, Stopwatch},
    plan::Block,
    sum::{Input, Scalar, Verdict, Workload},
};
use measured::{Absent, Cache, Cell, Clock, Role, Sample, Sum};

use crate::{
    competitors::{Competitor, cub::Peer},
    rig::Rig,
    rounds::{self, Held, Rounds, Until},
};

/// The distribution from which the elements are drawn.
pub const INPUT: Input = Input::Uniform;
/// The seed for every input.
pub const SEED: u64 = 42;

/// The duration of the untimed runs before each sample, in nanoseconds.
const SETTLE: u64 = 150_000;

/// The number of wall-time rounds for each size: many for small sizes, and for the largest sizes
/// the minimum from which an interval can be computed.
const CALLERS_ROUNDS: [(u64, u32); 4] =
    [(1 << 20, 200), (1 << 24, 100), (1 << 28, 40), (u64::MAX, 12)];

/// The conditions under which a cell is measured.
#[allow(missing_debug_implementations, reason = "it holds a closure")]
pub struct Ask<'a> {
    /// Returns whether to measure the competitor with this name.
    pub takes: &'a dyn Fn(&str) -> bool,
    /// The numbers of threads per block. If there are several, every step runs with each of them in
    /// every round.
    pub blocks: Vec<Block>,
    /// The target width of the intervals, relative to the ratio, at which rounds end.
    pub target: f64,
    /// The minimum number of rounds.
    pub least: u32,
    /// The maximum number of rounds.
    pub most: u32,
    /// Whether to also measure wall times and, for `f32`, the times between ungated events.
    pub callers: bool,
    /// The SM clock rate that rounds must reach, in MHz; 0 if it cannot be read.
    pub mhz: u32,
}

/// The results for a type and size.
#[derive(Debug, Default)]
pub struct Found {
    /// Every sample.
    pub samples: Vec<Sample>,
    /// The outcome of the rounds for each cache state.
    pub cells: Vec<Cell>,
    /// The competitors that were measured.
    pub variants: Vec<measured::Variant>,
    /// The competitors that were not measured, with the reasons.
    pub absent: Vec<Absent>,
    /// The sums, with their distances from the exact sums.
    pub sums: Vec<Sum>,
    /// Descriptions of the sums that were wrong.
    pub wrong: Vec<String>,
    /// The total size of all copies of the input, in bytes. Cold samples read the copies in
    /// rotation.
    pub pool: u64,
    /// Whether the stream could be gated.
    pub gated: bool,
}

impl Rig {
    /// Measures one type and size.
    ///
    /// `until` returns the deadline of a cell. `until` is called once, when the cell begins.
    pub fn measure(
        &self,
        element: Element,
        n: u64,
        caches: &[Cache],
        ask: &Ask<'_>,
        until: &mut dyn FnMut() -> Instant,
    ) -> Result<Found> {
        match element {
            Element::F32 => self.typed::<f32>(n, caches, ask, until),
            Element::I32 => self.typed::<i32>(n, caches, ask, until),
            Element::F64 => self.typed::<f64>(n, caches, ask, until),
        }
    }

    fn typed<T: Scalar + reduce::Element>(
        &self,
        n: u64,
        caches: &[Cache],
        ask: &Ask<'_>,
        until: &mut dyn FnMut() -> Instant,
    ) -> Result<Found> {
        let started = Instant::now();
        let mut found = Found::default();
        let workload = match Workload::<T>::new(&self.device, INPUT, n, SEED) {
            Ok(workload) => workload,
            Err(error @ Error::Memory { .. }) => {
                let steps = self.entries().into_iter().filter(|e| e.role() == Role::Step);
                let names = steps.map(|entry| entry.name()).filter(|name| (ask.takes)(name));
                found.absent.extend(names.map(|name| absent::<T>(name, n, &error)));
                return Ok(found);
            }
            Err(error) => return Err(error),
        };
        found.pool = workload.pool();
        let mut competitors = self.gather::<T>(n, ask, &mut found);
        // A competitor whose sum is wrong is not timed. The call also triggers lazy loading, which
        // must not happen while the stream is gated.
        competitors.retain(|competitor| {
            let sum = found.judge::<T>(competitor, "sum", n, competitor.verify(&workload));
            sum.map(|sum| found.sums.extend(sum)).is_some()
        });
        // The exact inputs are copied once for all competitors, because copying an input of 2^32
        // elements to the device takes seconds.
        workload.while_exact(&self.device, || {
            competitors.retain(|competitor| {
                let verdict = competitor.verify_exactly(&workload);
                found.judge::<T>(competitor, "second sum", n, verdict).is_some()
            });
            Ok(())
        })?;
        found.variants = competitors.iter().map(|competitor| competitor.variant.clone()).collect();
        let flush = self.flusher()?;
        let mut stopwatch = Stopwatch::gated(self.device.gpu()?)?;
        found.gated = stopwatch.is_gated();

        let mut setup = started.elapsed();
        for &cache in caches {
            let begun = Instant::now();
            let limits =
                Until { target: ask.target, least: ask.least, most: ask.most, deadline: until() };
            let racing: Vec<&Competitor<'_>> = competitors
                .iter()
                .filter(|c| !(c.waits() || c.writes() && cache == Cache::Warm))
                .collect();
            flush()?;
            let read = || self.monitor.sm_mhz();
            let mut held = Held { read: &read, mhz: ask.mhz };
            let pairs = pairs(&racing);
            let input = || match cache {
                Cache::Cold => workload.cold(),
                Cache::Warm => workload.warm(),
            };
            let time = |competitor: &Competitor<'_>| {
                let ns = competitor.gpu_time(&mut stopwatch, input())?;
                if competitor.writes() {
                    flush()?;
                }
                Ok(ns)
            };
            let rounds = settled(&racing, &pairs, &limits, &mut held, &input, time)?;
            let name = |at: usize| racing.get(at).map_or("", |c| c.variant.name.as_str());
            found.cells.push(Cell {
                element: T::ELEMENT.to_string(),
                n,
                cache,
                rounds: rounds.kept,
                rejected: rounds.rejected,
                widest: if rounds.widest.is_finite() { rounds.widest } else { 1.0 },
                pair: format!("{} / {}", name(rounds.pair.0), name(rounds.pair.1)),
                converged: rounds.converged,
                sm_mhz: held.mhz,
                seconds: (setup + begun.elapsed()).as_secs_f64(),
            });
            setup = Duration::ZERO;
            found.keep(&racing, &workload, &rounds, cache, Clock::Gpu);
        }
        if ask.callers {
            let ungated = (T::ELEMENT == Element::F32).then_some(Clock::Ungated);
            for clock in [Clock::Host].into_iter().chain(ungated) {
                self.as_callers(clock, ask.mhz, &workload, &competitors, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Returns the competitors that can run. The other competitors are recorded with the reasons.
    fn gather<T: Scalar + reduce::Element>(
        &self,
        n: u64,
        ask: &Ask<'_>,
        found: &mut Found,
    ) -> Vec<Competitor<'_>> {
        let bytes = n * T::ELEMENT.size();
        let mut competitors = Vec::new();
        for entry in self.entries().into_iter().filter(|e| (ask.takes)(e.name()) && e.is_for(bytes))
        {
            for block in entry.blocks(&ask.blocks) {
                match entry.competitor::<T>(&self.device, &self.limits, n, block) {
                    Ok(competitor) => competitors.push(competitor),
                    Err(error) => found.absent.push(absent::<T>(entry.name(), n, &error)),
                }
            }
        }
        competitors
    }

    /// Measures wall times. The rounds are like GPU-gated rounds, but their number is fixed,
    /// because the host's timing noise is too large for the intervals to become narrow.
    fn as_callers<T: Scalar>(
        &self,
        clock: Clock,
        mhz: u32,
        workload: &Workload<T>,
        competitors: &[Competitor<'_>],
        found: &mut Found,
    ) -> Result<()> {
        let n = workload.values.len() as u64;
        let rounds = CALLERS_ROUNDS.iter().find(|(most, _)| n <= *most).map_or(12, |found| found.1);
        let deadline = Instant::now() + Duration::from_secs(60);
        let limits = Until { target: 0.0, least: rounds, most: rounds, deadline };
        // An empty kernel reads nothing, so its time between ungated events is the time of a
        // launch.
        let floor = |c: &Competitor<'_>| clock == Clock::Ungated && c.variant.role == Role::Floor;
        let racing: Vec<_> = competitors.iter().filter(|c| c.sums() || floor(c)).collect();
        let read = || self.monitor.sm_mhz();
        let mut held = Held { read: &read, mhz };
        let input = || workload.cold();
        let mut stopwatch = Stopwatch::ungated(self.device.gpu()?)?;
        let time = |competitor: &Competitor<'_>| match clock {
            Clock::Host => competitor.host_time(input()),
            _ => competitor.gpu_time(&mut stopwatch, input()),
        };
        let rounds = settled(&racing, &[], &limits, &mut held, &input, time)?;
        found.keep(&racing, workload, &rounds, Cache::Cold, clock);
        Ok(())
    }
}

/// Runs rounds in which each competitor is timed after untimed runs of the same competitor.
///
/// The preceding kernel leaves the multiprocessors in a state that changes the next kernel's time
/// by up to a third. The effect lasts for tens of microseconds of work. Each competitor is
/// therefore timed only after enough runs of the same competitor. If the cache state is warm, these
/// runs also bring the input into L2.
fn settled<'w>(
    racing: &[&Competitor<'_>],
    pairs: &[(usize, usize)],
    until: &Until,
    held: &mut Held<'_>,
    input: &dyn Fn() -> Address<'w>,
    mut time: impl FnMut(&Competitor<'_>) -> Result<u64>,
) -> Result<Rounds> {
    let mut sample = |at: usize, before: u64| {
        for _ in 0..before {
            racing[at].start(input())?;
        }
        time(racing[at])
    };
    // The first launches fill the instruction caches, and show how long each competitor takes.
    let mut before = Vec::with_capacity(racing.len());
    for at in 0..racing.len() {
        before.push(SETTLE.div_ceil(sample(at, 1)?).clamp(1, 32));
    }
    rounds::run(racing.len(), pairs, until, held, |at| sample(at, before[at]))
}

/// Returns the pairs whose ratios must converge: every step with the previous one, and every sum
/// with CUB's sum or, if there is no CUB, with the first sum.
fn pairs(competitors: &[&Competitor<'_>]) -> Vec<(usize, usize)> {
    let sums: Vec<usize> = (0..competitors.len()).filter(|&at| competitors[at].sums()).collect();
    let peer = competitors.iter().position(|c| c.variant.name == measured::PEER);
    let Some(base) = peer.or(sums.first().copied()) else { return Vec::new() };
    let to_base = sums.iter().filter(|&&at| at != base).map(|&at| (base, at));
    let steps: Vec<usize> =
        sums.iter().copied().filter(|&at| competitors[at].variant.role == Role::Step).collect();
    steps.windows(2).map(|pair| (pair[0], pair[1])).chain(to_base).collect()
}

impl Found {
    /// Returns the competitor's sum, if it has a sum and the sum is right. Returns `None` if the
    /// competitor must not be timed, and records the reason.
    fn judge<T: Scalar>(
        &mut self,
        competitor: &Competitor<'_>,
        which: &str,
        n: u64,
        verdict: Result<Option<Verdict>>,
    ) -> Option<Option<Sum>> {
        let (name, role) = (competitor.variant.name.as_str(), competitor.variant.role);
        let reason = match verdict {
            Err(error) => {
                if let Error::Wrong(reason) = &error {
                    self.wrong.push(reason.clone());
                }
                error.to_string()
            }
            Ok(Some(verdict)) if !verdict.verified() => {
                let reason = wrong::<T>(name, which, n, &verdict);
                // A wrong sum from this project is an error. A wrong sum from a peer is reported in
                // the table.
                if role != Role::Peer {
                    self.wrong.push(format!("{name}: {reason}"));
                }
                reason
            }
            Ok(verdict) => {
                return Some(verdict.map(|verdict| Sum {
                    variant: name.to_owned(),
                    element: T::ELEMENT.to_string(),
                    threads: competitor.threads,
                    n,
                    sum: verdict.sum.as_f64(),
                    error: verdict.error,
                    bound: verdict.bound,
                }));
            }
        };
        self.absent.push(absent::<T>(name, n, &reason));
        None
    }

    /// Keeps the samples from the competitors whose last sums were also right.
    fn keep<T: Scalar>(
        &mut self,
        racing: &[&Competitor<'_>],
        workload: &Workload<T>,
        rounds: &Rounds,
        cache: Cache,
        clock: Clock,
    ) {
        let n = workload.values.len() as u64;
        for (competitor, times) in racing.iter().zip(&rounds.times) {
            if self
                .judge::<T>(competitor, "last timed sum", n, competitor.verify_last(workload))
                .is_none()
            {
                continue;
            }
            self.samples.extend(times.iter().map(|&(round, ns)| Sample {
                variant: competitor.variant.name.clone(),
                element: T::ELEMENT.to_string(),
                threads: competitor.threads,
                n,
                cache,
                clock,
                round,
                ns,
            }));
        }
    }
}

/// Describes a wrong sum, and gives the reason if it is known.
fn wrong<T: Scalar>(name: &str, which: &str, n: u64, verdict: &Verdict) -> String {
    let Verdict { sum, expected, .. } = verdict;
    let reason = format!("its {which} of {n} {} is wrong: {sum} instead of {expected}", T::ELEMENT);
    match Peer::known_fault(name) {
        Some(fault) => format!("{reason} ({fault})"),
        None => reason,
    }
}

fn absent<T: Scalar>(name: &str, n: u64, reason: &dyn Display) -> Absent {
    let (element, reason) = (T::ELEMENT.to_string(), reason.to_string());
    Absent { variant: name.to_owned(), element, n, reason }
}

#[cfg(test)]
mod tests {
    use common::device::{Choice, Device, Settings};

    use super::*;
    use crate::{
        LIMITS, STEPS, STUDIES,
        competitors::{Entry, Limits},
    };

    /// Returns the outcome for a competitor that has added 1025 ones, but whose last sum is
    /// compared with the sum of another input.
    fn kept(entry: Entry<'_>, input: Input) -> Found {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let limits = Limits::load(&device, &LIMITS).unwrap();
        let block = Block::new(64).unwrap();
        let [first, second] = [Input::Ones, input]
            .map(|input| Workload::<i32>::new(&device, input, 1025, SEED).unwrap());
        let competitor = entry.competitor::<i32>(&device, &limits, 1025, block).unwrap();
        competitor.start(first.warm()).unwrap();
        let rounds = Rounds { times: vec![vec![(0, 900), (1, 901)]], ..Rounds::default() };
        let mut found = Found::default();
        found.keep(&[&competitor], &second, &rounds, Cache::Cold, Clock::Gpu);
        found
    }

    #[test]
    fn a_wrong_last_sum_takes_the_samples_with_it() {
        let right = kept(Entry::Step(STEPS[3]), Input::Ones);
        assert_eq!((right.samples.len(), right.absent.len(), right.wrong.len()), (2, 0, 0));
        assert_eq!((right.samples[1].ns, right.samples[1].threads), (901, 64));
        for entry in [Entry::Step(STEPS[3]), Entry::Way(STUDIES[0], STUDIES[0].ways[0])] {
            let found = kept(entry, Input::OneHot(7));
            assert!(found.samples.is_empty());
            let reason = &found.absent[0].reason;
            assert!(reason.starts_with(&format!("{} is wrong in run", entry.name())), "{reason}");
            assert!(reason.contains("is 1, but the kernel gave 1025"), "{reason}");
            assert_eq!(found.wrong, [reason.as_str()]);
        }
    }

    /// Creates competitors with these names and roles, all with the same launch.
    fn named<'d>(
        device: &'d Device,
        limits: &'d Limits,
        all: &[(&str, Role)],
    ) -> Vec<Competitor<'d>> {
        let block = Block::new(64).unwrap();
        let made = |&(name, role): &(&str, Role)| {
            let mut made =
                Entry::Step(STEPS[3]).competitor::<i32>(device, limits, 33, block).unwrap();
            (made.variant.name, made.variant.role) = (name.to_owned(), role);
            made
        };
        all.iter().map(made).collect()
    }

    #[test]
    fn every_step_is_paired_with_the_one_before_and_every_sum_with_cub() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let limits = Limits::load(&device, &LIMITS).unwrap();
        let of = |all: &[(&str, Role)]| {
            let all = named(&device, &limits, all);
            pairs(&all.iter().collect::<Vec<_>>())
        };
        let floor = ("empty-kernel", Role::Floor);
        let [a, b, c] = ["a", "b", "c"].map(|name| (name, Role::Step));
        let (cub, reduce) = (("cub", Role::Peer), ("reduce", Role::Reduce));
        assert_eq!(
            of(&[floor, a, b, cub, reduce, c]),
            [(1, 2), (2, 5), (3, 1), (3, 2), (3, 4), (3, 5)]
        );
        // Without CUB, the first sum is the baseline.
        assert_eq!(of(&[floor, a, reduce]), [(1, 2)]);
        assert_eq!(of(&[floor]), []);
    }

    #[test]
    fn a_wrong_peer_is_absent_and_a_wrong_step_a_finding_too() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let limits = Limits::load(&device, &LIMITS).unwrap();
        let all = [("cub", Role::Peer), ("reduce", Role::Reduce)];
        let exact = i32::sum(&[5]);
        for (competitor, wrong) in named(&device, &limits, &all).iter().zip([0, 1]) {
            let mut found = Found::default();
            let verdict = Ok(Some(Verdict::of(4, &exact, 1)));
            assert_eq!(found.judge::<i32>(competitor, "sum", 33, verdict), None);
            let reason = "its sum of 33 i32 is wrong: 4 instead of 5";
            assert_eq!(found.absent[0].reason, reason);
            assert_eq!(found.wrong.len(), wrong);
            assert!(found.wrong.iter().all(|said| said.ends_with(reason)), "{:?}", found.wrong);
            let right =
                found.judge::<i32>(competitor, "sum", 33, Ok(Some(Verdict::of(5, &exact, 1))));
            assert_eq!(right.unwrap().map(|sum| (sum.sum, sum.error, sum.n)), Some((5.0, 0.0, 33)));
        }
    }

    #[test]
    fn a_limit_without_a_sum_is_not_verified() {
        let found = kept(Entry::Floor, Input::OneHot(7));
        assert_eq!((found.samples.len(), found.wrong.len()), (2, 0));
    }
}
