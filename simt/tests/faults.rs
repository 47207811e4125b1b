//! Runs kernels with a fault (`tests/faults/*.cu`), and requires the findings of the checks.

use crate::common::{Device, Element, STEPS, launch, module};
use simt::observe::Fault;
use simt::{Arg, Error, Module, Schedule};

/// The result of a run.
struct Outcome {
    device: Device,
    error: Option<Error>,
    out: Vec<f32>,
}

impl Outcome {
    fn faults(&self) -> Vec<Fault> {
        let mut faults: Vec<Fault> = self.device.findings().iter().map(|f| f.fault).collect();
        faults.sort();
        faults.dedup();
        faults
    }

    /// Returns the source lines of the findings of a class, as one sorted list per pair of
    /// instructions.
    fn lines(&self, fault: Fault) -> Vec<Vec<u32>> {
        let findings = self.device.findings();
        let lines = findings.iter().filter(|f| f.fault == fault).flat_map(|f| &f.lines);
        let sorted = lines.map(|lines| {
            let mut lines = lines.clone();
            lines.sort_unstable();
            lines
        });
        sorted.collect()
    }
}

struct Case {
    file: &'static str,
    grid: u32,
    block: u32,
    cluster: u32,
    /// Number of elements of the input.
    n: usize,
    /// The length that is passed to the kernel, if it differs from the number of elements.
    told: usize,
    partial: bool,
}

impl Case {
    fn new(file: &'static str, grid: u32, block: u32, n: usize) -> Case {
        Case { file, grid, block, cluster: 1, n, told: n, partial: false }
    }

    fn run(&self, schedule: Schedule) -> Outcome {
        self.run_module(&module(&format!("tests/faults/{}.ptx", self.file)), schedule)
    }

    fn run_module(&self, module: &Module, schedule: Schedule) -> Outcome {
        let mut device = Device::with(|c| {
            c.schedule = schedule;
            c.budget = 1 << 22;
        });
        let (bytes, _) = Element::F32.input(self.n);
        let input = device.put(&bytes);
        let out = device.room(4 * 2048);
        let mut args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(self.told as u64)];
        if self.partial {
            args.push(Arg::U64(device.room(4 * 2048)));
        }
        let mut launch = launch("reduce", self.grid, self.block, self.block * 4, args);
        launch.entry = module.entries().next().unwrap();
        launch.cluster[0] = self.cluster;
        let error = device.launch(module, &launch).err();
        let bytes = device.get(out, 4 * 2048);
        let out = bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        Outcome { device, error, out }
    }
}

const SCHEDULES: [Schedule; 4] =
    [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(1), Schedule::Adversarial(2)];

/// Checks that a case has the same faults under every schedule.
fn always(case: &Case, expected: &[Fault]) {
    for schedule in SCHEDULES {
        let outcome = case.run(schedule);
        assert_eq!(
            outcome.faults(),
            expected,
            "{} {schedule}: {}",
            case.file,
            outcome.device.said()
        );
    }
}

fn tail(file: &'static str) -> Case {
    Case::new(file, 1, 64, 128)
}

fn expected_sum(n: usize) -> f32 {
    Element::F32.input(n).1.iter().sum::<i64>() as f32
}

#[test]
fn the_volatile_tail_is_a_race_with_both_lines() {
    always(&tail("volatile_tail"), &[Fault::UnorderedVolatile]);
    let lines = tail("volatile_tail").run(Schedule::Converged).lines(Fault::UnorderedVolatile);
    // Each round reads values of the previous round, and writes elements that a neighbour has just
    // read.
    for pair in [[4, 5], [5, 6], [6, 7], [7, 8], [8, 9]] {
        assert!(lines.contains(&pair.to_vec()), "{pair:?} is not among {lines:?}");
    }
}

