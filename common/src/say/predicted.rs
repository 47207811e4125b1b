//! Prints predicted times. Predictions have their own wording and their own table, and are always
//! printed with a range.

use std::io::Write;

use predict::{Gpu, Spent};

use super::{Options, stop::Stop};
use crate::{
    Element, Error, Result, Step,
    device::{Choice, Device, ptx},
    plan::{Block, Problem},
    run::{self, Prediction},
    sum::{Input, Scalar, Workload},
};

/// Implements `--predict`. The output is a paragraph for one step on one GPU, and otherwise a
/// table.
pub(super) fn print(
    steps: &[&'static Step],
    options: &Options,
    out: &mut impl Write,
) -> Result<(), Stop> {
    let gpus = options.predict.iter().map(|name| gpu(name)).collect::<Result<Vec<_>>>()?;
    for &element in &options.element {
        for n in options.sizes(2) {
            for block in options.blocks() {
                let of = |step: &'static Step, gpu: &Gpu| {
                    let block = options.block(step, block, steps.len())?;
                    one(step, options, gpu, n, element, block)
                };
                if let ([step], [gpu]) = (steps, gpus.as_slice()) {
                    let prediction = of(step, gpu)?;
                    write!(out, "{}", text(&prediction, gpu))?;
                    if let Some(here) = here(gpu, options)? {
                        write!(out, "{}", beside(step, options, &here, &prediction)?)?;
                    }
                    continue;
                }
                writeln!(out, "{} {element}, predicted, not measured", numbers::size(n))?;
                for step in steps {
                    let mut line = format!("  {:28}", step.name);
                    for gpu in &gpus {
                        let cell = match of(step, gpu) {
                            Ok(Prediction { us, range: [least, most], .. }) => {
                                format!("{} µs ({} to {})", micros(us), micros(least), micros(most))
                            }
                            Err(error) if steps.len() > 1 => error.to_string(),
                            Err(error) => return Err(error.into()),
                        };
                        line += &format!("  {cell:28}");
                    }
                    writeln!(out, "{}", line.trim_end())?;
                    out.flush()?;
                }
                let names: Vec<&str> = gpus.iter().map(|gpu| gpu.name.as_str()).collect();
                writeln!(out, "  columns: {}", names.join(", "))?;
            }
        }
    }
    Ok(())
}

/// Opens this machine's GPU if it is the GPU whose times are predicted.
fn here(gpu: &Gpu, options: &Options) -> Result<Option<Device>> {
    if options.device == Choice::Simt {
        return Ok(None);
    }
    // Without a driver or a GPU, only the prediction is printed.
    let device = Device::open(Choice::Auto, &options.settings())?;
    let is_same = matches!(device, Device::Cuda(_)) && device.facts().name == gpu.name;
    Ok(is_same.then_some(device))
}

/// Measures the step on this machine's GPU, and compares the time with the prediction.
fn beside(
    step: &'static Step,
    options: &Options,
    device: &Device,
    prediction: &Prediction,
) -> Result<String> {
    match prediction.problem.element {
        Element::F32 => measured::<f32>(step, options, device, prediction),
        Element::I32 => measured::<i32>(step, options, device, prediction),
        Element::F64 => measured::<f64>(step, options, device, prediction),
    }
}

fn measured<T: Scalar>(
    step: &'static Step,
    options: &Options,
    device: &Device,
    prediction: &Prediction,
) -> Result<String> {
    let Problem { n, block, element, .. } = prediction.problem;
    let ptx = ptx::by(options.compiler, &step.kernel, element, options.kernel.as_deref())?;
    let workload = Workload::<T>::new(device, Input::Uniform, n, 42)?;
    let outcome = run::run(step, &ptx, device, &workload, block, options.samples())?;
    let Some(timing) = outcome.timing.as_ref() else {
        return Ok("  measured: no time, because the sum is wrong\n".to_owned());
    };
    let us = 1e6 * timing.median();
    Ok(format!(
        "  measured on this GPU: {} µs, so the prediction is off by {:+.1} %\n",
        micros(us),
        100.0 * (prediction.us / us - 1.0)
    ))
}

