//! A step on one problem, ready on a device: the kernel loaded, the plan made, its buffers there.

use std::{cell::Cell, rc::Rc};

use crate::{
    Error, Result, Step,
    device::{Device, Memory, Program, Ptx},
    plan::{Buffer, Call, Plan, Problem, Scratch},
    sum::{Mismatch, Scalar, Verdict, Workload, first_wrong},
};

/// Bytes that no kernel writes by chance: NaN as a float, negative as an integer.
const POISON: u8 = 0xFF;

/// A step, ready to run again and again.
#[derive(Debug)]
pub struct Job<'d> {
    device: &'d Device,
    step: &'d Step,
    problem: Problem,
    plan: Plan,
    program: Rc<Program>,
    scratch: Vec<Memory>,
    result: Memory,
    runs: Cell<u32>,
}

/// A sum that was held against the exact one.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The sum and the reference.
    pub verdict: Verdict,
    /// If the sum is wrong: where it went wrong.
    pub wrong: Option<Box<Mismatch>>,
}

impl Checked {
    /// The verdict of a sum that is right; a wrong one is an error.
    pub fn right(self) -> Result<Verdict> {
        self.wrong.map_or(Ok(self.verdict), |wrong| Err(Error::Wrong(wrong.to_string())))
    }
}

impl<'d> Job<'d> {
    /// Loads a step's kernel, makes its plan for the problem, and the plan's buffers.
    pub fn load(
        device: &'d Device,
        step: &'d Step,
        ptx: &Ptx,
        problem: Problem,
    ) -> Result<Job<'d>> {
        Job::with(device, step, &Rc::new(device.load(ptx)?), problem)
    }

    /// As [`load`](Job::load), with a kernel that is loaded already.
    pub fn with(
        device: &'d Device,
        step: &'d Step,
        program: &Rc<Program>,
        problem: Problem,
    ) -> Result<Job<'d>> {
        step.takes(problem.block)?;
        let plan = (step.plan)(&problem);
        plan.check(&problem.chip)?;
        let mut scratch = Vec::new();
        for (index, kind) in plan.scratch.iter().enumerate() {
            let bytes = plan.scratch_bytes(index, problem.element);
            let memory = device.alloc("the partial sums", bytes)?;
            if let Scratch::Zeroed(_) | Scratch::Mail(_) = kind {
                device.fill(&memory, 0)?;
            }
            scratch.push(memory);
        }
        let result = device.alloc("the sum", problem.element.size())?;
        let (program, runs) = (program.clone(), Cell::new(0));
        Ok(Job { device, step, problem, plan, program, scratch, result, runs })
    }

    /// What it launches.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Runs it once on the workload, over poisoned buffers, and holds its sum against the exact
    /// one: what is done before anything is timed.
    pub fn verify<T: Scalar>(&self, workload: &Workload<T>) -> Result<Checked> {
        self.fits(workload)?;
        self.step.reads(workload.warm())?;
        self.poison()?;
        self.launch(&self.calls(workload.warm()))?;
        self.verify_last(workload)
    }

    /// Holds the sum of the last run against the exact one, whatever ran before it: a kernel that
    /// leaves something behind is right once, and then wrong.
    pub fn verify_last<T: Scalar>(&self, workload: &Workload<T>) -> Result<Checked> {
        self.fits(workload)?;
        let verdict = Verdict::of(self.sum::<T>()?, &workload.reference, self.plan.depth());
        let wrong = (!verdict.verified()).then(|| {
            let output = |buffer, count| self.output(buffer, count);
            let first = first_wrong(&self.plan, &workload.values, output);
            Box::new(Mismatch::of(self.step, &self.problem, self.runs.get(), verdict, first))
        });
        Ok(Checked { verdict, wrong })
    }

    fn fits<T: Scalar>(&self, workload: &Workload<T>) -> Result<()> {
        let Problem { n, element, .. } = self.problem;
        match (workload.values.len() as u64, T::ELEMENT) {
            given if given == (n, element) => Ok(()),
            (given, of) => Err(Error::Usage(format!(
                "a job for {n} {element} was given {given} {of}: make one for each workload"
            ))),
        }
    }

    /// Overwrites what an earlier run left: a kernel that writes nothing is found out.
    fn poison(&self) -> Result<()> {
        for (memory, kind) in self.scratch.iter().zip(&self.plan.scratch) {
            if let Scratch::Partials(_) = kind {
                self.device.fill(memory, POISON)?;
            }
        }
        self.poison_sum()
    }

    /// Overwrites the sum alone, so that the next one is not taken for it; what runs leave behind
    /// for each other stays.
    pub fn poison_sum(&self) -> Result<()> {
        self.device.fill(&self.result, POISON)
    }

    /// The launches with their arguments resolved, on the elements at that address.
    pub fn calls(&self, input: u64) -> Vec<Call> {
        let address = |buffer| match buffer {
            Buffer::Input => input,
            Buffer::Scratch(index) => self.scratch[index].address(),
            Buffer::Result => self.result.address(),
        };
        self.plan.launches.iter().map(|launch| Call::of(launch, address)).collect()
    }

    /// Launches calls that [`calls`](Job::calls) made. On a GPU this does not wait.
    pub fn launch(&self, calls: &[Call]) -> Result<()> {
        self.runs.set(self.runs.get().saturating_add(1));
        calls.iter().try_for_each(|call| self.device.launch(&self.program, call))
    }

    /// The sum, after all that was launched.
    fn sum<T: Scalar>(&self) -> Result<T> {
        self.device.finish()?;
        let mut sum = [T::ZERO];
        self.fetch(bytemuck::cast_slice_mut(&mut sum))?;
        Ok(sum[0])
    }

    /// The first bytes of the sum, after all that was launched, with one wait: what a caller does
    /// who wants nothing else.
    pub fn fetch(&self, sum: &mut [u8]) -> Result<()> {
        self.device.read(&self.result, sum)
    }

    /// Whether what runs find zero, they have left zero: counters, and the flags of mail.
    pub fn left_as_found(&self) -> Result<bool> {
        for (memory, kind) in self.scratch.iter().zip(&self.plan.scratch) {
            let (bytes, kept) = match *kind {
                Scratch::Partials(_) => continue,
                Scratch::Zeroed(bytes) => (bytes, 0),
                Scratch::Mail(count) => (2 * count * self.problem.element.size(), 4),
            };
            let mut found = vec![0; bytes as usize];
            self.device.read(memory, &mut found)?;
            if found.chunks(8).flat_map(|mail| mail.iter().skip(kept)).any(|&byte| byte != 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The first `count` elements of what a launch wrote; `None` for the input.
    fn output<T: Scalar>(&self, buffer: Buffer, count: u64) -> Option<Vec<T>> {
        let (memory, mail) = match buffer {
            Buffer::Input => return None,
            Buffer::Scratch(index) => {
                (&self.scratch[index], matches!(self.plan.scratch[index], Scratch::Mail(_)))
            }
            Buffer::Result => (&self.result, false),
        };
        let mut values = vec![T::ZERO; count as usize];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        if mail {
            let mut boxes = vec![0; 2 * bytes.len()];
            self.device.read(memory, &mut boxes).ok()?;
            // The flag is the upper half of each box.
            let halves = boxes.chunks_exact(8).flat_map(|mail| &mail[..4]);
            bytes.iter_mut().zip(halves).for_each(|(byte, half)| *byte = *half);
        } else {
            self.device.read(memory, bytes).ok()?;
        }
        Some(values)
    }
}
