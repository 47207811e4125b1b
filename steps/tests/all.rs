//! Tests every step and every kernel of a study: `cargo test -p steps v3`.
//!
//! `cargo test -p steps -- --ignored` runs the sweeps, with all block sizes, orders of execution
//! and GPUs.

use std::{env, process::ExitCode};

use common::{
    Element, Step, cli,
    plan::{Arg, Chip, Problem},
    testing::{self, STEP},
};
use libtest_mimic::{Arguments, Trial};
use simt::Schedule;
use steps::{STEPS, STUDIES};

fn main() -> ExitCode {
    // The tests of the command line restart this program, which then acts as the program of a step.
    if let Ok(name) = env::var(STEP) {
        return cli::run(steps::step(&name).expect("a step's name"));
    }
    let ways = STUDIES.into_iter().flat_map(|study| {
        study.ways.iter().map(move |way| of(format!("{}::{}", study.name, way.name), way))
    });
    let steps = STEPS.into_iter().map(|step| {
        let mut tests = of(step.name.into(), step);
        tests.push(test(format!("{}::answers_bad_input", step.name), move || {
            let program = env::current_exe().expect("a path");
            testing::program(step, program.to_str().expect("a path in UTF-8"));
        }));
        tests
    });
    let mut tests: Vec<Trial> = steps.chain(ways).flatten().collect();
    // A chunk has more stages than the ring.
    let ring = |schedule| {
        let step = steps::step("v12-bulk-copy").expect("a step");
        move || testing::same_bits_at(step, 7_400_000, schedule)
    };
    tests.push(test("v12-bulk-copy::fills_the_ring_again".into(), ring(Schedule::Converged)));
    let again =
        test("v12-bulk-copy::fills_the_ring_in_any_order".into(), ring(Schedule::Adversarial(0)));
    tests.push(again.with_ignored_flag(true));
    let exact = steps::step("v13-exact-sum").expect("a step");
    tests.push(test("v13-exact-sum::is_rounded_once".into(), || testing::rounded_once(exact)));
    for study in STUDIES {
        let ways = || study.ways.iter().copied();
        let name = format!("{}::every_kernel_runs_and_no_lost_element_is_verified", study.name);
        tests.push(test(name, move || testing::every_kernel(ways())));
        let sweep = format!("{}::no_lost_element_is_verified_anywhere", study.name);
        let sweep = test(sweep, move || testing::every_kernel_sweep(ways()));
        tests.push(sweep.with_ignored_flag(true));
    }
    tests.push(test("steps::every_kernel_runs_and_no_lost_element_is_verified".into(), || {
        testing::every_kernel(STEPS);
    }));
    tests.push(test("every_access_has_a_line".into(), every_access_has_a_line));
    tests.push(test("no_chunk_is_empty".into(), no_chunk_is_empty));
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

fn of(name: String, step: &'static Step) -> Vec<Trial> {
    let mut tests = vec![
        test(format!("{name}::reduces"), || testing::check(step)),
        test(format!("{name}::no_fault_is_verified"), || testing::faults(step)),
        test(format!("{name}::reduces_everywhere"), || testing::sweep(step))
            .with_ignored_flag(true),
    ];
    if step.fixed_order {
        let sweep =
            test(format!("{name}::same_bits_everywhere"), || testing::same_bits_sweep(step));
        tests.push(test(format!("{name}::same_bits"), || testing::same_bits(step)));
        tests.push(sweep.with_ignored_flag(true));
    }
    tests
}

fn test(name: String, run: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, || {
        run();
        Ok(())
    })
}

/// An empty last chunk would end where the chunk before it ends, and both would add the elements
/// after the last whole vector.
fn no_chunk_is_empty() {
    // The number of vectors in v13's longest chunks.
    let longest = 4095 * 512;
    let sizes = [1, 257, 300, 511, 1 << 12].map(|chunks| 4 * longest * chunks);
    let sizes = sizes.into_iter().chain([1 << 14, 1 << 20, 1 << 28, 1 << 32]);
    for n in sizes.flat_map(|n| [n - 5, n - 4, n - 1, n, n + 1, n + 3, n + 4, n + 7]) {
        for step in STEPS.into_iter().filter(|step| step.fixed_order && step.aligned == 16) {
            let (block, chip) = (step.block(None), Chip::H200);
            let plan = (step.plan)(&Problem { n, block, element: Element::F32, chip });
            let [_, _, _, Arg::U64(size), Arg::U32(chunks), ..] = plan.launches[0].args[..] else {
                panic!("{}: {:?}", step.name, plan.launches[0].args)
            };
            let before = u64::from(chunks - 1) * size;
            assert!(before < n / 4, "{}: {n} floats in {chunks} chunks of {size}", step.name);
        }
    }
}

/// Findings name a line of the kernel or of a file that it includes, never a line of the PTX.
fn every_access_has_a_line() {
    let ways = STUDIES.into_iter().flat_map(|study| study.ways);
    for step in STEPS.into_iter().chain(ways.copied()) {
        for text in step.kernel.ptx {
            let module = simt::Module::parse(text).unwrap();
            for kernel in module.entries().filter_map(|entry| module.kernel(entry)) {
                for pc in 0..kernel.len() as u32 {
                    let names = ["ld.global", "ld.shared", "st.", "bar", "atom", "shfl", "cp."];
                    let reported = names.iter().any(|name| kernel.text(pc).starts_with(name));
                    let (place, entry) = (kernel.place(pc), kernel.name());
                    assert!(
                        !reported || place.starts_with("line "),
                        "{}: {entry}: {place}: {}",
                        step.name,
                        kernel.text(pc)
                    );
                }
            }
        }
    }
}
