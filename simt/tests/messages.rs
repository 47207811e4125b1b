//! Tests the error messages. The message for each mistake is a sentence that names the line and the
//! way to fix the mistake.

use crate::common::{Device, Element, launch, module, text};
use simt::observe::{Fault, Prints};
use simt::{Arg, Counters, Error, Module, Schedule, counting};

const SCHEDULES: [Schedule; 4] =
    [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(1), Schedule::Adversarial(2)];

/// The result of running a fixture.
struct Ran {
    device: Device,
    result: Result<Vec<f32>, Error>,
}

impl Ran {
    /// Returns the error that stopped the run.
    fn error(&self) -> String {
        self.result.as_ref().err().map(ToString::to_string).unwrap_or_default()
    }
}

fn run(file: &str, schedule: Schedule, grid: u32, block: u32, n: usize) -> Ran {
    let module = module(&format!("tests/faults/{file}.ptx"));
    run_module(&module, schedule, grid, block, n)
}

fn run_module(module: &Module, schedule: Schedule, grid: u32, block: u32, n: usize) -> Ran {
    let mut device = Device::new(schedule);
    let input = device.put(&Element::F32.input(n).0);
    let out = device.room(4 * 2048);
    let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(n as u64)];
    let result = device.launch(module, &launch("reduce", grid, block, 4 * block, args));
    let floats = device.get(out, 4 * 2048);
    let floats = floats.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    Ran { device, result: result.map(|()| floats) }
}

