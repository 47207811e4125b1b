//! Exact sums of rows on a stream.

use super::{
    ExactElement,
    launch::{LONGEST, THREADS},
};
use crate::{
    Error, Result, Rows,
    cuda::{self, Address, RowsCall},
    engine::{Engine, get_or_try},
    modules, shape,
};

/// The most rows that are added one launch after the other.
const FEW: u64 = 64;

/// Whether each row has a launch of its own, with all blocks of the device; else it has one block. A row must be the
/// longer the more rows there are, because launches take time and blocks add different rows at once.
fn is_launched_alone(rows: u64, bytes: u64) -> bool {
    rows == 1 || (rows <= FEW && bytes >= rows << 18)
}

impl<T: ExactElement> Engine<T> {
    /// Queues the exact sums of the rows, which are written to an address. The caller must have checked that the
    /// rows are within the input and that the output has room.
    pub(crate) fn exact_rows(
        &self,
        input: Address<'_>,
        rows: Rows,
        output: Address<'_>,
    ) -> Result<()> {
        let stream = self.queue().stream;
        let _bound = stream.bind()?;
        let ((count, elements, pitch), size) = (rows.numbers(), size_of::<T>() as u64);
        let bytes = elements.checked_mul(size).filter(|bytes| *bytes <= shape::LONGEST);
        let bytes = bytes.ok_or(Error::TooLong { n: elements, size, most: shape::LONGEST })?;
        if is_launched_alone(count, bytes) {
            return (0..count).try_for_each(|row| {
                let input = input.part::<T>(row * pitch, elements);
                self.launch_exact(input, output.part::<T::Output>(row, 1), 0)
            });
        }
        let kept = &self.exact().rows;
        let loaded = get_or_try(kept, || modules::load(self.queue(), T::EXACT_ROWS, THREADS))?;
        let grid = count.min(loaded.blocks.into()) as u32;
        let shape = [LONGEST as u32, 0, 0];
        let threads = THREADS;
        let call = RowsCall { grid, threads, input, output, rows: count, elements, pitch, shape };
        cuda::launch_rows(loaded.function, stream, call, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_long_rows_have_launches_of_their_own() {
        assert!(is_launched_alone(1, 4) && is_launched_alone(8, 8 << 18));
        assert!(!is_launched_alone(2, 4096) && !is_launched_alone(65, 1 << 40));
    }
}
