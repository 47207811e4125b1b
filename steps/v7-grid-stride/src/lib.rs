//! Every thread adds many elements, sixteen bytes at a time, in a grid that just fills the chip.

use common::{
    Step,
    plan::{Arg, Buffer, Launch, Plan, Problem, Scratch},
};

/// This step, as the harness knows it.
pub static STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    cures: "one load in flight: every thread keeps four of sixteen bytes on their way",
    costs: "a second launch, for the partial sums: middle sizes wait as long for it as for the first",
    kernel: common::kernel!(),
    plan,
};

/// Words of sixteen bytes that a thread has in flight.
const WORDS: u64 = 4;

/// Threads that fill a multiprocessor: with four words each, 128 KiB are on their way.
const RESIDENT: u64 = 2048;

/// One launch that fills the device, and one block for its partial sums.
fn plan(problem: &Problem) -> Plan {
    let threads = problem.threads();
    let round = threads * WORDS * (16 / problem.element.size());
    let fill = u64::from(problem.sms) * (RESIDENT / threads);
    let blocks = problem.n.div_ceil(round).clamp(1, fill);
    let launch = |n, blocks: u64, input, output| Launch {
        entry: format!("reduce_{threads}"),
        grid: blocks as u32,
        block: threads as u32,
        cluster: 1,
        shared: (threads / 32 * problem.element.size()) as u32,
        n,
        input,
        output,
        args: vec![Arg::Address(input), Arg::Address(output), Arg::U64(n)],
        // More blocks than one stride through all of the input.
        tile: (blocks == 1).then_some(round.max(n)),
        // The words of a thread, an element beside them at either end, and their elements; then five
        // rounds in each warp and five in the first.
        depth: (n.div_ceil(round * blocks) * WORDS) as u32 + 2 + 4 + 5 + 5,
    };
    match blocks {
        1 => Plan {
            launches: vec![launch(problem.n, 1, Buffer::Input, Buffer::Result)],
            scratch: vec![],
        },
        _ => Plan {
            launches: vec![
                launch(problem.n, blocks, Buffer::Input, Buffer::Scratch(0)),
                launch(blocks, 1, Buffer::Scratch(0), Buffer::Result),
            ],
            scratch: vec![Scratch::Partials(blocks)],
        },
    }
}
