//! Tests the remedies for values that pass between blocks. A remedy describes what is wrong with
//! the fences that the kernel has.

use crate::common::{Device, launch};
use simt::observe::Fault;
use simt::{Arg, Module, Schedule};

const SCHEDULES: [Schedule; 3] = [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(5)];

/// Each block stores its index, and takes a ticket. The block with the last ticket reads the values
/// of both blocks.
const TICKETS: &str = "setp.ne.u32 %p1, %r1, 0;
    setp.ne.u32 %p2, %r1, 32;
    EARLY
    @!%p1 st.global.u32 [%rd3+64], %r2;
    MIDDLE
    TAKES atom.global.inc.u32 %r5, [%rd1], 1;
    LATE
    TAKES st.shared.u32 [h], %r5;
    bar.sync 0;
    ld.shared.u32 %r6, [h];
    setp.ne.u32 %p3, %r6, 1;
    @%p3 bra end;
    and.b32 %r7, %r1, 1;
    mad.wide.u32 %rd4, %r7, 4, %rd1;
    ld.global.u32 %r8, [%rd4+64];
    end:";

/// Returns the findings of two blocks of 64 threads.
fn said(parts: [&str; 4], change: (&str, &str), schedule: Schedule) -> (Vec<Fault>, String) {
    run(&tickets(parts).replace(change.0, change.1), 2, 64, schedule)
}

/// Returns the body of a kernel that takes tickets.
fn tickets(parts: [&str; 4]) -> String {
    let names = ["EARLY", "MIDDLE", "LATE", "TAKES"];
    names.iter().zip(parts).fold(TICKETS.to_owned(), |text, (n, p)| text.replace(n, p))
}

/// Returns the findings of a kernel.
fn run(body: &str, blocks: u32, threads: u32, schedule: Schedule) -> (Vec<Fault>, String) {
    let text = format!(
        ".version 8.4\n.target sm_80\n.address_size 64\n\
         .visible .entry test(.param .u64 in)\n{{\n.shared .align 16 .b8 h[16];\n\
         .reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [in];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n\
         mad.wide.u32 %rd3, %r2, 4, %rd1;\n{body}\nret;\n}}\n"
    );
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut device = Device::new(schedule);
    let input = device.put(&[0; 1024]);
    device.launch(&module, &launch("test", blocks, threads, 0, vec![Arg::U64(input)])).unwrap();
    (device.findings().iter().map(|f| f.fault).collect(), device.said())
}

