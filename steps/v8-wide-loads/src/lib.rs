//! In v8, each thread has eight loads of 16 bytes in flight.

use common::{
    Step,
    plan::{Plan, Problem, Stride},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "too few bytes in flight: each thread now issues eight loads of 16 bytes before the first addition",
    costs: "a second launch for the partial sums, which takes much of the time at medium sizes",
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

/// Plans a grid that fills the GPU, then one block for the partial sums.
fn plan(problem: &Problem) -> Plan {
    grid_stride(problem, LOADS)
}

/// Makes a plan like [`plan`], with `loads` vectors in flight in each thread.
fn grid_stride(problem: &Problem, loads: u64) -> Plan {
    let (threads, width) = (problem.threads(), 16 / problem.element.size());
    Plan::grid_stride(
        problem,
        &Stride {
            entry: format!("reduce_{threads}"),
            resident: RESIDENT,
            tile: loads * threads * width,
            width,
            shared: threads / 32 * problem.element.size(),
            // Counts consecutive additions: one for each vector, then those of the elements in a
            // vector, the lanes of a warp, and the warps of the block.
            turn: loads as u32,
            tree: width as u32 + 5 + 5,
        },
    )
}
