//! Measures GPU-gated times of several functions, which are sampled in turn.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use common::{
    Result,
    device::{Address, Cuda, Stopwatch},
};

use crate::{
    competitors::Run,
    rounds::{self, Held, Until},
};

/// The duration of the untimed runs before each sample, in nanoseconds.
const SETTLE: u64 = 100_000;

/// A function that computes a result, and the function's name in every table.
pub(crate) struct Way<'r> {
    pub(crate) name: String,
    pub(crate) run: Run<'r>,
}

/// The times of each function, as pairs of a round number and a time in nanoseconds.
pub(crate) type Times = Vec<Vec<(u32, u64)>>;

/// Returns the conditions under which rounds end: after the requested number, or after twenty
/// seconds.
pub(crate) fn until(rounds: u32) -> Until {
    let deadline = Instant::now() + Duration::from_secs(20);
    Until { target: 0.0, least: rounds, most: rounds, deadline }
}

/// Measures GPU-gated times. Each sample follows untimed runs, and its input is outside L2.
pub(crate) fn gated<'i>(
    cuda: &Cuda,
    ways: &[Way<'_>],
    rounds: u32,
    held: &mut Held<'_>,
    next: &dyn Fn() -> Address<'i>,
) -> Result<Times> {
    let mut stopwatch = Stopwatch::gated(cuda)?;
    let mut before = vec![1u64; ways.len()];
    let mut sample = |at: usize, before: u64| -> Result<u64> {
        for _ in 0..before {
            (ways[at].run)(next())?;
        }
        let address = next();
        stopwatch.time(|| (ways[at].run)(address)).map(nanoseconds)
    };
    for (at, before) in before.iter_mut().enumerate() {
        *before = SETTLE.div_ceil(sample(at, 1)?).clamp(1, 16);
    }
    let each = |at: usize| sample(at, before[at]);
    Ok(rounds::run(ways.len(), &[], &until(rounds), held, each)?.times)
}

/// The offsets of consecutive inputs, in bytes, in a random order that is the same in every run.
pub(crate) struct Slots {
    slot: u64,
    count: u64,
    last: Cell<u64>,
}

impl Slots {
    /// Divides memory of `all` bytes into slots for inputs of `input` bytes.
    pub(crate) fn of(input: u64, all: u64) -> Slots {
        let slot = input.next_multiple_of(128).max(128);
        Slots { slot, count: (all / slot).max(1), last: Cell::new(1) }
    }

    /// Returns the offset of the next input.
    pub(crate) fn next(&self) -> u64 {
        let mut x = self.last.get().wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
        self.last.set(x);
        x ^= x >> 32;
        x % self.count * self.slot
    }
}

/// Converts a time to whole nanoseconds, at least one.
pub(crate) fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_in_range_and_all_are_used() {
        let slots = Slots::of(100, 7 * 128 + 5);
        let met: std::collections::HashSet<u64> = (0..200).map(|_| slots.next()).collect();
        assert_eq!(met.len(), 7);
        assert!(met.iter().all(|at| at % 128 == 0 && *at < 7 * 128));
    }

    #[test]
    fn a_time_is_whole_nanoseconds_and_never_zero() {
        assert_eq!([0.0, 1e-12, 1.4e-9, 1.6e-9, 2e-3].map(nanoseconds), [1, 1, 1, 2, 2_000_000]);
    }
}
