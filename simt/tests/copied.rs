//! Tests the remedies for accesses that are not ordered with a copy, and the messages about the
//! memory of a copy.

use crate::common::{Device, launch};
use simt::observe::Fault;
use simt::{Arg, Config, Gpu, Module, Schedule, cause, checks};

const SCHEDULES: [Schedule; 4] =
    [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(1), Schedule::Adversarial(2)];

/// Each thread reads its word of a row, which thread 0 fills by a bulk copy.
const ROW: &str = ".shared .align 128 .b8 row[256];
    .shared .align 8 .b8 full[8];
    mov.u32 %r4, row;
    shl.b32 %r5, %r1, 2;
    add.u32 %r6, %r4, %r5;
    setp.ne.u32 %p1, %r1, 0;
    BEFORE
    @!%p1 mbarrier.init.shared.b64 [full], 1;
    fence.mbarrier_init.release.cluster;
    bar.sync 0;
    @%p1 bra W;
    mbarrier.arrive.expect_tx.shared.b64 _, [full], EXPECTED;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [TARGET], [SOURCE], BYTES, [full];
W:  WAIT
    ld.shared.u32 %r8, [%r6];
    AGAIN
    st.global.u32 [%rd5], %r8;";

const WAIT: &str = "mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;\n@!%p3 bra W;";

fn row(changes: &[(&str, &str)]) -> String {
    let usual = [
        ("WAIT", WAIT),
        ("EXPECTED", "256"),
        ("BYTES", "256"),
        ("TARGET", "row"),
        ("SOURCE", "%rd1"),
        ("BEFORE", ""),
        ("AGAIN", ""),
    ];
    let all = changes.iter().chain(&usual);
    all.fold(ROW.to_owned(), |text, (name, with)| text.replace(name, with))
}

/// Runs one block of 64 threads. Returns the findings, and the error that stopped the kernel.
fn said(body: &str, schedule: Schedule) -> (Vec<Fault>, String) {
    let text = text(body);
    let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut device = Device::new(schedule);
    let (input, out) = (device.put(&[1; 1024]), device.room(512));
    let args = vec![Arg::U64(input), Arg::U64(out)];
    let stopped = device.launch(&module, &launch("reduce", 1, 64, 0, args)).err();
    let faults = device.findings().iter().map(|f| f.fault).collect();
    (faults, device.said() + &stopped.map_or(String::new(), |error| error.to_string()))
}

fn text(body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n\
         .visible .entry reduce(.param .u64 in, .param .u64 out)\n{{\n.reg .pred %p<8>;\n\
         .reg .b32 %r<32>;\n.reg .b64 %rd<16>;\nld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n\
         mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd5, %rd2, %rd3;\n{body}\nret;\n}}\n"
    )
}

/// The copy is in order, and each change of it has its own remedy.
#[test]
fn the_remedy_names_what_is_wrong_with_the_wait() {
    let early = WAIT.replace(", 0;", ", 1;");
    let relaxed = WAIT.replace(".parity", ".parity.relaxed.cta");
    let one =
        format!("@%p1 bra over;\nV: {}\nover: bar.warp.sync -1;", WAIT.replace("bra W", "bra V"));
    for (changes, words) in [
        (&[][..], ""),
        (&[("WAIT", "")], "no wait covers the copy; let "),
        (&[("WAIT", &early)], "tests the parity 1, and passes at once"),
        (&[("WAIT", &relaxed)], "the wait for the copy is relaxed (`.relaxed`)"),
        (&[("EXPECTED", "16")], "was sent 240 bytes more than it expects"),
        (&[("WAIT", &one)], "only another thread of the block has waited|let each thread"),
    ] {
        for schedule in SCHEDULES {
            let (faults, text) = said(&row(changes), schedule);
            let right = words.split('|').any(|words| text.contains(words));
            assert!(right && text.is_empty() == words.is_empty(), "{schedule} {words}: {text}");
            assert!(!text.contains("the copy overwrites"), "{schedule} {words}: {text}");
            assert!(faults.iter().all(|f| *f != Fault::ProxyFence), "{schedule}: {text}");
        }
    }
}

