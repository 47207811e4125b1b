//! One step on one problem: plan, run, verify, time.

use super::{
    job::Job,
    timing::{Timing, WARM_UP},
};
use crate::{
    Element, Result, Step,
    device::{Device, Facts, Observed, Ptx, Stopwatch},
    plan::{Block, Plan, Problem},
    sum::{Mismatch, Scalar, Verdict, Workload, first_wrong},
};

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The step's name.
    pub step: &'static str,
    /// The device.
    pub device: Facts,
    /// Elements.
    pub n: u64,
    /// Their type.
    pub element: Element,
    /// Threads of a block.
    pub threads: u32,
    /// What was launched.
    pub plan: Plan,
    /// Where the PTX comes from.
    pub origin: String,
    /// The sum and the reference.
    pub verdict: Verdict,
    /// If the sum is wrong: where it went wrong.
    pub wrong: Option<Box<Mismatch>>,
    /// The times; `None` in the interpreter, and where the sum is wrong.
    pub timing: Option<Timing>,
    /// Seconds that the copy to the device took.
    pub copy: Option<f64>,
    /// What the interpreter saw; `None` on a GPU.
    pub observed: Option<Observed>,
    /// The kernel's source; empty where only its PTX is known.
    pub source: String,
}

/// A step that the GPU is too old for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The step's name.
    pub step: &'static str,
    /// The architecture that its kernel is built for.
    pub target: String,
}

impl Outcome {
    /// Bytes of the input, each of which is read once.
    pub fn bytes(&self) -> u64 {
        self.n * self.element.size()
    }
}

/// How to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Samples {
    /// How many; with none, the sum is only verified.
    pub count: usize,
    /// Whether the input may stay in L2 from one to the next.
    pub warm: bool,
}

/// Runs a step. A wrong sum has no time.
pub fn run<T: Scalar>(
    step: &Step,
    ptx: &Ptx,
    device: &Device,
    workload: &Workload<T>,
    block: Block,
    samples: Samples,
) -> Result<Outcome> {
    let n = workload.values.len() as u64;
    let problem = Problem { n, block, element: T::ELEMENT, sms: device.facts().sms };
    let plan = (step.plan)(&problem);
    let program = device.load(ptx)?;
    let job = Job::new(device, &program, &plan, T::ELEMENT)?;
    if let Device::Simt(simt) = device {
        simt.watch(n);
    }
    let verdict = job.verify::<T>(workload.warm(), &workload.reference)?;
    let wrong = (!verdict.verified()).then(|| {
        let first = first_wrong(&plan, &workload.values, |buffer, count| job.output(buffer, count));
        Box::new(Mismatch::of(step, &problem, verdict, first))
    });
    let (timing, observed) = match device {
        Device::Cuda(cuda) if wrong.is_none() && samples.count > 0 => {
            (Some(time(Stopwatch::new(cuda)?, &job, workload, samples)?), None)
        }
        Device::Cuda(_) => (None, None),
        Device::Simt(simt) => (None, Some(simt.observed())),
    };
    drop(job);
    Ok(Outcome {
        step: step.name,
        device: device.facts().clone(),
        n,
        element: T::ELEMENT,
        threads: block.threads(),
        plan,
        origin: ptx.origin.clone(),
        verdict,
        wrong,
        timing,
        copy: workload.copy,
        observed,
        source: ptx.source.clone(),
    })
}

fn time<T: Scalar>(
    mut stopwatch: Stopwatch<'_>,
    job: &Job<'_>,
    workload: &Workload<T>,
    samples: Samples,
) -> Result<Timing> {
    let mut seconds = Vec::with_capacity(samples.count + WARM_UP);
    for _ in 0..samples.count + WARM_UP {
        let input = if samples.warm { workload.warm() } else { workload.cold() };
        let calls = job.calls(input);
        seconds.push(stopwatch.time(|| job.launch(&calls))?);
    }
    seconds.drain(..WARM_UP);
    Ok(Timing { samples: seconds, cold: !samples.warm, gated: stopwatch.is_gated() })
}
