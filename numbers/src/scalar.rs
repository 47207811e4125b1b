//! The arithmetic of an element type on the host: random values, exact sums and comparisons.

use std::fmt;

use rand::{RngExt, rngs::ChaCha8Rng};
use serde::Serialize;

use crate::{Element, Reference, mixed};

/// A Rust type that is an [`Element`].
pub trait Scalar: bytemuck::Pod + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The element type.
    const ELEMENT: Element;
    /// Half a unit in the last place of 1, which bounds the relative error of one addition; 0 if
    /// additions are exact.
    const ROUNDOFF: f64;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// Draws a value for `--input uniform`: floats from 0 to 1, integers from 0 to 255.
    fn uniform(rng: &mut ChaCha8Rng) -> Self;
    /// Draws a value for `--input signed`: floats from −1 to 1, integers of any value.
    fn signed(rng: &mut ChaCha8Rng) -> Self;
    /// Converts a small integer to this type.
    fn whole(value: i8) -> Self;
    /// Returns the value at an index of the exact input: +1 or −1 for floats, any integer for
    /// integers.
    fn exact(place: u64) -> Self;
    /// Fills a slice with the exact values, starting with index `first`.
    fn fill_exact(first: u64, values: &mut [Self]);
    /// Fills a slice with values that `draw` returns.
    fn fill(rng: &mut ChaCha8Rng, draw: fn(&mut ChaCha8Rng) -> Self, values: &mut [Self]);
    /// Adds two values in the same way as the kernel.
    fn plus(self, other: Self) -> Self;
    /// Returns the sum: exact for integers, and as accurate as two doubles for floats.
    fn sum(values: &[Self]) -> Reference;
    /// Returns the sum that a correct kernel computes, which is the exact sum converted to this
    /// type. Sums of integers wrap.
    fn expected(reference: &Reference) -> Value;
    /// Returns the exact sum, rounded once: to the nearest value of this type, and to the value
    /// whose last bit is 0 if two values are equally near. Sums of integers wrap.
    fn rounded(reference: &Reference) -> Self;
    /// Converts the value for output.
    fn value(self) -> Value;
    /// Returns the absolute difference between a kernel's sum and the exact sum; NaN if the
    /// kernel's sum is NaN.
    fn distance(self, reference: &Reference) -> f64;
}

/// A number for output and for JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// An integer.
    Int(i64),
    /// A float; NaN and infinity are `null` in JSON.
    Float(f64),
}

impl Value {
    /// Converts the value to a float; a large integer becomes the nearest float.
    pub fn as_f64(self) -> f64 {
        match self {
            Value::Int(value) => value as f64,
            Value::Float(value) => value,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(value) => value.fmt(f),
            Value::Float(value) => value.fmt(f),
        }
    }
}

macro_rules! float {
    ($type:ty, $element:expr, $roundoff:expr) => {
        impl Scalar for $type {
            const ELEMENT: Element = $element;
            const ROUNDOFF: f64 = $roundoff;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            fn uniform(rng: &mut ChaCha8Rng) -> Self {
                rng.random()
            }

            fn signed(rng: &mut ChaCha8Rng) -> Self {
                2.0 * rng.random::<$type>() - 1.0
            }

            fn whole(value: i8) -> Self {
                value.into()
            }

            fn exact(place: u64) -> Self {
                if mixed(place / 64) >> (place % 64) & 1 == 0 { 1.0 } else { -1.0 }
            }

            fn fill_exact(first: u64, values: &mut [Self]) {
                values.iter_mut().zip(first..).for_each(|(value, at)| *value = Self::exact(at));
            }

            fn fill(rng: &mut ChaCha8Rng, draw: fn(&mut ChaCha8Rng) -> Self, values: &mut [Self]) {
                values.fill_with(|| draw(rng));
            }

            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn sum(values: &[Self]) -> Reference {
                Reference::of_floats(values.iter().map(|&v| f64::from(v)))
            }

            fn expected(reference: &Reference) -> Value {
                Value::Float(reference.float())
            }

            fn rounded(reference: &Reference) -> Self {
                let near = reference.float() as Self;
                // The double halfway between two floats may be the rounded sum. The other part of the
                // reference then decides.
                let gap = reference.float() - f64::from(near);
                let other = if gap > 0.0 { near.next_up() } else { near.next_down() };
                let halfway = f64::from(other) - reference.float() == gap;
                if halfway && reference.rest() * gap > 0.0 { other } else { near }
            }

            fn value(self) -> Value {
                Value::Float(f64::from(self))
            }

            fn distance(self, reference: &Reference) -> f64 {
                reference.distance(f64::from(self))
            }
        }
    };
}
float!(f32, Element::F32, 1.0 / (1u64 << 24) as f64);
float!(f64, Element::F64, 1.0 / (1u64 << 53) as f64);

impl Scalar for i32 {
    const ELEMENT: Element = Element::I32;
    const ROUNDOFF: f64 = 0.0;
    const ZERO: Self = 0;
    const ONE: Self = 1;

    fn uniform(rng: &mut ChaCha8Rng) -> Self {
        rng.random_range(0..256)
    }

    fn signed(rng: &mut ChaCha8Rng) -> Self {
        rng.random()
    }

    fn whole(value: i8) -> Self {
        value.into()
    }

    fn exact(place: u64) -> Self {
        mixed(place) as i32
    }

    fn fill_exact(first: u64, values: &mut [Self]) {
        values.iter_mut().zip(first..).for_each(|(value, at)| *value = Self::exact(at));
    }

    fn fill(rng: &mut ChaCha8Rng, draw: fn(&mut ChaCha8Rng) -> Self, values: &mut [Self]) {
        values.fill_with(|| draw(rng));
    }

    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn sum(values: &[Self]) -> Reference {
        Reference::of_integers(values.iter().map(|&v| i128::from(v)))
    }

    fn expected(reference: &Reference) -> Value {
        Value::Int(i64::from(reference.integer() as i32))
    }

    fn rounded(reference: &Reference) -> Self {
        reference.integer() as i32
    }

    fn value(self) -> Value {
        Value::Int(i64::from(self))
    }

    fn distance(self, reference: &Reference) -> f64 {
        f64::from(self.wrapping_sub(reference.integer() as i32)).abs()
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn additions_round_like_the_kernel_s() {
        assert_eq!((3.plus(4), i32::MAX.plus(1), i32::MIN.plus(-1)), (7, i32::MIN, i32::MAX));
        assert_eq!((0.5f32.plus(0.25), 0.1f64.plus(0.2)), (0.75, 0.1 + 0.2));
        assert_eq!(16_777_216.0f32.plus(1.0), 16_777_216.0, "rounded to 24 bits");
    }

    #[test]
    fn signed_and_exact_integers_take_any_value() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let drawn: Vec<i32> = (0..1000).map(|_| i32::signed(&mut rng)).collect();
        let exact: Vec<i32> = (0..1000).map(i32::exact).collect();
        // Each bit is set in about half of the values.
        for (values, bit) in
            [drawn, exact].iter().flat_map(|values| (0..32).map(move |b| (values, b)))
        {
            let ones = values.iter().filter(|value| *value >> bit & 1 == 1).count();
            assert!((400..600).contains(&ones), "bit {bit}: {ones} of 1000");
        }
    }

    #[test]
    fn values_hold_either_kind_of_number() {
        assert_eq!((Value::Int(-7).as_f64(), Value::Float(2.5).as_f64()), (-7.0, 2.5));
        assert_eq!(
            (Value::Int(-7).to_string(), Value::Float(2.5).to_string()),
            ("-7".into(), "2.5".into())
        );
    }
}
