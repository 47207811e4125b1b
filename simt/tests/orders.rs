//! Tests that findings do not depend on the order of a run: kernels that always take the same path
//! have the same faults under every schedule.

use crate::common::{Device, SCHEDULES, launch};
use simt::observe::Fault;
use simt::{Arg, Module, Schedule};

/// Checks the faults of a body under every schedule. The body has a pointer to zeros in `%rd1`, a
/// copy of the zeros (`room`) in shared memory, the thread's index in `%r1`, its block in `%r2`,
/// and its number in the grid in `%r3`.
fn always(body: &str, (grid, block): (u32, u32), expected: &[Fault]) {
    let text = format!(
        ".version 7.8\n.target sm_70\n.address_size 64\n.visible .entry test(.param .u64 p)\n{{\n\
         .shared .align 16 .b8 room[64];\n.reg .pred %p<9>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<9>;\n\
         ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r4, %ntid.x;\n\
         mad.lo.u32 %r3, %r2, %r4, %r1;\nmov.u32 %r5, %nctaid.x;\nmul.lo.u32 %r4, %r4, %r5;\nsub.u32 %r4, %r4, 1;\n\
         {body}\nret;\n}}\n"
    );
    let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    for schedule in SCHEDULES.into_iter().chain([Schedule::Adversarial(5)]) {
        let mut device = Device::new(schedule);
        let data = device.put(&[0; 4096]);
        device.launch(&module, &launch("test", grid, block, 0, vec![Arg::U64(data)])).unwrap();
        let mut faults: Vec<Fault> = device.findings().iter().map(|f| f.fault).collect();
        faults.sort();
        faults.dedup();
        assert_eq!(faults, expected, "{schedule}, {grid} x {block}: {body}\n{}", device.said());
    }
}

/// A store of the same value by all lanes with one instruction, of any width, is harmless in any
/// order.
#[test]
fn the_same_value_is_no_harm_in_any_order() {
    for space in ["global", "shared"] {
        let at = if space == "global" { "[%rd1]" } else { "[room]" };
        for (store, same) in [
            ("st.SPACE.u32 AT, 7;", true),
            ("mov.u32 %r6, 7;\nst.SPACE.u32 AT, %r6;", true),
            ("st.SPACE.u8 AT, 7;", true),
            ("st.SPACE.v2.u32 AT, {7, 8};", true),
            ("mov.u32 %r6, 7;\nst.SPACE.v4.u32 AT, {%r6, 8, %r6, 9};", true),
            ("mov.u64 %rd2, 7;\nst.SPACE.v2.u64 AT, {%rd2, %rd2};", true),
            ("cvt.u64.u32 %rd2, %r4;\nst.SPACE.u64 AT, %rd2;", true),
            ("st.SPACE.u32 AT, %r1;", false),
            ("shr.u32 %r6, %r1, 4;\nst.SPACE.u32 AT, %r6;", false),
            ("shr.u32 %r6, %r1, 4;\nst.SPACE.v2.u32 AT, {7, %r6};", false),
            (
                "setp.eq.u32 %p1, %r1, 31;\nselp.u32 %r6, 1, 2, %p1;\nst.SPACE.v4.u32 AT, {2, 2, %r6, 2};",
                false,
            ),
        ] {
            let body = store.replace("SPACE", space).replace("AT", at);
            always(&body, (1, 32), &[if same { Fault::SameValue } else { Fault::DataRace }]);
        }
    }
}

/// A value that changes from one round to the next may be overwritten by a lane that is one round
/// behind.
#[test]
fn a_value_that_changes_is_a_race_in_every_order() {
    let rounds = |store: &str| {
        format!(
            "mov.u32 %r6, 0;\nL: {store}\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 3;\n@%p1 bra L;"
        )
    };
    always(&rounds("st.shared.u32 [room], %r6;"), (1, 32), &[Fault::DataRace]);
    always(&rounds("st.shared.u32 [room], 5;"), (1, 32), &[Fault::SameValue]);
    always(
        &rounds("st.shared.u32 [room], %r6;\nbar.warp.sync 0xffffffff;"),
        (1, 32),
        &[Fault::SameValue],
    );
}