#[test]
fn the_plain_tail_is_a_race_with_both_lines() {
    always(&tail("plain_tail"), &[Fault::DataRace]);
    let lines = tail("plain_tail").run(Schedule::Converged).lines(Fault::DataRace);
    assert!(
        lines.iter().all(|l| l.len() == 2 && l.iter().all(|&l| (4..=9).contains(&l))),
        "{lines:?}"
    );
    assert!(!lines.is_empty());
}

#[test]
fn some_schedule_makes_the_tails_fail() {
    for file in ["volatile_tail", "plain_tail"] {
        let case = tail(file);
        let module = module(&format!("tests/faults/{file}.ptx"));
        let wrong = (0..1000).find(|&seed| {
            case.run_module(&module, Schedule::Adversarial(seed)).out[0] != expected_sum(128)
        });
        assert!(wrong.is_some(), "{file} gave the correct sum a thousand times");
    }
}

#[test]
fn no_schedule_makes_the_steps_fail() {
    for step in &STEPS[4..] {
        let module = Module::parse(&step.ptx(Element::F32)).unwrap();
        for seed in 0..1000 {
            let mut device = Device::new(Schedule::Adversarial(seed));
            let input = device.put(&Element::F32.input(128).0);
            let sum = step.sum(&mut device, &module, Element::F32, 64, input, 128).unwrap();
            assert_eq!(sum as f32, expected_sum(128), "{} seed {seed}", step.name);
            assert!(device.findings().is_empty(), "{} seed {seed}: {}", step.name, device.said());
        }
    }
}

#[test]
fn a_missing_barrier_is_a_race() {
    let case = Case::new("missing_syncthreads", 2, 128, 256);
    always(&case, &[Fault::DataRace]);
    let outcome = case.run(Schedule::Converged);
    let finding = outcome.device.checks.1.as_ref().unwrap().findings()[0].clone();
    assert_eq!(finding.sites.len(), 2);
    assert_ne!(finding.sites[0].thread, finding.sites[1].thread);
    assert!(
        outcome.lines(Fault::DataRace).contains(&vec![11, 11]),
        "{:?}",
        outcome.lines(Fault::DataRace)
    );
    assert!(finding.place.starts_with("`shared["), "{finding}");
}

#[test]
fn a_shuffle_is_no_fence() {
    always(&Case::new("missing_syncwarp", 1, 32, 32), &[Fault::DataRace]);
}

#[test]
fn blocks_that_share_an_address_race() {
    always(&Case::new("overlapping_blocks", 8, 64, 512), &[Fault::DataRace]);
    // With one block, there is no conflict.
    always(&Case::new("overlapping_blocks", 1, 32, 32), &[]);
}

#[test]
fn bytes_of_a_word_are_checked_separately() {
    always(&Case::new("different_bytes", 1, 256, 256), &[]);
    always(&Case::new("same_byte", 1, 256, 256), &[Fault::DataRace]);
}

#[test]
fn a_divergent_barrier_is_reported() {
    always(&Case::new("two_barriers", 1, 32, 32), &[Fault::DivergentBarrier]);
    for schedule in SCHEDULES {
        let outcome = Case::new("divergent_barrier", 1, 32, 32).run(schedule);
        let faults = outcome.faults();
        assert!(faults.contains(&Fault::DivergentBarrier), "{schedule}: {faults:?}");
    }
}

#[test]
fn a_lane_beyond_its_mask_is_reported() {
    always(&Case::new("wrong_mask", 1, 32, 32), &[Fault::BadMask]);
}

#[test]
fn lanes_that_never_come_are_reported() {
    always(&Case::new("missing_lanes", 1, 32, 32), &[Fault::Deadlock]);
}

#[test]
fn a_shuffle_from_an_absent_lane_is_reported() {
    always(&Case::new("absent_lane", 1, 32, 32), &[Fault::BadLane]);
}

