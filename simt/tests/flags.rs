//! Tests flags in volatile words. PTX gives volatile accesses the meaning of relaxed ones with system
//! scope, so a polled flag with fences is correct, and a polled word may carry a value beside its flag.
//! A volatile value that no loop waits for is reported.

use crate::common::{Device, SCHEDULES, launch};
use simt::observe::Fault;
use simt::{Arg, Module, Schedule};

/// The place of the flag and the data: two words in memory that is zero at first.
#[derive(Debug, Clone, Copy)]
struct Place {
    shared: bool,
    fence: &'static str,
}

const PLACES: [Place; 2] =
    [Place { shared: true, fence: "membar.cta;" }, Place { shared: false, fence: "membar.gl;" }];

impl Place {
    /// Runs two threads, in two warps of a block for shared memory, and otherwise in two blocks. `SP`
    /// is the space, and `%rd4` is the address of the flag.
    fn run(self, first: &str, second: &str, schedule: Schedule) -> (Vec<Fault>, String) {
        let (who, grid, block) = if self.shared { ("%tid.x", 1, 64) } else { ("%ctaid.x", 2, 1) };
        let address = match self.shared {
            true => {
                "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra MET;\nst.shared.u64 [room], 0;\n\
                 MET: bar.sync 0;\nmov.u64 %rd4, room;"
            }
            false => "mov.u64 %rd4, %rd1;",
        };
        // The threads compute the address apart, so that they do not seem to be rounds of one loop.
        let second = second.replace("%rd4", "%rd9");
        let text = format!(
            ".version 8.0\n.target sm_70\n.address_size 64\n\
             .visible .entry test(.param .u64 in)\n{{\n.shared .align 8 .b8 room[16];\n\
             .reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n\
             ld.param.u64 %rd1, [in];\nmov.u32 %r1, {who};\n{address}\n\
             setp.eq.u32 %p1, %r1, 0;\n@%p1 bra FIRST;\n\
             setp.ne.u32 %p1, %r1, {other};\n@%p1 ret;\nmov.u64 %rd9, %rd4;\n{second}\nret;\nFIRST:\n{first}\nret;\n}}\n",
            other = if self.shared { 32 } else { 1 },
        );
        let text = text.replace("SP", if self.shared { "shared" } else { "global" });
        let text = text.replace("FENCE", self.fence);
        let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let mut device = Device::new(schedule);
        let input = device.put(&[0; 256]);
        device.launch(&module, &launch("test", grid, block, 0, vec![Arg::U64(input)])).unwrap();
        let mut faults: Vec<Fault> = device.findings().iter().map(|f| f.fault).collect();
        faults.sort();
        (faults, device.said())
    }

    /// Tests that all schedules find exactly these faults. Returns what they said.
    fn finds(self, first: &str, second: &str, expected: &[Fault]) -> Vec<String> {
        let run = |schedule| {
            let (faults, text) = self.run(first, second, schedule);
            assert_eq!(faults, expected, "{self:?} {schedule}\n{first}\n{second}\n{text}");
            text
        };
        SCHEDULES.map(run).into()
    }
}

const STORE: &str = "st.SP.u32 [%rd4+4], 7;";
const SET: &str = "st.volatile.SP.u32 [%rd4], 1;";
const POLL: &str =
    "poll: ld.volatile.SP.u32 %r5, [%rd4];\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra poll;";
const READ: &str = "ld.SP.u32 %r6, [%rd4+4];\nst.global.u32 [%rd1+64], %r6;";

