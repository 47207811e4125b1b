//! The elements that a run adds: either drawn numbers or numbers whose sums are exact.

use std::ops::Range;

use numbers::{Reference, Scalar};
use simt::parallel;

/// The elements that a run adds.
///
/// The additions of drawn floats are rounded, and rounding can hide the loss of one element among
/// millions. Exact floats are random values of +1 and −1. Every partial sum in every tree is then a
/// small integer, which is exact in any order, even for 2³² elements in single precision. An
/// element that is left out or added twice is therefore detected. Exact integers can have any
/// value.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'v, T> {
    kind: Kind<'v, T>,
    /// The sums of [chunks](Elements::chunks), if they are known. Verification needs many sums over
    /// ranges that consist mostly of whole chunks.
    chunks: &'v [Reference],
}

#[derive(Clone, Copy, Debug)]
enum Kind<'v, T> {
    /// Values that were drawn in advance.
    Drawn(&'v [T]),
    /// The given number of values from [`Scalar::exact`].
    Exact(u64),
}

/// The number of elements in a chunk.
const CHUNK: u64 = 1 << 12;

impl<'v, T: Scalar> Elements<'v, T> {
    /// Creates elements from values that were drawn.
    pub fn drawn(values: &'v [T]) -> Elements<'v, T> {
        Elements { kind: Kind::Drawn(values), chunks: &[] }
    }

    /// Creates `count` exact elements.
    pub fn exact(count: u64) -> Elements<'v, T> {
        Elements { kind: Kind::Exact(count), chunks: &[] }
    }

