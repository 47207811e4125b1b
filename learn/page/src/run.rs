//! Answers a question: plans, runs, verifies and counts a kernel in the same way as every program.

use common::{
    Element, Result,
    device::{Check, Choice, Device, Ptx, Settings},
    run::{Checked, Job},
    sum::{Scalar, Workload},
};
use steps::step;

use crate::{
    answer::Answer,
    frame::{self, Input},
    question::{INPUT, Question},
};

/// Answers a question.
pub fn run(question: &Question) -> Answer {
    let mut answer = Answer::default();
    if let Err(error) = tried(question, &mut answer) {
        answer.stopped = Some(error.to_string());
        answer.stopped_at = answer.stopped_at.or_else(|| fault_of_text(&question.ptx));
    }
    answer
}

/// Fills in the answer. After an error, the answer keeps the results that were obtained before the
/// error.
fn tried(question: &Question, answer: &mut Answer) -> Result<()> {
    let mut gpu = simt::Arch::default();
    gpu.sms = question.sms.unwrap_or(gpu.sms).clamp(1, 1024);
    let settings = Settings {
        gpu,
        schedule: question.schedule()?,
        budget: Some(question.budget()),
        // There is no time limit here, because the page terminates its Worker.
        patience: Some(std::time::Duration::ZERO),
        checks: Some(if question.checks { Check::ALL.to_vec() } else { Vec::new() }),
        traced: u64::from(question.frames),
    };
    let device = Device::open(Choice::Simt, &settings)?;
    match question.element()? {
        Element::F32 => of::<f32>(question, &device, answer),
        Element::I32 => of::<i32>(question, &device, answer),
        Element::F64 => of::<f64>(question, &device, answer),
    }
}

fn of<T: Scalar>(question: &Question, device: &Device, answer: &mut Answer) -> Result<()> {
    let step = step(&question.step)?;
    let block = step.block(question.block()?);
    let problem = device.problem(question.elements()?, block, T::ELEMENT);
    let ptx = Ptx {
        text: question.ptx.clone(),
        source: question.source.clone(),
        origin: "the page".into(),
        file: "this PTX".into(),
    };
    answer.threads = block.threads();
    let job = Job::load(device, step, &ptx, problem)?;
    answer.plan(job.plan());
    let (input, seed) = INPUT;
    let workload = Workload::<T>::new(device, input, problem.n, seed)?;
    let Device::Simt(simt) = device else { return Ok(()) };
    simt.watch(problem.n);
    let first = job.verify_once(&workload);
    let observed = simt.observed();
    answer.counts(&observed.counters);
    answer.found(&observed.findings);
    if let Some(trace) = &observed.trace {
        let size = T::ELEMENT.size();
        let input = Input { bytes: workload.warm().first(problem.n * size)?.numbers(), size };
        answer.frames = frame::of_trace(trace, &question.ptx, &input);
    }
    let Checked { verdict, mut wrong } = first?;
    if wrong.is_none() {
        wrong = workload.while_exact(device, || job.verify_exactly(&workload))?.wrong;
    }
    (answer.sum, answer.expected) = (Some(verdict.sum), Some(verdict.expected));
    (answer.verified, answer.wrong) = (wrong.is_none(), wrong.map(|wrong| wrong.to_string()));
    Ok(())
}

/// Returns the line of PTX that cannot be parsed, if that is the error.
fn fault_of_text(ptx: &str) -> Option<(u32, u32)> {
    simt::Module::missing(ptx).first().map(|fault| (fault.line, 0))
}
