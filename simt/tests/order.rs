//! Tests the order that fences and atomics establish. Ordered accesses must not race, and the check
//! must be fast.

use std::time::{Duration, Instant};

use crate::common::{Device, launch};
use simt::observe::Fault;
use simt::{Arg, Module, Schedule};

const SCHEDULES: [Schedule; 4] =
    [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(1), Schedule::Adversarial(2)];

/// Returns a kernel with one pointer, in `%rd1`, and the thread's index in `%r1`.
fn module(body: &str) -> Module {
    module_for("sm_70", body)
}

fn module_for(target: &str, body: &str) -> Module {
    let text = format!(
        ".version 7.8\n.target {target}\n.address_size 64\n\
         .visible .entry reduce(.param .u64 p)\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<16>;\n\
         .reg .b64 %rd<4>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %nctaid.x;\n{body}\nret;\n}}\n"
    );
    Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs a kernel on two zeros; returns the findings, the final values, and the time.
fn run(module: &Module, schedule: Schedule, grid: u32, block: u32) -> (Device, [u32; 2], Duration) {
    let mut device = Device::with(|config| config.schedule = schedule);
    let data = device.put(&[0; 8]);
    let start = Instant::now();
    device.launch(module, &launch("reduce", grid, block, 0, vec![Arg::U64(data)])).unwrap();
    let took = start.elapsed();
    let bytes = device.get(data, 8);
    let word = |i: usize| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap());
    (device, [word(0), word(1)], took)
}

/// The code that libcu++ emits for a sequentially consistent addition and a compare-and-swap loop.
const SEQUENTIAL: &str = "fence.sc.gpu;
    atom.add.acquire.gpu.global.u32 %r3, [%rd1+4], 1;
    fence.sc.gpu;
    ld.acquire.gpu.global.u32 %r4, [%rd1];
L:
    mov.u32 %r6, %r4;
    add.u32 %r5, %r4, 1;
    fence.sc.gpu;
    atom.cas.acquire.gpu.global.b32 %r4, [%rd1], %r6, %r5;
    setp.ne.u32 %p1, %r4, %r6;
    @%p1 bra L;";

#[test]
fn time_is_linear_in_fences_and_acquiring_atomics() {
    let module = module(SEQUENTIAL);
    for (grid, block) in [(1, 32), (1, 128), (2, 128), (2, 256)] {
        let (device, left, took) = run(&module, Schedule::Converged, grid, block);
        assert_eq!(left, [grid * block; 2]);
        assert!(device.findings().is_empty(), "{}", device.said());
        assert!(took < Duration::from_secs(10), "{grid} blocks of {block} took {took:?}");
        eprintln!("{grid} x {block}: {took:?}");
    }
}

/// Every block takes a ticket, and the last block resets both words with ordinary stores.
const RESET: &str = "setp.ne.u32 %p1, %r1, 0;
    @%p1 ret;
    sub.u32 %r3, %r2, 1;
    FENCE
    atom.ATOM.global.u32 %r4, [%rd1], 1;
    FENCE
    setp.ne.u32 %p2, %r4, %r3;
    @%p2 ret;
    mov.u32 %r5, 0;
    st.global.u32 [%rd1], %r5;";

#[test]
fn an_atomic_precedes_accesses_after_an_atomic_that_observed_it() {
    for (fence, atom) in [
        ("fence.acq_rel.gpu;", "add.relaxed.gpu"),
        ("", "add.relaxed.gpu"),
        ("fence.sc.gpu;", "add.relaxed.gpu"),
        ("", "add.acq_rel.gpu"),
    ] {
        let module = module(&RESET.replace("FENCE", fence).replace("ATOM", atom));
        for schedule in SCHEDULES {
            let (device, left, _) = run(&module, schedule, 9, 32);
            assert_eq!(left[0], 0);
            assert!(device.findings().is_empty(), "{fence} {atom} {schedule}: {}", device.said());
        }
    }
}

#[test]
fn an_atomic_with_too_narrow_a_scope_observes_nothing() {
    let module = module(&RESET.replace("FENCE", "").replace("ATOM", "add.relaxed.cta"));
    let (device, ..) = run(&module, Schedule::Converged, 9, 32);
    assert!(device.findings().iter().any(|f| f.fault == Fault::DataRace), "{}", device.said());
}

#[test]
fn a_reset_by_a_block_that_is_not_last_is_a_race() {
    // The first block resets the words while the other blocks take their tickets.
    let body = RESET.replace("FENCE", "").replace("ATOM", "add.relaxed.gpu");
    let module = module(&body.replace("%r4, %r3", "%r4, 0"));
    let (device, ..) = run(&module, Schedule::Converged, 9, 32);
    assert!(device.findings().iter().any(|f| f.fault == Fault::DataRace), "{}", device.said());
}

