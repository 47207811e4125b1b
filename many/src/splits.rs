//! The command `many exact`, which computes exact sums on all the GPUs of this machine. The sums
//! for ten splits must have the same bits as the sum on one GPU; then one split is timed.

use std::{sync::Arc, time::Instant};

use cudarc::driver::{CudaSlice, CudaStream, DeviceRepr, ValidAsZeroBits};
use half::{bf16, f16};
use many::{Data, Datum, Error, Group, Options, Result, Slice, nccl::Nccl};
use numbers::quantile;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use reduce::{Accumulator, ExactElement, Reducer};

use crate::{
    args::{Exact, Type},
    say::{self, failed, say},
    sum, timed,
};

/// The number of splits for each length.
const SPLITS: usize = 10;

pub(crate) fn exact(asked: &Exact) -> Result<()> {
    let world = timed::world(asked.gpus, "exact")?;
    sum::multicast(asked.engine.multicast)?;
    let nccl = Nccl::find(asked.engine.nccl.as_deref())?;
    let options = Options { timeout: asked.engine.timeout, ..Options::default() };
    let streams = (0..world as usize).map(reduce::open).collect::<Result<Vec<_>, _>>()?;
    let group = Group::local(&streams, &nccl, &options)?;
    let mut rows = Vec::new();
    for element in &asked.element {
        for n in asked.n.iter().map(|size| size.0) {
            let rounds = asked.rounds;
            rows.push(match element {
                Type::F32 => of::<f32>(&group, &streams, n, rounds)?,
                Type::F64 => of::<f64>(&group, &streams, n, rounds)?,
                Type::F16 => of::<f16>(&group, &streams, n, rounds)?,
                Type::Bf16 => of::<bf16>(&group, &streams, n, rounds)?,
                other => {
                    return Err(failed(format!(
                        "{other:?} has no exact sums: --type takes f32, f64, f16 and bf16"
                    )));
                }
            });
        }
    }
    say(&format!(
        "Exact sums on {world} GPUs: wall time until the host has the sum, medians in µs. `one` is the\n\
         time for the sum on one GPU, `share` for the sum of one GPU's shard alone, and `all`\n\
         for the sum on all GPUs. Δ is `all` minus `share`, within the same round, with its\n\
         quartiles. At each length, the sums for all {SPLITS} splits have the bits of the sum on\n\
         one GPU.\n"
    ));
    say::table(["type", "n", "one", "share", "all", "Δ", "splits"], &rows);
    Ok(())
}

/// Compares the sums for all splits of `n` elements, times the even split, and returns a row of the
/// table.
fn of<T: Datum + ExactElement + DeviceRepr + ValidAsZeroBits>(
    group: &Group,
    streams: &[Arc<CudaStream>],
    n: u64,
    rounds: u32,
) -> Result<[String; 7]> {
    let reducer = Reducer::<T>::new(&streams[0])?;
    let alone = Data::on::<T>(&streams[0], 0..n)?;
    let expected = reducer.exact_sum(&alone)?.to_bits64();
    let rng = &mut StdRng::seed_from_u64(n);
    for _ in 0..SPLITS {
        let mut ends: Vec<u64> = streams[1..].iter().map(|_| rng.random_range(0..=n)).collect();
        ends.sort_unstable();
        let shards = shards::<T>(streams, &ends, n)?;
        let found = Exchanged::new(group, &shards)?.sum()?;
        if found != expected {
            return Err(Error::Bits(format!(
                "the exact sum of {n} {} has the bits {found:#x} with shards that end at {ends:?}, but {expected:#x} on one GPU",
                T::NAME
            )));
        }
    }
    let world = streams.len() as u64;
    let ends: Vec<u64> = (1..world).map(|rank| n * rank / world).collect();
    let shards = shards::<T>(streams, &ends, n)?;
    let mut all = Exchanged::new(group, &shards)?;
    let mut times = [const { Vec::new() }; 3];
    for round in 0..2 * rounds + 4 {
        let mut ways: [(usize, &mut dyn FnMut() -> Result<u64>); 3] = [
            (0, &mut || Ok(reducer.exact_sum(&alone)?.to_bits64())),
            (1, &mut || Ok(reducer.exact_sum(&shards[0])?.to_bits64())),
            (2, &mut || all.sum()),
        ];
        if round % 2 == 1 {
            ways.reverse();
        }
        for (way, run) in ways {
            let start = Instant::now();
            run()?;
            if round >= 4 {
                times[way].push(start.elapsed().as_secs_f64() * 1e6);
            }
        }
    }
    let above: Vec<f64> = times[2].iter().zip(&times[1]).map(|(all, share)| all - share).collect();
    let [one, share, all] = times.map(median);
    let delta = with_quartiles(above);
    Ok([T::NAME.to_owned(), numbers::size(n), one, share, all, delta, format!("{SPLITS} equal")])
}

fn median(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    format!("{:.1}", quantile(&times, 0.5))
}

fn with_quartiles(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|share| quantile(&times, share));
    format!("{middle:.1} [{low:.1}, {high:.1}]")
}

/// Returns the shard of each GPU.
fn shards<T: Datum>(
    streams: &[Arc<CudaStream>],
    ends: &[u64],
    n: u64,
) -> Result<Vec<CudaSlice<T>>> {
    let begins = [0].into_iter().chain(ends.iter().copied());
    let ends = ends.iter().copied().chain([n]);
    let ranges = begins.zip(ends);
    streams.iter().zip(ranges).map(|(stream, (begin, end))| Data::on(stream, begin..end)).collect()
}

/// A plan and its shards.
struct Exchanged<'g, T> {
    plan: many::ExactPlan<'g, T>,
    shards: &'g [CudaSlice<T>],
}

impl<'g, T: Datum + ExactElement> Exchanged<'g, T> {
    fn new(group: &'g Group, shards: &'g [CudaSlice<T>]) -> Result<Exchanged<'g, T>> {
        let lengths: Vec<u64> = shards.iter().map(|shard| shard.len() as u64).collect();
        Ok(Exchanged { plan: group.plan_exact::<T>(&lengths)?, shards })
    }

    fn sum(&mut self) -> Result<u64> {
        let slices: Vec<&dyn Slice<T>> = self.shards.iter().map(|shard| shard as _).collect();
        Ok(self.plan.run(&slices)?.to_bits64())
    }
}