/// The thread that starts a copy need not be the first one of its warp.
#[test]
fn the_thread_that_copies_is_named() {
    let changes = [("WAIT", ""), ("setp.ne.u32 %p1, %r1, 0;", "setp.ne.u32 %p1, %r1, 5;")];
    for schedule in SCHEDULES {
        let (_, text) = said(&row(&changes), schedule);
        let (later, earlier) = ("while thread 5 may still copy to it", "thread 5 copies to `row[");
        assert!(text.contains(later) || text.contains(earlier), "{schedule}: {text}");
        assert!(!text.contains("thread 0 copies") && !text.contains("thread 0 may still copy"));
    }
}

/// Thread 0 fills the row a second time, and the other threads may still read the first copy.
#[test]
fn a_refill_needs_a_barrier_before_it() {
    let again = |barrier: &str| {
        format!(
            "{barrier}\n@%p1 bra X;\nmbarrier.arrive.expect_tx.shared.b64 _, [full], 256;\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [row], [%rd1], 256, \
             [full];\nX: mbarrier.try_wait.parity.shared.b64 %p3, [full], 1;\n@!%p3 bra X;\n\
             ld.shared.u32 %r9, [%r6];\nadd.u32 %r8, %r8, %r9;"
        )
    };
    for schedule in SCHEDULES {
        let (_, text) = said(&row(&[("AGAIN", &again("bar.sync 0;"))]), schedule);
        assert_eq!(text, "", "{schedule}");
        let (faults, text) = said(&row(&[("AGAIN", &again(""))]), schedule);
        assert!(faults.contains(&Fault::DataRace), "{schedule}: {text}");
        assert!(!text.contains("no wait covers"), "{schedule}: {text}");
        let before = text
            .contains("the copy overwrites memory that another thread may not have read")
            && text.contains("copies to `row[");
        let after = text.contains("waited only for phase 0 of `full[0]`, which has the parity 0");
        assert!(
            (before || after) && text.contains("put a `__syncthreads()`"),
            "{schedule}: {text}"
        );
    }
}

/// Thread 0 fills the row a second time, which is phase 1 of the mbarrier, but the threads wait for
/// the parity 0 again.
#[test]
fn a_wait_for_the_parity_of_a_completed_phase_returns_at_once() {
    let again = |parity: u32| {
        format!(
            "bar.sync 0;\n@%p1 bra X;\nmbarrier.arrive.expect_tx.shared.b64 _, [full], 256;\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [row], [%rd1], 256, \
             [full];\nX: mbarrier.try_wait.parity.shared.b64 %p3, [full], {parity};\n\
             @!%p3 bra X;\nld.shared.u32 %r9, [%r6];\nadd.u32 %r8, %r8, %r9;"
        )
    };
    for schedule in SCHEDULES {
        let (faults, text) = said(&row(&[("AGAIN", &again(0))]), schedule);
        assert!(faults.contains(&Fault::DataRace), "{schedule}: {text}");
        let after = "waited only for phase 0 of `full[0]`, which has the parity 0, and the copy \
                     belongs to phase 1; a wait for the parity 0 (as at PTX line ";
        let before = "tested the parity 0 again, and returned at once, because phase 0 of `full[0]` \
                      has completed; if the read is of this copy, test the parity 1";
        assert!(text.contains(before) || text.contains(after), "{schedule}: {text}");
        let (_, text) = said(&row(&[("AGAIN", &again(1))]), schedule);
        assert_eq!(text, "", "{schedule}");
    }
}

/// Only thread 0 waits. Whether it has waited before another thread reads depends on the order.
#[test]
fn a_thread_that_does_not_wait_is_told_to() {
    let wait = format!("@%p1 bra Y;\nV: {}\nY:", WAIT.replace("bra W", "bra V"));
    let apart = ("W:  WAIT", "W: WAIT");
    for schedule in SCHEDULES {
        let (faults, text) = said(&row(&[apart, ("WAIT", &wait)]), schedule);
        assert!(faults.contains(&Fault::DataRace), "{schedule}: {text}");
        let before = "this thread has not waited for the copy; let each thread that reads it wait";
        let after = "only another thread of the block has waited for the copy";
        assert!(text.contains(before) || text.contains(after), "{schedule}: {text}");
        assert!(!text.contains("no wait covers"), "{schedule}: {text}");
    }
}

