//! Runs attacks on the judge, each with its required verdict, and correct kernels in other styles.
//!
//! The files in `learn/check/attacks/` are lists of entries:
//!
//! ```text
//! ## what the kernel does
//! 1 2 3: budget loads
//! (a kernel for these exercises, appended to `frame.cu`)
//! ## what the kernel does
//! edit 9 10: correct tickets[0]
//! - old text in the reference solution
//! + new text
//! ## what the kernel does
//! raw 1: budget two values
//! (a whole file)
//! ```
//!
//! The word after the colon names the stage that must reject the kernel, or `passes`. The message
//! must contain the words after the stage.

use std::fs;

use check::exercise::Exercise;
use compiler::Compiler;

use crate::said::{compiler, reference};

/// One kernel for one exercise.
#[derive(Clone, Debug)]
struct Attack {
    what: String,
    task: usize,
    /// The required verdict: `correct`, `clean`, `budget`, `compiler` or `passes`.
    stage: String,
    words: String,
    source: String,
}

fn attacks(file: &str) -> Vec<Attack> {
    let folder = xtask::root().join("learn/check/attacks");
    let frame = fs::read_to_string(folder.join("frame.cu")).unwrap();
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let mut all = Vec::new();
    for entry in text.split("\n## ").skip(1) {
        let (what, entry) = entry.split_once('\n').unwrap();
        let is_head = |line: &&str| {
            let before = line.split(':').next().unwrap_or_default();
            let numbers = before.trim_start_matches("edit ").trim_start_matches("raw ");
            line.contains(": ") && numbers.split(' ').all(|word| word.parse::<usize>().is_ok())
        };
        let heads: Vec<&str> = entry.lines().take_while(is_head).collect();
        let body: Vec<&str> = entry.lines().skip(heads.len()).collect();
        assert!(!heads.is_empty(), "`{what}` has no exercises");
        for head in heads {
            let (numbers, verdict) = head.split_once(": ").unwrap();
            let (stage, words) = verdict.split_once(' ').unwrap_or((verdict, ""));
            let (form, numbers) = match numbers.split_once(' ') {
                Some((form @ ("edit" | "raw"), numbers)) => (form, numbers),
                _ => ("", numbers),
            };
            for task in numbers.split(' ').map(|word| word.parse().unwrap()) {
                let source = match form {
                    "edit" => changed(what, reference(task), &body),
                    "raw" => body.join("\n"),
                    _ => format!("#define TASK {task}\n{frame}{}\n", body.join("\n")),
                };
                let [what, stage, words] = [what, stage, words].map(str::to_owned);
                all.push(Attack { what, task, stage, words, source });
            }
        }
    }
    all
}

/// Applies pairs of `- old` and `+ new` to a source; each old text must occur at least once.
fn changed(what: &str, mut source: String, edits: &[&str]) -> String {
    let mut old: Option<&str> = None;
    for line in edits.iter().filter(|line| !line.trim().is_empty()) {
        match (line.strip_prefix("- "), line.strip_prefix('+')) {
            (Some(text), _) => old = Some(text),
            (_, Some(new)) => {
                let old = old.take().unwrap_or_else(|| panic!("{what}: `{new}` replaces nothing"));
                assert!(source.contains(old), "{what}: no `{old}` in {source}");
                source = source
                    .replace(old, new.strip_prefix(' ').unwrap_or(new).trim_end_matches('\r'));
            }
            _ => panic!("{what}: `{line}` is no edit"),
        }
    }
    source
}

/// Describes the difference between the verdict and the listed verdict, if they differ.
fn fault(compiler: &Compiler, attack: &Attack, seed: u64) -> Option<String> {
    let exercise = Exercise::of(attack.task).unwrap();
    let path = std::path::Path::new("kernel.cu");
    let (stage, page) = match check::judged(&exercise, compiler, &attack.source, path, seed)
        .unwrap()
    {
        Ok(verdict) => {
            let stage = verdict.failure.as_ref().map_or("passes".into(), |f| f.stage.to_string());
            (stage, verdict.page(&attack.source))
        }
        Err(message) => ("compiler".into(), message),
    };
    let text = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let ok = stage == attack.stage && text.contains(&attack.words);
    let Attack { what, task, stage: expected, words, .. } = attack;
    (!ok).then(|| format!("{task}, {what}: `{stage}`, not `{expected} {words}`:\n{page}"))
}

/// Judges every `step`-th entry in the given files.
fn sampled(files: &[&str], step: usize) {
    let all: Vec<Attack> = files.iter().flat_map(|file| attacks(file)).collect();
    judged(&all.iter().skip(step / 2).step_by(step).collect::<Vec<_>>());
}

fn judged(chosen: &[&Attack]) {
    // The verdicts are listed for NVRTC. The other compiler emits different instructions, so some
    // messages differ.
    let Some(compiler @ Compiler::Nvrtc(_)) = compiler() else {
        eprintln!("skipped: the attacks need NVRTC");
        return;
    };
    let faults: Vec<String> =
        (0..).zip(chosen).filter_map(|(at, attack)| fault(&compiler, attack, at)).collect();
    let (wrong, many) = (faults.len(), chosen.len());
    assert!(faults.is_empty(), "{wrong} of {many}:\n{}", faults.join("\n"));
}

const FILES: [&str; 8] = [
    "dodges.txt",
    "luck.txt",
    "resources.txt",
    "state.txt",
    "orders.txt",
    "chapters.txt",
    "outside.txt",
    "strangers.txt",
];

#[test]
fn there_are_enough_attacks_and_correct_kernels() {
    let attacks_of: usize = FILES.iter().map(|file| attacks(file).len()).sum();
    let right = attacks("right.txt");
    assert!(attacks_of >= 150 && right.len() >= 40, "{attacks_of} attacks, {} right", right.len());
    assert!(right.iter().all(|kernel| kernel.stage == "passes"));
    let all: Vec<Attack> = FILES.iter().flat_map(|file| attacks(file)).collect();
    for task in [15, 16, 17] {
        let of = |all: &[Attack]| all.iter().filter(|attack| attack.task == task).count();
        assert!(of(&all) >= 8 && of(&right) >= 2, "exercise {task}");
    }
}

#[test]
fn a_sample_of_attacks_is_rejected() {
    sampled(&FILES, 23);
}

#[test]
fn a_sample_of_correct_kernels_passes() {
    sampled(&["right.txt"], 6);
}

/// The judge's first stage runs one order of execution only, and accepts this kernel.
#[test]
fn a_kernel_that_fails_only_in_other_orders_is_rejected() {
    let attacks = attacks("orders.txt");
    let last = attacks.iter().find(|attack| attack.what.contains("if it takes the last ticket"));
    judged(&[last.unwrap()]);
}

#[test]
#[ignore = "a sweep: cargo x ci --sweeps"]
fn every_attack_is_rejected() {
    sampled(&FILES, 1);
}

#[test]
#[ignore = "a sweep: cargo x ci --sweeps"]
fn every_correct_kernel_passes() {
    sampled(&["right.txt"], 1);
}