#[test]
fn the_remedy_describes_the_fences_that_are_there() {
    let (mine, other) = ("@!%p1", "@!%p2");
    let fence = |who: &str| format!("{who} membar.gl;");
    let [own, theirs, narrow] = [fence(mine), fence(other), "@!%p1 membar.cta;".to_owned()];
    let [own, theirs, narrow] = [own.as_str(), theirs.as_str(), narrow.as_str()];
    let met = format!("bar.sync 0;\n{theirs}");
    let twice = format!("{own}\n{own}");
    let (every, every_met) = ("membar.gl;", "membar.gl;\nbar.sync 0;");
    let met_every = "bar.sync 0;\nmembar.gl;";
    let cured = format!("{every_met}\n{theirs}");
    let none = ("", "");
    for (parts, change, words) in [
        (["", own, own, mine], none, ""),
        (["", &met, theirs, other], none, ""),
        (
            ["", theirs, theirs, other],
            none,
            "put a `__syncthreads()` between the store and the fence, or let the thread that stores",
        ),
        (
            ["", own, theirs, other],
            none,
            "the thread that stores executes the `__threadfence()` at PTX line 18, but another \
             thread executes the atomic at PTX line 19",
        ),
        (
            ["", theirs, own, mine],
            none,
            "is executed neither by the thread that stores nor by the thread that executes the \
             atomic",
        ),
        (
            ["", every_met, theirs, other],
            none,
            "another thread executes the atomic at PTX line 20; put a `__threadfence()` in that \
             thread, between the `__syncthreads()` at PTX line 19 and the atomic",
        ),
        (["", &cured, theirs, other], none, ""),
        (
            ["", every, theirs, other],
            none,
            "another thread executes the atomic at PTX line 19, and nothing orders that thread \
             after the store; put a `__syncthreads()` between them, and move the \
             `__threadfence()` at PTX line 18 between the `__syncthreads()` and the atomic",
        ),
        (["", met_every, theirs, other], none, ""),
        (["", "", "", mine], none, "put one between them, and another one after the atomic"),
        (
            ["", "", own, mine],
            none,
            "no `__threadfence()` lies between the store and the atomic at PTX line 19 (the one at \
             PTX line 20 follows the atomic); put one between them ",
        ),
        ([own, "", own, mine], none, "(the one at PTX line 16 precedes the store)"),
        (
            ["", own, "", mine],
            none,
            "no `__threadfence()` follows the atomic at PTX line 19 (the one at PTX line 18 \
             precedes it)",
        ),
        (["", &twice, "", mine], none, "follows the atomic at PTX line 20"),
        (
            ["", own, theirs, mine],
            none,
            "the thread that executes the atomic at PTX line 19 does not execute the \
             `__threadfence()` at PTX line 20",
        ),
        (["", narrow, own, mine], none, "the fence at PTX line 18 orders only the threads of one"),
        (["", own, narrow, mine], none, "the fence at PTX line 20 orders only the threads of one"),
        (
            ["", own, own, mine],
            ("@%p3 bra end;", ""),
            "the fences are there, but this block does not know that the value is complete",
        ),
        (
            ["", "", "", other],
            ("atom.global", "atom.acq_rel.gpu.global"),
            "which releases the value, and nothing orders this thread after the store",
        ),
        (
            ["", "", "", mine],
            ("atom.global", "atom.release.gpu.global"),
            "no `__threadfence()` follows the atomic",
        ),
        (
            ["@!%p1 ld.global.u32 %r8, [%rd1+64];", own, own, mine],
            none,
            "nothing orders the two blocks before this access",
        ),
    ] {
        for schedule in SCHEDULES {
            let (faults, text) = said(parts, change, schedule);
            assert!(text.contains(words), "{schedule} {parts:?} {change:?}: {text}");
            let expected: &[Fault] = if words.is_empty() { &[] } else { &[Fault::DataRace] };
            assert_eq!(faults, expected, "{schedule} {parts:?} {change:?}: {text}");
        }
    }
}

/// Volatile values may be passed with a ticket, if the fences are there.
#[test]
fn volatile_values_of_two_blocks_need_the_fences() {
    let (own, mine) = ("@!%p1 membar.gl;", "@!%p1");
    let volatile = |body: &str| {
        body.replace("st.global.u32 [%rd3+64]", "st.volatile.global.u32 [%rd3+64]")
            .replace("ld.global.u32 %r8", "ld.volatile.global.u32 %r8")
    };
    for (parts, words) in [
        (["", own, own, mine], ""),
        (
            ["", own, "", mine],
            "still write it at PTX line 17: `volatile` orders no accesses, and no `__threadfence()` \
             follows the atomic at PTX line 19 (the one at PTX line 18 precedes it), so what it \
             shows is not acquired; put one after it, in the same thread",
        ),
        (
            ["", "", own, mine],
            "`volatile` orders no accesses, and no `__threadfence()` lies between",
        ),
    ] {
        for schedule in SCHEDULES {
            let (faults, text) = run(&volatile(&tickets(parts)), 2, 64, schedule);
            assert!(text.contains(words), "{schedule} {parts:?}: {text}");
            let expected: &[Fault] =
                if words.is_empty() { &[] } else { &[Fault::UnorderedVolatile] };
            assert_eq!(faults, expected, "{schedule} {parts:?}: {text}");
        }
    }
}

/// Without an atomic or a flag, no fence helps.
#[test]
fn blocks_that_do_not_communicate_are_told_so() {
    let fence = "membar.gl;";
    for (change, words) in [
        (
            ("@!%p1 atom.global.inc.u32 %r5, [%rd1], 1", "mov.u32 %r5, 1"),
            "nothing orders two blocks",
        ),
        (
            (
                "@!%p1 atom.global.inc.u32 %r5, [%rd1], 1",
                "red.global.inc.u32 [%rd1], 1;\nmov.u32 %r5, 1",
            ),
            "nothing tests the result of the atomic at PTX line 19",
        ),
        (
            (
                "@!%p1 atom.global.inc.u32 %r5, [%rd1], 1",
                "st.volatile.global.u32 [%rd3], 1;\nmov.u32 %r5, 1",
            ),
            "nothing tests the flag that is stored at PTX line 19",
        ),
    ] {
        // In a random order, a block may read after the atomics of both blocks.
        for schedule in [Schedule::Converged, Schedule::MinPc] {
            let (_, text) = said(["", fence, fence, "@!%p1"], change, schedule);
            assert!(text.contains(words), "{schedule} {words}: {text}");
        }
    }
}

