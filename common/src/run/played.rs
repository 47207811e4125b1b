//! The step of this folder's tests, whose PTX is a string.

use crate::{
    Kernel, Step,
    device::Ptx,
    plan::{Arg, Buffer, Launch, Plan, Problem, Stage},
};

/// A step in blocks of 64, without a kernel.
pub(super) const fn step(name: &'static str, plan: fn(&Problem) -> Plan) -> Step {
    Step {
        name,
        cures: "",
        costs: "",
        kernel: Kernel { path: "", source: "", includes: &[], ptx: ["", "", ""] },
        blocks: &[64],
        aligned: 1,
        fixed_order: false,
        plan,
        variants: &[],
    }
}

/// Makes PTX of a string.
pub(super) fn ptx(text: impl Into<String>) -> Ptx {
    let (origin, source) = (String::new(), String::new());
    Ptx { text: text.into(), source, origin, file: "played.ptx".into() }
}

/// A launch of the step: `grid` blocks on all elements of the input.
pub(super) fn launch(problem: &Problem, grid: u32, args: Vec<Arg>, stages: Vec<Stage>) -> Launch {
    Launch {
        entry: "reduce".into(),
        grid,
        block: problem.block.threads(),
        cluster: 1,
        shared: 0,
        early: false,
        n: problem.n,
        input: Buffer::Input,
        args,
        stages,
    }
}