/// A flag with fences orders plain data. Without one of the fences, the data race, but not the flag.
/// The findings are those for a relaxed flag.
#[test]
fn a_polled_volatile_flag_is_a_relaxed_one() {
    for place in PLACES {
        let relaxed = |text: &str| text.replace(".volatile", ".relaxed.sys");
        for (release, acquire) in [("FENCE", "FENCE"), ("FENCE", ""), ("", "FENCE"), ("", "")] {
            let first = format!("{STORE}\n{release}\n{SET}");
            let second = format!("{POLL}\n{acquire}\n{READ}");
            let fenced = !release.is_empty() && !acquire.is_empty();
            let expected: &[Fault] = if fenced { &[] } else { &[Fault::DataRace] };
            let said = place.finds(&first, &second, expected);
            assert_eq!(said, place.finds(&relaxed(&first), &relaxed(&second), expected));
        }
    }
}

/// Loops that poll a flag in other ways: compilers repeat the load, and write the test in many ways.
#[test]
fn every_loop_that_polls_is_one() {
    for poll in [
        // The first test is before the loop, and the loop contains a fence.
        "ld.volatile.SP.u32 %r5, [%rd4];\nsetp.ne.u32 %p2, %r5, 0;\n@%p2 bra seen;\n\
         poll: FENCE\nld.volatile.SP.u32 %r7, [%rd4];\nsetp.eq.u32 %p2, %r7, 0;\n@%p2 bra poll;\nseen:",
        // The loop ends by a branch out of it.
        "poll: ld.volatile.SP.u32 %r5, [%rd4];\nsetp.eq.u32 %p2, %r5, 1;\n@%p2 bra seen;\nbra poll;\nseen:",
        // A byte, a mask, and a conversion to a truth value and back.
        "poll: ld.volatile.SP.u8 %h1, [%rd4];\ncvt.u32.u16 %r5, %h1;\nand.b32 %r5, %r5, 255;\n\
         setp.eq.u32 %p2, %r5, 0;\n@%p2 bra poll;",
        "poll: ld.volatile.SP.u32 %r5, [%rd4];\nsetp.eq.u32 %p2, %r5, 0;\nselp.u32 %r6, 1, 0, %p2;\n\
         setp.ne.u32 %p3, %r6, 0;\n@%p3 bra poll;",
        // A limit, a vote, and a comparison with a register.
        "mov.u32 %r8, 0;\npoll: ld.volatile.SP.u32 %r5, [%rd4];\nadd.u32 %r8, %r8, 1;\n\
         setp.eq.u32 %p2, %r5, 0;\nsetp.lt.and.u32 %p2, %r8, 10000, %p2;\n@%p2 bra poll;",
        "activemask.b32 %r9;\npoll: ld.volatile.SP.u32 %r5, [%rd4];\nsetp.ne.u32 %p2, %r5, 0;\n\
         vote.sync.all.pred %p3, %p2, %r9;\n@!%p3 bra poll;",
        "mov.u32 %r8, 1;\npoll: ld.volatile.SP.u32 %r5, [%rd4];\nsub.u32 %r5, %r5, %r8;\n\
         setp.lt.s32 %p2, %r5, 0;\n@%p2 bra poll;",
        // The value also decides what is done then.
        "poll: ld.volatile.SP.u32 %r5, [%rd4];\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra poll;\n\
         setp.eq.u32 %p2, %r5, 2;\n@%p2 ret;",
    ] {
        for place in PLACES {
            let (set, second) = match poll.contains(".u8") {
                true => (SET.replace("u32", "u8"), poll),
                false => (SET.to_owned(), poll),
            };
            place.finds(
                &format!("{STORE}\nFENCE\n{set}"),
                &format!("{second}\nFENCE\n{READ}"),
                &[],
            );
        }
    }
}

