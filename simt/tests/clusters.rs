//! Tests the order that the barrier of a cluster establishes. `.relaxed` on its arrival orders no
//! memory accesses.

use crate::common::{Device, SCHEDULES, launch};
use simt::observe::{Fault, Finding};
use simt::{Arg, Module, ParseError, Schedule};

pub(crate) const ARRIVE: &str = "barrier.cluster.arrive.aligned;\n";
pub(crate) const RELAXED: &str = "barrier.cluster.arrive.relaxed.aligned;\n";
pub(crate) const WAIT: &str = "barrier.cluster.wait.aligned;\n";
pub(crate) const SYNC: &str = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
pub(crate) const STARTED: &str =
    "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\n";
const FENCE: &str = "fence.acq_rel.cluster;\n";
const INIT_FENCE: &str = "fence.mbarrier_init.release.cluster;\n";
/// Waits at the block's own mbarrier.
pub(crate) const AWAIT: &str = "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [bar], 0;\n\
     @!done bra again;\n";

/// Returns a kernel. `%tid.x` is in `tid`, and the block's rank in `rank`; `box` and `bar` are the
/// shared addresses of a word and of an mbarrier, and `there` and `bar2` are their addresses in the
/// other block of the cluster. `first` holds for thread 0, `zero` in block 0, `send` for thread 0 of
/// block 1, and `get` for thread 0 of block 0.
fn parsed(body: &str) -> Result<Module, ParseError> {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n\
         .visible .entry test(.param .u64 in, .param .u64 out)\n{{\n\
         .reg .b32 tid, rank, other, box, bar, there, bar2, v, w;\n.reg .b64 to, token, wide;\n\
         .reg .pred first, zero, one, send, get, done;\n\
         .shared .align 16 .b8 words[64];\n.shared .align 8 .b64 barrier;\n\
         mov.u32 tid, %tid.x;\nmov.u32 rank, %cluster_ctarank;\nxor.b32 other, rank, 1;\n\
         mov.u32 box, words;\nmov.u32 bar, barrier;\n\
         mapa.shared::cluster.u32 there, box, other;\nmapa.shared::cluster.u32 bar2, bar, other;\n\
         setp.eq.u32 first, tid, 0;\nsetp.eq.u32 zero, rank, 0;\nnot.pred one, zero;\n\
         and.pred send, first, one;\nand.pred get, first, zero;\n\
         ld.param.u64 to, [out];\nmov.u32 v, 7;\n{body}ret;\n}}\n"
    );
    Module::parse(&text)
}

/// Runs a kernel in two clusters of two blocks of 64 threads. Returns the error, if any, and the
/// findings.
pub(crate) fn run(body: &str, schedule: Schedule) -> (Option<String>, Vec<Finding>) {
    let mut device = Device::new(schedule);
    let (input, out) = (device.put(&[3; 64]), device.room(64));
    let mut launch = launch("test", 4, 64, 0, vec![Arg::U64(input), Arg::U64(out)]);
    launch.cluster[0] = 2;
    let error = device.launch(&parsed(body).unwrap(), &launch).err();
    (error.map(|error| error.to_string()), device.findings())
}

/// Requires that a kernel has no findings, in any order of execution.
pub(crate) fn accepted(body: &str) {
    for schedule in SCHEDULES {
        let (error, found) = run(body, schedule);
        let said: String = found.iter().map(|f| format!("{f}\n")).collect();
        assert!(error.is_none() && said.is_empty(), "{schedule}: {error:?} {said}\n{body}");
    }
}

/// Requires that a kernel has findings of one class only, with the remedy, in any order of
/// execution.
pub(crate) fn rejected(body: &str, fault: Fault, cure: &str) {
    for schedule in SCHEDULES {
        let (error, found) = run(body, schedule);
        let said: String = found.iter().map(|f| format!("{f}\n")).collect();
        assert!(error.is_none(), "{schedule}: {error:?} {said}\n{body}");
        assert!(!found.is_empty(), "{schedule}: accepted\n{body}");
        assert!(found.iter().all(|f| f.fault == fault), "{schedule}: {said}\n{body}");
        assert!(said.contains(cure), "{schedule}: `{cure}` is missing in {said}\n{body}");
    }
}

const CURE: &str = "arrive with `.release` (without `.relaxed`), or put a `fence.acq_rel.cluster` \
                    before it";

