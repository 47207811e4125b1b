//! The verdict on one sum.

use numbers::{Reference, Scalar, Value};

/// A verdict on a sum, with the numbers on which it is based.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The kernel's sum.
    pub sum: Value,
    /// The exact sum, in the element type.
    pub expected: Value,
    /// The distance between the two sums.
    pub error: f64,
    /// The largest distance that the kernel's own rounding can explain.
    pub bound: f64,
}

impl Verdict {
    /// Compares a sum with the reference.
    pub fn of<T: Scalar>(sum: T, reference: &Reference, depth: u32) -> Verdict {
        Verdict {
            sum: sum.value(),
            expected: T::expected(reference),
            error: sum.distance(reference),
            bound: reference.bound(depth, T::ROUNDOFF),
        }
    }

    /// Returns whether the sum is correct. NaN and infinity on either side are always wrong.
    pub fn verified(&self) -> bool {
        self.bound.is_finite() && self.error <= self.bound
    }
}