/// The message for a race names the array, the elements, the lines and the missing barrier.
#[test]
fn a_missing_barrier_is_named() {
    let ran = run("missing_syncthreads", Schedule::Converged, 2, 256, 512);
    assert_eq!(
        ran.device.said(),
        "thread 32 writes `shared[32]` at line 11 while thread 0 may read it at the same \
         line: a `__syncthreads()` is missing between them (data race in `reduce`, block 0, \
         launch 1; 2 places; 254 times; PTX lines 79 and 81)\n"
    );
    // Under every schedule, the message does not suggest a warp barrier.
    for schedule in SCHEDULES {
        let said = run("missing_syncthreads", schedule, 2, 256, 512).device.said();
        assert!(said.contains("a `__syncthreads()` is missing between them"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// The twenty conflicting pairs of a tail without barriers give one finding.
#[test]
fn a_missing_warp_barrier_is_reported_once() {
    for schedule in SCHEDULES {
        let said = run("volatile_tail", schedule, 1, 64, 128).device.said();
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("a `__syncwarp()` is missing between them"), "{said}");
        assert!(said.contains(" places at lines 4, 5, 6, 7, 8, 9; "), "{said}");
    }
}

/// Three launches with one mistake give one finding.
#[test]
fn a_finding_is_reported_once_for_all_launches() {
    let module = module("tests/faults/missing_syncthreads.ptx");
    let mut device = Device::new(Schedule::Converged);
    let input = device.put(&Element::F32.input(512).0);
    let out = device.room(4 * 2048);
    for _ in 0..3 {
        let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(512)];
        device.launch(&module, &launch("reduce", 2, 256, 1024, args)).unwrap();
    }
    let findings = device.findings();
    assert_eq!(findings.len(), 1, "{}", device.said());
    let finding = &findings[0];
    assert_eq!((finding.launch, finding.launches, finding.times), (1, 3, 3 * 254));
    assert!(finding.details().contains("launch 1 and 2 later ones"), "{finding}");
}

/// Instructions of different entries are distinguished, even if their indices are equal.
#[test]
fn a_finding_belongs_to_its_entry() {
    let text = crate::common::text("tests/faults/missing_syncthreads.ptx");
    let mut device = Device::new(Schedule::Converged);
    let input = device.put(&Element::F32.input(512).0);
    let out = device.room(4 * 2048);
    for entry in ["reduce", "twin", "reduce"] {
        let module = Module::parse(&text.replace(" reduce(", &format!(" {entry}("))).unwrap();
        let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(512)];
        device.launch(&module, &launch(entry, 2, 256, 1024, args)).unwrap();
    }
    let findings: Vec<_> =
        device.findings().iter().map(|f| (f.entry.clone(), f.launches)).collect();
    assert_eq!(findings, [("reduce".into(), 2), ("twin".into(), 1)]);
    assert!(device.findings().iter().all(|f| f.places == 2), "{}", device.said());
}

/// If several blocks write one address, the message does not suggest a barrier, which would not
/// help.
#[test]
fn blocks_that_share_an_address_get_their_own_cure() {
    let said = run("overlapping_blocks", Schedule::Converged, 8, 64, 512).device.said();
    assert!(
        said.starts_with(
            "thread 0 of block 1 writes element 0 of the second parameter's buffer at line 8 \
             while thread 0 of block 0 may still write it at the same line: let each block write \
             its own element, let one thread write it, or use an atomic such as `atomicAdd` (data race"
        ),
        "{said}"
    );
}

/// In a tree without its barrier, the writes of two rounds also race. An atomic would not help.
#[test]
fn rounds_of_a_tree_are_told_to_synchronize() {
    let module = module("../book/live/kernels/v1-divergence/no-barrier.f32.ptx");
    let said = run_module(&module, Schedule::Converged, 1, 256, 256).device.said();
    assert!(said.contains("thread 2 writes `shared[8]`"), "{said}");
    assert!(said.contains("a barrier is missing between the rounds"), "{said}");
    assert!(!said.contains("atomic"), "{said}");
}

/// Parameters have names if the host provides them.
#[test]
fn buffers_have_the_names_of_their_parameters() {
    let mut module = module("tests/faults/overlapping_blocks.ptx");
    module.name_params("reduce", ["in", "out", "n"]);
    let said = run_module(&module, Schedule::Converged, 8, 64, 512).device.said();
    assert!(said.contains("thread 0 of block 1 writes `out[0]` at line 8"), "{said}");
}

#[test]
fn uninitialized_memory_is_reported_by_element() {
    let said = run("uninitialised_shared", Schedule::Converged, 2, 128, 200).device.said();
    assert!(
        said.starts_with(
            "thread 8 reads `shared[72]` at line 11, which was never written: let a \
             thread store a value (0 for a sum) in every element that is read, with a \
             `__syncthreads()` in between if another thread reads it (read of uninitialized memory in `reduce`, block 1"
        ),
        "{said}"
    );
}

#[test]
fn an_index_beyond_the_end_is_reported_by_element() {
    let mut module = module("tests/faults/beyond_the_end.ptx");
    module.name_params("reduce", ["in", "out", "n"]);
    let mut device = Device::new(Schedule::Converged);
    let input = device.put(&Element::F32.input(200).0);
    let out = device.room(4 * 2048);
    let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(256)];
    let error = device.launch(&module, &launch("reduce", 2, 128, 512, args)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "out of bounds at line 7 by thread 72 of block 1: `in[200]` is beyond the end of its \
         buffer, which has 800 bytes, 200 elements of 4: check the index against the length first \
         (`if (i < n)`) (`reduce`, launch 1, 2 blocks of 128 threads; PTX line 46: \
         `ld.global.f32 %f1, [%rd9]`)"
    );
}

/// An array's own bounds are checked, even if another array follows it.
#[test]
fn an_array_has_its_own_bounds() {
    for schedule in SCHEDULES {
        assert!(run("two_arrays", schedule, 1, 64, 64).result.is_ok(), "{schedule}");
        let ran = run("two_arrays", schedule, 1, 256, 256);
        assert_eq!(ran.device.findings()[0].fault, Fault::OutOfBounds, "{schedule}");
        let error = ran.error();
        assert!(
            error.contains(
                "]` is outside of `few`, which has 256 bytes, 64 elements of 4: make the array \
                 larger, or keep the index below its length"
            ),
            "{schedule}: {error}"
        );
        assert!(error.starts_with("out of bounds at line 7 by thread "), "{error}");
    }
}

