//! Little's law, applied with a step's own counters. `{{num flight STEP}}` is the number of bytes
//! that an SM may have in flight; `{{num waits STEP}}` is the time for which a warp waits for its
//! loads in one iteration, and `{{num cycles STEP}}` is the same time in cycles. `{{num fills
//! STEP}}` is the number of bytes in flight that peak bandwidth requires at this wait. `{{num
//! in-flight STEP}}` is the average number of bytes in flight, and `{{num implied
//! STEP}}` is the bandwidth that follows from these bytes and the wait.

use anyhow::{Result, ensure};

use super::{
    Sources,
    counts::{Case, THREADS},
    metric::metric,
    plan,
    quantity::{Quantity, Unit},
    sass::Listing,
};

/// The maximum number of resident threads on an SM.
const RESIDENT: u64 = 2048;
/// The number of elements for which the grid is computed.
const N: u64 = 1 << 28;

/// Returns the number of KiB that the machine code loads before it uses any loaded value, over all
/// threads of the grid on an SM. If the step uses bulk copies, this is the shared memory of the
/// blocks on an SM.
pub(crate) fn of(sources: &Sources, step: &str) -> Result<Quantity> {
    let code = sources.sass.get(step)?;
    let plan = plan::of(step, N, THREADS)?;
    let first = &plan.launches[0];
    let blocks = u64::from(first.grid).div_ceil(u64::from(simt::Config::default().sm_count));
    let threads = u64::from(first.block);
    let blocks = blocks.min(RESIDENT / threads);
    let (bytes, how) = match code.count("UBLKCP") {
        0 => (
            blocks * threads * asked(code),
            format!("{} bytes per thread before the first addition", asked(code)),
        ),
        _ => (blocks * (u64::from(first.shared) >> 10 << 10), "the ring of each block".to_owned()),
    };
    ensure!(bytes > 0, "{step} loads nothing");
    let origin = format!("{step}: {how}, {blocks} blocks of {threads} threads on an SM");
    Ok(Quantity { value: bytes as f64 / 1024.0, unit: Unit::Named("KiB"), origin })
}

/// Returns the time for which a warp waits for its loads in one iteration.
pub(crate) fn wait(sources: &Sources, on: Option<&str>, step: &str) -> Result<Quantity> {
    let cycles = cycles(sources, on, step)?;
    let clock = 1e6 * f64::from(sources.run(on)?.env.gpu.sm_mhz_start);
    let origin = format!("{} ÷ clock", cycles.origin);
    Ok(Quantity { value: cycles.value / clock, unit: Unit::Time, origin })
}

/// Returns the wait in cycles: instructions in a warp ÷ iterations × stall cycles on memory per
/// instruction, in the first launch.
pub(crate) fn cycles(sources: &Sources, on: Option<&str>, step: &str) -> Result<Quantity> {
    let case = Case { n: N, ..Case::of(step) };
    let executed = metric(sources, on, &case, "smsp__inst_executed.sum")?;
    let stalled = metric(sources, on, &case, STALLED)?;
    let warps = (executed.blocks * u64::from(case.threads / 32)) as f64;
    let bytes = asked(sources.sass.get(step)?);
    ensure!(bytes > 0, "{step} has no loop over loads");
    let iterations = (4 * N) as f64 / (32.0 * warps * bytes as f64);
    let value = executed.value / warps / iterations * stalled.value;
    let origin = format!(
        "{step}, n = 2^28: instructions in a warp ÷ iterations × stall cycles on global memory per instruction, results/ladder/{}/counters.csv",
        executed.folder
    );
    Ok(Quantity { value: value.round(), unit: Unit::Count, origin })
}