/// Each thread adds to a counter, and the last thread reads the counter. Other threads may not have
/// added yet. Whether the atomic's result is used makes no difference.
#[test]
fn a_plain_read_after_ones_own_atomic_is_a_race_in_every_order() {
    let read = "setp.ne.u32 %p1, %r3, %r4;\n@%p1 ret;\nld.global.u32 %r8, [%rd1];\nst.global.u32 [%rd1+64], %r8;";
    for add in [
        "red.global.add.u32 [%rd1], 1;",
        "atom.global.add.u32 %r7, [%rd1], 1;",
        "atom.global.add.u32 %r7, [%rd1], 1;\nmul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd2, %rd2, %rd1;\nst.global.u32 [%rd2+128], %r7;",
        // An addition by compare-and-swap. The end of its loop implies nothing about other threads.
        "ld.relaxed.gpu.global.u32 %r6, [%rd1];\nL: add.u32 %r7, %r6, 1;\nmov.u32 %r9, %r6;\n\
         atom.global.cas.b32 %r6, [%rd1], %r9, %r7;\nsetp.ne.u32 %p2, %r6, %r9;\n@%p2 bra L;",
    ] {
        for shape in [(1, 32), (1, 256), (3, 32), (2, 64), (5, 1)] {
            always(&format!("{add}\n{read}"), shape, &[Fault::DataRace]);
        }
        // A store races in the same way as the read.
        let store =
            read.replace("ld.global.u32 %r8, [%rd1];", "st.global.u32 [%rd1], 0;\nmov.u32 %r8, 0;");
        always(&format!("{add}\n{store}"), (2, 64), &[Fault::DataRace]);
        // A barrier orders the threads of one block, not those of two.
        let met = format!("{add}\nbar.sync 0;\n{read}");
        always(&met, (1, 64), &[]);
        always(&met, (3, 64), &[Fault::DataRace]);
    }
}

/// The last block to take a ticket can rely on the others having taken theirs, regardless of how
/// the ticket number reaches the branch.
#[test]
fn the_last_ticket_may_be_reset() {
    let reset = "st.global.u32 [%rd1], 0;";
    let first = "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra MET;\nsub.u32 %r6, %r5, 1;\natom.global.add.u32 %r7, [%rd1], 1;\n\
                 setp.eq.u32 %p2, %r7, %r6;\n";
    for body in [
        // The reset depends on a branch, on a guard, or on an early return.
        format!(
            "setp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\nsub.u32 %r6, %r5, 1;\natom.global.add.u32 %r7, [%rd1], 1;\n\
                 setp.ne.u32 %p2, %r7, %r6;\n@%p2 bra E;\n{reset}\nE:"
        ),
        format!("{first}@%p2 {reset}\nMET:"),
        format!("{first}@!%p2 ret;\n{reset}\nMET:"),
        // The decision is passed through shared memory.
        format!(
            "{first}selp.u32 %r8, 1, 0, %p2;\nst.shared.u32 [room], %r8;\nMET: bar.sync 0;\n\
                 ld.shared.u32 %r8, [room];\nsetp.eq.u32 %p3, %r8, 0;\n@%p3 ret;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\n{reset}"
        ),
        // The decision is passed through a flag that is set in the branch.
        format!(
            "mov.u32 %r8, 0;\n{first}@!%p2 bra MET;\nmov.u32 %r8, 1;\nMET: setp.eq.u32 %p3, %r8, 0;\n@%p3 ret;\n{reset}"
        ),
        // The first block waits for all others.
        format!(
            "setp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra ADD;\nsub.u32 %r6, %r5, 1;\n\
                 W: atom.global.add.u32 %r7, [%rd1], 0;\nsetp.lt.u32 %p2, %r7, %r6;\n@%p2 bra W;\n{reset}\nret;\n\
                 ADD: red.global.add.u32 [%rd1], 1;"
        ),
    ] {
        for shape in [(4, 32), (4, 1), (1, 32)] {
            always(&body, shape, &[]);
        }
    }
    // The ticket number is passed through a shuffle.
    always(
        &format!(
            "mov.u32 %r7, 0;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra MET;\natom.global.add.u32 %r7, [%rd1], 1;\nMET:\n\
                  shfl.sync.idx.b32 %r7, %r7, 0, 31, 0xffffffff;\nsub.u32 %r6, %r5, 1;\nsetp.ne.u32 %p2, %r7, %r6;\n\
                  @%p2 ret;\n@%p1 ret;\n{reset}"
        ),
        (4, 32),
        &[],
    );
}
