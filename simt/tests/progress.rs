//! Tests that lanes, warps and blocks that wait for each other make progress, and that a launch is
//! stopped if the waits can never end.

use simt::{Arg, Config, Error, Gpu, Launch, Module, Schedule, TrapKind};

const SCHEDULES: [Schedule; 4] =
    [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(3), Schedule::Adversarial(11)];

/// Runs a body in which `%rd1` points to 64 zeros in global memory; returns these words.
fn run(body: &str, grid: u32, block: u32, schedule: Schedule) -> Result<Vec<u32>, Error> {
    run_on(|_| {}, body, grid, block, schedule)
}

/// Runs a body on a device whose settings are changed.
fn run_on(
    change: impl FnOnce(&mut Config),
    body: &str,
    grid: u32,
    block: u32,
    schedule: Schedule,
) -> Result<Vec<u32>, Error> {
    let text = format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry test(.param .u64 data)\n{{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n.shared .align 8 .b8 room[64];\n\
         ld.param.u64 %rd1, [data];\n{body}\nret;\n}}\n.file 1 \"/kernel.cu\"\n"
    );
    let module = Module::parse(&text).unwrap();
    let mut config = Config::default();
    config.schedule = schedule;
    config.block_budget = 1 << 23;
    change(&mut config);
    let mut gpu = Gpu::with(config);
    let data = gpu.alloc(256).unwrap();
    gpu.fill(data, 0, 256).unwrap();
    let launch = Launch {
        entry: "test",
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        cluster: [1, 1, 1],
        shared: 0,
        args: vec![Arg::U64(data)],
    };
    gpu.launch_watched(&module, &launch, None)?;
    let mut bytes = [0; 256];
    gpu.read(data, &mut bytes).unwrap();
    Ok(bytes.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect())
}

fn trap(body: &str, grid: u32, block: u32, schedule: Schedule) -> TrapKind {
    match run(body, grid, block, schedule) {
        Err(Error::Trap(trap)) => trap.kind,
        other => panic!("{schedule}: {other:?}"),
    }
}

#[test]
fn a_lock_taken_by_each_lane_in_turn() {
    let body = "
        again: atom.global.cas.b32 %r1, [%rd1], 0, 1;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra again;
        ld.global.u32 %r2, [%rd1+4];
        add.u32 %r2, %r2, 1;
        st.global.u32 [%rd1+4], %r2;
        membar.gl;
        atom.global.exch.b32 %r3, [%rd1], 0;";
    // At the reconvergence point after the loop, the lock's owner waits for the others until the
    // scheduler releases it.
    for schedule in SCHEDULES {
        assert_eq!(run(body, 2, 12, schedule).unwrap()[1], 24, "{schedule}");
    }
}

/// Runs two blocks, of which the first one sets a flag and the second one executes `polls` until it
/// is set (`%r2`). In this order, the first block starts last, when the second one only polls.
fn polled(polls: &str, threads: u32) {
    let body = format!(
        "mov.u32 %r1, %ctaid.x;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 bra give;
        {polls}
        setp.eq.u32 %p2, %r2, 0;
        @%p2 bra wait;
        st.global.u32 [%rd1+4], %r2;
        bra done;
        give: st.volatile.global.u32 [%rd1], 7;
        done:"
    );
    assert_eq!(run(&body, 2, threads, Schedule::Adversarial(2)).unwrap()[1], 7);
}

/// A block that runs alone polls for a message of another block.
#[test]
fn a_block_alone_does_not_poll_for_ever() {
    let body =
        "wait: ld.volatile.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra wait;";
    let alone = |config: &mut Config| config.blocks = Some(1..2);
    let said = run_on(alone, body, 4, 32, Schedule::Converged).unwrap_err().to_string();
    assert!(said.contains("only poll, and the other blocks do not run"), "{said}");
}

/// The second block changes memory between its polls, so it does not look like waiting. The device
/// has room for two blocks.
#[test]
fn the_first_block_starts_although_no_block_looks_like_waiting() {
    let body = "
        mov.u32 %r1, %ctaid.x;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 bra give;
        wait: atom.global.add.u32 %r3, [%rd1+8], 1;
        ld.volatile.global.u32 %r2, [%rd1];
        setp.eq.u32 %p2, %r2, 0;
        @%p2 bra wait;
        bra done;
        give: st.volatile.global.u32 [%rd1], 7;
        done:";
    assert_eq!(
        run_on(|config| config.sm_count = 1, body, 2, 1024, Schedule::Adversarial(2)).unwrap()[0],
        7
    );
}

/// The second block keeps the number of polls in local memory.
#[test]
fn a_block_that_polls_may_use_local_memory() {
    polled(
        ".local .align 4 .b8 polls[4];
        mov.u32 %r2, 0;
        st.local.u32 [polls], %r2;
        wait: ld.local.u32 %r2, [polls];
        add.u32 %r2, %r2, 1;
        st.local.u32 [polls], %r2;
        ld.volatile.global.u32 %r2, [%rd1];",
        32,
    );
}

