//! In v7, the grid just fills the GPU, and each thread loops over the input.

use common::{
    Step,
    plan::{Plan, Problem, Stride},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "blocks that load only once: the grid now just fills the GPU, and its threads loop over the input",
    costs: "too few bytes in flight; two 4-byte loads per thread leave a wide memory bus idle",
    kernel: common::kernel!(),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 1,
    fixed_order: false,
    plan,
    variants: &[],
};

/// Plans as many threads as the GPU can hold at once, then one block for the partial sums.
fn plan(problem: &Problem) -> Plan {
    let threads = problem.threads();
    Plan::grid_stride(
        problem,
        &Stride {
            entry: format!("reduce_{threads}"),
            resident: problem.chip.threads,
            tile: 2 * threads,
            width: 1,
            shared: threads / 32 * problem.element.size(),
            // Each iteration adds once to the thread's sum. Before that, it adds the two loaded
            // elements; `tree` counts this addition.
            turn: 1,
            tree: 1 + 5 + 5,
        },
    )
}
