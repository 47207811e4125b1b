//! Hardware counters, and figures derived from them.

use anyhow::{Context, Result};
use measured::counters::Count;

use super::{
    Sources,
    counts::{self, Case},
    quantity::{Quantity, Unit},
    timed::{At, rate, time},
};

/// A metric of the first launch, counted by a GPU.
pub(crate) struct Metric<'s> {
    /// The value.
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
    let matches = |count: &&Count| {
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
            let count = counts.iter().find(matches)?;
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

/// Instructions that the hardware executes per element, in the first launch.
fn per_element(sources: &Sources, at: At<'_>, step: &str) -> Result<f64> {
    let found = metric(sources, at.on, &Case::of(step), "smsp__inst_executed.sum")?;
    Ok(found.value / counts::N as f64)
}

/// Instructions that the whole chip can issue per second: one per scheduler and cycle.
pub(crate) fn issues(sources: &Sources, at: At<'_>) -> Result<f64> {
    let gpu = &sources.run(at.on)?.env.gpu;
    Ok(f64::from(gpu.sms) * 4.0 * f64::from(gpu.sm_mhz_start) * 1e6)
}

/// The share of the schedulers' issue slots that a step's instructions take.
///
/// This holds for steps whose instructions are proportional to the elements, because they are
/// counted at one size and timed at another.
pub(crate) fn issued(sources: &Sources, at: At<'_>, step: &str, n: u64) -> Result<Quantity> {
    let time = time(sources, at, step, n)?;
    let value = per_element(sources, at, step)? * n as f64 / time.value / issues(sources, at)?;
    let origin = format!(
        "instructions of {step} per element, counted by the hardware, × elements ÷ time ÷ (SMs × 4 schedulers × clock); {}",
        time.origin
    );
    Ok(Quantity { value, unit: Unit::Share, origin })
}

/// The share of peak bandwidth at which a step's instructions would take every issue slot.
pub(crate) fn allows(sources: &Sources, at: At<'_>, step: &str) -> Result<Quantity> {
    let elements = issues(sources, at)? / per_element(sources, at, step)?;
    let value = elements * 4.0 / sources.run(at.on)?.env.gpu.bus_bytes_per_second;
    let origin = format!(
        "SMs × 4 schedulers × clock ÷ instructions of {step} per float, as a share of peak bandwidth"
    );
    Ok(Quantity { value, unit: Unit::Share, origin })
}

/// Bytes that an SM receives per cycle of its clock; with `bus`, the bytes at peak bandwidth.
pub(crate) fn per_cycle(sources: &Sources, at: At<'_>, name: &str, n: u64) -> Result<Quantity> {
    let gpu = &sources.run(at.on)?.env.gpu;
    let cycles = f64::from(gpu.sms) * f64::from(gpu.sm_mhz_start) * 1e6;
    let (value, origin) = match name {
        "bus" => (gpu.bus_bytes_per_second, "peak bandwidth ÷ SMs ÷ clock".to_owned()),
        _ => {
            let rate = rate(sources, at, name, n)?;
            (rate.value, format!("{} ÷ SMs ÷ clock", rate.origin))
        }
    };
    let value = (10.0 * value / cycles).round() / 10.0;
    Ok(Quantity { value, unit: Unit::Named(""), origin })
}