/// The bounds of dynamic shared memory are also checked, although the system's memory follows it.
#[test]
fn dynamic_memory_ends_before_the_system_s() {
    let error = |offset: u32| {
        let text = format!(
            ".version 8.4\n.target sm_80\n.address_size 64\n\
             .extern .shared .align 4 .b8 shared[];\n.visible .entry test()\n{{\n\
             .shared .align 4 .b8 few[16];\n.reg .b32 %r<9>;\nmov.u32 %r1, shared;\n\
             mov.u32 %r2, few;\nst.shared.u32 [%r2], 0;\n\
             mov.u32 %r3, %reserved_smem_offset_1;\nst.shared.u32 [%r3], 0;\n\
             st.shared.u32 [%r1+{offset}], %r3;\nret;\n}}\n"
        );
        let mut device = Device::new(Schedule::Converged);
        let module = Module::parse(&text).unwrap();
        let result = device.launch(&module, &launch("test", 1, 1, 64, vec![]));
        result.err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert_eq!(error(60), "");
    assert!(error(64).contains("`shared[16]` is outside of `shared`, which has 64 bytes"));
}

/// The lower bound is checked too, even for single lanes of a warp.
#[test]
fn an_array_has_its_own_lower_bound() {
    let text = |offset: i32| {
        format!(
            ".version 8.4\n.target sm_60\n.address_size 64\n.visible .entry test()\n{{\n\
             .shared .align 4 .b8 first[128];\n.shared .align 4 .b8 second[256];\n\
             .reg .b32 %r<9>;\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\n\
             mov.u32 %r3, second;\nadd.s32 %r4, %r3, %r2;\nst.shared.u32 [first], 0;\n\
             st.shared.u32 [%r4+{offset}], %r1;\nret;\n}}\n"
        )
    };
    let error = |offset| {
        let module = Module::parse(&text(offset)).unwrap();
        let mut device = Device::new(Schedule::Converged);
        let result = device.launch(&module, &launch("test", 1, 32, 0, vec![]));
        result.err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert_eq!(error(0), "");
    assert_eq!(error(128), "");
    assert!(error(-4).contains("by thread 0: an element before `second` is outside of `second`"));
    assert!(error(132).contains("by thread 31: `second[64]` is outside of `second`"));
}

/// On sm_70 and newer, a barrier does not wait for threads that have exited; the note describes
/// older GPUs.
#[test]
fn an_early_return_is_a_note_on_portability() {
    let old = text("tests/faults/early_return.ptx");
    for (schedule, target) in SCHEDULES.into_iter().flat_map(|s| [(s, "sm_60"), (s, "sm_70")]) {
        let target_line = old.lines().find(|line| line.starts_with(".target")).unwrap();
        let module =
            Module::parse(&old.replace(target_line, &format!(".target {target}"))).unwrap();
        let mut device = Device::new(schedule);
        let input = device.put(&[0; 16]);
        let out = device.room(4);
        let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(4)];
        device.launch(&module, &launch("reduce", 1, 256, 1024, args)).unwrap();
        assert!(device.findings().is_empty(), "{schedule}: {}", device.said());
        let notes = device.sync().notes();
        let said: String = notes.iter().map(|note| note.to_string()).collect();
        assert!(
            said.contains(
                "28 threads of warp 0 returned before the block barrier at line 8: from sm_70 on"
            ),
            "{schedule}: {said}"
        );
        assert_eq!(
            said.contains("compiled for sm_60, and on GPUs before"),
            target == "sm_60",
            "{said}"
        );
        // If whole warps return, the barrier waits only for the remaining warps.
        let ran = run("early_return", schedule, 1, 256, 64);
        assert!(ran.result.is_ok(), "{schedule}: {}", ran.error());
    }
}

/// A barrier inside a conditional is divergent under every schedule.
#[test]
fn a_skipped_barrier_is_found_on_every_schedule() {
    for schedule in SCHEDULES.into_iter().chain((3..40).map(Schedule::Adversarial)) {
        let ran = run("round_the_barrier", schedule, 1, 256, 256);
        let error = ran.error();
        assert!(error.starts_with("divergent barrier at line 7 by thread "), "{schedule}: {error}");
        assert!(
            error.contains("and 255 threads wait at a block barrier on line 7"),
            "{schedule}: {error}"
        );
    }
    let error = run("round_the_barrier", Schedule::Converged, 1, 256, 256).error();
    assert!(error.contains("1 thread skips it at line 6 and"), "{error}");
}

/// A launch has a number, and the host can restart the numbering.
#[test]
fn a_trap_names_its_launch() {
    let module = module("tests/faults/beyond_the_end.ptx");
    let mut device = Device::new(Schedule::Converged);
    let input = device.put(&Element::F32.input(200).0);
    let out = device.room(4 * 2048);
    let with = |device: &mut Device, n: u64| {
        let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(n)];
        device.launch(&module, &launch("reduce", 2, n as u32 / 2, 512, args))
    };
    with(&mut device, 200).unwrap();
    with(&mut device, 100).unwrap();
    let error = with(&mut device, 256).unwrap_err().to_string();
    assert!(error.contains("launch 3, 2 blocks of 128 threads"), "{error}");
    device.gpu.restart();
    let error = with(&mut device, 256).unwrap_err().to_string();
    assert!(error.contains("launch 1, 2 blocks of 128 threads"), "{error}");
}