#[test]
fn a_read_beyond_the_end_names_its_allocation() {
    let case = Case { told: 256, ..Case::new("beyond_the_end", 2, 128, 200) };
    always(&case, &[Fault::OutOfBounds]);
    let outcome = case.run(Schedule::Converged);
    assert!(matches!(outcome.error, Some(Error::Trap(_))), "{:?}", outcome.error);
    let said = outcome.device.said();
    assert!(said.contains("element 200 of the first parameter's buffer"), "{said}");
    assert_eq!(outcome.lines(Fault::OutOfBounds), [[7]]);
}

#[test]
fn uninitialised_shared_memory_is_reported() {
    let case = Case::new("uninitialised_shared", 2, 128, 200);
    always(&case, &[Fault::Uninitialized]);
    assert_eq!(case.run(Schedule::Converged).lines(Fault::Uninitialized)[0], [11]);
    always(&Case::new("uninitialised_shared", 2, 128, 256), &[]);
}

#[test]
fn uninitialized_global_memory_is_reported() {
    let step = &STEPS[6];
    let module = Module::parse(&step.ptx(Element::F32)).unwrap();
    let mut device = Device::new(Schedule::Converged);
    let input = device.room(512);
    device.gpu.write(input, &[0; 400]).unwrap();
    step.sum(&mut device, &module, Element::F32, 64, input, 128).unwrap();
    let findings = device.findings();
    assert_eq!(findings.len(), 1, "{}", device.said());
    assert_eq!(findings[0].fault, Fault::Uninitialized);
    assert_eq!(findings[0].address, input + 400);
    assert_eq!(findings[0].place, "element 100 of the first parameter's buffer");
}

#[test]
fn freed_memory_is_reported() {
    let step = &STEPS[6];
    let module = Module::parse(&step.ptx(Element::F32)).unwrap();
    let mut device = Device::new(Schedule::Converged);
    let input = device.put(&[0; 512]);
    device.gpu.free(input).unwrap();
    assert!(step.sum(&mut device, &module, Element::F32, 64, input, 128).is_err());
    assert_eq!(device.findings()[0].fault, Fault::UseAfterFree, "{}", device.said());
}

#[test]
fn writes_of_a_launch_are_initialized_for_the_next() {
    let step = &STEPS[0];
    let module = Module::parse(&step.ptx(Element::F32)).unwrap();
    let mut device = Device::new(Schedule::Converged);
    let input = device.put(&Element::F32.input(5000).0);
    assert_eq!(
        step.sum(&mut device, &module, Element::F32, 64, input, 5000).unwrap() as f32,
        expected_sum(5000)
    );
    assert!(device.findings().is_empty(), "{}", device.said());
}

#[test]
fn the_last_block_needs_its_fences() {
    for file in ["last_block_no_fence", "last_block_block_fence"] {
        always(&Case { partial: true, ..Case::new(file, 6, 64, 1000) }, &[Fault::DataRace]);
    }
}

#[test]
fn a_bulk_copy_must_be_waited_for() {
    always(&Case::new("unwaited_copy", 1, 256, 256), &[Fault::DataRace]);
}

#[test]
fn a_cluster_must_meet() {
    let case = Case { cluster: 4, ..Case::new("unmet_cluster", 8, 64, 1000) };
    for schedule in SCHEDULES {
        let outcome = case.run(schedule);
        assert!(
            outcome.faults().contains(&Fault::DataRace),
            "{schedule}: {}",
            outcome.device.said()
        );
    }
}

#[test]
fn findings_do_not_depend_on_the_number_of_threads() {
    let module = module("tests/faults/overlapping_blocks.ptx");
    let said: Vec<String> = [1, 2, 7]
        .map(|threads| {
            let mut device = Device::with(|c| c.threads = threads);
            let input = device.put(&Element::F32.input(64 * 300).0);
            let out = device.room(64);
            let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(64 * 300)];
            device.launch(&module, &launch("reduce", 300, 64, 256, args)).unwrap();
            device.said()
        })
        .into();
    assert!(said[0].contains("data race"), "{}", said[0]);
    assert_eq!(said[0], said[1]);
    assert_eq!(said[0], said[2]);
}

