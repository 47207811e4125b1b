//! The square root of an exact sum, rounded once.

use super::{ExactAccumulator, ExactFloat, flags::Flags, round::round};

/// The number of bits in the integer whose root is taken. The root has half as many bits, which is
/// at least two more than a double's significand has.
const BITS: usize = 112;

impl<A: ExactFloat> ExactAccumulator<A> {
    /// Returns the square root of the sum, rounded once to nearest, ties to even. The accumulator
    /// is not changed.
    ///
    /// The result is NaN if the sum is negative or NaN, infinite if the sum is infinite, and a zero
    /// with the sum's sign if the sum is zero.
    pub fn round_sqrt(&self) -> A {
        let nan = || A::from_bits64(u64::MAX).canonical();
        let digits = self.words.digits();
        let is_negative = digits.last().is_some_and(|last| last >> 31 == 1);
        if self.flags.is_nan() || self.flags.has(Flags::BELOW) {
            return nan();
        }
        if self.flags.has(Flags::ABOVE) {
            return self.round();
        }
        if is_negative {
            return nan();
        }
        let Some(highest) = digits.iter().rposition(|digit| *digit != 0) else {
            return self.round(); // The sum is a zero.
        };
        // The sum lies between `high` × 4^k and (`high` + 1) × 4^k, so its root has the same
        // integer part, in units of 2^k, as the root of `high`.
        let top = 32 * highest as i32 + 32 - digits[highest].leading_zeros() as i32;
        let unit = self.words.unit();
        let mut place = top - BITS as i32;
        place += (unit + place).rem_euclid(2);
        let (high, rest) = split(&digits, place);
        let root = high.isqrt();
        let inexact = rest || root * root != high;
        // A further bit records whether the root is inexact, which decides ties.
        let doubled = root << 1 | u128::from(inexact);
        let parts = [0, 32, 64, 96].map(|shift| (doubled >> shift) as u32);
        let (_, bits) = round(&parts, (unit + place) / 2 - 1, A::LAYOUT.format);
        A::assembled(false, bits)
    }
}

/// Returns the bits from a position upwards, and whether any lower bit is set. A negative position
/// shifts to the left.
fn split(digits: &[u32], place: i32) -> (u128, bool) {
    let mut high = 0;
    let mut rest = false;
    for (digit, at) in digits.iter().zip(0..) {
        let shift = 32 * at - place;
        let digit = u128::from(*digit);
        match shift {
            _ if digit == 0 => {}
            0.. => high |= digit << shift,
            -31..0 => {
                high |= digit >> -shift;
                rest |= digit & ((1 << -shift) - 1) != 0;
            }
            _ => rest = true,
        }
    }
    (high, rest)
}