/// Copies have no element type, so their places are given in bytes.
#[test]
fn the_place_of_a_copy_is_given_in_bytes() {
    for (changes, words) in [
        (
            &[("BYTES", "64"), ("SOURCE", "%rd1+992")][..],
            "a copy of 64 bytes from byte 992 of `in` ends 32 bytes beyond the buffer, which has \
             1024 bytes: copy only the bytes that are left",
        ),
        (
            &[("SOURCE", "%rd1+2048")],
            "a copy of 256 bytes from byte 2048 of `in`, beyond the end of the buffer",
        ),
        (&[("SOURCE", "%rd1-16")], "bytes of a buffer of 1024 bytes|16 bytes before the buffer"),
        (
            &[("SOURCE", "%rd1+4")],
            "a copy of 256 bytes from byte 4 of `in`, at address 0x2000100004, which is not a \
             multiple of 16",
        ),
        (&[("TARGET", "row+4")], "a copy of 256 bytes to byte 4 of `row`, at address"),
        (
            &[("BYTES", "1024")],
            "a copy of 1024 bytes, but the block has 264 bytes of shared memory",
        ),
        (&[("TARGET", "row+128")], "a copy of 256 bytes to byte 128 of `row`, which has 256 bytes"),
        (&[("BYTES", "8")], "a copy of 8 bytes: the size of a bulk copy must be a multiple of 16"),
        (&[("[full], EXPECTED", "[row], EXPECTED")], "there is no mbarrier at `row[0]`"),
    ] {
        let (_, text) = said(&row(changes), Schedule::Converged);
        assert!(words.split('|').any(|words| text.contains(words)), "{words}: {text}");
        assert!(!text.contains("elements of 1"), "{text}");
    }
}

/// The element type of an array that is aligned like a vector may be the vector or a part of it.
#[test]
fn the_place_of_a_vector_is_given_in_bytes() {
    let vectors = [
        ("WAIT", ""),
        (
            "shl.b32 %r5, %r1, 2;",
            "and.b32 %r5, %r1, 14;\nadd.u32 %r5, %r5, 1;\nshl.b32 %r5, %r5, 4;",
        ),
        ("ld.shared.u32 %r8, [%r6]", "ld.shared.v4.u32 {%r8, %r9, %r10, %r11}, [%r6]"),
    ];
    let scalars = [&vectors[..], &[(".align 128 .b8 row", ".align 4 .b8 row")]].concat();
    for schedule in SCHEDULES {
        let (_, text) = said(&row(&vectors), schedule);
        assert!(text.contains("byte 16 of `row`") && !text.contains("row["), "{schedule}: {text}");
        let (_, text) = said(&row(&scalars), schedule);
        assert!(text.contains("`row[4]`"), "{schedule}: {text}");
    }
}

/// A part of the row that no copy fills needs a larger copy, not a store and a barrier.
#[test]
fn a_part_that_no_copy_writes_needs_a_copy() {
    let again = "add.u32 %r8, %r8, 1;";
    let half = row(&[("EXPECTED", "128"), ("BYTES", "128"), ("AGAIN", again)]);
    let (faults, text) = said(&half, Schedule::Converged);
    assert_eq!(faults, [Fault::Uninitialized], "{text}");
    assert!(text.contains("thread 32 reads `row[32]` at PTX line "), "{text}");
    assert!(text.contains("let copies or stores write every element that is read"), "{text}");
}

