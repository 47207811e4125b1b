//! Verifies, and then times, every competitor that supports rows of one shape.

use std::time::{Duration, Instant};

use common::{
    Error, Result,
    device::{Address, Stopwatch, cuda::Memory},
};
use measured::rows::Taken;
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use reduce::{Reducer, Rows, host};

use super::{
    Options,
    cub::{Cub, WAYS},
};
use crate::{
    competitors::{Borrowed, Run},
    rig::Rig,
    rounds::{self, Held, Until},
};

/// The number of distinct values; larger inputs repeat them. The number is prime, so no power of
/// two is a multiple of it.
const DRAWN: u64 = 1_000_003;

/// The total size of the input's copies, in bytes. Samples read the copies in rotation, so
/// that each sample finds its input outside L2.
const ROTATION: u64 = 1 << 30;

/// The duration of the untimed runs before each sample, in nanoseconds.
const SETTLE: u64 = 100_000;

/// The maximum number of rows whose sums are compared with the host's. If there are more rows than
/// this, evenly spaced rows are compared.
const LOOKED_AT: u64 = 1 << 12;

/// An upper bound on the number of consecutive additions in CUB's sum.
const DEPTH: f64 = 4096.0;

/// The elements on the host and on the device.
pub(super) struct Input {
    values: Vec<f32>,
    memory: Memory,
    out: Memory,
}

/// The expected sum of a row.
struct Expected {
    row: u64,
    sum: f32,
    /// The sum of the magnitudes of the row's elements.
    magnitude: f64,
}

impl Input {
    /// Draws elements for shapes with up to `most` elements.
    pub(super) fn new(rig: &Rig, most: u64, seed: u64) -> Result<Input> {
        let cuda = rig.device.gpu()?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let values: Vec<f32> = (0..DRAWN).map(|_| 2.0 * rng.random::<f32>() - 1.0).collect();
        let used = (4 * most).next_multiple_of(128);
        let bytes = (2 * used).max(ROTATION);
        let memory = cuda.alloc("the elements", bytes)?;
        cuda.write(&memory, 0, bytemuck::cast_slice(&values))?;
        cuda.repeat(&memory, 4 * DRAWN)?;
        let out = cuda.alloc("the sums", 4 * most)?;
        Ok(Input { values, memory, out })
    }
}

/// Returns a row of the repeated values that begins at element `begin`.
fn row(values: &[f32], begin: u64, elements: u64) -> Vec<f32> {
    let mut row = Vec::with_capacity(elements as usize);
    while (row.len() as u64) < elements {
        let from = ((begin + row.len() as u64) % values.len() as u64) as usize;
        let some = values.len().min(from + elements as usize - row.len());
        row.extend_from_slice(&values[from..some]);
    }
    row
}

/// Computes row sums on the host, on all cores: for every row if there are few rows, otherwise for
/// the first row, the last row, and evenly spaced rows between them. If the rows are long, fewer
/// rows are checked, because the host adds long rows slowly.
fn expected(values: &[f32], rows: u64, elements: u64) -> Vec<Expected> {
    let some = LOOKED_AT.min((1 << 26) / elements).clamp(2, rows.max(2));
    let one = |at: u64| {
        let at = if rows == 1 { 0 } else { (at * (rows - 1)) / (some - 1) };
        let values = row(values, at * elements, elements);
        let magnitude = values.iter().map(|value| f64::from(value.abs())).sum();
        Expected { row: at, sum: host::sum(&values), magnitude }
    };
    let (one, some) = (&one, if rows == 1 { 1 } else { some });
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    std::thread::scope(|scope| {
        let share = move |first| (first..some).step_by(threads as usize).map(one);
        let started: Vec<_> = (0..threads)
            .map(|first| scope.spawn(move || share(first).collect::<Vec<_>>()))
            .collect();
        started.into_iter().flat_map(|share| share.join().expect("it does not panic")).collect()
    })
}

/// Verifies and times one shape.
pub(super) fn measure(
    rig: &Rig,
    options: &Options,
    input: &Input,
    cub: Option<&Cub>,
    (rows, elements): (u64, u64),
    mhz: &mut u32,
) -> Result<Vec<Taken>> {
    let cuda = rig.device.gpu()?;
    let reducer = Reducer::<f32>::new(cuda.shared_stream()).map_err(failed)?;
    let out = input.out.address();
    let ours = |at: Address<'_>| {
        let slice = Borrowed::new(cuda, at, rows * elements)?;
        let mut sums = Borrowed::new(cuda, out, rows)?;
        reducer.sum_rows_into(&slice, Rows::new(rows, elements), &mut sums).map_err(failed)
    };
    let mut ways: Vec<(&str, Run<'_>)> = vec![("reduce", Box::new(ours))];
    // A call that does not support rows of this shape is skipped.
    let asked = if options.offsets { 0..2 } else { 0..1 };
    for way in asked {
        let Some(cub) = cub else { break };
        if let Ok(prepared) = cub.prepare(cuda, way, (rows, elements), out) {
            ways.push((WAYS[way], Box::new(move |at| prepared.launch(at))));
        }
    }
    let expected = expected(&input.values, rows, elements);
    for (name, run) in &ways {
        verify(rig, input, name, run, (rows, elements), &expected)?;
    }
    let slot = (4 * rows * elements).next_multiple_of(128);
    let count = (input.memory.address().bytes() / slot).max(1);
    let mut turn = 0u64;
    let mut next = || {
        turn = turn.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
        input.memory.address().skip((turn ^ turn >> 32) % count * slot)
    };
    let mut stopwatch = Stopwatch::gated(cuda)?;
    let mut before = vec![1u64; ways.len()];
    let mut sample = |at: usize, before: u64| -> Result<u64> {
        for _ in 0..before {
            (ways[at].1)(next())?;
        }
        let address = next();
        let seconds = stopwatch.time(|| (ways[at].1)(address))?;
        Ok((seconds * 1e9).round().max(1.0) as u64)
    };
    for (at, before) in before.iter_mut().enumerate() {
        *before = SETTLE.div_ceil(sample(at, 1)?).clamp(1, 16);
    }
    let read = || rig.monitor.sm_mhz();
    let mut held = Held { read: &read, mhz: *mhz };
    let until = Until {
        target: 0.0,
        least: options.rounds,
        most: options.rounds,
        deadline: Instant::now() + Duration::from_secs(10),
    };
    let rounds = rounds::run(ways.len(), &[], &until, &mut held, |at| sample(at, before[at]))?;
    *mhz = held.mhz;
    let taken = ways.iter().zip(rounds.times).flat_map(|((way, _), times)| {
        times.into_iter().map(|(round, ns)| Taken {
            rows,
            elements,
            way: (*way).to_owned(),
            round,
            ns,
        })
    });
    Ok(taken.collect())
}

