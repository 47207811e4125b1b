//! Removes each barrier of each step in turn. For each mutant, there must be a finding, or a listed
//! reason why removing the barrier is harmless.

use crate::common::{Device, ELEMENTS, Element, STEPS, Step};
use simt::{Module, Schedule};

/// Returns the barriers of a step that can be removed without harm, each with the reason. The
/// mutants that lack these barriers must pass for every type, and no other mutant may pass.
fn harmless(step: &Step, block: u32) -> &'static [&'static str] {
    match (step.name, block) {
        ("v4-unroll-warp", 64) => &[
            "the barrier of the loop, which a block of 64 never enters",
            "the first `__syncwarp`: its round reads elements 32 to 63 and writes 0 to 31",
            "the last `__syncwarp`: after it lane 0 reads only what lane 0 itself wrote",
        ],
        ("v4-unroll-warp" | "v5-template-unroll", _) => &[
            "the first `__syncwarp`: its round reads elements 32 to 63 and writes 0 to 31",
            "the last `__syncwarp`: after it lane 0 reads only what lane 0 itself wrote",
        ],
        _ => &[],
    }
}

/// Returns variants of PTX that each lack one barrier of an entry, with the line number of the
/// barrier.
fn mutants(ptx: &str, entry: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = ptx.lines().collect();
    let begin = lines
        .iter()
        .position(|l| l.contains(".entry") && l.contains(&format!("{entry}(")))
        .unwrap();
    let end = begin + lines[begin..].iter().position(|l| l.starts_with('}')).unwrap();
    let barrier = |l: &str| {
        l.trim_start().starts_with("bar.sync") || l.trim_start().starts_with("bar.warp.sync")
    };
    let without = |i: usize| {
        lines.iter().enumerate().filter(|&(k, _)| k != i).map(|(_, l)| format!("{l}\n")).collect()
    };
    (begin..end).filter(|&i| barrier(lines[i])).map(|i| (i + 1, without(i))).collect()
}

/// Returns the fault by which a mutant is detected under a schedule; `None` if it passes.
fn caught(
    step: &Step,
    ptx: &str,
    element: Element,
    block: u32,
    schedule: Schedule,
) -> Option<String> {
    let module = Module::parse(ptx).unwrap();
    let mut device = Device::with(|c| {
        c.schedule = schedule;
        c.budget = 1 << 24;
    });
    let n = block as usize * step.loads * 2 + 5;
    let (bytes, values) = element.input(n);
    let input = device.put(&bytes);
    let sum = step.sum(&mut device, &module, element, block, input, n);
    match sum {
        Err(e) => Some(e.to_string()),
        Ok(_) if !device.findings().is_empty() => Some(device.said()),
        Ok(sum) if sum != values.iter().sum::<i64>() as f64 => Some(format!("the sum is {sum}")),
        Ok(_) => None,
    }
}

#[test]
fn every_barrier_is_necessary_or_listed_as_harmless() {
    let mut tried = 0;
    for step in STEPS {
        for element in ELEMENTS {
            let ptx = step.ptx(element);
            for block in [64, 128, 1024] {
                let mutants = mutants(&ptx, &step.entry(block));
                assert!(!mutants.is_empty(), "{}: no barrier", step.name);
                let passed: Vec<usize> = mutants
                    .iter()
                    .filter(|(_, text)| {
                        caught(&step, text, element, block, Schedule::Converged).is_none()
                    })
                    .map(|&(line, _)| line)
                    .collect();
                let reasons = harmless(&step, block);
                let what =
                    format!("{} {element:?} block {block}: lines {passed:?} pass", step.name);
                assert_eq!(passed.len(), reasons.len(), "{what}, expected are {reasons:#?}");
                if let [.., first, last] = passed[..] {
                    let warp: Vec<usize> = mutants
                        .iter()
                        .filter(|(line, _)| {
                            ptx.lines().nth(line - 1).unwrap().contains("bar.warp.sync")
                        })
                        .map(|&(line, _)| line)
                        .collect();
                    assert_eq!((first, last), (warp[0], warp[warp.len() - 1]), "{what}");
                }
                tried += mutants.len();
            }
        }
    }
    assert!(tried > 200, "only {tried} mutants");
}

/// Tests that removing the listed barriers is harmless, because no seed gives a wrong result.
#[test]
fn removing_harmless_barriers_gives_correct_sums() {
    for step in STEPS {
        let ptx = step.ptx(Element::F32);
        if harmless(&step, 64).is_empty() {
            continue;
        }
        for (line, text) in mutants(&ptx, &step.entry(64)) {
            if caught(&step, &text, Element::F32, 64, Schedule::Converged).is_none() {
                for seed in 0..100 {
                    let said = caught(&step, &text, Element::F32, 64, Schedule::Adversarial(seed));
                    assert_eq!(said, None, "{} line {line} seed {seed}", step.name);
                }
            }
        }
    }
}

/// Tests that the verdict does not depend on the schedule. A mutant that is detected under one
/// schedule is detected under all of them.
#[test]
fn mutants_are_caught_on_every_schedule() {
    for step in STEPS {
        let ptx = step.ptx(Element::F32);
        for (line, text) in mutants(&ptx, &step.entry(128)) {
            let [a, b, c] = [Schedule::Converged, Schedule::MinPc, Schedule::Adversarial(7)]
                .map(|s| caught(&step, &text, Element::F32, 128, s).is_some());
            assert!(a == b && b == c, "{} line {line}: {a} {b} {c}", step.name);
        }
    }
}
