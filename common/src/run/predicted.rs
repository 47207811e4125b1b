//! The predicted time of a step on a GPU that need not be present.

use std::ops::Range;

use predict::{Blocks, Film, Gpu, Launched, Spent};

use super::{Samples, registers, run};
use crate::{
    Element, Error, Result, Step,
    device::{Choice, Device, Ptx, Settings, ptx},
    plan::{Arg, Buffer, Chip, Plan, Problem},
    sum::{Input, Scalar, Workload},
};

/// A predicted time. A prediction is not a measurement, and is always printed with its range.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The step's name.
    pub step: &'static str,
    /// The problem whose time is predicted.
    pub problem: Problem,
    /// The predicted time, in microseconds.
    pub us: f64,
    /// The range of times that the validation supports. In the validation, nine in ten of the
    /// measured times were within their predicted ranges.
    pub range: [f64; 2],
    /// The time spent in each scheduler state in microseconds, largest first.
    pub parts: Vec<(&'static str, f64)>,
    /// The first launch, which does most of the work.
    pub first: Launched,
    /// Whether the number of registers of the first launch comes from ptxas; if not, it is an
    /// estimate.
    pub assembled: bool,
    /// The number of launches.
    pub launches: usize,
}

/// The largest input that is interpreted in full if the grid does not grow with the input.
const MOST: u64 = 1 << 25;

/// The maximum number of warp instructions in a block that is filmed.
const FILMED: u64 = 1 << 22;

/// The largest input on which the kernel is verified before its time is predicted.
const VERIFIED: u64 = 1 << 13;

/// Returns the limits that plans use for a GPU of the model.
pub fn chip(gpu: &Gpu) -> Chip {
    let predict::Limits { threads, blocks, shared, shared_block, cluster, .. } = gpu.limits;
    Chip { sms: gpu.sms, threads, blocks, shared, shared_block, cluster }
}

/// Rejects a kernel that is compiled for a newer GPU.
fn accepts(step: &Step, ptx: &Ptx, gpu: &Gpu) -> Result<()> {
    let number = ptx::target(&ptx.text).trim_start_matches("sm_");
    let needs: u32 = number.trim_end_matches(char::is_alphabetic).parse().unwrap_or_default();
    if needs <= gpu.capability {
        return Ok(());
    }
    let (kernel, has) = (step.name.to_owned(), gpu.capability);
    let newer = predict::Error::Newer { kernel, needs, gpu: gpu.name.clone(), has };
    Err(Error::Usage(newer.to_string()))
}

/// Verifies a step, or a kernel that replaces the step's own, and predicts its time. Fails if the
/// kernel is wrong or does not end.
pub fn predicted(
    step: &Step,
    ptx: &Ptx,
    gpu: &Gpu,
    problem: Problem,
    settings: &Settings,
) -> Result<Prediction> {
    accepts(step, ptx, gpu)?;
    (step.plan)(&problem).check(&problem.chip)?;
    match problem.element {
        Element::F32 => verify::<f32>(step, ptx, &problem, settings)?,
        Element::I32 => verify::<i32>(step, ptx, &problem, settings)?,
        Element::F64 => verify::<f64>(step, ptx, &problem, settings)?,
    }
    timed(step, ptx, gpu, problem)
}

/// Predicts the time of a step, or of a kernel that replaces the step's own and is known to be
/// correct.
pub fn timed(step: &Step, ptx: &Ptx, gpu: &Gpu, problem: Problem) -> Result<Prediction> {
    let launched = launches(step, ptx, gpu, problem)?;
    let mut parts: Vec<(&str, f64)> = Spent::ALL.iter().map(|(_, name)| (*name, 0.0)).collect();
    let mut us = 0.0;
    for (index, launch) in launched.iter().enumerate() {
        let own = launch.ran.cycles / gpu.mhz;
        us += gpu.launch[usize::from(index > 0)] + own;
        for (part, share) in parts.iter_mut().zip(launch.ran.spent) {
            part.1 += share * own;
        }
    }
    let own: f64 = parts.iter().map(|part| part.1).sum();
    parts.push((if launched.len() > 1 { "launches" } else { "launch" }, us - own));
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut range = gpu.range(us, problem.n);
    // In the worst case, all atomics of a launch access one address.
    let collisions = launched.iter().map(|launch| launch.atomics * gpu.same / gpu.mhz);
    range[1] = range[1].max(us - own + collisions.sum::<f64>());
    Ok(Prediction {
        step: step.name,
        problem,
        us,
        range,
        parts,
        first: launched[0],
        assembled: (step.plan)(&problem)
            .launches
            .first()
            .is_some_and(|launch| registers::of(ptx, &launch.entry).is_some()),
        launches: launched.len(),
    })
}

/// Verifies the kernel on a small input.
fn verify<T: Scalar>(step: &Step, ptx: &Ptx, problem: &Problem, settings: &Settings) -> Result<()> {
    let device = Device::open(Choice::Simt, settings)?;
    let n = problem.n.min(VERIFIED);
    let workload = Workload::<T>::new(&device, Input::Uniform, n, 42)?;
    let samples = Samples { count: 0, warm: false };
    let outcome = run(step, ptx, &device, &workload, problem.block, samples)?;
    outcome.fault().map_or(Ok(()), |fault| {
        Err(Error::Unpredicted { step: step.name.to_owned(), n, fault: fault.to_string() })
    })
}

