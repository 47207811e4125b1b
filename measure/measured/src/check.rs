//! Consistency checks for a run. An impossible figure shows that the measurement has a fault.

use std::collections::HashSet;

use crate::{
    Clock, Place, Role, Run,
    table::{gigabytes, micros, size},
};

/// Returns all faults, each as a sentence; a consistent run has none.
pub fn faults(run: &Run) -> Vec<String> {
    let mut faults = Vec::new();
    for (variant, place, count) in run.all() {
        let Place { element, n, cache, .. } = place;
        let name = format!("{variant}, {} {element}, {cache}", size(n));
        let Some(known) = run.env.variant.iter().find(|v| v.name == variant) else {
            faults.push(format!(
                "{name}: raw.csv has samples of this variant, but env.toml does not list it"
            ));
            continue;
        };
        // cells.csv has only GPU-gated times, because only these times exclude the host.
        if place.clock != Clock::Gpu {
            continue;
        }
        let cell = run.cells.iter().find(|c| c.element == element && c.n == n && c.cache == cache);
        match cell {
            None => faults.push(format!(
                "{name}: raw.csv has samples of this cell, but cells.csv does not list it"
            )),
            Some(cell) if cell.rounds as usize != count => faults.push(format!(
                "{name}: raw.csv has {count} samples, but cells.csv has {} rounds",
                cell.rounds
            )),
            Some(_) => {}
        }
        faults.extend(below_the_floor(run, variant, known.role, &place, &name));
        // An empty kernel reads nothing, so it has no bandwidth.
        let bandwidth = run.bandwidth(known, &place).filter(|_| known.role != Role::Floor);
        let Some(bandwidth) = bandwidth else { continue };
        faults.extend(above_the_bus(run, bandwidth, &place, &name));
        let bytes = place.bytes() * u64::from(known.moves);
        if let Some(time) = run.time(variant, &place) {
            faults.extend(printed(&micros(time.median), &gigabytes(bandwidth), bytes, &name));
        }
    }
    faults.extend(holes(run));
    faults
}

/// Checks that a time is not below that of an empty kernel in the same rounds.
fn below_the_floor(
    run: &Run,
    variant: &str,
    role: Role,
    place: &Place<'_>,
    name: &str,
) -> Option<String> {
    let floor = run.env.of(Role::Floor).next()?;
    let (floor, time) = (run.time(&floor.name, place)?, run.time(variant, place)?);
    (role != Role::Floor && time.median < floor.q1).then(|| {
        format!(
            "{name}: {} µs is below the {} µs of an empty kernel",
            micros(time.median),
            micros(floor.q1)
        )
    })
}

/// Checks that a bandwidth does not exceed the peak of the memory bus, unless the input may have
/// been in L2.
fn above_the_bus(run: &Run, bandwidth: f64, place: &Place<'_>, name: &str) -> Option<String> {
    let bus = run.env.gpu.bus_bytes_per_second;
    let cold = place.cache == crate::Cache::Cold;
    (cold && bus > 0.0 && bandwidth > bus).then(|| {
        format!(
            "{name}: {} GB/s is above the peak bandwidth of {} GB/s",
            gigabytes(bandwidth),
            gigabytes(bus)
        )
    })
}

/// Checks that the printed figures agree: GB/s × time = bytes, within the precision of their
/// digits.
fn printed(micros: &str, gigabytes: &str, bytes: u64, name: &str) -> Option<String> {
    let half = |text: &str| {
        let digits = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        0.5 * 10f64.powi(-(digits as i32))
    };
    let (time, rate) = (micros.parse::<f64>().ok()?, gigabytes.parse::<f64>().ok()?);
    let product = rate * time * 1e3;
    let slack = (half(micros) / time + half(gigabytes) / rate) * product * 1.01;
    ((product - bytes as f64).abs() > slack).then(|| {
        format!("{name}: {gigabytes} GB/s × {micros} µs = {product:.0} bytes, but the input has {bytes} bytes")
    })
}

/// Checks that every variant has samples in every cell, or that a reason for their absence is
/// given.
fn holes(run: &Run) -> Vec<String> {
    let on_gpu = || run.all().filter(|(_, place, _)| place.clock == Clock::Gpu);
    let there: HashSet<(&str, &str, u64, crate::Cache)> =
        on_gpu().map(|(variant, p, _)| (variant, p.element, p.n, p.cache)).collect();
    // Competitors that return their sum to the host have no GPU-gated time at all.
    let known: HashSet<&str> = on_gpu().map(|(variant, ..)| variant).collect();
    let mut faults = Vec::new();
    for cell in &run.cells {
        for variant in run.env.variant.iter().filter(|v| known.contains(v.name.as_str())) {
            let excused = run.env.absent.iter().any(|absent| {
                absent.variant == variant.name
                    && (absent.element.is_empty() || absent.element == cell.element)
                    && (absent.n == 0 || absent.n == cell.n)
            });
            // A copy writes as much as it reads, which evicts the input from L2, so it is measured
            // only with a cold cache.
            let cold_only = variant.moves > 1 && cell.cache == crate::Cache::Warm;
            let place =
                Place { element: &cell.element, n: cell.n, cache: cell.cache, clock: Clock::Gpu };
            let too_large = variant.up_to > 0 && place.bytes() > variant.up_to;
            let key = (variant.name.as_str(), cell.element.as_str(), cell.n, cell.cache);
            if !excused && !cold_only && !too_large && cell.rounds > 0 && !there.contains(&key) {
                faults.push(format!(
                    "{}, {} {}, {}: there are no samples, and env.toml gives no reason",
                    variant.name,
                    size(cell.n),
                    cell.element,
                    cell.cache
                ));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_times_time_is_bytes_to_the_last_digit() {
        // The example is 2^20 `f32` elements in 7.46 µs.
        assert_eq!(printed("7.46", "562.2", 4 << 20, "x"), None);
        let fault = printed("7.46", "571.2", 4 << 20, "x").unwrap();
        assert!(fault.contains("4194304"), "{fault}");
        // A difference of 0.3 % is more than the rounding of the time's third digit allows.
        assert!(printed("7.46", "563.9", 4 << 20, "x").is_some());
        // Both figures were rounded down by nearly half a unit in the last digit, which is not a
        // fault.
        assert_eq!(printed("5000", "1.00", 5_025_502, "x"), None);
        // MiB instead of MB makes a difference of 4.9 %.
        assert!(printed("7.46", "536.2", 4 << 20, "x").is_some());
    }
}
