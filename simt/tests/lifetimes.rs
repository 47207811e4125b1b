//! Tests that blocks of a cluster access each other's shared memory only while both of them run.

use crate::clusters::{ARRIVE, AWAIT, RELAXED, STARTED, SYNC, WAIT, accepted, run};
use crate::common::SCHEDULES;
use simt::observe::Fault;

/// Block 0 initializes a word and an mbarrier, which expects the bytes of one access.
const READY: &str = "@get st.shared.u32 [box], v;\n@get mbarrier.init.shared::cta.b64 [bar], 1;\n\
    @get mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n\
    @get fence.acq_rel.cluster;\n@get fence.proxy.async;\n";

/// Accesses of block 1 to block 0 for which the barrier of the cluster waits.
const PLAIN: &[&str] = &[
    "@send st.shared::cluster.u32 [there], v;\n",
    "@send ld.shared::cluster.u32 w, [there];\n",
    "@send atom.relaxed.cluster.shared::cluster.add.u32 w, [there], v;\n",
    "@send red.relaxed.cluster.shared::cluster.add.u32 [there], v;\n",
    "cvt.u64.u32 wide, there;\n@send cvta.shared::cluster.u64 wide, wide;\n\
     @send st.u32 [wide], v;\n",
    "@send mbarrier.arrive.release.cluster.shared::cluster.b64 _, [bar2];\n",
    "@send mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [bar2], 16;\n",
];

/// Asynchronous accesses of 16 bytes.
const ASYNC: &[&str] = &[
    "@send st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [there], to, [bar2];\n\
     @send st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [there+8], to, [bar2];\n",
    "@send cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes \
     [there], [box], 16, [bar2];\n",
    "ld.param.u64 wide, [in];\n@send cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes\
     .multicast::cluster [box], [wide], 16, [bar], 1;\n",
];

/// Block 1 initializes what it sends.
const FILLED: &str = "@send st.shared.v4.u32 [box], {v, v, v, v};\n@send fence.proxy.async;\n";

/// Block 0 arrives at its mbarrier and waits for an access; block 1 waits for block 0.
const OWN: &str = "@get mbarrier.arrive.shared::cta.b64 _, [bar];\n@!get bra over;\n";
const OVER: &str = "over:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n";

const START: &str = "call `cluster.sync()` (or `barrier.cluster.arrive` and \
    `barrier.cluster.wait`) before the first access to another block's shared memory";
const END: &str = "call `cluster.sync()` (or `barrier.cluster.arrive` and `barrier.cluster.wait`) \
    after the last access to another block's shared memory, before the block ends";
const COUNT: &str = "let a thread of that block wait for the mbarrier that counts the copy, before \
    the block ends";

/// In orders in which an access finds no mbarrier, the kernel stops.
const NONE: &str = "initialize it first (`mbarrier.init`), and call `cluster.sync()` between the \
    initialization and the first use";

/// Requires a finding of this class, with the remedy, in any order of execution. With `only`, there
/// must be no other finding and no error.
fn found(body: &str, fault: Fault, cure: &str, only: bool) {
    for schedule in SCHEDULES {
        let (error, found) = run(body, schedule);
        let said: String = found.iter().map(|f| format!("{f}\n")).collect();
        let context = format!("{schedule}: {error:?} {said}\n{body}");
        assert!(!only || error.is_none(), "{context}");
        if error.is_some_and(|error| !only && error.contains(NONE)) {
            continue;
        }
        assert!(found.iter().any(|f| f.fault == fault), "{context}");
        assert!(said.contains(cure), "`{cure}` is missing: {context}");
        assert!(!only || found.iter().all(|f| f.fault == fault), "{context}");
    }
}

fn starts(body: &str, only: bool) {
    found(body, Fault::NotStarted, START, only);
}

fn ends(body: &str, cure: &str) {
    found(body, Fault::Ended, cure, true);
}

fn all() -> impl Iterator<Item = &'static &'static str> {
    PLAIN.iter().chain(ASYNC)
}

#[test]
fn the_other_block_must_have_started() {
    for access in all() {
        // Without a barrier, or with a wait that comes too late.
        let rest = format!("{SYNC}{SYNC}");
        starts(&format!("{FILLED}{access}{READY}{rest}"), false);
        starts(&format!("{READY}{FILLED}{ARRIVE}{access}{WAIT}{SYNC}"), false);
    }
    // A barrier of the block is not sufficient, even if nothing else is wrong.
    starts(&format!("bar.sync 0;\n{}{SYNC}", PLAIN[0]), true);
    starts(&format!("{ARRIVE}{}{WAIT}{SYNC}", PLAIN[0]), true);
}

#[test]
fn a_relaxed_barrier_shows_that_the_other_block_has_started() {
    for access in PLAIN {
        accepted(&format!("{READY}{FILLED}{STARTED}{access}{SYNC}"));
        accepted(&format!("{READY}{FILLED}{SYNC}{access}{RELAXED}{WAIT}"));
    }
    for access in ASYNC {
        accepted(&format!("{READY}{FILLED}{STARTED}{access}{OWN}{AWAIT}{OVER}"));
        accepted(&format!("{READY}{FILLED}{SYNC}{access}{OWN}{AWAIT}{OVER}"));
    }
}