/// Returns the average number of KiB in flight on an SM: the maximum × achieved occupancy ÷ the
/// occupancy that the grid allows × the fraction of time for which warps wait for loads.
pub(crate) fn average(sources: &Sources, on: Option<&str>, step: &str) -> Result<Quantity> {
    let most = of(sources, step)?;
    let case = Case { n: N, ..Case::of(step) };
    let active = metric(sources, on, &case, "sm__warps_active.avg.pct_of_peak_sustained_active")?;
    let plan = plan::of(step, N, THREADS)?;
    let first = &plan.launches[0];
    let blocks = u64::from(first.grid).div_ceil(u64::from(simt::Config::default().sm_count));
    let threads = (blocks * u64::from(first.block)).min(RESIDENT);
    let resident = active.value / 100.0 * RESIDENT as f64 / threads as f64;
    // An instruction takes one cycle to issue, plus the cycles for which its warp is stalled.
    let mut cycles = 1.0;
    for reason in REASONS {
        cycles += metric(sources, on, &case, &stalled(reason))?.value;
    }
    let waiting = metric(sources, on, &case, STALLED)?.value / cycles;
    let origin = format!(
        "{} × achieved occupancy × stall cycles on global memory ÷ all cycles for an instruction, results/ladder/{}",
        most.origin, active.folder
    );
    Ok(Quantity { value: most.value * resident * waiting, unit: most.unit, origin })
}

/// The stall reasons that are counted.
const REASONS: [&str; 9] = [
    "barrier",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "not_selected",
    "short_scoreboard",
    "wait",
];

fn stalled(reason: &str) -> String {
    format!("smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio")
}

/// Returns the bandwidth of all SMs according to Little's law: bytes in flight ÷ wait.
pub(crate) fn implied(sources: &Sources, on: Option<&str>, step: &str) -> Result<Quantity> {
    let (held, wait) = (average(sources, on, step)?, wait(sources, on, step)?);
    let sms = f64::from(sources.run(on)?.env.gpu.sms);
    let origin = format!("{} ÷ {} × SMs", held.origin, wait.origin);
    Ok(Quantity { value: held.value * 1024.0 * sms / wait.value, unit: Unit::Rate, origin })
}

/// Returns the number of KiB that an SM needs in flight to receive its share of peak bandwidth, if
/// a load takes as long as a step's wait.
pub(crate) fn needed(sources: &Sources, on: Option<&str>, step: &str) -> Result<Quantity> {
    let wait = wait(sources, on, step)?;
    let gpu = &sources.run(on)?.env.gpu;
    let value = gpu.bus_bytes_per_second / f64::from(gpu.sms) * wait.value / 1024.0;
    let origin = format!("peak bandwidth ÷ SMs × wait; {}", wait.origin);
    Ok(Quantity { value, unit: Unit::Named("KiB"), origin })
}

const STALLED: &str = "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio";

/// Returns the maximum number of bytes that a thread loads between two additions. If there are
/// 16-byte loads, only these count, because loads of single elements are for the ends of the input.
fn asked(code: &Listing) -> u64 {
    let wide = code.full().any(is_wide);
    let (mut most, mut now) = (0, 0);
    for opcode in code.full() {
        match opcode.split('.').next() {
            Some("LDG") if is_wide(opcode) => now += 16,
            Some("LDG") if !wide => now += 4,
            Some("FADD") => now = 0,
            _ => {}
        }
        most = most.max(now);
    }
    most
}

fn is_wide(opcode: &str) -> bool {
    opcode.starts_with("LDG") && opcode.ends_with(".128")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_in_flight_until_something_is_added() {
        let narrow =
            "  LDG.E R0, [R1] ;\n  @P0 LDG.E R4, [R1] ;\n  FADD R0, R0, R0 ;\n  LDG.E R0, [R1] ;\n";
        assert_eq!(asked(&Listing::of(narrow)), 8);
        let wide = "  LDG.E R0, [R1] ;\n  @P0 LDG.E.128 R4, [R1] ;\n  FADD R0, R0, R0 ;\n  LDG.E.128 R0, [R1] ;\n";
        assert_eq!(asked(&Listing::of(wide)), 16);
    }
}
