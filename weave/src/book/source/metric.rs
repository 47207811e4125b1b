//! Provides hardware counters, and figures derived from them.

use anyhow::{Context, Result};
use measured::counters::Count;

use super::{
    Sources,
    counts::{self, Case},
    quantity::{Quantity, Unit},
    timed::{At, rate, time},
};

/// A metric for the first launch, counted by a GPU.
pub(crate) struct Metric<'s> {
    /// The value of the metric.
    pub(crate) value: f64,
    /// The number of blocks in the launch.
    pub(crate) blocks: u64,
    /// The name of the folder in `results/` that has the metric.
    pub(crate) folder: &'s str,
}

/// Returns a metric, from the newest folder that has it.
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
                "no counters.csv in results/ has {metric} for {} at n = {} with blocks of {}",
                case.step,
                measured::table::size(case.n),
                case.threads
            )
        })
}

/// Returns the number of instructions that the hardware executes per element, in the first launch.
fn per_element(sources: &Sources, at: At<'_>, step: &str) -> Result<f64> {
    let found = metric(sources, at.on, &Case::of(step), "smsp__inst_executed.sum")?;
    Ok(found.value / counts::N as f64)
}

/// Returns the number of instructions that the whole chip can issue per second: one per scheduler
/// and cycle.
pub(crate) fn issues(sources: &Sources, at: At<'_>) -> Result<f64> {
    let gpu = &sources.run(at.on)?.env.gpu;
    Ok(f64::from(gpu.sms) * 4.0 * f64::from(gpu.sm_mhz_start) * 1e6)
}

/// Returns the share of the schedulers' issue slots that a step's instructions take.
///
/// The result is valid for steps whose number of instructions is proportional to the number of
/// elements, because instructions are counted at one size and timed at another.
pub(crate) fn issued(sources: &Sources, at: At<'_>, step: &str, n: u64) -> Result<Quantity> {
    let time = time(sources, at, step, n)?;
    let value = per_element(sources, at, step)? * n as f64 / time.value / issues(sources, at)?;
    let origin = format!(
        "instructions in {step} per element, counted by the hardware, × elements ÷ time ÷ (SMs × 4 schedulers × clock); {}",
        time.origin
    );
    Ok(Quantity { value, unit: Unit::Share, origin })
}

/// Returns the share of peak bandwidth at which a step's instructions would take every issue slot.
pub(crate) fn allows(sources: &Sources, at: At<'_>, step: &str) -> Result<Quantity> {
    let elements = issues(sources, at)? / per_element(sources, at, step)?;
    let value = elements * 4.0 / sources.run(at.on)?.env.gpu.bus_bytes_per_second;
    let origin = format!(
        "SMs × 4 schedulers × clock ÷ instructions in {step} per float, as a share of peak bandwidth"
    );
    Ok(Quantity { value, unit: Unit::Share, origin })
}

/// Returns the number of bytes that an SM receives per cycle of its clock. For the name `bus`, the
/// result is the number at peak bandwidth.
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
