//! Tests that a relaxed or volatile load returns an older value in some orders of execution, unless
//! a fence, an acquire or a barrier forbids it.

use crate::common::{Device, launch};
use simt::{Arg, Module, Schedule};

const BLOCKS: u32 = 4;
const SEEDS: u64 = 32;

/// Runs a kernel in which %rd1 is the address of zeros, %rd2 that of the output, %r1 the thread and
/// %r2 the block. Returns a word of the output, and what the check says about older values.
fn run(body: &str, threads: u32, schedule: Schedule) -> (u32, Option<String>) {
    let text = format!(
        ".version 8.4\n.target sm_80\n.address_size 64\n\
         .visible .entry test(.param .u64 state, .param .u64 out)\n{{\n\
         .reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [state];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\n\
         mov.u32 %r2, %ctaid.x;\n{body}\nend: ret;\n}}\n"
    );
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut device = Device::with(|config| {
        config.schedule = schedule;
        config.block_budget = 1 << 22;
    });
    let (state, out) = (device.put(&[0; 4096]), device.put(&[0; 64]));
    let args = vec![Arg::U64(state), Arg::U64(out)];
    device.launch(&module, &launch("test", BLOCKS, threads, 0, args)).unwrap();
    let word = u32::from_le_bytes(device.get(out, 4).try_into().unwrap());
    (word, device.sync().older().map(str::to_owned))
}

/// Returns the number of random orders in which the output is not the expected word.
fn wrong(body: &str, threads: u32, expected: u32) -> usize {
    assert_eq!(run(body, threads, Schedule::Converged), (expected, None), "{body}");
    let ran = |seed| run(body, threads, Schedule::Adversarial(seed));
    (0..SEEDS).filter(|seed| ran(*seed).0 != expected).count()
}

/// Block 1 stores a value and then its flag. Block 0 polls the flag with `poll`, executes `then`, and
/// loads the value with `load`.
fn flagged(poll: &str, then: &str, load: &str) -> String {
    format!(
        "setp.gt.u32 %p1, %r2, 1;\n@%p1 bra end;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra poll;\n\
         setp.ne.u32 %p2, %r1, 0;\n@%p2 bra end;\nst.relaxed.gpu.global.u32 [%rd1], 5;\n\
         membar.gl;\nst.relaxed.gpu.global.u32 [%rd1+64], 1;\nbra end;\n\
         poll: {poll} %r3, [%rd1+64];\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 bra poll;\n{then}\n\
         {load} %r4, [%rd1];\nst.relaxed.gpu.global.u32 [%rd2], %r4;"
    )
}

const RELAXED: &str = "ld.relaxed.gpu.global.u32";

#[test]
fn a_value_without_a_fence_after_its_flag_may_be_old() {
    for poll in [RELAXED, "ld.volatile.global.u32"] {
        for load in [RELAXED, "ld.volatile.global.u32", "ld.relaxed.gpu.u32"] {
            let late = wrong(&flagged(poll, "", load), 1, 5);
            assert!((4..28).contains(&late), "{poll} {load}: {late}");
        }
    }
    // A fence after the load comes too late, and one of the block's scope shows nothing.
    let after = "ld.relaxed.gpu.global.u32 %r5, [%rd1];\nmembar.gl;\nmov.u32 %r4, %r5;";
    let after = flagged(RELAXED, after, "add.u32 %r4, %r5, 0; // ");
    assert!(wrong(&after, 1, 5) >= 4);
    assert!(wrong(&flagged(RELAXED, "membar.cta;", RELAXED), 1, 5) >= 4);
}

#[test]
fn a_fence_or_an_acquire_shows_the_value() {
    for fence in ["membar.gl;", "membar.sys;", "fence.acq_rel.gpu;", "fence.sc.sys;"] {
        assert_eq!(wrong(&flagged(RELAXED, fence, RELAXED), 1, 5), 0, "{fence}");
    }
    for poll in ["ld.acquire.gpu.global.u32", "ld.acquire.sys.global.u32"] {
        assert_eq!(wrong(&flagged(poll, "", RELAXED), 1, 5), 0, "{poll}");
    }
    // An atomic reads the newest value, and shows it to a later load.
    let atomic = "atom.relaxed.gpu.global.or.b32 %r6, [%rd1], 0;";
    assert_eq!(wrong(&flagged(RELAXED, atomic, RELAXED), 1, 5), 0);
}

