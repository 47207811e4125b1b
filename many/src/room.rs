//! Estimates the memory and the time that interpreters need for a sum. A sum that does not fit into
//! memory is rejected, and a note announces a sum that will take a long time.

use many::{Datum, Error, Result};

use crate::{
    args::Sum,
    say::{failed, note},
};

/// The number of elements that an interpreter adds per second. This rate was measured on two cores,
/// and includes the comparison with one simulated GPU.
const RATE: f64 = 4e6;

/// The number of copies of the elements in memory: as values, as bytes, in an interpreter's memory,
/// and for the comparison.
const COPIES: u128 = 4;

/// Rejects an interpreted sum that does not fit into this machine's memory. Prints a note if the
/// sum will need more than ten seconds or more than a gigabyte.
pub(crate) fn check<T: Datum>(asked: &Sum, n: u128) -> Result<()> {
    let needed = COPIES * n * size_of::<T>() as u128;
    let free = free_bytes();
    if needed > u128::from(free) {
        return Err(failed(format!(
            "{n} {} in interpreters need {needed} bytes of memory, but only {free} are free: add fewer elements, or use GPUs (--device cuda)",
            T::NAME
        )));
    }
    let seconds = n as f64 * f64::from(asked.repeat) / RATE;
    if seconds > 10.0 || needed > 1_000_000_000 {
        note(&format!(
            "note: interpreters need about {seconds:.0} seconds and {:.1} GB of memory for {} {}",
            numbers::size(n as u64),
            T::NAME,
            needed as f64 / 1e9
        ));
    }
    Ok(())
}

/// Returns the number of bytes of memory that are available without swapping, as Linux reports it,
/// or `u64::MAX` on other systems.
fn free_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.map_or(u64::MAX, |kilobytes| kilobytes << 10)
}

/// Returns the sum of all lengths, or an error if it exceeds 64 bits.
pub(crate) fn total(lengths: &[u64]) -> Result<u128> {
    let all: u128 = lengths.iter().map(|n| u128::from(*n)).sum();
    match u64::try_from(all) {
        Ok(_) => Ok(all),
        Err(_) => Err(Error::Shard(format!(
            "the lengths in --lengths add up to {all}, which exceeds 2^64 - 1"
        ))),
    }
}
