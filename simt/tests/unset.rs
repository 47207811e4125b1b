//! Tests that uninitialized variables are tracked lane by lane, from the declaration to the use.

use crate::common::{Device, launch};
use simt::observe::{Fault, Finding};
use simt::{Arg, Module, Schedule};

const SCHEDULES: [Schedule; 3] = [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(5)];

/// Returns a kernel with the given body, and with registers, parameters and the thread's index.
fn module(body: &str) -> Module {
    let text = format!(
        ".version 8.4\n.target sm_80\n.address_size 64\n\
         .visible .entry test(.param .u64 in, .param .u64 out)\n{{\n\
         .shared .align 16 .b8 s[1024];\n\
         .reg .b16 %h<9>;\n.reg .b32 %r<40>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<40>;\n.reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n\
         setp.lt.u32 %p1, %r1, 20;\nmul.lo.u32 %r30, %r1, 16;\n\
         mov.u32 %r31, s;\nadd.u32 %r31, %r31, %r30;\n{body}\nret;\n}}\n"
    );
    Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Returns the findings for 32 threads, which must be the same under every schedule.
#[track_caller]
fn found(body: &str) -> Vec<Finding> {
    let module = module(body);
    let mut all = Vec::new();
    for schedule in SCHEDULES {
        let mut device = Device::new(schedule);
        let input = device.put(&[1; 1024]);
        let out = device.room(1024);
        let args = vec![Arg::U64(input), Arg::U64(out)];
        device.launch(&module, &launch("test", 1, 32, 0, args)).unwrap();
        let findings: Vec<Finding> = device.findings();
        all.push(findings);
    }
    for other in &all[1..] {
        let faults = |all: &[Finding]| all.iter().map(|f| (f.fault, f.times)).collect::<Vec<_>>();
        assert_eq!(faults(other), faults(&all[0]), "{body}");
    }
    all.remove(0)
}

#[track_caller]
fn clean(body: &str) {
    let findings = found(body);
    assert!(findings.is_empty(), "{body}\n{}", findings[0]);
}

/// Expects one finding, for `times` lanes and with this text.
#[track_caller]
fn unset(body: &str, times: u64, words: &str) {
    match found(body).as_slice() {
        [one] => {
            assert_eq!((one.fault, one.times), (Fault::Unset, times), "{body}\n{one}");
            assert!(one.to_string().contains(words), "`{words}` is not in {one}");
        }
        other => panic!("{} findings of {body}: {other:?}", other.len()),
    }
}

#[test]
fn a_value_that_only_some_threads_load_is_found_where_it_is_stored() {
    let body = "@!%p1 bra join;\nld.global.u32 %r2, [%rd4];\njoin: st.shared.u32 [%r31], %r2;";
    unset(body, 12, "thread 20 stores an uninitialized variable at PTX line 24: initialize");
    // A predicated load gives the same finding. If both paths set the register, there is no
    // finding.
    let guarded = "only the instruction at PTX line 22 sets the variable, and only if its predicate is \
                   true; in inline assembly";
    let load = "@%p1 ld.global.u32 %r2, [%rd4];";
    for store in [
        "st.global.u32 [%rd5], %r2;",
        "mov.u32 %r3, %r2;\nst.global.u32 [%rd5], %r3;",
        "add.u32 %r3, %r2, 1;\nst.global.u32 [%rd5], %r3;",
    ] {
        unset(&format!("{load}\n{store}"), 12, guarded);
    }
    // Without the predicate, another path sets the register.
    let branch = "@!%p1 bra join;\nld.global.u32 %r2, [%rd4];\njoin: add.u32 %r3, %r2, 1;\n\
                  st.global.u32 [%rd5], %r3;";
    unset(branch, 12, "initialize the variable that is used at PTX line 24 where it is declared");
    clean("@%p1 ld.global.u32 %r2, [%rd4];\n@!%p1 mov.u32 %r2, 0;\nst.global.u32 [%rd5], %r2;");
}

#[test]
fn a_sum_that_is_never_set_passes_through_arithmetic() {
    let start = "ld.global.u32 %r2, [%rd4];\nadd.u32 %r3, %r4, %r2;\n";
    for way in [
        "st.global.u32 [%rd5], %r3;",
        "mov.b32 %f1, %r3;\nst.global.f32 [%rd5], %f1;",
        "cvt.u64.u32 %rd9, %r3;\nst.global.u32 [%rd5], %rd9;",
        "cvt.u16.u32 %h1, %r3;\nst.global.u16 [%rd5], %h1;",
        "mov.b64 %rd9, {%r2, %r3};\nmov.b64 {%r5, %r6}, %rd9;\nst.global.u32 [%rd5], %r6;",
        "add.cc.u32 %r5, %r3, 1;\naddc.u32 %r6, %r2, 0;\nst.global.u32 [%rd5], %r6;",
    ] {
        let words = "a value that was computed from an uninitialized variable at PTX line 23: \
                     initialize the variable that is used at PTX line 23 where it is declared";
        unset(&format!("{start}{way}"), 32, words);
    }
}

/// Copies of a variable are uses of this variable, and the lanes may use different variables.
#[test]
fn a_value_is_not_called_the_variable_that_it_was_computed_from() {
    let store = "st.global.u32 [%rd5], %r3;";
    let direct = "thread 0 stores an uninitialized variable at PTX line";
    unset(&format!("mov.u32 %r3, %r4;\n{store}"), 32, direct);
    unset(
        &format!("mov.b64 %rd9, {{%r4, %r1}};\nmov.b64 {{%r3, %r5}}, %rd9;\n{store}"),
        32,
        direct,
    );
    unset(
        &format!("add.u32 %r5, %r4, 1;\nmov.u32 %r3, %r5;\nmul.lo.u32 %r3, %r3, 7;\n{store}"),
        32,
        "thread 0 stores at PTX line 25 a value that was computed from an uninitialized variable at \
         PTX line 22: initialize the variable that is used at PTX line 22",
    );
    unset(
        &format!("@%p1 add.u32 %r3, %r4, 1;\n@!%p1 add.u32 %r3, %r6, 2;\n{store}"),
        32,
        "thread 0 stores at PTX line 24 a value that was computed from an uninitialized variable at \
         PTX line 22",
    );
    unset(
        "add.u32 %r5, %r4, 1;\nsetp.eq.u32 %p2, %r5, 7;\n@%p2 bra end;\nend:",
        32,
        "thread 0 uses as a condition at PTX line 24 a value that was computed from an \
         uninitialized variable at PTX line 22",
    );
}

/// In rounds of a sum of 16 lanes, some lanes receive values of lanes that do not take part. Only
/// lane 0 uses its sum.
#[test]
fn an_undefined_value_of_a_shuffle_is_no_error_until_it_is_used() {
    let sum = |end: &str| {
        let round = |s: u32| {
            format!("shfl.sync.down.b32 %r5, %r3, {s}, 31, 0xffff;\nadd.u32 %r3, %r3, %r5;\n")
        };
        let rounds: String = [8, 4, 2, 1].into_iter().map(round).collect();
        format!(
            "setp.gt.u32 %p2, %r1, 15;\nsetp.eq.u32 %p3, %r1, 0;\nmov.u32 %r3, %r1;\n\
             @%p2 bra end;\n{rounds}{end}\nend:"
        )
    };
    clean(&sum("@%p3 st.global.u32 [%rd5], %r3;"));
    clean(&sum(""));
    // Lanes 1 to 15 store undefined sums.
    let findings = found(&sum("st.global.u32 [%rd5], %r3;"));
    let [one] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!((one.fault, one.times), (Fault::BadLane, 15), "{one}");
    let words = "thread 1 stores at PTX line 34 a value of the shuffle at PTX line 26, but the \
                 source lane does not take part in the shuffle: the value is undefined";
    assert!(one.to_string().contains(words), "{one}");
    // A mask that names a lane that never comes is still an error.
    let waits = sum("").replace("0xffff;", "-1;").replace("\nend:", "\nend: bar.warp.sync -1;");
    let mut device = Device::new(Schedule::Converged);
    let (input, out) = (device.put(&[1; 1024]), device.room(1024));
    let args = vec![Arg::U64(input), Arg::U64(out)];
    let error = device.launch(&module(&waits), &launch("test", 1, 32, 0, args)).unwrap_err();
    assert!(error.to_string().contains("waits for every lane in its mask"), "{error}");
}

#[test]
fn each_use_has_its_words() {
    for (way, words) in [
        ("setp.eq.u32 %p2, %r4, 7;\n@%p2 bra end;\nend:", "as a condition"),
        ("setp.eq.u32 %p2, %r4, 7;\n@%p2 mov.u32 %r5, 1;", "as a condition"),
        (
            "and.b32 %r5, %r4, 4;\ncvt.u64.u32 %rd9, %r5;\nadd.s64 %rd9, %rd9, %rd1;\n\
          ld.global.u32 %r6, [%rd9];",
            "as an address",
        ),
        ("shfl.sync.idx.b32 %r5, %r1, %r4, 31, -1;", "as the source lane of a shuffle"),
        (
            "setp.eq.u32 %p2, %r4, 7;\nvote.sync.ballot.b32 %r5, %p2, -1;",
            "as the predicate of a vote",
        ),
        ("redux.sync.add.u32 %r5, %r4, -1;", "as an operand of a warp-wide operation"),
        ("red.global.add.u32 [%rd1], %r4;", "as an operand of an atomic"),
        (
            "and.b32 %r5, %r4, 0;\nor.b32 %r5, %r5, %r4;\nand.b32 %r6, %r5, 1;\nbar.sync %r6;",
            "as an operand of a barrier",
        ),
    ] {
        let findings = found(way);
        let one = findings.iter().find(|f| f.fault == Fault::Unset);
        let one = one.unwrap_or_else(|| panic!("nothing found: {way}"));
        assert!(one.to_string().contains(words), "`{words}` is not in {one}");
    }
}

#[test]
fn a_value_that_is_selected_away_is_no_use() {
    clean(
        "ld.global.u32 %r2, [%rd4];\nselp.b32 %r3, %r2, %r4, %p1;\nselp.b32 %r5, %r3, 0, %p1;\nst.global.u32 [%rd5], %r5;",
    );
    unset("selp.b32 %r5, 0, %r4, %p1;\nst.global.u32 [%rd5], %r5;", 12, "thread 20 stores");
    // If another operand alone determines the value of a condition, there is no finding.
    clean(
        "setp.eq.u32 %p2, %r4, 7;\nsetp.gt.u32 %p3, %r1, 99;\nand.pred %p4, %p2, %p3;\n@%p4 bra end;\nend:",
    );
    unset(
        "setp.eq.u32 %p2, %r4, 7;\nor.pred %p4, %p2, %p1;\n@%p4 bra end;\nend:",
        12,
        "as a condition",
    );
    // There is no finding for bits that are masked out, or for bytes that are not stored.
    clean("and.b32 %r5, %r4, 0;\nst.global.u32 [%rd5], %r5;");
    clean(
        "mov.u32 %r2, 5;\nmov.b64 %rd9, {%r2, %r4};\ncvt.u32.u64 %r5, %rd9;\nst.global.u32 [%rd5], %r5;",
    );
    // There is no finding for a result that is never used.
    clean("add.u32 %r5, %r4, 1;");
}

/// One lane has the value, and all lanes read the value from that lane, as is usual for a warp sum.
#[test]
fn a_shuffle_hands_on_what_the_source_lane_holds() {
    let lead = "setp.eq.u32 %p2, %r1, 3;\n@%p2 ld.global.u32 %r2, [%rd4];\n";
    clean(&format!("{lead}shfl.sync.idx.b32 %r5, %r2, 3, 31, -1;\nst.global.u32 [%rd5], %r5;"));
    clean(&format!("{lead}shfl.sync.idx.b32 %r2, %r2, 3, 31, -1;\nst.global.u32 [%rd5], %r2;"));
    let other = format!("{lead}shfl.sync.idx.b32 %r5, %r2, 4, 31, -1;\nst.global.u32 [%rd5], %r5;");
    unset(&other, 32, "thread 0 stores");
    let down = format!("{lead}shfl.sync.down.b32 %r5, %r2, 1, 31, -1;\nst.global.u32 [%rd5], %r5;");
    unset(&down, 31, "thread 0 stores");
}

#[test]
fn a_variable_in_local_memory_is_no_use() {
    // A register that half of the threads load is spilled; the other threads do not use it.
    let spill = "@%p1 ld.global.u32 %r2, [%rd4];\nst.local.u32 [l], %r2;\n@!%p1 ret;\n\
                 ld.local.u32 %r3, [l];\nst.global.u32 [%rd5], %r3;";
    clean(&format!(".local .align 4 .b8 l[4];\n{spill}"));
}

#[test]
fn a_loop_gives_a_value_before_it_is_read() {
    clean(
        "mov.u32 %r5, 0;\nagain: setp.eq.u32 %p2, %r5, 0;\n@%p2 bra first;\nst.global.u32 [%rd5], %r6;\n\
         first: add.u32 %r6, %r5, 7;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p3, %r5, 3;\n@%p3 bra again;",
    );
}

#[test]
fn padding_is_copied_and_not_accused() {
    // A structure of a double and an int, which has 16 bytes including 4 bytes of padding, is
    // written member by member.
    let fill = "mov.u64 %rd9, 0;\nst.shared.u64 [%r31], %rd9;\nst.shared.u32 [%r31+8], %r1;\nbar.sync 0;\n";
    let copy = "xor.b32 %r9, %r30, 16;\nmov.u32 %r8, s;\nadd.u32 %r8, %r8, %r9;\n\
                ld.shared.v2.u64 {%rd10, %rd11}, [%r8];\nbar.sync 0;\n\
                st.shared.v2.u64 [%r31], {%rd10, %rd11};\nbar.sync 0;\n";
    let result = "ld.shared.u32 %r10, [%r31+8];\nst.global.u32 [%rd5], %r10;";
    clean(&format!("{fill}{copy}{result}"));
    clean(&format!("{fill}{copy}{copy}{result}"));
    // Bytes that were only copied stay uninitialized in global memory too.
    let out = "mul.wide.u32 %rd12, %r1, 16;\nadd.s64 %rd13, %rd2, %rd12;\n\
               ld.shared.u64 %rd14, [%r31+8];\nst.global.u64 [%rd13+8], %rd14;\n";
    clean(&format!("{fill}{copy}{out}"));
    let findings = found(&format!(
        "{fill}{copy}{out}ld.global.u32 %r11, [%rd13+12];\nadd.u32 %r11, %r11, 1;\nst.global.u32 [%rd13], %r11;"
    ));
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!((findings[0].fault, findings[0].times), (Fault::Uninitialized, 32));
    // Arithmetic on the padding itself, after the copy, is reported.
    let findings = found(&format!(
        "{fill}{copy}ld.shared.u32 %r11, [%r31+12];\nadd.u32 %r11, %r11, 1;\nst.global.u32 [%rd5], %r11;"
    ));
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!((findings[0].fault, findings[0].place.as_str()), (Fault::Uninitialized, "`s[3]`"));
}

/// A vector load reads padding that no instruction uses, such as the fourth element of a
/// three-element structure.
#[test]
fn a_part_of_a_vector_that_is_not_used_is_not_accused() {
    let fill = "st.shared.v2.u32 [%r31], {%r1, %r1};\nst.shared.u32 [%r31+8], %r1;\nbar.sync 0;\n\
                xor.b32 %r9, %r30, 16;\nmov.u32 %r8, s;\nadd.u32 %r8, %r8, %r9;\n\
                ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r8];\nadd.u32 %r14, %r10, %r11;\n";
    clean(&format!("{fill}add.u32 %r14, %r14, %r12;\nst.global.u32 [%rd5], %r14;"));
    // The fourth element is copied, and then used.
    let copied = "bar.sync 0;\nst.shared.u32 [%r31], %r13;\nst.shared.u32 [%r31+4], %r14;\n\
                  ld.shared.u32 %r15, [%r31+4];\nst.global.u32 [%rd5], %r15;\n";
    clean(&format!("{fill}{copied}"));
    let used = found(&format!(
        "{fill}{copied}ld.shared.u32 %r16, [%r31];\nadd.u32 %r16, %r16, 1;\nst.global.u32 [%rd5], %r16;"
    ));
    assert_eq!(used.len(), 1, "{used:?}");
    assert_eq!((used[0].fault, used[0].times), (Fault::Uninitialized, 32));
    // The fourth element is used at once; the others are initialized.
    let found = found(&format!("{fill}add.u32 %r14, %r14, %r13;\nst.global.u32 [%rd5], %r14;"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].fault, found[0].times), (Fault::Uninitialized, 32));
}

