//! Sums, minima and maxima on all cores of the CPU. These functions use the same tree as the GPU,
//! so the results are bit-identical to those of the GPU.
//!
//! ```
//! let ones = vec![1.0f32; 1 << 20];
//! assert_eq!(samebits::host::sum(&ones), 1048576.0);
//! assert_eq!(samebits::host::min(&[2.0, f32::NAN, 1.0]), 1.0);
//! ```

use crate::{
    Element, Operation, Result,
    element::{Itself, Read, Truth, Wide, WideElement},
    fold::all,
    operations::{self, operate},
};
pub use crate::{
    columns::host::{read_columns, reduce_columns},
    dot::host::{dot, dot_wide},
    exact::host::{exact_dot, exact_norm, exact_sum, exact_sum_of_squares, exact_sum_rows},
    lists::host::{read_list, read_ragged, reduce_list, reduce_ragged},
    log_sum_exp::host::log_sum_exp_rows,
    moments::host::moments_rows,
    rows::host::{read_rows, reduce_rows, sum_rows},
    select::host::{find, find_rows, min_max, min_max_rows},
};

/// Returns the sum of a slice, which is bit-identical to the sum on the GPU. The sum of an empty
/// slice is 0.
pub fn sum<T: Element>(slice: &[T]) -> T::Output {
    reduce(slice, Operation::Sum)
}

/// Returns the smallest element, ignoring NaNs, or NaN if all elements are NaN. For an empty slice,
/// returns the largest value of the type.
pub fn min<T: Element>(slice: &[T]) -> T::Output {
    reduce(slice, Operation::Min)
}

/// Returns the largest element, ignoring NaNs, or NaN if all elements are NaN. For an empty slice,
/// returns the smallest value of the type.
pub fn max<T: Element>(slice: &[T]) -> T::Output {
    reduce(slice, Operation::Max)
}

/// Returns the result of an operation, bit-identical to the result on the GPU.
///
/// # Panics
/// Panics if the operation is only for floats and the elements are integers.
pub fn reduce<T: Element>(slice: &[T], operation: Operation) -> T::Output {
    assert_floats::<T>(operation);
    operate!(operation, R => all::<T, Itself, R>(slice))
}

/// Returns the result of an operation over elements that are combined in a type of twice the size,
/// bit-identical to the result on the GPU.
///
/// ```
/// use samebits::{Operation, host};
/// let large = [3e30f32, 4e30];
/// assert_eq!(host::reduce(&large, Operation::Norm), f32::INFINITY);
/// assert!((host::reduce_wide(&large, Operation::Norm) / 5e30 - 1.0).abs() < 1e-7);
/// ```
///
/// # Panics
/// Panics if the operation is only for floats and the elements are integers.
pub fn reduce_wide<T: WideElement>(slice: &[T], operation: Operation) -> T::Wider {
    assert_floats::<T>(operation);
    operate!(operation, R => all::<T, Wide, R>(slice))
}

/// Returns the number of elements that are not zero. NaN counts as nonzero, and -0 as zero.
pub fn count<T: Element>(slice: &[T]) -> u64 {
    all::<T, Truth, operations::Sum>(slice) as u64
}

/// Returns whether any element is not zero. For an empty slice, returns `false`.
pub fn any<T: Element>(slice: &[T]) -> bool {
    all::<T, Truth, operations::Max>(slice) > 0
}

/// Returns whether no element is zero. For an empty slice, returns `true`.
pub fn every<T: Element>(slice: &[T]) -> bool {
    all::<T, Truth, operations::Min>(slice) > 0
}

/// Returns the result of an operation over elements that are converted as `W` specifies.
///
/// # Errors
/// The operation is only for floats, and the elements are integers.
#[doc(hidden)]
pub fn reduce_read<T: Element + Read<W>, W>(
    slice: &[T],
    operation: Operation,
) -> Result<<T as Read<W>>::Value> {
    operation.check::<T>()?;
    Ok(operate!(operation, R => all::<T, W, R>(slice)))
}

fn assert_floats<T: Element>(operation: Operation) {
    assert!(
        T::FLOAT || !operation.needs_floats(),
        "{} is only for floats: convert the integers to floats first",
        operation.name()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_slice_has_a_result() {
        assert_eq!(sum::<f32>(&[]), 0.0);
        assert_eq!((min::<f32>(&[]), max::<f64>(&[])), (f32::INFINITY, f64::NEG_INFINITY));
        assert_eq!((min::<i32>(&[]), max::<u64>(&[])), (i32::MAX, 0));
    }

    #[test]
    fn a_slice_of_nans_gives_the_canonical_nan() {
        for n in [1, 5, 5000, 100_000] {
            let none = vec![-f32::NAN; n];
            assert_eq!(min(&none).to_bits(), 0x7fff_ffff);
            assert_eq!(max(&none).to_bits(), 0x7fff_ffff);
            assert_eq!(sum(&none).to_bits(), 0x7fff_ffff);
        }
    }

    #[test]
    fn integers_wrap_and_shapes_cover_all_elements() {
        for n in [1, 31, 4097, 70_001, 140_000, 300_001, 1_400_003] {
            let values: Vec<i32> =
                (0..n).map(|i: i32| i.wrapping_mul(0x9E37_79B9u32 as i32)).collect();
            assert_eq!(sum(&values), values.iter().fold(0, |a: i32, b| a.wrapping_add(*b)), "{n}");
            assert_eq!(Some(min(&values)), values.iter().copied().min(), "{n}");
            assert_eq!(Some(max(&values)), values.iter().copied().max(), "{n}");
        }
    }
}
