//! Tests the findings about state that a launch leaves for the next one.

use crate::common::{Device, launch};
use simt::observe::State;
use simt::{Arg, Module, Schedule, Watch};

/// Returns the sentences of the findings after two launches of one block of 64 threads. Between the
/// launches, the host resets the counter if `host` is set.
fn said(body: &str, host: bool) -> Vec<String> {
    let text = format!(
        ".version 8.3\n.target sm_80\n.address_size 64\n.global .align 4 .u32 pad;\n\
         .global .align 8 .b8 _ZN4mine7countedE[16];\n\
         .visible .entry reduce(.param .u64 in, .param .u64 out)\n{{\n.reg .b32 %r<9>;\n\
         .reg .b64 %rd<9>;\n.reg .pred %p<4>; .reg .f32 %f<4>;\nld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n\
         mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd4, %rd1, %rd3;\n\
         mov.u64 %rd5, _ZN4mine7countedE;\n{body}\nret;\n}}\n"
    );
    let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut device = Device::new(Schedule::Converged);
    let (input, out) = (device.put(&[0; 256]), device.put(&[0; 4]));
    let mut watch = Watch::default();
    watch.4.1 = Some(State::new());
    for _ in 0..2 {
        if host {
            device.gpu.write(out, &[0; 4]).unwrap();
        }
        let args = vec![Arg::U64(input), Arg::U64(out)];
        let launch = launch("reduce", 1, 64, 0, args);
        device.gpu.launch_watched(&module, &launch, Some(&mut watch)).unwrap();
    }
    watch.4.1.unwrap().findings().iter().map(|finding| finding.sentence()).collect()
}

const KEEP: &str = "st.global.u32 [%rd4], %r4;";

#[test]
fn state_of_the_previous_launch_is_reported_unless_it_was_reset() {
    for (body, host, words) in [
        (
            "atom.add.global.u32 %r4, [%rd2], 1;",
            false,
            "`out[0]` is 64 for the first atomic of launch 2, at PTX line 18, but was 0 for that of \
             launch 1: let the last block of a launch reset it, as `atomicInc` with the limit \
             gridDim.x - 1 does",
        ),
        ("atom.add.global.u32 %r4, [%rd2], 1;", true, ""),
        // A value that is not a count has another remedy.
        (
            "atom.add.global.u32 %r4, [%rd2], %r1;",
            false,
            "let the last block of a launch reset it to 0, for example with `atomicExch`",
        ),
        // The grid has one block, so the limit should be 0.
        (
            "setp.ne.u32 %p1, %r1, 0;\n@!%p1 atom.inc.global.u32 %r4, [%rd2], 7;",
            false,
            "its limit is 7, and `atomicInc` resets it only after 8 increments; use the limit \
             gridDim.x - 1, which is 0",
        ),
        (
            "setp.ne.u32 %p1, %r1, 0;\n@!%p1 atom.inc.global.u32 %r4, [%rd2], 0xffffffff;",
            false,
            "its limit is 4294967295, and",
        ),
        ("setp.ne.u32 %p1, %r1, 0;\n@!%p1 atom.inc.global.u32 %r4, [%rd2], 0;", false, ""),
        // A value has the type of the atomic.
        (
            "mov.f32 %f1, 0f3F800000;\natom.add.global.f32 %f2, [%rd2], %f1;\nmov.b32 %r4, %f2;",
            false,
            "`out[0]` is 64 for the first atomic of launch 2, at PTX line 19, but was 0 for that",
        ),
        // A variable of the module has its name in the source.
        (
            "atom.add.global.u32 %r4, [pad], 1;",
            false,
            "`pad` is 64 for the first atomic of launch 2",
        ),
        (
            "atom.add.global.u32 %r4, [%rd5+8], 1;",
            false,
            "`counted[2]` is 64 for the first atomic of launch 2",
        ),
    ] {
        let found = said(&format!("mov.u32 %r4, 0;\n{body}\n{KEEP}"), host);
        assert_eq!(found.is_empty(), words.is_empty(), "{body}: {found:?}");
        assert!(words.is_empty() || found[0].contains(words), "{body}: {found:?}");
    }
}

/// A reduction returns nothing, so it is reported only if its sum is read in the same launch. The
/// value before the first reduction is the one that the previous launch left.
#[test]
fn a_sum_that_is_not_reset_is_reported_where_it_begins() {
    let add = "red.add.global.u32 [%rd2], 3;\nbar.sync 0;\nmov.u32 %r4, 0;";
    let words =
        "`out[0]` is 192 for the first atomic of launch 2, at PTX line 17, but was 0 for that";
    for (then, found) in [
        ("", false),
        ("ld.global.u32 %r4, [%rd2];", true),
        ("ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd2];", true),
        ("atom.or.global.b32 %r4, [%rd2], 0;", true),
        ("atom.exch.global.b32 %r4, [%rd2], 0;", false),
        ("ld.global.u32 %r4, [%rd1];", false),
    ] {
        let said = said(&format!("{add}\n{then}\n{KEEP}"), false);
        assert_eq!(said.len(), usize::from(found), "{then}: {said:?}");
        assert!(!found || said[0].contains(words), "{then}: {said:?}");
    }
}
