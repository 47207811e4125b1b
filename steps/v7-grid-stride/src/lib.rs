//! A grid that just fills the chip, and a loop in each thread.

use common::{
    Step,
    plan::{Plan, Problem, Stride},
};

/// This step, as the harness knows it.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "blocks that load once: a grid just fills the chip, and its threads go on in a loop",
    costs: "every thread has two loads of 4 bytes in flight, too few to keep a wide memory bus busy",
    kernel: common::kernel!(),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    plan,
    variants: &[],
};

/// As many threads as the chip holds at once, and one block for their blocks' sums.
fn plan(problem: &Problem) -> Plan {
    let threads = problem.threads();
    Plan::grid_stride(
        problem,
        &Stride {
            entry: format!("reduce_{threads}"),
            resident: problem.chip.threads,
            tile: 2 * threads,
            word: 1,
            shared: threads / 32 * problem.element.size(),
            // Two elements to one, and that to the thread's sum.
            turn: 1,
            tree: 1 + 5 + 5,
        },
    )
}
