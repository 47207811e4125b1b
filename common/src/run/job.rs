//! A plan bound to a device: buffers made, arguments resolved, ready to run again and again.

use crate::{
    Element, Result,
    device::{Device, Memory, Program},
    plan::{Buffer, Call, Plan, Scratch},
    sum::{Reference, Scalar, Verdict},
};

/// Bytes that no kernel writes by chance: NaN as a float, negative as an integer.
const POISON: u8 = 0xFF;

/// A plan, ready to run.
#[derive(Debug)]
pub struct Job<'d> {
    device: &'d Device,
    program: &'d Program,
    plan: &'d Plan,
    scratch: Vec<Memory>,
    result: Memory,
}

impl<'d> Job<'d> {
    /// Makes the plan's buffers on the device.
    pub fn new(
        device: &'d Device,
        program: &'d Program,
        plan: &'d Plan,
        element: Element,
    ) -> Result<Job<'d>> {
        plan.check()?;
        let mut scratch = Vec::new();
        for (index, kind) in plan.scratch.iter().enumerate() {
            let memory = device.alloc("the partial sums", plan.scratch_bytes(index, element))?;
            if let Scratch::Zeroed(_) = kind {
                device.fill(&memory, 0)?;
            }
            scratch.push(memory);
        }
        let result = device.alloc("the sum", element.size())?;
        Ok(Job { device, program, plan, scratch, result })
    }

    /// Overwrites what an earlier run left: a kernel that writes nothing is found out.
    pub fn poison(&self) -> Result<()> {
        for (memory, kind) in self.scratch.iter().zip(&self.plan.scratch) {
            if let Scratch::Partials(_) = kind {
                self.device.fill(memory, POISON)?;
            }
        }
        self.device.fill(&self.result, POISON)
    }

    /// Launches everything, on the elements at that address. On a GPU this does not wait.
    pub fn enqueue(&self, input: u64) -> Result<()> {
        self.launch(&self.calls(input))
    }

    /// The launches with their arguments resolved.
    pub fn calls(&self, input: u64) -> Vec<Call> {
        let address = |buffer| match buffer {
            Buffer::Input => input,
            Buffer::Scratch(index) => self.scratch[index].address(),
            Buffer::Result => self.result.address(),
        };
        self.plan.launches.iter().map(|launch| Call::of(launch, address)).collect()
    }

    /// Launches calls that [`calls`](Job::calls) made.
    pub fn launch(&self, calls: &[Call]) -> Result<()> {
        calls.iter().try_for_each(|call| self.device.launch(self.program, call))
    }

    /// The sum, after all that was launched.
    pub fn sum<T: Scalar>(&self) -> Result<T> {
        self.device.finish()?;
        let mut sum = [T::ZERO];
        self.fetch(bytemuck::cast_slice_mut(&mut sum))?;
        Ok(sum[0])
    }

    /// Runs it once on the elements at that address, over poisoned buffers, and holds its sum
    /// against the exact one: what is done before anything is timed.
    pub fn verify<T: Scalar>(&self, input: u64, reference: &Reference) -> Result<Verdict> {
        self.poison()?;
        self.enqueue(input)?;
        Ok(Verdict::of(self.sum::<T>()?, reference, self.plan.depth()))
    }

    /// The first bytes of the sum, after all that was launched, with one wait: what a caller does
    /// who wants nothing else.
    pub fn fetch(&self, sum: &mut [u8]) -> Result<()> {
        self.device.read(&self.result, sum)
    }

    /// The first `count` elements of what a launch wrote; `None` for the input.
    pub fn output<T: Scalar>(&self, buffer: Buffer, count: u64) -> Option<Vec<T>> {
        let memory = match buffer {
            Buffer::Input => return None,
            Buffer::Scratch(index) => &self.scratch[index],
            Buffer::Result => &self.result,
        };
        let mut values = vec![T::ZERO; count as usize];
        self.device.read(memory, bytemuck::cast_slice_mut(&mut values)).ok()?;
        Some(values)
    }
}