#[test]
fn findings_name_both_sides() {
    let said = tail("volatile_tail").run(Schedule::Converged).device.said();
    let first = said.lines().next().unwrap();
    for part in [
        "thread 0 reads (volatile) `shared[16]` at line 5",
        "while thread 16 may still write it at line 4",
        "unordered volatile pair in `reduce`",
    ] {
        assert!(first.contains(part), "`{part}` is not in: {first}");
    }
}

/// A cluster barrier consists of an arrival and a wait. An arrival without a wait orders nothing.
#[test]
fn a_cluster_barrier_must_be_waited_for() {
    let text = crate::common::text("tests/corpus/ptx/cluster.float.12.4.90.ptx");
    for half in ["barrier.cluster.arrive", "barrier.cluster.wait"] {
        let without: String =
            text.lines().filter(|l| !l.contains(half)).map(|l| format!("{l}\n")).collect();
        assert_ne!(text, without);
        let module = Module::parse(&without).unwrap();
        for schedule in SCHEDULES {
            let case = Case { cluster: 4, ..Case::new("cluster", 8, 64, 1000) };
            let outcome = case.run_module(&module, schedule);
            assert!(!outcome.device.findings().is_empty(), "{half} {schedule}");
        }
    }
}

/// If one thread arrives and all threads exit, the barrier completes without participants. (Fuzzing
/// found that the barrier completed after its blocks had ended, which the race check did not
/// expect.)
#[test]
fn a_barrier_that_all_threads_leave_opens() {
    let text = ".version 8.4\n.target sm_90\n.address_size 64\n\
        .visible .entry reduce(.param .u64 in, .param .u64 out, .param .u64 n)\n\
        {\n    .reg .b32 tid;\n    .reg .pred one;\n    mov.u32 tid, %tid.x;\n\
        setp.eq.u32 one, tid, 0;\n    @one barrier.cluster.arrive;\n    ret;\n}\n";
    let module = Module::parse(text).unwrap();
    for schedule in SCHEDULES {
        let case = Case { cluster: 2, ..Case::new("", 4, 33, 1) };
        let outcome = case.run_module(&module, schedule);
        assert!(outcome.error.is_none(), "{schedule}: {:?}", outcome.error);
    }
}

/// In a ring of bulk copies, each wait and each barrier is necessary.
#[test]
fn a_ring_needs_its_waits_and_barriers() {
    let text = crate::common::text("tests/corpus/ptx/bulk_ring.float.12.4.90.ptx");
    let lines: Vec<&str> = text.lines().collect();
    for (i, line) in lines.iter().enumerate() {
        // Replace a wait with a constant. (A wait whose result is ignored would not be reported,
        // because copies complete immediately here, so each test finds its phase complete.)
        let other = match line.trim() {
            l if l.starts_with("bar.sync") => String::new(),
            l if l.starts_with("mbarrier.try_wait") => "setp.eq.u32 done, 1, 1;".into(),
            _ => continue,
        };
        let mutant: String = lines
            .iter()
            .enumerate()
            .map(|(k, l)| if k == i { format!("{other}\n") } else { format!("{l}\n") })
            .collect();
        let module = Module::parse(&mutant).unwrap();
        for schedule in SCHEDULES {
            let outcome = Case::new("bulk_ring", 2, 64, 256 * 23).run_module(&module, schedule);
            assert!(
                !outcome.device.findings().is_empty(),
                "without line {}, `{line}`, {schedule}",
                i + 1
            );
        }
    }
}

#[test]
fn a_mask_orders_its_lanes_and_no_others() {
    let case = |away| Case { told: away, ..Case::new("half_mask", 1, 32, 32) };
    always(&case(3), &[]);
    always(&case(16), &[Fault::DataRace]);
}