/// Simulates the launches. If the grid does not grow with the input, launches of smaller problems
/// are simulated instead.
fn launches(step: &Step, ptx: &Ptx, gpu: &Gpu, problem: Problem) -> Result<Vec<Launched>> {
    let of = |n| (step.plan)(&Problem { n, ..problem });
    let grids = |n| of(n).launches.iter().map(|launch| launch.grid).collect::<Vec<_>>();
    let mut base = problem.n;
    while base > MOST {
        base /= 2;
    }
    let plan = of(problem.n);
    let all = problem.n as f64 * problem.element.size() as f64;
    if base == problem.n || grids(base / 2) != grids(problem.n) || grids(base) != grids(problem.n) {
        let mut whole = simulate(ptx, gpu, &plan, problem)?;
        whole[0] = whole[0].at_least(gpu, all);
        return Ok(whole);
    }
    let half = simulate(ptx, gpu, &of(base / 2), problem)?;
    let mut whole = simulate(ptx, gpu, &of(base), problem)?;
    let busy = f64::from(plan.launches[0].grid.min(gpu.sms));
    let bytes = problem.n as f64 * problem.element.size() as f64 / busy;
    whole[0] = whole[0].continued(gpu, &half[0], bytes, busy).at_least(gpu, all);
    Ok(whole)
}

/// Films the first `cycles` cycles of a multiprocessor during the first launch.
pub fn film(step: &Step, ptx: &Ptx, gpu: &Gpu, problem: Problem, cycles: u32) -> Result<Film> {
    let mut plan = (step.plan)(&problem);
    plan.launches.truncate(1);
    // All blocks except the first and the last do the same work, and wait for no other block.
    let typical = |machine: &mut simt::Gpu, module: &simt::Module, call: &simt::Launch<'_>, far| {
        machine.config_mut().block_budget = FILMED;
        predict::record_one(machine, module, call, u64::from(call.grid[0] / 2), far)
    };
    let all = record(ptx, &plan, problem, typical)?;
    let filmed = |(blocks, grid): &(Blocks, u64)| predict::film(gpu, blocks, *grid, None, cycles);
    all.first().map(filmed).ok_or_else(|| Error::Usage(format!("{} launches nothing", step.name)))
}

/// Interprets a few blocks of each launch, and simulates a multiprocessor.
fn simulate(ptx: &Ptx, gpu: &Gpu, plan: &Plan, problem: Problem) -> Result<Vec<Launched>> {
    let last = |machine: &mut simt::Gpu, module: &simt::Module, call: &simt::Launch<'_>, far| {
        let wanted = predict::wanted(gpu, u64::from(call.grid[0]));
        predict::record(machine, module, call, &wanted, far)
    };
    let all = record(ptx, plan, problem, last)?;
    let known = plan.launches.iter().map(|launch| registers::of(ptx, &launch.entry));
    let launched = |((blocks, grid), known): (&(Blocks, u64), Option<u32>)| {
        predict::launch(gpu, blocks, *grid, known)
    };
    Ok(all.iter().zip(known).map(launched).collect())
}

/// Interprets a few blocks of each launch by calling `of`, and returns them together with the
/// number of blocks in the grid.
fn record<F>(ptx: &Ptx, plan: &Plan, problem: Problem, of: F) -> Result<Vec<(Blocks, u64)>>
where
    F: Fn(
        &mut simt::Gpu,
        &simt::Module,
        &simt::Launch<'_>,
        Range<u64>,
    ) -> Result<Blocks, simt::Error>,
{
    let stopped = |error: simt::Error| Error::Simt {
        doing: format!("interpreting {}", ptx.file),
        text: error.to_string(),
    };
    let module = simt::Module::parse(&ptx.text)
        .map_err(|error| Error::BadPtx { file: ptx.file.clone(), reason: error.to_string() })?;
    let mut machine = simt::Gpu::new();
    // A page of the book has no clock, and stops a run by terminating its Worker.
    if cfg!(target_family = "wasm") {
        machine.config_mut().patience = None;
    }
    let size = problem.element.size();
    let bytes = plan.launches.first().map_or(0, |launch| launch.n) * size;
    // All elements are 1, so that no memory is needed for the input.
    let one: u64 = match problem.element {
        Element::F32 => 0x3f80_0000_3f80_0000,
        Element::I32 => 0x0000_0001_0000_0001,
        Element::F64 => 0x3ff0_0000_3ff0_0000,
    };
    let input = machine.alloc_sparse(bytes.max(size), |_| one as u32).map_err(stopped)?;
    let mut zeroed = |bytes: u64| {
        let at = machine.alloc(bytes)?;
        machine.fill(at, 0, bytes)?;
        Ok(at)
    };
    let scratch = (0..plan.scratch.len())
        .map(|index| zeroed(plan.scratch_bytes(index, problem.element)))
        .collect::<Result<Vec<u64>, simt::Error>>()
        .map_err(stopped)?;
    let result = zeroed(size).map_err(stopped)?;
    let address = |buffer| match buffer {
        Buffer::Input => input,
        Buffer::Scratch(index) => scratch[index],
        Buffer::Result => result,
    };
    let mut all = Vec::new();
    for launch in &plan.launches {
        let arg = |arg: &Arg| match *arg {
            Arg::Address(buffer) => simt::Arg::U64(address(buffer)),
            Arg::U64(value) => simt::Arg::U64(value),
            Arg::U32(value) => simt::Arg::U32(value),
        };
        let call = simt::Launch {
            entry: &launch.entry,
            grid: [launch.grid, 1, 1],
            block: [launch.block, 1, 1],
            cluster: [launch.cluster, 1, 1],
            shared: launch.shared,
            args: launch.args.iter().map(arg).collect(),
        };
        let blocks = of(&mut machine, &module, &call, input..input + bytes).map_err(stopped)?;
        all.push((blocks, u64::from(launch.grid)));
    }
    Ok(all)
}