/// Thread 0 of the block fences, and a barrier passes on to thread 1, which loads the value, what the
/// fence has shown.
#[test]
fn a_barrier_passes_on_what_a_fence_has_shown() {
    let body = |fence: &str, barrier: &str| {
        let then = format!(
            "setp.ne.u32 %p4, %r1, 0;\n@%p4 bra on;\n{fence}\non: {barrier}\n\
             setp.ne.u32 %p5, %r1, 1;\n@%p5 bra end;"
        );
        flagged(RELAXED, &then, RELAXED)
    };
    for (barrier, threads) in [("bar.sync 0;", 64), ("bar.warp.sync 0xffffffff;", 32)] {
        assert_eq!(wrong(&body("membar.gl;", barrier), threads, 5), 0, "{barrier}");
        assert_eq!(wrong(&body("bra on;", &format!("{barrier}\nmembar.gl;")), threads, 5), 0);
        assert!(wrong(&body("bra on;", barrier), threads, 5) > 0, "{barrier}");
    }
}

/// Each block stores a value and takes a ticket, and the block with the last ticket adds all values.
fn tickets(after: &str) -> String {
    format!(
        "mul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd3, %rd1, %rd3;\n\
         st.relaxed.gpu.global.u32 [%rd3+64], 1;\nmembar.gl;\n\
         atom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1;\n{after}\nsetp.ne.u32 %p1, %r3, 3;\n\
         @%p1 bra end;\nmov.u32 %r5, 0;\nmov.u32 %r6, 0;\n\
         sum: {RELAXED} %r4, [%rd1+64];\nadd.u32 %r5, %r5, %r4;\nadd.u64 %rd1, %rd1, 4;\n\
         add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, {BLOCKS};\n@%p2 bra sum;\n\
         st.global.u32 [%rd2], %r5;"
    )
}

/// The fence before the ticket, which releases the block's own value, acquires nothing.
#[test]
fn the_last_ticket_needs_a_fence_after_it() {
    assert!(wrong(&tickets(""), 1, BLOCKS) >= 16);
    assert_eq!(wrong(&tickets("membar.gl;"), 1, BLOCKS), 0);
    let acquires = tickets("").replace("atom.relaxed", "atom.acq_rel");
    assert_eq!(wrong(&acquires, 1, BLOCKS), 0);
}

/// A value and its flag in one word, a counter that only grows, and a word that the thread itself
/// has written need no fence. Each block waits for its predecessor.
#[test]
fn a_single_word_needs_no_fence() {
    let chain = "mul.wide.u32 %rd3, %r2, 8;\nadd.u64 %rd3, %rd1, %rd3;\nmov.u64 %rd4, 1;\n\
                 setp.eq.u32 %p1, %r2, 0;\n@%p1 bra send;\n\
                 poll: ld.relaxed.gpu.global.u64 %rd4, [%rd3+-8];\nsetp.eq.u64 %p2, %rd4, 0;\n\
                 @%p2 bra poll;\nadd.u64 %rd4, %rd4, 1;\n\
                 send: st.relaxed.gpu.global.u64 [%rd3], %rd4;\n\
                 ld.relaxed.gpu.global.u64 %rd5, [%rd3];\n\
                 red.relaxed.gpu.global.add.u64 [%rd2], %rd5;";
    assert_eq!(wrong(chain, 1, 1 + 2 + 3 + 4), 0);
    let count = "red.relaxed.gpu.global.add.u32 [%rd1], 1;\nsetp.ne.u32 %p1, %r2, 0;\n\
                 @%p1 bra end;\nmov.u32 %r5, 0;\n\
                 poll: ld.volatile.global.u32 %r4, [%rd1];\nsetp.lt.u32 %p2, %r4, %r5;\n\
                 @%p2 bra bad;\nmov.u32 %r5, %r4;\nsetp.lt.u32 %p3, %r4, 4;\n@%p3 bra poll;\n\
                 st.global.u32 [%rd2], %r4;\nbra end;\nbad: st.global.u32 [%rd2], 99;";
    assert_eq!(wrong(count, 1, BLOCKS), 0);
}

