//! The types that can be reduced.

use half::{bf16, f16, slice::HalfFloatSliceExt};

use crate::{
    accumulator::Accumulator,
    kernels::{Kernels, kernels},
    rows::kernels as rows,
    stage::{Stages, stages},
};

/// An element type. Halves (`f16` and `bf16`) are added as `f32`, and sums of integers wrap.
pub trait Element: Sealed + Copy + Send + Sync + 'static {
    /// The type of a sum, minimum or maximum.
    type Output: Accumulator;
}

/// The crate's data for a type, which the public trait does not show.
pub trait Sealed: Sized {
    /// The kernels for the sum, the minimum and the maximum.
    #[doc(hidden)]
    const KERNELS: [Kernels; 3];

    /// The kernels for sums of rows.
    #[doc(hidden)]
    const ROWS: rows::Kernels;

    /// The stages for several GPUs.
    #[doc(hidden)]
    const STAGES: [Stages; 3];

    /// Calls `each` with consecutive runs of elements, converted to the type in which they are
    /// added. The first argument of `each` is the number of elements before the run.
    #[doc(hidden)]
    fn widened(elements: &[Self], each: impl FnMut(usize, &[<Self as Element>::Output]))
    where
        Self: Element;
}

macro_rules! element {
    ($($kind:ident $type:ty, $name:literal sums $sums:literal, $output:ty, |$elements:ident, $each:ident| $widened:expr;)+) => {$(
        impl Element for $type {
            type Output = $output;
        }

        impl Sealed for $type {
            const KERNELS: [Kernels; 3] = kernels!($kind $name sums $sums);
            const ROWS: rows::Kernels = rows::rows!($kind $sums);
            const STAGES: [Stages; 3] = stages!($kind $name sums $sums);

            fn widened($elements: &[$type], $each: impl FnMut(usize, &[$output])) {
                $widened
            }
        }
    )+};
}

element! {
    plain f32, "f32" sums "f32", f32, |elements, each| whole(elements, each);
    plain f64, "f64" sums "f64", f64, |elements, each| whole(elements, each);
    redux i32, "i32" sums "i32", i32, |elements, each| whole(elements, each);
    redux u32, "u32" sums "i32", u32, |elements, each| whole(elements, each);
    plain i64, "i64" sums "i64", i64, |elements, each| whole(elements, each);
    plain u64, "u64" sums "i64", u64, |elements, each| whole(elements, each);
    halves f16, "f16" sums "f16", f32, |elements, each| narrow(elements, each);
    halves bf16, "bf16" sums "bf16", f32, |elements, each| narrow(elements, each);
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
