//! Tests asynchronous copies, which complete as late as the rules allow and become visible only
//! through waits; non-coherent loads; grids that do not fit; and inputs larger than the machine's
//! memory.

use std::time::{Duration, Instant};

use crate::common::{Device, launch};
use simt::observe::Fault;
use simt::{Arch, Arg, Error, Gpu, Module, Schedule, TrapKind};

fn module(body: &str) -> Module {
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n\
         .visible .entry reduce(.param .u64 in, .param .u64 out)\n{{\n.reg .pred %p<8>;\n\
         .reg .b32 %r<32>;\n.reg .b64 %rd<16>;\nld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n\
         mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd4, %rd1, %rd3;\n\
         add.u64 %rd5, %rd2, %rd3;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %nctaid.x;\n{body}\nret;\n}}\n"
    );
    Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn schedules() -> impl Iterator<Item = Schedule> {
    [Schedule::Converged, Schedule::MinPc].into_iter().chain((1..15).map(Schedule::Adversarial))
}

/// Runs one block of 64 threads on the numbers 0 to 255; returns the 64 words that it stores.
fn run(module: &Module, schedule: Schedule) -> (Device, Vec<u32>) {
    let mut device = Device::with(|config| config.schedule = schedule);
    let bytes: Vec<u8> = (0..256u32).flat_map(u32::to_le_bytes).collect();
    let (input, out) = (device.put(&bytes), device.room(256));
    device
        .launch(module, &launch("reduce", 1, 64, 0, vec![Arg::U64(input), Arg::U64(out)]))
        .unwrap();
    let bytes = device.get(out, 256);
    (device, bytes.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect())
}

fn faults(device: &Device) -> Vec<Fault> {
    device.findings().iter().map(|f| f.fault).collect()
}

/// A pipeline with four stages in two rows. Each thread copies its own words, and copies the next
/// word while it adds the previous one.
const PIPELINE: &str = ".shared .align 16 .b8 rows[512];
    mov.u32 %r4, rows;
    shl.b32 %r5, %r1, 2;
    add.u32 %r6, %r4, %r5;
    add.u32 %r7, %r6, 256;
    mov.u32 %r8, 0;
    cp.async.ca.shared.global [%r6], [%rd4], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r7], [%rd4+256], 4;
    cp.async.commit_group;
    cp.async.wait_group WAIT;
    ld.shared.u32 %r9, [%r6];
    add.u32 %r8, %r8, %r9;
    cp.async.ca.shared.global [%r6], [%rd4+512], 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.u32 %r9, [%r7];
    add.u32 %r8, %r8, %r9;
    cp.async.ca.shared.global [%r7], [%rd4+768], 4;
    cp.async.wait_all;
    ld.shared.u32 %r9, [%r6];
    ld.shared.u32 %r10, [%r7];
    add.u32 %r8, %r8, %r9;
    add.u32 %r8, %r8, %r10;
    st.global.u32 [%rd5], %r8;";

#[test]
fn groups_have_arrived_after_their_wait() {
    let module = module(&PIPELINE.replace("WAIT", "1"));
    let right: Vec<u32> = (0..64).map(|i| 4 * i + 64 + 128 + 192).collect();
    for schedule in schedules() {
        let (device, out) = run(&module, schedule);
        assert!(device.findings().is_empty(), "{schedule}: {}", device.said());
        assert_eq!(out, right, "{schedule}");
    }
}

#[test]
fn waiting_for_too_few_groups_is_a_race_and_reads_old_data() {
    let module = module(&PIPELINE.replace("WAIT", "2"));
    let right: Vec<u32> = (0..64).map(|i| 4 * i + 64 + 128 + 192).collect();
    for schedule in schedules() {
        let (device, out) = run(&module, schedule);
        assert!(faults(&device).contains(&Fault::DataRace), "{schedule}: {}", device.said());
        assert_eq!(
            out == right,
            matches!(schedule, Schedule::Converged | Schedule::MinPc),
            "{schedule}"
        );
    }
}