/// The output is ordered by block and thread, and formatted as in C.
#[test]
fn the_output_of_threads_is_collected() {
    let module = module("tests/faults/says.ptx");
    let mut device = Device::new(Schedule::Converged);
    let input = device.put(&Element::F32.input(3).0);
    let out = device.room(64);
    let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(3)];
    let mut printed = |prints| {
        let launch = launch("reduce", 2, 4, 16, args.clone());
        let mut watch = counting(Counters::default());
        watch.0.as_mut().unwrap().1 = prints;
        device.gpu.launch_watched(&module, &launch, Some(&mut watch)).unwrap();
        watch.0.unwrap().1
    };
    let (all, first) = (printed(Prints::new()), printed(Prints::first(5)));
    let texts: Vec<String> = all.printed().iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "block 0, thread 0: 0: in = 2.000000 of 3 in all",
            "block 0, thread 1: 1: in = 16.000000 of 3 in all",
            "block 0, thread 2: 2: in = -1.000000 of 3 in all",
            "block 0, thread 1:  16.0|1   |x|00000001|0.25",
            "block 1, thread 0: 0: in = 2.000000 of 3 in all",
            "block 1, thread 1: 1: in = 16.000000 of 3 in all",
            "block 1, thread 2: 2: in = -1.000000 of 3 in all",
            "block 1, thread 1:  16.0|1   |x|00000001|0.25",
        ]
    );
    assert_eq!((all.printed()[3].line, all.printed()[3].launch), (6, 1));
    // The first lines are kept, and all lines are counted.
    assert_eq!((first.printed().len(), first.total()), (5, 8));
    assert_eq!(first.printed()[0].launch, 2);
    for schedule in SCHEDULES {
        let ran = run("says", schedule, 2, 64, 40);
        assert!(ran.result.is_ok() && ran.device.findings().is_empty(), "{}", ran.device.said());
    }
}

#[test]
fn a_failed_assertion_is_a_finding() {
    for schedule in SCHEDULES {
        let ran = run("asserts", schedule, 2, 128, 256);
        assert!(ran.result.is_ok(), "{schedule}: {}", ran.error());
        let ran = run("asserts", schedule, 2, 128, 130);
        assert!(ran.error().contains("`i < n` does not hold (asserts.cu:4, `void reduce("));
        assert_eq!(ran.device.findings()[0].fault, Fault::Assert);
    }
    assert_eq!(
        run("asserts", Schedule::Converged, 2, 128, 130).error(),
        "assertion at line 4 by thread 2 of block 1: `i < n` does not hold (asserts.cu:4, `void \
         reduce(const float *, float *, unsigned long long)`), nor for 29 other threads of its \
         warp (`reduce`, launch 1, 2 blocks of 128 threads; PTX line 71: `call.uni __assertfail, \
         ( param0, param1, param2, param3, param4 )`)"
    );
}

/// Calls to functions run as if inlined. The functions have loops, several returns, nested calls,
/// structures and local shared memory.
#[test]
fn functions_are_called() {
    fn halves(mut x: f32, times: u32) -> f32 {
        for _ in 0..times {
            if x < 1.0 {
                return x;
            }
            x /= 2.0;
        }
        x * 2.0
    }
    let input: Vec<f32> = Element::F32.input(64).1.iter().map(|&v| v as f32).collect();
    for schedule in SCHEDULES {
        let ran = run("calls", schedule, 1, 64, 64);
        assert!(ran.device.findings().is_empty(), "{schedule}: {}", ran.device.said());
        let out = ran.result.unwrap();
        for tid in 0..64usize {
            let times = tid as u32 % 5;
            let a = halves(input[tid ^ 1], times);
            let b = halves(input[tid], times + 1);
            let mut once = halves(input[tid], 3);
            if tid % 3 == 0 {
                once = halves(once, 1);
            }
            assert_eq!(out[tid], a + b + once, "{schedule} thread {tid}");
        }
    }
}

