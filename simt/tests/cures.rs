//! Tests that the advice of a finding fixes the kernel, and that polling is not reported as an
//! endless loop.

use std::time::Instant;

use crate::common::{Device, launch};
use simt::observe::Fault;
use simt::{Arg, Module, Schedule};

const SCHEDULES: [Schedule; 3] = [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(5)];

fn text(body: &str) -> String {
    format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n\
         .visible .entry test(.param .u64 in)\n{{\n.shared .align 16 .b8 h[1040];\n\
         .reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [in];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, h;\n{body}\nret;\n}}\n"
    )
}

fn module(body: &str) -> Module {
    let text = text(body);
    Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Returns the faults that are found in one block under each schedule, and the text of the
/// findings.
fn said(body: &str, threads: u32) -> Vec<(Vec<Fault>, String)> {
    let module = module(body);
    SCHEDULES
        .into_iter()
        .map(|schedule| {
            let mut device = Device::new(schedule);
            let input = device.put(&[0; 1024]);
            let launch = launch("test", 1, threads, 0, vec![Arg::U64(input)]);
            let stopped = device.launch(&module, &launch).err().map(|error| error.to_string());
            let text = device.said() + &stopped.unwrap_or_default();
            (device.findings().iter().map(|f| f.fault).collect(), text)
        })
        .collect()
}

#[test]
fn a_change_in_place_needs_an_atomic() {
    // Each thread executes h[t % 4]++ after h was set to 0.
    let body = "shl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\nst.shared.u32 [%r4], 0;\nbar.sync 0;\n\
                and.b32 %r5, %r3, 12;\nadd.u32 %r6, %r2, %r5;\nld.shared.u32 %r7, [%r6];\n\
                add.u32 %r7, %r7, 1;\nst.shared.u32 [%r6], %r7;";
    for (faults, text) in said(body, 32) {
        assert!(!faults.is_empty() && faults.iter().all(|f| *f == Fault::DataRace), "{text}");
        assert!(text.contains("use one atomic operation"), "{text}");
        assert!(!text.contains("no harm") && !text.contains("__syncwarp"), "{text}");
    }
}

#[test]
fn a_tree_that_lacks_a_barrier_is_told_of_the_barrier() {
    // 64 threads execute shared[t] += shared[t + 32], without a barrier after the load.
    let body = "shl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\nst.shared.u32 [%r4], %r1;\n\
                setp.gt.u32 %p1, %r1, 31;\n@%p1 bra end;\nld.shared.u32 %r5, [%r4+128];\n\
                ld.shared.u32 %r6, [%r4];\nadd.u32 %r6, %r6, %r5;\nst.shared.u32 [%r4], %r6;\nend:";
    for (faults, text) in said(body, 64) {
        assert!(faults.contains(&Fault::DataRace), "{text}");
        assert!(text.contains("a `__syncthreads()` is missing between them"), "{text}");
    }
}

/// Each thread stores its value, reads that of another warp behind a barrier, and repeats this. The
/// barrier between the rounds is missing.
#[test]
fn a_barrier_that_is_missing_between_rounds_is_placed_there() {
    let lined = |body: &str| format!(".file 1 \"kernel.cu\"\n{}", text(body));
    let body = |between: &str| {
        lined(&format!(
            "shl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\nxor.b32 %r5, %r3, 128;\n\
             add.u32 %r5, %r2, %r5;\nmov.u32 %r6, 0;\n\
             next:\n.loc 1 5 1\nst.shared.u32 [%r4], %r1;\n.loc 1 6 1\nbar.sync 0;\n\
             .loc 1 7 1\nld.shared.u32 %r7, [%r5];\n.loc 1 8 1\n{between}\n\
             add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 3;\n@%p1 bra next;"
        ))
    };
    for schedule in SCHEDULES {
        for (between, words) in [
            ("", "`__syncthreads()` is missing between line 7 and the next execution of line 5"),
            ("bar.sync 0;", ""),
        ] {
            let module = Module::parse(&body(between)).unwrap_or_else(|e| panic!("{e}"));
            let mut device = Device::new(schedule);
            let input = device.put(&[0; 1024]);
            device.launch(&module, &launch("test", 1, 64, 0, vec![Arg::U64(input)])).unwrap();
            let text = device.said();
            assert_eq!(text.is_empty(), words.is_empty(), "{schedule}: {text}");
            assert!(text.contains(words), "{schedule}: {text}");
        }
    }
}

/// A store outside a loop has no rounds, and a variable that is no array has no index.
#[test]
fn a_remedy_mentions_only_what_the_kernel_has() {
    for (faults, text) in said("st.shared.u32 [%r2], %r1;", 64) {
        assert_eq!(faults, [Fault::DataRace], "{text}");
        assert!(text.contains("let one thread write it, or give each thread its own"), "{text}");
        assert!(!text.contains("rounds"), "{text}");
    }
    let last = "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.u32 [h], 7;\nld.shared.u32 %r3, [h];";
    for (_, text) in said(last, 64) {
        let races: Vec<&str> = text.lines().filter(|line| line.contains("data race")).collect();
        assert!(!races.is_empty() && !text.contains("index"), "{text}");
        assert!(races.iter().all(|line| line.contains("` is missing between them")), "{text}");
    }
}

/// Each block reads the counter of tickets and writes it back. The accesses are volatile, and the
/// first volatile store after a fence is not reported.
#[test]
fn a_ticket_that_is_not_taken_atomically_is_named() {
    let body = "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra end;\nmov.u32 %r3, %ctaid.x;\n\
                mad.wide.u32 %rd2, %r3, 4, %rd1;\nst.global.u32 [%rd2+64], %r3;\nmembar.gl;\n\
                ld.volatile.global.u32 %r4, [%rd1];\nadd.u32 %r5, %r4, 1;\n\
                st.volatile.global.u32 [%rd1], %r5;\nsetp.ne.u32 %p2, %r4, 2;\n@%p2 bra end;\n\
                membar.gl;\nld.global.u32 %r7, [%rd1+64];\nend:";
    let module = module(body);
    let mut device = Device::new(Schedule::Converged);
    let input = device.put(&[0; 1024]);
    device.launch(&module, &launch("test", 3, 32, 0, vec![Arg::U64(input)])).unwrap();
    let text = device.said();
    let words = "writes it back, so blocks can have the same ticket; take tickets with one atomic";
    assert!(text.contains(words), "{text}");
}

#[test]
fn a_plain_read_beside_an_atomic_is_told_of_both() {
    let body = "ld.global.u32 %r3, [%rd1];\nadd.u32 %r4, %r3, 1;\natom.global.cas.b32 %r5, [%rd1], %r3, %r4;";
    for (faults, text) in said(body, 64) {
        assert_eq!(faults, [Fault::DataRace], "{text}");
        assert!(text.contains("make both accesses atomic, or put a `__syncthreads()`"), "{text}");
    }
}

/// Two warps run the last rounds of a sum, which are written for one warp. Each `__syncwarp()`
/// orders only the lanes of its own warp. A missing `__syncthreads()` before these rounds is
/// another fault.
#[test]
fn rounds_for_one_warp_are_for_one_warp() {
    let rounds = |threads: u32, barrier: &str| {
        format!(
            "shl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\nst.shared.u32 [%r4], %r1;\n{barrier}\n\
             setp.ge.u32 %p1, %r1, {threads};\n@%p1 bra end;\nld.shared.u32 %r5, [%r4];\n\
             ld.shared.u32 %r6, [%r4+128];\nadd.u32 %r5, %r5, %r6;\nbar.warp.sync -1;\n\
             st.shared.u32 [%r4], %r5;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r4+64];\n\
             add.u32 %r5, %r5, %r6;\nbar.warp.sync -1;\nst.shared.u32 [%r4], %r5;\nend:"
        )
    };
    for (faults, text) in said(&rounds(64, "bar.sync 0;"), 128) {
        assert_eq!(faults, [Fault::DataRace], "{text}");
        assert!(text.contains("several warps run this code; let one warp run it"), "{text}");
    }
    for (faults, text) in said(&rounds(32, ""), 128) {
        assert!(faults.contains(&Fault::DataRace), "{text}");
        assert!(!text.contains("several warps"), "{text}");
        assert!(text.contains("a `__syncthreads()` is missing between them"), "{text}");
    }
    for (_, text) in said(&rounds(32, "bar.sync 0;"), 128) {
        assert_eq!(text, "");
    }
}

/// Each lane of warp 0 stores, then counts itself; only lane 5 skips the fence between the two. The
/// finding names this lane, not the first lane of its warp.
#[test]
fn the_lane_that_lacks_a_fence_is_named() {
    let published = |space: &str, lane: u32| {
        format!(
            "setp.ne.u32 %p1, %r1, 0;\n@!%p1 st.shared.u32 [%r2+1024], 0;\nbar.sync 0;\n\
             cvt.u64.u32 %rd2, %r2;\ncvta.shared.u64 %rd3, %rd2;\ncvta.global.u64 %rd4, %rd1;\n\
             setp.gt.u32 %p1, %r1, 31;\n@%p1 bra reader;\n\
             mad.wide.u32 %rd5, %r1, 4, {space};\nst.u32 [%rd5], %r1;\n\
             setp.eq.u32 %p2, %r1, {lane};\n@%p2 bra skip;\nmembar.cta;\n\
             skip: atom.shared.add.u32 %r5, [%r2+1024], 1;\nbra end;\n\
             reader: setp.ne.u32 %p3, %r1, 32;\n@%p3 bra end;\n\
             poll: ld.volatile.shared.u32 %r6, [%r2+1024];\nsetp.lt.u32 %p4, %r6, 32;\n\
             @%p4 bra poll;\nmembar.cta;\nmov.u32 %r7, 0;\n\
             next: mad.wide.u32 %rd6, %r7, 4, {space};\nld.u32 %r9, [%rd6];\n\
             add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p5, %r7, 32;\n@%p5 bra next;\nend:"
        )
    };
    for space in ["%rd3", "%rd4"] {
        for (faults, text) in said(&published(space, 5), 64) {
            assert_eq!(faults, [Fault::DataRace], "{text}");
            assert!(text.contains("thread 32") && text.contains("thread 5"), "{text}");
            assert!(!text.contains("thread 0"), "{text}");
        }
        for (_, text) in said(&published(space, 99), 64) {
            assert_eq!(text, "");
        }
    }
}

/// Tests the finding for an mbarrier that other threads may use before it is initialized.
#[test]
fn an_mbarrier_is_used_after_its_initialization() {
    let used = |between: &str| {
        format!(
            "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra made;\nmbarrier.init.shared.b64 [%r2], 64;\n\
             made: {between}\nmbarrier.arrive.shared.b64 %rd9, [%r2];"
        )
    };
    let (arrive, wait) = ("barrier.cluster.arrive.aligned;", "barrier.cluster.wait.aligned;");
    for (between, cure) in [
        ("bar.warp.sync -1;", "put a `__syncthreads()` between the initialization"),
        (arrive, "arrive at the barrier of the cluster, but none waits"),
    ] {
        // Only the first schedule is tested, because in other orders a thread finds no mbarrier,
        // which stops the kernel.
        for (_, text) in said(&used(between), 64).into_iter().take(1) {
            assert!(text.contains(cure), "{text}");
            assert!(!text.contains("make both accesses atomic"), "{text}");
        }
    }
    for between in ["bar.sync 0;", &format!("{arrive}\n{wait}")] {
        for (_, text) in said(&used(between), 64) {
            assert_eq!(text, "", "{between}");
        }
    }
}

/// Launches clusters of two blocks. In each cluster, the first block initializes an mbarrier, and
/// the second block arrives there.
#[test]
fn an_mbarrier_of_another_block_needs_a_barrier_of_the_cluster() {
    let body = "mov.u32 %r3, %cluster_ctarank;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra other;\n\
                mbarrier.init.shared.b64 [%r2], 1;\nbra end;\n\
                other: mapa.shared::cluster.u32 %r4, %r2, 0;\n\
                mbarrier.arrive.shared::cluster.b64 _, [%r4];\nend:";
    let module = Module::parse(&text(body).replace("sm_80", "sm_90")).unwrap();
    let mut device = Device::new(Schedule::Converged);
    let input = device.put(&[0; 16]);
    let mut launch = launch("test", 2, 1, 0, vec![Arg::U64(input)]);
    launch.cluster[0] = 2;
    let _ = device.launch(&module, &launch);
    let said = device.said();
    assert!(said.contains("put a `cluster.sync()` between the initialization"), "{said}");
}

/// 32 threads execute h[t % 16] = h[t % 16] + h[64 + t % 16]: no barrier makes this correct.
#[test]
fn threads_with_equal_indices_are_told_of_them() {
    let body = "shl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\nst.shared.u32 [%r4], %r1;\n\
                st.shared.u32 [%r4+256], %r1;\nbar.sync 0;\nand.b32 %r5, %r3, 63;\n\
                add.u32 %r6, %r2, %r5;\nld.shared.u32 %r7, [%r6];\nld.shared.u32 %r8, [%r6+256];\n\
                add.u32 %r7, %r7, %r8;\nbar.warp.sync -1;\nst.shared.u32 [%r6], %r7;";
    for (_, text) in said(&body.replace("bar.warp.sync -1;\n", ""), 32) {
        assert!(text.contains("or both threads have the same index"), "{text}");
    }
}

/// Of two blocks, the last one adds what both stored. Lane 0 takes the ticket, and all lanes read.
#[test]
fn a_lane_that_did_not_acquire_is_told_to_synchronize_its_warp() {
    let read = |between: &str| {
        format!(
            "mov.u32 %r3, %ctaid.x;\nmad.wide.u32 %rd2, %r3, 4, %rd1;\nmov.u32 %r5, 0;\n\
             setp.ne.u32 %p1, %r1, 0;\n@%p1 bra all;\nst.global.u32 [%rd2+64], %r3;\n\
             atom.acq_rel.gpu.global.add.u32 %r5, [%rd1], 1;\n\
             all: shfl.sync.idx.b32 %r5, %r5, 0, 31, -1;\nsetp.ne.u32 %p2, %r5, 1;\n@%p2 bra end;\n\
             {between}\nand.b32 %r6, %r1, 1;\nmad.wide.u32 %rd3, %r6, 4, %rd1;\n\
             ld.global.u32 %r7, [%rd3+64];\nend:"
        )
    };
    for (between, threads, cure) in
        [("", 32, "put a `__syncwarp()` before this access"), ("bar.warp.sync -1;", 32, "")]
    {
        let module = module(&read(between));
        for schedule in SCHEDULES {
            let mut device = Device::new(schedule);
            let input = device.put(&[0; 1024]);
            device.launch(&module, &launch("test", 2, threads, 0, vec![Arg::U64(input)])).unwrap();
            let said = device.said();
            assert!(said.contains(cure) && said.is_empty() == cure.is_empty(), "{said}");
            assert!(!said.contains("nothing orders two blocks"), "{said}");
        }
    }
}

/// In PTX, two barriers of the whole block are one barrier.
#[test]
fn barriers_of_inline_assembly_have_the_meaning_of_ptx() {
    let half = |barrier: &str| {
        let body = "setp.gt.u32 %p1, %r1, 31;\n@%p1 bra other;\n.loc 1 5 1\nBAR\nbra end;\nother:\n\
                    .loc 1 6 1\nBAR\nend:";
        let text = text(&body.replace("BAR", barrier));
        let text = text.replace(".visible .entry", ".file 1 \"kernel.cu\"\n.visible .entry");
        let mut device = Device::new(Schedule::Converged);
        let input = device.put(&[0; 16]);
        let module = Module::parse(&text).unwrap();
        device.launch(&module, &launch("test", 1, 64, 0, vec![Arg::U64(input)])).unwrap();
        device.findings().iter().map(|f| f.fault).collect::<Vec<_>>()
    };
    assert_eq!(half("// begin inline asm\nbar.sync 0;\n// end inline asm"), []);
    assert_eq!(half("bar.sync 0;"), [Fault::DivergentBarrier]);
}

/// Half of the threads of a block wait at one barrier, and the other half at another one.
#[test]
fn a_barrier_in_a_condition_is_not_the_one_after_it() {
    let body = "setp.gt.u32 %p1, %r1, 31;\n@%p1 bra over;\n.loc 1 5 1\nbar.sync 0;\nover:\n\
                .loc 1 LINE 1\nbar.sync 0;\nsetp.gt.u32 %p1, %r1, 31;\n@!%p1 bra end;\nbar.sync 0;\nend:";
    let run = |line: &str| {
        let file = ".file 1 \"kernel.cu\"\n.visible .entry";
        let text = text(&body.replace("LINE", line)).replace(".visible .entry", file);
        let mut device = Device::new(Schedule::Converged);
        let input = device.put(&[0; 16]);
        let module = Module::parse(&text).unwrap();
        device.launch(&module, &launch("test", 1, 64, 0, vec![Arg::U64(input)])).unwrap();
        (device.findings().iter().map(|f| f.fault).collect::<Vec<_>>(), device.said())
    };
    let (faults, said) = run("6");
    assert_eq!(faults, [Fault::DivergentBarrier], "{said}");
    let start = "thread 32 waits at the block barrier at line 6 while thread 0 waits at another one at line 5: CUDA C++ does not define this";
    assert!(
        said.starts_with(start)
            || said.contains("thread 0 waits at the block barrier at line 5 while thread 32"),
        "{said}"
    );
    // Copies of one barrier have one line.
    assert_eq!(run("5").0, []);
}

/// All threads wait for the phase after the current one, which no thread can complete.
#[test]
fn a_phase_that_never_ends_is_named() {
    let body = "setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [%r2], 65;\nbar.sync 0;\n\
                mbarrier.arrive.shared.b64 %rd9, [%r2];\n\
                wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;\n@!%p2 bra wait;";
    let module = Module::parse(&text(body).replace("sm_80", "sm_90")).unwrap();
    for schedule in SCHEDULES {
        let mut device = Device::new(schedule);
        let input = device.put(&[0; 16]);
        let error = device.launch(&module, &launch("test", 1, 64, 0, vec![Arg::U64(input)]));
        let said = error.unwrap_err().to_string();
        assert!(said.contains("64 threads wait at an mbarrier"), "{said}");
        assert!(said.contains("nothing can complete the phase"), "{said}");
    }
}

/// 128 threads store, arrive and poll with `test_wait`, eight times in a row.
#[test]
fn polling_an_mbarrier_costs_no_more_than_a_load() {
    let round = |phase: u32| {
        format!(
            "mbarrier.arrive.shared.b64 %rd9, [%r2+1000];\nagain{phase}:\n\
             mbarrier.test_wait.shared.b64 %p2, [%r2+1000], %rd9;\n@!%p2 bra again{phase};\n"
        )
    };
    let body = format!(
        "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra made;\nmbarrier.init.shared.b64 [%r2+1000], 128;\n\
         made: bar.sync 0;\n{}",
        (0..8).map(round).collect::<String>()
    );
    let start = Instant::now();
    for (_, text) in said(&body, 128) {
        assert_eq!(text, "");
    }
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// 256 threads pass a barrier 4 times. The barrier is a counter in shared memory, which each thread
/// polls.
const COUNTED_BARRIER: &str = "
    shl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\nsub.u32 %r5, 1020, %r3;\nadd.u32 %r5, %r2, %r5;\n\
    mov.u32 %r9, 0;\nsetp.ne.u32 %p1, %r1, 0;\n@!%p1 st.shared.u32 [%r2+1024], 0;\nbar.sync 0;\n\
    again: st.shared.u32 [%r4], %r9;\nmembar.cta;\natom.shared.add.u32 %r6, [%r2+1024], 1;\n\
    add.u32 %r9, %r9, 256;\n\
    wait: ld.volatile.shared.u32 %r7, [%r2+1024];\nsetp.lt.u32 %p2, %r7, %r9;\n@%p2 bra wait;\n\
    membar.cta;\nld.shared.u32 %r8, [%r5];\nmembar.cta;\natom.shared.add.u32 %r6, [%r2+1024], 1;\n\
    add.u32 %r9, %r9, 256;\n\
    leave: ld.volatile.shared.u32 %r7, [%r2+1024];\nsetp.lt.u32 %p2, %r7, %r9;\n@%p2 bra leave;\n\
    membar.cta;\nsetp.lt.u32 %p3, %r9, 2048;\n@%p3 bra again;";

/// Repeated polls cost little, however many threads poll. The checked run takes at most 240 times as
/// long as the unchecked one.
#[test]
fn a_barrier_that_all_threads_poll_is_checked_quickly() {
    let module = module(COUNTED_BARRIER);
    let mut device = Device::new(Schedule::Converged);
    let input = device.put(&[0; 1024]);
    let launch = launch("test", 2, 256, 0, vec![Arg::U64(input)]);
    let start = Instant::now();
    device.gpu.launch_watched(&module, &launch, None).unwrap();
    let unchecked = start.elapsed();
    device.launch(&module, &launch).unwrap();
    let checked = start.elapsed() - unchecked;
    assert_eq!(device.said(), "");
    assert!(checked < 240 * unchecked, "{unchecked:?}, with checks {checked:?}");
}

/// A poll is checked again after a write or a fence. Here, the last read of each thread reads the
/// value of a writer that the thread is not ordered after.
#[test]
fn a_poll_after_a_change_is_checked_again() {
    let body = "setp.ne.u32 %p1, %r1, 0;\n@!%p1 st.shared.u32 [%r2], 0;\nbar.sync 0;\n\
                mov.u32 %r9, 0;\n\
                again: ld.volatile.shared.u32 %r3, [%r2];\nadd.u32 %r9, %r9, 1;\n\
                setp.lt.u32 %p2, %r9, 4;\n@%p2 bra again;\n\
                setp.eq.u32 %p3, %r1, 37;\n@%p3 st.shared.u32 [%r2], 1;\n\
                setp.lt.u32 %p2, %r9, 8;\n@%p2 bra again;";
    for (faults, text) in said(body, 64) {
        assert!(faults.contains(&Fault::DataRace), "{text}");
    }
}

/// Each thread of a block takes one of 4 permits. The lanes that hold a permit wait for the others
/// to converge, so they must be released to return their permits.
#[test]
fn a_contended_semaphore_is_no_endless_loop() {
    let body = "setp.ne.u32 %p1, %r1, 0;\n@!%p1 st.shared.u32 [%r2], 4;\nbar.sync 0;\n\
                again: ld.volatile.shared.u32 %r3, [%r2];\n\
                setp.eq.u32 %p2, %r3, 0;\n@%p2 bra again;\nsub.u32 %r4, %r3, 1;\n\
                atom.shared.cas.b32 %r5, [%r2], %r3, %r4;\nsetp.ne.u32 %p2, %r5, %r3;\n\
                @%p2 bra again;\nmembar.cta;\natom.global.add.u32 %r6, [%rd1], 1;\n\
                membar.cta;\natom.shared.add.u32 %r5, [%r2], 1;";
    let module = module(body);
    for schedule in SCHEDULES {
        let mut device = Device::with(|config| {
            config.schedule = schedule;
            config.block_budget = 1 << 20;
        });
        let input = device.put(&[0; 1024]);
        device.launch(&module, &launch("test", 2, 128, 0, vec![Arg::U64(input)])).unwrap();
        assert_eq!((device.get(input, 4), device.said()), (vec![0, 1, 0, 0], String::new()));
    }
}

/// The time to load a module does not grow quadratically with the number of constants.
#[test]
fn many_constants_load_soon() {
    let lines: String =
        (0..50_000).map(|i| format!("add.u32 %r3, %r3, {};\n", 7 * i + 100)).collect();
    let start = Instant::now();
    module(&format!("mov.u32 %r3, 0;\n{lines}"));
    assert!(start.elapsed().as_secs() < 3, "{:?}", start.elapsed());
}

/// The analyses of a kernel do not take quadratic time if its instructions run from the last to the
/// first.
#[test]
fn a_kernel_that_runs_backwards_loads_soon() {
    let many = 10_000;
    let steps: String = (0..many)
        .rev()
        .map(|i| format!("L{i}: add.u32 %a{}, %a{i}, 0;\nbra L{};\n", i + 1, i + 1))
        .collect();
    let body = format!(
        ".reg .b32 %a<{}>;\n@%p1 mov.u32 %a0, h;\nbra L0;\n{steps}L{many}: st.shared.u32 [%r2], %a{many};",
        many + 1
    );
    let start = Instant::now();
    let module = module(&format!("setp.ne.u32 %p1, %r1, 40;\n{body}"));
    let mut device = Device::new(Schedule::Converged);
    let input = device.put(&[0; 16]);
    device.launch(&module, &launch("test", 1, 1, 0, vec![Arg::U64(input)])).unwrap();
    assert!(start.elapsed().as_secs() < 4, "{:?}", start.elapsed());
}
