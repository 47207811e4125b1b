//! Tests a `__syncwarp()` or a shuffle that not all lanes of its mask execute together.
//!
//! On sm_70 and newer, lanes may execute different calls, and the barrier does not wait for exited
//! lanes. On every GPU, PTX for older targets requires all lanes to execute the same instruction in
//! convergence (PTX manual, `bar.warp.sync`); the check enforces this rule.

use crate::common::{Device, SCHEDULES, launch};
use simt::observe::Fault;
use simt::{Module, Schedule};

/// Runs a body in one or more warps; returns the error, if any, and the findings.
fn run(
    target: u32,
    body: &str,
    threads: u32,
    schedule: Schedule,
) -> (String, Vec<(Fault, String)>) {
    let text = format!(
        ".version 8.4\n.target sm_{target}\n.address_size 64\n.visible .entry test()\n{{\n\
         .reg .b32 %r<9>;\n.reg .pred %p<9>;\nmov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 16;\n{body}\nret;\n}}\n"
    );
    let mut device = Device::new(schedule);
    let module = Module::parse(&text).unwrap();
    let launch = launch("test", 1, threads, 0, vec![]);
    let error = device.launch(&module, &launch).err().map(|e| e.to_string()).unwrap_or_default();
    let findings = device.findings();
    (error, findings.iter().map(|f| (f.fault, f.sentence())).collect())
}

/// Half of the warp skips the barrier and exits.
const ROUND: &str = "@!%p1 bra after;\nbar.warp.sync -1;\nafter:\nadd.u32 %r2, %r1, 1;";
/// Half of the warp skips the barrier and executes another barrier.
const LATER: &str = "@!%p1 bra after;\nbar.warp.sync -1;\nafter:\nbar.warp.sync -1;";
/// Each half has its own barrier.
const APART: &str =
    "@!%p1 bra other;\nbar.warp.sync -1;\nbra after;\nother:\nbar.warp.sync -1;\nafter:";
/// Half of the warp has returned.
const RETURNED: &str = "@!%p1 bra end;\nbar.warp.sync -1;\nend:";
/// The mask names only the lanes that execute it.
const NAMED: &str = "@!%p1 bra after;\nbar.warp.sync 0xffff;\nafter:\nbar.warp.sync -1;";
/// Half of the warp waits at a block barrier.
const BLOCK: &str = "@!%p1 bra after;\nbar.warp.sync -1;\nafter:\nbarrier.sync 0;";

#[test]
fn since_volta_lanes_may_be_at_different_barriers() {
    for schedule in SCHEDULES {
        for body in [ROUND, LATER, APART, RETURNED, NAMED] {
            assert_eq!(run(70, body, 32, schedule), Default::default(), "{schedule}: {body}");
        }
    }
}

#[test]
fn before_volta_all_lanes_must_be_at_one_barrier() {
    for schedule in SCHEDULES {
        for (body, threads) in [(ROUND, 32), (LATER, 32), (APART, 64), (RETURNED, 32)] {
            let (error, found) = run(60, body, threads, schedule);
            assert_eq!(error, "", "{schedule}: {body}");
            assert!(!found.is_empty(), "{schedule}: {body}");
            for (fault, said) in found {
                assert_eq!(fault, Fault::DivergentBarrier, "{schedule}: {said}");
                assert!(said.ends_with("put the condition around the work, not around the `__syncwarp()`, or put only the lanes that reach it in its mask"), "{said}");
            }
        }
        for threads in [32, 33, 48, 64] {
            assert_eq!(run(60, "bar.warp.sync -1;", threads, schedule), Default::default());
            assert_eq!(run(60, NAMED, threads, schedule), Default::default(), "{schedule}");
        }
    }
}

#[test]
fn the_message_has_the_lanes_that_reach_it_and_the_others() {
    let said = |body| run(60, body, 32, Schedule::Converged).1[0].1.clone();
    assert_eq!(
        said(RETURNED),
        "16 of the 32 lanes in the mask of the `__syncwarp()` at PTX line 11 reach it, and 16 \
         have exited: PTX for sm_60 requires all of them to converge there (PTX for sm_70 does not): put the \
         condition around the work, not around the `__syncwarp()`, or put only the lanes that reach it in its mask"
    );
    assert!(said(APART).starts_with(
        "16 of the 32 lanes in the mask of the `__syncwarp()` at PTX line 11 reach it, and 16 \
         reach another one at PTX line 14: "
    ));
}

#[test]
fn a_barrier_never_opens_if_some_lanes_wait_elsewhere() {
    for target in [60, 70] {
        for schedule in SCHEDULES {
            let (error, found) = run(target, BLOCK, 64, schedule);
            assert!(error.starts_with("deadlock at PTX line 11 by thread "), "{schedule}: {error}");
            assert!(error.contains("16 threads wait at a warp-wide operation on PTX line 11"));
            assert!(error.contains("48 threads wait at a block barrier on PTX line 13"), "{error}");
            assert!(error.contains("move it out of the condition, or put only"), "{error}");
            assert_eq!(found.len(), 1, "{found:?}");
        }
    }
}

/// Half of the warp executes one `barrier.sync`, and the other half another one.
const SPLIT: &str =
    "@!%p1 bra other;\nbarrier.sync 0;\nbra after;\nother:\nbarrier.sync 0;\nafter:";

/// Before sm_70, all lanes of a warp must execute the same `barrier`, even without `.aligned`.
#[test]
fn before_volta_the_lanes_of_a_warp_share_a_block_barrier() {
    for schedule in SCHEDULES {
        assert_eq!(run(70, SPLIT, 64, schedule), Default::default());
        let (error, found) = run(60, SPLIT, 64, schedule);
        assert!(!error.is_empty() || !found.is_empty(), "{schedule} accepts it for sm_60");
    }
}

/// A shuffle in one instruction, in two, and by half of the warp when the other half has returned.
#[test]
fn before_volta_all_lanes_must_execute_the_same_shuffle() {
    let shuffle = "shfl.sync.down.b32 %r3, %r1, 1, 31, -1;";
    let with = |body: &str| body.replace("bar.warp.sync -1;", shuffle);
    for schedule in SCHEDULES {
        for threads in [32, 33, 48, 64] {
            assert_eq!(run(60, shuffle, threads, schedule), Default::default());
        }
        for body in [APART, RETURNED] {
            assert_eq!(run(70, &with(body), 32, schedule), Default::default(), "{schedule}");
            let (error, found) = run(60, &with(body), 32, schedule);
            assert!(error.is_empty() && !found.is_empty(), "{schedule}: {error}");
            for (fault, said) in found {
                assert_eq!(fault, Fault::DivergentBarrier, "{schedule}: {said}");
                assert!(
                    said.contains("16 of the 32 lanes in the mask of the warp-wide operation"),
                    "{said}"
                );
            }
        }
    }
}
