//! Verifies every competitor for one type and operation, and measures its time on the device and
//! its wall time.

use std::time::Instant;

use common::{
    Error, Result,
    device::{
        Address, Cuda,
        cuda::{Memory, Pinned},
    },
};
use measured::{Clock, library::Taken};
use reduce::{Operation, Reducer};

use super::{drawn::Drawn, options::Options};
use crate::{
    competitors::{Borrowed, cub},
    gated::{Slots, Times, Way, gated, nanoseconds, until},
    rig::Rig,
    rounds::{self, Held},
};

/// The number of distinct values; larger inputs repeat them. The number is prime, so no power of
/// two is a multiple of it.
const DRAWN: usize = 1_000_003;

/// The total size of the input's copies, in bytes. Samples read the copies in rotation, so
/// that each sample finds its input outside L2.
const ROTATION: u64 = 1 << 30;

/// An upper bound on the number of consecutive additions in CUB's sum.
const DEPTH: f64 = 4096.0;

/// The elements on the host and on the device; there are enough for the largest size.
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

/// One operation of `reduce` at one size, with its buffers.
struct Ours<'c, T: Drawn> {
    cuda: &'c Cuda,
    reducer: Reducer<T>,
    operation: Operation,
    n: u64,
    /// The result on the device.
    out: Memory,
    /// Host memory for a copy of the result.
    pinned: Pinned,
}

impl<'c, T: Drawn> Ours<'c, T> {
    fn new(cuda: &'c Cuda, operation: Operation, n: u64) -> Result<Ours<'c, T>> {
        let reducer = Reducer::<T>::new(cuda.shared_stream()).map_err(failed)?;
        let (out, pinned) = (cuda.alloc("the result", 8)?, cuda.pinned()?);
        Ok(Ours { cuda, reducer, operation, n, out, pinned })
    }

    /// Launches the operation, which leaves its result on the device.
    fn into(&self, at: Address<'_>) -> Result<()> {
        let mut out = Borrowed::new(self.cuda, self.out.address(), 1)?;
        let slice = Borrowed::new(self.cuda, at, self.n)?;
        self.reducer.reduce_into(self.operation, &slice, &mut out).map_err(failed)
    }

    /// Runs the operation, and waits until its result is on the host.
    fn here(&self, at: Address<'_>) -> Result<T::Output> {
        let slice = Borrowed::new(self.cuda, at, self.n)?;
        self.reducer.reduce(self.operation, &slice).map_err(failed)
    }

    /// Rejects results whose bits differ from those of the host's result.
    fn verify(&self, at: Address<'_>, exact: T::Output) -> Result<()>
    where
        T::Output: bytemuck::Pod,
    {
        self.into(at)?;
        let mut bytes = [0; 8];
        self.cuda.read(&self.out, &mut bytes)?;
        let stored = bytemuck::pod_read_unaligned(&bytes[..size_of::<T::Output>()]);
        for (way, got) in [("sum_into", stored), ("sum", self.here(at)?)] {
            if bytemuck::bytes_of(&got) != bytemuck::bytes_of(&exact) {
                return Err(Error::Findings(format!(
                    "reduce, {way}: the result for {} elements of type {} is {got:?}, but reduce::host returns {exact:?}: the bits differ",
                    self.n,
                    T::NAME
                )));
            }
        }
        Ok(())
    }
}

/// The reduction in each version of CUB, and the version's name in every table.
type Cubs<'p> = Vec<(String, cub::Prepared<'p>)>;

fn cubs<'p, T: Drawn>(
    rig: &'p Rig,
    cuda: &'p Cuda,
    operation: Operation,
    n: u64,
) -> Result<Cubs<'p>> {
    let asked = cub::Reduction::of(operation, T::NAME)
        .ok_or_else(|| Error::Usage(format!("CUB is not measured for {}", T::NAME)))?;
    let prepared = |cub: &'p cub::Cub| {
        let peer = cub.default_sum();
        Ok((peer.name.clone(), cub.prepare_any(cuda, peer, asked, n)?))
    };
    rig.peers.cubs().map(prepared).collect()
}

/// Rejects CUB results whose error is larger than rounding explains.
fn verify_cubs<T: Drawn>(
    ours: &Ours<'_, T>,
    cubs: &Cubs<'_>,
    input: &Input<T>,
    exact: T::Output,
) -> Result<()> {
    let magnitude: f64 = input.values[..ours.n as usize].iter().map(|v| v.float().abs()).sum();
    let allowed = match (ours.operation, T::ROUNDOFF) {
        (Operation::Sum, Some(roundoff)) => DEPTH * roundoff * magnitude,
        _ => 0.0,
    };
    for (name, prepared) in cubs {
        prepared.launch(input.memory.address())?;
        let mut bytes = [0; 8];
        ours.cuda.finish()?;
        prepared.read(&mut bytes)?;
        let got = T::stored(ours.operation == Operation::Sum, bytes);
        let off = (got - T::output(exact)).abs();
        if off.is_nan() || off > allowed {
            return Err(Error::Findings(format!(
                "{name}: {got} of {} {}, expected {exact:?} within {allowed:e}",
                ours.n,
                T::NAME
            )));
        }
    }
    Ok(())
}

