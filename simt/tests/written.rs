//! Tests which memory counts as written, by launches or by the host, and which memory counts as
//! never written.

#![allow(clippy::single_range_in_vec_init)] // Some lists have a single range.

use crate::common::{Device, launch};
use simt::observe::Fault;
use simt::{Arg, Module, Schedule};

/// Returns a kernel in which each block with an odd index stores its index in its element. With
/// `also`, thread 0 first reads that element.
fn odd_blocks(also: &str) -> Module {
    let text = format!(
        ".version 8.4\n.target sm_60\n.address_size 64\n.visible .entry odd(.param .u64 out)\n{{\n\
         .reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred %p<2>;\nld.param.u64 %rd1, [out];\n\
         mov.u32 %r1, %ctaid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n{also}\n\
         and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra done;\n\
         st.global.u32 [%rd3], %r1;\ndone: ret;\n}}\n"
    );
    Module::parse(&text).unwrap()
}

const SCHEDULES: [Schedule; 3] = [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(5)];

#[test]
fn the_host_can_query_unwritten_memory() {
    for (schedule, blocks) in SCHEDULES.into_iter().flat_map(|s| [1, 7, 40].map(|n| (s, n))) {
        let mut device = Device::new(schedule);
        let out = device.gpu.alloc(4 * 40).unwrap();
        device.launch(&odd_blocks(""), &launch("odd", blocks, 1, 0, vec![Arg::U64(out)])).unwrap();
        let unwritten = device.memory().unwritten(out, 4 * u64::from(blocks));
        let even = (0..u64::from(blocks)).step_by(2).map(|i| out + 4 * i..out + 4 * i + 4);
        assert_eq!(unwritten, even.collect::<Vec<_>>(), "{schedule}");
        assert!(device.findings().is_empty(), "{}", device.said());
    }
}

/// Writes that a launch made before it was stopped count too.
#[test]
fn a_stopped_launch_has_written() {
    let text = ".version 8.4\n.target sm_60\n.address_size 64\n.visible .entry stop(.param .u64 out)\n\
                {\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [out];\nst.global.u32 [%rd1+4], 1;\ntrap;\n}\n";
    for schedule in SCHEDULES {
        let mut device = Device::new(schedule);
        let out = device.gpu.alloc(12).unwrap();
        let module = Module::parse(text).unwrap();
        assert!(device.launch(&module, &launch("stop", 1, 1, 0, vec![Arg::U64(out)])).is_err());
        assert_eq!(device.memory().unwritten(out, 12), [out..out + 4, out + 8..out + 12]);
    }
}

/// Memory that was written long ago becomes uninitialized at the host's request.
#[test]
fn forgotten_memory_is_uninitialized() {
    let module = odd_blocks("");
    let mut device = Device::new(Schedule::Converged);
    let out = device.put(&[1; 256]);
    let launch = launch("odd", 8, 1, 0, vec![Arg::U64(out)]);
    device.launch(&module, &launch).unwrap();
    assert_eq!(device.memory().unwritten(out, 256), []);
    // Forget only a part, which starts in the middle of a line.
    device.gpu.forget(out + 8, 100).unwrap();
    device.gpu.report_host_events(&mut device.checks);
    assert_eq!(device.memory().unwritten(out, 256), [out + 8..out + 108]);
    assert_eq!(device.get(out + 8, 4), [0xff; 4]);
    device.launch(&module, &launch).unwrap();
    assert_eq!(
        device.memory().unwritten(out, 256),
        [out + 8..out + 12, out + 16..out + 20, out + 24..out + 28, out + 32..out + 108]
    );
    // Writes by the host count as writes.
    device.gpu.fill(out, 0, 64).unwrap();
    device.gpu.report_host_events(&mut device.checks);
    assert_eq!(device.memory().unwritten(out, 256), [out + 64..out + 108]);
    // Forget all of the memory; addresses beyond its end cannot be forgotten.
    device.gpu.forget(out, 256).unwrap();
    device.gpu.report_host_events(&mut device.checks);
    assert_eq!(device.memory().unwritten(out, 256), [out..out + 256]);
    assert!(device.gpu.forget(out, 257).is_err());
}

