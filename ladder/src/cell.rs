//! One type and size, measured: contenders made, verified, run in rounds, and verified again.

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
    contenders::{Contender, cub::Peer},
    rig::Rig,
    rounds::{self, Held, Rounds, Until},
};

/// What every element is drawn from.
pub const INPUT: Input = Input::Uniform;
/// The seed of every input.
pub const SEED: u64 = 42;

/// Nanoseconds of untimed runs before each sample.
const SETTLE: u64 = 150_000;

/// Rounds as a caller sees them: up to these sizes many, above them as few as have an interval.
const CALLERS_ROUNDS: [(u64, u32); 4] =
    [(1 << 20, 200), (1 << 24, 100), (1 << 28, 40), (u64::MAX, 12)];

/// What a cell is measured with.
#[allow(missing_debug_implementations, reason = "it holds a closure")]
pub struct Ask<'a> {
    /// Who takes part, by name.
    pub takes: &'a dyn Fn(&str) -> bool,
    /// Threads of a block; with several, every step runs with each in every round.
    pub blocks: Vec<Block>,
    /// The width of an interval that is narrow enough.
    pub target: f64,
    /// The fewest rounds.
    pub least: u32,
    /// The most rounds.
    pub most: u32,
    /// Whether to time what a caller sees too: on the host's clock and, for f32, ungated.
    pub callers: bool,
    /// The SM clock that rounds are held to, in MHz; 0 where it cannot be read.
    pub mhz: u32,
}

/// What came of a type and size.
#[derive(Debug, Default)]
pub struct Found {
    /// Every sample.
    pub samples: Vec<Sample>,
    /// How each cache's rounds ended.
    pub cells: Vec<Cell>,
    /// What was measured.
    pub variants: Vec<measured::Variant>,
    /// What was not, and why.
    pub absent: Vec<Absent>,
    /// What was summed, and how far from the exact sum.
    pub sums: Vec<Sum>,
    /// Sums that were wrong.
    pub wrong: Vec<String>,
    /// Bytes of copies that cold samples walked through.
    pub pool: u64,
    /// Whether the stream was held back.
    pub gated: bool,
}

impl Rig {
    /// Measures one type and size.
    ///
    /// `until` says when a cell's time is up; it is asked once a cell, when the cell begins.
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
        let mut contenders = self.gather::<T>(n, ask, &mut found);
        // A wrong sum has no time. The call also loads whatever a contender loads late, which must
        // not happen while the stream is held back.
        contenders.retain(|contender| {
            let sum = found.judge::<T>(contender, "sum", n, contender.verify(&workload));
            sum.map(|sum| found.sums.extend(sum)).is_some()
        });
        // Once for all: at 2^32 the copies to the device take seconds.
        workload.while_exact(&self.device, || {
            contenders.retain(|contender| {
                let verdict = contender.verify_exactly(&workload);
                found.judge::<T>(contender, "second sum", n, verdict).is_some()
            });
            Ok(())
        })?;
        found.variants = contenders.iter().map(|contender| contender.variant.clone()).collect();
        let flush = self.flusher()?;
        let mut stopwatch = Stopwatch::gated(self.device.gpu()?)?;
        found.gated = stopwatch.is_gated();