/// One warp waits at the barrier of the cluster, and another one accesses the other block.
#[test]
fn a_warp_passes_on_that_the_other_block_has_started() {
    let body = |between: &str| {
        format!(
            "{RELAXED}setp.lt.u32 done, tid, 32;\n@!done bra over;\n{WAIT}over:\n{between}\
             setp.eq.u32 send, tid, 40;\nand.pred send, send, one;\n{}\
             @done bra skip;\n{WAIT}skip:\n{SYNC}",
            PLAIN[0]
        )
    };
    accepted(&body("bar.sync 0;\n"));
    starts(&body(""), true);
}

/// A message shows too that its sender has started.
#[test]
fn a_flag_shows_that_the_other_block_has_started() {
    let body = |store: &str, load: &str| {
        format!(
            "ld.param.u64 to, [in];\nmov.u32 w, %clusterid.x;\nmad.wide.u32 to, w, 4, to;\n@one bra poll;\n\
             @first {store}.u32 [to], 1;\nbra over;\npoll:\n{load}.u32 w, [to];\n\
             setp.ne.u32 done, w, 1;\n@done bra poll;\n{}over:\n{SYNC}",
            PLAIN[0]
        )
    };
    accepted(&body("st.release.gpu.global", "ld.acquire.gpu.global"));
    accepted(&body("st.release.cluster.global", "ld.acquire.cluster.global"));
}

#[test]
fn the_other_block_must_not_have_ended() {
    for access in PLAIN {
        for rest in [
            // No barrier, no wait, a wait of the wrong block, and an access after the arrival.
            access.to_string(),
            format!("{access}{ARRIVE}"),
            format!("{access}{ARRIVE}@zero ret;\n{WAIT}"),
            format!("{ARRIVE}{access}{WAIT}"),
        ] {
            ends(&format!("{READY}{FILLED}{SYNC}{rest}"), END);
        }
        for rest in [SYNC.to_owned(), format!("{ARRIVE}@one ret;\n{WAIT}")] {
            accepted(&format!("{READY}{FILLED}{SYNC}{access}{rest}"));
        }
        // One thread of the block is sufficient.
        accepted(&format!(
            "{READY}{FILLED}{SYNC}{access}{ARRIVE}@!get ret;\n{}",
            "barrier.cluster.wait;\n"
        ));
    }
}

/// The barrier of a cluster does not wait for asynchronous copies.
#[test]
fn a_block_waits_for_copies_before_it_ends() {
    for access in ASYNC {
        for rest in ["", ARRIVE, SYNC] {
            ends(&format!("{READY}{FILLED}{SYNC}{access}{rest}"), COUNT);
        }
        // The scope does not matter, because the block does not read the data.
        for scope in [".acquire.cluster", ".acquire.cta"] {
            let wait = AWAIT.replace(".acquire.cluster", scope);
            accepted(&format!("{READY}{FILLED}{SYNC}{access}{OWN}{wait}{OVER}"));
        }
    }
    let wait = AWAIT.replace(".acquire.cluster", ".relaxed.cta");
    accepted(&format!("{READY}{FILLED}{SYNC}{}{OWN}{wait}{OVER}", ASYNC[0]));
}

/// The engine reads the memory of the block that starts a copy. A store is complete for its own
/// block at once.
#[test]
fn a_block_that_sends_its_memory_outlives_the_copy() {
    let body = |access: &str, over: &str| {
        format!("{READY}{FILLED}{SYNC}{access}{OWN}{AWAIT}over:\n{over}")
    };
    let cure = "let the other block wait for the mbarrier that counts the copy, and then call \
                `cluster.sync()`, before the block ends";
    ends(&body(ASYNC[1], ""), cure);
    ends(&body(ASYNC[1], "barrier.cluster.arrive;\n"), cure);
    for access in [ASYNC[0], ASYNC[2]] {
        accepted(&body(access, ""));
    }
}

/// As in CUTLASS, consumers arrive at an mbarrier with the default scope, and its block waits there
/// before it ends.
#[test]
fn a_block_that_waits_for_arrivals_outlives_them() {
    for arrive in ["", ".release.cluster", ".relaxed.cluster"] {
        accepted(&format!(
            "@get mbarrier.init.shared::cta.b64 [bar], 1;\n@get fence.mbarrier_init.release.cluster;\n\
             {STARTED}@send mbarrier.arrive{arrive}.shared::cluster.b64 _, [bar2];\n@one ret;\n\
             @!first ret;\n{}",
            AWAIT.replace(".acquire.cluster", "")
        ));
    }
}

/// Block 1 signals the mbarrier before it waits.
#[test]
fn an_mbarrier_must_be_initialized_before_another_block_signals_it() {
    for signal in [PLAIN[5], ASYNC[0], ASYNC[1]] {
        let body = format!("{FILLED}{READY}{ARRIVE}{signal}{WAIT}{SYNC}");
        for schedule in SCHEDULES {
            let (error, found) = run(&body, schedule);
            let said: String = found.iter().map(|f| format!("{f}\n")).collect();
            let cure = "use the mbarrier only after the `barrier.cluster.wait`";
            let stops = error.is_some_and(|error| error.contains(NONE));
            assert!(stops || said.contains(cure), "{schedule}: {said}\n{body}");
        }
    }
}
