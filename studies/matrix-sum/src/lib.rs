//! Sums many 2 × 2 matrices. There are seven versions, each of which computes the four sums from
//! numbers in row-major or column-major order.

pub mod command;
pub mod file;
pub mod measure;
mod part;
pub mod plan;
pub mod sums;
pub mod threshold;
pub mod volume;

use common::{
    Kernel, Step, Study, kernel,
    plan::{Order, Plan, Problem},
};

/// The study: seven versions, each in both orders.
pub static STUDY: Study = Study {
    name: env!("CARGO_PKG_NAME"),
    about: "The sum of many 2 x 2 matrices, in row-major and column-major order",
    sizes: "2^14,2^20",
    up_to: 0,
    ways: &[
        &way("naive-row", NAIVE, |p| plan::until_one(p, Order::Row, "reduce_row", 1)),
        &way("naive-column", NAIVE, |p| plan::until_one(p, Order::Column, "reduce_column", 1)),
        &way("compressed-row", COMPRESSED, |p| plan::until_one(p, Order::Row, "reduce_row", 1)),
        &way("compressed-column", COMPRESSED, |p| {
            plan::until_one(p, Order::Column, "reduce_column", 1)
        }),
        &way("banks-row", BANKS, |p| plan::until_one(p, Order::Row, "reduce_row", 1)),
        &way("banks-column", BANKS, |p| plan::until_one(p, Order::Column, "reduce_column", 1)),
        &way("first-row", FIRST, |p| plan::until_one(p, Order::Row, "reduce_row", 2)),
        &way("first-column", FIRST, |p| plan::until_one(p, Order::Column, "reduce_column", 2)),
        &way("unrolled-row", UNROLLED, |p| plan::until_one(p, Order::Row, &sized("row", p), 2)),
        &way("unrolled-column", UNROLLED, |p| {
            plan::until_one(p, Order::Column, &sized("column", p), 2)
        }),
        &way("wide-row", WIDE, |p| plan::wide(p, Order::Row, "reduce_row")),
        &way("wide-column", WIDE, |p| plan::wide(p, Order::Column, "reduce_column")),
        &way("one-pass-row", ONE_PASS, |p| plan::one_pass(p, Order::Row, "reduce_row")),
        &way("one-pass-column", ONE_PASS, |p| plan::one_pass(p, Order::Column, "reduce_column")),
    ],
};

/// The parts of a version that both orders share.
struct Way {
    cures: &'static str,
    costs: &'static str,
    kernel: Kernel,
    blocks: &'static [u32],
    aligned: u64,
    fixed_order: bool,
}

const NAIVE: Way = Way {
    cures: "nothing yet: each thread has a matrix, and neighbours are added first",
    costs: "`%` is slow, and in every warp, most lanes are idle",
    kernel: kernel!("naive", "matrix.cuh"),
    blocks: &[256, 1024],
    aligned: 1,
    fixed_order: false,
};

const COMPRESSED: Way = Way {
    cures: "divergence: the first threads now add, and whole warps become idle",
    costs: "bank conflicts: active lanes access matrices that are 2, 4, 8, … apart",
    kernel: kernel!("compressed", "matrix.cuh"),
    ..NAIVE
};

const BANKS: Way = Way {
    cures: "bank conflicts between rounds: the upper half is now added to the lower half",
    costs: "half of the threads load a matrix and then never add one",
    kernel: kernel!("banks", "matrix.cuh"),
    ..NAIVE
};

const FIRST: Way = Way {
    cures: "threads that only load: the first round now happens while loading",
    costs: "a loop with a barrier per round, although the last rounds need only one warp",
    kernel: kernel!("first", "matrix.cuh"),
    ..NAIVE
};

const UNROLLED: Way = Way {
    cures: "the loop: every round is now unrolled, and the last six need no block barrier",
    costs: "a load fetches one entry, and every round goes through shared memory",
    kernel: kernel!("unrolled", "matrix.cuh"),
    ..NAIVE
};

const WIDE: Way = Way {
    cures: "narrow loads: each thread now adds vectors of 16 bytes in registers, with eight in flight",
    costs: "a second launch, and chunks that depend on the GPU",
    kernel: kernel!("wide", "matrix.cuh", "vectors.cuh"),
    blocks: &[512],
    aligned: 16,
    fixed_order: false,
};

const ONE_PASS: Way = Way {
    cures: "the second launch, and sums that depend on the GPU: the chunks now depend on the length alone",
    costs: "at the end, a fence, a ticket and reads of the partial sums, one after another",
    kernel: kernel!("one-pass", "matrix.cuh", "vectors.cuh"),
    fixed_order: true,
    ..WIDE
};

/// Returns the step for a version in one order.
const fn way(name: &'static str, way: Way, plan: fn(&Problem) -> Plan) -> Step {
    let Way { cures, costs, kernel, blocks, aligned, fixed_order } = way;
    Step { name, cures, costs, kernel, blocks, aligned, fixed_order, plan, variants: &[] }
}

/// Returns the entry point of an order for the problem's block size.
fn sized(order: &str, problem: &Problem) -> String {
    format!("reduce_{order}_{}", problem.block.threads())
}