/// Returns the functions that leave their result on the device.
fn launches<'r, T: Drawn>(ours: &'r Ours<'_, T>, cubs: &'r Cubs<'_>) -> Vec<Way<'r>> {
    let mut ways = vec![Way { name: "reduce".into(), run: Box::new(|at| ours.into(at)) }];
    for (name, prepared) in cubs {
        ways.push(Way { name: name.clone(), run: Box::new(|at| prepared.launch(at)) });
    }
    ways
}

/// Returns the functions that return their result to the host.
fn callers<'r, T: Drawn>(ours: &'r Ours<'_, T>, cubs: &'r Cubs<'_>) -> Vec<Way<'r>> {
    let Ours { cuda, out, pinned, .. } = ours;
    let mut ways = vec![
        Way { name: "reduce".into(), run: Box::new(|at| ours.here(at).map(drop)) },
        Way {
            name: "reduce-into, copied".into(),
            run: Box::new(|at| copied(cuda, out, ours.into(at))),
        },
        Way {
            name: "reduce-into, pinned".into(),
            run: Box::new(|at| {
                ours.into(at)?;
                cuda.read_pinned(out, pinned)
            }),
        },
    ];
    for (name, prepared) in cubs {
        ways.push(Way {
            name: format!("{name}, copied"),
            run: Box::new(|at| copied(cuda, prepared.out(), prepared.launch(at))),
        });
        ways.push(Way {
            name: format!("{name}, pinned"),
            run: Box::new(|at| {
                prepared.launch(at)?;
                cuda.read_pinned(prepared.out(), pinned)
            }),
        });
    }
    ways
}

/// Measures wall times. The copies of the input are not rotated, because most programs have just
/// computed the elements that they reduce.
fn waited(
    cuda: &Cuda,
    ways: &[Way<'_>],
    rounds: u32,
    held: &mut Held<'_>,
    input: Address<'_>,
) -> Result<Times> {
    let sample = |at: usize| -> Result<u64> {
        cuda.finish()?;
        let started = Instant::now();
        (ways[at].run)(input)?;
        Ok(nanoseconds(started.elapsed().as_secs_f64()))
    };
    Ok(rounds::run(ways.len(), &[], &until(rounds), held, sample)?.times)
}

/// Verifies and times one operation at one size.
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
    let ours = Ours::<T>::new(cuda, operation, n)?;
    let cubs = cubs::<T>(rig, cuda, operation, n)?;
    let first = input.memory.address();
    // A wrong result must not be timed.
    let exact = host(operation, &input.values[..n as usize]);
    ours.verify(first, exact)?;
    verify_cubs(&ours, &cubs, input, exact)?;

    let slots = Slots::of(n * size_of::<T>() as u64, first.bytes());
    let next = || first.skip(slots.next());
    let read = || rig.monitor.sm_mhz();
    let mut held = Held { read: &read, mhz: *mhz };
    let mut taken = Vec::new();
    let mut keep = |clock, ways: &[Way<'_>], times: Times| {
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
    if options.rounds > 0 {
        let ways = launches(&ours, &cubs);
        keep(Clock::Gpu, &ways, gated(cuda, &ways, options.rounds, &mut held, &next)?);
    }
    if options.callers > 0 {
        let ways = callers(&ours, &cubs);
        keep(Clock::Host, &ways, waited(cuda, &ways, options.callers, &mut held, first)?);
    }
    *mhz = held.mhz;
    Ok(taken)
}

/// Launches the operation, copies the result to pageable host memory, and waits.
fn copied(cuda: &Cuda, out: &Memory, launched: Result<()>) -> Result<()> {
    launched?;
    let mut bytes = [0; 4];
    cuda.read(out, &mut bytes)
}

fn host<T: Drawn>(operation: Operation, values: &[T]) -> T::Output {
    reduce::host::reduce(values, operation)
}

/// Returns an operation's name in every table.
pub(super) fn name(operation: Operation) -> &'static str {
    operation.name()
}

pub(super) fn failed(error: reduce::Error) -> Error {
    Error::Cuda { doing: "reducing with reduce".into(), text: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_has_a_name() {
        assert_eq!(
            [Operation::Sum, Operation::Min, Operation::Max].map(name),
            ["sum", "min", "max"]
        );
    }
}