/// One block sends a value and its flag in one word, and the other block polls the word.
#[test]
fn a_word_with_a_value_and_its_flag_is_relaxed_or_volatile() {
    let mail = |store: &str, load: &str| {
        format!(
            "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra end;\nsetp.ne.u32 %p2, %r2, 0;\n@%p2 bra poll;\n\
             mov.u64 %rd5, 0x100000007;\n{store}.u64 [%rd1], %rd5;\nbra end;\n\
             poll: {load}.u64 %rd6, [%rd1];\nshr.u64 %rd7, %rd6, 32;\n\
             setp.eq.u64 %p3, %rd7, 0;\n@%p3 bra poll;\nst.global.u64 [%rd1+64], %rd6;\nend:"
        )
    };
    let (volatile, relaxed) = ("volatile.global", "relaxed.gpu.global");
    for (store, load, expected) in [
        (volatile, volatile, None),
        ("global", volatile, Some((Fault::DataRace, "one of the accesses is plain; if it resets"))),
        ("global", relaxed, Some((Fault::DataRace, "one of the accesses is plain; if it resets"))),
        (
            relaxed,
            "global",
            Some((Fault::DataRace, "the load polls this word but is plain (weak); let it be")),
        ),
        (
            "global",
            "global",
            Some((Fault::DataRace, "a thread polls this word, so no access to it may be")),
        ),
        (relaxed, volatile, None),
        (volatile, relaxed, None),
        (relaxed, relaxed, None),
    ] {
        for schedule in SCHEDULES {
            let body = mail(&format!("st.{store}"), &format!("ld.{load}"));
            let (faults, text) = run(&body, 2, 32, schedule);
            let fault: Vec<Fault> = expected.iter().map(|(fault, _)| *fault).collect();
            assert_eq!(faults, fault, "{schedule} {store} {load}: {text}");
            assert!(expected.is_none_or(|(_, words)| text.contains(words)), "{schedule}: {text}");
        }
    }
}

/// Thread 0 of block 0 stores a value and its flag, and other threads of both blocks poll the flag. All
/// accesses are volatile.
#[test]
fn a_volatile_flag_alone_orders_nothing() {
    let mail = |before: &str, after: &str| {
        format!(
            "setp.gt.u32 %p1, %r1, 1;\n@%p1 bra end;\nor.b32 %r3, %r1, %r2;\n\
             setp.ne.u32 %p2, %r3, 0;\n@%p2 bra poll;\nst.volatile.global.u32 [%rd1+4], 7;\n\
             {before}\nst.volatile.global.u32 [%rd1], 1;\nbra end;\n\
             poll: ld.volatile.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p3, %r5, 0;\n\
             @%p3 bra poll;\n{after}\nld.volatile.global.u32 %r6, [%rd1+4];\nend:"
        )
    };
    let volatile = "`volatile` orders no accesses, and ";
    for (before, after, words) in [
        ("", "", "no `__threadfence()` lies between the store and the store to the flag"),
        ("membar.gl;", "", "no `__threadfence()` follows the load of the flag"),
        ("", "membar.gl;", "follows the store to the flag); put one between them"),
        ("membar.gl;", "membar.gl;", ""),
    ] {
        for schedule in SCHEDULES {
            let (_, text) = run(&mail(before, after), 2, 32, schedule);
            let value: Vec<&str> = text.lines().filter(|line| line.contains("`in[1]`")).collect();
            let said = value.iter().all(|l| l.contains(words) && l.contains(volatile));
            assert_eq!(value.is_empty(), words.is_empty(), "{schedule}: {text}");
            assert_eq!(value.len(), text.lines().count(), "{schedule}: {text}");
            assert!(said && !text.contains("__syncwarp"), "{schedule} {before} {after}: {text}");
        }
    }
}

