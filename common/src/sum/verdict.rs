//! The verdict on one sum.

use numbers::{Reference, Scalar, Value};

/// A sum has lost precision if its error is at most this multiple of what its own rounding explains,
/// and if the kernel adds exact elements correctly.
pub const NEAR: f64 = 1000.0;

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
    /// The only correct sum, if no addition rounds: the exact sum, rounded once.
    pub rounded: Option<Value>,
}

impl Verdict {
    /// Compares a sum with the reference. `depth` is the number of additions, each of which rounds,
    /// on the longest path from an element to the sum. If it is 0, the sum is rounded once.
    pub fn of<T: Scalar>(sum: T, reference: &Reference, depth: u32) -> Verdict {
        let rounded = T::rounded(reference);
        Verdict {
            sum: sum.value(),
            expected: T::expected(reference),
            error: sum.distance(reference),
            bound: match depth {
                0 => rounded.distance(reference),
                _ => reference.bound(depth, T::ROUNDOFF),
            },
            rounded: (depth == 0).then(|| rounded.value()),
        }
    }

    /// Returns whether the sum is correct. NaN and infinity on either side are always wrong.
    pub fn verified(&self) -> bool {
        let near = self.bound.is_finite() && self.error <= self.bound;
        near && self.rounded.is_none_or(|rounded| self.sum == rounded)
    }

    /// Returns whether the error is at most [`NEAR`] times what the kernel's own rounding explains.
    pub(super) fn is_near(&self) -> bool {
        self.bound.is_finite() && self.error <= NEAR * self.bound
    }

    /// Returns the correct sum, if the exact sum is rounded once and this changes its value.
    pub(super) fn rounds_to(&self) -> Option<Value> {
        self.rounded.filter(|rounded| *rounded != self.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums are 2^24 + 1 and 2^24 + 3, which are halfway between two floats, and values beside
    /// them.
    #[test]
    fn a_sum_that_is_rounded_once_has_one_right_value() {
        let large = 16_777_216.0f32;
        for (values, right, wrong) in [
            (&[large, 1.0][..], large, large + 2.0),
            (&[large, 3.0], large + 4.0, large + 2.0),
            (&[large, 1.0, 1e-30], large + 2.0, large),
            (&[large, 3.0, -1e-30], large + 2.0, large + 4.0),
            (&[-large, -1.0], -large, -large - 2.0),
            (&[large, 2.0], large + 2.0, large),
            (&[f32::MAX, f32::MAX], f32::INFINITY, f32::MAX),
        ] {
            let reference = f32::sum(values);
            assert_eq!(f32::rounded(&reference), right, "{values:?}");
            assert_eq!(Verdict::of(right, &reference, 0).verified(), right.is_finite());
            assert!(!Verdict::of(wrong, &reference, 0).verified(), "{values:?}");
        }
        let reference = f32::sum(&[large, 1.0]);
        assert!(Verdict::of(large + 2.0, &reference, 1).verified(), "an addition may round");
        let doubles = f64::sum(&[1.0, 2f64.powi(-53), 2f64.powi(-90)]);
        assert_eq!(f64::rounded(&doubles), 1.0 + f64::EPSILON);
        assert_eq!(i32::rounded(&i32::sum(&[i32::MAX, 1])), i32::MIN);
    }
}