/// A module may list its source files in any order. Messages give lines of the kernel's own file,
/// even for code that is inlined there through several functions. For all other code, they also
/// name the file.
#[test]
fn lines_are_those_of_the_kernel_s_own_file() {
    let said = |files: &str, loc: &str| {
        let text = format!(
            ".version 7.8\n.target sm_70\n.address_size 64\n.visible .entry test(.param .u64 p)\n{{\n\
             .reg .b32 %r<2>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n{loc}\n\
             ld.global.u32 %r1, [%rd1+4096];\nst.global.u32 [%rd1], %r1;\nret;\n}}\n{files}\n"
        );
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut device = Device::new(Schedule::Converged);
        let data = device.put(&[0; 16]);
        device
            .launch(&module, &launch("test", 1, 1, 0, vec![Arg::U64(data)]))
            .unwrap_err()
            .to_string()
    };
    let first = ".file 1 \"kernel.cu\"\n.file 2 \"total.cuh\"";
    let second = ".file 1 \"total.cuh\"\n.file 2 \"kernel.cu\"";
    for (files, loc, line) in [
        (first, ".loc 1 36 9", "line 36"),
        (second, ".loc 2 36 9", "line 36"),
        (
            second,
            ".loc 1 7 9, function_name L, inlined_at 2 36 5",
            "line 36 (line 7 of `total.cuh`) by",
        ),
        (
            ".file 1 \"/usr/include/shuffles.h\"\n.file 2 \"kernel.cu\"",
            ".loc 1 7 9, function_name L, inlined_at 2 36 5",
            "line 36 by",
        ),
        (second, ".loc 2 36 9, function_name L, inlined_at 1 7 5", "line 36 by"),
        (second, ".loc 1 7 9", "line 7 of `total.cuh`"),
        (
            second,
            ".loc 1 9 5, function_name L, inlined_at 2 36 5\n\
             .loc 1 7 9, function_name M, inlined_at 1 9 5",
            "line 36 (line 7 of `total.cuh`) by",
        ),
        (second, ".loc 1 7 9, function_name M, inlined_at 1 9 5", "line 7 of `total.cuh`"),
        (".file 1 \"/kernel.cu\"\n.file 2 \"/a/b.cuh\"", ".loc 2 7 9", "line 7 of `b.cuh`"),
        ("", ".loc 1 36 9", "line 36"),
        ("", ".loc 2 36 9", "PTX line 10"),
        (second, ".loc 1 0 9", "PTX line 10"),
    ] {
        let text = said(files, loc);
        assert!(text.contains(&format!("at {line}")), "{files} {loc}: {text}");
    }
}

#[test]
fn an_array_that_begins_at_an_odd_element_is_named() {
    let text = ".version 8.4\n.target sm_60\n.address_size 64\n\
                .visible .entry reduce(.param .u64 in, .param .u64 out, .param .u64 n)\n{\n\
                .reg .f32 %f<3>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [in];\n\
                ld.global.v2.f32 {%f1, %f2}, [%rd1+8];\nret;\n}\n";
    let module = Module::parse(text).unwrap();
    let mut device = Device::new(Schedule::Converged);
    let input = device.put(&[0; 64]);
    let args = vec![Arg::U64(input + 4), Arg::U64(0), Arg::U64(2)];
    let error = device.launch(&module, &launch("reduce", 1, 32, 0, args)).unwrap_err().to_string();
    let why = format!(
        "an 8-byte access that begins at `in[2]`, at address {:#x}, which is not a multiple of 8: \
         `in` begins at address {:#x}, which is not a multiple of 8 either, so access single \
         elements, at least up to the first address that is a multiple of 8",
        input + 12,
        input + 4
    );
    assert!(error.contains(&why), "{error}");
}