/// An observer that starts late tracks memory that is forgotten after its start, and reports reads
/// of that memory.
#[test]
fn a_late_observer_learns_of_forgotten_memory() {
    let module = odd_blocks("ld.global.u32 %r3, [%rd3];");
    let mut device = Device::new(Schedule::Converged);
    let out = device.put(&[1; 64]);
    let launch = launch("odd", 4, 1, 0, vec![Arg::U64(out)]);
    device.gpu.launch_watched(&module, &launch, None).unwrap();
    assert_eq!(device.memory().unwritten(out, 64), []);
    device.gpu.forget(out, 8).unwrap();
    device.launch(&module, &launch).unwrap();
    assert_eq!(device.memory().unwritten(out, 64), [out..out + 4]);
    let findings = device.findings();
    assert_eq!(findings.len(), 1, "{}", device.said());
    assert_eq!((findings[0].place.as_str(), findings[0].times), ("`out[0]`", 2));
}

#[test]
fn a_read_of_forgotten_memory_is_found() {
    let module = odd_blocks("ld.global.u32 %r3, [%rd3];");
    let mut device = Device::new(Schedule::Converged);
    let out = device.put(&[1; 256]);
    let launch = launch("odd", 8, 1, 0, vec![Arg::U64(out)]);
    device.launch(&module, &launch).unwrap();
    assert!(device.findings().is_empty(), "{}", device.said());
    device.gpu.forget(out + 20, 4).unwrap();
    device.launch(&module, &launch).unwrap();
    let findings = device.findings();
    assert_eq!(findings.len(), 1, "{}", device.said());
    assert_eq!((findings[0].fault, findings[0].address), (Fault::Uninitialized, out + 20));
    assert_eq!((findings[0].launch, findings[0].times), (2, 1));
    assert_eq!(findings[0].place, "`out[5]`");
}

/// A thread's local arrays have exact bounds, and are uninitialized at first.
#[test]
fn local_memory_is_exact() {
    let run = |body: &str, schedule| {
        let text = format!(
            ".version 8.4\n.target sm_60\n.address_size 64\n.visible .entry test()\n{{\n\
             .local .align 4 .b8 own[20];\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred %p<2>;\n{body}\nret;\n}}\n"
        );
        let mut device = Device::new(schedule);
        let error =
            device.launch(&Module::parse(&text).unwrap(), &launch("test", 3, 64, 0, vec![]));
        (error.err().map(|e| e.to_string()).unwrap_or_default(), device.said())
    };
    for schedule in SCHEDULES {
        let (error, said) = run("st.local.u32 [own+16], 1;\nld.local.u32 %r1, [own+16];", schedule);
        assert_eq!((error.as_str(), said.as_str()), ("", ""));
        let (error, said) = run("st.local.u32 [own+16], 1;\nld.local.u32 %r1, [own+12];", schedule);
        assert_eq!(error, "");
        assert!(
            said.contains("reads byte 12 of its local memory at PTX line 11, which was never"),
            "{said}"
        );
        // Another thread's write does not initialize this thread's memory.
        let one = "mov.u32 %r2, %tid.x;\nsetp.eq.u32 %p1, %r2, 5;\n\
                   @%p1 st.local.u32 [own], 1;\nld.local.u32 %r1, [own];";
        let (_, said) = run(one, schedule);
        assert!(said.contains("; 189 times; "), "{said}");
        let (error, _) = run("st.local.u32 [own+20], 1;", schedule);
        assert!(
            error.contains("4 bytes at byte 20 of the thread's local arrays, which have 20 bytes"),
            "{error}"
        );
    }
}

/// An exchange reads the old value, but drops it if the program does not use the result.
#[test]
fn an_exchange_may_drop_an_uninitialized_value() {
    let exchange = "atom.global.exch.b32 %r4, [%rd3], %r1;";
    for (also, faults) in [
        (exchange.to_owned(), vec![]),
        (format!("{exchange}\nst.global.u32 [%rd3], %r4;"), vec![Fault::Uninitialized]),
        (exchange.replace("exch", "add").replace("b32", "u32"), vec![Fault::Uninitialized]),
    ] {
        for schedule in SCHEDULES {
            let mut device = Device::new(schedule);
            let out = device.gpu.alloc(4 * 40).unwrap();
            device
                .launch(&odd_blocks(&also), &launch("odd", 4, 1, 0, vec![Arg::U64(out)]))
                .unwrap();
            let found: Vec<Fault> = device.findings().iter().map(|f| f.fault).collect();
            assert_eq!(found, faults, "{schedule} {also}: {}", device.said());
        }
    }
}