/// Stores in the lower half of `s`, and loads an element of the upper half, of which only lanes 0 to
/// 19 use the value. In the upper half, `above` stores elements.
fn half(load: &str, above: &str, uses: &str) -> String {
    format!(
        "mov.u32 %r31, s;\nmad.lo.u32 %r31, %r1, 4, %r31;\nst.shared.u32 [%r31], %r1;\n{above}\n\
         bar.sync 0;\nld.shared.u32 %r2, [%r31];\n{load}\n{uses}\nst.global.u32 [%rd5], %r5;"
    )
}

const SELECTS: [&str; 4] = [
    // The code of NVRTC, that of clang, a branch, and a guard.
    "add.u32 %r4, %r2, %r3;\nselp.b32 %r5, %r4, %r2, %p1;",
    "selp.b32 %r4, %r3, 0, %p1;\nadd.u32 %r5, %r2, %r4;",
    "mov.u32 %r5, %r2;\n@!%p1 bra join;\nadd.u32 %r5, %r5, %r3;\njoin:",
    "mov.u32 %r5, %r2;\n@%p1 add.u32 %r5, %r5, %r3;",
];

#[test]
fn a_loaded_value_that_is_selected_away_is_no_use() {
    let above = "@%p1 st.shared.u32 [%r31+128], %r1;";
    // The second allocation of a launch has not been written.
    let out = "ld.volatile.global.u32 %r3, [%rd5+256];";
    for select in SELECTS {
        for load in ["ld.volatile.shared.u32", "ld.relaxed.cta.shared.u32", "ld.shared.u32"] {
            // A compiler moves a plain load into the branch.
            if load == "ld.shared.u32" && !select.contains("selp") {
                continue;
            }
            let load = format!("{load} %r3, [%r31+128];");
            clean(&half(&load, above, select));
            let findings = found(&half(&load, "@!%p1 st.shared.u32 [%r31+128], %r1;", select));
            let [one] = findings.as_slice() else { panic!("{select}: {findings:?}") };
            assert_eq!((one.fault, one.times), (Fault::Uninitialized, 20), "{one}");
            let words = "thread 0 reads `s[32]` at PTX line 28, which was never written";
            assert!(one.to_string().contains(words), "{one}");
        }
        let findings = found(&half(out, "", select));
        let [one] = findings.as_slice() else { panic!("{select}: {findings:?}") };
        assert_eq!((one.fault, one.times), (Fault::Uninitialized, 20), "{one}");
        let none = select.replace("%p1", "%p2");
        clean(&half(out, "setp.gt.u32 %p2, %r1, 99;", &none));
    }
    // The value may pass through a shuffle or a loop before it is dropped.
    let load = "ld.volatile.shared.u32 %r3, [%r31+128];\n";
    let first = "setp.eq.u32 %p2, %r1, 0;\n@!%p2 bra end;\nmov.u32 %r5, %r3;\nend:";
    let lower =
        |s: u32| format!("shfl.sync.down.b32 %r4, %r3, {s}, 31, -1;\nadd.u32 %r3, %r3, %r4;\n");
    let rounds: String = [8, 4, 2, 1].into_iter().map(lower).collect();
    let body = |first: &str| half(&format!("{load}{rounds}"), above, first);
    clean(&body(first).replace("st.global", "@%p2 st.global"));
    let findings = found(&body("mov.u32 %r5, %r3;"));
    let [one] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!(one.fault, Fault::Uninitialized, "{one}");
    assert!(one.to_string().contains("reads `s["), "{one}");
    // A volatile load whose value is dropped.
    clean(&half(load, "", "mov.u32 %r5, %r2;"));
    clean(&half("ld.volatile.global.u32 %r3, [%rd5+256];", "", "mov.u32 %r5, %r2;"));
}

/// A load beyond the end of memory is an error, whether or not its value is used.
#[test]
fn a_load_beyond_the_end_is_an_error_although_its_value_is_selected_away() {
    for load in
        ["ld.volatile.shared.u32 %r3, [%r31+1024];", "ld.volatile.global.u32 %r3, [%rd4+8192];"]
    {
        let mut device = Device::new(Schedule::Converged);
        let (input, out) = (device.put(&[1; 1024]), device.room(1024));
        let args = vec![Arg::U64(input), Arg::U64(out)];
        let module = module(&half(load, "", SELECTS[0]));
        device.launch(&module, &launch("test", 1, 32, 0, args)).unwrap_err();
    }
}
