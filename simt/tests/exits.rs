//! Tests that a barrier orders nothing that a thread did after its own last barrier before it exited.

use crate::common::{Device, SCHEDULES, launch};
use simt::observe::Fault;
use simt::{Arg, Module};

const CURE: &str = "the thread that writes ends before the barrier, which therefore does not order \
                    its write; let it reach the barrier before it returns";

/// Checks the findings of one block of 256 threads. The body has the address of a thread's own word
/// in shared memory in `%r3`, that of the word of a thread of another warp in `%r4`, that of the word
/// of a thread of the same warp in `%r5`, and a pointer to zeros in `%rd1`. `%p1` holds for the upper
/// half of the block, and `%p2` for the upper half of each warp.
fn check(body: &str, races: bool) {
    let text = format!(
        ".version 7.8\n.target sm_70\n.address_size 64\n.visible .entry test(.param .u64 p)\n{{\n\
         .shared .align 16 .b8 room[1024];\n.reg .pred %p<9>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<9>;\n\
         ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, room;\n\
         mad.lo.u32 %r3, %r1, 4, %r2;\nxor.b32 %r4, %r1, 128;\nmad.lo.u32 %r4, %r4, 4, %r2;\n\
         xor.b32 %r5, %r1, 16;\nmad.lo.u32 %r5, %r5, 4, %r2;\n\
         setp.ge.u32 %p1, %r1, 128;\nand.b32 %r6, %r1, 16;\nsetp.ne.u32 %p2, %r6, 0;\n\
         mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd1, %rd2;\nxor.b32 %r6, %r1, 128;\n\
         mul.wide.u32 %rd3, %r6, 4;\nadd.u64 %rd3, %rd1, %rd3;\n{body}\nret;\n}}\n"
    );
    let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    for schedule in SCHEDULES {
        let mut device = Device::new(schedule);
        let data = device.put(&[0; 1024]);
        device.launch(&module, &launch("test", 1, 256, 0, vec![Arg::U64(data)])).unwrap();
        let faults: Vec<Fault> = device.findings().iter().map(|f| f.fault).collect();
        let expected = if races { vec![Fault::DataRace] } else { vec![] };
        assert_eq!(faults, expected, "{schedule}: {body}\n{}", device.said());
        let said = device.said().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.contains(CURE), races, "{schedule}: {body}\n{}", device.said());
    }
}

#[test]
fn a_barrier_does_not_order_the_stores_of_exited_threads() {
    check("st.shared.u32 [%r3], %r1;\n@%p1 ret;\nbar.sync 0;\nld.shared.u32 %r7, [%r4];", true);
    check("st.global.u32 [%rd2], %r1;\n@%p1 ret;\nbar.sync 0;\nld.global.u32 %r7, [%rd3];", true);
    check("st.shared.u32 [%r3], %r1;\n@%p1 ret;\nbar.sync 0;\nst.shared.u32 [%r4], 9;", true);
    check(
        "st.shared.u32 [%r3], %r1;\n@%p1 ret;\nbar.sync 0;\nbar.sync 0;\nld.shared.u32 %r7, [%r4];",
        true,
    );
    // Half of each warp exits.
    check("st.shared.u32 [%r3], %r1;\n@%p2 ret;\nbar.sync 0;\nld.shared.u32 %r7, [%r5];", true);
    check(
        "st.shared.u32 [%r3], %r1;\n@%p2 ret;\nbar.warp.sync 0xffffffff;\nld.shared.u32 %r7, [%r5];",
        true,
    );
}

#[test]
fn threads_may_exit_after_a_barrier_that_orders_their_stores() {
    let pairs =
        ["[%r3]", "[%rd2]"].map(|own| (own, own.replace("%r3", "%r4").replace("%rd2", "%rd3")));
    for (own, other) in pairs {
        let space = if own == "[%r3]" { "shared" } else { "global" };
        let [store, load] =
            [format!("st.{space}.u32 {own}, %r1;"), format!("ld.{space}.u32 %r7, {other};")];
        check(&format!("{store}\nbar.sync 0;\n@%p1 ret;\n{load}"), false);
        check(&format!("{store}\nbar.sync 0;\n@%p1 ret;\nbar.sync 0;\n{load}"), false);
    }
    // Another lane of the warp takes the order to the barrier.
    let pairs = "mov.u32 %r8, 0x00010001;\nand.b32 %r9, %r1, 15;\nshl.b32 %r8, %r8, %r9;\n\
                 bar.warp.sync %r8;";
    for meet in ["bar.warp.sync 0xffffffff;", pairs] {
        check(
            &format!(
                "@%p2 st.shared.u32 [%r3], %r1;\n{meet}\n@%p2 ret;\nbar.sync 0;\n\
                 xor.b32 %r10, %r1, 144;\nmad.lo.u32 %r10, %r10, 4, %r2;\nld.shared.u32 %r7, [%r10];"
            ),
            false,
        );
    }
}

/// A load is complete when its thread exits.
#[test]
fn threads_may_exit_after_they_have_read() {
    check(
        "@!%p1 st.shared.u32 [%r3], %r1;\nbar.sync 0;\n@%p1 ld.shared.u32 %r7, [%r4];\n@%p1 ret;\n\
           bar.sync 0;\nst.shared.u32 [%r3], 7;",
        false,
    );
    check("@%p1 ret;\nst.shared.u32 [%r3], %r1;\nbar.sync 0;\nld.shared.u32 %r7, [%r3];", false);
}