/// The consumer clears the flag, and the producer waits for this before it sends the next value.
#[test]
fn a_volatile_flag_may_be_cleared() {
    let clear = "st.volatile.SP.u32 [%rd4], 0;";
    let rounds = |prefix: &str, body: &str| {
        format!(
            "mov.u32 %r8, 0;\n{prefix}: {body}\nadd.u32 %r8, %r8, 1;\nsetp.lt.u32 %p4, %r8, 3;\n\
             @%p4 bra {prefix};"
        )
    };
    let cleared = "free: ld.volatile.SP.u32 %r9, [%rd4];\nsetp.ne.u32 %p3, %r9, 0;\n@%p3 bra free;";
    for place in PLACES {
        let first = rounds("send", &format!("{cleared}\nFENCE\n{STORE}\nFENCE\n{SET}"));
        let second = rounds("take", &format!("{POLL}\nFENCE\n{READ}\nFENCE\n{clear}"));
        place.finds(&first, &second, &[]);
        // The value is read after the flag is cleared, or the fence before that is missing.
        let late = rounds("take", &format!("{POLL}\nFENCE\n{clear}\n{READ}"));
        place.finds(&first, &late, &[Fault::DataRace]);
        // Without data, no fence is needed.
        let [send, take] = [
            rounds("send", &format!("{cleared}\n{SET}")),
            rounds("take", &format!("{POLL}\n{clear}")),
        ];
        place.finds(&send, &take, &[]);
        // Two stores, of which the second does not depend on the flag.
        place.finds(SET, clear, &[Fault::UnorderedVolatile]);
    }
}

/// A word with a value and its flag is stored at once, and a loop waits for that very word. The value may
/// then be used in any way.
#[test]
fn a_volatile_word_may_carry_a_value_beside_its_flag() {
    for use_of in [
        "st.global.u32 [%rd1+64], %r5;",
        "shr.u32 %r6, %r5, 1;\nst.global.u32 [%rd1+64], %r6;",
        "and.b32 %r6, %r5, 8;\ncvt.u64.u32 %rd5, %r6;\nadd.u64 %rd6, %rd1, %rd5;\n\
         ld.global.u32 %r7, [%rd6+64];",
        "red.global.add.u32 [%rd1+64], %r5;",
        "activemask.b32 %r9;\nshfl.sync.idx.b32 %r6, %r5, 0, 31, %r9;",
        "setp.eq.u32 %p2, %r5, 1;\nselp.u32 %r6, %r5, 3, %p2;\nst.global.u32 [%rd1+64], %r6;",
    ] {
        for place in PLACES {
            place.finds(SET, &format!("{POLL}\n{use_of}"), &[]);
        }
    }
    // The value is in the lower half, as an `f32`; the consumer clears the word.
    let set = "st.volatile.SP.u64 [%rd4], 0x13f800000;";
    let take = |flag: &str| {
        format!(
            "poll: ld.volatile.SP.u64 %rd5, [%rd4];\n{flag}\nsetp.eq.u64 %p2, %rd6, 0;\n\
             @%p2 bra poll;\ncvt.u32.u64 %r5, %rd5;\nst.global.u32 [%rd1+64], %r5;\n\
             st.volatile.SP.u64 [%rd4], 0;"
        )
    };
    for place in PLACES {
        place.finds(set, &take("shr.u64 %rd6, %rd5, 32;"), &[]);
        // A consumer of several words polls each of them at a new address.
        let next = "add.u64 %rd4, %rd4, 8;\nsub.u64 %rd4, %rd4, 8;\nadd.u32 %r8, %r8, 1;\n\
                    setp.lt.u32 %p3, %r8, 1;\n@%p3 bra poll;";
        let words = format!("mov.u32 %r8, 0;\n{}\n{next}", take("shr.u64 %rd6, %rd5, 32;"));
        place.finds(set, &words, &[]);
        // The loop computes the address again.
        let again = take("shr.u64 %rd6, %rd5, 32;")
            .replace("poll: ", "poll: add.u64 %rd7, %rd4, 0;\n")
            .replace("[%rd4]", "[%rd7]");
        place.finds(set, &again, &[]);
        // The first test is before the loop.
        let peeled = "ld.volatile.SP.u32 %r5, [%rd4];\nsetp.ne.u32 %p2, %r5, 0;\n@%p2 bra seen;\n\
                      poll: ld.volatile.SP.u32 %r5, [%rd4];\nsetp.eq.u32 %p2, %r5, 0;\n\
                      @%p2 bra poll;\nseen: st.global.u32 [%rd1+64], %r5;";
        place.finds(SET, peeled, &[]);
        // Accesses of different sizes are not atomic with respect to each other.
        let wide = "poll: ld.volatile.SP.u64 %rd5, [%rd4];\nsetp.eq.u64 %p2, %rd5, 0;\n\
                    @%p2 bra poll;\nst.global.u64 [%rd1+64], %rd5;";
        place.finds(SET, wide, &[Fault::DataRace]);
    }
}

