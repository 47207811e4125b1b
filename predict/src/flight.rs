//! A simpler model, which counts bytes in flight; the validation compares it with the simulation.

use crate::trace::{Blocks, Op, What};

/// Returns the maximum number of input bytes that a block requests before an instruction needs the
/// first of these bytes.
pub fn in_flight(recorded: &Blocks) -> f64 {
    let block = recorded.blocks.first().map_or(&[][..], |(_, warps)| warps.as_slice());
    block.iter().map(|warp| of_warp(recorded, warp)).sum()
}

fn of_warp(recorded: &Blocks, ops: &[Op]) -> f64 {
    let mut pending: Vec<u16> = Vec::new();
    let (mut bytes, mut most) = (0.0f64, 0.0f64);
    for op in ops {
        let inst = &recorded.code.insts[op.pc as usize];
        let waits = matches!(op.what, What::Wait { .. });
        if waits || inst.reads.iter().any(|register| pending.contains(register)) {
            pending.clear();
            bytes = 0.0;
        }
        match op.what {
            What::Load { sectors, far: true } => {
                bytes += 32.0 * f64::from(sectors);
                pending.extend(&inst.writes);
            }
            What::Copy { bytes: more, .. } => bytes += f64::from(more),
            _ => {}
        }
        most = most.max(bytes);
    }
    most
}
