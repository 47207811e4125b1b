//! The step that this folder's tests use. Its PTX is a string.

use crate::{
    Kernel, Step,
    device::Ptx,
    plan::{Arg, Buffer, Holds, Launch, Plan, Problem, Stage},
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

/// The first thread adds all elements, from the last to the first, or from the first to the
/// last if the grid has one block.
pub(super) const TURNING: &str = "
.version 8.4
.target sm_60
.address_size 64
.visible .entry reduce(.param .u64 in, .param .u64 out, .param .u64 n)
{
    .reg .pred %p;
    .reg .f32 %sum, %x;
    .reg .u32 %lane, %block, %grid;
    .reg .u64 %in, %out, %n, %step;
    mov.u32 %lane, %tid.x;
    mov.u32 %block, %ctaid.x;
    or.b32 %lane, %lane, %block;
    setp.ne.u32 %p, %lane, 0;
    @%p ret;
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    ld.param.u64 %n, [n];
    mov.f32 %sum, 0f00000000;
    mov.u64 %step, 4;
    mov.u32 %grid, %nctaid.x;
    setp.eq.u32 %p, %grid, 1;
    @%p bra again;
    mad.lo.u64 %in, %n, 4, %in;
    sub.u64 %in, %in, 4;
    mov.u64 %step, -4;
again:
    setp.eq.u64 %p, %n, 0;
    @%p bra done;
    ld.global.f32 %x, [%in];
    add.f32 %sum, %sum, %x;
    add.u64 %in, %in, %step;
    sub.u64 %n, %n, 1;
    bra again;
done:
    st.global.f32 [%out], %sum;
    ret;
}
";

/// Returns the plan for a kernel whose first thread adds all elements, like [`TURNING`].
pub(super) fn first_thread(problem: &Problem, grid: u32) -> Plan {
    let args = vec![Arg::Address(Buffer::Input), Arg::Address(Buffer::Result), Arg::U64(problem.n)];
    let stages = vec![Stage { sums: Buffer::Result, holds: Holds::ALL, depth: problem.n as u32 }];
    Plan { launches: vec![launch(problem, grid, args, stages)], scratch: Vec::new() }
}

/// A kernel with two blocks, each of which adds every other element to its own partial sum. The
/// first block then adds all elements.
pub(super) const STRIDED: &str = "
.version 8.4
.target sm_60
.address_size 64
.visible .entry reduce(.param .u64 in, .param .u64 out, .param .u64 n, .param .u64 partials)
{
    .reg .pred %p;
    .reg .f32 %sum, %x;
    .reg .u32 %lane, %block;
    .reg .u64 %in, %out, %n, %partials, %i, %at;
    mov.u32 %lane, %tid.x;
    mov.u32 %block, %ctaid.x;
    setp.ne.u32 %p, %lane, 0;
    @%p ret;
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    ld.param.u64 %n, [n];
    ld.param.u64 %partials, [partials];
    cvt.u64.u32 %i, %block;
    mov.f32 %sum, 0f00000000;
again:
    mad.lo.u64 %at, %i, 4, %in;
    ld.global.f32 %x, [%at];
    add.f32 %sum, %sum, %x;
    add.u64 %i, %i, 2;
    setp.lt.u64 %p, %i, %n;
    @%p bra again;
    mad.wide.u32 %at, %block, 4, %partials;
    st.global.f32 [%at], %sum;
    setp.ne.u32 %p, %block, 0;
    @%p ret;
    mov.f32 %sum, 0f00000000;
total:
    ld.global.f32 %x, [%in];
    add.f32 %sum, %sum, %x;
    add.u64 %in, %in, 4;
    sub.u64 %n, %n, 1;
    setp.ne.u64 %p, %n, 0;
    @%p bra total;
    st.global.f32 [%out], %sum;
    ret;
}
";
