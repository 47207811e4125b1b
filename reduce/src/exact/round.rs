//! The single rounding of an exact sum, to nearest, ties to even.

/// A binary format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// The number of bits in the significand, including the hidden bit.
    pub(crate) precision: u32,
    /// The exponent of the smallest subnormal.
    pub(crate) smallest: i32,
    /// The bits of +∞.
    pub(crate) infinity: u64,
}

impl Format {
    pub(crate) const F32: Format = Format { precision: 24, smallest: -149, infinity: 0x7f80_0000 };
    pub(crate) const F64: Format =
        Format { precision: 53, smallest: -1074, infinity: 0x7ff0_0000_0000_0000 };
}

/// Rounds the product of an integer in two's complement and 2^`unit`. Returns whether the result is
/// negative, and the bits of its magnitude. The result is infinite if and only if the rounded value
/// is 2^128 or more (2^1024 for `f64`).
pub(crate) fn round(digits: &[u32], unit: i32, format: Format) -> (bool, u64) {
    let negative = digits.last().is_some_and(|last| last >> 31 == 1);
    let magnitude = if negative { negated(digits) } else { digits.to_vec() };
    let Some(top) = top(&magnitude) else { return (false, 0) };

    // The exponent of the result's last bit, and the position of this bit in the integer.
    let last = (unit + top as i32 + 1 - format.precision as i32).max(format.smallest);
    let place = last - unit;
    let kept = if place <= 0 {
        from(&magnitude, 0) << -place // The whole integer fits, so this is exact.
    } else {
        let place = place as usize;
        let kept = from(&magnitude, place);
        let half = bit(&magnitude, place - 1);
        let more = half && (0..place - 1).any(|i| bit(&magnitude, i));
        kept + u64::from(half && (more || kept & 1 == 1))
    };
    // If the significand was rounded up to 2^precision, it carries into the exponent.
    let exponent = (last - format.smallest) as u64;
    let bits = (exponent << (format.precision - 1)) + kept;
    (negative, bits.min(format.infinity))
}

fn negated(digits: &[u32]) -> Vec<u32> {
    let mut carry = true;
    digits
        .iter()
        .map(|digit| {
            let (negated, over) = (!digit).overflowing_add(carry.into());
            carry = over;
            negated
        })
        .collect()
}

/// Returns the position of the highest set bit.
fn top(digits: &[u32]) -> Option<usize> {
    let word = digits.iter().rposition(|digit| *digit != 0)?;
    Some(32 * word + 31 - digits[word].leading_zeros() as usize)
}

fn bit(digits: &[u32], place: usize) -> bool {
    digits.get(place / 32).is_some_and(|digit| digit >> (place % 32) & 1 == 1)
}

/// Returns the 64 bits that start at a position.
fn from(digits: &[u32], place: usize) -> u64 {
    let digit = |i: usize| u128::from(digits.get(place / 32 + i).copied().unwrap_or(0));
    ((digit(0) | digit(1) << 32 | digit(2) << 64) >> (place % 32)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds an integer times 2^unit.
    fn f32_of(value: i128, unit: i32) -> f32 {
        let digits: Vec<u32> = (0..20).map(|i| (value >> (32 * i).min(127)) as u32).collect();
        let (negative, bits) = round(&digits, unit, Format::F32);
        let magnitude = f32::from_bits(bits as u32);
        if negative { -magnitude } else { magnitude }
    }

    #[test]
    fn ties_go_to_even() {
        let one = 1i128 << 24;
        for (value, expected) in [
            (one + 1, 16_777_216.0),
            (one + 3, 16_777_220.0),
            (-one - 1, -16_777_216.0),
            (-one - 3, -16_777_220.0),
        ] {
            assert_eq!(f32_of(value, 0), expected, "{value}");
            // A single bit far below the rounding position decides how a near-tie is rounded.
            let up = f32_of((value << 60) + value.signum(), -60);
            assert_eq!(up.abs(), if value.abs() == one + 1 { 16_777_218.0 } else { 16_777_220.0 });
        }
    }

    #[test]
    fn rounding_up_reaches_the_next_binade_the_normals_and_infinity() {
        assert_eq!(f32_of((1 << 25) - 1, 0), 33_554_432.0);
        assert_eq!(f32_of((1 << 24) - 1, -150), f32::MIN_POSITIVE);
        assert_eq!(f32_of((1 << 25) - 1, 128 - 25), f32::INFINITY);
        assert_eq!(f32_of((1 << 25) - 2, 128 - 25), f32::MAX);
        assert_eq!(f32_of(-(1 << 100), 100), f32::NEG_INFINITY);
    }

    #[test]
    fn halves_of_the_smallest_number_round_to_even() {
        let least = f32::from_bits(1);
        for (value, expected) in [(1, 0.0), (2, least), (3, 2.0 * least), (5, 2.0 * least)] {
            assert_eq!(f32_of(value, -150), expected, "{value}");
        }
        assert_eq!(f32_of(1, -298), 0.0);
        assert_eq!(f32_of((1 << 100) + 1, -250), least);
    }
}
