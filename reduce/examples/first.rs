//! Prints a table that shows how long a program's first calls take: `cargo run --release -p
//! samebits --example first`.
//!
//! The driver caches compiled kernels. Set `CUDA_CACHE_DISABLE=1` to measure without this cache.

use std::{
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use cudarc::driver::{CudaStream, DeviceRepr, ValidAsZeroBits};
use half::{bf16, f16};
use samebits::{Element, Error, Operation, Reducer};

fn main() -> ExitCode {
    match all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn all() -> Result<(), Error> {
    let (stream, opening) = timed(|| samebits::open(0));
    let stream = stream?;
    println!("| | n | ms |\n|---|--:|--:|");
    println!("| context | | {:.1} |", ms(opening));
    of::<f32>("f32", &stream)?;
    of::<f64>("f64", &stream)?;
    of::<i32>("i32", &stream)?;
    of::<u32>("u32", &stream)?;
    of::<i64>("i64", &stream)?;
    of::<u64>("u64", &stream)?;
    of::<f16>("f16", &stream)?;
    of::<bf16>("bf16", &stream)?;
    Ok(())
}

/// Measures the first sum of each shape, the first minimum, the compilation of all other kernels,
/// and a repeated sum.
fn of<T>(name: &str, stream: &Arc<CudaStream>) -> Result<(), Error>
where
    T: Element + DeviceRepr + ValidAsZeroBits,
{
    const LONGEST: usize = 4 << 20;
    let allocated =
        stream.alloc_zeros::<T>(LONGEST).and_then(|slice| stream.synchronize().map(|()| slice));
    let slice =
        allocated.map_err(|source| Error::Driver { doing: "allocating a slice", source })?;
    let (reducer, _) = timed(|| Reducer::<T>::new(stream));
    let reducer = reducer?;
    for n in [1000, 10_000, 30_000, LONGEST] {
        let n = n * 4 / size_of::<T>();
        let (sum, first) = timed(|| reducer.sum(&slice.slice(..n)));
        sum?;
        println!("| first sum of {name} | {n} | {:.1} |", ms(first));
    }
    let (min, first) = timed(|| reducer.min(&slice.slice(..1000)));
    min?;
    println!("| first minimum of {name} | 1000 | {:.1} |", ms(first));
    let (prepared, rest) =
        timed(|| reducer.prepare(&[Operation::Sum, Operation::Min, Operation::Max]));
    prepared?;
    println!("| all other kernels of {name} | | {:.1} |", ms(rest));
    let (sum, again) = timed(|| reducer.sum(&slice.slice(..1000)));
    sum?;
    println!("| another sum of {name} | 1000 | {:.3} |", ms(again));
    Ok(())
}

fn timed<T>(call: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    (call(), start.elapsed())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