#[test]
fn observation_by_an_atomic_orders_no_other_memory() {
    // Each block stores to the second word before it takes its ticket, without a fence; the last
    // block reads this word.
    let body = RESET.replace("FENCE", "").replace("ATOM", "add.relaxed.gpu");
    let body = body.replace("sub.u32 %r3, %r2, 1;", "sub.u32 %r3, %r2, 1;\nmov.u32 %r6, %ctaid.x;\nsetp.ne.u32 %p3, %r6, 0;\n@%p3 bra S;\nst.global.u32 [%rd1+4], %r6;\nS:");
    let module = module(&body.replace("mov.u32 %r5, 0;", "ld.global.u32 %r5, [%rd1+4];"));
    let (device, ..) = run(&module, Schedule::Converged, 9, 32);
    assert!(device.findings().iter().any(|f| f.fault == Fault::DataRace), "{}", device.said());
}

/// The first block stores a value and sets a volatile flag; the second polls the flag and reads the
/// value.
const FLAG: &str = "mov.u32 %r3, %ctaid.x;
    setp.ne.u32 %p1, %r3, 0;
    @%p1 bra W;
    st.global.u32 [%rd1+4], 7;
    BEFORE
    st.volatile.global.u32 [%rd1], 1;
    ret;
W:
    ld.volatile.global.u32 %r4, [%rd1];
    setp.eq.u32 %p1, %r4, 0;
    @%p1 bra W;
    AFTER
    ld.global.u32 %r5, [%rd1+4];";

/// Polling a volatile flag is not a race, but without both fences, it orders nothing.
#[test]
fn a_volatile_flag_between_fences_is_no_race() {
    let fence = "fence.acq_rel.gpu;";
    for (before, after) in [(fence, fence), (fence, ""), ("", fence), ("", "")] {
        let module = module(&FLAG.replace("BEFORE", before).replace("AFTER", after));
        for schedule in SCHEDULES {
            let (device, ..) = run(&module, schedule, 2, 1);
            let faults: Vec<Fault> = device.findings().iter().map(|f| f.fault).collect();
            let ordered = !before.is_empty() && !after.is_empty();
            let expected = if ordered { vec![] } else { vec![Fault::DataRace] };
            assert_eq!(faults, expected, "{schedule}: {}", device.said());
        }
    }
}

/// A volatile store after a fence may be tested without polling. A later store is checked, because it
/// may be visible before that store.
#[test]
fn a_fence_makes_one_flag() {
    let test = |flags: &str| {
        module(&format!(
            "mov.u32 %r3, %ctaid.x;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra W;\nfence.acq_rel.gpu;\n\
             {flags}\nret;\n\
             W: ld.volatile.global.u32 %r4, [%rd1];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra end;\n\
             fence.acq_rel.gpu;\nend:"
        ))
    };
    let [one, other] = ["st.volatile.global.u32 [%rd1], 1;", "st.volatile.global.u32 [%rd1+4], 7;"];
    for (flags, expected) in [
        (one.to_owned(), vec![]),
        (format!("{one}\n{other}"), vec![]),
        (format!("{other}\n{one}"), vec![Fault::UnorderedVolatile]),
    ] {
        for schedule in SCHEDULES {
            let (device, ..) = run(&test(&flags), schedule, 2, 1);
            let faults: Vec<Fault> = device.findings().iter().map(|f| f.fault).collect();
            assert_eq!(faults, expected, "{schedule} {flags}: {}", device.said());
        }
    }
}

/// A value is not a flag, even if its store is the first one after a fence.
#[test]
fn a_fence_makes_no_flag_of_a_value() {
    let module = module(
        "mov.u32 %r3, %ctaid.x;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra W;\nfence.acq_rel.gpu;\n\
         st.volatile.global.u32 [%rd1+4], 7;\nst.volatile.global.u32 [%rd1], 1;\nret;\n\
         W: ld.volatile.global.u32 %r4, [%rd1];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra W;\n\
         fence.acq_rel.gpu;\nld.volatile.global.u32 %r5, [%rd1+4];",
    );
    for schedule in SCHEDULES {
        let (device, ..) = run(&module, schedule, 2, 1);
        let faults: Vec<Fault> = device.findings().iter().map(|f| f.fault).collect();
        assert_eq!(faults, [Fault::UnorderedVolatile], "{schedule}: {}", device.said());
    }
}

