//! Exact sums of rows on a stream.

use super::{ExactElement, cut::Cut};
use crate::{
    Error, Result, Rows,
    cuda::{self, Address, RowsCall},
    engine::Engine,
    modules,
    once::get_or_try,
    shape,
};

/// The maximum number of rows that are added one after another, each by its own launch.
const FEW: u64 = 64;

/// Returns whether each row has its own launch, which uses all multiprocessors. Otherwise, one
/// launch adds all rows, with one block for each. The more rows there are, the longer they must be
/// for separate launches to be faster, because each launch takes time, whereas the blocks of one
/// launch add different rows at the same time.
fn is_launched_alone(rows: u64, bytes: u64) -> bool {
    rows == 1 || (rows <= FEW && bytes >= rows << 18)
}

impl<T: ExactElement> Engine<T> {
    /// Queues the exact sums of rows, which are written to `output`. The caller must have checked
    /// that the rows are within the input and that the output has room for the sums.
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
        let (kept, threads) = (&self.exact().rows, Cut::ROW_THREADS);
        let loaded = get_or_try(kept, || modules::load(self.queue(), T::EXACT_ROWS, threads))?;
        let grid = count.min(loaded.blocks.into()) as u32;
        let shape = [T::CUT.longest(), 0, 0];
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
