//! Runs a step on a problem: makes the plan, runs it, verifies the sum, and times it.

use super::{
    Counted,
    beyond::wrong_beyond,
    extra::Asked,
    job::{Checked, Job},
    timing::{Timing, WARM_UP},
};
use simt::observe::Finding;

use crate::{
    Element, Error, Result, Step,
    device::{Address, Device, Facts, Observed, Ptx, Stopwatch},
    plan::{Block, Plan},
    sum::{Mismatch, Scalar, Verdict, Workload},
};

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The step's name.
    pub step: &'static str,
    /// The properties of the device.
    pub device: Facts,
    /// The number of elements.
    pub n: u64,
    /// The element type.
    pub element: Element,
    /// The number of threads per block.
    pub threads: u32,
    /// The plan, which lists the launches.
    pub plan: Plan,
    /// The origin of the PTX.
    pub origin: String,
    /// The sum, and the reference that it was compared with.
    pub verdict: Verdict,
    /// The first error, if the sum is wrong.
    pub wrong: Option<Box<Mismatch>>,
    /// The times; `None` in the interpreter, and if the sum is wrong.
    pub timing: Option<Timing>,
    /// The duration of the copy to the device, in seconds.
    pub copy: Option<f64>,
    /// The interpreter's observations; `None` on a GPU.
    pub observed: Option<Observed>,
    /// The GPU's counts, if they were requested.
    pub counted: Option<Counted>,
    /// The kernel's source; empty if only the PTX is known.
    pub source: String,
}

impl Outcome {
    /// Returns the size of the input in bytes; each byte is read once.
    pub fn bytes(&self) -> u64 {
        self.n * self.element.size()
    }

    /// Returns the error of the run, which is a wrong sum or the findings of the checks.
    pub fn fault(&self) -> Option<Error> {
        if let Some(mismatch) = &self.wrong {
            let why = self.why(mismatch).map_or(String::new(), |why| format!("; {why}"));
            return Some(Error::Wrong(format!("{mismatch}{why}")));
        }
        let findings = self.observed.iter().flat_map(|observed| &observed.findings);
        let findings: Vec<&Finding> = findings.filter(|finding| !finding.is_harmless()).collect();
        let first = findings.first()?;
        let errors = match findings.len() {
            1 => format!("an error in {}: ", self.step),
            count => format!("{count} errors in {}; the first: ", self.step),
        };
        Some(Error::Findings(format!(
            "the sum is right, but the checks found {errors}{}",
            first.sentence()
        )))
    }
}

/// The settings for timing a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Samples {
    /// The number of samples; if it is 0, the sum is verified but not timed.
    pub count: usize,
    /// Whether the input may stay in L2 between samples.
    pub warm: bool,
}

impl Samples {
    /// Returns the address of the next sample's input. If the input may stay in L2, the address is
    /// the same for every sample.
    fn input<T: Scalar>(self, workload: &Workload<T>) -> Address<'_> {
        if self.warm { workload.warm() } else { workload.cold() }
    }

    fn timing(self, seconds: Vec<f64>, gated: bool) -> Timing {
        Timing { samples: seconds, cold: !self.warm, gated }
    }
}

/// Runs a step. If the sum is wrong, it is not timed.
pub fn run<T: Scalar>(
    step: &Step,
    ptx: &Ptx,
    device: &Device,
    workload: &Workload<T>,
    block: Block,
    samples: Samples,
) -> Result<Outcome> {
    let n = workload.values.len() as u64;
    let job = Job::load(device, step, ptx, device.problem(n, block, T::ELEMENT))?;
    if let Device::Simt(simt) = device {
        simt.watch(n);
    }
    let Checked { verdict, mut wrong } = job.verify(workload).map_err(|error| match device {
        Device::Simt(simt) => simt.explained(error),
        _ => error,
    })?;
    let mut observed = None;
    if let Device::Simt(simt) = device {
        let seen = observed.insert(simt.observed());
        // A finding explains more than the sum of an extra run.
        if wrong.is_none() && seen.findings.iter().all(Finding::is_harmless) {
            let (values, settings) = (&*workload.values, simt.settings());
            let asked = Asked { step, ptx, values, block, settings, other_type: false };
            wrong = wrong_beyond(asked, &job)?;
        }
    }
    let mut outcome = Outcome {
        step: step.name,
        device: device.facts().clone(),
        n,
        element: T::ELEMENT,
        // A study has its own block size, which `--threads` does not change.
        threads: job.plan().launches.first().map_or(block.threads(), |launch| launch.block),
        plan: job.plan().clone(),
        origin: ptx.origin.clone(),
        verdict,
        wrong,
        timing: None,
        copy: workload.copy,
        observed,
        counted: None,
        source: ptx.source.clone(),
    };
    if let (Device::Cuda(cuda), None, 1..) = (device, &outcome.wrong, samples.count) {
        let mut stopwatch = Stopwatch::gated(cuda)?;
        let (seconds, last) = time(&job, workload, samples, |work| stopwatch.time(work))?;
        (outcome.verdict, outcome.wrong) = (last.verdict, last.wrong);
        let timing = samples.timing(seconds, stopwatch.is_gated());
        outcome.timing = outcome.wrong.is_none().then_some(timing);
    }
    Ok(outcome)
}