/// Fences and arrivals that together release the accesses before them, and those that do not.
const RELEASES: &[(&str, &str)] = &[
    ("", ARRIVE),
    ("", "barrier.cluster.arrive.release.aligned;\n"),
    (FENCE, RELAXED),
    ("fence.sc.gpu;\n", RELAXED),
    ("fence.acq_rel.gpu;\nfence.acq_rel.cta;\n", RELAXED),
];
const RELAXES: &[(&str, &str)] = &[
    ("", RELAXED),
    ("", "barrier.cluster.arrive.relaxed;\n"),
    ("fence.acq_rel.cta;\n", RELAXED),
    (INIT_FENCE, RELAXED),
];

/// Checks a kernel with each of these fences and arrivals.
fn each(kernel: impl Fn(&str, &str) -> String) {
    for (fence, arrive) in RELEASES {
        accepted(&kernel(fence, arrive));
    }
    for (fence, arrive) in RELAXES {
        rejected(&kernel(fence, arrive), Fault::DataRace, CURE);
    }
}

/// The arrival precedes the store, or the wait follows the load.
#[test]
fn half_of_a_barrier_between_two_accesses_is_named() {
    let body = |[one, two, three]: [&str; 3]| {
        format!(
            "@get st.shared.u32 [box], v;\n{SYNC}{one}@send st.shared::cluster.u32 [there], v;\n{two}\
             @get ld.shared.u32 w, [box];\n{three}{SYNC}"
        )
    };
    accepted(&body(["", SYNC, ""]));
    let late = "but wait only at PTX line 31, after the access at PTX line 30; wait before";
    rejected(&body(["", ARRIVE, WAIT]), Fault::DataRace, late);
    let early = "but arrive already at PTX line 28, before the access at PTX line 29; arrive after";
    rejected(&body([ARRIVE, WAIT, ""]), Fault::DataRace, early);
    rejected(&body(["", "", ""]), Fault::DataRace, "a `cluster.sync()` is missing between them");
}

#[test]
fn a_value_that_a_block_sends_needs_a_releasing_arrival() {
    each(|fence, arrive| {
        format!(
            "{STARTED}@send st.shared::cluster.u32 [there], v;\n{fence}{arrive}{WAIT}\
             @get ld.shared.u32 w, [box];\n"
        )
    });
}

#[test]
fn a_value_that_a_block_fetches_needs_a_releasing_arrival() {
    each(|fence, arrive| {
        format!(
            "@first st.shared.u32 [box], v;\n{fence}{arrive}{WAIT}\
             @first ld.shared::cluster.u32 w, [there];\n{STARTED}"
        )
    });
}

/// As in the example of the PTX manual, a store must not overtake the load of the other block.
#[test]
fn a_word_that_another_block_has_read_needs_a_releasing_arrival() {
    each(|fence, arrive| {
        format!(
            "@first st.shared.u32 [box], v;\n{SYNC}@get ld.shared::cluster.u32 w, [there];\n\
             {fence}{arrive}{WAIT}@send st.shared.u32 [box], v;\n"
        )
    });
}

#[test]
fn the_barrier_of_a_cluster_orders_the_warps_of_one_block() {
    let body = |fence: &str, arrive: &str| {
        format!(
            "@get st.shared.u32 [box], v;\n{fence}{arrive}{WAIT}setp.eq.u32 first, tid, 32;\n\
             and.pred first, first, zero;\n@first ld.shared.u32 w, [box];\n"
        )
    };
    accepted(&body("", ARRIVE));
    accepted(&body("fence.acq_rel.cta;\n", RELAXED));
    rejected(&body("", RELAXED), Fault::DataRace, CURE);
}

#[test]
fn global_memory_needs_a_releasing_arrival() {
    each(|fence, arrive| {
        format!(
            "mov.u32 w, %clusterid.x;\nmad.wide.u32 to, w, 4, to;\n\
             @send st.global.u32 [to], v;\n{fence}{arrive}{WAIT}@get ld.global.u32 w, [to];\n"
        )
    });
}

/// Thread 40 of block 1 stores a value, and another warp of its block releases it, after a barrier.
/// An older fence in a third warp does not hide this.
#[test]
fn one_warp_releases_the_accesses_of_its_block() {
    for older in ["", "setp.eq.u32 done, tid, 63;\n@done fence.acq_rel.cluster;\n"] {
        let body = |fence: &str| {
            format!(
                "{older}setp.eq.u32 done, tid, 40;\nand.pred done, done, one;\n\
                 @done st.shared.u32 [box], v;\nbar.sync 0;\n@first {fence}{RELAXED}{WAIT}\
                 @get ld.shared::cluster.u32 w, [there];\n{SYNC}"
            )
        };
        accepted(&body(FENCE));
        rejected(&body("fence.acq_rel.cta;\n"), Fault::DataRace, CURE);
    }
}

