//! A job, which is a step on one problem, with its kernel loaded, its plan made and its buffers
//! allocated.

use std::{cell::Cell, rc::Rc};

use super::fits::fits;
use crate::{
    Error, Result, Step,
    device::{Address, Device, Memory, POISON, Program, Ptx},
    plan::{Buffer, Call, Holds, Launch, Plan, Problem, Scratch},
    sum::{Elements, Mismatch, Reference, Run, Scalar, Verdict, Workload, elements, first_wrong},
};

/// A step that is loaded and can run any number of times.
#[derive(Debug)]
pub struct Job<'d> {
    pub(super) device: &'d Device,
    pub(super) step: &'d Step,
    pub(super) problem: Problem,
    pub(super) plan: Plan,
    pub(super) program: Rc<Program>,
    pub(super) scratch: Vec<Memory>,
    result: Memory,
    runs: Cell<u32>,
}

/// The verdict on a sum that was compared with the exact sum.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The sum, and the reference that it was compared with.
    pub verdict: Verdict,
    /// The first error, if the sum is wrong.
    pub wrong: Option<Box<Mismatch>>,
}

impl Checked {
    /// Returns the verdict if the sum is correct. Fails if the sum is wrong.
    pub fn into_verified(self) -> Result<Verdict> {
        self.wrong.map_or(Ok(self.verdict), |wrong| Err(Error::Wrong(wrong.to_string())))
    }
}

/// Makes a step's plan. Fails if the step does not support the block size.
fn plan(step: &Step, problem: &Problem) -> Result<Plan> {
    step.check_block(problem.block)?;
    Ok((step.plan)(problem))
}

