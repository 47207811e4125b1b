//! `{{num flight STEP}}`: the bytes that an SM may have asked for and not yet received.

use anyhow::{Result, ensure};

use super::{
    counts::THREADS,
    plan,
    quantity::{Quantity, Unit},
    sass::Listing,
    sources::Sources,
};

/// Threads that an SM holds at most.
const RESIDENT: u64 = 2048;
/// The size that a grid is sized at.
const N: u64 = 1 << 28;

/// What the machine code asks for before it uses any of it, in all threads that the grid puts on an
/// SM; where the copy engine asks, the shared memory of the blocks on an SM.
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
            format!("{} bytes a thread before the first addition", asked(code)),
        ),
        _ => (blocks * (u64::from(first.shared) >> 10 << 10), "the ring of each block".to_owned()),
    };
    ensure!(bytes > 0, "{step} loads nothing");
    let origin = format!("{step}: {how}, {blocks} blocks of {threads} threads on an SM");
    Ok(Quantity { value: bytes as f64 / 1024.0, unit: Unit::Named("KiB"), origin })
}

/// The most bytes that a thread asks for between two additions. Where there are loads of 16 bytes,
/// they are the loop that counts: what is loaded one by one are the ends of the input.
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