    /// Returns the same elements together with the known sums of their
    /// [`chunks`](Elements::chunks).
    pub fn with(self, chunks: &'v [Reference]) -> Elements<'v, T> {
        Elements { chunks, ..self }
    }

    /// Returns the number of elements.
    pub fn count(&self) -> u64 {
        match self.kind {
            Kind::Drawn(values) => values.len() as u64,
            Kind::Exact(count) => count,
        }
    }

    /// Returns whether the additions of these elements are rounded.
    pub fn round(&self) -> bool {
        matches!(self.kind, Kind::Drawn(_))
    }

    /// Returns the sum of the elements in a range.
    pub fn sum(&self, range: Range<u64>) -> Reference {
        let (first, last) = (range.start.div_ceil(CHUNK), range.end / CHUNK);
        match self.chunks.get(first as usize..last as usize) {
            Some(whole) if !whole.is_empty() => {
                let head = self.add(range.start..first * CHUNK);
                let whole = whole.iter().fold(head, |sum, chunk| sum.plus(*chunk));
                whole.plus(self.add(last * CHUNK..range.end))
            }
            _ => self.add(range),
        }
    }

    /// Like [`sum`](Elements::sum), but adds element by element.
    fn add(&self, range: Range<u64>) -> Reference {
        match self.kind {
            Kind::Drawn(values) => T::sum(&values[range.start as usize..range.end as usize]),
            Kind::Exact(_) => {
                let mut values = vec![T::ZERO; CHUNK.min(range.end - range.start) as usize];
                let chunks = range.clone().step_by(CHUNK as usize);
                chunks.fold(T::sum(&[]), |sum, from| {
                    let values = &mut values[..CHUNK.min(range.end - from) as usize];
                    T::fill_exact(from, values);
                    sum.plus(T::sum(values))
                })
            }
        }
    }

    /// Returns the sum of each chunk, computed on all cores. A chunk is large enough to keep a core
    /// busy, and small enough that the sums need little memory.
    pub fn chunks(&self) -> Vec<Reference> {
        let count = self.count();
        let chunks = (0..count.div_ceil(CHUNK)).collect();
        let add = |at: u64| self.add(at * CHUNK..((at + 1) * CHUNK).min(count));
        parallel::map(0, chunks, || (), |(), _, at| add(at))
    }

    /// Returns the sum of all elements, computed on all cores.
    pub fn total(&self) -> Reference {
        match self.chunks {
            [] => self.chunks().into_iter().fold(T::sum(&[]), Reference::plus),
            known => known.iter().fold(T::sum(&[]), |sum, chunk| sum.plus(*chunk)),
        }
    }

    /// Writes the elements into a buffer, starting with element `first`, on all cores.
    pub fn copy(&self, first: u64, into: &mut [T]) {
        match self.kind {
            Kind::Drawn(values) => {
                into.copy_from_slice(&values[first as usize..][..into.len()]);
            }
            Kind::Exact(_) => {
                let chunks = into.chunks_mut(CHUNK as usize).collect();
                parallel::map(
                    0,
                    chunks,
                    || (),
                    |(), at, values: &mut [T]| {
                        T::fill_exact(first + at as u64 * CHUNK, values);
                    },
                );
            }
        }
    }
}

/// Formats a number of elements for a message.
pub fn elements(n: u64) -> String {
    format!("{n} element{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_chunks_do_not_change_a_sum() {
        let values: Vec<f32> = (0..3 << 19).map(|i| (i % 1000) as f32 * 0.1).collect();
        let whole = f32::sum(&values);
        let in_chunks = Elements::drawn(&values).total();
        assert_eq!(whole.float(), in_chunks.float());
    }

    #[test]
    fn exact_floats_are_plus_and_minus_one_and_their_sums_stay_small() {
        let values: Vec<f32> = (0..1 << 20).map(f32::exact).collect();
        assert!(values.iter().all(|value| value.abs() == 1.0));
        let mut sum = 0.0;
        let most = values.iter().fold(0.0f32, |most, value| {
            sum += value;
            most.max(f32::abs(sum))
        });
        // A random walk of 2^20 steps ends at a distance of a few times 2^10.
        assert!(most > 100.0 && most < 8192.0, "{most}");
        assert_eq!(Elements::<f32>::exact(1 << 20).total().float(), f64::from(sum));
    }

    #[test]
    fn sums_of_parts_are_the_sum() {
        for n in [0, 1, 4095, 4096, 4097, 8193, (1 << 20) + 13] {
            let exact = Elements::<i32>::exact(n);
            let values: Vec<i32> = (0..n).map(i32::exact).collect();
            assert_eq!(exact.total(), i32::sum(&values), "{n}");
            let (a, b) = (exact.sum(0..n / 3), exact.sum(n / 3..n));
            assert_eq!(a.plus(b), exact.total(), "{n}");
            let mut copied = vec![0; (n / 2) as usize];
            exact.copy(n / 3, &mut copied);
            assert_eq!(copied, values[(n / 3) as usize..][..copied.len()]);
            assert_eq!(Elements::drawn(&values).total(), exact.total());
            let known = exact.chunks();
            let known = exact.with(&known);
            for range in [0..n, n / 3..n, 1.min(n)..n - n / 7, n / 2..n / 2] {
                assert_eq!(known.sum(range.clone()), exact.sum(range), "{n}");
            }
        }
    }

    /// Incorrect chunk sums change a sum only where whole chunks are used.
    #[test]
    fn known_chunks_are_not_added_again() {
        let known = [i32::sum(&[1]); 4];
        let elements = Elements::<i32>::exact(4 * CHUNK).with(&known);
        let exact = Elements::<i32>::exact(4 * CHUNK);
        assert_eq!(elements.total().integer(), 4);
        let ends = exact.sum(CHUNK - 5..CHUNK).plus(exact.sum(3 * CHUNK..3 * CHUNK + 7));
        assert_eq!(elements.sum(CHUNK - 5..3 * CHUNK + 7), ends.plus(i32::sum(&[2])));
        let inside = CHUNK + 1..2 * CHUNK - 1;
        assert_eq!(elements.sum(inside.clone()), exact.sum(inside));
        // Additions of drawn elements are rounded; additions of exact elements are not.
        assert!(!exact.round() && Elements::drawn(&[1]).round());
    }
}