#[test]
fn a_flag_needs_a_fence_on_both_sides() {
    let case = |fences| Case { told: fences, ..Case::new("flag", 2, 1, 32) };
    always(&case(3), &[]);
    for fences in [0, 1, 2] {
        always(&case(fences), &[Fault::DataRace]);
    }
}

#[test]
fn an_atomic_does_not_hide_the_store_before_it() {
    let case = |sync| Case { told: sync, ..Case::new("weak_start", 1, 64, 64) };
    always(&case(1), &[]);
    for schedule in SCHEDULES {
        // If the atomics come first, they also read uninitialized memory.
        let outcome = case(0).run(schedule);
        assert!(
            outcome.faults().contains(&Fault::DataRace),
            "{schedule}: {}",
            outcome.device.said()
        );
    }
}

/// Runs a body in every thread. All threads share one word, which is zero at first.
fn on_one_word(body: &str, grid: u32, block: u32, schedule: Schedule) -> Vec<Fault> {
    let text = format!(
        ".version 8.4\n.target sm_70\n.address_size 64\n.visible .entry test(.param .u64 data)\n{{\n\
         .reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred %p<3>;\n.shared .align 8 .b8 room[64];\n\
         ld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n{body}\nret;\n}}\n"
    );
    let module = Module::parse(&text).unwrap();
    let mut device = Device::new(schedule);
    let data = device.put(&[0; 64]);
    device.launch(&module, &launch("test", grid, block, 0, vec![Arg::U64(data)])).unwrap();
    let mut faults: Vec<Fault> = device.findings().iter().map(|f| f.fault).collect();
    faults.dedup();
    faults
}

/// A failing compare-and-swap only reads. It races with a weak write, but not with a weak read.
#[test]
fn a_compare_and_swap_that_fails_reads() {
    for schedule in SCHEDULES {
        let reads = "setp.eq.u32 %p1, %r2, 0;\n@%p1 ld.global.u32 %r3, [%rd1];\n\
                     @!%p1 atom.global.cas.b32 %r4, [%rd1], 1, 2;";
        assert_eq!(on_one_word(reads, 2, 1, schedule), [], "{schedule}");
        let writes = reads.replace("1, 2;", "0, 2;");
        assert_eq!(on_one_word(&writes, 2, 1, schedule), [Fault::DataRace], "{schedule}");
        let stores = reads.replace("ld.global.u32 %r3, [%rd1]", "st.global.u32 [%rd1], 0");
        assert_eq!(on_one_word(&stores, 2, 1, schedule), [Fault::DataRace], "{schedule}");
    }
}

/// If the lanes of a warp store the same value with one instruction, the finding differs from that
/// of a race.
#[test]
fn storing_the_same_value_is_a_separate_class() {
    for schedule in [Schedule::Converged, Schedule::MinPc] {
        for (body, faults) in [
            ("st.global.u32 [%rd1], 7;", [Fault::SameValue]),
            ("mov.u32 %r3, %nwarpid;\nst.shared.u32 [room], %r3;", [Fault::SameValue]),
            ("cvt.u64.u32 %rd2, %r2;\nst.shared.u64 [room+8], %rd2;", [Fault::SameValue]),
            ("st.global.u32 [%rd1], %r1;", [Fault::DataRace]),
            ("and.b32 %r3, %r1, 1;\nst.shared.u32 [room], %r3;", [Fault::DataRace]),
        ] {
            assert_eq!(on_one_word(body, 1, 32, schedule), faults, "{body}");
        }
        // Stores of the same value by different warps or blocks are ordinary races.
        let one = "st.global.u32 [%rd1], 7;";
        assert!(on_one_word(one, 1, 64, schedule).contains(&Fault::DataRace));
        assert_eq!(on_one_word(one, 2, 1, schedule), [Fault::DataRace]);
    }
}
