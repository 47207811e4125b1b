//! Runs of a step on other problems than the requested one. The interpreter performs them after a
//! run whose sum is correct, because many mistakes show only at other lengths, addresses or grids.

use simt::{Arch, Schedule};

use super::job::Job;
use crate::{
    Element, Result, Step,
    device::{Choice, Device, Ptx, Settings, interpreter},
    plan::{Block, Holds, Problem},
    sum::{Mismatch, Run, Scalar, Verdict, Workload, elements},
};

/// The minimum number of requested elements. With fewer elements, the extra runs would take longer
/// than the requested run.
pub(super) const LEAST: usize = 2048;

/// The minimum number of requested elements for all extra runs. With fewer elements, some of them
/// would take much longer than the requested run.
pub const ALL_RUNS: usize = 1 << 17;

/// The lengths of the extra runs: no element, less than a warp, a few vectors, lengths that no tile
/// divides, and one element less than a multiple of every tile.
const LENGTHS: [usize; 9] = [0, 1, 4, 10, 33, 1025, 2052, 5003, (1 << 14) - 1];

/// The length of the runs that need several blocks.
const SEVERAL: usize = 5003;

/// The length of the runs that need a whole tile and more, or many blocks.
pub(super) const TILES: usize = 16_390;

/// The length of the runs on a GPU with one multiprocessor, on which each block then adds several
/// tiles, and a part of one. An unrolled loop may be wrong for one number of iterations.
const ITERATIONS: [usize; 3] = [(3 << 15) + 6, (2 << 12) + 100, (3 << 12) + 100];

/// The length of a run on one multiprocessor in which each chunk has a whole number of stages.
const STAGES: usize = 1 << 18;

/// Introduces what the checks found.
pub(super) const FOUND: &str = "the checks found";

/// The orders in which every step runs: one in which several blocks run, and one on a GPU with one
/// multiprocessor.
const ORDERS: [Schedule; 2] = [Schedule::Adversarial(1), Schedule::Adversarial(2)];

/// The requested run.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a, T> {
    pub step: &'a Step,
    pub ptx: &'a Ptx,
    pub values: &'a [T],
    pub block: Block,
    /// The settings of the interpreter that performed the run.
    pub settings: &'a Settings,
    /// Whether the elements have another type than the user requested.
    pub other_type: bool,
}

/// An extra run: the first elements of the requested run, on another GPU, in another order, or in
/// other blocks.
#[derive(Clone)]
pub(super) struct Extra {
    pub schedule: Schedule,
    pub gpu: Arch,
    pub block: Block,
    pub n: usize,
    /// The number of elements that are left out before the first.
    pub offset: u64,
    /// A description of the elements, if they are not those of the requested run.
    pub elements: Option<String>,
    /// The type of the elements, if it is not that of the requested run.
    pub element: Option<Element>,
}

/// The outcome of an extra run.
pub(super) struct Ran<T> {
    pub problem: Problem,
    pub verdict: Verdict,
    /// The sums of each stage; the last one is the total.
    pub sums: Vec<(Holds, Vec<T>)>,
    /// The error, if the sum is wrong or a check has a finding.
    pub wrong: Option<Box<Mismatch>>,
}

/// Returns the extra runs that every step makes.
fn runs<T: Scalar>(asked: Asked<'_, T>) -> Vec<Extra> {
    let Asked { step, settings, .. } = asked;
    let of = |n| Extra::of(asked, n);
    // A thread may have eight vectors in flight, each behind its own condition. In each of these
    // runs, another condition is true for some threads.
    let vectors = 16 / size_of::<T>() * asked.block.threads() as usize;
    let part = |k| k * vectors + vectors / 2 + 1;
    let lengths = LENGTHS.into_iter().chain((0..8).map(part));
    let mut runs: Vec<Extra> = lengths.map(of).collect();
    if step.aligned == 1 {
        // A vector of 16 bytes is unaligned at both offsets, and one of 8 bytes at the first.
        runs.extend([1, 2].map(|offset| Extra { offset, ..of(TILES) }));
    }
    let on_one = |n| Extra { gpu: settings.gpu.with_sms(1), ..of(n) };
    runs.extend(ITERATIONS.map(on_one));
    runs.push(Extra { schedule: ORDERS[1], ..on_one(ITERATIONS[0]) });
    runs.push(Extra { schedule: ORDERS[0], ..of(SEVERAL) });
    let other = |block: &Block| *block != asked.block && step.check_block(*block).is_ok();
    let others = Block::ALL.into_iter().filter(other);
    runs.extend(others.map(|block| Extra { block, ..of(TILES) }));
    runs.retain(|run| run.n < asked.values.len());
    let long = on_one(STAGES);
    let plan =
        |device: &Device| (step.plan)(&device.problem(STAGES as u64, asked.block, T::ELEMENT));
    let communicates = || long.open(asked).is_ok_and(|device| plan(&device).communicates());
    if asked.values.len() >= ALL_RUNS && communicates() {
        runs.push(long);
    }
    runs
}

