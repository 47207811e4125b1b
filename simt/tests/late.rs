//! Tests that reductions, and atomics whose result no instruction reads, take effect late in some
//! orders of execution.

use crate::common::{Device, launch};
use simt::{Arg, Module, Schedule};

const BLOCKS: u32 = 8;
const THREADS: u32 = 64;

fn module(body: &str) -> Module {
    let text = format!(
        ".version 8.4\n.target sm_80\n.address_size 64\n\
         .visible .entry test(.param .u64 state, .param .u64 out)\n{{\n\
         .reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [state];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\n\
         mov.u32 %r2, %ctaid.x;\n{body}\nret;\n}}\n"
    );
    Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Returns two words of the state, and two words of the output.
fn run(body: &str, schedule: Schedule) -> [[u32; 2]; 2] {
    let module = module(body);
    let mut device = Device::with(|config| {
        config.schedule = schedule;
        config.block_budget = 1 << 22;
    });
    let (state, out) = (device.put(&[0; 64]), device.put(&[0; 64]));
    let args = vec![Arg::U64(state), Arg::U64(out)];
    device.launch(&module, &launch("test", BLOCKS, THREADS, 0, args)).unwrap();
    [state, out].map(|at| {
        let bytes = device.get(at, 8);
        [0, 4].map(|i| u32::from_le_bytes(bytes[i..i + 4].try_into().unwrap()))
    })
}

/// Each thread adds 1, and the block that takes the last ticket moves the sum to the output.
fn summed(fence: &str) -> String {
    format!(
        "red.global.add.u32 [%rd1], 1;\nbar.sync 0;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra end;\n\
         {fence}\natom.global.inc.u32 %r3, [%rd1+4], {};\nmembar.gl;\n\
         setp.ne.u32 %p2, %r3, {};\n@%p2 bra end;\natom.global.exch.b32 %r4, [%rd1], 0;\n\
         st.global.u32 [%rd2], %r4;\nend:",
        BLOCKS - 1,
        BLOCKS - 1
    )
}

const ALL: u32 = BLOCKS * THREADS;

/// Without a fence, the ticket may be visible before the sum. Nothing is lost: what is late is still
/// in the state.
#[test]
fn a_sum_without_a_fence_may_be_seen_after_its_ticket() {
    let without = |schedule| run(&summed(""), schedule);
    assert_eq!(without(Schedule::Converged), [[0, 0], [ALL, 0]]);
    let seen: Vec<u32> = (0..8)
        .map(|seed| {
            let [[left, tickets], [moved, _]] = without(Schedule::Adversarial(seed));
            assert_eq!((left + moved, tickets), (ALL, 0));
            moved
        })
        .collect();
    let late = seen.iter().filter(|moved| **moved < ALL).count();
    assert!(late >= 4, "{seen:?}");
}

/// Compilers write some reductions as atomics whose result is unused.
#[test]
fn an_atomic_whose_result_is_unused_is_a_reduction() {
    let with = |add: &str| {
        let body = summed("").replace("red.global.add.u32", add);
        (0..8).filter(|seed| run(&body, Schedule::Adversarial(*seed))[1][0] < ALL).count()
    };
    assert!(with("atom.global.add.u32 %r9,") >= 4);
    assert!(with("atom.global.add.u32 _,") >= 4);
    // The result is read, so each sum takes effect before the next instruction.
    assert_eq!(with("add.u32 %r9, %r9, 1;\natom.global.add.u32 %r9,"), 0);
}

/// Each block exchanges a word, and the block that takes the last ticket adds all words. The
/// exchanges of one thread keep their order.
#[test]
fn an_exchange_whose_result_is_unused_may_be_seen_after_a_ticket() {
    let body = |fence: &str| {
        format!(
            "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra end;\nmul.wide.u32 %rd3, %r2, 4;\n\
             add.u64 %rd3, %rd1, %rd3;\natom.global.exch.b32 %r5, [%rd3+8], 9;\n\
             atom.global.exch.b32 %r5, [%rd3+8], 1;\n{fence}\n\
             atom.global.inc.u32 %r3, [%rd1+4], 7;\nmembar.gl;\nsetp.ne.u32 %p2, %r3, 7;\n\
             @%p2 bra end;\nmov.u32 %r6, 0;\nmov.u32 %r7, 0;\n\
             add: atom.global.or.b32 %r4, [%rd1+8], 0;\nadd.u32 %r6, %r6, %r4;\n\
             add.u64 %rd1, %rd1, 4;\nadd.u32 %r7, %r7, 1;\nsetp.lt.u32 %p3, %r7, 8;\n\
             @%p3 bra add;\nst.global.u32 [%rd2], %r6;\nend:"
        )
    };
    let seen = |fence, seed| run(&body(fence), Schedule::Adversarial(seed))[1][0];
    assert!((0..16).filter(|seed| seen("", *seed) != BLOCKS).count() >= 4);
    assert!((0..16).all(|seed| seen("membar.gl;", seed) == BLOCKS));
}

/// A block stores two words, each with a flag, and another block polls the flag of the second word
/// and then reads the first after a fence. Nothing orders the two stores.
#[test]
fn a_strong_store_may_be_seen_after_a_later_one() {
    let body = |fence: &str, how: &str| {
        format!(
            "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra end;\nsetp.ne.u32 %p2, %r2, 0;\n@%p2 bra poll;\n\
             st.{how}.global.u32 [%rd1], 5;\n{fence}\nst.{how}.global.u32 [%rd1+32], 1;\n\
             mov.u32 %r5, 0;\nspin: add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p3, %r5, 500;\n\
             @%p3 bra spin;\nbra end;\npoll: setp.ne.u32 %p2, %r2, 1;\n@%p2 bra end;\n\
             again: ld.{how}.global.u32 %r3, [%rd1+32];\nsetp.eq.u32 %p3, %r3, 0;\n\
             @%p3 bra again;\nmembar.gl;\nld.{how}.global.u32 %r4, [%rd1];\nst.global.u32 [%rd2], %r4;\nend:"
        )
    };
    for how in ["volatile", "relaxed.gpu"] {
        let seen = |fence, seed| run(&body(fence, how), Schedule::Adversarial(seed))[1][0];
        let late = (0..64).filter(|seed| seen("", *seed) == 0).count();
        assert!((2..62).contains(&late), "{how}: {late}");
        assert!((0..16).all(|seed| seen("membar.gl;", seed) == 5), "{how}");
    }
}

/// A fence, or a release by the ticket, makes the sum visible first. The ticket's thread needs no
/// fence for the reductions of its own block alone.
#[test]
fn a_sum_with_a_fence_is_seen_before_its_ticket() {
    let release = summed("").replace("atom.global.inc", "atom.acq_rel.gpu.global.inc");
    for body in [summed("membar.gl;"), summed("fence.acq_rel.gpu;"), release] {
        for seed in 0..16 {
            assert_eq!(run(&body, Schedule::Adversarial(seed)), [[0, 0], [ALL, 0]], "{seed}");
        }
    }
    // A fence of the block's scope orders nothing for other blocks.
    let block = |seed| run(&summed("membar.cta;"), Schedule::Adversarial(seed))[1][0];
    assert!((0..8).any(|seed| block(seed) < ALL));
}

/// A block sees its own reductions after a barrier, and in the order of the program if they do not
/// commute: thread 0 sets two bits, and then takes a minimum.
#[test]
fn a_block_sees_its_own_reductions() {
    let body = "mul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd3, %rd1, %rd3;\n\
                red.global.add.u32 [%rd3], 1;\nbar.sync 0;\nld.global.u32 %r3, [%rd3];\n\
                setp.eq.u32 %p1, %r3, 64;\n@%p1 bra right;\nred.global.add.u32 [%rd2], 1;\n\
                right: setp.ne.u32 %p2, %r1, 0;\n@%p2 bra end;\n\
                red.global.or.b32 [%rd3+32], 3;\nred.global.min.u32 [%rd3+32], 2;\n\
                atom.global.or.b32 %r4, [%rd3+32], 0;\nsetp.eq.u32 %p3, %r4, 2;\n@%p3 bra end;\n\
                red.global.add.u32 [%rd2+4], 1;\nend:";
    for seed in 0..16 {
        assert_eq!(run(body, Schedule::Adversarial(seed)), [[64, 64], [0, 0]], "{seed}");
    }
}

/// Blocks that poll for reductions of other blocks get them, although no fence follows: thread 0 of
/// each block counts itself with a reduction, and then polls another word, which the last block
/// sets when the count is complete.
#[test]
fn a_late_reduction_happens_in_the_end() {
    let body = "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra end;\nred.global.add.u32 [%rd1], 1;\n\
                setp.ne.u32 %p2, %r2, 7;\n@%p2 bra wait;\n\
                count: ld.volatile.global.u32 %r3, [%rd1];\nsetp.ne.u32 %p3, %r3, 8;\n\
                @%p3 bra count;\nst.volatile.global.u32 [%rd1+4], 1;\n\
                wait: ld.volatile.global.u32 %r4, [%rd1+4];\nsetp.eq.u32 %p4, %r4, 0;\n\
                @%p4 bra wait;\nend:";
    for seed in 0..8 {
        assert_eq!(run(body, Schedule::Adversarial(seed))[0], [8, 1], "{seed}");
    }
}