/// A race may be why a phase never ends, so the parity is then not to blame.
#[test]
fn a_phase_that_never_ends_after_a_race_has_no_parity_to_change() {
    let later = format!("{}\nX: {}", WAIT, WAIT.replace(", 0;", ", 1;").replace("bra W", "bra X"));
    let race = "st.shared.u32 [row], %r1;\nfence.proxy.async;";
    for (before, blamed) in [("", true), (race, false)] {
        let module = Module::parse(&text(&row(&[("WAIT", &later), ("BEFORE", before)]))).unwrap();
        let mut gpu = Gpu::with(Config::default());
        let [input, out] = [0; 2].map(|_| gpu.alloc(1024).unwrap());
        gpu.write(input, &[1; 1024]).unwrap();
        let args = vec![Arg::U64(input), Arg::U64(out)];
        let mut watch = checks();
        let launch = launch("reduce", 1, 64, 0, args);
        let stopped = gpu.launch_watched(&module, &launch, Some(&mut watch)).unwrap_err();
        let stopped = stopped.to_string();
        assert_eq!(cause(&watch).is_none(), blamed, "{stopped}");
        assert!(stopped.contains("lacks 1 of 1 arrival"), "{stopped}");
        assert_eq!(stopped.contains("let the wait test the parity 0"), blamed, "{stopped}");
    }
}

/// Copies that no `mbarrier` counts have their own wait, and memory that they read has no elements.
#[test]
fn copies_of_threads_and_to_global_memory_have_their_own_words() {
    let row = ".shared .align 128 .b8 row[256];\nmov.u32 %r4, row;\nshl.b32 %r5, %r1, 2;\n\
               add.u32 %r6, %r4, %r5;\nadd.u64 %rd4, %rd1, %rd3;\nadd.u64 %rd5, %rd2, %rd3;\n";
    let own = "cp.async.ca.shared.global [%r6], [%rd4], 4;\n";
    let out = "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [row], 256;\n";
    let last = "ld.shared.u32 %r8, [%r6];\nadd.u32 %r8, %r8, 1;\nst.global.u32 [%rd5+256], %r8;";
    for (body, words) in [
        (
            format!("{own}{last}"),
            "no wait covers the copy; wait for its group in the thread that copies",
        ),
        (
            format!("cp.async.ca.shared.global [%r6], [%rd5], 4;\ncp.async.wait_all;\n{last}"),
            " of `out` at PTX line 20, which was never written",
        ),
        (
            format!(
                "st.shared.u32 [%r6], 1;\nfence.proxy.async;\nbar.sync 0;\n\
                     setp.ne.u32 %p1, %r1, 0;\nst.global.u32 [%rd5], 1;\n@!%p1 {out}"
            ),
            "writes `out[",
        ),
    ] {
        for schedule in SCHEDULES {
            let (_, text) = said(&format!("{row}{body}"), schedule);
            assert!(text.contains(words), "{schedule} {words}: {text}");
        }
    }
}

#[test]
fn a_copy_to_memory_is_not_called_a_copy_of_it() {
    let store = row(&[("BEFORE", "st.shared.u32 [%r6], %r1;")]);
    let (faults, text) = said(&store, Schedule::Converged);
    assert_eq!(faults, [Fault::ProxyFence], "{text}");
    assert!(text.contains("thread 0 starts a copy to `row[0]` at PTX line "), "{text}");
}

/// A deadlock names the phase that threads wait for, and the parity of the completed one.
#[test]
fn a_phase_that_never_ends_has_its_parity_and_its_arrivals() {
    let later = format!("{}\nX: {}", WAIT, WAIT.replace(", 0;", ", 1;").replace("bra W", "bra X"));
    let phase = "nothing can complete the phase that the threads at the mbarrier wait for: `full[0]` has completed ";
    for (changes, state, cure) in [
        (
            ("WAIT", later.as_str()),
            "1 phase, and its current phase, which has the parity 1, lacks 1 of 1 arrival; ",
            "let the wait test the parity 0",
        ),
        (
            ("EXPECTED", "512"),
            "no phase, and its current phase, which has the parity 0, lacks 256 bytes; ",
            "let copies write all bytes that it expects, or let it expect fewer",
        ),
        (
            ("[full], 1;", "[full], 3;"),
            "no phase, and its current phase, which has the parity 0, lacks 2 of 3 arrivals; ",
            "compare the number in its initialization with the arrivals that take place",
        ),
    ] {
        for schedule in SCHEDULES {
            let (_, text) = said(&row(&[changes]), schedule);
            assert!(text.contains(&format!("{phase}{state}")), "{schedule}: {text}");
            assert!(text.contains(cure), "{schedule}: {text}");
        }
    }
}
