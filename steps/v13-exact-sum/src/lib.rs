//! v13 computes the exact sum, rounded once.

use common::{
    Element, Step,
    plan::{Buffer, Chunks, Holds, Pass, Plan, Problem, Scratch, Stage},
};

/// The step.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "rounding: each thread now has a bin for every 16 exponents, and the bins' sum is rounded once",
    costs: "for every element, two words of shared memory are read and written",
    kernel: common::kernel!("kernel", "exact.cuh"),
    blocks: &[512],
    aligned: 16,
    fixed_order: true,
    plan,
    variants: &variants::ALL,
};

mod variants;

/// The maximum number of vectors in a chunk. A thread adds at most 2^14 floats to its bins before
/// it empties them, because a bin can add that many floats without rounding. See `bin` in
/// `exact.cuh`.
const LONGEST: u64 = 512 * (1 << 14) / 4 - 512;

/// Makes a plan like v10's, with chunks that are short enough for the bins, and one sum instead of
/// partial sums.
fn plan(problem: &Problem) -> Plan {
    let mut chunks = Chunks::of(problem);
    if chunks.vectors > LONGEST {
        let width = 16 / problem.element.size();
        chunks.vectors = LONGEST;
        chunks.count = (problem.n / width).div_ceil(LONGEST);
    }
    let (cells, digits) = sizes(problem.element);
    let pass = Pass {
        entry: "reduce".into(),
        threads: 512,
        resident: 2,
        shared: 4 * cells,
        scratch: vec![Scratch::Zeroed(8 * digits), Scratch::Zeroed(4)],
    };
    let mut plan = Plan::over_chunks(problem, &chunks, pass);
    // No addition rounds, and the result is rounded once.
    plan.launches[0].stages = vec![Stage { sums: Buffer::Result, holds: Holds::ALL, depth: 0 }];
    plan
}

/// Returns the number of words in all bins, and the number of digits in the sum, as in `Layout` in
/// `exact.cuh`.
fn sizes(element: Element) -> (u64, u64) {
    match element {
        Element::F32 => (16 * 512 * 2, 10),
        Element::I32 => (512 * 2, 3),
        Element::F64 => (66 * 32 * 4, 68),
    }
}
