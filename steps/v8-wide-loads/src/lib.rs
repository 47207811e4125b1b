//! Sixteen bytes a load, and eight loads in flight in every thread.

use common::{
    Step,
    plan::{Plan, Problem, Stride},
};

/// This step, as the harness knows it.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "too little in flight: eight loads of 16 bytes in every thread, before the first is added",
    costs: "a second launch, for the partial sums: a middle size waits for it as long as for this",
    kernel: common::kernel!(),
    blocks: &[64, 128, 256, 512, 1024],
    aligned: 16,
    plan,
    variants: &variants::ALL,
};

mod variants;

/// Words of 16 bytes that a thread has in flight.
const FLIGHT: u64 = 8;

/// Threads of a multiprocessor: with eight words each, 128 KiB are on their way.
const RESIDENT: u32 = 1024;

/// The chip full of threads, and one block for their blocks' sums.
fn plan(problem: &Problem) -> Plan {
    grid_stride(problem, FLIGHT)
}

/// As many words in flight as that.
fn grid_stride(problem: &Problem, flight: u64) -> Plan {
    let (threads, lanes) = (problem.threads(), 16 / problem.element.size());
    Plan::grid_stride(
        problem,
        &Stride {
            entry: format!("reduce_{threads}"),
            resident: RESIDENT,
            tile: flight * threads * lanes,
            word: lanes,
            shared: threads / 32 * problem.element.size(),
            // Word after word, then the elements of a word, a warp, and the block's warps.
            turn: flight as u32,
            tree: lanes as u32 + 5 + 5,
        },
    )
}
