//! An exact sum as a value.

use std::marker::PhantomData;

use super::{
    bins::Bins,
    flags::Flags,
    float::{ExactElement, ExactFloat},
    round::round,
    words::Words,
};
use crate::error::{Error, Result, same_length};

/// An exact sum of elements, and of products of two, whose result is `A`. It can be added to, merged with others in
/// any order, sent elsewhere as bytes, and rounded at any time.
///
/// One accumulator takes 2^62 elements. Elements of type `f16`, `bf16` and `f32` have the same accumulator.
#[derive(Clone, Debug)]
pub struct ExactAccumulator<A: ExactFloat> {
    pub(super) words: Words,
    pub(super) flags: Flags,
    pub(super) count: u64,
    float: PhantomData<A>,
}

impl<A: ExactFloat> ExactAccumulator<A> {
    /// An accumulator without elements.
    pub fn new() -> ExactAccumulator<A> {
        let words = Words::new(A::LAYOUT.window);
        ExactAccumulator { words, flags: Flags::default(), count: 0, float: PhantomData }
    }

    /// Adds all elements of a slice.
    pub fn add<T: ExactElement<Output = A>>(&mut self, slice: &[T]) {
        let mut bins = Bins::new(A::LAYOUT.bins);
        T::widened(slice, |_, values| A::bin(&mut bins, values));
        self.take(bins, slice.len());
    }

    /// Adds the product of each element with the one at the same place in another slice: without a rounding.
    ///
    /// # Errors
    /// One slice is longer than the other. The accumulator is not changed.
    pub fn add_products<T: ExactElement<Output = A>>(&mut self, a: &[T], b: &[T]) -> Result<()> {
        same_length(a.len(), b.len())?;
        self.add_pairs(a, b);
        Ok(())
    }

    /// Adds the products of two slices of the same length.
    pub(super) fn add_pairs<T: ExactElement<Output = A>>(&mut self, a: &[T], b: &[T]) {
        let mut bins = Bins::new(A::LAYOUT.bins);
        for (a, b) in a.chunks(RUN).zip(b.chunks(RUN)) {
            // One run of each slice is widened, into memory on the stack.
            let mut wide = [A::from_bits64(0); RUN];
            T::widened(b, |before, values| {
                wide[before..before + values.len()].copy_from_slice(values);
            });
            T::widened(a, |before, values| {
                for (a, b) in values.iter().zip(&wide[before..]) {
                    A::multiply(&mut bins, &mut self.words, *a, *b);
                }
            });
        }
        self.take(bins, a.len());
    }

    fn take(&mut self, bins: Bins, elements: usize) {
        self.flags.set(bins.empty_into(&mut self.words));
        // From 2^62 on, centuries of additions do not reach the 2^63 that the words hold.
        self.count += elements as u64;
    }

    /// Adds another accumulator's elements.
    ///
    /// # Errors
    /// Together they have more than 2^62 elements. The accumulator is not changed.
    pub fn merge(&mut self, other: &ExactAccumulator<A>) -> Result<()> {
        let (ours, theirs) = (self.count, other.count);
        if ours.saturating_add(theirs) > MOST {
            return Err(Error::TooManyElements { ours, theirs });
        }
        self.join(other);
        Ok(())
    }

    /// Adds the elements of an accumulator of a part of the same slices.
    pub(super) fn join(&mut self, other: &ExactAccumulator<A>) {
        self.words.merge(&other.words);
        self.flags.set(other.flags);
        self.count += other.count;
    }

    /// The number of elements and products.
    pub fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn of(words: Words, flags: Flags, count: u64) -> ExactAccumulator<A> {
        ExactAccumulator { words, flags, count, float: PhantomData }
    }

    /// The sum, rounded once to nearest, ties to even; the accumulator is not changed.
    ///
    /// NaN after a NaN or both infinities; an infinity after one; -0 if all elements were -0; +0 if there were
    /// none, or if they cancel.
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

/// The most elements of an accumulator that is merged or made of bytes.
pub(super) const MOST: u64 = 1 << 62;

/// Elements that are widened at once.
const RUN: usize = 512;

impl<A: ExactFloat> Default for ExactAccumulator<A> {
    fn default() -> Self {
        ExactAccumulator::new()
    }
}

/// Equal sums of equally many elements, with the same special values, have equal bytes.
impl<A: ExactFloat> PartialEq for ExactAccumulator<A> {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}