/// If a copy reads fewer bytes than it writes, the rest are zeros, and no other bytes are read. If
/// a copy reads no bytes, its address may be invalid.
#[test]
fn a_copy_reads_only_its_source_size() {
    for (read, from, right) in [(0, 1 << 20, [0, 0]), (0, 256, [0, 0]), (1, 252, [63, 0])] {
        let module = module(&format!(
            ".shared .align 16 .b8 row[256];\nshl.b32 %r5, %r1, 2;\nmov.u32 %r4, row;\n\
             add.u32 %r6, %r4, %r5;\nst.shared.u32 [%r6], 77;\n\
             setp.ne.u32 %p1, %r1, 0;\nst.global.u32 [%rd4+512], %r1;\n\
             @!%p1 cp.async.ca.shared.global [%r6], [%rd1+{from}], 4, {read};\n\
             @%p1 cp.async.ca.shared.global [%r6], [%rd1+512], 4, 0;\n\
             cp.async.wait_all;\nld.shared.u32 %r8, [%r6];\nst.global.u32 [%rd5], %r8;"
        ));
        for schedule in schedules() {
            let (device, out) = run(&module, schedule);
            assert!(device.findings().is_empty(), "{read} {schedule}: {}", device.said());
            assert_eq!(out[..2], right, "{read} {schedule}");
        }
    }
}

/// Each thread copies its own word, and reads the word of its neighbour.
const NEIGHBOUR: &str = ".shared .align 16 .b8 rows[256];
    mov.u32 %r4, rows;
    shl.b32 %r5, %r1, 2;
    add.u32 %r6, %r4, %r5;
    xor.b32 %r7, %r5, 128;
    add.u32 %r7, %r4, %r7;
    cp.async.ca.shared.global [%r6], [%rd4], 4;
    FIRST
    SECOND
    ld.shared.u32 %r8, [%r7];
    st.global.u32 [%rd5], %r8;";

#[test]
fn a_wait_concerns_its_thread_and_a_barrier_publishes_the_copy() {
    let (wait, meet) = ("cp.async.wait_all;", "bar.sync 0;");
    for (first, second, fine) in [(wait, meet, true), (meet, wait, false), (wait, "", false)] {
        let module = module(&NEIGHBOUR.replace("FIRST", first).replace("SECOND", second));
        for schedule in schedules() {
            let (device, out) = run(&module, schedule);
            assert_eq!(
                faults(&device).is_empty(),
                fine,
                "{first} {second} {schedule}: {}",
                device.said()
            );
            assert!(!fine || out.iter().zip(0..).all(|(&v, i)| v == i ^ 32), "{schedule}: {out:?}");
        }
    }
}

#[test]
fn an_mbarrier_arrival_publishes_copies() {
    let body = NEIGHBOUR
        .replace("FIRST", "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];")
        .replace("SECOND", "W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;\n@!%p1 bra W;")
        .replace(
            "mov.u32 %r4, rows;",
            ".shared .align 8 .b8 bar[8];\nmov.u32 %r4, rows;\nsetp.ne.u32 %p2, %r1, 0;\n\
             @!%p2 mbarrier.init.shared.b64 [bar], 64;\nbar.sync 0;",
        );
    let module = module(&body);
    for schedule in schedules() {
        let (device, out) = run(&module, schedule);
        assert!(device.findings().is_empty(), "{schedule}: {}", device.said());
        assert!(out.iter().zip(0..).all(|(&v, i)| v == i ^ 32), "{schedule}: {out:?}");
    }
}

/// Runs `NEIGHBOUR` with an mbarrier for this number of arrivals.
fn counted(arrivals: u32, first: &str, second: &str) -> Module {
    let body = NEIGHBOUR.replace("FIRST", first).replace("SECOND", second).replace(
        "mov.u32 %r4, rows;",
        &format!(
            ".shared .align 8 .b8 bar[8];\nmov.u32 %r4, rows;\nsetp.ne.u32 %p2, %r1, 0;\n\
             @!%p2 mbarrier.init.shared.b64 [bar], {arrivals};\nbar.sync 0;"
        ),
    );
    module(&body)
}

const NOINC: &str = "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];";
const POLL: &str = "W: mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;\n@!%p1 bra W;";

#[test]
fn an_mbarrier_delays_its_phase_until_the_copies_it_counts_have_arrived() {
    let also = "cp.async.mbarrier.arrive.shared.b64 [bar];\nmbarrier.arrive.shared.b64 _, [bar];";
    let both = format!("{NOINC}\ncp.async.wait_all;");
    for first in [NOINC, also, &both] {
        let module = counted(64, first, POLL);
        for schedule in schedules() {
            let (device, out) = run(&module, schedule);
            assert!(device.findings().is_empty(), "{first} {schedule}: {}", device.said());
            assert!(out.iter().zip(0..).all(|(&v, i)| v == i ^ 32), "{schedule}: {out:?}");
        }
    }
}