/// All blocks store a value and meet at a barrier of the grid, and then each block reads the next
/// one's value.
#[test]
fn a_barrier_of_the_grid_needs_a_fence_after_it() {
    let body = |fence: &str| {
        format!(
            "mul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd3, %rd1, %rd3;\n\
             st.relaxed.gpu.global.u32 [%rd3+64], 1;\nmembar.gl;\n\
             red.relaxed.gpu.global.add.u32 [%rd1], 1;\n\
             poll: ld.volatile.global.u32 %r4, [%rd1];\nsetp.lt.u32 %p2, %r4, 4;\n\
             @%p2 bra poll;\n{fence}\nadd.u32 %r5, %r2, 1;\nand.b32 %r5, %r5, 3;\n\
             mul.wide.u32 %rd4, %r5, 4;\nadd.u64 %rd4, %rd1, %rd4;\n{RELAXED} %r6, [%rd4+64];\n\
             red.relaxed.gpu.global.add.u32 [%rd2], %r6;"
        )
    };
    assert_eq!(wrong(&body("membar.gl;"), 1, BLOCKS), 0);
    assert!(wrong(&body(""), 1, BLOCKS) >= 16);
}

/// Returns the number of random orders in which a condition holds in all blocks. `W x` stores 1 to a
/// word, `R x v` requires that a load returns v, and F is the fence.
fn allowed(fence: &str, blocks: &[&str]) -> usize {
    let place = |word: &str| 64 * (word.as_bytes()[0] - b'a') as u32;
    let op = |op: &str| match op.split(' ').collect::<Vec<_>>()[..] {
        ["W", word] => format!("st.relaxed.gpu.global.u32 [%rd1+{}], 1;\n", place(word)),
        ["R", word, value] => format!(
            "{RELAXED} %r4, [%rd1+{}];\nsetp.eq.and.u32 %p4, %r4, {value}, %p4;\n",
            place(word)
        ),
        _ => format!("{fence}\n"),
    };
    let mut body = "setp.eq.u32 %p4, %r2, %r2;\n".to_owned();
    for (index, block) in blocks.iter().enumerate() {
        let ops: String = block.split(", ").map(op).collect();
        body += &format!("setp.ne.u32 %p1, %r2, {index};\n@%p1 bra n{index};\n{ops}bra done;\n");
        body += &format!("n{index}:\n");
    }
    body += &format!(
        "bra end;\ndone: @!%p4 bra end;\natom.relaxed.gpu.global.add.u32 %r5, [%rd1+1024], 1;\n\
         setp.ne.u32 %p2, %r5, {};\n@%p2 bra end;\nst.global.u32 [%rd2], 1;",
        blocks.len() - 1
    );
    (0..500).filter(|seed| run(&body, 1, Schedule::Adversarial(*seed)).0 == 1).count()
}

/// The classic tests of memory models, whose outcome PTX forbids if all fences are `fence.sc`, but
/// not without fences.
#[test]
fn no_outcome_is_impossible() {
    let forbidden: [(&str, &[&str]); 6] = [
        ("message", &["W a, F, W b", "R b 1, F, R a 0"]),
        ("store buffers", &["W a, F, R b 0", "W b, F, R a 0"]),
        ("three store buffers", &["W a, F, R b 0", "W b, F, R c 0", "W c, F, R a 0"]),
        ("independent reads", &["W a", "W b", "R a 1, F, R b 0", "R b 1, F, R a 0"]),
        ("a chain of messages", &["W a, F, W b", "R b 1, F, W c", "R c 1, F, R a 0"]),
        ("a message around", &["W a, F, R b 0", "W b, F, W c", "R c 1, F, R a 0"]),
    ];
    for (name, blocks) in forbidden {
        assert_eq!(allowed("fence.sc.gpu;", blocks), 0, "{name}");
        assert!(allowed("", blocks) > 0, "{name}");
    }
    // Messages need no `fence.sc`.
    let messages: [&[&str]; 2] = [forbidden[0].1, forbidden[4].1];
    assert!(messages.iter().all(|blocks| allowed("fence.acq_rel.gpu;", blocks) == 0));
}

#[test]
fn the_cause_names_the_load_and_the_remedy() {
    let body = tickets("");
    let said = (0..SEEDS).find_map(|seed| run(&body, 1, Schedule::Adversarial(seed)).1).unwrap();
    assert!(
        said.starts_with("the relaxed load at PTX line 23 returned an older value of "),
        "{said}"
    );
    assert!(said.contains("put a `__threadfence()` between them"), "{said}");
    // A poll that misses a change explains nothing, and the same seed has the same outcome.
    let right = flagged(RELAXED, "membar.gl;", RELAXED);
    assert!((0..SEEDS).all(|seed| run(&right, 1, Schedule::Adversarial(seed)).1.is_none()));
    let all = || (0..SEEDS).map(|seed| run(&body, 1, Schedule::Adversarial(seed)));
    assert!(all().eq(all()));
}
