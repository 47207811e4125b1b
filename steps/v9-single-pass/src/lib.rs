//! v9 has one launch: the block that finishes last adds the partial sums.

use common::{
    Step,
    plan::{Plan, Problem, Stride},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "the second launch: the block that finishes last now adds all partial sums",
    costs: "the bits depend on the grid, because another GPU adds in another order",
    kernel: common::kernel!(),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 16,
    fixed_order: false,
    plan,
    variants: &variants::ALL,
};

mod variants;

/// The number of 16-byte vectors that a thread has in flight.
const LOADS: u64 = 8;

/// The number of resident threads per multiprocessor. With eight vectors per thread, 128 KiB are in
/// flight.
const RESIDENT: u32 = 1024;

/// Plans a grid that fills the GPU; the last block to finish adds the partial sums.
fn plan(problem: &Problem) -> Plan {
    let (threads, width) = (problem.threads(), 16 / problem.element.size());
    Plan::last_block(
        problem,
        &Stride {
            entry: format!("reduce_{threads}"),
            resident: RESIDENT,
            tile: LOADS * threads * width,
            width,
            shared: threads / 32 * problem.element.size(),
            // Counts consecutive additions: one for each vector, then those of the elements in a
            // vector, the lanes of a warp, and the warps of the block.
            turn: LOADS as u32,
            tree: width as u32 + 5 + 5,
        },
    )
}
