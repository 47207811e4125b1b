//! One launch: the block that finishes last adds the partial sums.

use common::{
    Step,
    plan::{Plan, Problem, Stride},
};

/// This step, as the harness knows it.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "the second launch: the block that finishes last adds the partial sums of all",
    costs: "the shares depend on the grid, so another GPU gives a sum with other last bits",
    kernel: common::kernel!(),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 16,
    plan,
    variants: &[Step {
        name: "v9-single-pass/acquire-release",
        cures: "two fences that order more than they need: the ticket is taken with acquire and release",
        costs: "",
        kernel: common::kernel!("variants/acquire-release"),
        blocks: &[256],
        aligned: 16,
        plan,
        variants: &[],
    }],
};

/// Words of 16 bytes that a thread has in flight.
const FLIGHT: u64 = 8;

/// Threads of a multiprocessor: with eight words each, 128 KiB are on their way.
const RESIDENT: u32 = 1024;

/// The chip full of threads; the last of their blocks adds the blocks' sums.
fn plan(problem: &Problem) -> Plan {
    let (threads, lanes) = (problem.threads(), 16 / problem.element.size());
    Plan::last_block(
        problem,
        &Stride {
            entry: format!("reduce_{threads}"),
            resident: RESIDENT,
            tile: FLIGHT * threads * lanes,
            word: lanes,
            shared: threads / 32 * problem.element.size(),
            // Word after word, then the elements of a word, a warp, and the block's warps.
            turn: FLIGHT as u32,
            tree: lanes as u32 + 5 + 5,
        },
    )
}
