//! The reference sum for every kernel.

/// The exact sum of integers, or a sum of floats that is accurate to about 2⁻¹⁰⁰ of Σ|x|.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reference {
    /// A sum of integers, before it wraps.
    Integer(i128),
    /// A sum of floats.
    Float {
        /// The sum, rounded to a double.
        sum: f64,
        /// The error of this rounding.
        rest: f64,
        /// Σ|x|, to which every rounding error is proportional.
        magnitude: f64,
    },
}

impl Reference {
    /// Computes the sum of integers.
    pub fn of_integers(values: impl Iterator<Item = i128>) -> Reference {
        Reference::Integer(values.sum())
    }

    /// Computes the sum of floats with compensation: the rounding errors of all additions are added
    /// up too.
    pub fn of_floats(values: impl Iterator<Item = f64>) -> Reference {
        let (mut sum, mut rest, mut magnitude) = (0.0, 0.0, 0.0);
        for value in values {
            let (total, error) = two_sum(sum, value);
            sum = total;
            rest += error;
            magnitude += value.abs();
        }
        let (sum, rest) = two_sum(sum, rest);
        Reference::Float { sum, rest, magnitude }
    }

    /// Adds another sum to this one.
    pub fn plus(self, other: Reference) -> Reference {
        match (self, other) {
            (Reference::Integer(a), Reference::Integer(b)) => Reference::Integer(a + b),
            (
                Reference::Float { sum: a, rest: ra, magnitude: ma },
                Reference::Float { sum: b, rest: rb, magnitude: mb },
            ) => {
                let (total, error) = two_sum(a, b);
                let (sum, rest) = two_sum(total, error + ra + rb);
                Reference::Float { sum, rest, magnitude: ma + mb }
            }
            // Floats and integers are never mixed, because the elements of a sum have one type.
            (kept, _) => kept,
        }
    }

    /// Converts the sum to a double.
    pub fn float(&self) -> f64 {
        match *self {
            Reference::Integer(sum) => sum as f64,
            Reference::Float { sum, .. } => sum,
        }
    }

    /// Returns the difference between the exact sum and [`float`](Reference::float); 0 for integers.
    pub fn rest(&self) -> f64 {
        match *self {
            Reference::Integer(_) => 0.0,
            Reference::Float { rest, .. } => rest,
        }
    }

    /// Returns the sum as an integer that has not wrapped; 0 for floats.
    pub fn integer(&self) -> i128 {
        match *self {
            Reference::Integer(sum) => sum,
            Reference::Float { .. } => 0,
        }
    }

    /// Returns the absolute difference between a value and the sum.
    pub fn distance(&self, value: f64) -> f64 {
        match *self {
            Reference::Integer(sum) => (value - sum as f64).abs(),
            Reference::Float { sum, rest, .. } => ((value - sum) - rest).abs(),
        }
    }

    /// Returns an upper bound on the rounding error of `depth` consecutive additions, each with a
    /// relative error of at most `roundoff`. The bound is γ · Σ|x| with γ = depth · u / (1 − depth
    /// · u), where u is `roundoff`.
    ///
    /// Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 4.2.
    pub fn bound(&self, depth: u32, roundoff: f64) -> f64 {
        match *self {
            Reference::Integer(_) => 0.0,
            Reference::Float { magnitude, .. } => {
                let drift = f64::from(depth) * roundoff;
                drift / (1.0 - drift) * magnitude
            }
        }
    }
}

/// Returns the rounded sum of two doubles and the exact error of that rounding (Knuth's TwoSum).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let shadow = sum - a;
    (sum, (a - (sum - shadow)) + (b - shadow))
}

#[cfg(test)]
mod tests {
    use crate::Scalar;

    #[test]
    fn sums_are_exact_where_doubles_are_not() {
        let reference = f64::sum(&[1e100, 1.0, -1e100, 1.0]);
        assert_eq!(reference.float(), 2.0);
    }

    #[test]
    fn rounding_errors_count_in_sums_and_distances() {
        let rest = 2f64.powi(-60);
        let some = f64::sum(&[1.0, rest]);
        assert_eq!((some.float(), some.distance(1.0)), (1.0, rest));
        // The rounding error of the reference is subtracted, not added.
        let above = 1.0 + f64::EPSILON;
        assert_eq!(some.distance(above), f64::EPSILON - rest);
        assert_eq!(some.plus(some).distance(2.0), 2.0 * rest);
        let less = f64::sum(&[1.0, 3.0 * rest]);
        assert_eq!(some.plus(less).distance(2.0), 4.0 * rest);
    }

    #[test]
    fn integer_references_do_not_wrap() {
        let reference = i32::sum(&[i32::MAX; 5]);
        assert_eq!(reference.integer(), 5 * i128::from(i32::MAX));
        assert_eq!(i32::MAX.wrapping_mul(5).distance(&reference), 0.0);
        assert_eq!([3.0, 9.0].map(|value| i32::sum(&[5]).distance(value)), [2.0, 4.0]);
    }

    #[test]
    fn the_bound_grows_with_depth_and_magnitude() {
        let reference = f32::sum(&[1.0, -1.0]);
        assert_eq!(reference.float(), 0.0);
        let one = reference.bound(1, f32::ROUNDOFF);
        assert!(one > 2.0 * f32::ROUNDOFF && one < 2.1 * f32::ROUNDOFF);
        assert!(reference.bound(10, f32::ROUNDOFF) > 9.9 * one);
        assert_eq!(reference.bound(0, f32::ROUNDOFF), 0.0);
    }
}