/// Runs a step on other problems. Returns a description of the fault, if there is one.
pub(super) fn wrong_elsewhere<T: Scalar>(asked: Asked<'_, T>) -> Result<Option<Box<Mismatch>>> {
    if asked.values.len() < LEAST {
        return Ok(None);
    }
    for extra in runs(asked).into_iter().filter(|run| run.is_another(asked)) {
        let values = asked.values.iter().copied().cycle().take(extra.n).collect();
        if let Some(Ran { wrong: Some(wrong), .. }) = extra.run(asked, values)? {
            return Ok(Some(wrong));
        }
    }
    Ok(None)
}

impl Extra {
    /// Returns a run of the first `n` elements.
    pub(super) fn of<T: Scalar>(asked: Asked<'_, T>, n: usize) -> Extra {
        let Settings { schedule, gpu, .. } = *asked.settings;
        let element = asked.other_type.then_some(T::ELEMENT);
        Extra { schedule, gpu, block: asked.block, n, offset: 0, elements: None, element }
    }

    /// Opens the interpreter as the GPU of this run, and in its order.
    fn open<T: Scalar>(&self, asked: Asked<'_, T>) -> Result<Device> {
        let Extra { schedule, gpu, .. } = *self;
        let settings = Settings { schedule, gpu, traced: 0, ..asked.settings.clone() };
        Device::open(Choice::Simt, &settings)
    }

    /// Runs a step on `values`, with the checks of the requested run. Returns `None` if the GPU
    /// does not meet the kernel's requirements.
    pub(super) fn run<T: Scalar>(
        &self,
        asked: Asked<'_, T>,
        values: Vec<T>,
    ) -> Result<Option<Ran<T>>> {
        let (n, device) = (self.n, self.open(asked)?);
        let problem = device.problem(n as u64, self.block, T::ELEMENT);
        let Ok(job) = Job::load(&device, asked.step, asked.ptx, problem) else { return Ok(None) };
        let workload = Workload::of_values_after(&device, self.offset, values)?;
        let Device::Simt(simt) = &device else { return Ok(None) };
        simt.watch(problem.n);
        let stopped = |error: crate::Error| {
            simt.explained(error.in_extra_run(self.how(asked), &self.repeat(asked)))
        };
        let mut checked = job.verify_once(&workload).map_err(stopped)?;
        let sums = job.sums()?;
        let observed = simt.observed();
        let found = observed.findings.iter().find(|finding| !finding.is_harmless());
        // A run of another length may leave other state behind, and in a random order, a block may
        // find it before another block replaces it.
        let random = matches!(self.schedule, Schedule::Adversarial(_));
        let again = random || self.how(asked).is_none();
        if checked.wrong.is_none() && found.is_none() && again {
            checked.wrong = job.verify_again(&workload).map_err(stopped)?.wrong;
        } else if checked.wrong.is_none() && found.is_none() {
            checked.wrong = job.left_behind(checked.verdict, workload.warm())?;
        }
        let wrong = match (checked.wrong, found) {
            (Some(mut wrong), found) => {
                if wrong.run == Run::First && checked.verdict.verified() {
                    wrong.exact = job.adds_exactly(&workload)?;
                }
                let cause = match found {
                    Some(finding) => format!("; {FOUND}: {}", finding.sentence()),
                    None if wrong.leftover.is_some() => String::new(),
                    None => {
                        observed.older.map_or(self.advice().into(), |older| format!("; {older}"))
                    }
                };
                if wrong.run == Run::First {
                    wrong.run = Run::Extra(asked.values.len() as u64);
                }
                let left = wrong.leftover.take().map_or(String::new(), |left| left + "; ");
                let how = self.how(asked).map_or(String::new(), |how| how + "; ");
                wrong.leftover = Some(format!("{left}{how}{}{cause}", self.repeat(asked)));
                Some(wrong)
            }
            (None, Some(finding)) => {
                let mut wrong =
                    Mismatch::of(asked.step, &problem, Run::Messages, checked.verdict, None);
                wrong.leftover = Some(format!(
                    "in an extra run on {}{}, {FOUND}: {}; {}",
                    elements(n as u64),
                    self.how(asked).map_or(String::new(), |how| format!(" ({how})")),
                    finding.sentence(),
                    self.repeat(asked)
                ));
                Some(Box::new(wrong))
            }
            (None, None) => None,
        };
        Ok(Some(Ran { problem, verdict: checked.verdict, sums, wrong }))
    }