/// Times a verified job. Returns the time of each sample, in seconds, and whether the last timed
/// sum was still correct. `clock` runs its argument once and returns the time of that run.
fn time<T: Scalar>(
    job: &Job<'_>,
    workload: &Workload<T>,
    samples: Samples,
    mut clock: impl FnMut(&dyn Fn() -> Result<()>) -> Result<f64>,
) -> Result<(Vec<f64>, Checked)> {
    job.poison_sum()?;
    let mut seconds = Vec::with_capacity(samples.count + WARM_UP);
    for _ in 0..samples.count + WARM_UP {
        let calls = job.calls(samples.input(workload))?;
        seconds.push(clock(&|| job.launch(&calls))?);
    }
    seconds.drain(..WARM_UP);
    Ok((seconds, job.verify_last(workload)?))
}

#[cfg(test)]
impl Outcome {
    /// Returns a made-up outcome on a GPU with a peak bandwidth of 10¹² bytes per second, for a
    /// correct sum of ones in `f64`.
    pub(crate) fn made_up(step: &'static str, n: u64, samples: &[f64]) -> Outcome {
        let chip = crate::plan::Chip::H200;
        let device =
            Facts { name: "made up".into(), chip, l2: 0, bus: Some(1e12), line: "made up".into() };
        let reference = f64::sum(&[n as f64]);
        let block = Block::new(64).unwrap();
        let problem = crate::plan::Problem { n, block, element: Element::F64, chip };
        let phase = crate::plan::Phase { entry: "reduce".into(), tile: 64, shared: 0, depth: 6 };
        Outcome {
            step,
            device,
            n,
            element: Element::F64,
            threads: 64,
            plan: Plan::until_one(&problem, &phase),
            origin: String::new(),
            verdict: Verdict::of(n as f64, &reference, 1),
            wrong: None,
            timing: Some(Timing { samples: samples.to_vec(), cold: true, gated: true }),
            copy: None,
            observed: None,
            counted: None,
            source: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use simt::Schedule;

    use super::*;
    use crate::{
        device::{Choice, Settings},
        plan::{Arg, Buffer, Holds, Scratch, Stage},
        run::played,
        sum::{Input, Run},
    };

    /// A kernel that stores the number of elements plus the number of its earlier runs, which it
    /// keeps in memory. For an input of ones, only its first run is correct.
    const FORGETFUL: &str = "
.version 8.4
.target sm_60
.address_size 64
.visible .entry reduce(.param .u64 out, .param .u64 n, .param .u64 runs)
{
    .reg .pred %p;
    .reg .u32 %sum, %old, %lane;
    .reg .u64 %out, %n, %runs;
    mov.u32 %lane, %tid.x;
    setp.ne.u32 %p, %lane, 0;
    @%p ret;
    ld.param.u64 %out, [out];
    ld.param.u64 %n, [n];
    ld.param.u64 %runs, [runs];
    atom.global.add.u32 %old, [%runs], 1;
    cvt.u32.u64 %sum, %n;
    add.u32 %sum, %sum, %old;
    st.global.u32 [%out], %sum;
    ret;
}
";

    static STEP: Step = played::step("forgetful", |problem| {
        let args = vec![
            Arg::Address(Buffer::Result),
            Arg::U64(problem.n),
            Arg::Address(Buffer::Scratch(0)),
        ];
        let stages = vec![Stage { sums: Buffer::Result, holds: Holds::ALL, depth: 1 }];
        let launch = played::launch(problem, 1, args, stages);
        Plan { launches: vec![launch], scratch: vec![Scratch::Zeroed(4)] }
    });

    /// Like `STEP`, but the third argument is the address of the elements.
    static FOLLOWS: Step = played::step("follows", |problem| {
        let mut plan = (STEP.plan)(problem);
        plan.launches[0].args[2] = Arg::Address(Buffer::Input);
        plan
    });

    fn on_the_interpreter<R>(work: impl FnOnce(&Job<'_>, &Workload<i32>) -> R) -> R {
        on_the_interpreter_with(FORGETFUL, work)
    }

    fn on_the_interpreter_with<R>(
        text: &str,
        work: impl FnOnce(&Job<'_>, &Workload<i32>) -> R,
    ) -> R {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let ptx = played::ptx(text);
        let problem = device.problem(33, Block::new(64).unwrap(), Element::I32);
        let job = Job::load(&device, &STEP, &ptx, problem).unwrap();
        let workload = Workload::<i32>::new(&device, Input::Ones, 33, 1).unwrap();
        work(&job, &workload)
    }

    static HALVES: Step = played::step("halves", |problem| {
        let args = vec![
            Arg::Address(Buffer::Input),
            Arg::Address(Buffer::Result),
            Arg::U64(problem.n),
            Arg::Address(Buffer::Scratch(0)),
        ];
        let halves = Holds::Chunks { each: problem.n / 2, count: 2 };
        let stages = vec![
            Stage { sums: Buffer::Scratch(0), holds: halves, depth: 64 },
            Stage { sums: Buffer::Result, holds: Holds::ALL, depth: 64 },
        ];
        let launch = played::launch(problem, 2, args, stages);
        Plan { launches: vec![launch], scratch: vec![Scratch::Partials(2)] }
    });

    #[test]
    fn a_right_total_of_other_parts_is_called_right() {
        let under = |schedule, text: &str| {
            let settings = Settings { schedule, ..Settings::default() };
            let device = Device::open(Choice::Simt, &settings).unwrap();
            let workload = Workload::<f32>::new(&device, Input::Uniform, 64, 1).unwrap();
            let (block, samples) = (Block::new(64).unwrap(), Samples { count: 0, warm: false });
            run(&HALVES, &played::ptx(text), &device, &workload, block, samples).unwrap()
        };
        let outcome = |text: &str| under(Schedule::Converged, text);
        let strided = outcome(played::STRIDED);
        assert!(strided.verdict.error > 0.0, "the test needs a sum that is rounded");
        let said = strided.fault().expect("the plan names other parts").to_string();
        assert!(said.contains("is right, but its partial sums do not match the plan"), "{said}");
        assert!(
            said.contains("the kernel adds every element") && !said.contains("wrong values"),
            "{said}"
        );
        // Without its last element, the sum of the exact elements is wrong.
        let lost =
            played::STRIDED.replace("%n, 0;\n    @%p bra total", "%n, 1;\n    @%p bra total");
        let said = outcome(&lost).fault().expect("an element is lost").to_string();
        assert!(said.contains("so the kernel adds the wrong values"), "{said}");
        assert!(!said.contains("the kernel adds every element"), "{said}");
        let random = under(Schedule::Adversarial(1), &lost);
        let said = random.fault().expect("an element is lost").to_string();
        assert!(said.contains("run the step without `--schedule`"), "{said}");
        assert!(!said.contains("so the kernel adds the wrong values"), "{said}");
    }

    #[test]
    fn state_left_by_a_run_is_found_in_the_second_run() {
        on_the_interpreter(|job, workload| {
            let wrong = job.verify(workload).unwrap().wrong.expect("it gives n + 1").to_string();
            assert!(
                wrong.starts_with("forgetful is wrong in its second run, although its first run looked right; the second run adds other integers, and starts with the memory that the first run left: the sum of 33 i32"),
                "{wrong}"
            );
            assert!(
                wrong.contains(
                    "; `runs[0]` is 1 for the first atomic of launch 2, at PTX line 16, "
                ),
                "{wrong}"
            );
        });
    }

    #[test]
    fn state_left_by_a_store_is_found_too() {
        let stores = FORGETFUL.replace(
            "atom.global.add.u32 %old, [%runs], 1;",
            "ld.global.u32 %old, [%runs];\nadd.u32 %sum, %old, 1;\nst.global.u32 [%runs], %sum;",
        );
        on_the_interpreter_with(&stores, |job, workload| {
            let wrong = job.verify(workload).unwrap().wrong.expect("it gives n + 1").to_string();
            assert!(
                wrong.ends_with("; `runs` was zero when it began but not when it ended: let the last block that uses it reset it to 0"),
                "{wrong}"
            );
        });
    }

    /// An error of the second run has another cause than state if a first run on the same elements
    /// fails too.
    #[test]
    fn an_error_on_other_elements_is_not_called_state() {
        let follows = "ld.param.u64 %n, [n];\nld.param.u64 %runs, [runs];\nld.global.u32 %sum, [%runs];\n\
                       mad.wide.u32 %n, %sum, 4, %runs;\nld.global.u32 %sum, [%n];\nmov.u32 %sum, 33;";
        let text = |old: &str| {
            let from = FORGETFUL.find("ld.param.u64 %n").unwrap();
            let to = FORGETFUL.find("st.global").unwrap();
            format!("{}{follows}\n{old}\n{}", &FORGETFUL[..from], &FORGETFUL[to..])
        };
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let said = |text: &str, step: &Step| {
            let problem = device.problem(33, Block::new(64).unwrap(), Element::I32);
            let job = Job::load(&device, step, &played::ptx(text), problem).unwrap();
            let workload = Workload::<i32>::new(&device, Input::Ones, 33, 1).unwrap();
            job.verify(&workload).expect_err("an access is out of bounds").to_string()
        };
        let said_of_elements = said(&text(""), &FOLLOWS);
        assert!(
            said_of_elements.contains("a first run on these values fails too"),
            "{said_of_elements}"
        );
        let said_of_state = said(&text("st.global.u32 [%runs], -9;"), &STEP);
        assert!(said_of_state.contains("so the first run leaves state"), "{said_of_state}");
    }

    /// The message has no hint about state for a kernel that is wrong in its second run for another
    /// reason.
    #[test]
    fn a_kernel_that_leaves_no_state_gets_no_hint() {
        let constant =
            FORGETFUL.replace("atom.global.add.u32 %old, [%runs], 1;", "mov.u32 %old, 0;");
        on_the_interpreter_with(&constant, |job, workload| {
            let wrong = job.verify(workload).unwrap().wrong.expect("it gives n").to_string();
            assert!(wrong.contains(" starts with the memory that the first run left"), "{wrong}");
            assert!(!wrong.contains("launch 2") && !wrong.contains("tickets"), "{wrong}");
        });
    }

    #[test]
    fn state_left_by_a_run_is_found_in_the_last_timed_sum() {
        on_the_interpreter(|job, workload| {
            assert!(job.verify_once(workload).unwrap().wrong.is_none());
            let samples = Samples { count: 5, warm: false };
            let clock = |work: &dyn Fn() -> Result<()>| work().map(|()| 1e-6);
            let (seconds, last) = time(job, workload, samples, clock).unwrap();
            assert_eq!(seconds, [1e-6; 5]);
            let wrong = last.wrong.expect("run 9 gives 33 + 8").to_string();
            assert!(wrong.contains("is 33, but the kernel gave 41"), "{wrong}");
            assert!(wrong.contains("is wrong in run 9, and run 1 was right"), "{wrong}");
        });
    }

    #[test]
    fn a_job_refuses_a_workload_of_another_size_or_type() {
        on_the_interpreter(|job, _| {
            let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
            let longer = Workload::<i32>::new(&device, Input::Ones, 34, 1).unwrap();
            let error = job.verify(&longer).unwrap_err().to_string();
            assert!(error.starts_with("a job for 33 i32 was given 34 i32"), "{error}");
            let floats = Workload::<f32>::new(&device, Input::Ones, 33, 1).unwrap();
            assert!(job.verify_last(&floats).is_err());
        });
    }

    #[test]
    fn a_cold_sample_reads_another_copy_and_is_marked() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        let workload = Workload::<i32>::new(&device, Input::Ones, 33, 1).unwrap();
        let workload = workload.in_copies(&device, 2);
        for (warm, apart) in [(true, 0), (false, 33 * 4)] {
            let samples = Samples { count: 1, warm };
            let [first, second] = [0, 1].map(|_| samples.input(&workload));
            assert_eq!(second, first.skip(apart));
            let timing = samples.timing(vec![1e-6], true);
            assert_eq!((timing.cold, timing.gated), (!warm, true));
        }
    }

    #[test]
    fn a_wrong_sum_on_a_gpu_points_to_the_interpreter() {
        let mut outcome = Outcome::made_up("v0-naive", 33, &[]);
        assert!(outcome.fault().is_none());
        let block = Block::new(64).unwrap();
        let chip = outcome.device.chip;
        let problem = crate::plan::Problem { n: 33, block, element: Element::F64, chip };
        let verdict = Verdict::of(32.0, &f64::sum(&[33.0]), 6);
        outcome.wrong = Some(Box::new(Mismatch::of(&STEP, &problem, Run::First, verdict, None)));
        let said = outcome.fault().unwrap().to_string();
        assert!(said.starts_with("forgetful is wrong: the sum of 33 f64"), "{said}");
        assert!(
            said.ends_with("; to find the reason, try `--device simt` with a smaller `--n`"),
            "{said}"
        );
    }

    #[test]
    fn a_timed_run_that_writes_nothing_is_wrong() {
        on_the_interpreter(|job, workload| {
            assert!(job.verify_once(workload).unwrap().wrong.is_none());
            let samples = Samples { count: 1, warm: true };
            let (_, last) = time(job, workload, samples, |_| Ok(1e-6)).unwrap();
            let wrong = last.wrong.expect("the previous sum is overwritten").to_string();
            assert!(wrong.contains("but the kernel gave -1"), "{wrong}");
            assert!(
                wrong.ends_with("never wrote its sum, or wrote a value that was never set"),
                "{wrong}"
            );
        });
    }
}
