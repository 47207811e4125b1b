//! Judges the committed kernels of the steps. Each kernel must pass the exercise of its chapter,
//! and fail the next exercise with the sentence about that exercise's idea.

use judge::{Kernel, Stage, TASKS, Verdict, judge};

macro_rules! step {
    ($name:literal) => {
        Kernel {
            source: include_str!(concat!("../../../steps/", $name, "/src/kernel.cu")),
            ptx: [
                Some(include_str!(concat!("../../../steps/", $name, "/src/kernel.f32.ptx"))),
                Some(include_str!(concat!("../../../steps/", $name, "/src/kernel.i32.ptx"))),
                Some(include_str!(concat!("../../../steps/", $name, "/src/kernel.f64.ptx"))),
            ],
        }
    };
}

const STEPS: [Kernel<'_>; 7] = [
    step!("v0-naive"),
    step!("v1-divergence"),
    step!("v2-bank-conflicts"),
    step!("v3-first-add"),
    step!("v4-unroll-warp"),
    step!("v5-template-unroll"),
    step!("v6-shuffle"),
];

fn page(verdict: &Verdict, kernel: &Kernel<'_>) -> String {
    verdict.page(kernel.source)
}

#[test]
fn each_step_passes_the_exercise_of_its_chapter() {
    for (kernel, task) in STEPS.iter().zip(&TASKS) {
        for seed in [0, 1, u64::MAX] {
            let verdict = judge(task, kernel, seed);
            assert!(verdict.passed(), "{}", page(&verdict, kernel));
            assert_eq!(verdict.passed.len(), 3);
        }
    }
}

#[test]
fn each_step_fails_the_next_exercise_with_its_idea() {
    for (kernel, task) in STEPS.iter().zip(&TASKS[1..]) {
        let verdict = judge(task, kernel, 7);
        let text = page(&verdict, kernel);
        let failure = verdict.failure.unwrap_or_else(|| panic!("{} is passed", task.number));
        assert_eq!(failure.idea, Some(task.idea.1), "{text}");
        let tiles = task.number == 4 || task.number == 8;
        assert_eq!(failure.stage, if tiles { Stage::Right } else { Stage::Budget }, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80 || line.contains(" | ")),
            "{text}"
        );
    }
}

#[test]
fn the_grid_stride_loop_passes_its_exercise() {
    let kernel = step!("v7-grid-stride");
    let verdict = judge(&TASKS[14], &kernel, 3);
    assert_eq!(verdict.task.chapter, "v7-grid-stride");
    assert!(verdict.passed(), "{}", page(&verdict, &kernel));
}

#[test]
fn the_same_seed_gives_the_same_verdict_and_another_one_other_numbers() {
    let said = |seed| page(&judge(&TASKS[3], &STEPS[2], seed), &STEPS[2]);
    assert_eq!(said(3), said(3));
    assert_ne!(said(3), said(4));
}

#[test]
fn invalid_ptx_and_a_missing_kernel_are_sentences() {
    let bad = Kernel { source: "", ptx: [Some("nothing"); 3] };
    let verdict = judge(&TASKS[0], &bad, 1);
    assert!(page(&verdict, &bad).contains("the PTX cannot be run: PTX line 1"), "{verdict:?}");
    let other = STEPS[0].ptx.map(|ptx| ptx.unwrap().replace(".entry reduce(", ".entry sum("));
    let other = Kernel { source: "", ptx: other.each_ref().map(|ptx| Some(ptx.as_str())) };
    let text = page(&judge(&TASKS[0], &other, 1), &other);
    assert!(text.contains("there is no kernel `reduce` and no `reduce_256`"), "{text}");
}

#[test]
fn a_kernel_for_float_alone_is_judged_and_one_without_float_is_refused() {
    for (kernel, task) in STEPS.iter().zip(&TASKS) {
        let alone = Kernel { ptx: [kernel.ptx[0], None, None], ..*kernel };
        let verdict = judge(task, &alone, 5);
        assert!(verdict.passed(), "{}", page(&verdict, kernel));
        assert!(page(&verdict, kernel).contains("float alone"), "{verdict:?}");
    }
    let single = include_str!("../../../steps/v0-naive/src/kernel.f64.ptx");
    let without = Kernel { source: "", ptx: [None, None, Some(single)] };
    let text = page(&judge(&TASKS[0], &without, 5), &without);
    assert!(text.contains("no PTX for `float`"), "{text}");
}
