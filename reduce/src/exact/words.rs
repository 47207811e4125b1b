//! A superaccumulator, which is an integer that is wide enough for any sum of elements or of
//! products of two elements. Each sum is a multiple of the integer's unit.

/// The number of low bits of a word that hold a digit; the other bits collect carries.
const DIGIT: u32 = 32;

/// The maximum number of values that are added between two carries.
///
/// A word is less than 2^32 after its carry has been propagated, and a value adds less than 2^32 to
/// it. After `RUN` values, the word is less than (2^30 + 1) × 2^32 < 2^63, so no word overflows.
/// The words of another superaccumulator are added after the carries in both have been propagated,
/// and count as one value.
const RUN: u32 = 1 << 30;

/// The unit and the width of a superaccumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// The unit is 2 raised to this power.
    pub(crate) unit: i32,
    /// The number of words, each of which holds 32 bits of the integer.
    pub(crate) words: usize,
}

impl Window {
    /// The window for products of two `f32`, which are multiples of 2^-298 below 2^256. A sum of
    /// 2^63 such products is below 2^319, so it takes 617 of the 640 bits, and one more for the
    /// sign.
    pub(crate) const F32: Window = Window { unit: -298, words: 20 };
    /// The window for products of two `f64`, which are multiples of 2^-2148 below 2^2048. A sum of
    /// 2^63 such products is below 2^2111, so it takes 4259 of the 4288 bits, and one more for the
    /// sign.
    pub(crate) const F64: Window = Window { unit: -2148, words: 134 };
}

/// The words of the integer. The unit of word i is 2^(32 i) units of the integer.
#[derive(Clone, Debug)]
pub struct Words {
    unit: i32,
    at: Vec<i64>,
    /// The number of values that have been added since the carries were last propagated.
    added: u32,
}

impl Words {
    pub(crate) fn new(window: Window) -> Words {
        Words { unit: window.unit, at: vec![0; window.words], added: 0 }
    }

    /// Adds or, if `negative` is true, subtracts `magnitude` × 2^`exponent`, which must be a
    /// multiple of the unit.
    pub(crate) fn add(&mut self, negative: bool, magnitude: u128, exponent: i32) {
        if magnitude == 0 {
            return;
        }
        // Trailing zero bits of the magnitude, which may be below the unit, are removed.
        let zeros = magnitude.trailing_zeros();
        let (magnitude, exponent) = (magnitude >> zeros, exponent + zeros as i32);
        let place = u32::try_from(exponent - self.unit).expect("a value is a multiple of the unit");
        let (first, shift) = ((place / DIGIT) as usize, place % DIGIT);
        let above = if shift == 0 { 0 } else { magnitude >> (u128::BITS - shift) };
        let mut rest = magnitude << shift;
        for word in first..first + 4 {
            self.add_digit(word, negative, rest as u32);
            rest >>= DIGIT;
        }
        self.add_digit(first + 4, negative, above as u32);
        self.count_one();
    }

    /// Adds a digit to a word. Digits after the last word are zero, because values are below the
    /// limit.
    fn add_digit(&mut self, word: usize, negative: bool, digit: u32) {
        if digit != 0 {
            self.at[word] += if negative { -i64::from(digit) } else { i64::from(digit) };
        }
    }

    fn count_one(&mut self) {
        self.added += 1;
        if self.added == RUN {
            self.carry();
        }
    }

    /// Adds another superaccumulator with the same window.
    pub(crate) fn merge(&mut self, other: &Words) {
        for (word, digit) in other.digits().into_iter().enumerate() {
            // The last digit holds the sign.
            let last = word + 1 == self.at.len();
            self.at[word] += if last { i64::from(digit as i32) } else { i64::from(digit) };
        }
        self.count_one();
    }

    /// Propagates carries. Each word then holds 0 to 2^32 - 1, except the last word, which holds
    /// the sign.
    fn carry(&mut self) {
        for word in 0..self.at.len() - 1 {
            let carry = self.at[word] >> DIGIT;
            self.at[word] -= carry << DIGIT;
            self.at[word + 1] += carry;
        }
        self.added = 0;
    }

    /// Returns the digits of the integer in two's complement, beginning with the lowest 32 bits.
    /// Equal sums have equal digits.
    pub(crate) fn digits(&self) -> Vec<u32> {
        let mut carried = self.clone();
        carried.carry();
        carried.at.iter().map(|word| *word as u32).collect()
    }

    /// Returns the integer that has these digits.
    pub(crate) fn of_digits(window: Window, digits: &[u32]) -> Words {
        let mut words = Words::new(window);
        let given =
            Words { at: digits.iter().map(|digit| i64::from(*digit)).collect(), ..words.clone() };
        words.merge(&given);
        words
    }

    /// Returns the exponent of the unit.
    pub(crate) fn unit(&self) -> i32 {
        self.unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carry_runs_through_all_words() {
        let mut words = Words::new(Window::F32);
        words.add(true, 1, -298);
        assert!(words.digits().iter().all(|digit| *digit == u32::MAX));
        words.add(false, 1, -298);
        assert!(words.digits().iter().all(|digit| *digit == 0));
    }

    #[test]
    fn words_hold_the_largest_values_at_the_bound_between_carries() {
        // Two words are set to their largest value before a propagation, which avoids 2^30
        // additions.
        let mut words = Words::new(Window::F32);
        words.at[3] = i64::from(RUN) * i64::from(u32::MAX);
        words.at[4] = words.at[3];
        words.added = RUN - 1;
        let before = words.digits();
        words.add(false, u128::from(u64::MAX), -298 + 96);
        assert_eq!(words.added, 0, "the bound is reached, and the carry has run");
        assert_ne!(words.digits(), before);
        assert!(words.at[..19].iter().all(|word| (0..1 << 32).contains(word)));
    }

    #[test]
    fn digits_are_the_same_for_the_same_sum() {
        let mut one = Words::new(Window::F64);
        let mut other = one.clone();
        for k in 0..1000 {
            one.add(k % 3 == 0, u128::from(u64::MAX) * 77, k - 500);
        }
        for k in (0..1000).rev() {
            let mut part = Words::new(Window::F64);
            part.add(k % 3 == 0, u128::from(u64::MAX) * 77, k - 500);
            other.merge(&Words::of_digits(Window::F64, &part.digits()));
        }
        assert_eq!(one.digits(), other.digits());
    }
}
