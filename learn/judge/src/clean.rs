//! Checks that a kernel is correct by construction and not by chance: runs it under schedules that
//! a GPU may choose.

use simt::Schedule;

use crate::case::{Case, Said};
use crate::held::held;

/// Runs the kernel under further schedules, which depend on the seed, in addition to the schedule
/// for which counts are defined.
pub(crate) fn clean(case: &Case) -> Said {
    let task = case.task;
    for order in 1..task.orders {
        let schedule = match order {
            1 => Schedule::MinPc,
            _ => Schedule::Adversarial(case.seed.wrapping_add(order) >> 1),
        };
        // Alternates between single blocks and grids whose last block is partial, and between the
        // types.
        let n = [1025, 257, 513][order as usize % 3];
        let element = case.modules[(order / 3) as usize % case.modules.len()].0;
        // One order in six runs the largest blocks, which have the most warps.
        let most = *task.blocks.iter().max().expect("every task has a block size");
        let threads = if order % 6 == 5 { most } else { task.blocks[0] };
        for grid in task.shape.grids(n, threads) {
            let scene = case.scene(element, n, threads, grid);
            held(&crate::scene::Scene { schedule, ..scene }, case.seed ^ order)?;
        }
    }
    Ok(format!(
        "no races and no reads of uninitialized memory under {} orders of execution",
        task.orders
    ))
}
