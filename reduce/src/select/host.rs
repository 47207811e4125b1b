//! Searches for indices and extremes on the CPU.

use super::{Found, check};
use crate::{
    Accumulator, Element, Error, Operation, Result, Rows,
    element::{Itself, Read},
    fold,
    operate::Operate,
    operations::{LargestMagnitude, Max, Min},
    threads::{each_row, in_parts},
};

/// Returns the smallest or the largest element, or the largest magnitude, and the lowest index of
/// an element with this value. NaNs are ignored; if all elements are NaN, the index is 0. The
/// result is the same as on the GPU.
///
/// # Errors
/// There are no elements, or the operation is not one of these three or is not defined for the
/// elements.
pub fn find<T: Element>(slice: &[T], operation: Operation) -> Result<Found<T::Output>> {
    check::<T>(operation)?;
    if slice.is_empty() {
        return Err(Error::NoElements);
    }
    Ok(found_by(slice, operation))
}

/// Returns the results of [`find`] for each row.
///
/// # Errors
/// The same errors as for [`find`] and [`reduce_rows`](crate::host::reduce_rows).
pub fn find_rows<T: Element>(
    slice: &[T],
    operation: Operation,
    rows: Rows,
) -> Result<Vec<Found<T::Output>>> {
    check::<T>(operation)?;
    each_row(slice, rows, 64, |row| found_by(row, operation))
}

/// Returns the minimum and the maximum, as [`min`](crate::host::min) and [`max`](crate::host::max)
/// do.
pub fn min_max<T: Element>(slice: &[T]) -> (T::Output, T::Output) {
    let of = |operation| fold::result_of::<T, Itself>(slice, operation);
    (of(Operation::Min), of(Operation::Max))
}

/// Returns the minimum and the maximum of each row.
///
/// # Errors
/// The same errors as for [`reduce_rows`](crate::host::reduce_rows).
pub fn min_max_rows<T: Element>(slice: &[T], rows: Rows) -> Result<Vec<(T::Output, T::Output)>> {
    each_row(slice, rows, 64, min_max)
}

fn found_by<T: Element>(slice: &[T], operation: Operation) -> Found<T::Output> {
    match operation {
        Operation::Min => found::<T, Min>(slice),
        Operation::Max => found::<T, Max>(slice),
        _ => found::<T, LargestMagnitude>(slice),
    }
}

/// The minimum number of elements that one task searches.
const TASK: usize = 1 << 16;

fn found<T: Element, R: Operate>(slice: &[T]) -> Found<T::Output> {
    let none = T::Output::none(R::DEVICE.neutral);
    let first = |at: usize, part: &[T]| {
        let mut best = Found { index: 0, value: none };
        <T as Read<Itself>>::read(part, |before, values| {
            for (value, place) in values.iter().zip(before..) {
                let joined = R::join(best.value, R::map(*value));
                if joined.to_bits64() != best.value.to_bits64() {
                    best.index = (at + place) as u64;
                }
                best.value = joined;
            }
        });
        best
    };
    let found = in_parts(slice.len(), TASK, &|part| first(part.start, &slice[part]));
    let found = found.into_iter().reduce(|a, b| {
        let value = R::join(a.value, b.value);
        let index = if value.to_bits64() == a.value.to_bits64() { a.index } else { b.index };
        Found { index, value }
    });
    let Found { index, value } = found.unwrap_or(Found { index: 0, value: none });
    let value = R::result(value, slice.len() as u64).canonical();
    // If the result is the neutral value, all elements are equal to it, or all are NaN.
    let index = if value.to_bits64() == none.to_bits64() { 0 } else { index };
    Found { index, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_index_of_equal_elements_is_found() {
        let of = |values: &[f32], operation| find(values, operation).unwrap();
        let nan = f32::NAN;
        assert_eq!(of(&[nan, 2.0, 1.0, 1.0], Operation::Min), Found { index: 2, value: 1.0 });
        assert_eq!(of(&[nan, 2.0, 2.0, 1.0], Operation::Max).index, 1);
        assert_eq!(of(&[0.0, -0.0, -0.0], Operation::Min).index, 1);
        assert_eq!(of(&[-0.0, 0.0, 0.0], Operation::Max).index, 1);
        assert_eq!(
            of(&[1.0, -3.0, 3.0], Operation::LargestMagnitude),
            Found { index: 1, value: 3.0 }
        );
        let all = of(&[nan, -nan], Operation::Max);
        assert_eq!((all.index, all.value.to_bits()), (0, 0x7fff_ffff));
        assert_eq!(find(&[i8::MIN; 5], Operation::Max).unwrap(), Found { index: 0, value: -128 });
        let mut long = vec![7u16; 200_001];
        long[150_000] = 8;
        long[199_000] = 8;
        assert_eq!(find(&long, Operation::Max).unwrap(), Found { index: 150_000, value: 8 });
        assert_eq!(find(&long, Operation::Min).unwrap().index, 0);
    }

    #[test]
    fn a_search_without_a_result_is_an_error() {
        let error = find::<f32>(&[], Operation::Min).unwrap_err().to_string();
        assert!(error.contains("no elements"), "{error}");
        let error = find(&[1.0f32], Operation::Norm).unwrap_err().to_string();
        assert!(error.contains("result of norm is not an element"), "{error}");
        assert!(find(&[1i32], Operation::LargestMagnitude).is_err());
        assert_eq!(min_max::<u8>(&[]), (255, 0));
    }
}