/// All threads of the second block learn what one thread reads, through shared memory.
#[test]
fn a_block_that_polls_may_use_shared_memory_and_barriers() {
    polled(
        "mov.u32 %r3, %tid.x;
        setp.ne.u32 %p3, %r3, 0;
        wait: @%p3 bra others;
        ld.volatile.global.u32 %r2, [%rd1];
        st.shared.u32 [room], %r2;
        others: bar.sync 0;
        ld.shared.u32 %r2, [room];
        bar.sync 0;",
        64,
    );
}

#[test]
fn a_block_waits_for_a_later_one() {
    let body = "
        mov.u32 %r1, %ctaid.x;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra give;
        wait: ld.volatile.global.u32 %r2, [%rd1];
        setp.eq.u32 %p2, %r2, 0;
        @%p2 bra wait;
        st.global.u32 [%rd1+4], %r2;
        bra done;
        give: st.volatile.global.u32 [%rd1], 7;
        done:";
    for schedule in SCHEDULES {
        assert_eq!(run(body, 3, 32, schedule).unwrap()[1], 7, "{schedule}");
    }
}

#[test]
fn a_warp_waits_for_a_later_one() {
    let body = "
        mov.u32 %r1, %tid.x;
        st.volatile.shared.u32 [room], 0;
        bar.sync 0;
        setp.ge.u32 %p1, %r1, 32;
        @%p1 bra give;
        wait: ld.volatile.shared.u32 %r2, [room];
        setp.eq.u32 %p2, %r2, 0;
        @%p2 bra wait;
        st.global.u32 [%rd1], %r2;
        bra done;
        give: st.volatile.shared.u32 [room], 9;
        done:";
    for schedule in SCHEDULES {
        assert_eq!(run(body, 1, 64, schedule).unwrap()[0], 9, "{schedule}");
    }
}

#[test]
fn a_shuffle_spans_both_arms_of_a_branch() {
    let body = "
        mov.u32 %r1, %tid.x;
        and.b32 %r2, %r1, 1;
        setp.eq.u32 %p1, %r2, 0;
        @%p1 bra even;
        shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;
        bra join;
        even: shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;
        join: mul.wide.u32 %rd2, %r1, 4;
        add.s64 %rd3, %rd1, %rd2;
        st.global.u32 [%rd3], %r3;";
    for schedule in SCHEDULES {
        let got = run(body, 1, 32, schedule).unwrap();
        assert!((0..32).all(|i| got[i] == i as u32 ^ 1), "{schedule}: {got:?}");
    }
}

#[test]
fn a_runaway_kernel_is_stopped() {
    for schedule in SCHEDULES {
        assert_eq!(trap("again: bra again;", 2, 64, schedule), TrapKind::Budget);
    }
}

/// The second block waits for a flag that no block sets, and its second warp waits for the first.
#[test]
fn a_message_that_no_block_sends_is_named() {
    let body = "
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %ctaid.x;
        setp.ge.u32 %p1, %r1, 32;
        setp.eq.or.u32 %p1, %r2, 0, %p1;
        @%p1 bra end;
        again: atom.global.and.b32 %r3, [%rd1], 7;
        setp.eq.u32 %p1, %r3, 0;
        @%p1 bra again;
        end: shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;
        bar.sync 0;";
    for schedule in SCHEDULES {
        let Err(Error::Trap(trap)) = run(body, 2, 64, schedule) else { panic!("{schedule}") };
        let words = "wait for a value or a message that no thread sends";
        assert!(trap.kind == TrapKind::Budget && trap.detail.contains(words), "{}", trap.detail);
        assert!(!trap.detail.contains("raise the budget"), "{}", trap.detail);
    }
}

#[test]
fn warps_at_different_barriers_are_a_deadlock() {
    let body = "
        mov.u32 %r1, %tid.x;
        setp.ge.u32 %p1, %r1, 32;
        @%p1 bra other;
        bar.sync 1;
        bra done;
        other: bar.sync 2;
        done:";
    for schedule in SCHEDULES {
        assert_eq!(trap(body, 1, 64, schedule), TrapKind::Deadlock, "{schedule}");
    }
}

#[test]
fn a_phase_that_never_ends_is_a_deadlock() {
    let body = "
        mov.u32 %r1, room;
        mbarrier.init.shared.b64 [%r1], 2;
        wait: mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0;
        @!%p1 bra wait;";
    for schedule in SCHEDULES {
        assert_eq!(trap(body, 1, 1, schedule), TrapKind::Deadlock, "{schedule}");
    }
}

#[test]
fn an_mbarrier_is_initialized_once_or_invalidated_first() {
    let again = |between: &str| {
        let body = format!(
            "mov.u32 %r1, room;
            mbarrier.init.shared.b64 [%r1], 1;
            {between}
            mbarrier.init.shared.b64 [%r1], 1;
            st.global.u32 [%rd1], %r1;"
        );
        run(&body, 1, 1, Schedule::Converged)
    };
    let Err(Error::Trap(trap)) = again("") else { panic!("the second initialization passes") };
    assert_eq!(trap.kind, TrapKind::BadBarrier);
    assert!(trap.sentence().contains("initialized again"), "{}", trap.sentence());
    again("mbarrier.inval.shared.b64 [%r1];").expect("an invalidated barrier can be initialized");
}

