//! The step that this folder's tests use. Its PTX is a string.

use crate::{
    Kernel, Step,
    device::Ptx,
    plan::{Arg, Buffer, Launch, Plan, Problem, Stage},
};

/// Returns a step that runs in blocks of 64 threads and has no kernel.
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

/// Creates PTX from a string.
pub(super) fn ptx(text: impl Into<String>) -> Ptx {
    let (origin, source) = (String::new(), String::new());
    Ptx { text: text.into(), source, origin, file: "played.ptx".into() }
}

/// Returns a launch of the step, in which `grid` blocks add all elements of the input.
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
