//! What the hardware's counters say, and what follows from it.

use anyhow::{Context, Result};
use measured::counters::Count;

use super::{
    counts::{self, Case},
    quantity::{Quantity, Unit},
    sources::Sources,
    timed::{At, rate, time},
};

/// A metric of the first launch, as a GPU counted it.
pub(crate) struct Metric<'s> {
    /// Its value.
    pub(crate) value: f64,
    /// Blocks of the launch.
    pub(crate) blocks: u64,
    /// The folder of `results/` that has it.
    pub(crate) folder: &'s str,
}

/// A metric, from the newest folder that has it.
pub(crate) fn metric<'s>(
    sources: &'s Sources,
    on: Option<&str>,
    case: &Case,
    metric: &str,
) -> Result<Metric<'s>> {
    let here = |count: &&Count| {
        let same = count.metric == metric || count.metric.strip_suffix(".sum") == Some(metric);
        same && count.variant == case.step
            && count.launch == 1
            && count.n == case.n
            && count.threads == case.threads
            && count.element == "f32"
    };
    let mut folders = sources.counters.iter().filter(|(name, _)| match on {
        Some(on) => name.contains(on),
        None => name.contains("h200"),
    });
    folders
        .find_map(|(folder, counts)| {
            let count = counts.iter().find(here)?;
            Some(Metric { value: count.value, blocks: count.grid, folder })
        })
        .with_context(|| {
            format!(
                "no counters.csv of results/ has {metric} of {} at n = {}, blocks of {}",
                case.step,
                measured::table::size(case.n),
                case.threads
            )
        })
}

/// Instructions that the hardware executes for each element, in the first launch.
fn per_element(sources: &Sources, at: At<'_>, step: &str) -> Result<f64> {
    let found = metric(sources, at.on, &Case::of(step), "smsp__inst_executed.sum")?;
    Ok(found.value / counts::N as f64)
}

/// Instructions that the whole chip can issue in a second: one for each scheduler and cycle.
fn issues(sources: &Sources, at: At<'_>) -> Result<f64> {
    let gpu = &sources.run(at.on)?.env.gpu;
    Ok(f64::from(gpu.sms) * 4.0 * f64::from(gpu.sm_mhz_start) * 1e6)
}

/// The share of the schedulers' cycles in which a step's instructions are issued.
///
/// For steps whose instructions grow with the elements: counted at one size, timed at another.
pub(crate) fn issued(sources: &Sources, at: At<'_>, step: &str, n: u64) -> Result<Quantity> {
    let time = time(sources, at, step, n)?;
    let value = per_element(sources, at, step)? * n as f64 / time.value / issues(sources, at)?;
    let origin = format!(
        "instructions of {step} for an element, counted by the hardware, × elements ÷ time ÷ (SMs × 4 schedulers × clock); {}",
        time.origin
    );
    Ok(Quantity { value, unit: Unit::Share, origin })
}

/// The share of the bus at which a step's instructions would take every cycle of the schedulers.
pub(crate) fn allows(sources: &Sources, at: At<'_>, step: &str) -> Result<Quantity> {
    let elements = issues(sources, at)? / per_element(sources, at, step)?;
    let value = elements * 4.0 / sources.run(at.on)?.env.gpu.bus_bytes_per_second;
    let origin = format!(
        "SMs × 4 schedulers × clock ÷ instructions of {step} for a float, as a share of the bus"
    );
    Ok(Quantity { value, unit: Unit::Share, origin })
}

/// Bytes that an SM takes in, in a cycle of its clock; of the `bus`, what it could bring.
pub(crate) fn per_cycle(sources: &Sources, at: At<'_>, name: &str, n: u64) -> Result<Quantity> {
    let gpu = &sources.run(at.on)?.env.gpu;
    let cycles = f64::from(gpu.sms) * f64::from(gpu.sm_mhz_start) * 1e6;
    let (value, origin) = match name {
        "bus" => (gpu.bus_bytes_per_second, "the bus ÷ SMs ÷ clock".to_owned()),
        _ => {
            let rate = rate(sources, at, name, n)?;
            (rate.value, format!("{} ÷ SMs ÷ clock", rate.origin))
        }
    };
    let value = (10.0 * value / cycles).round() / 10.0;
    Ok(Quantity { value, unit: Unit::Named(""), origin })
}
