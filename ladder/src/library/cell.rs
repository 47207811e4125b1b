//! One type and operation: everyone who can reduce, verified, then timed on both clocks.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use common::{
    Error, Result,
    device::{Address, Cuda, Stopwatch, cuda::Memory},
};
use measured::{Clock, library::Taken};
use reduce::{Operation, Reducer};

use super::{drawn::Drawn, options::Options};
use crate::{
    contenders::{Borrowed, Run, cub},
    rig::Rig,
    rounds::{self, Held, Until},
};

/// Values that are drawn; more elements are these again. A prime, so that no power of two of
/// elements is a whole number of them.
const DRAWN: usize = 1_000_003;

/// Device memory that samples walk through, so that each finds its input outside of L2.
const ROTATION: u64 = 1 << 30;

/// Nanoseconds of untimed runs before each sample.
const SETTLE: u64 = 100_000;

/// Additions in a row that CUB's sum may have.
const DEPTH: f64 = 4096.0;

/// A way to a result, by its name in every table.
struct Way<'r> {
    name: String,
    run: Run<'r>,
}

/// The elements on host and device, as many as the largest size takes.
pub(super) struct Input<T> {
    values: Vec<T>,
    memory: Memory,
}

impl<T: Drawn> Input<T> {
    /// Draws elements for sizes up to `most`.
    pub(super) fn draw(rig: &Rig, most: u64, seed: u64) -> Result<Input<T>> {
        use rand::{SeedableRng, rngs::ChaCha8Rng};
        let cuda = rig.device.gpu()?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let few: Vec<T> = (0..DRAWN).map(|_| T::draw(&mut rng)).collect();
        let values: Vec<T> = few.iter().copied().cycle().take(most.max(1) as usize).collect();
        let size = size_of::<T>() as u64;
        let used = (most * size).next_multiple_of(128);
        let bytes = (2 * used).max(ROTATION);
        let memory = cuda.alloc("the elements", bytes)?;
        cuda.fill(&memory, 0)?;
        cuda.write(&memory, 0, bytemuck::cast_slice(&values))?;
        cuda.repeat(&memory, used)?;
        Ok(Input { values, memory })
    }
}

