//! Reductions of rows on a stream.

use super::{
    kernels::Family,
    layout::Rows,
    plan::{Begin, Plan, plan},
    shape::{Shape, pick},
};
use crate::{
    Element, Error, Operation, Result,
    cuda::{self, Address, RowsCall, State},
    element::Read,
    engine::{Engine, state_bytes},
    kernels::rows_kernel_of,
    once::get_or_try,
    shape,
};

impl<T: Element> Engine<T> {
    /// Queues a reduction of rows. The result of each row is written to `output`. The caller must
    /// have checked that the rows are within the input and that the output has room for the
    /// results.
    pub(crate) fn reduce_rows<W>(
        &self,
        operation: Operation,
        input: Address<'_>,
        rows: Rows,
        output: Address<'_>,
    ) -> Result<()>
    where
        T: Read<W>,
    {
        let stream = self.queue().stream;
        let _bound = stream.bind()?;
        let (count, elements, pitch) = rows.numbers();
        let size = size_of::<T>() as u64;
        let bytes = u128::from(count) * u128::from(elements) * u128::from(size);
        let too_long = || Error::TooLong { n: elements, size, most: shape::LONGEST };
        let shape =
            pick(rows, size).filter(|_| bytes <= u128::from(u64::MAX)).ok_or_else(too_long)?;
        if matches!(shape, Shape::One(_)) {
            return self.launch::<W>(operation, input.first(elements), output, 0);
        }
        let width = 16 / size;
        let whole = pitch.is_multiple_of(width) && elements.is_multiple_of(width);
        let whole = whole || matches!(shape, Shape::Short);
        let begin = Begin {
            rows: input.is_aligned() && whole,
            sums: output.is_aligned(),
            copied: size >= 4 && self.copies()?,
        };
        let load = |family: Family| {
            let kernel = rows_kernel_of::<T, W>(operation, family);
            self.known().get(self.queue(), kernel, family.threads())
        };
        let mut blocks = Ok(0);
        let planned = plan(rows, shape, begin, |family| {
            blocks = load(family).map(|(_, blocks)| blocks);
            *blocks.as_ref().unwrap_or(&1)
        });
        blocks?;
        let planned = planned.ok_or_else(too_long)?;
        let Plan { family, grid, threads, shape, values } = planned;
        let (function, _) = load(family)?;
        let call = RowsCall { grid, threads, input, output, rows: count, elements, pitch, shape };
        let run = |state: Option<Address<'_>>| cuda::launch_rows(function, stream, call, state);
        if values == 0 {
            return run(None);
        }
        let bytes = state_bytes::<<T as Read<W>>::Value>(values);
        if stream.is_capturing()? {
            return cuda::with_captured_state(stream, bytes, run);
        }
        self.with_rows_state(bytes, run)
    }

    /// Returns whether the device supports asynchronous copies to shared memory.
    fn copies(&self) -> Result<bool> {
        get_or_try(&self.rows().copies, || Ok(cuda::major()? >= 9)).copied()
    }

    /// Calls a function with memory for messages. An allocation that is too small is replaced; the
    /// old one is freed after the work that uses it.
    pub(crate) fn with_rows_state(
        &self,
        bytes: usize,
        run: impl FnOnce(Option<Address<'_>>) -> Result<()>,
    ) -> Result<()> {
        let mut kept = self.rows().state.borrow_mut();
        match &*kept {
            Some(state) if state.address().len() >= bytes as u64 => run(Some(state.address())),
            _ => {
                let bytes = bytes.next_power_of_two();
                let state = cuda::outside_of_captures(|| State::new(self.queue(), bytes))?;
                run(Some(kept.insert(state).address()))
            }
        }
    }
}
