//! The same sums on the CPU: each row is a slice.

use rayon::prelude::*;

use super::layout::Rows;
use crate::{Element, Result, host};

/// The sum of each row of a slice, with the bits that the GPU's have.
pub fn sum_rows<T: Element>(slice: &[T], rows: Rows) -> Result<Vec<T::Output>> {
    let (count, elements, pitch) = rows.check(slice.len() as u64)?.numbers();
    let row = |row: usize| host::sum(&slice[row * pitch as usize..][..elements as usize]);
    Ok((0..count as usize).into_par_iter().with_min_len(64).map(row).collect())
}
