//! Bins of significands, one for each exponent. Adding an element takes one integer addition, and
//! the superaccumulator is updated only once per run.

use super::{flags::Flags, words::Words};

/// Sums of significands, by exponent. A bin of 128 bits can take more 53-bit significands than
/// memory can hold.
#[derive(Clone, Debug)]
pub struct Bins {
    at: Vec<i128>,
    flags: Flags,
    /// Nonzero if an element other than -0 was added.
    other: u64,
}

/// The bits of -0.
const SIGN: u64 = 1 << 63;

impl Bins {
    pub(crate) fn new(bins: usize) -> Bins {
        Bins { at: vec![0; bins], flags: Flags::default(), other: 0 }
    }

    /// Adds elements after widening them to `f64`, which is exact.
    pub(crate) fn add_f32(&mut self, values: &[f32]) {
        for value in values {
            self.add_one(f64::from(*value).to_bits());
        }
    }

    pub(crate) fn add_f64(&mut self, values: &[f64]) {
        for value in values {
            self.add_one(value.to_bits());
        }
    }

    fn add_one(&mut self, bits: u64) {
        let exponent = (bits >> 52 & 0x7ff) as usize;
        let hidden = u64::from(exponent != 0) << 52;
        let significand = (bits & ((1 << 52) - 1) | hidden) as i64;
        let sign = bits as i64 >> 63;
        if exponent == 0x7ff {
            self.see_special(f64::from_bits(bits));
        } else {
            self.at[exponent] += i128::from((significand ^ sign) - sign);
        }
        self.other |= bits ^ SIGN;
    }

    fn see_special(&mut self, value: f64) {
        self.flags.set(if value.is_nan() {
            Flags::NAN
        } else if value > 0.0 {
            Flags::ABOVE
        } else {
            Flags::BELOW
        });
    }

    /// Records that an element other than -0 was added elsewhere.
    pub(crate) fn see_other(&mut self) {
        self.other |= 1;
    }

    /// Empties the bins into a superaccumulator, and returns the special values.
    pub(crate) fn empty_into(self, words: &mut Words) -> Flags {
        for (exponent, sum) in self.at.iter().enumerate() {
            // A subnormal has the exponent of the smallest normal number.
            words.add(*sum < 0, sum.unsigned_abs(), exponent.max(1) as i32 - 1075);
        }
        let mut flags = self.flags;
        if self.other != 0 {
            flags.set(Flags::OTHER);
        }
        flags
    }
}