/// Verifies and times one operation on one size.
pub(super) fn measure<T: Drawn>(
    rig: &Rig,
    options: &Options,
    input: &Input<T>,
    operation: Operation,
    n: u64,
    mhz: &mut u32,
) -> Result<Vec<Taken>>
where
    T::Output: bytemuck::Pod,
{
    let cuda = rig.device.gpu()?;
    let reducer = Reducer::<T>::new(cuda.shared_stream()).map_err(failed)?;
    let out = cuda.alloc("the result", 8)?;
    let into = |at: Address<'_>| {
        let mut out = Borrowed::new(cuda, out.address(), 1)?;
        let slice = Borrowed::new(cuda, at, n)?;
        match operation {
            Operation::Sum => reducer.sum_into(&slice, &mut out),
            Operation::Min => reducer.min_into(&slice, &mut out),
            Operation::Max => reducer.max_into(&slice, &mut out),
        }
        .map_err(failed)
    };
    let here = |at: Address<'_>| {
        let slice = Borrowed::new(cuda, at, n)?;
        match operation {
            Operation::Sum => reducer.sum(&slice),
            Operation::Min => reducer.min(&slice),
            Operation::Max => reducer.max(&slice),
        }
        .map_err(failed)
    };
    let pinned = cuda.pinned()?;
    let asked = cub::Reduction::of(operation, T::NAME)
        .ok_or_else(|| Error::Usage(format!("CUB is not asked for {}", T::NAME)))?;
    let mut cubs = Vec::new();
    for cub in rig.peers.cubs() {
        let peer = cub.default_sum();
        cubs.push((peer.name.clone(), cub.prepare_any(cuda, peer, asked, n)?));
    }

    // A wrong result has no time.
    let first = input.memory.address();
    let exact = host(operation, &input.values[..n as usize]);
    into(first)?;
    let mut bytes = [0; 8];
    cuda.read(&out, &mut bytes)?;
    let stored = bytemuck::pod_read_unaligned(&bytes[..size_of::<T::Output>()]);
    for (way, got) in [("sum_into", stored), ("sum", here(first)?)] {
        if bytemuck::bytes_of(&got) != bytemuck::bytes_of(&exact) {
            return Err(Error::Findings(format!(
                "reduce, {way}: {got:?} of {n} {}, where reduce::host has {exact:?}: other bits",
                T::NAME
            )));
        }
    }
    let magnitude: f64 = input.values[..n as usize].iter().map(|v| v.float().abs()).sum();
    let allowed = match (operation, T::ROUNDOFF) {
        (Operation::Sum, Some(roundoff)) => DEPTH * roundoff * magnitude,
        _ => 0.0,
    };
    for (name, prepared) in &cubs {
        prepared.launch(first)?;
        let mut bytes = [0; 8];
        cuda.finish()?;
        prepared.read(&mut bytes)?;
        let got = T::stored(operation == Operation::Sum, bytes);
        let off = (got - T::output(exact)).abs();
        if off.is_nan() || off > allowed {
            return Err(Error::Findings(format!(
                "{name}: {got} of {n} {}, where {exact:?} is right within {allowed:e}",
                T::NAME
            )));
        }
    }

    let mut launches = vec![Way { name: "reduce".into(), run: Box::new(into) }];
    let mut callers = vec![
        Way { name: "reduce".into(), run: Box::new(|at| here(at).map(drop)) },
        Way {
            name: "reduce-into, copied".into(),
            run: Box::new(|at| copied(cuda, &out, into(at))),
        },
        Way {
            name: "reduce-into, pinned".into(),
            run: Box::new(|at| {
                into(at)?;
                cuda.read_pinned(&out, &pinned)
            }),
        },
    ];
    for (name, prepared) in &cubs {
        launches.push(Way { name: name.clone(), run: Box::new(|at| prepared.launch(at)) });
        callers.push(Way {
            name: format!("{name}, copied"),
            run: Box::new(|at| copied(cuda, prepared.out(), prepared.launch(at))),
        });
        callers.push(Way {
            name: format!("{name}, pinned"),
            run: Box::new(|at| {
                prepared.launch(at)?;
                cuda.read_pinned(prepared.out(), &pinned)
            }),
        });
    }

    let size = size_of::<T>() as u64;
    let slot = (n * size).next_multiple_of(128).max(128);
    let slots = Slots { slot, count: (first.bytes() / slot).max(1), last: Cell::new(1) };
    let next = || first.behind(slots.next());
    let mut taken = Vec::new();
    let mut keep = |clock, ways: &[Way<'_>], times: Vec<Vec<(u32, u64)>>| {
        for (way, times) in ways.iter().zip(times) {
            taken.extend(times.into_iter().map(|(round, ns)| Taken {
                clock,
                operation: name(operation).into(),
                element: T::NAME.into(),
                n,
                way: way.name.clone(),
                round,
                ns,
            }));
        }
    };
    let read = || rig.monitor.sm_mhz();
    let mut held = Held { read: &read, mhz: *mhz };
    let until = |rounds: u32| Until {
        target: 0.0,
        least: rounds,
        most: rounds,
        deadline: Instant::now() + Duration::from_secs(20),
    };
    if options.rounds > 0 {
        let mut stopwatch = Stopwatch::gated(cuda)?;
        let mut before = vec![1u64; launches.len()];
        let mut sample = |at: usize, before: u64| -> Result<u64> {
            for _ in 0..before {
                (launches[at].run)(next())?;
            }
            let address = next();
            stopwatch.time(|| (launches[at].run)(address)).map(nanoseconds)
        };
        for (at, before) in before.iter_mut().enumerate() {
            *before = SETTLE.div_ceil(sample(at, 1)?).clamp(1, 16);
        }
        let each = |at: usize| sample(at, before[at]);
        let rounds = rounds::run(launches.len(), &[], &until(options.rounds), &mut held, each)?;
        keep(Clock::Gpu, &launches, rounds.times);
    }
    if options.callers > 0 {
        // The input stays where it is: a caller's own data has mostly just been made.
        let sample = |at: usize| -> Result<u64> {
            cuda.finish()?;
            let started = Instant::now();
            (callers[at].run)(first)?;
            Ok(nanoseconds(started.elapsed().as_secs_f64()))
        };
        let rounds = rounds::run(callers.len(), &[], &until(options.callers), &mut held, sample)?;
        keep(Clock::Host, &callers, rounds.times);
    }
    *mhz = held.mhz;
    Ok(taken)
}

/// Places for one input after the other, in bytes behind the first, in a random order that is the same
/// in every run.
struct Slots {
    slot: u64,
    count: u64,
    last: Cell<u64>,
}

impl Slots {
    fn next(&self) -> u64 {
        let mut x = self.last.get().wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
        self.last.set(x);
        x ^= x >> 32;
        x % self.count * self.slot
    }
}

/// Launched, then a copy to ordinary host memory, and a wait.
fn copied(cuda: &Cuda, out: &Memory, launched: Result<()>) -> Result<()> {
    launched?;
    let mut bytes = [0; 4];
    cuda.read(out, &mut bytes)
}

fn host<T: Drawn>(operation: Operation, values: &[T]) -> T::Output {
    match operation {
        Operation::Sum => reduce::host::sum(values),
        Operation::Min => reduce::host::min(values),
        Operation::Max => reduce::host::max(values),
    }
}

/// An operation's name in every table.
pub(super) fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::Sum => "sum",
        Operation::Min => "min",
        Operation::Max => "max",
    }
}

pub(super) fn failed(error: reduce::Error) -> Error {
    Error::Cuda { doing: "reducing with reduce".into(), text: error.to_string() }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_inside_and_all_are_met() {
        let slots = Slots { slot: 128, count: 7, last: Cell::new(1) };
        let met: std::collections::HashSet<u64> = (0..200).map(|_| slots.next()).collect();
        assert_eq!(met.len(), 7);
        assert!(met.iter().all(|at| at % 128 == 0 && *at < 7 * 128));
    }

    #[test]
    fn a_time_is_whole_nanoseconds_and_never_none() {
        assert_eq!([0.0, 1e-12, 1.4e-9, 1.6e-9, 2e-3].map(nanoseconds), [1, 1, 1, 2, 2_000_000]);
        assert_eq!(
            [Operation::Sum, Operation::Min, Operation::Max].map(name),
            ["sum", "min", "max"]
        );
    }
}
