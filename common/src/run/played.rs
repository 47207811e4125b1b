//! What tests of this folder run: a step whose text is handed over beside it.

use crate::{
    Kernel, Step,
    device::Ptx,
    plan::{Arg, Buffer, Launch, Plan, Problem, Stage},
};

/// A step in blocks of 64, with no kernel of its own.
pub(super) const fn step(name: &'static str, plan: fn(&Problem) -> Plan) -> Step {
    Step {
        name,
        cures: "",
        costs: "",
        kernel: Kernel { path: "", source: "", includes: &[], ptx: ["", "", ""] },
        blocks: &[64],
        aligned: 1,
        plan,
        variants: &[],
    }
}

/// Its text.
pub(super) fn ptx(text: impl Into<String>) -> Ptx {
    let (origin, source) = (String::new(), String::new());
    Ptx { text: text.into(), source, origin, file: "played.ptx".into() }
}

/// A launch of it: so many blocks on all elements of the input.
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
