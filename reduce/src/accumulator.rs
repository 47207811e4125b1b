//! The types in which elements are added, and the arithmetic on which the operations are built.

use crate::operate::Neutral;

/// A type that sums, minima and maxima can have: `f32`, `f64`, and integers with 32 or 64 bits.
pub trait Accumulator: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// Zero.
    #[doc(hidden)]
    const ZERO: Self;

    /// Returns the neutral value that `neutral` selects. Combining it with any value gives that
    /// value.
    #[doc(hidden)]
    fn none(neutral: Neutral) -> Self;

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

    /// Returns the product of two values.
    #[doc(hidden)]
    fn times(self, other: Self) -> Self;

    /// Returns the magnitude.
    #[doc(hidden)]
    fn magnitude(self) -> Self;

    /// Returns the square root.
    #[doc(hidden)]
    fn root(self) -> Self;

    /// Returns the value divided by a number of elements. The quotient is rounded once.
    #[doc(hidden)]
    fn over(self, n: u64) -> Self;

    /// Returns the value as a double. A 64-bit integer is rounded.
    #[doc(hidden)]
    fn to_double(self) -> f64;

    /// Rounds a double to this type.
    #[doc(hidden)]
    fn of_double(value: f64) -> Self;

    /// Returns the value unchanged, except that every NaN becomes the same NaN.
    #[doc(hidden)]
    fn canonical(self) -> Self;

    /// Returns the value that has these bits.
    #[doc(hidden)]
    fn from_bits64(bits: u64) -> Self;

    /// Returns the value's bits, zero-extended to 64 bits.
    #[doc(hidden)]
    fn to_bits64(self) -> u64;
}

macro_rules! integers {
    ($($type:ty)+) => {$(
        impl Accumulator for $type {
            const ZERO: Self = 0;

            fn none(neutral: Neutral) -> Self {
                match neutral {
                    Neutral::Zero => 0,
                    Neutral::Largest => <$type>::MAX,
                    Neutral::Smallest | Neutral::ZeroOfNumbers => <$type>::MIN,
                }
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

            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            fn magnitude(self) -> Self {
                (self as i128).unsigned_abs() as Self
            }

            fn root(self) -> Self {
                (self as f64).sqrt() as Self
            }

            fn over(self, n: u64) -> Self {
                (self as f64 / n as f64) as Self
            }

            fn to_double(self) -> f64 {
                self as f64
            }

            fn of_double(value: f64) -> Self {
                value as Self
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
    ($($type:ty, $bits:ty, $nan:literal, $over:expr;)+) => {$(
        impl Accumulator for $type {
            const ZERO: Self = 0.0;

            fn none(neutral: Neutral) -> Self {
                match neutral {
                    Neutral::Zero => 0.0,
                    _ => Self::from_bits($nan),
                }
            }

            fn plus(self, other: Self) -> Self {
                self + other
            }

            // This function has no branches, so that loops that call it can be vectorized.
            fn least(self, other: Self) -> Self {
                let zero = (self == other) & other.is_sign_negative();
                if (other < self) | self.is_nan() | zero { other } else { self }
            }

            fn most(self, other: Self) -> Self {
                let zero = (self == other) & other.is_sign_positive();
                if (other > self) | self.is_nan() | zero { other } else { self }
            }

            fn times(self, other: Self) -> Self {
                self * other
            }

            fn magnitude(self) -> Self {
                self.abs()
            }

            fn root(self) -> Self {
                self.sqrt()
            }

            fn over(self, n: u64) -> Self {
                $over(self, n)
            }

            fn to_double(self) -> f64 {
                self as f64
            }

            fn of_double(value: f64) -> Self {
                value as Self
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
    f32, u32, 0x7fff_ffff, float_over;
    f64, u64, 0x7fff_ffff_ffff_ffff, |all: f64, n: u64| all / n as f64;
}

/// Divides a float by an integer, and rounds once. The quotient of doubles is rounded to odd, that
/// is, an inexact quotient is rounded towards zero and its last bit is set. Rounding it again then
/// gives the nearest float (Boldo and Melquiond, 2008).
fn float_over(all: f32, n: u64) -> f32 {
    let (all, count) = (f64::from(all), n as f64);
    let nearest = all / count;
    let rest = (-nearest).mul_add(count, all);
    if rest == 0.0 || rest.is_nan() {
        return nearest as f32;
    }
    // The quotient was rounded away from zero if the remainder and the dividend have opposite
    // signs.
    let away = (rest < 0.0) != (all < 0.0);
    f64::from_bits((nearest.to_bits() - u64::from(away)) | 1) as f32
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

    /// Checks that a quotient is the nearest float. The distances to its neighbours are compared
    /// exactly.
    #[test]
    fn a_float_over_an_integer_is_rounded_once() {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 16
        };
        for turn in 0..20_000 {
            let all = f32::from_bits(0x4b00_0000 + random() as u32 % 0x0080_0000);
            let n = 1 + random() % (1 << (turn % 40 + 1));
            let quotient = all.over(n);
            // `all` is an integer below 2^24; the quotient is an integer times 2^-e.
            let e = 23 - ((quotient.to_bits() >> 23) as i32 - 127);
            let scaled = |q: f32| {
                let mantissa = u128::from(q.to_bits() & 0x007f_ffff | 0x0080_0000);
                let own = 23 - ((q.to_bits() >> 23) as i32 - 127);
                (mantissa << (e + 1 - own)) * u128::from(n)
            };
            let exact = (all as u128) << (e + 1);
            let distance = |q: f32| scaled(q).abs_diff(exact);
            let neighbours = [quotient.next_up(), quotient.next_down()].map(distance);
            assert!(neighbours.iter().all(|d| distance(quotient) <= *d), "{all} / {n}");
        }
        assert_eq!(f32::INFINITY.over(3), f32::INFINITY);
        assert_eq!((-1e-45f32).over(2).to_bits(), (-0.0f32).to_bits());
        assert!(0.0f32.over(0).is_nan());
        assert_eq!(10.0f64.over(4), 2.5);
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