        let mut setup = started.elapsed();
        for &cache in caches {
            let begun = Instant::now();
            let limits =
                Until { target: ask.target, least: ask.least, most: ask.most, deadline: until() };
            let racing: Vec<&Contender<'_>> = contenders
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
            let time = |contender: &Contender<'_>| {
                let ns = contender.gpu_time(&mut stopwatch, input())?;
                if contender.writes() {
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
                self.as_callers(clock, ask.mhz, &workload, &contenders, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Everyone who takes part and can; the others are listed with their reason.
    fn gather<T: Scalar + reduce::Element>(
        &self,
        n: u64,
        ask: &Ask<'_>,
        found: &mut Found,
    ) -> Vec<Contender<'_>> {
        let bytes = n * T::ELEMENT.size();
        let mut contenders = Vec::new();
        for entry in self.entries().into_iter().filter(|e| (ask.takes)(e.name()) && e.is_for(bytes))
        {
            for block in entry.blocks(&ask.blocks) {
                match entry.contender::<T>(&self.device, &self.limits, n, block) {
                    Ok(contender) => contenders.push(contender),
                    Err(error) => found.absent.push(absent::<T>(entry.name(), n, &error)),
                }
            }
        }
        contenders
    }

    /// What a caller sees, in rounds like the others: a fixed number of them, since what the host
    /// does scatters more than any interval should wait for.
    fn as_callers<T: Scalar>(
        &self,
        clock: Clock,
        mhz: u32,
        workload: &Workload<T>,
        contenders: &[Contender<'_>],
        found: &mut Found,
    ) -> Result<()> {
        let n = workload.values.len() as u64;
        let rounds = CALLERS_ROUNDS.iter().find(|(most, _)| n <= *most).map_or(12, |found| found.1);
        let deadline = Instant::now() + Duration::from_secs(60);
        let limits = Until { target: 0.0, least: rounds, most: rounds, deadline };
        // An empty kernel has nothing to fetch; between events, it is what launching costs.
        let floor = |c: &Contender<'_>| clock == Clock::Ungated && c.variant.role == Role::Floor;
        let racing: Vec<_> = contenders.iter().filter(|c| c.sums() || floor(c)).collect();
        let read = || self.monitor.sm_mhz();
        let mut held = Held { read: &read, mhz };
        let input = || workload.cold();
        let mut stopwatch = Stopwatch::ungated(self.device.gpu()?)?;
        let time = |contender: &Contender<'_>| match clock {
            Clock::Host => contender.host_time(input()),
            _ => contender.gpu_time(&mut stopwatch, input()),
        };
        let rounds = settled(&racing, &[], &limits, &mut held, &input, time)?;
        found.keep(&racing, workload, &rounds, Cache::Cold, clock);
        Ok(())
    }
}

/// Runs rounds in which each is timed after untimed runs of itself.
///
/// What ran before leaves the multiprocessors in a state that changes the next kernel's time by
/// up to a third, and that lasts for tens of microseconds of work. So each is timed after
/// itself, as often as it takes for that. Warm: the input is in L2 by this.
fn settled<'w>(
    racing: &[&Contender<'_>],
    pairs: &[(usize, usize)],
    until: &Until,
    held: &mut Held<'_>,
    input: &dyn Fn() -> Address<'w>,
    mut time: impl FnMut(&Contender<'_>) -> Result<u64>,
) -> Result<Rounds> {
    let mut sample = |at: usize, before: u64| {
        for _ in 0..before {
            racing[at].start(input())?;
        }
        time(racing[at])
    };
    // The first launches find cold instruction caches, and tell how long each takes.
    let mut before = Vec::with_capacity(racing.len());
    for at in 0..racing.len() {
        before.push(SETTLE.div_ceil(sample(at, 1)?).clamp(1, 32));
    }
    rounds::run(racing.len(), pairs, until, held, |at| sample(at, before[at]))
}

/// The ratios that have to be known: every step to the one before, and every sum to CUB's (or to
/// the first, without CUB).
fn pairs(contenders: &[&Contender<'_>]) -> Vec<(usize, usize)> {
    let sums: Vec<usize> = (0..contenders.len()).filter(|&at| contenders[at].sums()).collect();
    let peer = contenders.iter().position(|c| c.variant.name == measured::PEER);
    let Some(base) = peer.or(sums.first().copied()) else { return Vec::new() };
    let to_base = sums.iter().filter(|&&at| at != base).map(|&at| (base, at));
    let steps: Vec<usize> =
        sums.iter().copied().filter(|&at| contenders[at].variant.role == Role::Step).collect();
    steps.windows(2).map(|pair| (pair[0], pair[1])).chain(to_base).collect()
}

impl Found {
    /// What a verdict says of a contender: its sum, if it has one; `None` if it may have no time,
    /// which is written down with the reason.
    fn judge<T: Scalar>(
        &mut self,
        contender: &Contender<'_>,
        which: &str,
        n: u64,
        verdict: Result<Option<Verdict>>,
    ) -> Option<Option<Sum>> {
        let (name, role) = (contender.variant.name.as_str(), contender.variant.role);
        let reason = match verdict {
            Err(error) => {
                if let Error::Wrong(reason) = &error {
                    self.wrong.push(reason.clone());
                }
                error.to_string()
            }
            Ok(Some(verdict)) if !verdict.verified() => {
                let reason = wrong::<T>(name, which, n, &verdict);
                // Ours must be right; a peer that is wrong is a row that says so.
                if role != Role::Peer {
                    self.wrong.push(format!("{name}: {reason}"));
                }
                reason
            }
            Ok(verdict) => {
                return Some(verdict.map(|verdict| Sum {
                    variant: name.to_owned(),
                    element: T::ELEMENT.to_string(),
                    threads: contender.threads,
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

    /// Keeps the samples of those whose last sum was right too.
    fn keep<T: Scalar>(
        &mut self,
        racing: &[&Contender<'_>],
        workload: &Workload<T>,
        rounds: &Rounds,
        cache: Cache,
        clock: Clock,
    ) {
        let n = workload.values.len() as u64;
        for (contender, times) in racing.iter().zip(&rounds.times) {
            if self
                .judge::<T>(contender, "last timed sum", n, contender.verify_last(workload))
                .is_none()
            {
                continue;
            }
            self.samples.extend(times.iter().map(|&(round, ns)| Sample {
                variant: contender.variant.name.clone(),
                element: T::ELEMENT.to_string(),
                threads: contender.threads,
                n,
                cache,
                clock,
                round,
                ns,
            }));
        }
    }
}

/// How a sum is wrong, with the reason where it is known.
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
        contenders::{Entry, Limits},
    };

    /// What is found of a contender that has summed 1025 ones last, held against another input.
    fn kept(entry: Entry<'_>, input: Input) -> Found {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let limits = Limits::load(&device, &LIMITS).unwrap();
        let block = Block::new(64).unwrap();
        let [first, second] = [Input::Ones, input]
            .map(|input| Workload::<i32>::new(&device, input, 1025, SEED).unwrap());
        let contender = entry.contender::<i32>(&device, &limits, 1025, block).unwrap();
        contender.start(first.warm()).unwrap();
        let rounds = Rounds { times: vec![vec![(0, 900), (1, 901)]], ..Rounds::default() };
        let mut found = Found::default();
        found.keep(&[&contender], &second, &rounds, Cache::Cold, Clock::Gpu);
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
            assert!(reason.contains("is 1, the kernel gave 1025"), "{reason}");
            assert_eq!(found.wrong, [reason.as_str()]);
        }
    }

    /// Contenders by name and part, all launched alike.
    fn named<'d>(
        device: &'d Device,
        limits: &'d Limits,
        all: &[(&str, Role)],
    ) -> Vec<Contender<'d>> {
        let block = Block::new(64).unwrap();
        let made = |&(name, role): &(&str, Role)| {
            let mut made =
                Entry::Step(STEPS[3]).contender::<i32>(device, limits, 33, block).unwrap();
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
        // Without CUB the first sum takes its place.
        assert_eq!(of(&[floor, a, reduce]), [(1, 2)]);
        assert_eq!(of(&[floor]), []);
    }

    #[test]
    fn a_peer_that_is_wrong_is_absent_and_one_of_ours_a_finding_too() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let limits = Limits::load(&device, &LIMITS).unwrap();
        let all = [("cub", Role::Peer), ("reduce", Role::Reduce)];
        let exact = i32::sum(&[5]);
        for (contender, wrong) in named(&device, &limits, &all).iter().zip([0, 1]) {
            let mut found = Found::default();
            let verdict = Ok(Some(Verdict::of(4, &exact, 1)));
            assert_eq!(found.judge::<i32>(contender, "sum", 33, verdict), None);
            let reason = "its sum of 33 i32 is wrong: 4 instead of 5";
            assert_eq!(found.absent[0].reason, reason);
            assert_eq!(found.wrong.len(), wrong);
            assert!(found.wrong.iter().all(|said| said.ends_with(reason)), "{:?}", found.wrong);
            let right =
                found.judge::<i32>(contender, "sum", 33, Ok(Some(Verdict::of(5, &exact, 1))));
            assert_eq!(right.unwrap().map(|sum| (sum.sum, sum.error, sum.n)), Some((5.0, 0.0, 33)));
        }
    }

    #[test]
    fn what_adds_nothing_is_not_asked_for_a_sum() {
        let found = kept(Entry::Floor, Input::OneHot(7));
        assert_eq!((found.samples.len(), found.wrong.len()), (2, 0));
    }
}
