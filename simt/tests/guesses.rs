//! Tests the plain read before a loop of compare-and-swaps, as in the CUDA C++ programming guide. The
//! code of the loop is that of NVRTC; clang writes the same.

use crate::common::{Device, launch};
use simt::observe::Fault;
use simt::{Arg, Module, Schedule};

const SCHEDULES: [Schedule; 3] = [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(5)];

/// Adds the thread's element to `sum`, a double in global memory.
const GLOBAL: &str = "ld.global.u64 %rd11, [%rd1];
    again:
    mov.u64 %rd3, %rd11;
    mov.b64 %fd2, %rd3;
    add.f64 %fd3, %fd1, %fd2;
    mov.b64 %rd10, %fd3;
    atom.global.cas.b64 %rd11, [%rd1], %rd3, %rd10;
    setp.ne.s64 %p1, %rd3, %rd11;
    @%p1 bra again;";

/// Adds the thread's element to a double in shared memory.
const SHARED: &str = "setp.ne.s32 %p2, %r1, 0;
    @%p2 bra met;
    mov.u64 %rd7, 0;
    st.shared.u64 [total], %rd7;
    met:
    bar.sync 0;
    ld.shared.u64 %rd11, [total];
    mov.u64 %rd12, total;
    again:
    mov.b64 %fd2, %rd11;
    add.f64 %fd3, %fd1, %fd2;
    mov.b64 %rd10, %fd3;
    atom.shared.cas.b64 %rd4, [%rd12], %rd11, %rd10;
    setp.ne.s64 %p1, %rd11, %rd4;
    mov.u64 %rd11, %rd4;
    @%p1 bra again;
    bar.sync 0;
    @%p2 bra end;
    ld.shared.u64 %rd13, [total];
    st.global.u64 [%rd6+4096], %rd13;
    end:";

/// Returns the findings of two blocks of 64 threads, and the final sum in global memory.
fn run(body: &str, schedule: Schedule) -> (Vec<Fault>, String, f64) {
    let text = format!(
        ".version 8.4\n.target sm_70\n.address_size 64\n\
         .visible .entry test(.param .u64 sum, .param .u64 in)\n{{\n\
         .shared .align 8 .f64 total;\n\
         .reg .b32 %r<9>;\n.reg .f64 %fd<9>;\n.reg .b64 %rd<20>;\n.reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [sum];\nld.param.u64 %rd2, [in];\nmov.u32 %r1, %tid.x;\n\
         mov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, %r2, 64, %r1;\nmul.wide.u32 %rd5, %r3, 8;\n\
         add.s64 %rd6, %rd2, %rd5;\nld.global.f64 %fd1, [%rd6];\n{body}\nret;\n}}\n"
    );
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut device = Device::new(schedule);
    let sum = device.put(&[0; 1024]);
    let input = device.put(&1f64.to_le_bytes().repeat(1024));
    let args = vec![Arg::U64(sum), Arg::U64(input)];
    device.launch(&module, &launch("test", 2, 64, 0, args)).unwrap();
    let faults = device.findings().iter().map(|f| f.fault).collect();
    let bytes = device.get(sum, 8).try_into().unwrap();
    (faults, device.said(), f64::from_le_bytes(bytes))
}

