//! The types that can be reduced.

use half::{bf16, f16};

/// A type of element. Halves are added as `f32`, and integers wrap.
pub trait Element: Sealed + Copy + 'static {
    /// What a sum, minimum or maximum of them is.
    type Output: Copy + PartialEq + std::fmt::Debug;

    /// The value that the first bytes of a word hold.
    #[doc(hidden)]
    fn from_word(word: u64) -> Self::Output;
}

/// What a kernel needs to know of a type.
pub trait Sealed {
    /// PTX without clusters (`compute_70`), and with them (`compute_90`).
    #[doc(hidden)]
    const PTX: [&'static str; 2];
}

macro_rules! element {
    ($($type:ty, $name:literal, $output:ty, $from:expr;)+) => {$(
        impl Element for $type {
            type Output = $output;

            fn from_word(word: u64) -> $output {
                $from(word)
            }
        }

        impl Sealed for $type {
            const PTX: [&'static str; 2] = [
                include_str!(concat!("ptx/", $name, ".70.ptx")),
                include_str!(concat!("ptx/", $name, ".90.ptx")),
            ];
        }
    )+};
}

element! {
    f32, "f32", f32, |word| f32::from_bits(word as u32);
    f64, "f64", f64, f64::from_bits;
    i32, "i32", i32, |word| word as i32;
    u32, "u32", u32, |word| word as u32;
    i64, "i64", i64, |word| word as i64;
    u64, "u64", u64, |word| word;
    f16, "f16", f32, |word| f32::from_bits(word as u32);
    bf16, "bf16", f32, |word| f32::from_bits(word as u32);
}