/// Verifies the sums, because a wrong sum must not be timed. Our sums must be bit-identical to the
/// host's; other sums may differ by rounding.
fn verify(
    rig: &Rig,
    input: &Input,
    name: &str,
    run: &Run<'_>,
    (rows, elements): (u64, u64),
    expected: &[Expected],
) -> Result<()> {
    let cuda = rig.device.gpu()?;
    cuda.fill(&input.out, 0xff)?;
    run(input.memory.address())?;
    let mut sums = vec![0f32; rows as usize];
    cuda.read(&input.out, bytemuck::cast_slice_mut(&mut sums))?;
    for one in expected {
        let (row, got, exact) = (one.row, sums[one.row as usize], one.sum);
        if !right(name, got, one) {
            return Err(Error::Findings(format!(
                "{name}: row {row}, of {rows} rows of {elements} elements each, has the sum {got:?}, but reduce::host returns {exact:?}"
            )));
        }
    }
    Ok(())
}

/// Returns whether the sum of a row is right: our sum must be bit-identical, and other sums must be
/// within the rounding error.
fn right(name: &str, got: f32, expected: &Expected) -> bool {
    match name {
        "reduce" => got.to_bits() == expected.sum.to_bits(),
        _ => {
            let off = (f64::from(got) - f64::from(expected.sum)).abs();
            off <= DEPTH * f64::from(f32::EPSILON) * expected.magnitude
        }
    }
}

fn failed(error: reduce::Error) -> Error {
    Error::Cuda { doing: "summing rows with reduce".into(), text: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_wraps_to_the_start_of_the_values() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0];
        for begin in [0, 1, 4, 5, 12, 1 << 40] {
            for elements in [0, 1, 4, 5, 6, 17] {
                let expected: Vec<f32> =
                    (begin..begin + elements).map(|at| values[(at % 5) as usize]).collect();
                assert_eq!(row(&values, begin, elements), expected, "{elements} from {begin}");
            }
        }
    }

    #[test]
    fn the_first_the_last_and_evenly_spaced_rows_are_checked() {
        let values: Vec<f32> =
            (0..1009).map(|at| if at % 3 == 0 { -0.5 } else { at as f32 }).collect();
        let rows_of = |rows, elements| -> Vec<u64> {
            let mut found: Vec<u64> =
                expected(&values, rows, elements).iter().map(|one| one.row).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(rows_of(1, 7), [0]);
        assert_eq!(rows_of(2, 7), [0, 1]);
        assert_eq!(rows_of(33, 7), (0..33).collect::<Vec<_>>());
        let many = rows_of(1_000_003, 3);
        assert_eq!((many.len(), many[0], many[4095]), (4096, 0, 1_000_002));
        assert!(many.windows(2).all(|pair| (244..=245).contains(&(pair[1] - pair[0]))));
        // If the rows are long, only rows with 2^26 elements in total are checked, but at least two
        // rows.
        assert_eq!(rows_of(40, 1 << 22).len(), 16);
        assert_eq!(rows_of(3, 1 << 26), [0, 2]);
        for one in expected(&values, 5, 33) {
            let of = row(&values, one.row * 33, 33);
            assert_eq!(one.sum.to_bits(), host::sum(&of).to_bits());
            let magnitude: f64 = of.iter().map(|value| f64::from(value.abs())).sum();
            assert_eq!(one.magnitude, magnitude);
        }
    }

    #[test]
    fn ours_is_right_to_the_bit_and_others_within_rounding() {
        let one = Expected { row: 0, sum: 1.0, magnitude: 2.0 };
        assert!(right("reduce", 1.0, &one) && !right("reduce", 1.0f32.next_up(), &one));
        // 4096 additions with an error of 2^-23 each, relative to a magnitude of 2, give 2^-10.
        let most = 1.0 / 1024.0;
        for (off, expected) in
            [(0.0, true), (most, true), (-most, true), (1.01 * most, false), (-1.01 * most, false)]
        {
            assert_eq!(right("cub", 1.0 + off, &one), expected, "{off}");
        }
        assert!(!right("cub", f32::NAN, &one));
    }
}