#[test]
fn a_guess_that_a_compare_and_swap_confirms_is_no_race() {
    let other = "ld.global.u64 %rd11, [%rd1];
        again:
        mov.b64 %fd2, %rd11;
        setp.gt.f64 %p3, %fd2, %fd1;
        selp.f64 %fd4, %fd2, 0d3FF0000000000000, %p3;
        add.f64 %fd3, %fd4, %fd4;
        mov.b64 %rd10, %fd3;
        atom.global.cas.b64 %rd4, [%rd1], %rd11, %rd10;
        setp.eq.s64 %p1, %rd4, %rd11;
        mov.u64 %rd11, %rd4;
        @!%p1 bra again;";
    let inside = GLOBAL
        .replace("ld.global.u64 %rd11, [%rd1];\n    again:", "again: ld.global.u64 %rd11, [%rd1];");
    for schedule in SCHEDULES {
        for body in [GLOBAL, &inside] {
            let (faults, text, sum) = run(body, schedule);
            assert_eq!((faults, sum), (vec![], 128.0), "{schedule} {text}");
        }
        // The function returns the old value.
        let (faults, text, _) =
            run(&format!("{GLOBAL}\nst.global.u64 [%rd6+4096], %rd3;"), schedule);
        assert_eq!(faults, [], "{schedule} {text}");
        for body in [SHARED, other] {
            let (faults, text, _) = run(body, schedule);
            assert_eq!(faults, [], "{schedule} {text}");
        }
    }
}

#[test]
fn a_guess_with_another_use_is_a_race() {
    let load = "ld.global.u64 %rd11, [%rd1];";
    let swap = "atom.global.cas.b64 %rd11, [%rd1], %rd3, %rd10;";
    let after = |line: &str, more: &str| GLOBAL.replace(line, &format!("{line}\n{more}"));
    for body in [
        // The value is stored, selects a branch, or is an address.
        after(load, "st.global.u64 [%rd6+4096], %rd11;"),
        after("again:", "st.global.u64 [%rd6+4096], %rd11;"),
        after("mov.b64 %fd2, %rd3;", "setp.le.f64 %p2, %fd1, %fd2;\n@%p2 bra end;") + "\nend:",
        after(
            load,
            "and.b64 %rd12, %rd11, 8;\nadd.s64 %rd12, %rd12, %rd6;\nld.global.u64 %rd13, [%rd12];",
        ),
        after(
            load,
            "shfl.sync.idx.b32 %r4, %r1, 0, 31, -1;\ncvt.u32.u64 %r5, %rd11;\nshfl.sync.idx.b32 %r4, %r5, 0, 31, -1;",
        ),
        // The new value is computed from the first guess only.
        GLOBAL
            .replace("again:\n    mov.u64 %rd3, %rd11;", "mov.u64 %rd3, %rd11;")
            .replace("mov.b64 %rd10, %fd3;", "mov.b64 %rd10, %fd3;\nagain: mov.u64 %rd3, %rd11;"),
        // A failed compare-and-swap is not repeated.
        GLOBAL.replace("@%p1 bra again;", ""),
        // The compare-and-swap compares another value, or is on another word.
        GLOBAL.replace("[%rd1], %rd3,", "[%rd1], 0,"),
        GLOBAL.replace("[%rd1], %rd3,", "[%rd1+8], %rd3,") + "\nred.global.add.u64 [%rd1], 1;",
        GLOBAL.replace(load, "ld.global.u64 %rd11, [%rd1];\nadd.s64 %rd11, %rd11, 1;"),
        // After the loop, the value is confirmed only if the loop ends by success.
        GLOBAL.replace("@%p1 bra", "@!%p1 bra") + "\nst.global.u64 [%rd6+4096], %rd3;",
        GLOBAL.replace(swap, &format!("{swap}\nsetp.gt.u32 %p2, %r1, 9;\n@%p2 bra out;"))
            + "\nout: st.global.u64 [%rd6+4096], %rd3;",
        // Another thread stores plainly.
        after(load, "setp.eq.u32 %p3, %r3, 70;\n@%p3 st.global.u64 [%rd1], %rd5;"),
    ] {
        for schedule in [Schedule::Converged, Schedule::MinPc] {
            let (faults, text, _) = run(&body, schedule);
            assert!(faults.contains(&Fault::DataRace), "{schedule} {body}: {text}");
        }
    }
    // The remedy names the access.
    let (_, text, _) = run(&after(load, "st.global.u64 [%rd6+4096], %rd11;"), Schedule::Converged);
    assert!(text.contains("make it atomic"), "{text}");
}
