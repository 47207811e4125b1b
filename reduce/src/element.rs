//! The types that can be reduced.

use half::{bf16, f16, slice::HalfFloatSliceExt};

use crate::{
    accumulator::Accumulator,
    types::{self, Types},
};

/// An element type: a float, an integer of 8 to 64 bits, or a `bool`. Halves (`f16` and `bf16`) are
/// combined as `f32`, and integers narrower than 32 bits as `i64`. Integers wrap.
pub trait Element:
    Read<Itself, Value = Self::Output> + Read<Truth, Value = i64> + Copy + Send + Sync + 'static
{
    /// The type of a sum, minimum or maximum.
    type Output: Accumulator;

    /// Whether the elements are floats.
    const FLOAT: bool;
}

/// An element type that can also be combined in a type of twice the size: `f32`, `i32` and `u32`.
pub trait WideElement: Element + Read<Wide, Value = Self::Wider> {
    /// The wider type.
    type Wider: Accumulator;
}

/// Elements are read without conversion.
#[derive(Clone, Copy, Debug)]
pub struct Itself;

/// Elements are converted to a type of twice the size.
#[derive(Clone, Copy, Debug)]
pub struct Wide;

/// Elements are read as 1 if they are not zero, and as 0 otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Truth;

/// The crate's internal data for a type whose elements can be converted as `W` specifies.
pub trait Read<W>: Sized + Sync {
    /// The type in which elements are combined.
    type Value: Accumulator;

    /// The device instructions that depend on the type.
    #[doc(hidden)]
    const TYPES: &'static Types;

    /// The largest and the smallest value of the type. For floats, these are the infinities.
    #[doc(hidden)]
    const EXTREMES: [Self::Value; 2];

    /// Calls `each` with consecutive runs of values. The first argument of `each` is the number of
    /// elements before the run.
    #[doc(hidden)]
    fn read(elements: &[Self], each: impl FnMut(usize, &[Self::Value]));
}

macro_rules! elements {
    ($($type:ty, $types:ident as $output:ty, $float:literal, $extremes:expr, $read:ident, $truth:ident, $zero:expr;)+) => {$(
        impl Element for $type {
            type Output = $output;
            const FLOAT: bool = $float;
        }

        read!(Itself, $type, $types as $output, $extremes, $read);
        read!(Truth, $type, $truth as i64, [1, 0], |elements, each| {
            converted(elements, each, |element| i64::from(*element != $zero));
        });
    )+};
}

macro_rules! wide {
    ($($type:ty, $types:ident as $output:ty, $extremes:expr;)+) => {$(
        impl WideElement for $type {
            type Wider = $output;
        }

        read!(Wide, $type, $types as $output, $extremes, converted_from);
    )+};
}

macro_rules! read {
    ($way:ident, $type:ty, $types:ident as $value:ty, $extremes:expr, |$elements:ident, $each:ident| $read:block) => {
        impl Read<$way> for $type {
            type Value = $value;
            const TYPES: &'static Types = &types::$types;
            const EXTREMES: [$value; 2] = $extremes;

            fn read($elements: &[$type], $each: impl FnMut(usize, &[$value])) $read
        }
    };
    ($way:ident, $type:ty, $types:ident as $value:ty, $extremes:expr, $read:ident) => {
        read!($way, $type, $types as $value, $extremes, |elements, each| { $read(elements, each); });
    };
}

elements! {
    f32, F32 as f32, true, [f32::INFINITY, f32::NEG_INFINITY], whole, TRUE_F32, 0.0;
    f64, F64 as f64, true, [f64::INFINITY, f64::NEG_INFINITY], whole, TRUE_F64, 0.0;
    f16, F16 as f32, true, [f32::INFINITY, f32::NEG_INFINITY], narrow, TRUE_HALF, f16::ZERO;
    bf16, BF16 as f32, true, [f32::INFINITY, f32::NEG_INFINITY], narrow, TRUE_HALF, bf16::ZERO;
    i32, I32 as i32, false, [i32::MAX, i32::MIN], whole, TRUE_32, 0;
    u32, U32 as u32, false, [u32::MAX, u32::MIN], whole, TRUE_32, 0;
    i64, I64 as i64, false, [i64::MAX, i64::MIN], whole, TRUE_64, 0;
    u64, U64 as u64, false, [u64::MAX, u64::MIN], whole, TRUE_64, 0;
    i8, I8 as i64, false, [i8::MAX as i64, i8::MIN as i64], converted_from, BOOL, 0;
    u8, U8 as i64, false, [u8::MAX as i64, 0], converted_from, BOOL, 0;
    i16, I16 as i64, false, [i16::MAX as i64, i16::MIN as i64], converted_from, TRUE_16, 0;
    u16, U16 as i64, false, [u16::MAX as i64, 0], converted_from, TRUE_16, 0;
    bool, BOOL as i64, false, [1, 0], converted_from, BOOL, false;
}

wide! {
    f32, WIDE_F32 as f64, [f64::INFINITY, f64::NEG_INFINITY];
    i32, WIDE_I32 as i64, [i32::MAX as i64, i32::MIN as i64];
    u32, WIDE_U32 as u64, [u32::MAX as u64, 0];
}

fn whole<T>(elements: &[T], mut each: impl FnMut(usize, &[T])) {
    each(0, elements);
}

/// Converts halves run by run, because the hardware converts eight with one instruction.
fn narrow<T>(elements: &[T], mut each: impl FnMut(usize, &[f32]))
where
    [T]: HalfFloatSliceExt,
{
    let mut wide = [0.0; 512];
    for (run, narrow) in elements.chunks(wide.len()).enumerate() {
        let wide = &mut wide[..narrow.len()];
        narrow.convert_to_f32_slice(wide);
        each(run * 512, wide);
    }
}

fn converted_from<T, A: From<T> + Copy + Default>(elements: &[T], each: impl FnMut(usize, &[A]))
where
    T: Copy,
{
    converted(elements, each, |element| A::from(*element));
}

/// Converts elements run by run, so that the values of a run stay in a cache.
fn converted<T, A: Copy + Default>(
    elements: &[T],
    mut each: impl FnMut(usize, &[A]),
    convert: impl Fn(&T) -> A,
) {
    let mut wide = [A::default(); 256];
    for (run, narrow) in elements.chunks(wide.len()).enumerate() {
        let wide = &mut wide[..narrow.len()];
        for (wide, narrow) in wide.iter_mut().zip(narrow) {
            *wide = convert(narrow);
        }
        each(run * 256, wide);
    }
}
