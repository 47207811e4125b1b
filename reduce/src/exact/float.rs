//! The types whose sums are exact.

use half::{bf16, f16};

use super::{
    bins::Bins,
    round::Format,
    words::{Window, Words},
};
use crate::{Accumulator, Element, Kernel};

/// An element type that can be summed exactly: `f32`, `f64`, and halves, whose sums are `f32`.
pub trait ExactElement: Element<Output: ExactFloat> {
    /// The kernel of the sum.
    #[doc(hidden)]
    const KERNEL: Kernel;
    /// The kernel of sums of rows.
    #[doc(hidden)]
    const EXACT_ROWS: Kernel;
}

/// An element type whose products are exact on a device: `f32` and halves. On the host, `f64` too.
pub trait ExactProduct: ExactElement<Output = f32> {
    /// The kernel of the dot product.
    #[doc(hidden)]
    const DOT: Kernel;
}

/// A kernel for all devices.
macro_rules! kernel {
    ($type:literal $name:literal) => {
        Kernel {
            name: concat!($type, $name),
            ptx_70: include_str!(concat!("../ptx/", $type, $name, ".70.ptx")),
            ptx_90: "",
        }
    };
}

macro_rules! products {
    ($($type:ty, $name:literal;)+) => {$(
        impl ExactProduct for $type {
            const DOT: Kernel = kernel!($name "_dot_exact");
        }
    )+};
}
products! {
    f32, "f32";
    f16, "f16";
    bf16, "bf16";
}

macro_rules! elements {
    ($($type:ty, $name:literal;)+) => {$(
        impl ExactElement for $type {
            const KERNEL: Kernel = kernel!($name "_sum_exact");
            const EXACT_ROWS: Kernel = kernel!($name "_sum_exact_rows");
        }
    )+};
}
elements! {
    f32, "f32";
    f64, "f64";
    f16, "f16";
    bf16, "bf16";
}

/// The type of an exact sum: `f32` or `f64`.
pub trait ExactFloat: Accumulator + Sealed + Into<f64> {}
impl ExactFloat for f32 {}
impl ExactFloat for f64 {}

/// The differences between `f32` and `f64`.
pub trait Sealed: Sized {
    #[doc(hidden)]
    const LAYOUT: Layout;

    /// Adds elements to the bins.
    #[doc(hidden)]
    fn bin(bins: &mut Bins, values: &[Self]);

    /// Adds the product of two elements.
    #[doc(hidden)]
    fn multiply(bins: &mut Bins, words: &mut Words, a: Self, b: Self);

    /// The value with that sign and these bits.
    #[doc(hidden)]
    fn assembled(negative: bool, bits: u64) -> Self;
}

/// How an accumulator of a type is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Its number in the bytes of an accumulator, which is that of its bits.
    pub(crate) kind: u8,
    pub(crate) name: &'static str,
    pub(crate) window: Window,
    pub(crate) format: Format,
    /// Exponents of the bins.
    pub(crate) bins: usize,
}

impl Sealed for f32 {
    const LAYOUT: Layout =
        Layout { kind: 32, name: "f32", window: Window::F32, format: Format::F32, bins: 2048 };

    fn bin(bins: &mut Bins, values: &[f32]) {
        bins.add_f32(values);
    }

    /// The product has at most 48 bits and an exponent from -298 to 255: a double holds it.
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

    /// The product has up to 106 bits: two integers are multiplied, and the product is added to the words.
    fn multiply(bins: &mut Bins, words: &mut Words, a: f64, b: f64) {
        let (x, y) = (parts(a), parts(b));
        match (x, y) {
            (Some((m, e)), Some((n, f))) if m != 0 && n != 0 => {
                bins.see_other();
                let negative = a.is_sign_negative() != b.is_sign_negative();
                words.add(negative, u128::from(m) * u128::from(n), e + f);
            }
            _ => bins.add_f64(&[a * b]), // Exact: a zero, an infinity or NaN.
        }
    }

    fn assembled(negative: bool, bits: u64) -> f64 {
        f64::from_bits(bits | u64::from(negative) << 63)
    }
}

/// The significand of a finite number, and the exponent of its last bit.
fn parts(value: f64) -> Option<(u64, i32)> {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    match exponent {
        0x7ff => None,
        0 => Some((fraction, -1074)),
        _ => Some((fraction | 1 << 52, exponent - 1075)),
    }
}