#[test]
fn a_copy_that_an_mbarrier_counts_has_not_arrived_before_its_phase_ends() {
    // Without a test, the copies are unordered in every schedule. A test whose result is ignored
    // fails in some schedules.
    let once = "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;";
    for (second, always) in [("", true), ("bar.sync 0;", true), (once, false)] {
        let module = counted(64, NOINC, second);
        let found = schedules().map(|schedule| {
            let faults = faults(&run(&module, schedule).0);
            assert!(faults.iter().all(|fault| *fault == Fault::DataRace), "{second}: {faults:?}");
            !faults.is_empty()
        });
        let found: Vec<bool> = found.into_iter().collect();
        assert!(found.contains(&true), "{second}");
        assert!(!always || !found.contains(&false), "{second} {found:?}");
    }
}

#[test]
fn a_thread_may_wait_for_copies_that_an_mbarrier_counts() {
    // Each thread reads its own element, after an arrival at the mbarrier, with or without a wait.
    let own = "cp.async.wait_all;\nmov.u32 %r7, %r6;";
    for (second, fine) in [(own, true), ("mov.u32 %r7, %r6;", false)] {
        let module = counted(64, NOINC, second);
        for schedule in schedules() {
            let (device, out) = run(&module, schedule);
            assert_eq!(device.findings().is_empty(), fine, "{schedule}: {}", device.said());
            assert!(!fine || out.iter().zip(0..).all(|(&v, i)| v == i), "{schedule}: {out:?}");
        }
    }
}

/// Threads write a row, and then the copy engine fills it.
const REFILL: &str = ".shared .align 16 .b8 row[256];
    .shared .align 8 .b8 bar[8];
    mov.u32 %r4, row;
    shl.b32 %r5, %r1, 2;
    add.u32 %r6, %r4, %r5;
    st.shared.u32 [%r6], %r1;
    WRITERS
    setp.ne.u32 %p1, %r1, 0;
    @!%p1 mbarrier.init.shared.b64 [bar], 1;
    STARTED
    bar.sync 0;
    @%p1 bra W;
    STARTER
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [row], [%rd1], 256, [bar];
W:  mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
    @!%p3 bra W;
    ld.shared.u32 %r8, [%r6];
    st.global.u32 [%rd5], %r8;";

#[test]
fn a_proxy_fence_makes_writes_visible_to_the_copy_engine() {
    let fence = "fence.proxy.async.shared::cta;";
    let alias = "fence.proxy.alias;";
    for (writers, starter, fine) in
        [("", "", false), (fence, "", true), ("", fence, true), (alias, "", false)]
    {
        let body = REFILL.replace("STARTED", "fence.mbarrier_init.release.cluster;");
        let module = module(&body.replace("WRITERS", writers).replace("STARTER", starter));
        for schedule in schedules() {
            let (device, out) = run(&module, schedule);
            let expected = if fine { vec![] } else { vec![Fault::ProxyFence] };
            assert_eq!(
                faults(&device),
                expected,
                "{writers} {starter} {schedule}: {}",
                device.said()
            );
            assert!(out.iter().zip(0..).all(|(&v, i)| v == i), "{schedule}: {out:?}");
        }
    }
}

#[test]
fn a_fence_makes_an_mbarrier_visible_to_the_copy_engine() {
    let (own, proxy) = ("fence.mbarrier_init.release.cluster;", "fence.proxy.async;");
    let other = "fence.acq_rel.gpu;";
    let cases = [("", "", false), (own, "", true), ("", own, true), (proxy, "", true)];
    for (started, starter, fine) in
        cases.into_iter().chain([("", proxy, true), (other, "", false), ("", other, false)])
    {
        let body = REFILL.replace("    st.shared.u32 [%r6], %r1;\n", "").replace("WRITERS", "");
        let module = module(&body.replace("STARTED", started).replace("STARTER", starter));
        for schedule in schedules() {
            let (device, _) = run(&module, schedule);
            let expected = if fine { vec![] } else { vec![Fault::ProxyFence] };
            let said = device.said();
            assert_eq!(faults(&device), expected, "{started} {starter} {schedule}: {said}");
            assert!(fine || said.contains("thread 0 starts a copy at PTX line"), "{said}");
            assert!(fine || said.contains("that signals the mbarrier `bar[0]`"), "{said}");
        }
    }
}

