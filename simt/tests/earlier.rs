//! Tests accesses of a launch that may start before the previous launch has ended.

use crate::common::{Device, launch};
use simt::{Arg, Module, Schedule};

/// The words of the findings after two launches of one block of 64 threads. The first one fills a
/// buffer, and the second one reads it in the places that `LOAD` marks.
fn said(body: &str) -> Vec<String> {
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n\
         .visible .entry fill(.param .u64 in, .param .u64 out)\n{{\n.reg .b32 %r<4>;\n\
         .reg .b64 %rd<4>;\nld.param.u64 %rd1, [in];\nmov.u32 %r1, %tid.x;\n\
         mad.wide.u32 %rd2, %r1, 4, %rd1;\ngriddepcontrol.launch_dependents;\n\
         st.global.u32 [%rd2], %r1;\nret;\n}}\n\
         .visible .entry add(.param .u64 in, .param .u64 out)\n{{\n.reg .b32 %r<4>;\n\
         .reg .b64 %rd<4>;\n.reg .pred %p<2>;\nld.param.u64 %rd1, [in];\nmov.u32 %r1, %tid.x;\n\
         mad.wide.u32 %rd2, %r1, 4, %rd1;\nld.param.u64 %rd3, [out];\nsetp.ne.u32 %p1, %r1, 0;\n\
         {body}\nred.global.add.u32 [%rd3], %r2;\nret;\n}}\n"
    )
    .replace("LOAD", "ld.global.u32 %r2, [%rd2];");
    let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut device = Device::new(Schedule::Converged);
    let (input, out) = (device.gpu.alloc(256).unwrap(), device.put(&[0; 4]));
    for entry in ["fill", "add"] {
        let args = vec![Arg::U64(input), Arg::U64(out)];
        device.launch(&module, &launch(entry, 1, 64, 0, args)).unwrap();
    }
    device.findings().iter().map(|finding| finding.sentence()).collect()
}

#[test]
fn a_launch_that_starts_early_waits_before_it_reads_results() {
    let right = [
        "griddepcontrol.wait;\nLOAD",
        // Without either instruction, the launch does not start early.
        "LOAD",
        // A barrier orders the other threads after the one that has waited.
        "@%p1 bra met;\ngriddepcontrol.wait;\nmet:\nbar.sync 0;\nLOAD",
    ];
    for body in right {
        assert_eq!(said(body), [""; 0], "{body}");
    }
    let wrong = [
        "LOAD\ngriddepcontrol.wait;",
        "griddepcontrol.launch_dependents;\nLOAD",
        "setp.gt.u32 %p1, %r1, 31;\n@%p1 bra met;\ngriddepcontrol.wait;\nmet:\nLOAD",
    ];
    let starts = ["thread 0 of block 0", "thread 0 of block 0", "thread 32 of block 0"];
    for (body, start) in wrong.into_iter().zip(starts) {
        let said = said(body);
        assert_eq!(said.len(), 1, "{body}: {said:?}");
        assert!(said[0].starts_with(start), "{said:?}");
        assert!(
            said[0]
                .contains("which the previous launch writes, and that launch may not have ended")
        );
        assert!(said[0].contains("`griddepcontrol.wait` before this access"), "{said:?}");
    }
}