/// A ticket with block scope is not atomic for other blocks.
#[test]
fn tickets_with_too_narrow_a_scope_race() {
    for (body, grid, fine) in [
        ("atom.cta.global.inc.u32 %r4, [%rd1], 9;", 9, false),
        ("atom.cta.global.inc.u32 %r4, [%rd1], 9;", 1, true),
        ("atom.gpu.global.inc.u32 %r4, [%rd1], 9;", 9, true),
        (
            "fence.acq_rel.gpu;\natom.cta.global.inc.u32 %r4, [%rd1], 9;\nfence.acq_rel.gpu;",
            9,
            false,
        ),
        ("membar.gl;\natom.global.cta.inc.u32 %r4, [%rd1], 9;\nmembar.gl;", 9, false),
        ("red.cta.global.add.u32 [%rd1], 9;", 9, false),
    ] {
        let module = module(body);
        for schedule in SCHEDULES {
            let (device, ..) = run(&module, schedule, grid, 1);
            let raced = device.findings().iter().any(|f| f.fault == Fault::DataRace);
            assert_eq!(raced, !fine, "{body} {grid} {schedule}: {}", device.said());
        }
    }
}

/// A kernel whose threads store to shared memory, meet at an `mbarrier` that all of them poll, and
/// read what the others stored. `%r6` is the number of threads that meet.
fn polled(rest: &str) -> Module {
    module_for(
        "sm_80",
        &format!(
            ".shared .align 8 .b64 bar;\n.shared .align 4 .b8 room[1024];\n\
             shl.b32 %r3, %r1, 2;\nmov.u32 %r4, room;\nadd.u32 %r3, %r3, %r4;\nmov.u32 %r5, bar;\n\
             {rest}"
        ),
    )
}

const START: &str = "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\nmbarrier.init.shared.b64 [%r5], %r6;\n\
     READY:\nbar.sync 0;\nadd.u32 %r7, %r1, 1;\nst.shared.u32 [%r3], %r7;";

const MEET: &str = "mbarrier.arrive.shared.b64 %rd2, [%r5];\n\
     POLL:\nmbarrier.test_wait.shared.b64 %p1, [%r5], %rd2;\n@!%p1 bra POLL;";

/// Each of 256 threads is compared with the arrivals of all others, in each of nine phases.
#[test]
fn threads_may_meet_at_a_polled_mbarrier() {
    let module = polled(&format!(
        "mov.u32 %r6, %ntid.x;\n{START}\nROUND:\n{MEET}\n\
         shr.u32 %r6, %r6, 1;\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 bra DONE;\n\
         setp.ge.u32 %p3, %r1, %r6;\n@%p3 bra ROUND;\n\
         shl.b32 %r8, %r6, 2;\nadd.u32 %r8, %r8, %r3;\nld.shared.u32 %r9, [%r8];\n\
         ld.shared.u32 %r10, [%r3];\nadd.u32 %r10, %r10, %r9;\nst.shared.u32 [%r3], %r10;\n\
         bra ROUND;\nDONE:\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\n\
         ld.shared.u32 %r10, [room];\nmov.u32 %r2, %ctaid.x;\nand.b32 %r2, %r2, 1;\n\
         mul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd3, %rd1, %rd3;\nred.global.add.u32 [%rd3], %r10;"
    ));
    for schedule in SCHEDULES {
        let (device, left, took) = run(&module, schedule, 2, 256);
        assert_eq!(left, [256 * 257 / 2; 2]);
        assert!(device.findings().is_empty(), "{schedule}: {}", device.said());
        eprintln!("{schedule}: {:?} per block", took / 2);
        // In other orders, most of the time goes into the polls themselves.
        let slow = schedule == Schedule::Converged && took > Duration::from_millis(300);
        assert!(!slow, "{schedule}: 2 blocks took {took:?}");
    }
}

/// Threads that exit without an arrival have released nothing.
#[test]
fn an_mbarrier_orders_no_thread_that_exits_without_arriving() {
    for (exits, races) in [("", false), ("setp.ge.u32 %p2, %r1, %r6;\n@%p2 ret;", true)] {
        let threads = if races { "128" } else { "%ntid.x" };
        let module = polled(&format!(
            "mov.u32 %r6, {threads};\n{START}\n{exits}\n{MEET}\n\
             xor.b32 %r8, %r1, 128;\nshl.b32 %r8, %r8, 2;\nadd.u32 %r8, %r8, %r4;\n\
             ld.shared.u32 %r9, [%r8];"
        ));
        for schedule in SCHEDULES {
            let (device, ..) = run(&module, schedule, 1, 256);
            let faults: Vec<Fault> = device.findings().iter().map(|f| f.fault).collect();
            assert_eq!(faults.contains(&Fault::DataRace), races, "{schedule}: {}", device.said());
        }
    }
}
