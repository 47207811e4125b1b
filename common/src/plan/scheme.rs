//! The schemes that plans use: repeated launches until one sum is left, a grid-stride loop, and one
//! pass over equal chunks.

use super::{
    chunks::Chunks,
    holds::Holds,
    launch::{Arg, Buffer, Launch, Plan, Scratch, Stage, additions},
    problem::Problem,
};

/// One launch in the two-phase scheme, in which each block reduces a tile to one partial sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The name of the kernel's entry point.
    pub entry: String,
    /// The number of elements that a block adds.
    pub tile: u64,
    /// The dynamic shared memory for a block, in bytes.
    pub shared: u64,
    /// The number of additions on the path from an element to the partial sum.
    pub depth: u32,
}

/// A grid that just fills the device. Each block adds one tile in each iteration of its loop. The
/// distance between a block's consecutive tiles, counted in tiles, is the number of blocks in the
/// grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stride {
    /// The name of the kernel's entry point.
    pub entry: String,
    /// The maximum number of resident threads on a multiprocessor.
    pub resident: u32,
    /// The number of elements that a block adds in an iteration.
    pub tile: u64,
    /// The number of elements in a load.
    pub width: u64,
    /// The dynamic shared memory for a block, in bytes.
    pub shared: u64,
    /// The number of consecutive additions in an iteration.
    pub turn: u32,
    /// The number of consecutive additions after the last iteration.
    pub tree: u32,
}

/// One launch over equal chunks. The grid has as many blocks as can be resident at once. The blocks
/// add the chunks, and one of the blocks adds the partial sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The name of the kernel's entry point.
    pub entry: String,
    /// The number of threads in a block.
    pub threads: u32,
    /// The maximum number of resident blocks on a multiprocessor.
    pub resident: u32,
    /// The dynamic shared memory for a block, in bytes.
    pub shared: u64,
    /// The buffers for partial sums and shared state, which are the kernel's last arguments.
    pub scratch: Vec<Scratch>,
}