#[test]
fn half_a_warp_at_an_aligned_barrier_is_divergent() {
    let body = "
        mov.u32 %r1, %tid.x;
        setp.ge.u32 %p1, %r1, 16;
        @%p1 bra done;
        bar.sync 0;
        done: st.global.u32 [%rd1], %r1;";
    assert_eq!(trap(body, 1, 32, Schedule::Converged), TrapKind::DivergentBarrier);
}

#[test]
fn launches_that_do_not_fit_are_refused_with_a_reason() {
    let text = ".version 8.4\n.target sm_60\n.address_size 64\n.visible .entry one(.param .u64 a, .param .u32 b) { ret; }\n";
    let module = Module::parse(text).unwrap();
    let launch = Launch {
        entry: "one",
        grid: [1; 3],
        block: [32, 1, 1],
        cluster: [1; 3],
        shared: 0,
        args: vec![Arg::U64(0), Arg::U32(0)],
    };
    let said = |launch: &Launch<'_>| {
        Gpu::new().launch_watched(&module, launch, None).unwrap_err().to_string()
    };
    assert!(Gpu::new().launch_watched(&module, &launch, None).is_ok());
    let few = Launch { args: vec![Arg::U64(0)], ..launch.clone() };
    assert_eq!(said(&few), "entry `one` takes 2 parameters, but 1 was given");
    let wide = Launch { args: vec![Arg::U64(0), Arg::U64(0)], ..launch.clone() };
    assert_eq!(said(&wide), "parameter 1 of entry `one` has 4 bytes, but the argument has 8");
    let two = Launch { entry: "two", ..launch.clone() };
    assert_eq!(said(&two), "the module has no entry `two`; its entries: `one`");
    let large = Launch { block: [1025, 1, 1], ..launch.clone() };
    assert!(said(&large).contains("1 to 1024"), "{}", said(&large));
    let much = Launch { shared: 1 << 20, ..launch };
    assert!(said(&much).contains("shared memory"), "{}", said(&much));
}

/// A barrier's number is below 16, and its number of threads is a multiple of the warp size.
#[test]
fn barriers_that_do_not_exist_are_refused() {
    let bar = |id: u32, threads: u32| {
        let body = format!("mov.u32 %r1, {id};\nmov.u32 %r2, {threads};\nbarrier.sync %r1, %r2;");
        run(&body, 1, 32, Schedule::Converged)
    };
    assert!(bar(15, 32).is_ok());
    for (id, threads) in [(16, 32), (0, 33), (0, 0)] {
        let Err(Error::Trap(trap)) = bar(id, threads) else { panic!("{id}, {threads}") };
        assert_eq!(trap.kind, TrapKind::BadBarrier, "{id}, {threads}");
    }
}

/// Threads that have returned wait for no others. The end of an inlined function has the line of the
/// kernel's header, on which no thread returns.
#[test]
fn a_barrier_that_too_few_threads_reach_is_described() {
    let body = ".loc 1 38 0
        mov.u32 %r1, %tid.x;
        setp.gt.u32 %p1, %r1, 63;
        setp.gt.u32 %p2, %r1, 31;
        .loc 1 9 1
        @%p1 bra end;
        .loc 1 21 1
        @!%p2 bra wait;
        mov.u32 %r2, 1;
        end:
        .loc 1 38 0
        ret;
        wait:
        .loc 1 22 1
        bar.sync 1, 64;";
    for schedule in SCHEDULES {
        let said = run(body, 1, 96, schedule).unwrap_err().to_string();
        let (returned, expects) = (
            "64 threads returned at line 9 or line 21 and 32 threads wait at a block barrier on line 22",
            "barrier 1 expects 64 threads, but only 32 have come since it last opened, and no others \
             can come; let as many threads come as it expects",
        );
        assert!(said.contains(&format!("{returned}: {expects}")), "{said}");
    }
    // If threads wait at two barriers, each waits for the others.
    let two = "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 31;\n@%p1 bra other;\nbar.sync 1, 64;\nret;\n\
               other: bar.sync 2, 64;";
    let said = run(two, 1, 64, Schedule::Converged).unwrap_err().to_string();
    assert!(said.contains("each waits for the others"), "{said}");
}

/// If an array begins at an odd element, no index is a remedy.
#[test]
fn a_misaligned_array_is_distinguished_from_a_misaligned_index() {
    let said = |offset: u32, access: &str| {
        run(&format!("add.u64 %rd1, %rd1, {offset};\n{access}"), 1, 32, Schedule::Converged)
            .unwrap_err()
            .to_string()
    };
    let index = said(4, "ld.global.v2.u32 {%r1, %r2}, [%rd1];");
    assert!(
        index.contains("an 8-byte access that begins at `data[1]`")
            && index.contains("make the first index a multiple of 2"),
        "{index}"
    );
    let index = said(8, "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];");
    assert!(index.contains("a 16-byte access that begins at `data[2]`"), "{index}");
}