impl<'d> Job<'d> {
    /// Loads a step's kernel, makes its plan for the problem, and allocates the plan's buffers.
    pub fn load(
        device: &'d Device,
        step: &'d Step,
        ptx: &Ptx,
        problem: Problem,
    ) -> Result<Job<'d>> {
        let plan = plan(step, &problem)?;
        fits(&plan, ptx)?;
        Job::planned(device, step, Rc::new(device.load(ptx)?), problem, plan)
    }

    /// Like [`load`](Job::load), but for a kernel that is already loaded.
    pub fn with_program(
        device: &'d Device,
        step: &'d Step,
        program: &Rc<Program>,
        problem: Problem,
    ) -> Result<Job<'d>> {
        let plan = plan(step, &problem)?;
        Job::planned(device, step, program.clone(), problem, plan)
    }

    /// Checks that the chip allows the plan, and allocates the plan's buffers. A GPU that is too
    /// old for the kernel was refused earlier, when the kernel was loaded.
    fn planned(
        device: &'d Device,
        step: &'d Step,
        program: Rc<Program>,
        problem: Problem,
        plan: Plan,
    ) -> Result<Job<'d>> {
        plan.check(&problem.chip)?;
        let mut scratch = Vec::new();
        for (index, kind) in plan.scratch.iter().enumerate() {
            let bytes = plan.scratch_bytes(index, problem.element);
            let memory = device.alloc("the partial sums", bytes)?;
            if let Scratch::Zeroed(_) | Scratch::Messages(_) = kind {
                device.fill(&memory, 0)?;
            }
            scratch.push(memory);
        }
        let result = device.alloc("the sum", problem.element.size())?;
        let runs = Cell::new(0);
        Ok(Job { device, step, problem, plan, program, scratch, result, runs })
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the plan, so that a test can change it.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn plan_mut(&mut self) -> &mut Plan {
        &mut self.plan
    }

    /// Verifies the job before it is timed, in three runs. The first run, on the workload, starts
    /// with cleared buffers; the sum and every partial sum are compared with the exact ones. The
    /// second run adds numbers whose sums are exact, and starts with the memory contents that the
    /// first run left behind. The third run adds fewer of these numbers, with another grid.
    ///
    /// The interpreter observes only the first run.
    pub fn verify<T: Scalar>(&self, workload: &Workload<T>) -> Result<Checked> {
        let mut first = self.verify_once(workload)?;
        if let Some(wrong) = &mut first.wrong {
            // If a partial sum is wrong, the total may be correct by chance, so test the total with
            // exact elements, which also shows whether the sums have only lost precision.
            let test = first.verdict.verified() || wrong.is_near();
            wrong.exact = test && self.adds_exactly(workload)?;
            if !wrong.exact {
                wrong.leftover = self.stale(workload)?;
            }
            return Ok(first);
        }
        let Checked { wrong, .. } = self.verify_again(workload)?;
        Ok(Checked { wrong, ..first })
    }

    /// Performs only the second and third runs of [`verify`](Job::verify).
    pub(super) fn verify_again<T: Scalar>(&self, workload: &Workload<T>) -> Result<Checked> {
        workload.while_exact(self.device, || self.verify_exactly(workload))
    }

    /// Returns whether the total of exact elements is correct, even if partial sums are wrong.
    pub(super) fn adds_exactly<T: Scalar>(&self, workload: &Workload<T>) -> Result<bool> {
        let total = || {
            self.device.unwatched(|| {
                let elements = workload.exact();
                self.poison_sum()?;
                let ran = self.launch(&self.calls(workload.warm())?);
                // An error that stops the run means that the total is wrong.
                let sum = || Ok(Verdict::of(self.sum::<T>()?, &elements.total(), 0).verified());
                ran.map_or(Ok(false), |()| sum())
            })
        };
        workload.while_exact(self.device, total)
    }

    /// Performs only the first run of [`verify`](Job::verify).
    pub fn verify_once<T: Scalar>(&self, workload: &Workload<T>) -> Result<Checked> {
        self.fits(workload)?;
        let calls = self.calls(workload.warm())?;
        self.forget()?;
        self.device.restart();
        self.launch(&calls)?;
        self.hold(workload.elements(), workload.reference, Run::First)
    }

    /// Performs the second and third runs of [`verify`](Job::verify),
    /// [while](Workload::while_exact) the workload holds exact elements. Only the sum is cleared,
    /// so that state left by the first run has an effect.
    pub fn verify_exactly<T: Scalar>(&self, workload: &Workload<T>) -> Result<Checked> {
        self.device.unwatched(|| {
            let elements = workload.exact();
            self.poison_sum()?;
            let before = self.partials::<T>()?;
            self.device.restart();
            let calls = self.calls(workload.warm())?;
            if let Err(error) = self.launch(&calls) {
                return Err(error.in_second_run(self.fails_from_the_start(&calls)?));
            }
            let mut checked = self.hold(elements, elements.total(), Run::Exact)?;
            match &mut checked.wrong {
                Some(wrong) => {
                    if let Some(first) = &mut wrong.first {
                        let place = (first.sums, first.index);
                        // A consumer may have cleared a sum of this run.
                        let kept = held(&before, place).filter(|sum| sum.iter().any(|&b| b != 0));
                        first.old = kept.is_some() && kept == held(&self.partials::<T>()?, place);
                    }
                    wrong.leftover = self.leftover(workload.warm())?;
                }
                None => checked.wrong = self.left_behind(checked.verdict, workload.warm())?,
            }
            if checked.wrong.is_none() {
                checked.wrong = self.verify_smaller(workload)?;
            }
            Ok(checked)
        })
    }

    /// Reads all partial sums in scratch buffers.
    fn partials<T: Scalar>(&self) -> Result<Vec<(Buffer, Vec<T>)>> {
        self.device.finish()?;
        let stages = self.plan.launches.iter().flat_map(|launch| &launch.stages);
        let stages = stages.filter(|stage| matches!(stage.sums, Buffer::Scratch(_)));
        stages.map(|s| Ok((s.sums, self.output(s.sums, s.holds.count())?))).collect()
    }

    /// Verifies the sums from the last of several runs, because a kernel that leaves state behind
    /// may be correct in its first run and wrong in later ones.
    pub fn verify_last<T: Scalar>(&self, workload: &Workload<T>) -> Result<Checked> {
        self.fits(workload)?;
        let run = Run::Later(self.runs.get());
        self.hold(workload.elements(), workload.reference, run)
    }

    /// Compares the sum of the last run, and all its partial sums, with the exact sums of these
    /// elements.
    pub(super) fn hold<T: Scalar>(
        &self,
        elements: Elements<'_, T>,
        reference: Reference,
        run: Run,
    ) -> Result<Checked> {
        let depth = if elements.round() { self.plan.depth() } else { 0 };
        let verdict = Verdict::of(self.sum::<T>()?, &reference, depth);
        let poison = bytemuck::pod_read_unaligned(&[POISON; 8][..size_of::<T>()]);
        let output = |buffer, count| self.output(buffer, count);
        let mut first = first_wrong(&self.plan, elements, poison, output)?;
        if first.is_some() && verdict.verified() && self.slots_are_empty()? {
            first = None;
        }
        let wrong = (first.is_some() || !verdict.verified())
            .then(|| Box::new(Mismatch::of(self.step, &self.problem, run, verdict, first)));
        Ok(Checked { verdict, wrong })
    }

    /// Returns whether all partial sums were sent as messages and every slot is zero after the run.
    /// Slots can be zero because a consumer may clear a whole slot, not only its flag. In that
    /// case, there is nothing to compare, and only the total shows whether the messages were right.
    pub(super) fn slots_are_empty(&self) -> Result<bool> {
        let (&[Scratch::Messages(count)], [memory]) = (&*self.plan.scratch, &*self.scratch) else {
            return Ok(false);
        };
        let mut slots = vec![0; (2 * count * self.problem.element.size()) as usize];
        self.device.read(memory, &mut slots)?;
        Ok(slots.iter().all(|&byte| byte == 0))
    }

    fn fits<T: Scalar>(&self, workload: &Workload<T>) -> Result<()> {
        let Problem { n, element, .. } = self.problem;
        match (workload.values.len() as u64, T::ELEMENT) {
            given if given == (n, element) => Ok(()),
            (given, of) => Err(Error::Usage(format!(
                "a job for {n} {element} was given {given} {of}: make a separate job for each workload"
            ))),
        }
    }

    /// Overwrites the results of earlier runs, so that a kernel that writes nothing fails.
    pub(super) fn forget(&self) -> Result<()> {
        for (memory, kind) in self.scratch.iter().zip(&self.plan.scratch) {
            if let Scratch::Partials(_) = kind {
                self.device.poison(memory)?;
            }
        }
        self.poison_sum()
    }

    /// Overwrites only the sum, so that an old sum is not mistaken for a new one. State that one
    /// run leaves for the next is kept.
    pub fn poison_sum(&self) -> Result<()> {
        self.device.poison(&self.result)
    }

    /// Resolves the arguments of the launches, for the elements at `input`. Fails if there are too
    /// few elements, or if the kernel does not support the alignment of the address.
    pub fn calls<'c>(&'c self, input: Address<'c>) -> Result<Vec<Call<'c>>> {
        let input = input.first(self.problem.n * self.problem.element.size())?;
        self.step.check_alignment(input)?;
        let address = |buffer| self.address(buffer, input);
        Ok(self.plan.launches.iter().map(|launch| Call::of(launch, address)).collect())
    }

    /// Returns the address of a buffer, for an input at this address.
    pub fn address<'c>(&'c self, buffer: Buffer, input: Address<'c>) -> Address<'c> {
        match buffer {
            Buffer::Input => input,
            Buffer::Scratch(index) => self.scratch[index].address(),
            Buffer::Result => self.result.address(),
        }
    }

    /// Launches the calls that [`calls`](Job::calls) returned. On a GPU, the function does not wait
    /// for the launches.
    pub fn launch(&self, calls: &[Call<'_>]) -> Result<()> {
        self.runs.set(self.runs.get().saturating_add(1));
        let launches = calls.iter().zip(&self.plan.launches).enumerate();
        launches.into_iter().try_for_each(|(index, (call, launch))| {
            let launched = self.device.launch(&self.program, call);
            launched.map_err(|error| error.of_launch(&described(index + 1, launch)))
        })
    }

    /// Reads the sum after all earlier launches have finished.
    pub(super) fn sum<T: Scalar>(&self) -> Result<T> {
        self.device.finish()?;
        let mut sum = [T::ZERO];
        self.fetch(bytemuck::cast_slice_mut(&mut sum))?;
        Ok(sum[0])
    }

    /// Reads the first bytes of the sum after all earlier launches have finished. The function
    /// waits only once, as a caller's program would.
    pub fn fetch(&self, sum: &mut [u8]) -> Result<()> {
        self.device.read(&self.result, sum)
    }

    /// Reads the sums of every stage of the last run, but no messages, which may be cleared.
    pub(super) fn sums<T: Scalar>(&self) -> Result<Vec<(Holds, Vec<T>)>> {
        let stages = self.plan.launches.iter().flat_map(|launch| &launch.stages);
        let kept = stages.filter(|stage| !self.plan.has_messages(stage.sums));
        kept.map(|stage| Ok((stage.holds, self.output(stage.sums, stage.holds.count())?))).collect()
    }

    /// Reads the first `count` elements that a stage wrote in the last run.
    pub fn output<T: Scalar>(&self, buffer: Buffer, count: u64) -> Result<Vec<T>> {
        let memory = match buffer {
            Buffer::Scratch(index) => &self.scratch[index],
            Buffer::Result => &self.result,
            Buffer::Input => {
                let text = format!(
                    "the plan of {} writes to its input: let it write to a scratch buffer",
                    self.step.name
                );
                return Err(Error::Usage(text));
            }
        };
        let mut values = vec![T::ZERO; count as usize];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        if self.plan.has_messages(buffer) {
            let mut boxes = vec![0; 2 * bytes.len()];
            self.device.read(memory, &mut boxes)?;
            // The upper half of each slot is the flag.
            let halves = boxes.chunks_exact(8).flat_map(|mail| &mail[..4]);
            bytes.iter_mut().zip(halves).for_each(|(byte, half)| *byte = *half);
        } else {
            self.device.read(memory, bytes)?;
        }
        Ok(values)
    }
}

