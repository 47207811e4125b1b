//! The types that can be reduced.

use half::{bf16, f16, slice::HalfFloatSliceExt};

use crate::{
    accumulator::Accumulator,
    kernels::{Kernels, kernels},
    rows::kernels as rows,
    stage::{Stages, stages},
};

/// A type of element. Halves are added as `f32`, and integers wrap.
pub trait Element: Sealed + Copy + Send + Sync + 'static {
    /// What a sum, minimum or maximum of them is.
    type Output: Accumulator;
}

/// What this crate needs to know of a type.
pub trait Sealed: Sized {
    /// The kernels of a sum, a minimum and a maximum.
    #[doc(hidden)]
    const KERNELS: [Kernels; 3];

    /// The kernels of a sum for each row.
    #[doc(hidden)]
    const ROWS: rows::Kernels;

    /// The stages of several GPUs.
    #[doc(hidden)]
    const STAGES: [Stages; 3];

    /// What each element is added as, handed on in runs of at most 512, with how many came before.
    #[doc(hidden)]
    fn widened(elements: &[Self], each: impl FnMut(usize, &[<Self as Element>::Output]))
    where
        Self: Element;
}

macro_rules! element {
    ($($kind:ident $type:ty, $name:literal rows $rows:literal, $output:ty, |$elements:ident, $each:ident| $widened:expr;)+) => {$(
        impl Element for $type {
            type Output = $output;
        }

        impl Sealed for $type {
            const KERNELS: [Kernels; 3] = kernels!($kind $name);
            const ROWS: rows::Kernels = rows::rows!($kind $rows);
            const STAGES: [Stages; 3] = stages!($kind $name);

            fn widened($elements: &[$type], $each: impl FnMut(usize, &[$output])) {
                $widened
            }
        }
    )+};
}

element! {
    plain f32, "f32" rows "f32", f32, |elements, each| whole(elements, each);
    plain f64, "f64" rows "f64", f64, |elements, each| whole(elements, each);
    words i32, "i32" rows "i32", i32, |elements, each| whole(elements, each);
    words u32, "u32" rows "i32", u32, |elements, each| whole(elements, each);
    plain i64, "i64" rows "i64", i64, |elements, each| whole(elements, each);
    plain u64, "u64" rows "i64", u64, |elements, each| whole(elements, each);
    halves f16, "f16" rows "f16", f32, |elements, each| narrow(elements, each);
    halves bf16, "bf16" rows "bf16", f32, |elements, each| narrow(elements, each);
}

fn whole<T>(elements: &[T], mut each: impl FnMut(usize, &[T])) {
    each(0, elements);
}

/// Halves are widened in runs, which hardware does by eights.
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