#[test]
fn a_non_coherent_load_is_for_read_only_memory() {
    // A load reads the thread's own word, the word of its neighbour in another warp, or a word that
    // is never written.
    for (offset, fine) in [("%rd5", false), ("%rd6", false), ("%rd4", true)] {
        for swapped in [false, true] {
            let load = format!("ld.global.nc.u32 %r8, [{offset}];");
            let store = "st.global.u32 [%rd5], %r1;";
            let (first, second) = if swapped { (store, load.as_str()) } else { (&*load, store) };
            let module = module(&format!(
                "xor.b32 %r6, %r1, 32;\nmul.wide.u32 %rd7, %r6, 4;\nadd.u64 %rd6, %rd2, %rd7;\n\
                 {first}\nbar.sync 0;\n{second}"
            ));
            let mut device = Device::new(Schedule::Converged);
            let (input, out) = (device.put(&[1; 256]), device.put(&[1; 256]));
            let args = vec![Arg::U64(input), Arg::U64(out)];
            device.launch(&module, &launch("reduce", 1, 64, 0, args)).unwrap();
            let expected = if fine { vec![] } else { vec![Fault::StaleRead] };
            assert_eq!(faults(&device), expected, "{first} {second}: {}", device.said());
        }
    }
}

/// A grid barrier, at which each block takes a ticket and waits until all tickets are taken.
const MEET: &str = "setp.ne.u32 %p1, %r1, 0;
    @%p1 ret;
    atom.add.acq_rel.gpu.global.u32 %r4, [%rd2], 1;
L:  ld.acquire.gpu.global.u32 %r4, [%rd2];
    setp.lt.u32 %p2, %r4, %r3;
    @%p2 bra L;";

#[test]
fn blocks_that_meet_must_fit_the_gpu() {
    let module = module(MEET);
    for (gpu, block, grid, fits) in [
        ("sm_90:1", 32, 32, true),
        ("sm_90:1", 32, 33, false),
        ("sm_90:2", 1024, 4, true),
        ("sm_90:2", 1024, 5, false),
        ("sm_90", 32, 300, true),
    ] {
        for schedule in [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(3)] {
            let arch: Arch = gpu.parse().unwrap();
            let mut device = Device::with(|config| {
                config.play(arch);
                config.schedule = schedule;
            });
            let (input, out) = (device.put(&[0; 4]), device.put(&[0; 4]));
            let args = vec![Arg::U64(input), Arg::U64(out)];
            let ran = device.launch(&module, &launch("reduce", grid, block, 0, args));
            match ran {
                Ok(()) => assert!(fits, "{gpu} {grid} x {block} {schedule}"),
                Err(Error::Trap(trap)) => {
                    assert!(
                        !fits && trap.kind == TrapKind::Deadlock,
                        "{gpu} {grid} {schedule}: {trap}"
                    );
                    assert!(trap.detail.contains("at once"), "{trap}");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn a_sparse_input_of_eight_gigabytes_and_a_window_of_blocks_are_cheap() {
    // The last block reads in[i] with a 64-bit index.
    let module = module(
        "mul.wide.u32 %rd6, %r2, 4096;\nadd.u64 %rd7, %rd4, %rd6;\nld.global.u32 %r4, [%rd7];\n\
         atom.add.global.u32 %r5, [%rd2], %r4;",
    );
    let start = Instant::now();
    let (n, block) = ((1u64 << 31) + 1024, 1024);
    let blocks = n / block;
    let mut device = Device::with(|config| config.blocks = Some(blocks - 2..blocks));
    let input = device.gpu.alloc_sparse(4 * n, |page| page as u32).unwrap();
    let out = device.put(&[0; 4]);
    device.gpu.write(input + 4 * (n - 1), &1_000_000u32.to_le_bytes()).unwrap();
    let args = vec![Arg::U64(input), Arg::U64(out)];
    device.launch(&module, &launch("reduce", blocks as u32, block as u32, 0, args)).unwrap();
    assert!(device.findings().is_empty(), "{}", device.said());
    // The blocks read 1024 words of page 8191, 1023 of page 8192, and the word that was written.
    let pages = 4 * n / Gpu::PAGE;
    let expected = 1024 * (pages - 1) + 1023 * pages + 1_000_000;
    assert_eq!(device.get(out, 4), (expected as u32).to_le_bytes());
    // The host reads across the end of a page, from the middle of a word, and a page that was
    // written.
    assert_eq!(device.get(input + Gpu::PAGE - 8, 10), [0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
    assert_eq!(device.get(input + 3 * Gpu::PAGE - 2, 5), [0, 0, 3, 0, 0]);
    let end = [pages.to_le_bytes()[..4].to_vec(), 1_000_000u32.to_le_bytes().to_vec()].concat();
    assert_eq!(device.get(input + 4 * (n - 2), 8), end);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    device.gpu.free(input).unwrap();
    assert!(device.gpu.read(input, &mut [0; 4]).is_err());
}
