//! The two schemes that plans are made by: launch after launch until one sum is left, or one pass.

use super::{
    element::Element,
    launch::{Arg, Buffer, Launch, Plan, Scratch},
    problem::Problem,
};

/// One launch of the two-phase scheme: each block adds a tile to one partial sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The kernel's entry point.
    pub entry: String,
    /// Elements that a block adds.
    pub tile: u64,
    /// Dynamic shared memory of a block, in bytes.
    pub shared: u64,
    /// Additions in a row from an element to the partial sum.
    pub depth: u32,
}

/// The one launch of the single-pass scheme: chunks of a size that only the number of elements
/// decides, a partial sum for each, and a ticket that tells the last block to add them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
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

impl Plan {
    /// Launches a kernel once: it adds chunks to partial sums, and these to the result.
    pub fn single_pass(problem: &Problem, pass: &Pass) -> Plan {
        let Problem { n, element, sms, .. } = *problem;
        let chunk = chunk(n, element);
        let chunks = n.div_ceil(chunk).max(1);
        let grid = chunks.min(u64::from(sms) * u64::from(pass.per_sm)) as u32;
        // A lane's words one after the other, the elements of a word, a warp, and 32 rows.
        let rows = |n: u64| {
            (n * element.size()).div_ceil(TURN) as u32 + (16 / element.size()).ilog2() + 5 + 5
        };
        let finish = if chunks == 1 { 0 } else { rows(chunks) };
        let (partials, tickets) = (Buffer::Scratch(0), Buffer::Scratch(1));
        let launch = Launch {
            entry: pass.entry.clone(),
            grid,
            block: problem.block.threads(),
            cluster: 1,
            shared: pass.shared as u32,
            n,
            input: Buffer::Input,
            output: Buffer::Result,
            args: vec![
                Arg::Address(Buffer::Input),
                Arg::Address(Buffer::Result),
                Arg::U64(n),
                Arg::U32(chunk as u32),
                Arg::U32(chunks as u32),
                Arg::Address(partials),
                Arg::Address(tickets),
            ],
            tile: (chunks == 1).then_some(chunk),
            depth: rows(chunk.min(n)) + finish,
        };
        Plan {
            launches: vec![launch],
            scratch: vec![Scratch::Partials(chunks), Scratch::Zeroed(4)],
        }
    }

    /// Launches a kernel on the input, then on its own partial sums, until one is left.
    ///
    /// No element at all still takes one launch: it writes the sum, 0.
    pub fn until_one(problem: &Problem, phase: &Phase) -> Plan {
        let mut plan = Plan { launches: Vec::new(), scratch: Vec::new() };
        let (mut n, mut input) = (problem.n, Buffer::Input);
        loop {
            let blocks = n.div_ceil(phase.tile).max(1);
            let output = match blocks {
                1 => Buffer::Result,
                _ => {
                    plan.scratch.push(Scratch::Partials(blocks));
                    Buffer::Scratch(plan.scratch.len() - 1)
                }
            };
            plan.launches.push(Launch {
                entry: phase.entry.clone(),
                grid: u32::try_from(blocks).unwrap_or(u32::MAX),
                block: problem.block.threads(),
                cluster: 1,
                shared: phase.shared as u32,
                n,
                input,
                output,
                args: vec![Arg::Address(input), Arg::Address(output), Arg::U64(n)],
                tile: Some(phase.tile),
                depth: phase.depth,
            });
            if blocks == 1 {
                return plan;
            }
            (n, input) = (blocks, output);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Block;

    fn plan(n: u64, tile: u64) -> Plan {
        let problem = Problem { n, block: Block::new(64).unwrap(), element: Element::F32, sms: 1 };
        Plan::until_one(&problem, &Phase { entry: "reduce".into(), tile, shared: 256, depth: 6 })
    }

    fn grids(plan: &Plan) -> Vec<u32> {
        plan.launches.iter().map(|launch| launch.grid).collect()
    }

    #[test]
    fn partial_sums_are_added_until_one_is_left() {
        assert_eq!(grids(&plan(0, 64)), [1]);
        assert_eq!(grids(&plan(1, 64)), [1]);
        assert_eq!(grids(&plan(64, 64)), [1]);
        assert_eq!(grids(&plan(65, 64)), [2, 1]);
        assert_eq!(grids(&plan(65, 128)), [1]);
        assert_eq!(grids(&plan(1 << 20, 64)), [16384, 256, 4, 1]);
        assert_eq!(plan(1 << 20, 64).depth(), 24);
        assert_eq!(plan((1 << 32) + 13, 64).launches[0].grid, (1 << 26) + 1);
    }

    #[test]
    fn buffers_hand_the_partial_sums_on() {
        let plan = plan(1 << 20, 64);
        assert_eq!(plan.scratch, [16384, 256, 4].map(Scratch::Partials));
        assert_eq!(plan.launches[0].input, Buffer::Input);
        for pair in plan.launches.windows(2) {
            assert_eq!(pair[1].input, pair[0].output);
            assert_eq!(pair[1].n, u64::from(pair[0].grid));
        }
        assert_eq!(plan.launches[3].output, Buffer::Result);
        assert_eq!(plan.scratch_bytes(0, Element::F64), 8 * 16384);
    }

    #[test]
    fn chunks_depend_on_the_input_alone() {
        let of = |bits: u32| chunk(1 << bits, Element::F32).ilog2();
        assert_eq!(
            [10, 14, 15, 18, 20, 22, 24, 28, 30, 32].map(of),
            [14, 14, 13, 13, 13, 14, 15, 15, 17, 19]
        );
        for n in [0, 1, 1000, 1 << 14, (1 << 14) + 1, 1_000_003, 1 << 26, (1 << 32) + 13] {
            for element in Element::ALL {
                let bytes = chunk(n, element) * element.size();
                assert!(bytes.is_multiple_of(TURN) && n * element.size() <= bytes * 8192, "{n}");
                // The ring of v9 copies stages of two turns.
                assert!(bytes.is_multiple_of(2 * TURN), "{n}");
            }
        }
    }

    #[test]
    fn one_pass_is_one_launch_on_any_device() {
        let pass = Pass { entry: "reduce".into(), per_sm: 2, shared: 0 };
        for sms in [1, 7, 132] {
            for n in [0, 1 << 14, (1 << 14) + 1, 1 << 28, (1 << 32) + 13] {
                let block = Block::new(64).unwrap();
                let plan =
                    Plan::single_pass(&Problem { n, block, element: Element::F32, sms }, &pass);
                let [launch] = plan.launches.as_slice() else {
                    panic!("{} launches", plan.launches.len())
                };
                assert_eq!(launch.args[3], Arg::U32(chunk(n, Element::F32) as u32));
                assert!((1..=2 * sms).contains(&launch.grid));
                assert_eq!(launch.grid == 1, n <= 1 << 14);
            }
        }
    }

    #[test]
    fn what_no_grid_holds_is_refused() {
        assert!(plan(1 << 36, 64).check().is_ok());
        let refused = plan(1 << 38, 64).check().unwrap_err().to_string();
        assert!(refused.contains("2147483647 blocks"), "{refused}");
    }
}
