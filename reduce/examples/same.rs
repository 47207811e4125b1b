//! Checks that results have the same bits on the device and on the host: `cargo run --release -p
//! samebits --example same`.
//!
//! Prints a line for each type and operation, with a hash of the results for 100 lengths, each at
//! two alignments. If there is a GPU, every result is compared with that of `samebits::host`, and
//! the program stops at the first difference. If two machines print the same table, their results
//! therefore have the same bits.

use std::{process::ExitCode, sync::Arc};

use cudarc::driver::{CudaStream, DeviceRepr};
use half::{bf16, f16};
use rayon::prelude::*;
use samebits::{Accumulator, Element, Operation, Reducer, host};

/// The largest number of elements in a slice.
const LONGEST: usize = (1 << 24) + 13;

fn main() -> ExitCode {
    let stream = match samebits::open(0) {
        Ok(stream) => Some(stream),
        Err(reason) => {
            eprintln!("host only: {reason}");
            None
        }
    };
    let device = stream.as_ref().map(|stream| stream.context().name().unwrap_or_default());
    println!(
        "the host, and {}, order {}\n",
        device.as_deref().unwrap_or("no GPU"),
        samebits::ORDER
    );
    println!("| type | operation | lengths | results | hash |\n|---|---|--:|--:|---|");
    match all(stream.as_ref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn all(stream: Option<&Arc<CudaStream>>) -> Result<()> {
    of::<f32>("f32", stream, |bits| small(bits) as f32, f32::NAN)?;
    of::<f64>("f64", stream, |bits| small(bits) / 3.0, f64::NAN)?;
    of::<i32>("i32", stream, |bits| bits as i32, 0)?;
    of::<u32>("u32", stream, |bits| bits as u32, 0)?;
    of::<i64>("i64", stream, |bits| bits as i64, 0)?;
    of::<u64>("u64", stream, |bits| bits, 0)?;
    of::<f16>("f16", stream, |bits| f16::from_f64(small(bits)), f16::NAN)?;
    of::<bf16>("bf16", stream, |bits| bf16::from_f64(small(bits)), bf16::NAN)?;
    of::<i8>("i8", stream, |bits| bits as i8, 0)?;
    of::<u8>("u8", stream, |bits| bits as u8, 0)?;
    of::<i16>("i16", stream, |bits| bits as i16, 0)?;
    of::<u16>("u16", stream, |bits| bits as u16, 0)?;
    of::<bool>("bool", stream, |bits| bits % 2 > 0, false)
}

/// Returns a fraction between -8 and 8, or sometimes a zero of either sign.
fn small(bits: u64) -> f64 {
    match bits % 64 {
        0 => 0.0,
        1 => -0.0,
        _ => (bits >> 40) as f64 / f64::from(1 << 20) - 8.0,
    }
}

/// Returns a hundred lengths. Half of the lengths are awkward or neighbours of powers of four; the
/// logarithms of the others are uniformly distributed.
fn lengths() -> Vec<usize> {
    let awkward = [0, 1, 31, 32, 33, 63, 65, 255, 257, 1023, 1025, (1 << 20) + 13, 1_572_941];
    let edges =
        (1..=12).flat_map(|power| [-1i64, 0, 1].map(|by| ((1 << (2 * power)) + by) as usize));
    let even = (0..).map(|i| 2f64.powf(24.0 * mixed(i) as f64 / u64::MAX as f64) as usize);
    awkward.into_iter().chain(edges).chain([LONGEST]).chain(even).take(100).collect()
}

fn of<T>(
    name: &str,
    stream: Option<&Arc<CudaStream>>,
    element: impl Fn(u64) -> T + Sync,
    nan: T,
) -> Result<()>
where
    T: Element + DeviceRepr,
{
    let defined = |operation: &&Operation| T::FLOAT || !operation.needs_floats();
    for &operation in Operation::ALL.iter().filter(defined) {
        let numbers =
            matches!(operation, Operation::Min | Operation::Max | Operation::LargestMagnitude);
        // NaNs are mixed in only where they are ignored, because a sum with a NaN is always NaN.
        let drawn = |i| match mixed(i) {
            bits if numbers && bits % 4 == 3 => nan,
            bits => element(bits),
        };
        let values: Vec<T> = (0..LONGEST as u64 + 4).into_par_iter().map(drawn).collect();
        let device = match stream {
            Some(stream) => Some((Reducer::<T>::new(stream)?, stream.clone_htod(&values)?)),
            None => None,
        };
        let (mut hash, mut results) = (0xcbf2_9ce4_8422_2325u64, 0);
        for n in lengths() {
            for begin in [0, n % 4] {
                let slice = &values[begin..begin + n];
                let here = host::reduce(slice, operation);
                if let Some((reducer, slice)) = &device {
                    let view = slice.slice(begin..begin + n);
                    let there = reducer.reduce(operation, &view)?;
                    if there.to_bits64() != here.to_bits64() {
                        return Err(format!(
                            "{operation:?} of {n} {name} from element {begin} on: the result is {there:?} on the device, but {here:?} with samebits::host"
                        )
                        .into());
                    }
                }
                // The FNV-1a hash, with one step for each result.
                hash = (hash ^ here.to_bits64()).wrapping_mul(0x0000_0100_0000_01b3);
                results += 1;
            }
        }
        let operation = format!("{operation:?}").to_lowercase();
        println!("| {name} | {operation} | {} | {results} | {hash:016x} |", lengths().len());
    }
    Ok(())
}

/// Returns random bits for an index, computed by splitmix64.
fn mixed(place: u64) -> u64 {
    let mut z = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