/// Returns the bits of a partial sum.
fn held<T: Scalar>(sums: &[(Buffer, Vec<T>)], (buffer, index): (Buffer, u64)) -> Option<&[u8]> {
    let (_, sums) = sums.iter().find(|(of, _)| *of == buffer)?;
    sums.get(index as usize).map(bytemuck::bytes_of)
}

/// Describes launch `number` in the plan; launches are numbered from 1.
fn described(number: usize, launch: &Launch) -> String {
    let Launch { grid, block, n, .. } = launch;
    let blocks = if *grid == 1 { "block" } else { "blocks" };
    format!("launch {number}, {grid} {blocks} of {block} threads on {}", elements(*n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Element,
        device::{Choice, Settings},
        plan::{Arg, Block, Stage},
        run::played,
        sum::Input,
    };

    /// A kernel that adds two partial sums, but does not compute them.
    const LAZY: &str = "
.version 8.4
.target sm_60
.address_size 64
.visible .entry reduce(.param .u64 partials, .param .u64 out)
{
    .reg .pred %p;
    .reg .u32 %a, %b, %lane;
    .reg .u64 %partials, %out;
    mov.u32 %lane, %tid.x;
    setp.ne.u32 %p, %lane, 0;
    @%p ret;
    ld.param.u64 %partials, [partials];
    ld.param.u64 %out, [out];
    ld.global.u32 %a, [%partials];
    ld.global.u32 %b, [%partials+4];
    add.u32 %a, %a, %b;
    st.global.u32 [%out], %a;
    ret;
}
";

    static STEP: Step = played::step("lazy", |problem| {
        let partials = Buffer::Scratch(0);
        let args = vec![Arg::Address(partials), Arg::Address(Buffer::Result)];
        let stages = vec![
            Stage { sums: partials, holds: Holds::Chunks { each: 20, count: 2 }, depth: 1 },
            Stage { sums: Buffer::Result, holds: Holds::ALL, depth: 1 },
        ];
        let launch = played::launch(problem, 2, args, stages);
        Plan { launches: vec![launch], scratch: vec![Scratch::Partials(2)] }
    });

    #[test]
    fn old_partial_sums_are_overwritten() {
        let settings = Settings { checks: Some(Vec::new()), ..Settings::default() };
        let device = Device::open(Choice::Simt, &settings).unwrap();
        let ptx = played::ptx(LAZY);
        let problem = device.problem(33, Block::new(64).unwrap(), Element::I32);
        let job = Job::load(&device, &STEP, &ptx, problem).unwrap();
        let workload = Workload::<i32>::new(&device, Input::Ones, 33, 1).unwrap();
        device.write(&job.scratch[0], 0, bytemuck::cast_slice(&[20i32, 13])).unwrap();
        job.launch(&job.calls(workload.warm()).unwrap()).unwrap();
        assert!(job.verify_last(&workload).unwrap().wrong.is_none(), "they were right");
        // Two wrong partial sums can have a correct total.
        device.write(&job.scratch[0], 0, bytemuck::cast_slice(&[19i32, 14])).unwrap();
        let wrong =
            job.verify_last(&workload).unwrap().wrong.expect("an element in the wrong part");
        assert!(wrong.verdict.verified() && wrong.first.is_some_and(|first| first.index == 0));
        let wrong = job.verify_once(&workload).unwrap().wrong.expect("they were not computed");
        assert!(
            wrong.to_string().ends_with(
                "block 0 of launch 1, which adds the elements 0 to 19, never wrote its partial sum"
            ),
            "{wrong}"
        );
    }

    /// The second run adds other elements, and the partial sums are still those of the first run.
    #[test]
    fn old_partial_sums_are_named() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let problem = device.problem(33, Block::new(64).unwrap(), Element::I32);
        let job = Job::load(&device, &STEP, &played::ptx(LAZY), problem).unwrap();
        let workload = Workload::<i32>::new(&device, Input::Ones, 33, 1).unwrap();
        device.write(&job.scratch[0], 0, bytemuck::cast_slice(&[20i32, 13])).unwrap();
        let wrong = job.verify_again(&workload).unwrap().wrong.expect("they were not computed");
        let text = wrong.to_string();
        assert!(
            text.contains("block 0 of launch 1, which adds the elements 0 to 19, should store ")
        );
        assert!(
            text.contains(" as partial sum 0, which still is 20 from the run before"),
            "{text}"
        );
        // The run before may have cleared it.
        device.write(&job.scratch[0], 0, bytemuck::cast_slice(&[0i32, 33])).unwrap();
        let text = job.verify_again(&workload).unwrap().wrong.expect("they are old").to_string();
        assert!(text.contains(" as partial sum 0, which is 0 (off by "), "{text}");
    }

    #[test]
    fn a_launch_on_missing_elements_is_refused() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let ptx = played::ptx(LAZY);
        let problem = device.problem(33, Block::new(64).unwrap(), Element::I32);
        let job = Job::load(&device, &STEP, &ptx, problem).unwrap();
        let memory = device.alloc("the input", 33 * 4).unwrap();
        assert_eq!(job.calls(memory.address()).unwrap().len(), 1);
        let error = job.calls(memory.address().skip(4)).unwrap_err().to_string();
        assert!(error.contains("132 bytes do not fit into device memory of 128"), "{error}");
    }

    #[test]
    fn a_trap_has_the_number_of_its_launch() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let text = LAZY.replace("[%partials+4]", "[%partials+4096]");
        let ptx = played::ptx(text);
        let problem = device.problem(33, Block::new(64).unwrap(), Element::I32);
        let job = Job::load(&device, &STEP, &ptx, problem).unwrap();
        let memory = device.alloc("the input", 33 * 4).unwrap();
        let calls = job.calls(memory.address()).unwrap();
        let error = job.launch(&calls).unwrap_err().to_string();
        assert!(error.starts_with("launch 1, 2 blocks of 64 threads on 33 elements: "), "{error}");
    }

    #[test]
    fn a_trap_has_the_plan_of_its_launch() {
        let error = Error::Trap("out of bounds".into());
        let problem = Problem {
            n: 4,
            block: Block::new(256).unwrap(),
            element: Element::F32,
            chip: crate::plan::Chip::H200,
        };
        let plan = (STEP.plan)(&problem);
        let launch = Launch { grid: 1, ..plan.launches[0].clone() };
        assert_eq!(
            error.of_launch(&described(3, &launch)).to_string(),
            "launch 3, 1 block of 256 threads on 4 elements: out of bounds"
        );
    }
}
