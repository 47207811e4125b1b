//! Sums of rows on a stream.

use cudarc::driver::{DevicePtr, DevicePtrMut};

use super::{
    kernels::Family,
    layout::Rows,
    plan::{Begin, Plan, plan},
    shape::{Shape, pick},
};
use crate::{
    Element, Error, Operation, Reducer, Result,
    cuda::{self, Address, RowsCall, State},
    element::Sealed,
    error::doing,
    modules::{self, Loaded},
    reducer::{get_or_try, state_bytes},
    shape,
};

impl<T: Element> Reducer<T> {
    /// Leaves the sum of each row in a slice on the device, one behind the other: each has the bits of
    /// [`sum`](Reducer::sum) of that row. Does not wait, and can be captured into a graph.
    pub fn sum_rows_into(
        &self,
        slice: &impl DevicePtr<T>,
        rows: Rows,
        result: &mut impl DevicePtrMut<T::Output>,
    ) -> Result<()> {
        let (count, elements, pitch) = rows.check(slice.len() as u64)?.numbers();
        if (result.len() as u64) < count {
            return Err(Error::NoRoomForRows { room: result.len() as u64, rows: count });
        }
        self.same_context("result", result.stream())?;
        self.same_context("slice", slice.stream())?;
        self.bind()?;
        let (output, _writes) = Address::of_result(result, self.stream())?;
        let (input, _reads) = Address::of(slice, self.stream())?;
        let size = size_of::<T>() as u64;
        let bytes = u128::from(count) * u128::from(elements) * u128::from(size);
        let too_long = || Error::TooLong { n: elements, size, most: shape::LONGEST };
        let shape =
            pick(rows, size).filter(|_| bytes <= u128::from(u64::MAX)).ok_or_else(too_long)?;
        if matches!(shape, Shape::One(_)) {
            return self.launch_at(Operation::Sum, input.first(elements), output, 0);
        }
        let lanes = 16 / size;
        let whole = pitch.is_multiple_of(lanes) && elements.is_multiple_of(lanes);
        let whole = whole || matches!(shape, Shape::Short);
        let begin = Begin {
            rows: input.begins_a_word() && whole,
            sums: output.begins_a_word(),
            copied: size >= 4 && self.copies()?,
        };
        let mut blocks = Ok(0);
        let planned = plan(rows, shape, begin, |family| {
            blocks = self.load_rows(family).map(|loaded| loaded.blocks);
            *blocks.as_ref().unwrap_or(&1)
        });
        blocks?;
        let planned = planned.ok_or_else(too_long)?;
        let Plan { family, grid, threads, told, values } = planned;
        let function = &self.load_rows(family)?.function;
        let call = RowsCall { grid, threads, input, output, rows: count, elements, pitch, told };
        let run =
            |state: Option<Address<'_>>| cuda::launch_rows(function, self.stream(), call, state);
        if values == 0 {
            return run(None);
        }
        let bytes = state_bytes::<T>(values);
        if cuda::is_capturing(self.stream())? {
            return cuda::with_captured_state(self.stream(), bytes, run);
        }
        self.with_rows_state(bytes, run)
    }

    fn copies(&self) -> Result<bool> {
        let ask = || {
            let capability = self.stream().context().compute_capability();
            Ok(capability.map_err(doing("asking what the device has"))?.0 >= 9)
        };
        get_or_try(&self.rows().copies, ask).copied()
    }

    fn load_rows(&self, family: Family) -> Result<&Loaded> {
        get_or_try(&self.rows().loaded[family.index()], || {
            let kernel = <T as Sealed>::ROWS[family.index()];
            modules::load(self.stream().context(), kernel, family.threads())
        })
    }

    /// With room for mail; what there was is freed behind the work that uses it.
    fn with_rows_state(
        &self,
        bytes: usize,
        run: impl FnOnce(Option<Address<'_>>) -> Result<()>,
    ) -> Result<()> {
        let mut kept = self.rows().state.borrow_mut();
        match &*kept {
            Some(state) if state.address().len() >= bytes as u64 => run(Some(state.address())),
            _ => {
                let bytes = bytes.next_power_of_two();
                let state = cuda::outside_of_captures(|| State::new(self.stream(), bytes))?;
                run(Some(kept.insert(state).address()))
            }
        }
    }
}
