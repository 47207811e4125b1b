//! Accumulators, which hold exact sums before rounding.

use std::marker::PhantomData;

use super::{
    bins::Bins,
    flags::Flags,
    float::{ExactElement, ExactFloat},
    round::round,
    words::Words,
};
use crate::{
    element::{Itself, Read},
    error::{Error, Result, same_length},
};

/// An exact sum of elements, and of products of two elements, whose result is of type `A`. An
/// accumulator can accept further elements, be merged with other accumulators in any order, be sent
/// to another process as bytes, and be rounded at any time.
///
/// One accumulator can hold 2^62 elements. Elements of type `f16`, `bf16` and `f32` have the same
/// type of accumulator.
#[derive(Clone, Debug)]
pub struct ExactAccumulator<A: ExactFloat> {
    pub(super) words: Words,
    pub(super) flags: Flags,
    pub(super) count: u64,
    float: PhantomData<A>,
}

impl<A: ExactFloat> ExactAccumulator<A> {
    /// Creates an accumulator without elements.
    pub fn new() -> ExactAccumulator<A> {
        let words = Words::new(A::LAYOUT.window);
        ExactAccumulator { words, flags: Flags::default(), count: 0, float: PhantomData }
    }

    /// Adds all elements of a slice.
    pub fn add<T: ExactElement<Output = A>>(&mut self, slice: &[T]) {
        let mut bins = Bins::new(A::LAYOUT.bins);
        <T as Read<Itself>>::read(slice, |_, values| A::bin(&mut bins, values));
        self.take(bins, slice.len());
    }

    /// Adds the product of each element and the element at the same index in another slice, without
    /// rounding.
    ///
    /// # Errors
    /// The slices have different lengths. The accumulator is not changed.
    pub fn add_products<T: ExactElement<Output = A>>(&mut self, a: &[T], b: &[T]) -> Result<()> {
        same_length(a.len(), b.len())?;
        self.add_pairs(a, b);
        Ok(())
    }

    /// Adds the products of two slices of the same length.
    pub(super) fn add_pairs<T: ExactElement<Output = A>>(&mut self, a: &[T], b: &[T]) {
        let mut bins = Bins::new(A::LAYOUT.bins);
        for (a, b) in a.chunks(RUN).zip(b.chunks(RUN)) {
            // One run of `b` is widened at a time, into memory on the stack.
            let mut wide = [A::from_bits64(0); RUN];
            <T as Read<Itself>>::read(b, |before, values| {
                wide[before..before + values.len()].copy_from_slice(values);
            });
            <T as Read<Itself>>::read(a, |before, values| {
                for (a, b) in values.iter().zip(&wide[before..]) {
                    A::multiply(&mut bins, &mut self.words, *a, *b);
                }
            });
        }
        self.take(bins, a.len());
    }

    fn take(&mut self, bins: Bins, elements: usize) {
        self.flags.set(bins.empty_into(&mut self.words));
        // No check is needed, because adding 2^62 more elements, up to the words' limit of 2^63,
        // would take centuries.
        self.count += elements as u64;
    }

    /// Adds another accumulator's elements.
    ///
    /// # Errors
    /// The two accumulators together have more than 2^62 elements. This accumulator is not changed.
    pub fn merge(&mut self, other: &ExactAccumulator<A>) -> Result<()> {
        let (ours, theirs) = (self.count, other.count);
        if ours.saturating_add(theirs) > MOST {
            return Err(Error::TooManyElements { ours, theirs });
        }
        self.join(other);
        Ok(())
    }

    /// Adds the elements of an accumulator that holds another part of the same slices.
    pub(super) fn join(&mut self, other: &ExactAccumulator<A>) {
        self.words.merge(&other.words);
        self.flags.set(other.flags);
        self.count += other.count;
    }

    /// Returns the number of elements and products.
    pub fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn of(words: Words, flags: Flags, count: u64) -> ExactAccumulator<A> {
        ExactAccumulator { words, flags, count, float: PhantomData }
    }

    /// Returns the sum, rounded once to nearest, ties to even. The accumulator is not changed.
    ///
    /// The result is NaN if a NaN or both infinities were added, infinite if one infinity was
    /// added, -0 if all elements were -0, and +0 if there were no elements or if other elements
    /// cancel.
    pub fn round(&self) -> A {
        if self.flags.is_nan() {
            return A::from_bits64(u64::MAX).canonical();
        }
        let infinity = A::LAYOUT.format.infinity;
        for (flag, negative) in [(Flags::ABOVE, false), (Flags::BELOW, true)] {
            if self.flags.has(flag) {
                return A::assembled(negative, infinity);
            }
        }
        let (negative, bits) = round(&self.words.digits(), self.words.unit(), A::LAYOUT.format);
        A::assembled(negative || (self.count > 0 && !self.flags.has(Flags::OTHER)), bits)
    }
}

/// The maximum number of elements in an accumulator after a merge, or in one that is read from
/// bytes.
pub(super) const MOST: u64 = 1 << 62;

/// The number of elements that are widened at once.
const RUN: usize = 512;

impl<A: ExactFloat> Default for ExactAccumulator<A> {
    fn default() -> Self {
        ExactAccumulator::new()
    }
}

/// Accumulators are equal if their bytes are equal, that is, if they have equal sums, the same
/// number of elements, and the same special values.
impl<A: ExactFloat> PartialEq for ExactAccumulator<A> {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}