/// A warp that waits at the barrier passes the order on to the other warps of its block.
#[test]
fn one_warp_acquires_for_its_block() {
    let body = |between: &str| {
        format!(
            "@first st.shared.u32 [box], v;\n{ARRIVE}setp.lt.u32 done, tid, 32;\n@!done bra over;\n\
             barrier.cluster.wait.aligned;\nover:\n{between}\
             setp.eq.u32 first, tid, 40;\n@first ld.shared::cluster.u32 w, [there];\n\
             @done bra skip;\nbarrier.cluster.wait.aligned;\nskip:\n{STARTED}"
        )
    };
    accepted(&body("bar.sync 0;\n"));
}

/// A relaxed arrival does not undo what an earlier one released.
#[test]
fn a_later_relaxed_arrival_releases_nothing_new() {
    accepted(&format!(
        "@send fence.acq_rel.cluster;\n@send st.shared.u32 [box], v;\n{SYNC}{STARTED}\
         @get ld.shared::cluster.u32 w, [there];\n{SYNC}"
    ));
}

/// Block 1 signals an mbarrier that block 0 has initialized.
#[test]
fn an_mbarrier_needs_a_fence_before_a_relaxed_arrival() {
    for (expect, signal) in [
        ("", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [bar2];\n"),
        (
            "@get mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 4;\n",
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [there], v, [bar2];\n",
        ),
    ] {
        let body = |fence: &str, arrive: &str| {
            format!(
                "@get mbarrier.init.shared::cta.b64 [bar], 1;\n{fence}{arrive}{WAIT}\
                 {expect}@send {signal}@one ret;\n@!first ret;\n{AWAIT}"
            )
        };
        for (fence, arrive) in RELEASES.iter().chain(&[(INIT_FENCE, RELAXED)]) {
            accepted(&body(fence, arrive));
        }
        for (fence, arrive) in RELAXES.iter().filter(|(fence, _)| *fence != INIT_FENCE) {
            let cure = "execute `fence.mbarrier_init.release.cluster` after the initialization";
            rejected(&body(fence, arrive), Fault::DataRace, cure);
        }
    }
}

/// Block 1 sends a value and arrives at an mbarrier of block 0, which waits there. The default scope
/// covers only one block.
#[test]
fn a_value_that_an_mbarrier_announces_needs_the_scope_of_the_cluster() {
    let body = |arrive: &str, wait: &str| {
        let wait = AWAIT.replace(".acquire.cluster", wait);
        format!(
            "@get mbarrier.init.shared::cta.b64 [bar], 1;\n{SYNC}\
             @send st.shared::cluster.u32 [there], v;\n\
             @send mbarrier.arrive{arrive}.shared::cluster.b64 _, [bar2];\n@one ret;\n@!first ret;\n\
             {wait}ld.shared.u32 w, [box];\n"
        )
    };
    let wide = [".release.cluster", ".acquire.cluster"];
    accepted(&body(wide[0], wide[1]));
    for [arrive, wait] in [["", wide[1]], [wide[0], ""], ["", ""], [".relaxed.cluster", wide[1]]] {
        let cure = "arrive with `.release.cluster`, and wait with `.acquire.cluster`";
        rejected(&body(arrive, wait), Fault::DataRace, cure);
    }
}

/// Block 1 arrives twice. In some orders, the first barrier has completed in between.
#[test]
fn an_arrival_without_a_wait_traps_in_every_order() {
    for schedule in SCHEDULES {
        let body = format!("@one bra twice;\n{SYNC}{SYNC}ret;\ntwice:\n{ARRIVE}{ARRIVE}{WAIT}");
        let (error, _) = run(&body, schedule);
        let error = error.unwrap_or_default();
        assert!(error.contains("arrives twice at the cluster barrier"), "{schedule}: {error}");
    }
}

#[test]
fn only_arrivals_are_relaxed() {
    for (text, why) in [
        ("barrier.cluster.wait.relaxed.aligned;\n", "can only be `.acquire`"),
        ("barrier.cluster.wait.release;\n", "can only be `.acquire`"),
        ("barrier.cluster.arrive.acquire;\n", "can only be `.release` or `.relaxed`"),
    ] {
        let error = parsed(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    accepted("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n");
}
