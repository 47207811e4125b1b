//! The sum that every kernel is held against.

/// The exact sum of integers, or the sum of floats to about 2⁻¹⁰⁰ of Σ|x|.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reference {
    /// Integers, before they wrap.
    Integer(i128),
    /// Floats.
    Float {
        /// The sum, rounded to a double.
        sum: f64,
        /// What that rounding left over.
        rest: f64,
        /// Σ|x|, the scale of every rounding error.
        magnitude: f64,
    },
}

impl Reference {
    /// The sum of integers.
    pub fn of_integers(values: impl Iterator<Item = i128>) -> Reference {
        Reference::Integer(values.sum())
    }

    /// The sum of floats, compensated: the rounding error of each addition is added up too.
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

    /// The sum of two sums.
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
            // One type is summed at a time; a mixture adds nothing.
            (kept, _) => kept,
        }
    }

    /// As a double.
    pub fn float(&self) -> f64 {
        match *self {
            Reference::Integer(sum) => sum as f64,
            Reference::Float { sum, .. } => sum,
        }
    }

    /// As an integer that has not wrapped; 0 for floats.
    pub fn integer(&self) -> i128 {
        match *self {
            Reference::Integer(sum) => sum,
            Reference::Float { .. } => 0,
        }
    }

    /// How far a value is from the sum.
    pub fn distance(&self, value: f64) -> f64 {
        match *self {
            Reference::Integer(sum) => (value - sum as f64).abs(),
            Reference::Float { sum, rest, .. } => ((value - sum) - rest).abs(),
        }
    }

    /// The largest error that rounding explains after `depth` additions in a row, each off by
    /// at most `roundoff` of its result: γ · Σ|x| with γ = depth · u / (1 − depth · u).
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

/// The rounded sum of two doubles and the exact error of that rounding (Knuth's TwoSum).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let shadow = sum - a;
    (sum, (a - (sum - shadow)) + (b - shadow))
}

#[cfg(test)]
mod tests {
    use crate::sum::{Elements, Scalar};

    #[test]
    fn nothing_is_lost_where_doubles_lose_it() {
        let reference = Elements::drawn(&[1e100, 1.0, -1e100, 1.0]).total();
        assert_eq!(reference.float(), 2.0);
    }

    #[test]
    fn what_rounding_left_over_counts_in_sums_and_distances() {
        let rest = 2f64.powi(-60);
        let some = Elements::drawn(&[1.0, rest]).total();
        assert_eq!((some.float(), some.distance(1.0)), (1.0, rest));
        // On the side of the value where it lies.
        let above = 1.0 + f64::EPSILON;
        assert_eq!(some.distance(above), f64::EPSILON - rest);
        assert_eq!(some.plus(some).distance(2.0), 2.0 * rest);
        let less = Elements::drawn(&[1.0, 3.0 * rest]).total();
        assert_eq!(some.plus(less).distance(2.0), 4.0 * rest);
    }

    #[test]
    fn chunks_change_nothing() {
        let values: Vec<f32> = (0..3 << 19).map(|i| (i % 1000) as f32 * 0.1).collect();
        let whole = f32::sum(&values);
        let in_chunks = Elements::drawn(&values).total();
        assert_eq!(whole.float(), in_chunks.float());
    }

    #[test]
    fn integers_do_not_wrap_before_they_are_asked_to() {
        let reference = Elements::drawn(&[i32::MAX; 5]).total();
        assert_eq!(reference.integer(), 5 * i128::from(i32::MAX));
        assert_eq!(i32::MAX.wrapping_mul(5).distance(&reference), 0.0);
        assert_eq!([3.0, 9.0].map(|value| i32::sum(&[5]).distance(value)), [2.0, 4.0]);
    }

    #[test]
    fn the_bound_grows_with_depth_and_magnitude() {
        let reference = Elements::drawn(&[1.0f32, -1.0]).total();
        assert_eq!(reference.float(), 0.0);
        let one = reference.bound(1, f32::ROUNDOFF);
        assert!(one > 2.0 * f32::ROUNDOFF && one < 2.1 * f32::ROUNDOFF);
        assert!(reference.bound(10, f32::ROUNDOFF) > 9.9 * one);
        assert_eq!(reference.bound(0, f32::ROUNDOFF), 0.0);
    }
}