    /// Launches a step on `values` as often as `launches` says, without checks. Returns the problem
    /// and the total of each launch; `None` if the GPU does not meet the kernel's requirements.
    pub(super) fn totals<T: Scalar>(
        &self,
        asked: Asked<'_, T>,
        values: Vec<T>,
        launches: usize,
    ) -> Result<Option<(Problem, Vec<T>)>> {
        let device = self.open(asked)?;
        let problem = device.problem(self.n as u64, self.block, T::ELEMENT);
        let Ok(job) = Job::load(&device, asked.step, asked.ptx, problem) else { return Ok(None) };
        let workload = Workload::of_values_after(&device, self.offset, values)?;
        let calls = job.calls(workload.warm())?;
        job.forget()?;
        let stopped =
            |error: crate::Error| error.in_extra_run(self.how(asked), &self.repeat(asked));
        let total = |_| {
            job.poison_sum()?;
            device.restart();
            job.launch(&calls).map_err(stopped)?;
            job.sum()
        };
        let totals = device.unwatched(|| (0..launches).map(total).collect::<Result<_>>())?;
        Ok(Some((problem, totals)))
    }

    /// Returns the fault of a total that is not the expected one.
    pub(super) fn other_total<T: Scalar>(
        &self,
        asked: Asked<'_, T>,
        problem: &Problem,
        (total, expected): (T, T),
        cause: &str,
    ) -> Box<Mismatch> {
        let (sum, expected) = (total.value(), expected.value());
        let verdict = Verdict { sum, expected, error: f64::NAN, bound: 0.0, rounded: None };
        let run = Run::Extra(asked.values.len() as u64);
        let mut wrong = Mismatch::of(asked.step, problem, run, verdict, None);
        wrong.leftover = Some(cause.to_owned());
        Box::new(wrong)
    }

    /// Returns whether the run differs from the run of the same length on the requested GPU. The
    /// plans of some steps do not depend on the GPU.
    fn is_another<T: Scalar>(&self, asked: Asked<'_, T>) -> bool {
        let plan = |gpu| {
            let problem = Problem {
                n: self.n as u64,
                block: self.block,
                element: T::ELEMENT,
                chip: interpreter::chip(&gpu),
            };
            (asked.step.plan)(&problem)
        };
        let gpu = asked.settings.gpu;
        self.gpu == gpu || self.schedule != asked.settings.schedule || plan(self.gpu) != plan(gpu)
    }

    /// Describes in which way the run differs from the requested run, apart from the length.
    fn how<T: Scalar>(&self, asked: Asked<'_, T>) -> Option<String> {
        let mut how = Vec::new();
        how.extend(self.elements.clone());
        how.extend(self.element.map(|element| format!("the elements were of type {element}")));
        if self.schedule != asked.settings.schedule {
            how.push(format!("blocks and threads ran in the order {}", self.schedule));
        }
        if self.gpu != asked.settings.gpu {
            how.push(match self.gpu.sms {
                1 => format!("the GPU, {}, had one multiprocessor", self.gpu),
                sms => format!("the GPU, {}, had {sms} multiprocessors", self.gpu),
            });
        }
        if self.block != asked.block {
            how.push(format!("the blocks had {} threads", self.block.threads()));
        }
        match self.offset * size_of::<T>() as u64 {
            0 => {}
            bytes if bytes % 16 == 0 => how.push("the elements had another address".into()),
            _ => how.push("the address of the first element was not a multiple of 16".into()),
        }
        (!how.is_empty()).then(|| how.join(", "))
    }

    /// Names the options that repeat the run.
    fn repeat<T: Scalar>(&self, asked: Asked<'_, T>) -> String {
        let mut flags = format!("--n {}", self.n);
        if let Some(element) = self.element {
            flags += &format!(" --type {element}");
        }
        if self.schedule != asked.settings.schedule {
            flags += &format!(" --schedule {}", self.schedule);
        }
        if self.gpu != asked.settings.gpu {
            flags += &format!(" --gpu {}:{}", self.gpu, self.gpu.sms);
        }
        if self.offset > 0 {
            flags += &format!(" --offset {}", self.offset);
        }
        if self.block != asked.block {
            flags += &format!(" --threads {}", self.block.threads());
        }
        match self.elements {
            // `ladder compare` has only the option `--n`.
            None if self.how(asked).is_none() => format!("to repeat this run, use `{flags}`"),
            None => format!("to repeat this run, run the step with `{flags}`"),
            Some(_) => format!("`{flags}` gives a similar run on other elements"),
        }
    }

