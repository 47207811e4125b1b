//! Tests that the advice of a finding fixes the kernel, and that polling is not reported as an
//! endless loop.

use std::time::Instant;

use crate::common::{Device, launch};
use simt::observe::Fault;
use simt::{Arg, Module, Schedule};

const SCHEDULES: [Schedule; 3] = [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(5)];

fn module(body: &str) -> Module {
    let text = format!(
        ".version 8.4\n.target sm_80\n.address_size 64\n\
         .visible .entry test(.param .u64 in)\n{{\n.shared .align 16 .b8 h[1024];\n\
         .reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [in];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, h;\n{body}\nret;\n}}\n"
    );
    Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Returns the findings and cures for one block under each schedule.
fn said(body: &str, threads: u32) -> Vec<(Vec<Fault>, String)> {
    let module = module(body);
    SCHEDULES
        .into_iter()
        .map(|schedule| {
            let mut device = Device::new(schedule);
            let input = device.put(&[0; 1024]);
            device.launch(&module, &launch("test", 1, threads, 0, vec![Arg::U64(input)])).unwrap();
            (device.findings().iter().map(|f| f.fault).collect(), device.said())
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

#[test]
fn a_plain_read_beside_an_atomic_is_told_of_both() {
    let body = "ld.global.u32 %r3, [%rd1];\nadd.u32 %r4, %r3, 1;\natom.global.cas.b32 %r5, [%rd1], %r3, %r4;";
    for (faults, text) in said(body, 64) {
        assert_eq!(faults, [Fault::DataRace], "{text}");
        assert!(text.contains("make both accesses atomic, or put a `__syncthreads()`"), "{text}");
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

/// The time to load a module does not grow with the square of the number of constants.
#[test]
fn many_constants_load_soon() {
    let lines: String =
        (0..50_000).map(|i| format!("add.u32 %r3, %r3, {};\n", 7 * i + 100)).collect();
    let start = Instant::now();
    module(&format!("mov.u32 %r3, 0;\n{lines}"));
    assert!(start.elapsed().as_secs() < 3, "{:?}", start.elapsed());
}