/// Returns the GPU with this name, as a table of latencies and rates.
pub fn gpu(name: &str) -> Result<Gpu> {
    Gpu::named(name).map_err(|error| Error::Usage(error.to_string()))
}

/// Predicts the time of one step on one GPU.
fn one(
    step: &'static Step,
    options: &Options,
    gpu: &Gpu,
    n: u64,
    element: Element,
    block: Block,
) -> Result<Prediction> {
    let ptx = ptx::by(options.compiler, &step.kernel, element, options.kernel.as_deref())?;
    let problem = Problem { n, block, element, chip: run::chip(gpu) };
    run::predicted(step, &ptx, gpu, problem, &options.settings())
}

/// Formats the prediction as text.
fn text(prediction: &Prediction, gpu: &Gpu) -> String {
    let Prediction { step, problem, us, range: [least, most], parts, first, assembled, launches } =
        prediction;
    let registers = if *assembled { "" } else { "an estimated " };
    let bytes = problem.n as f64 * problem.element.size() as f64;
    let mut text = format!(
        "{step}, {} {}: predicted {} µs on {} ({} to {}; from {})\n",
        numbers::size(problem.n),
        problem.element,
        micros(*us),
        gpu.name,
        micros(*least),
        micros(*most),
        gpu.source
    );
    text += &format!(
        "  {:.0} GB/s; {launches} launch{}; {} blocks of {} threads and {registers}{} registers fit onto a multiprocessor\n",
        bytes / us / 1000.0,
        if *launches == 1 { "" } else { "es" },
        first.resident,
        problem.block.threads(),
        first.registers,
    );
    for (name, part) in parts.iter().filter(|(_, part)| part / us >= 0.01) {
        text += &format!("  {:>5.1} %  {name}\n", 100.0 * part / us);
    }
    if first.atomics * gpu.same / gpu.mhz > *us {
        text += &format!(
            "  The range ends where all of its {:.0} atomics wait for each other; how many do depends on their addresses and on time.\n",
            first.atomics
        );
    }
    if first.polls {
        text +=
            "  Its warps poll. The number of polls depends on time; each is predicted as one.\n";
    }
    text + &format!("  limit: {}\n", limit(parts))
}

/// Formats microseconds with three digits.
fn micros(us: f64) -> String {
    let decimals = if us < 10.0 { 2 } else { usize::from(us < 100.0) };
    format!("{us:.decimals$}")
}

/// Returns the change that would make the kernel faster.
fn limit(parts: &[(&str, f64)]) -> &'static str {
    let largest = parts.first().map_or("", |part| part.0);
    let spent = Spent::ALL.iter().find(|(_, name)| *name == largest);
    match spent.map(|(spent, _)| spent) {
        Some(Spent::Issue) => "the schedulers issue in most cycles, so execute fewer instructions",
        Some(Spent::Math) => {
            "instructions wait for each other's results, so use independent operations or more warps"
        }
        Some(Spent::Shared) => {
            "warps wait for shared memory or shuffles, so use fewer passes and rounds"
        }
        Some(Spent::Barrier) => "warps wait at barriers, so use fewer rounds",
        Some(Spent::Latency) => {
            "warps wait for loads while the bus is idle, so keep more bytes in flight"
        }
        Some(Spent::Dram) => "the memory bus is busy, so only moving fewer bytes would be faster",
        Some(Spent::Atomic) => "warps wait for atomics and fences",
        Some(Spent::Code) => {
            "instructions are fetched for the first time, so make the code smaller"
        }
        Some(Spent::Idle) => "blocks start and end, so use fewer and longer blocks",
        None => "launches take most of the time, so use fewer of them",
    }
}
