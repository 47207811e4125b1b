//! Sums of rows on the CPU, where each row is added like a slice.

use rayon::prelude::*;

use super::layout::Rows;
use crate::{Element, Result, host};

/// Returns the sum of each row of a slice. The sums are bit-identical to those on the GPU.
///
/// # Errors
/// The rows overlap, extend beyond the slice, or have no elements or too many, or there are no
/// rows.
pub fn sum_rows<T: Element>(slice: &[T], rows: Rows) -> Result<Vec<T::Output>> {
    rows.check(slice.len() as u64, u64::MAX)?;
    let (count, elements, pitch) = rows.numbers();
    let row = |row: usize| host::sum(&slice[row * pitch as usize..][..elements as usize]);
    Ok((0..count as usize).into_par_iter().with_min_len(64).map(row).collect())
}
