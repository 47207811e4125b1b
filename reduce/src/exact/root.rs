//! The square root of an exact sum, rounded once.

use super::{ExactAccumulator, ExactFloat, flags::Flags, round::round};

/// Bits of the integer whose root is taken: the root has half as many, at least two more than a double.
const BITS: usize = 112;

impl<A: ExactFloat> ExactAccumulator<A> {
    /// The square root of the sum, rounded once to nearest, ties to even; the accumulator is not changed.
    ///
    /// NaN if the sum is negative, or NaN; infinite if it is; 0 if it is 0, with the sum's sign.
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
            return self.round(); // A zero.
        };
        // The sum is `high` × 4^k and less than one such unit more. Its root's integer part is that of `high`.
        let top = 32 * highest as i32 + 32 - digits[highest].leading_zeros() as i32;
        let unit = self.words.unit();
        let mut place = top - BITS as i32;
        place += (unit + place).rem_euclid(2);
        let (high, rest) = split(&digits, place);
        let root = high.isqrt();
        let inexact = rest || root * root != high;
        // One bit more for what is below the root's last bit: it decides ties.
        let doubled = root << 1 | u128::from(inexact);
        let parts = [0, 32, 64, 96].map(|shift| (doubled >> shift) as u32);
        let (_, bits) = round(&parts, (unit + place) / 2 - 1, A::LAYOUT.format);
        A::assembled(false, bits)
    }
}

/// The bits from a place on, and whether a lower one is set. A negative place shifts to the left.
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
