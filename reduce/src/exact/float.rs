//! The types whose sums are exact.

use half::{bf16, f16};

use super::{
    bins::Bins,
    cut::Cut,
    round::Format,
    words::{Window, Words},
};
use crate::{Accumulator, Element, Kernel};

/// An element type that can be summed exactly: `f32`, `f64`, and halves, whose sums are `f32`.
pub trait ExactElement: Element<Output: ExactFloat> {
    /// The kernel that computes the sum.
    #[doc(hidden)]
    const KERNEL: Kernel;
    /// The kernel that computes row sums.
    #[doc(hidden)]
    const EXACT_ROWS: Kernel;
    /// The parameters by which the kernel for the sum divides its input into chunks.
    #[doc(hidden)]
    const CUT: Cut;
    /// The kernel that computes the dot product.
    #[doc(hidden)]
    const DOT: Kernel;
    /// The parameters by which the kernel for the dot product divides its input into chunks.
    #[doc(hidden)]
    const DOT_CUT: Cut;
}

/// Expands to a kernel that has the same PTX for all devices.
macro_rules! kernel {
    ($type:literal $name:literal) => {
        Kernel::whole(
            concat!($type, $name),
            include_str!(concat!("../ptx/", $type, $name, ".70.ptx")),
        )
    };
}

macro_rules! elements {
    ($($type:ty, $name:literal, $cut:ident, $dot:ident;)+) => {$(
        impl ExactElement for $type {
            const KERNEL: Kernel = kernel!($name "_sum_exact");
            const EXACT_ROWS: Kernel = kernel!($name "_sum_exact_rows");
            const CUT: Cut = Cut::$cut;
            const DOT: Kernel = kernel!($name "_dot_exact");
            const DOT_CUT: Cut = Cut::$dot;
        }
    )+};
}
elements! {
    f32, "f32", FLOATS, PRODUCTS;
    f64, "f64", DOUBLES, WIDE;
    f16, "f16", HALVES, PRODUCTS_OF_HALVES;
    bf16, "bf16", BFLOATS, PRODUCTS;
}

/// The type of an exact sum: `f32` or `f64`.
pub trait ExactFloat: Accumulator + Sealed + Into<f64> {}
impl ExactFloat for f32 {}
impl ExactFloat for f64 {}

/// The properties in which `f32` and `f64` differ.
pub trait Sealed: Sized {
    #[doc(hidden)]
    const LAYOUT: Layout;

    /// Adds elements to the bins.
    #[doc(hidden)]
    fn bin(bins: &mut Bins, values: &[Self]);

    /// Adds the product of two elements.
    #[doc(hidden)]
    fn multiply(bins: &mut Bins, words: &mut Words, a: Self, b: Self);

    /// Returns the value with the given sign, whose magnitude has the given bits.
    #[doc(hidden)]
    fn assembled(negative: bool, bits: u64) -> Self;
}

/// The layout of a type's accumulators.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The number that identifies the type in an accumulator's bytes, which is the number of bits
    /// of the type.
    pub(crate) kind: u8,
    pub(crate) name: &'static str,
    pub(crate) window: Window,
    pub(crate) format: Format,
    /// The number of bins, one for each exponent.
    pub(crate) bins: usize,
}

impl Sealed for f32 {
    const LAYOUT: Layout =
        Layout { kind: 32, name: "f32", window: Window::F32, format: Format::F32, bins: 2048 };

    fn bin(bins: &mut Bins, values: &[f32]) {
        bins.add_f32(values);
    }

    /// The product has at most 48 bits and an exponent from -298 to 255, so a double represents it
    /// exactly.
    fn multiply(bins: &mut Bins, _: &mut Words, a: f32, b: f32) {
        bins.add_f64(&[f64::from(a) * f64::from(b)]);
    }

    fn assembled(negative: bool, bits: u64) -> f32 {
        f32::from_bits(bits as u32 | u32::from(negative) << 31)
    }
}

impl Sealed for f64 {
    const LAYOUT: Layout =
        Layout { kind: 64, name: "f64", window: Window::F64, format: Format::F64, bins: 2048 };

    fn bin(bins: &mut Bins, values: &[f64]) {
        bins.add_f64(values);
    }

    /// The product has up to 106 bits, so the significands are multiplied as integers and the
    /// product is added to the words.
    fn multiply(bins: &mut Bins, words: &mut Words, a: f64, b: f64) {
        let (x, y) = (parts(a), parts(b));
        match (x, y) {
            (Some((m, e)), Some((n, f))) if m != 0 && n != 0 => {
                bins.see_other();
                let negative = a.is_sign_negative() != b.is_sign_negative();
                words.add(negative, u128::from(m) * u128::from(n), e + f);
            }
            _ => bins.add_f64(&[a * b]), // This is exact: the product is a zero, an infinity or NaN.
        }
    }

    fn assembled(negative: bool, bits: u64) -> f64 {
        f64::from_bits(bits | u64::from(negative) << 63)
    }
}

/// Returns the significand of a finite number and the exponent of its last bit, or `None`.
fn parts(value: f64) -> Option<(u64, i32)> {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    match exponent {
        0x7ff => None,
        0 => Some((fraction, -1074)),
        _ => Some((fraction | 1 << 52, exponent - 1075)),
    }
}
