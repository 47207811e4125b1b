//! Tests the cost of PTX for which the number of machine instructions is known.

use super::*;

fn code(body: &str) -> Code {
    let text = format!(
        ".version 8.4\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .pred %p<4>;\n.reg .f32 %f<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n\
         .shared .align 4 .b8 s[128];\n{body}\nret;\n}}\n"
    );
    let module = simt::Module::parse(&text).unwrap();
    Code::of(module.kernel("k").unwrap())
}

#[test]
fn instructions_have_the_machine_s_cost() {
    let code = code(
        "ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f1, [%rd4];\n\
         rem.u32 %r2, %r1, 3;\nadd.f32 %f2, %f1, %f1;\nst.global.f32 [%rd4], %f2;",
    );
    let mut costs: Vec<(Kind, u16)> =
        code.insts.iter().map(|inst| (inst.kind, inst.slots)).collect();
    // The interpreter adds an exit instruction.
    assert_eq!(costs.pop(), Some((Kind::Other, 1)));
    assert_eq!(
        costs,
        [
            (Kind::Constant, 1),
            (Kind::Int, 0),
            (Kind::Special, 1),
            // ptxas folds the product into the addition.
            (Kind::Mad, 0),
            (Kind::Mad, 1),
            (Kind::Other, 1),
            (Kind::Remainder, 17),
            (Kind::Float, 1),
            (Kind::Other, 1),
            (Kind::Other, 1),
        ]
    );
    let add = &code.insts[7];
    assert_eq!((add.writes.len(), add.reads.len()), (1, 2));
    let store = &code.insts[8];
    assert_eq!((store.writes.len(), store.reads.len()), (0, 2));
}

#[test]
fn a_short_branch_becomes_predicates_but_not_one_over_a_barrier() {
    let with = |body: &str| {
        let text =
            format!("mov.u32 %r1, %tid.x;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra $L;\n{body}\n$L:\n");
        code(&text).insts[2].skips
    };
    assert_eq!(with("add.s32 %r2, %r1, 1;\nst.shared.u32 [s], %r2;"), Some((5, [2, 1])));
    assert_eq!(with("bar.sync 0;"), None);
    assert_eq!(with(&"add.s32 %r2, %r1, 1;\n".repeat(11)), None);
}

#[test]
fn a_short_loop_over_an_atomic_polls() {
    let atom = "atom.global.or.b32 %r1, [%rd1], 0;";
    let around =
        |body: &str| code(&format!("$L:\n{body}\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra $L;\n")).polls;
    assert!(around(atom) && around("ld.volatile.global.u32 %r1, [%rd1];"));
    assert!(!around("ld.global.u32 %r1, [%rd1];") && !around("ld.volatile.shared.u32 %r1, [s];"));
    assert!(!around(&format!("{atom}\n{}", "add.s32 %r2, %r2, 1;\n".repeat(20))));
    assert!(!code(atom).polls);
}

#[test]
fn values_that_are_needed_together_need_registers() {
    let few = code("mov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 1;\nst.shared.u32 [s], %r2;").live;
    let more = code(
        "mov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 1;\nadd.s32 %r3, %r1, 2;\nadd.s32 %r4, %r1, 3;\n\
         add.s32 %r5, %r2, %r3;\nadd.s32 %r5, %r5, %r4;\nst.shared.u32 [s], %r5;",
    )
    .live;
    assert_eq!((few, more), (1, 3));
}