/// Volatile values that pass through a ticket need the same fences as plain ones.
#[test]
fn a_volatile_value_needs_the_fences_of_a_plain_one() {
    let fence = "membar.gl;";
    for (before, after, words) in [
        (fence, fence, ""),
        (fence, "", "no `__threadfence()` follows the atomic"),
        ("", fence, "no `__threadfence()` lies between the store and the atomic"),
    ] {
        let body =
            ["", before, after, "@!%p1"].into_iter().zip(["EARLY", "MIDDLE", "LATE", "TAKES"]);
        let body = body.fold(TICKETS.to_owned(), |text, (part, name)| text.replace(name, part));
        let body = body.replace("st.global.u32 [%rd3", "st.volatile.global.u32 [%rd3");
        let body = body.replace("ld.global.u32 %r8", "ld.volatile.global.u32 %r8");
        for schedule in SCHEDULES {
            let (faults, text) = run(&body, 2, 64, schedule);
            assert_eq!(faults.is_empty(), words.is_empty(), "{schedule}: {text}");
            assert!(faults.iter().all(|fault| *fault == Fault::UnorderedVolatile), "{text}");
            let said = text.contains("`volatile` orders no accesses, and") && text.contains(words);
            assert!(said || words.is_empty(), "{schedule}: {text}");
        }
    }
}

/// Lanes 0 to 15 and lanes 16 to 31 exchange values, but each half only waits for itself.
#[test]
fn a_mask_that_omits_a_lane_is_named() {
    let exchange = |barrier: &str| {
        format!(
            ".shared .align 4 .b8 s[128];\nmov.u32 %r3, s;\nshl.b32 %r4, %r1, 2;\n\
             add.u32 %r5, %r3, %r4;\nxor.b32 %r6, %r4, 64;\nadd.u32 %r7, %r3, %r6;\n\
             st.shared.u32 [%r5], %r1;\nsetp.gt.u32 %p4, %r1, 15;\n{barrier}\n\
             ld.shared.u32 %r8, [%r7];\nadd.u32 %r8, %r8, 1;\nmad.wide.u32 %rd4, %r1, 4, %rd1;\nst.global.u32 [%rd4+64], %r8;"
        )
    };
    let halves = "@%p4 bra upper;\nbar.warp.sync 0xffff;\nbra both;\nupper: bar.warp.sync 0xffff0000;\nboth:";
    let chosen = "selp.b32 %r9, 0xffff0000, 0xffff, %p4;\nbar.warp.sync %r9;";
    let one = "@!%p4 bar.warp.sync 0xffff;";
    for (barrier, words) in [
        (halves, "because its mask 0x0000ffff omits lane |because its mask 0xffff0000 omits lane "),
        (chosen, "because its mask 0x0000ffff omits lane |because its mask 0xffff0000 omits lane "),
        (one, "because its mask 0x0000ffff omits lane "),
        ("", "a `__syncwarp()` is missing between them"),
        ("bar.warp.sync -1;", ""),
    ] {
        for schedule in SCHEDULES {
            let (_, text) = run(&exchange(barrier), 1, 32, schedule);
            let races: Vec<&str> = text.lines().filter(|line| line.contains("`s[")).collect();
            let right = words.split('|').any(|words| races.iter().any(|line| line.contains(words)));
            assert!(right || words.is_empty() && races.is_empty(), "{schedule} {barrier}: {text}");
            let missing = text.contains("`__syncwarp()` is missing");
            assert_eq!(missing, barrier.is_empty(), "{schedule} {barrier}: {text}");
        }
    }
}

/// Warp 0 stores a value and releases a flag, warp 1 passes the flag on, and warp 2 acquires it and
/// reads the value.
const CHAIN: &str = "shr.u32 %r3, %r1, 5;
    and.b32 %r4, %r1, 31;
    setp.ne.u32 %p1, %r4, 0;
    setp.ne.u32 %p4, %r1, 0;
    @!%p4 st.shared.u32 [h+8], 0;
    bar.sync 0;
    @%p1 bra end;
    setp.ne.u32 %p2, %r3, 0;
    @%p2 bra second;
    st.shared.u32 [h], 7;
    st.release.cta.shared.u32 [h+8], 1;
    bra end;
    second:
    setp.ne.u32 %p2, %r3, 1;
    @%p2 bra third;
    one:
    SEEN.shared.u32 %r5, [h+8];
    setp.ne.u32 %p3, %r5, 1;
    @%p3 bra one;
    PASS
    bra end;
    third:
    ld.acquire.cta.shared.u32 %r5, [h+8];
    setp.ne.u32 %p3, %r5, 2;
    @%p3 bra third;
    ld.shared.u32 %r6, [h];
    end:";

