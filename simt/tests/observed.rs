//! Tests plain accesses to a word after a strong load that saw another block's store to it. PTX ISA,
//! "Causality Order": the store precedes the load in observation order, and the load precedes the
//! access in program order, so the store precedes the access.

use crate::common::{Device, launch};
use simt::observe::Fault;
use simt::{Arg, Module, Schedule};

const SCHEDULES: [Schedule; 4] =
    [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(5), Schedule::Adversarial(6)];

/// Block 1 stores 7 in a slot. Block 0 polls the slot and then clears it.
const MAILBOX: &str = "setp.ne.u32 %p1, %r1, 0;
    @%p1 bra end;
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra poll;
    st.relaxed.gpu.global.u32 [%rd1], 7;
    bra end;
    poll:
    ld.relaxed.gpu.global.u32 %r5, [%rd1];
    setp.ne.u32 %p3, %r5, 7;
    @%p3 bra poll;
    st.global.u32 [%rd1], 0;
    end:";

/// Returns the findings of two blocks of 64 threads.
fn run(body: &str, schedule: Schedule) -> (Vec<Fault>, String) {
    let text = format!(
        ".version 8.4\n.target sm_80\n.address_size 64\n\
         .visible .entry test(.param .u64 in)\n{{\n\
         .reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [in];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n{body}\nret;\n}}\n"
    );
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut device = Device::new(schedule);
    let input = device.put(&[0; 1024]);
    device.launch(&module, &launch("test", 2, 64, 0, vec![Arg::U64(input)])).unwrap();
    (device.findings().iter().map(|f| f.fault).collect(), device.said())
}

#[test]
fn a_plain_access_after_the_poll_that_saw_the_store_is_no_race() {
    let clear = "st.global.u32 [%rd1], 0;";
    for (from, to) in [
        ("", ""),
        ("st.relaxed.gpu", "st.release.gpu"),
        ("ld.relaxed.gpu", "ld.acquire.gpu"),
        ("ld.relaxed.gpu", "ld.volatile"),
        ("st.relaxed.gpu", "st.volatile"),
        (clear, "ld.global.u32 %r6, [%rd1];\nst.global.u32 [%rd1+64], %r6;"),
        (clear, "bar.warp.sync 1;\nst.global.u32 [%rd1], 0;"),
    ] {
        for schedule in SCHEDULES {
            let (faults, text) = run(&MAILBOX.replace(from, to), schedule);
            assert_eq!(faults, [], "{schedule} {to}: {text}");
        }
    }
}

#[test]
fn a_plain_access_that_need_not_follow_the_store_is_a_race() {
    let (load, clear) = ("ld.relaxed.gpu.global.u32 %r5, [%rd1];", "st.global.u32 [%rd1], 0;");
    let store = "st.relaxed.gpu.global.u32 [%rd1], 7;";
    for (from, to) in [
        // The value of the load decides nothing, or there is no load.
        ("setp.ne.u32 %p3, %r5, 7;\n    @%p3 bra poll;", "".to_owned()),
        (load, "mov.u32 %r5, 7;".to_owned()),
        // The load has the scope of its block, or another size.
        (load, load.replace(".gpu", ".cta")),
        (load, "ld.relaxed.gpu.global.u64 %rd5, [%rd1];\ncvt.u32.u64 %r5, %rd5;".to_owned()),
        // The store is plain, or the clear comes from another thread.
        (store, "st.global.u32 [%rd1], 7;".to_owned()),
        ("@%p1 bra end;\n    setp.eq.u32", "@%p1 bra other;\n    setp.eq.u32".to_owned()),
    ] {
        let body = MAILBOX.replace(from, &to).replace(
            "end:",
            "bra end;\nother: setp.eq.u32 %p4, %r2, 0;\n@!%p4 bra end;\nsetp.eq.u32 %p4, %r1, 40;\n@%p4 st.global.u32 [%rd1], 0;\nend:",
        );
        let body = if from.contains("p1") {
            body.replace(&format!("{clear}\n    bra"), "bra")
        } else {
            body
        };
        for schedule in [Schedule::Converged, Schedule::MinPc] {
            let (faults, text) = run(&body, schedule);
            assert!(faults.contains(&Fault::DataRace), "{schedule} {to}: {text}");
        }
    }
}
