//! One type and size, measured: contenders made, verified, and run in rounds.

use std::time::{Duration, Instant};

use common::{
    Element, Error, Result, Step,
    device::{Choice, Device, Memory, Program, Settings, Stopwatch},
    plan::Block,
    sum::{Input, Scalar, Workload},
};
use measured::{Absent, Cache, Cell, Clock, Sample, Sum};

use crate::{
    blas::{Blas, Routine},
    clock::Monitor,
    contender::{self, Contender, Loaded},
    library,
    peer::{Peer, Peers},
    rounds::{self, Held, Limits, Rounds},
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

/// The GPU, and everything that can be measured on it.
#[derive(Debug)]
pub struct Bench {
    /// The GPU.
    pub device: Device,
    /// CUB and Thrust, or why not.
    pub peers: Result<Peers, String>,
    /// cuBLAS, or why not.
    pub blas: Result<Blas, String>,
    /// Its clocks.
    pub monitor: Monitor,
    bounds: Program,
    /// Three times the L2, clean: reading it drives everything else out.
    flush: Memory,
    flush_bytes: u64,
}

/// Who takes part.
pub type Takes<'t> = &'t dyn Fn(&str) -> bool;

/// What a cell is measured with.
#[derive(Clone, Debug)]
pub struct Ask {
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

impl Bench {
    /// Opens a GPU; the interpreter has no times.
    pub fn open(choice: Choice, peers: Option<&std::path::Path>) -> Result<Bench> {
        let choice = match choice {
            Choice::Auto => Choice::Cuda(0),
            Choice::Simt => return Err(Error::NoGpu),
            choice => choice,
        };
        let device = Device::open(choice, &Settings::default())?;
        let cuda = contender::gpu(&device)?;
        let (monitor, blas) = (Monitor::new(cuda), Blas::load(cuda));
        let bounds = contender::bounds(&device)?;
        let flush_bytes = (3 * device.facts().l2).max(1 << 20);
        let flush = device.alloc("what is read to empty the L2 cache", flush_bytes)?;
        device.fill(&flush, 1)?;
        let peers = Peers::load(peers);
        Ok(Bench { device, peers, blas, monitor, bounds, flush, flush_bytes })
    }

    /// Keeps the GPU busy until its clock has come up, and reads it.
    pub fn wake(&self) -> Result<u32> {
        let reader = Contender::read(&self.device, &self.bounds, self.flush_bytes)?;
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(500) {
            for _ in 0..100 {
                reader.start(&self.device, self.flush.address())?;
            }
            self.device.finish()?;
        }
        Ok(self.monitor.sm_mhz().unwrap_or(0))
    }

    /// Measures one type and size.
    ///
    /// `until` says when a cell's time is up; it is asked once a cell, when the cell begins.
    #[expect(clippy::too_many_arguments, reason = "each is said once, in `measure` and `compare`")]
    pub fn measure(
        &self,
        element: Element,
        n: u64,
        steps: &[&'static Step],
        takes: Takes<'_>,
        caches: &[Cache],
        ask: &Ask,
        mhz: &mut u32,
        until: &mut dyn FnMut() -> Instant,
    ) -> Result<Found> {
        match element {
            Element::F32 => self.typed::<f32>(n, steps, takes, caches, ask, mhz, until),
            Element::I32 => self.typed::<i32>(n, steps, takes, caches, ask, mhz, until),
            Element::F64 => self.typed::<f64>(n, steps, takes, caches, ask, mhz, until),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "as above")]
    fn typed<T: Scalar + reduce::Element>(
        &self,
        n: u64,
        steps: &[&'static Step],
        takes: Takes<'_>,
        caches: &[Cache],
        ask: &Ask,
        mhz: &mut u32,
        until: &mut dyn FnMut() -> Instant,
    ) -> Result<Found> {
        let started = Instant::now();
        let device = &self.device;
        let mut found = Found::default();
        let steps: Vec<_> = steps.iter().filter(|step| takes(step.name)).collect();
        let workload = match Workload::<T>::new(device, INPUT, n, SEED) {
            Ok(workload) => workload,
            Err(error @ Error::Memory { .. }) => {
                let names = steps.iter().map(|step| step.name);
                found.absent.extend(names.map(|name| absent::<T>(name, n, &error)));
                return Ok(found);
            }
            Err(error) => return Err(error),
        };
        found.pool = workload.pool();
        let mut loaded = Vec::new();
        for (step, &block) in steps.iter().flat_map(|s| ask.blocks.iter().map(move |b| (s, b))) {
            let problem = contender::problem(device, T::ELEMENT, n, block);
            match Loaded::new(device, step, &problem) {
                Ok(step) => loaded.push(step),
                Err(error) => found.absent.push(absent::<T>(step.name, n, &error)),
            }
        }
        let small = workload_bytes::<T>(n) <= small_sum::SMALL;
        for way in small_sum::WAYS.into_iter().filter(|way| small && takes(way.name)) {
            let problem = contender::problem(device, T::ELEMENT, n, ask.blocks[0]);
            match Loaded::way(device, way, small_sum::SMALL, &problem) {
                Ok(way) => loaded.push(way),
                Err(error) => found.absent.push(absent::<T>(way.name, n, &error)),
            }
        }
        let mut contenders = Vec::new();
        self.gather::<T>(n, &loaded, takes, &mut contenders, &mut found);
        self.verify(n, &workload, &mut contenders, &mut found);
        found.variants = contenders.iter().map(|contender| contender.variant.clone()).collect();
        let flusher = Contender::read(device, &self.bounds, self.flush_bytes)?;
        let flush = || flusher.start(device, self.flush.address());
        let mut stopwatch = Stopwatch::new(contender::gpu(device)?)?;
        found.gated = stopwatch.is_gated();

        let mut setup = started.elapsed();
        for &cache in caches {
            let begun = Instant::now();
            let limits =
                Limits { target: ask.target, least: ask.least, most: ask.most, deadline: until() };
            let racing: Vec<&Contender<'_>> = contenders
                .iter()
                .filter(|c| !(c.waits() || c.writes() && cache == Cache::Warm))
                .collect();
            flush()?;
            let read = || self.monitor.sm_mhz();
            let mut held = Held { read: &read, mhz: *mhz };
            let pairs = pairs(&racing);
            let input = || match cache {
                Cache::Cold => workload.cold(),
                Cache::Warm => workload.warm(),
            };
            let time = |contender: &Contender<'_>| {
                let ns = contender.gpu_time(device, &mut stopwatch, input())?;
                if contender.writes() {
                    flush()?;
                }
                Ok(ns)
            };
            let rounds = self.settled(&racing, &pairs, &limits, &mut held, &input, time)?;
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
            for (contender, times) in racing.iter().zip(&rounds.times) {
                keep::<T>(&mut found.samples, contender, n, cache, Clock::Gpu, times);
            }
        }
        if ask.callers {
            let ungated = (T::ELEMENT == Element::F32).then_some(Clock::Ungated);
            for clock in [Clock::Host].into_iter().chain(ungated) {
                self.as_callers(clock, *mhz, &workload, &contenders, &mut stopwatch, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Runs rounds in which each is timed after untimed runs of itself.
    ///
    /// What ran before leaves the multiprocessors in a state that changes the next kernel's time by
    /// up to a third, and that lasts for tens of microseconds of work. So each is timed after
    /// itself, as often as it takes for that. Warm: the input is in L2 by this.
    fn settled(
        &self,
        racing: &[&Contender<'_>],
        pairs: &[(usize, usize)],
        limits: &Limits,
        held: &mut Held<'_>,
        input: &dyn Fn() -> u64,
        mut time: impl FnMut(&Contender<'_>) -> Result<u64>,
    ) -> Result<Rounds> {
        let mut sample = |at: usize, before: u64| {
            for _ in 0..before {
                racing[at].start(&self.device, input())?;
            }
            time(racing[at])
        };
        // The first launches find cold instruction caches, and tell how long each takes.
        let mut before = Vec::with_capacity(racing.len());
        for at in 0..racing.len() {
            before.push(SETTLE.div_ceil(sample(at, 1)?).clamp(1, 32));
        }
        rounds::run(racing.len(), pairs, limits, held, |at| sample(at, before[at]))
    }

    /// Everyone who takes part and can; the others are listed with their reason.
    fn gather<'d, T: Scalar + reduce::Element>(
        &'d self,
        n: u64,
        loaded: &'d [Loaded],
        takes: Takes<'_>,
        contenders: &mut Vec<Contender<'d>>,
        found: &mut Found,
    ) {
        let device = &self.device;
        let Ok(cuda) = contender::gpu(device) else { return };
        let bytes = workload_bytes::<T>(n);
        let mut add = |name: &str, made: Result<Contender<'d>>| match made {
            Ok(contender) => contenders.push(contender),
            Err(error) => found.absent.push(absent::<T>(name, n, &error)),
        };
        if takes(contender::FLOOR) {
            add(contender::FLOOR, Ok(Contender::floor(&self.bounds)));
        }
        if takes(contender::READ) {
            add(contender::READ, Contender::read(device, &self.bounds, bytes));
        }
        if takes(contender::COPY) {
            add(contender::COPY, Contender::copy(cuda, bytes));
        }
        for step in loaded {
            add(step.step.name, step.contender(device));
        }
        if takes(library::NAME) {
            add(library::NAME, Contender::library::<T>(cuda, n));
        }
        if let Ok(peers) = &self.peers {
            for peer in peers.peers.iter().filter(|peer| takes(&peer.name)) {
                let bound = peers.bind(cuda, peer, T::ELEMENT, n);
                add(&peer.name, bound.map(|bound| Contender::peer(bound, &peers.version)));
            }
        }
        if let Ok(blas) = &self.blas {
            for routine in [Routine::Asum, Routine::Dot] {
                if takes(routine.name()) {
                    let bound = blas.bind(cuda, routine, T::ELEMENT, n);
                    let version = &blas.version;
                    add(routine.name(), bound.map(|b| Contender::blas(b, routine, version)));
                }
            }
        }
    }

    /// A wrong sum has no time. The call also loads whatever the contender loads late, which must
    /// not happen while the stream is held back.
    fn verify<T: Scalar>(
        &self,
        n: u64,
        workload: &Workload<T>,
        contenders: &mut Vec<Contender<'_>>,
        found: &mut Found,
    ) {
        contenders.retain(|contender| {
            let name = &contender.variant.name;
            match contender.verify::<T>(&self.device, workload.warm(), &workload.reference) {
                Ok(Some(verdict)) if !verdict.verified() => {
                    let reason = format!(
                        "its sum of {n} {} is wrong: {} instead of {}",
                        T::ELEMENT,
                        verdict.sum,
                        verdict.expected
                    );
                    let reason = match Peer::known_fault(name) {
                        Some(fault) => format!("{reason} ({fault})"),
                        None => reason,
                    };
                    // Ours must be right; a peer that is wrong is a row that says so.
                    if contender.variant.role != measured::Role::Peer {
                        found.wrong.push(format!("{name}: {reason}"));
                    }
                    found.absent.push(absent::<T>(name, n, &reason));
                    false
                }
                Ok(verdict) => {
                    found.sums.extend(verdict.map(|verdict| Sum {
                        variant: name.clone(),
                        element: T::ELEMENT.to_string(),
                        threads: contender.threads,
                        n,
                        sum: verdict.sum.as_f64(),
                        error: verdict.error,
                        bound: verdict.bound,
                    }));
                    true
                }
                Err(error) => {
                    found.absent.push(absent::<T>(name, n, &error));
                    false
                }
            }
        });
    }

    /// What a caller sees, in rounds like the others: a fixed number of them, since what the host
    /// does scatters more than any interval should wait for.
    fn as_callers<T: Scalar>(
        &self,
        clock: Clock,
        mhz: u32,
        workload: &Workload<T>,
        contenders: &[Contender<'_>],
        stopwatch: &mut Stopwatch<'_>,
        found: &mut Found,
    ) -> Result<()> {
        let n = workload.values.len() as u64;
        let rounds = CALLERS_ROUNDS.iter().find(|(most, _)| n <= *most).map_or(12, |found| found.1);
        let deadline = Instant::now() + Duration::from_secs(60);
        let limits = Limits { target: 0.0, least: rounds, most: rounds, deadline };
        // An empty kernel has nothing to fetch; between events, it is what launching costs.
        let floor =
            |c: &Contender<'_>| clock == Clock::Ungated && c.variant.name == contender::FLOOR;
        let racing: Vec<_> = contenders.iter().filter(|c| c.sums() || floor(c)).collect();
        let read = || self.monitor.sm_mhz();
        let mut held = Held { read: &read, mhz };
        let input = || workload.cold();
        let time = |contender: &Contender<'_>| match clock {
            Clock::Host => contender.host_time(&self.device, input()),
            _ => contender.ungated_time(&self.device, stopwatch, input()),
        };
        let rounds = self.settled(&racing, &[], &limits, &mut held, &input, time)?;
        for (contender, times) in racing.iter().zip(&rounds.times) {
            keep::<T>(&mut found.samples, contender, n, Cache::Cold, clock, times);
        }
        Ok(())
    }

    /// What is missing for every type and size, with the reason.
    pub fn missing(&self, takes: Takes<'_>) -> Vec<Absent> {
        let mut absent = Vec::new();
        let mut add = |name: &str, reason: &str| {
            if takes(name) {
                let (variant, reason) = (name.to_owned(), reason.to_owned());
                absent.push(Absent { variant, element: String::new(), n: 0, reason });
            }
        };
        if let Err(reason) = &self.peers {
            ["cub", "cub-atomic", "cub-gpu-to-gpu", "thrust"].iter().for_each(|n| add(n, reason));
        }
        if let Err(reason) = &self.blas {
            [Routine::Asum, Routine::Dot].iter().for_each(|routine| add(routine.name(), reason));
        }
        absent
    }

    /// Versions of the peers' libraries.
    pub fn versions(&self) -> String {
        let cub = self.peers.as_ref().map(|peers| peers.version.clone());
        let blas = self.blas.as_ref().map(|blas| format!("cuBLAS {}", blas.version));
        [cub.ok(), blas.ok()].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// The ratios that have to be known: every step to the one before, and every sum to CUB's (or to
/// the first, without CUB).
fn pairs(contenders: &[&Contender<'_>]) -> Vec<(usize, usize)> {
    let sums: Vec<usize> = (0..contenders.len()).filter(|&at| contenders[at].sums()).collect();
    let peer = contenders.iter().position(|c| c.variant.name == measured::page::PEER);
    let Some(base) = peer.or(sums.first().copied()) else { return Vec::new() };
    let to_base = sums.iter().filter(|&&at| at != base).map(|&at| (base, at));
    let steps: Vec<usize> = sums
        .iter()
        .copied()
        .filter(|&at| contenders[at].variant.role == measured::Role::Step)
        .collect();
    steps.windows(2).map(|pair| (pair[0], pair[1])).chain(to_base).collect()
}

fn keep<T: Scalar>(
    samples: &mut Vec<Sample>,
    contender: &Contender<'_>,
    n: u64,
    cache: Cache,
    clock: Clock,
    times: &[(u32, u64)],
) {
    samples.extend(times.iter().map(|&(round, ns)| Sample {
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

fn absent<T: Scalar>(name: &str, n: u64, reason: &dyn std::fmt::Display) -> Absent {
    let (element, reason) = (T::ELEMENT.to_string(), reason.to_string());
    Absent { variant: name.to_owned(), element, n, reason }
}

fn workload_bytes<T: Scalar>(n: u64) -> u64 {
    n * T::ELEMENT.size()
}