/// A volatile word that carries a value is reported if no loop waits for that very word. The remedy
/// does not ask for fences.
#[test]
fn a_volatile_value_is_reported() {
    let pair =
        "ld.volatile.SP.v2.u32 {%r5, %r6}, [%rd4];\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra poll;";
    for (set, second) in [
        // The value decides what is stored, but no loop.
        (
            SET,
            "ld.volatile.SP.u32 %r5, [%rd4];\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra out;\n\
             st.global.u32 [%rd1+64], 1;\nout:"
                .to_owned(),
        ),
        // The loop loads another word in each round.
        (
            SET,
            "mov.u64 %rd5, %rd4;\npoll: ld.volatile.SP.u32 %r5, [%rd5];\nadd.u64 %rd5, %rd5, 4;\n\
             setp.gt.u32 %p2, %r5, 1;\n@%p2 bra poll;\nst.global.u32 [%rd1+64], %r5;"
                .to_owned(),
        ),
        // Each round stores what it has computed from the word.
        (
            SET,
            "poll: ld.volatile.SP.u32 %r5, [%rd4];\nadd.u32 %r6, %r5, 1;\n\
             st.volatile.SP.u32 [%rd4+8], %r6;\nsetp.gt.u32 %p2, %r5, 1;\n@%p2 bra poll;"
                .to_owned(),
        ),
        // A vector with the flag and the value.
        (SET, format!("poll: {pair}\nst.global.u32 [%rd1+64], %r6;")),
    ] {
        for place in PLACES {
            for text in place.finds(set, &second, &[Fault::UnorderedVolatile]) {
                assert!(text.contains("`volatile` is not for communication"), "{text}");
                assert!(text.contains("an atomic or with `.relaxed`"), "{text}");
                assert!(!text.contains("fence"), "{text}");
            }
        }
    }
    // The flag is another word than the value.
    let words = "poll: ld.volatile.SP.u32 %r6, [%rd4+4];\nld.volatile.SP.u32 %r5, [%rd4];\n\
                 setp.eq.u32 %p2, %r5, 0;\n@%p2 bra poll;\nst.global.u32 [%rd1+64], %r6;";
    let first = "st.volatile.SP.u32 [%rd4+4], 7;\nst.volatile.SP.u32 [%rd4], 1;";
    for place in PLACES {
        place.finds(first, words, &[Fault::UnorderedVolatile]);
    }
    // A vector is stored element by element.
    let both = "st.volatile.SP.v2.u32 [%rd4], {1, 7};";
    for place in PLACES {
        place.finds(
            both,
            &format!("{POLL}\nst.global.u32 [%rd1+64], %r5;"),
            &[Fault::UnorderedVolatile],
        );
    }
}

/// Both threads count themselves in a volatile word, and wait until it has their number.
#[test]
fn a_volatile_counter_is_reported() {
    let count = "ld.volatile.SP.u32 %r5, [%rd4];\nadd.u32 %r5, %r5, 1;\n\
                 st.volatile.SP.u32 [%rd4], %r5;";
    for fence in ["", "FENCE"] {
        for place in PLACES {
            let first = format!("{fence}\n{count}");
            let second = format!("{fence}\n{}", count.replace("%r5", "%r6"));
            for schedule in SCHEDULES {
                let (faults, text) = place.run(&first, &second, schedule);
                assert!(faults.contains(&Fault::UnorderedVolatile), "{schedule}: {text}");
            }
        }
    }
}
