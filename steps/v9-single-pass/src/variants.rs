//! The variants of v9: a weaker fence, and three other ways to combine the sums of the blocks.

use common::{
    Step,
    plan::{Arg, Buffer, Holds, Launch, Plan, Problem, Stage},
};

/// All variants, which support only blocks of 256 threads.
pub(crate) static ALL: [Step; 4] = [
    Step {
        name: "v9-single-pass/acquire-release",
        cures: "two needlessly strong fences: taking the ticket now acquires and releases",
        kernel: common::kernel!("variants/acquire-release"),
        ..VARIANT
    },
    Step {
        name: "v9-single-pass/atomic-block",
        cures: "partial sums and tickets: each block now adds its sum by one atomic operation",
        kernel: common::kernel!("variants/atomic-block"),
        plan: |problem| atomic(problem, 1),
        ..VARIANT
    },
    Step {
        name: "v9-single-pass/atomic-warp",
        cures: "shared memory and barriers: each warp now adds its sum by one atomic operation",
        kernel: common::kernel!("variants/atomic-warp"),
        plan: |problem| atomic(problem, problem.block.threads() / 32),
        ..VARIANT
    },
    Step {
        name: "v9-single-pass/grid-barrier",
        cures: "the ticket: all blocks now wait for each other, and then block 0 adds the partial sums",
        kernel: common::kernel!("variants/grid-barrier"),
        ..VARIANT
    },
];

const VARIANT: Step = Step {
    name: "",
    cures: "",
    costs: super::STEP.costs,
    kernel: super::STEP.kernel,
    blocks: &[256],
    aligned: 16,
    fixed_order: false,
    plan: super::plan,
    variants: &[],
};

/// Plans a launch that clears the result, then one that adds to it with `each` consecutive atomic
/// operations per block.
fn atomic(problem: &Problem, each: u32) -> Plan {
    let mut plan = super::plan(problem);
    let Launch { grid, stages, .. } = plan.launches[0].clone();
    let depth = stages[0].depth + grid * each;
    plan.scratch.clear();
    let add = &mut plan.launches[0];
    add.args.truncate(3);
    add.stages = vec![Stage { sums: Buffer::Result, holds: Holds::ALL, depth }];
    let args = vec![Arg::Address(Buffer::Result)];
    let clear =
        Launch { entry: "clear".into(), grid: 1, shared: 0, args, stages: vec![], ..add.clone() };
    plan.launches.insert(0, clear);
    plan
}
