//! Tests remedies for accesses that another barrier, a flag or an atomic does not order.

use crate::common::{Device, SCHEDULES, launch};
use simt::observe::Fault;
use simt::{Arg, Module};

/// Runs a kernel in which `%r1` is the thread's index and `%r4` the address of its word in `h`, and
/// tests that every schedule finds a data race. Returns what they said.
fn said(body: &str, grid: u32, threads: u32) -> Vec<String> {
    let text = format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n.file 1 \"kernel.cu\"\n\
         .visible .entry test(.param .u64 in)\n{{\n.shared .align 16 .b8 h[1040];\n\
         .shared .align 8 .b64 bar;\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [in];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, h;\nmov.u32 %r10, bar;\n\
         shl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\n{body}\nret;\n}}\n"
    );
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let run = |schedule| {
        let mut device = Device::new(schedule);
        let input = device.put(&[0; 1024]);
        let call = launch("test", grid, threads, 0, vec![Arg::U64(input)]);
        let stopped = device.launch(&module, &call).err().map(|error| error.to_string());
        let text = device.said() + &stopped.unwrap_or_default();
        let raced = device.findings().iter().any(|f| f.fault == Fault::DataRace);
        assert!(raced, "{schedule}: {text}");
        text
    };
    SCHEDULES.map(run).into()
}

/// Each thread stores its word, meets the others, and loads the word of another warp.
fn met(meet: &str, count: &str) -> Vec<String> {
    let start = "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra begun;\nmbarrier.init.shared.b64 [%r10], COUNT;\n\
                 st.shared.u32 [%r2+512], 0;\nbegun: bar.sync 0;\nst.shared.u32 [%r4], %r1;\n.loc 1 7 1\n";
    let end =
        ".loc 1 8 1\nxor.b32 %r5, %r3, 256;\nadd.u32 %r5, %r2, %r5;\nld.shared.u32 %r6, [%r5];";
    said(&format!("{}{meet}\n{end}", start.replace("COUNT", count)), 1, 128)
}

#[test]
fn another_barrier_is_named_as_the_cause() {
    const ARRIVE: &str = "mbarrier.arrive.shared.b64 _, [%r10];";
    let wait = |parity: u32| {
        format!(
            "\nwait: mbarrier.try_wait.parity.shared.b64 %p2, [%r10], {parity};\n@!%p2 bra wait;"
        )
    };
    let relaxed = "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r10];";
    let late = "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p2, [%r10], 0;";
    for (meet, words) in [
        ("bar.sync 1, 64;".to_owned(), "the barrier at line 7 ends when 64 threads have arrived"),
        (
            format!("{ARRIVE}{}", wait(1)),
            "the wait at line 7 tested the parity 1, and passed at once",
        ),
        (format!("{ARRIVE}{} ", wait(0)), "the wait for an mbarrier at line 7 does not order them"),
        (
            format!("{relaxed}{}", wait(0)),
            "`.relaxed` on `mbarrier.arrive` orders no memory accesses",
        ),
        (
            format!("{ARRIVE}\nwait: {late}\n@!%p2 bra wait;"),
            "a relaxed wait or load orders no memory accesses",
        ),
        (
            "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;".to_owned(),
            "`.relaxed` on `barrier.cluster.arrive` orders no memory accesses",
        ),
        (
            "red.relaxed.cta.shared.add.u32 [%r2+512], 1;\n\
             wait: ld.relaxed.cta.shared.u32 %r7, [%r2+512];\nsetp.lt.u32 %p2, %r7, 128;\n\
             @%p2 bra wait;"
                .to_owned(),
            "the load of a flag at line 7 does not order them; put a `__threadfence_block()`",
        ),
    ] {
        let count = if words.contains("for an mbarrier") { "32" } else { "128" };
        for text in met(&meet, count) {
            assert!(text.contains(words), "{meet}: {text}");
            assert!(!text.contains("is missing between them"), "{meet}: {text}");
        }
    }
}

#[test]
fn a_count_needs_an_order_around_it() {
    let add = "atom.shared.add.u32 %r7, [h], 1;\nst.global.u32 [%rd1+64], %r7;";
    let first = "setp.ne.u32 %p1, %r1, 0;\n@!%p1 st.shared.u32 [h], 0;\n";
    for text in said(&format!("{first}{add}"), 1, 64) {
        let words =
            "a `__syncthreads()` is missing between them; an atomic write would not suffice";
        assert!(text.contains(words) && !text.contains("make both"), "{text}");
    }
    let last = "\nsetp.ne.u32 %p2, %r1, 0;\n@!%p2 ld.shared.u32 %r8, [h];\n@!%p2 st.global.u32 [%rd1], %r8;";
    for text in said(&format!("{first}bar.sync 0;\n{add}{last}"), 1, 64) {
        let words = "a `__syncthreads()` is missing between them; an atomic read would not suffice";
        assert!(text.contains(words) && !text.contains("make both"), "{text}");
    }
    // Blocks count in global memory.
    let add = "red.global.add.u32 [%rd1], 1;";
    let words = "let the host or an earlier launch set the value";
    for text in said(&format!("st.global.u32 [%rd1], 0;\n{add}"), 2, 1) {
        assert!(text.contains(words), "{text}");
    }
    for text in said(&format!("{add}\nld.global.u32 %r7, [%rd1];\nst.shared.u32 [%r2], %r7;"), 2, 1)
    {
        assert!(text.contains("let the block that takes the last ticket read"), "{text}");
    }
}
