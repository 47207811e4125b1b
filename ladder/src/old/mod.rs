//! The upper steps as they were before the ladder was cut anew: for one measurement, paired with the
//! new ones.

use common::{
    Element, Step,
    plan::{Arg, Buffer, Holds, Launch, Plan, Problem, Scratch, Stage},
};

/// All three.
pub static STEPS: [&Step; 3] = [&V7, &V8, &V9];

static V7: Step = Step { name: "old/v7-grid-stride", kernel: common::kernel!("v7"), plan: v7, ..V };
static V8: Step = Step { name: "old/v8-single-pass", kernel: common::kernel!("v8"), plan: v8, ..V };
static V9: Step = Step { name: "old/v9-bulk-copy", kernel: common::kernel!("v9"), plan: v9, ..V };

const V: Step = Step {
    name: "",
    cures: "as it was before the ladder was cut anew",
    costs: "",
    kernel: common::kernel!("v7"),
    blocks: &[256],
    aligned: 16,
    plan: v7,
    variants: &[],
};

/// Four words of sixteen bytes a thread, in a grid of 2048 threads a multiprocessor.
fn v7(problem: &Problem) -> Plan {
    let threads = u64::from(problem.block.threads());
    let lanes = 16 / problem.element.size();
    let round = threads * 4 * lanes;
    let fill = u64::from(problem.chip.sms) * 2048 / threads;
    let blocks = problem.n.div_ceil(round).clamp(1, fill);
    let launch = |n: u64, blocks: u64, input, sums| Launch {
        entry: format!("reduce_{threads}"),
        grid: blocks as u32,
        block: threads as u32,
        cluster: 1,
        shared: (threads / 32 * problem.element.size()) as u32,
        early: false,
        n,
        input,
        args: vec![Arg::Address(input), Arg::Address(sums), Arg::U64(n)],
        stages: vec![Stage {
            sums,
            holds: Holds::Strides { tile: threads * lanes, count: blocks, word: lanes },
            depth: (n.div_ceil(round * blocks) * 4) as u32 + 2 + 4 + 5 + 5,
        }],
    };
    if blocks == 1 {
        let launches = vec![launch(problem.n, 1, Buffer::Input, Buffer::Result)];
        return Plan { launches, scratch: vec![] };
    }
    Plan {
        launches: vec![
            launch(problem.n, blocks, Buffer::Input, Buffer::Scratch(0)),
            launch(blocks, 1, Buffer::Scratch(0), Buffer::Result),
        ],
        scratch: vec![Scratch::Partials(blocks)],
    }
}

/// Chunks of fixed size, spread over a grid of 1024 threads a multiprocessor.
fn v8(problem: &Problem) -> Plan {
    let threads = problem.block.threads();
    let pass = SinglePass { entry: format!("reduce_{threads}"), per_sm: 1024 / threads, shared: 0 };
    single_pass(problem, &pass)
}

/// A ring of three stages of 32 KiB, and a word each.
fn v9(problem: &Problem) -> Plan {
    let threads = problem.block.threads();
    let shared = 3 * ((32 << 10) + 128);
    let per_sm = (1024 / threads).clamp(1, 2);
    single_pass(problem, &SinglePass { entry: format!("reduce_{threads}"), per_sm, shared })
}

/// The one launch of the single-pass scheme: chunks of a size that only the number of elements
/// decides, a partial sum for each, and a ticket that tells the last block to add them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinglePass {
    /// The kernel's entry point.
    pub entry: String,
    /// Blocks that a multiprocessor holds at once.
    pub per_sm: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared: u64,
}

/// Bytes of one turn of a block's loop through its chunk: 32 rows of 32 words of 16 bytes.
const TURN: u64 = 16 << 10;

/// Elements of a chunk. The tree of the sum is made of chunks, so this asks for nothing but the
/// input: not for the device, nor for the shape of the launch.
///
/// What fits 64 KiB is one chunk, and one block's work. Beyond, 256 chunks keep a large device
/// busy; from 32 MiB on they stay at 128 KiB, so that blocks end together; and from 1 GiB on there
/// are 8192 of them, which the last block still adds in one round of loads.
pub fn chunk(n: u64, element: Element) -> u64 {
    let bytes = n * element.size();
    let bytes = match bytes {
        ..=0x1_0000 => 4 * TURN,
        _ => (bytes / 256).next_power_of_two().clamp(2 * TURN, 8 * TURN),
    }
    .max(bytes.div_ceil(8192).next_power_of_two());
    bytes / element.size()
}

/// Launches a kernel once: it adds chunks to partial sums, and these to the result.
fn single_pass(problem: &Problem, pass: &SinglePass) -> Plan {
    let Problem { n, element, chip, .. } = *problem;
    let chunk = chunk(n, element);
    let chunks = n.div_ceil(chunk).max(1);
    let grid = chunks.min(u64::from(chip.sms) * u64::from(pass.per_sm)) as u32;
    // A lane's words one after the other, the elements of a word, a warp, and 32 rows.
    let rows =
        |n: u64| (n * element.size()).div_ceil(TURN) as u32 + (16 / element.size()).ilog2() + 5 + 5;
    let depth = rows(chunk.min(n));
    let all = Stage { sums: Buffer::Result, holds: Holds::ALL, depth };
    let stages = match chunks {
        1 => vec![all],
        _ => vec![
            Stage {
                sums: Buffer::Scratch(0),
                holds: Holds::Parts { each: chunk, count: chunks },
                depth,
            },
            Stage { depth: rows(chunks), ..all },
        ],
    };
    let launch = Launch {
        entry: pass.entry.clone(),
        grid,
        block: problem.block.threads(),
        cluster: 1,
        shared: pass.shared as u32,
        early: false,
        n,
        input: Buffer::Input,
        args: vec![
            Arg::Address(Buffer::Input),
            Arg::Address(Buffer::Result),
            Arg::U64(n),
            Arg::U32(chunk as u32),
            Arg::U32(chunks as u32),
            Arg::Address(Buffer::Scratch(0)),
            Arg::Address(Buffer::Scratch(1)),
        ],
        stages,
    };
    let scratch = vec![Scratch::Partials(chunks), Scratch::Zeroed(4)];
    Plan { launches: vec![launch], scratch }
}

#[cfg(test)]
mod tests {
    use common::{
        device::{Choice, Device, Settings},
        run::Job,
        sum::{Input, Workload},
    };

    use super::*;

    #[test]
    fn they_are_right() {
        let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
        for step in STEPS {
            for n in [1, 1025, 1_572_941] {
                let ptx = common::ptx::of(&step.kernel, Element::F32, None).unwrap();
                let problem = device.problem(n, step.block(None), Element::F32);
                let workload = Workload::<f32>::new(&device, Input::Uniform, n, 42).unwrap();
                let job = Job::load(&device, step, &ptx, problem).unwrap();
                job.verify(&workload).unwrap().right().unwrap();
            }
        }
    }
}
