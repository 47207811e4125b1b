//! Tests the limits of the simulated GPU, and the time budget.

use std::time::{Duration, Instant};

use crate::common::{Device, Element, launch, module};
use simt::{Arch, Arg, Config, Counters, Error, Gpu, Module, Schedule, TrapKind, counting};

fn playing(name: &str) -> Config {
    let mut config = Config::default();
    config.play(name.parse().unwrap());
    config
}

/// Returns an entry with this much static shared memory, and with these directives.
fn entry(target: &str, directives: &str, shared: u32) -> Module {
    let text = format!(
        ".version 8.4\n.target {target}\n.address_size 64\n.visible .entry reduce()\n{directives}\n\
         {{\n.shared .align 4 .b8 room[{shared}];\n.reg .b32 %r<2>;\nmov.u32 %r1, room;\nret;\n}}\n"
    );
    Module::parse(&text).unwrap()
}

fn refused(config: Config, module: &Module, block: u32, shared: u32, cluster: u32) -> String {
    let mut launch = launch("reduce", 2 * cluster, block, shared, Vec::new());
    launch.cluster[0] = cluster;
    match Gpu::with(config).launch_watched(module, &launch, None) {
        Ok(()) => "fine".into(),
        Err(Error::Launch(sentence)) => sentence,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn gpus_have_names() {
    let sms = |name: &str| name.parse::<Arch>().map(|arch| arch.sms);
    assert_eq!(sms("sm_70"), Ok(80));
    assert_eq!(sms("sm_86"), Ok(28));
    assert_eq!(sms("sm_90"), Ok(132));
    assert_eq!(sms("sm_120"), Ok(170));
    assert_eq!(sms("sm_86:20"), Ok(20));
    assert_eq!(
        sms("sm_99").unwrap_err(),
        "cannot simulate the GPU `sm_99`: choose sm_70 (V100), sm_86 (RTX 3060), sm_90 (H200), \
         sm_120 (RTX 5090)"
    );
    assert_eq!(
        sms("sm_86:0").unwrap_err(),
        "`0` is not a number of multiprocessors: give a whole number from 1 to 65536, for example sm_86:28"
    );
    let config = Config::default();
    assert_eq!((config.arch.name, config.sm_count), ("sm_90", 132));
    assert_eq!(playing("sm_86:7").sm_count, 7);
}

#[test]
fn static_shared_memory_has_its_own_limit() {
    let module = entry("sm_60", "", 49152);
    assert_eq!(refused(Config::default(), &module, 256, 0, 1), "fine");
    let module = entry("sm_60", "", 49156);
    assert_eq!(
        refused(Config::default(), &module, 256, 0, 1),
        "entry `reduce` has 49156 bytes of static shared memory, but no GPU allows more than 49152 \
         per block: declare the array `extern __shared__`, and pass its size at the launch (sm_90 allows 232448)"
    );
}

#[test]
fn shared_memory_of_a_block_is_that_of_the_gpu() {
    let module = entry("sm_60", "", 16);
    for (name, most) in [("sm_70", 98304), ("sm_86", 101376), ("sm_90", 232448), ("sm_120", 101376)]
    {
        assert_eq!(refused(playing(name), &module, 256, most - 16, 1), "fine", "{name}");
        assert_eq!(
            refused(playing(name), &module, 256, most, 1),
            format!(
                "entry `reduce` would have {} bytes of shared memory per block, but {name} allows \
                 {most}: launch smaller blocks or use fewer elements per thread",
                most + 16
            )
        );
    }
}

#[test]
fn clusters_are_those_of_the_gpu() {
    let module = entry("sm_60", "", 16);
    assert_eq!(
        refused(playing("sm_86"), &module, 32, 0, 2),
        "clusters of 2 blocks: sm_86 has no clusters; simulate sm_90 or newer, or launch without them"
    );
    assert_eq!(refused(playing("sm_90"), &module, 32, 0, 16), "fine");
    assert_eq!(
        refused(playing("sm_120"), &module, 32, 0, 16),
        "clusters of [16, 1, 1] blocks in a grid of [32, 1, 1]: sm_120 allows at most 8 blocks per cluster, and the \
         grid must be a multiple of the cluster"
    );
}

#[test]
fn ptx_for_a_newer_gpu_is_refused() {
    let module = entry("sm_90a", "", 16);
    assert_eq!(
        refused(playing("sm_86"), &module, 32, 0, 1),
        "entry `reduce` is compiled for sm_90a, but the simulated GPU is sm_86: simulate sm_90, or \
         compile for sm_86 or older"
    );
    assert_eq!(refused(playing("sm_90"), &module, 32, 0, 1), "fine");
    assert_eq!(module.kernel("reduce").unwrap().target(), "sm_90a");
    assert_eq!(Arch::that_runs("sm_100").map(|arch| arch.name), Some("sm_120"));
    assert_eq!(Arch::that_runs("sm_121"), None);
}

#[test]
fn a_kernel_s_declared_limits_are_checked() {
    let module = entry("sm_60", ".maxntid 128, 1, 1\n.maxnreg 32", 16);
    assert_eq!(refused(Config::default(), &module, 128, 0, 1), "fine");
    assert_eq!(
        refused(Config::default(), &module, 129, 0, 1),
        "entry `reduce` allows 128 threads per block (`__launch_bounds__`), but the launch has 129: raise the bound, or launch smaller blocks"
    );
    let module = entry("sm_60", ".maxnreg 256", 16);
    assert_eq!(
        refused(Config::default(), &module, 32, 0, 1),
        "entry `reduce` declares a limit of 256 registers per thread (`.maxnreg`), but sm_90 allows 1 \
         to 255: change this limit"
    );
    assert_eq!(
        refused(Config::default(), &module, 2048, 0, 1),
        "a block of [2048, 1, 1] has 2048 threads, but 1 to 1024 are allowed: launch more \
         blocks of fewer threads"
    );
}

const SCHEDULES: [Schedule; 3] = [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(1)];

/// An endless loop is stopped long before the instruction budget is exhausted, and the message
/// names its lines.
#[test]
fn an_endless_loop_is_stopped_by_the_time_budget() {
    let module = module("tests/faults/endless.ptx");
    for schedule in SCHEDULES {
        let mut device = Device::with(|c| {
            c.schedule = schedule;
            c.patience = Some(Duration::from_millis(300));
        });
        let input = device.put(&Element::F32.input(1024).0);
        let out = device.room(64);
        let args = vec![Arg::U64(input), Arg::U64(out), Arg::U64(1024)];
        let start = Instant::now();
        let mut watch = counting(Counters::default());
        let launch = launch("reduce", 4, 256, 1024, args);
        let error = device.gpu.launch_watched(&module, &launch, Some(&mut watch));
        let Err(Error::Trap(trap)) = error else { panic!("{schedule}: {error:?}") };
        assert!(start.elapsed() < Duration::from_secs(60), "{schedule}: {:?}", start.elapsed());
        assert_eq!(trap.kind, TrapKind::Budget);
        let said = trap.to_string();
        assert!(said.starts_with("budget exhausted at line "), "{schedule}: {said}");
        assert!(
            said.contains("no block has finished in the last 300 ms; 0 of 4 blocks ended. "),
            "{said}"
        );
        assert!(said.contains(" repeats lines 9 to 10: "), "{schedule}: {said}");
    }
}

/// Each block that ends counts as progress, even if all blocks together take long.
#[test]
fn a_launch_that_makes_progress_is_not_stopped() {
    // Each block executes more instructions than the interpreter does between two checks of the
    // clock.
    let text = ".version 8.4\n.target sm_60\n.address_size 64\n.visible .entry reduce()\n{\n\
                .reg .b32 %r<2>;\n.reg .pred %p<2>;\nmov.u32 %r1, 0;\n\
                again: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 1000000;\n@%p1 bra again;\n\
                ret;\n}\n";
    let module = Module::parse(text).unwrap();
    let mut gpu = Gpu::new();
    gpu.config_mut().threads = 1;
    let mut run = |patience, blocks| {
        gpu.config_mut().patience = patience;
        let start = Instant::now();
        gpu.launch_watched(&module, &launch("reduce", blocks, 32, 0, vec![]), None)
            .map(|()| start.elapsed())
    };
    let one = run(None, 1).unwrap();
    let patience = 8 * one;
    assert!(run(Some(patience), 24).unwrap() > patience);
    // A single block that takes longer than the limit is stopped, even if it would eventually
    // finish.
    assert!(run(Some(one / 50), 1).is_err());
}

/// A second host thread can read the progress of a launch.
#[test]
fn progress_can_be_polled() {
    let module = module("tests/faults/endless.ptx");
    let mut gpu = Gpu::new();
    gpu.config_mut().patience = Some(Duration::from_millis(500));
    let input = gpu.alloc(4096).unwrap();
    let args = vec![Arg::U64(input), Arg::U64(input), Arg::U64(0)];
    let progress = gpu.progress();
    assert_eq!((progress.launch(), progress.blocks(), progress.ended()), (0, 0, 0));
    let seen = std::thread::scope(|scope| {
        let poll = scope.spawn(|| {
            while progress.launch() == 0 {
                std::thread::yield_now();
            }
            (progress.blocks(), progress.ended())
        });
        gpu.launch_watched(&module, &launch("reduce", 3, 64, 256, args), None).unwrap_err();
        poll.join().unwrap()
    });
    assert_eq!(seen, (3, 0));
    let module = entry("sm_60", "", 16);
    gpu.launch_watched(&module, &launch("reduce", 100, 32, 0, Vec::new()), None).unwrap();
    let progress = gpu.progress();
    assert_eq!((progress.launch(), progress.blocks(), progress.ended()), (2, 100, 100));
}