/// A store ends the releases of other threads; an atomic read-modify-write continues them.
#[test]
fn a_store_ends_the_releases_of_other_threads() {
    let (store, add) =
        ("st.release.cta.shared.u32 [h+8], 2;", "atom.relaxed.cta.shared.add.u32 %r6, [h+8], 1;");
    for (seen, pass, races) in [
        ("ld.relaxed.cta", store, true),
        ("ld.acquire.cta", store, false),
        ("ld.relaxed.cta", add, false),
        ("ld.relaxed.cta", "st.relaxed.cta.shared.u32 [h+8], 2;", true),
    ] {
        // In the random order, warp 2 may acquire the flag of warp 0 itself.
        for schedule in SCHEDULES.into_iter().take(if races { 2 } else { 3 }) {
            let body = CHAIN.replace("SEEN", seen).replace("PASS", pass);
            let (faults, said) = run(&body, 1, 96, schedule);
            assert_eq!(
                faults.contains(&Fault::DataRace),
                races,
                "{seen} {pass} {schedule}: {said}"
            );
        }
    }
}

/// Block 0 stores a value and then changes a counter. Block 1 changes the counter with the given
/// instruction, and reads the value after a fence.
fn counted(change: &str, schedule: Schedule) -> (Vec<Fault>, String) {
    let body = "setp.ne.u32 %p1, %r1, 0;
        @%p1 bra end;
        setp.ne.u32 %p2, %r2, 0;
        @%p2 bra second;
        st.global.u32 [%rd1+64], 7;
        fence.acq_rel.sys;
        atom.relaxed.sys.global.add.u32 %r5, [%rd1], 1;
        bra end;
        second:
        CHANGE
        fence.acq_rel.sys;
        ld.global.u32 %r8, [%rd1+64];
        end:";
    run(&body.replace("CHANGE", change), 2, 32, schedule)
}

/// PTX ISA, "Release and Acquire Patterns": the read of a reduction does not form an acquire
/// pattern. `ptxas` also makes a reduction of an atomic whose result is unused, unless the atomic
/// is itself an acquire.
#[test]
fn a_reduction_acquires_nothing() {
    // In this order, the first block runs first.
    let faults = |change: &str| counted(change, Schedule::Converged).0;
    for scope in ["cta", "gpu", "sys"] {
        let target = |op: &str| op.replace("SCOPE", scope);
        for change in [
            "red.global.add.u32 [%rd1], 1;",
            "red.relaxed.SCOPE.global.add.u32 [%rd1], 1;",
            "red.release.SCOPE.global.max.u32 [%rd1], 1;",
            "atom.relaxed.SCOPE.global.add.u32 _, [%rd1], 1;",
            "atom.relaxed.SCOPE.global.add.u32 %r6, [%rd1], 1;",
            "atom.release.SCOPE.global.or.b32 %r6, [%rd1], 1;",
        ] {
            // Block scope is also too narrow for the counter.
            let races = 1 + usize::from(target(change).contains(".cta"));
            assert_eq!(faults(&target(change)).len(), races, "{scope} {change}");
        }
        for change in [
            "atom.relaxed.SCOPE.global.add.u32 %r6, [%rd1], 1;\nst.global.u32 [%rd1+128], %r6;",
            "atom.acquire.SCOPE.global.add.u32 %r6, [%rd1], 1;",
            "atom.acq_rel.SCOPE.global.add.u32 _, [%rd1], 1;",
            "ld.relaxed.SCOPE.global.u32 %r6, [%rd1];",
        ] {
            assert_eq!(faults(&target(change)).is_empty(), scope != "cta", "{scope} {change}");
        }
    }
    // A reduction does not end the release that precedes it.
    let (found, text) = counted(
        "red.relaxed.gpu.global.add.u32 [%rd1], 1;\nld.relaxed.gpu.global.u32 %r6, [%rd1];",
        Schedule::Converged,
    );
    assert_eq!(found, [], "{text}");
    let (_, text) = counted("red.global.add.u32 [%rd1], 1;", Schedule::Converged);
    assert!(text.contains("nothing tests the result of the atomic"), "{text}");
}
