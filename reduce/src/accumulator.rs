//! The types in which elements are added, and the operations that combine two values. This is the
//! host's counterpart of `operation.cu`.

/// The operation that reduces a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The sum.
    Sum,
    /// The smallest element that is a number.
    Min,
    /// The largest element that is a number.
    Max,
}

impl Operation {
    /// All operations.
    pub const ALL: [Operation; 3] = [Operation::Sum, Operation::Min, Operation::Max];
}

/// A type of sums, minima and maxima: `f32`, `f64`, and integers with 32 or 64 bits.
pub trait Accumulator: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// Returns the neutral element, which changes no value that it is combined with.
    #[doc(hidden)]
    fn none(operation: Operation) -> Self;

    /// Returns the result of an operation for an empty slice.
    #[doc(hidden)]
    fn empty(operation: Operation) -> Self;

    /// Returns the sum of two values.
    #[doc(hidden)]
    fn plus(self, other: Self) -> Self;

    /// Returns the minimum: IEEE 754-2019's minimumNumber, which is NaN only if both values are
    /// NaN; -0 is less than +0.
    #[doc(hidden)]
    fn least(self, other: Self) -> Self;

    /// Returns the maximum: IEEE 754-2019's maximumNumber.
    #[doc(hidden)]
    fn most(self, other: Self) -> Self;

    /// Returns the value itself, or the same bits for every NaN.
    #[doc(hidden)]
    fn canonical(self) -> Self;

    /// Returns the value that has these bits.
    #[doc(hidden)]
    fn from_bits64(bits: u64) -> Self;

    /// Returns the value's bits, with zeros above them.
    #[doc(hidden)]
    fn to_bits64(self) -> u64;
}

macro_rules! integers {
    ($($type:ty)+) => {$(
        impl Accumulator for $type {
            fn none(operation: Operation) -> Self {
                match operation {
                    Operation::Sum => 0,
                    Operation::Min => <$type>::MAX,
                    Operation::Max => <$type>::MIN,
                }
            }

            fn empty(operation: Operation) -> Self {
                Self::none(operation)
            }

            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn least(self, other: Self) -> Self {
                self.min(other)
            }

            fn most(self, other: Self) -> Self {
                self.max(other)
            }

            fn canonical(self) -> Self {
                self
            }

            fn from_bits64(bits: u64) -> Self {
                bits as Self
            }

            fn to_bits64(self) -> u64 {
                u64::from_ne_bytes((self as i64).to_ne_bytes()) & (u64::MAX >> (64 - <$type>::BITS))
            }
        }
    )+};
}
integers! { i32 u32 i64 u64 }

macro_rules! floats {
    ($($type:ty, $bits:ty, $nan:literal;)+) => {$(
        impl Accumulator for $type {
            fn none(operation: Operation) -> Self {
                match operation {
                    Operation::Sum => 0.0,
                    Operation::Min | Operation::Max => Self::from_bits($nan),
                }
            }

            fn empty(operation: Operation) -> Self {
                match operation {
                    Operation::Sum => 0.0,
                    Operation::Min => Self::INFINITY,
                    Operation::Max => Self::NEG_INFINITY,
                }
            }

            fn plus(self, other: Self) -> Self {
                self + other
            }

            // Has no branches, so that loops over it are vectorized.
            fn least(self, other: Self) -> Self {
                let zero = (self == other) & other.is_sign_negative();
                if (other < self) | self.is_nan() | zero { other } else { self }
            }

            fn most(self, other: Self) -> Self {
                let zero = (self == other) & other.is_sign_positive();
                if (other > self) | self.is_nan() | zero { other } else { self }
            }

            fn canonical(self) -> Self {
                if self.is_nan() { Self::from_bits($nan) } else { self }
            }

            fn from_bits64(bits: u64) -> Self {
                Self::from_bits(bits as $bits)
            }

            fn to_bits64(self) -> u64 {
                self.to_bits().into()
            }
        }
    )+};
}
floats! {
    f32, u32, 0x7fff_ffff;
    f64, u64, 0x7fff_ffff_ffff_ffff;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nans_are_ignored_and_zeros_are_ordered() {
        for (a, b) in [(-0.0f32, 0.0), (0.0, -0.0)] {
            assert_eq!(a.least(b).to_bits(), (-0.0f32).to_bits());
            assert_eq!(a.most(b).to_bits(), 0.0f32.to_bits());
        }
        for (a, b) in [(f64::NAN, 3.0), (3.0, f64::NAN)] {
            assert_eq!((a.least(b), a.most(b)), (3.0, 3.0));
        }
        assert!(f32::NAN.least(-f32::NAN).is_nan() && f32::NAN.most(-f32::NAN).is_nan());
        assert_eq!((-f32::NAN).canonical().to_bits(), 0x7fff_ffff);
        assert_eq!((-f64::NAN).canonical().to_bits(), 0x7fff_ffff_ffff_ffff);
    }

    #[test]
    fn bits_hold_values() {
        assert_eq!((-1i32).to_bits64(), 0xffff_ffff);
        assert_eq!(i32::from_bits64(0xffff_ffff), -1);
        assert_eq!((-1i64).to_bits64(), u64::MAX);
        assert_eq!(u64::MAX.to_bits64(), u64::MAX);
        assert_eq!(f64::from_bits64(1.5f64.to_bits64()), 1.5);
    }
}