impl Plan {
    /// Launches a kernel on the input, and then on the kernel's own partial sums, until one sum is
    /// left.
    ///
    /// An empty input also has one launch, which writes 0.
    pub fn until_one(problem: &Problem, phase: &Phase) -> Plan {
        let mut plan = Plan { launches: Vec::new(), scratch: Vec::new() };
        let (mut n, mut input) = (problem.n, Buffer::Input);
        loop {
            let blocks = n.div_ceil(phase.tile).max(1);
            let sums = match blocks {
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
                early: false,
                n,
                input,
                args: vec![Arg::Address(input), Arg::Address(sums), Arg::U64(n)],
                stages: vec![Stage {
                    sums,
                    holds: Holds::Chunks { each: phase.tile, count: blocks },
                    depth: phase.depth,
                }],
            });
            if blocks == 1 {
                return plan;
            }
            (n, input) = (blocks, sums);
        }
    }

    /// Launches a grid that fills the device, and then one block that adds the partial sums.
    pub fn grid_stride(problem: &Problem, stride: &Stride) -> Plan {
        let threads = problem.block.threads();
        let held = problem.chip.resident(threads, stride.shared);
        let resident = (stride.resident / threads).clamp(1, held);
        let fill = u64::from(problem.chip.sms) * u64::from(resident);
        // A remainder that is smaller than a vector does not need a separate block.
        let whole = |n: u64| n - n % stride.width;
        let blocks = whole(problem.n).div_ceil(stride.tile).clamp(1, fill);
        let launch = |n: u64, blocks: u64, input, sums| Launch {
            entry: stride.entry.clone(),
            grid: blocks as u32,
            block: threads,
            cluster: 1,
            shared: stride.shared as u32,
            early: false,
            n,
            input,
            args: vec![Arg::Address(input), Arg::Address(sums), Arg::U64(n)],
            stages: vec![Stage {
                sums,
                holds: Holds::Strides { tile: stride.tile, count: blocks, width: stride.width },
                depth: additions(u64::from(stride.turn) * whole(n).div_ceil(stride.tile * blocks))
                    + stride.tree,
            }],
        };
        if blocks == 1 {
            let launches = vec![launch(problem.n, 1, Buffer::Input, Buffer::Result)];
            return Plan { launches, scratch: Vec::new() };
        }
        let partials = Buffer::Scratch(0);
        let launches = vec![
            launch(problem.n, blocks, Buffer::Input, partials),
            launch(blocks, 1, partials, Buffer::Result),
        ];
        Plan { launches, scratch: vec![Scratch::Partials(blocks)] }
    }

    /// Like [`grid_stride`](Plan::grid_stride), but in one launch. The block that takes the last
    /// ticket adds the partial sums.
    pub fn last_block(problem: &Problem, stride: &Stride) -> Plan {
        let mut plan = Plan::grid_stride(problem, stride);
        let stages = plan.launches.iter().flat_map(|launch| launch.stages.clone()).collect();
        plan.launches.truncate(1);
        plan.scratch =
            vec![Scratch::Partials(u64::from(plan.launches[0].grid)), Scratch::Zeroed(4)];
        let launch = &mut plan.launches[0];
        launch.stages = stages;
        launch.args[1] = Arg::Address(Buffer::Result);
        launch.args.extend([0, 1].map(|index| Arg::Address(Buffer::Scratch(index))));
        plan
    }

    /// Launches a kernel once, over equal chunks. Each thread adds the elements in each of its
    /// vectors, and then its vectors, one after another. The sums of a warp's threads are added
    /// next, and then those of the block's warps.
    pub fn over_chunks(problem: &Problem, chunks: &Chunks, pass: Pass) -> Plan {
        let resident = pass.resident.min(problem.chip.resident(pass.threads, pass.shared));
        let fill = u64::from(problem.chip.sms) * u64::from(resident);
        let tree = 5 + 5;
        let width = (16 / problem.element.size()) as u32;
        let vectors = additions(chunks.vectors.div_ceil(u64::from(pass.threads)));
        let part = Stage {
            sums: Buffer::Scratch(0),
            holds: chunks.holds(),
            depth: vectors + width + tree,
        };
        let stages = match chunks.count {
            1 => vec![Stage { sums: Buffer::Result, ..part }],
            _ => vec![part, Stage { sums: Buffer::Result, holds: Holds::ALL, depth: tree }],
        };
        let mut args = vec![
            Arg::Address(Buffer::Input),
            Arg::Address(Buffer::Result),
            Arg::U64(problem.n),
            Arg::U64(chunks.vectors),
            Arg::U32(chunks.count as u32),
        ];
        args.extend((0..pass.scratch.len()).map(|index| Arg::Address(Buffer::Scratch(index))));
        let launch = Launch {
            entry: pass.entry,
            grid: chunks.count.min(fill) as u32,
            block: pass.threads,
            cluster: 1,
            shared: pass.shared as u32,
            early: false,
            n: problem.n,
            input: Buffer::Input,
            args,
            stages,
        };
        Plan { launches: vec![launch], scratch: pass.scratch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Element,
        plan::{Block, Chip},
    };

    fn problem(n: u64, sms: u32) -> Problem {
        let chip = Chip { sms, ..Chip::H200 };
        Problem { n, block: Block::new(64).unwrap(), element: Element::F32, chip }
    }

    fn plan(n: u64, tile: u64) -> Plan {
        let phase = Phase { entry: "reduce".into(), tile, shared: 256, depth: 6 };
        Plan::until_one(&problem(n, 1), &phase)
    }

    fn stride() -> Stride {
        Stride {
            entry: "reduce_64".into(),
            resident: 1024,
            tile: 8 * 64 * 4,
            width: 4,
            shared: 8,
            turn: 8,
            tree: 14,
        }
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
        for (index, pair) in plan.launches.windows(2).enumerate() {
            assert_eq!(pair[0].output(), Buffer::Scratch(index));
            assert_eq!(pair[1].input, pair[0].output());
            assert_eq!(pair[1].n, pair[0].sums());
        }
        assert_eq!(plan.launches[3].output(), Buffer::Result);
        assert_eq!(plan.scratch_bytes(0, Element::F64), 8 * 16384);
    }

    #[test]
    fn a_grid_stride_grid_grows_to_fill_the_device() {
        let grids = |n, sms| grids(&Plan::grid_stride(&problem(n, sms), &stride()));
        assert_eq!(grids(0, 132), [1]);
        assert_eq!(grids(2048, 132), [1]);
        assert_eq!(grids(2051, 132), [1]);
        assert_eq!(grids(2052, 132), [2, 1]);
        assert_eq!(grids(1 << 28, 132), [132 * 16, 1]);
        assert_eq!(grids(1 << 28, 7), [7 * 16, 1]);
        let small = Chip { threads: 512, ..Chip::H200 };
        let plan = Plan::grid_stride(&Problem { chip: small, ..problem(1 << 28, 132) }, &stride());
        assert_eq!(plan.launches[0].grid, 132 * 8);
        // 2^28 elements make 2^17 tiles of 2048 elements, which 2112 blocks add in 63 iterations.
        let plan = Plan::grid_stride(&problem(1 << 28, 132), &stride());
        assert_eq!(plan.launches[0].depth(), 63 * 8 + 14);
        assert_eq!(plan.launches[1].depth(), 2 * 8 + 14);
    }

    #[test]
    fn the_longest_input_on_the_smallest_gpu_does_not_overflow() {
        for n in [(1 << 45) + 1, 1 << 48] {
            let chip = Chip { threads: 64, blocks: 1, ..Chip::H200 };
            let plan = Plan::grid_stride(&Problem { chip, ..problem(n, 1) }, &stride());
            assert!(plan.depth() >= 1 << 29, "{n}: {}", plan.depth());
            assert_eq!(
                plan.depth(),
                Plan::last_block(&Problem { chip, ..problem(n, 1) }, &stride()).depth()
            );
        }
    }

    #[test]
    fn the_last_block_replaces_the_second_launch() {
        for n in [0, 2048, 2052, 1 << 28] {
            let two = Plan::grid_stride(&problem(n, 132), &stride());
            let one = Plan::last_block(&problem(n, 132), &stride());
            let [launch] = one.launches.as_slice() else { panic!("{} launches", n) };
            assert_eq!((one.depth(), launch.output()), (two.depth(), Buffer::Result));
            assert_eq!(launch.stages.len(), two.launches.len());
            assert_eq!(launch.args.len(), 5);
            assert_eq!(one.scratch[0], Scratch::Partials(u64::from(launch.grid)));
        }
    }

    #[test]
    fn one_pass_is_one_launch_on_any_device() {
        for sms in [1, 7, 132] {
            for n in [0, 1 << 14, (1 << 14) + 4, 1 << 28, (1 << 32) + 13] {
                let problem = problem(n, sms);
                let chunks = Chunks::of(&problem);
                let scratch = vec![Scratch::Messages(chunks.count)];
                let entry = "reduce".into();
                let pass = Pass { entry, threads: 512, resident: 2, shared: 0, scratch };
                let plan = Plan::over_chunks(&problem, &chunks, pass);
                let [launch] = plan.launches.as_slice() else { panic!("{n}") };
                assert_eq!(launch.args[4], Arg::U32(chunks.count as u32));
                assert!((1..=2 * sms).contains(&launch.grid));
                assert_eq!(launch.grid == 1, n <= 1 << 14);
                assert_eq!(launch.stages.len(), if n <= 1 << 14 { 1 } else { 2 });
                assert_eq!(plan.scratch_bytes(0, Element::F64), 16 * chunks.count);
            }
        }
    }

    #[test]
    fn a_chunk_s_depth_is_its_vectors_a_vector_and_two_trees() {
        for (element, width) in [(Element::F32, 4), (Element::F64, 2)] {
            let problem = Problem { element, ..problem(1 << 26, 132) };
            let chunks = Chunks::of(&problem);
            let pass = |threads| Pass {
                entry: "reduce".into(),
                threads,
                resident: 2,
                shared: 0,
                scratch: vec![Scratch::Messages(chunks.count)],
            };
            // With 256 chunks of 2^16 or 2^17 vectors, either all threads have the same number of
            // vectors, or some threads have one vector more.
            let vectors = chunks.vectors as u32;
            for (threads, iterations) in [(512, vectors / 512), (96, vectors / 96 + 1)] {
                let plan = Plan::over_chunks(&problem, &chunks, pass(threads));
                let [part, all] = &plan.launches[0].stages[..] else { panic!("{element}") };
                assert_eq!(
                    (part.depth, all.depth),
                    (iterations + width + 10, 10),
                    "{element} {threads}"
                );
                assert_eq!((part.sums, all.sums), (Buffer::Scratch(0), Buffer::Result));
                let each = chunks.vectors * u64::from(width);
                assert_eq!(part.holds, Holds::Chunks { each, count: 256 });
            }
        }
    }

    #[test]
    fn plans_beyond_the_device_s_limits_are_refused() {
        assert!(plan(1 << 36, 64).check(&Chip::H200).is_ok());
        // The largest grid, block, shared memory and cluster that fit.
        let mut last = plan(64 * u64::from(i32::MAX as u32), 64);
        assert_eq!(last.launches[0].grid, i32::MAX as u32);
        let Chip { threads, shared_block, cluster, .. } = Chip::H200;
        let launch = &mut last.launches[0];
        (launch.block, launch.shared, launch.cluster) = (threads, shared_block, cluster);
        assert!(last.check(&Chip::H200).is_ok());
        last.launches[0].cluster += 1;
        assert!(last.check(&Chip::H200).is_err());
        let refused = plan(1 << 38, 64).check(&Chip::H200).unwrap_err().to_string();
        assert!(refused.contains("2147483647 blocks"), "{refused}");
        let mut large = plan(1, 64);
        large.launches[0].shared = 100 << 10;
        assert!(large.check(&Chip::H200).is_ok());
        let small = Chip { shared_block: 99 << 10, threads: 32, ..Chip::H200 };
        let refused = large.check(&small).unwrap_err().to_string();
        assert!(refused.contains("102400 bytes") && refused.contains("101376"), "{refused}");
        let refused = plan(1, 64).check(&small).unwrap_err().to_string();
        assert!(
            refused.contains("blocks of 64 threads") && refused.contains("holds 32"),
            "{refused}"
        );
    }
}
