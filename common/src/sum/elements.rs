//! What a kernel is given to add: numbers that were drawn, or numbers that no addition rounds.

use std::ops::Range;

use rayon::prelude::*;

use super::{reference::Reference, scalar::Scalar};

/// The elements of a run.
///
/// Drawn floats are added with rounding, and rounding can hide an element that is missing among very
/// many. Exact ones are +1 and −1 at random: every partial sum of every tree is a small whole number,
/// so each is exact, also of 2³² elements in single precision, and in any order. One element that is
/// left out, or taken twice, shows. Exact integers are any integers.
#[derive(Clone, Copy, Debug)]
pub enum Elements<'v, T> {
    /// Drawn beforehand.
    Drawn(&'v [T]),
    /// So many of [`Scalar::exact`].
    Exact(u64),
}

/// Exact elements that are made at once.
const CHUNK: u64 = 1 << 12;

impl<T: Scalar> Elements<'_, T> {
    /// How many there are.
    pub fn count(&self) -> u64 {
        match *self {
            Elements::Drawn(values) => values.len() as u64,
            Elements::Exact(count) => count,
        }
    }

    /// Whether additions round their sums.
    pub fn round(&self) -> bool {
        matches!(self, Elements::Drawn(_))
    }

    /// The sum of some neighbours.
    pub fn sum(&self, range: Range<u64>) -> Reference {
        match *self {
            Elements::Drawn(values) => T::sum(&values[range.start as usize..range.end as usize]),
            Elements::Exact(_) => {
                let mut values = Vec::new();
                let chunks = range.clone().step_by(CHUNK as usize);
                chunks.fold(T::sum(&[]), |sum, from| {
                    values.clear();
                    values.extend((from..(from + CHUNK).min(range.end)).map(T::exact));
                    sum.plus(T::sum(&values))
                })
            }
        }
    }

    /// The sum of all of them, on all cores.
    pub fn total(&self) -> Reference {
        const TASK: u64 = 1 << 20;
        let count = self.count();
        let tasks: Vec<Reference> = (0..count.div_ceil(TASK))
            .into_par_iter()
            .map(|task| self.sum(task * TASK..((task + 1) * TASK).min(count)))
            .collect();
        tasks.into_iter().fold(T::sum(&[]), Reference::plus)
    }

    /// Some neighbours, made into a buffer on all cores.
    pub fn copy(&self, first: u64, into: &mut [T]) {
        match *self {
            Elements::Drawn(values) => {
                into.copy_from_slice(&values[first as usize..][..into.len()]);
            }
            Elements::Exact(_) => into
                .par_iter_mut()
                .enumerate()
                .for_each(|(at, value)| *value = T::exact(first + at as u64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_floats_are_plus_and_minus_one_and_their_sums_stay_small() {
        let values: Vec<f32> = (0..1 << 20).map(f32::exact).collect();
        assert!(values.iter().all(|value| value.abs() == 1.0));
        let mut sum = 0.0;
        let most = values.iter().fold(0.0f32, |most, value| {
            sum += value;
            most.max(f32::abs(sum))
        });
        // A random walk of 2^20 steps goes a few times 2^10 far.
        assert!(most > 100.0 && most < 8192.0, "{most}");
        assert_eq!(Elements::<f32>::Exact(1 << 20).total().float(), f64::from(sum));
    }

    #[test]
    fn sums_of_parts_are_the_sum() {
        for n in [0, 1, 4095, 4097, (1 << 20) + 13] {
            let exact = Elements::<i32>::Exact(n);
            let values: Vec<i32> = (0..n).map(i32::exact).collect();
            assert_eq!(exact.total(), Reference::of(&values), "{n}");
            let (a, b) = (exact.sum(0..n / 3), exact.sum(n / 3..n));
            assert_eq!(a.plus(b), exact.total(), "{n}");
            let mut copied = vec![0; (n / 2) as usize];
            exact.copy(n / 3, &mut copied);
            assert_eq!(copied, values[(n / 3) as usize..][..copied.len()]);
            assert_eq!(Elements::Drawn(&values).total(), exact.total());
        }
    }
}
