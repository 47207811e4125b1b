//! The arithmetic of an element type on the host: how it is drawn, added exactly, and compared.

use std::fmt;

use numbers::mixed;
use rand::{RngExt, rngs::ChaCha8Rng};
use serde::Serialize;

use super::reference::Reference;
use crate::Element;

/// A Rust type that is an [`Element`].
pub trait Scalar: bytemuck::Pod + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Which one.
    const ELEMENT: Element;
    /// Half a unit in the last place of 1: the relative error of one addition; 0 if exact.
    const ROUNDOFF: f64;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// A value as `--input uniform` draws it: floats from 0 to 1, integers from 0 to 255.
    fn uniform(rng: &mut ChaCha8Rng) -> Self;
    /// A value as `--input signed` draws it: floats from −1 to 1, integers of any value.
    fn signed(rng: &mut ChaCha8Rng) -> Self;
    /// A small whole number in this type.
    fn whole(value: i8) -> Self;
    /// A value at a place of exact [`Elements`](super::Elements): floats +1 or −1, any integer.
    fn exact(place: u64) -> Self;
    /// What one addition makes of two.
    fn plus(self, other: Self) -> Self;
    /// The exact sum, or as near to it as two doubles get.
    fn sum(values: &[Self]) -> Reference;
    /// What a correct kernel gives: the exact sum in this type (integers wrap).
    fn expected(reference: &Reference) -> Value;
    /// The value as it is printed.
    fn value(self) -> Value;
    /// How far a kernel's sum is from the exact one; NaN if it is no number.
    fn distance(self, reference: &Reference) -> f64;
}

/// A number as it is printed and written to JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// An integer.
    Int(i64),
    /// A float; NaN and infinity are `null` in JSON.
    Float(f64),
}

impl Value {
    /// The value as a float: of a large integer, the nearest one.
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

            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn sum(values: &[Self]) -> Reference {
                Reference::of_floats(values.iter().map(|&v| f64::from(v)))
            }

            fn expected(reference: &Reference) -> Value {
                Value::Float(reference.float())
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

    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn sum(values: &[Self]) -> Reference {
        Reference::of_integers(values.iter().map(|&v| i128::from(v)))
    }

    fn expected(reference: &Reference) -> Value {
        Value::Int(i64::from(reference.integer() as i32))
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
    fn one_addition_is_that_of_the_kernel() {
        assert_eq!((3.plus(4), i32::MAX.plus(1), i32::MIN.plus(-1)), (7, i32::MIN, i32::MAX));
        assert_eq!((0.5f32.plus(0.25), 0.1f64.plus(0.2)), (0.75, 0.1 + 0.2));
        assert_eq!(16_777_216.0f32.plus(1.0), 16_777_216.0, "rounded to 24 bits");
    }

    #[test]
    fn signed_and_exact_integers_are_any() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let drawn: Vec<i32> = (0..1000).map(|_| i32::signed(&mut rng)).collect();
        let exact: Vec<i32> = (0..1000).map(i32::exact).collect();
        // Of each bit there are about as many ones as zeros.
        for (values, bit) in
            [drawn, exact].iter().flat_map(|values| (0..32).map(move |b| (values, b)))
        {
            let ones = values.iter().filter(|value| *value >> bit & 1 == 1).count();
            assert!((400..600).contains(&ones), "bit {bit}: {ones} of 1000");
        }
    }

    #[test]
    fn a_value_is_a_number_of_either_kind() {
        assert_eq!((Value::Int(-7).as_f64(), Value::Float(2.5).as_f64()), (-7.0, 2.5));
        assert_eq!(
            (Value::Int(-7).to_string(), Value::Float(2.5).to_string()),
            ("-7".into(), "2.5".into())
        );
    }
}