    /// Returns advice for a wrong sum whose run has no findings.
    fn advice(&self) -> &'static str {
        match self.schedule {
            Schedule::Converged => "",
            _ => {
                "; let no block use a value before a flag or ticket shows that it is complete, put a `__threadfence()` before that flag or ticket (after a `__syncthreads()`, if other threads of the block write the value) and another one after it is read, and let no block reset a flag or ticket that others may have changed"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        run::{Samples, played, run},
        sum::Input,
    };

    static STEP: Step =
        played::step("alone", |problem| played::first_thread(problem, problem.chip.sms));

    /// Runs a kernel on 16,640 elements. Returns its error; `None` if the kernel is verified.
    fn said(text: &str) -> Option<String> {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let workload = Workload::<f32>::new(&device, Input::Uniform, 98_320, 1).unwrap();
        let (block, samples) = (Block::new(64).unwrap(), Samples { count: 0, warm: false });
        let ran = run(&STEP, &played::ptx(text), &device, &workload, block, samples);
        ran.map_or_else(
            |error| Some(error.to_string()),
            |outcome| outcome.fault().map(|f| f.to_string()),
        )
    }

    #[test]
    fn kernels_that_are_wrong_on_another_problem_are_wrong() {
        assert_eq!(said(played::TURNING), None);
        let wrong = |after: &str, more: &str, expected: &[&str]| {
            assert!(played::TURNING.contains(after), "{after}");
            let text = played::TURNING.replace(after, &format!("{after}\n    {more}"));
            let said = said(&text).unwrap_or_else(|| panic!("{more} is verified"));
            for expected in expected {
                assert!(said.contains(expected), "{said}");
            }
        };
        let (start, one) = ("ld.param.u64 %n, [n];", "setp.eq.u32 %p, %grid, 1;");
        wrong(
            start,
            "and.b64 %n, %n, -2;",
            &[
                "wrong in an extra run, although its runs on 98320 elements were right: the sum of 1 f32",
                "; to repeat this run, use `--n 1`",
            ],
        );
        wrong(
            start,
            "ld.global.f32 %x, [%in];",
            &["beyond the end", "(in an extra run; to repeat this run, use `--n 0`)"],
        );
        wrong(
            start,
            "setp.gt.u64 %p, %n, 33;\n@%p ld.global.u64 %step, [%in];",
            &[
                "multiple of 16; to repeat this run, run the step with `--n 16390 --offset 1`)",
                "misaligned",
            ],
        );
        wrong(
            one,
            "@%p st.global.f32 [%in], %sum;",
            &[
                "store to read-only memory at PTX line",
                "`in[0]` is one of the elements that the launch adds",
                "store the result elsewhere",
            ],
        );
        wrong(
            one,
            "@%p mov.f32 %sum, 0f46000000;",
            &[
                "had one multiprocessor; to repeat this run, run the step with `--n 98310 --gpu sm_90:1`",
            ],
        );
        wrong(
            one,
            "@%p st.global.f32 [%out], %x;",
            &[
                "although its sums are right: in an extra run on 98310 elements (the GPU, sm_90, had one multiprocessor), the checks found: ",
                "`--n 98310 --gpu sm_90:1`",
            ],
        );
    }

    #[test]
    fn extra_runs_are_shorter_than_the_requested_run() {
        let step = &Step { blocks: &[64, 128], ..played::step("alone", STEP.plan) };
        let lengths = |n| {
            let (ptx, settings) = (&played::ptx(""), &Settings::default());
            let (values, block) = (&vec![1i32; n][..], Block::new(64).unwrap());
            let runs = runs(Asked { step, ptx, values, block, settings, other_type: false });
            runs.iter().map(|run| run.n).collect::<Vec<_>>()
        };
        // The blocks have 64 threads, and a vector has four elements.
        let parts = [129, 385, 641, 897, 1153, 1409, 1665, 1921];
        assert_eq!(lengths(5003), [&[0, 1, 4, 10, 33, 1025, 2052], &parts[..]].concat());
        let others = [&[TILES; 2][..], &ITERATIONS, &[ITERATIONS[0], SEVERAL, TILES]].concat();
        let all = [&LENGTHS[..], &parts[..], &others].concat();
        assert_eq!(lengths(1 << 20), all);
    }
}
