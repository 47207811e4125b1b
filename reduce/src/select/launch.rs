//! Searches for indices and extremes on a stream.

use super::plan::{Family, Plan, kernel, plan};
use crate::{
    Element, Error, Operation, Result, Rows,
    cuda::{self, Address, Param},
    engine::Engine,
    shape,
};

/// The goal of a search: the index of an element, or both extremes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sought {
    Index(Operation),
    Extremes,
}

impl Sought {
    fn parts(self) -> (Operation, bool) {
        match self {
            Sought::Index(operation) => (operation, true),
            Sought::Extremes => (Operation::Min, false),
        }
    }
}

impl<T: Element> Engine<T> {
    /// Queues a search in each row. The stream's context must be current, and the caller must have
    /// checked the rows. The first result of a row is the value or the minimum, and may be omitted;
    /// the second is the index or the maximum. If `epoch` is not 0, there is only one row, and the
    /// kernel writes its results for a host thread that polls for them.
    pub(crate) fn select(
        &self,
        sought: Sought,
        input: Address<'_>,
        rows: Rows,
        [first, second]: [Option<Address<'_>>; 2],
        epoch: u32,
    ) -> Result<()> {
        let stream = self.queue().stream;
        let (count, elements, pitch) = rows.numbers();
        let (operation, arg) = sought.parts();
        let size = size_of::<T>() as u64;
        let too_long = || Error::TooLong { n: elements, size, most: shape::LONGEST };
        let bytes = u128::from(count) * u128::from(elements) * u128::from(size);
        if bytes > u128::from(u64::MAX) {
            return Err(too_long());
        }
        let load = |family: Family| {
            self.known().get(self.queue(), kernel::<T>(operation, family), family.threads())
        };
        let mut blocks = Ok(0);
        let planned = plan(rows, [size, size_of::<T::Output>() as u64], arg, |family| {
            blocks = load(family).map(|(_, blocks)| blocks);
            *blocks.as_ref().unwrap_or(&1)
        });
        blocks?;
        let Plan { family, grid, each, chunks, state } = planned.ok_or_else(too_long)?;
        let (function, _) = load(family)?;
        let run = |state: Option<Address<'_>>| {
            let params = [
                Param::Memory(input),
                first.map_or(Param::Null, Param::Memory),
                second.map_or(Param::Null, Param::Memory),
                Param::U64(count),
                Param::U64(elements),
                Param::U64(pitch),
                Param::U32(each),
                Param::U32(chunks),
                state.map_or(Param::Null, Param::Memory),
                Param::U32(epoch),
            ];
            cuda::launch_form(function, stream, [grid, family.threads()], params)
        };
        self.with_messages(state, epoch, run)
    }

    /// Calls a function with memory for `bytes` bytes of messages, if there are any. If the stream
    /// is being captured, the memory belongs to the graph. If `epoch` is not 0, the stream must not
    /// be in capture mode.
    pub(crate) fn with_messages(
        &self,
        bytes: u64,
        epoch: u32,
        run: impl FnOnce(Option<Address<'_>>) -> Result<()>,
    ) -> Result<()> {
        let stream = self.queue().stream;
        if bytes == 0 {
            return run(None);
        }
        if epoch == 0 && stream.is_capturing()? {
            return cuda::with_captured_state(stream, bytes as usize, run);
        }
        self.with_rows_state(bytes as usize, run)
    }
}
