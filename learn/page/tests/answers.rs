//! Tests that a page gets the same sums, counts and findings as every program prints.

use common::{
    Element,
    device::{Choice, Device, Ptx, Settings},
    plan::Block,
    run::{Samples, run},
    sum::{Input, Scalar, Workload},
};
use page::{Answer, Question};
use simt::observe::Finding;
use steps::STEPS;

const SIZES: [u64; 6] = [1, 33, 257, 1025, 4109, 65_549];

fn question(step: &common::Step, element: Element, n: u64, threads: u32) -> Question {
    Question {
        step: step.name.to_owned(),
        ptx: step.kernel.ptx(element).to_owned(),
        source: step.kernel.source.to_owned(),
        n,
        r#type: element.name().to_owned(),
        threads: Some(threads),
        schedule: None,
        sms: None,
        checks: true,
        frames: false,
        budget: None,
    }
}

/// Returns the sum, the counts of each launch and the findings of a program.
fn programs<T: Scalar>(step: &common::Step, n: u64, block: Block) -> (String, String, Vec<String>) {
    let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
    let ptx = common::ptx::of(&step.kernel, T::ELEMENT, None).unwrap();
    let ptx = Ptx { text: step.kernel.ptx(T::ELEMENT).to_owned(), ..ptx };
    let workload = Workload::<T>::new(&device, Input::Uniform, n, 42).unwrap();
    let samples = Samples { count: 0, warm: false };
    let outcome = run(step, &ptx, &device, &workload, block, samples).unwrap();
    let observed = outcome.observed.unwrap();
    let counts = observed.counters.launches.iter();
    let counts: Vec<Vec<(&str, u64)>> = counts.map(|l| l.counts.fields().collect()).collect();
    let findings = observed.findings.iter().map(Finding::sentence).collect();
    (format!("{:?}", outcome.verdict.sum), format!("{counts:?}"), findings)
}

fn pages(answer: &Answer) -> (String, String, Vec<String>) {
    let order: Vec<&str> = simt::Counts::default().fields().map(|(name, _)| name).collect();
    let counts: Vec<Vec<(&str, u64)>> = answer
        .launches
        .iter()
        .map(|l| order.iter().map(|name| (*name, l.counts[name])).collect())
        .collect();
    let findings = answer.findings.iter().map(|found| found.sentence.clone()).collect();
    (format!("{:?}", answer.sum.unwrap()), format!("{counts:?}"), findings)
}

#[test]
fn every_step_counts_in_a_page_what_its_program_counts() {
    for step in STEPS {
        for element in Element::ALL {
            for n in SIZES {
                let block = step.block(Some(Block::new(64).unwrap()));
                let answer = page::run(&question(step, element, n, block.threads()));
                assert_eq!(answer.stopped, None, "{} {element} {n}", step.name);
                let program = match element {
                    Element::F32 => programs::<f32>(step, n, block),
                    Element::I32 => programs::<i32>(step, n, block),
                    Element::F64 => programs::<f64>(step, n, block),
                };
                assert_eq!(pages(&answer), program, "{} {element} {n}", step.name);
                assert!(answer.verified);
            }
        }
    }
}

#[test]
fn an_invalid_question_gets_a_sentence() {
    let good = question(STEPS[0], Element::F32, 100, 64);
    let stopped = |question: Question| page::run(&question).stopped.unwrap();
    let said = stopped(Question { step: "v99".into(), ..good.clone() });
    assert!(said.contains("no step `v99`"), "{said}");
    let said = stopped(Question { n: (1 << 20) + 1, ..good.clone() });
    assert!(said.contains("at most 1048576") && said.contains("1048577"), "{said}");
    let said = stopped(Question { threads: Some(65), ..good.clone() });
    assert!(said.contains("a block of 65 threads"), "{said}");
    let said = stopped(Question { r#type: "f16".into(), ..good.clone() });
    assert!(said.contains("`f16`"), "{said}");
    let said = stopped(Question { schedule: Some("soon".into()), ..good.clone() });
    assert!(said.contains("`soon` is not a schedule"), "{said}");
    let said = stopped(Question { budget: Some(100), ..good.clone() });
    assert!(said.contains("100"), "{said}");
    for text in ["", "{}", "[1]", "{\"step\":1}", "\u{0}"] {
        assert!(page::ask(text).contains("this is not a valid question"), "{text}");
    }
}

#[test]
fn an_error_in_the_ptx_has_its_line() {
    let good = question(STEPS[0], Element::F32, 100, 64);
    let ptx = good.ptx.replacen("bar.sync", "bar.sink", 1);
    let line = good.ptx.lines().position(|line| line.contains("bar.sync")).unwrap() as u32 + 1;
    let answer = page::run(&Question { ptx, ..good.clone() });
    assert!(answer.stopped.as_ref().unwrap().contains("bar.sink"), "{:?}", answer.stopped);
    assert_eq!(answer.stopped_at.map(|(ptx, _)| ptx), Some(line));
    // PTX that is truncated at any place is refused or runs, but never causes a panic.
    for end in (0..good.ptx.len()).step_by(97).filter(|end| good.ptx.is_char_boundary(*end)) {
        page::run(&Question { ptx: good.ptx[..end].to_owned(), ..good.clone() });
    }
}
