//! Tests edits that learners make to a kernel. For each edit, the output names a line and a remedy,
//! or the kernel is correct and verified.
//!
//! The edited kernels remain in target/tmp/edits, so that you can try them:
//!
//! ```text
//! cargo run -p v3-first-add -- --device simt --kernel target/tmp/edits/03-less-equal.cu
//! ```

mod clusters;
mod edit;
mod others;
mod problems;
mod rare;
mod v3;
mod waits;

use std::{fs, path::Path, process::Command, thread};

use assert_cmd::prelude::*;
use edit::{Edit, HEADER, REMOVED};
use others::{ELSEWHERE, FENCE, LEFT, UNSET};
use waits::{COPIES, FENCES};

#[test]
fn every_edit_gets_a_line_and_a_cure_or_is_rightly_verified() {
    let found = match compiler::Compiler::find(None) {
        Ok(found) => found,
        Err(missing) => return eprintln!("skipped: {missing}"),
    };
    // clang compiles an atomic whose result is unused to `atom`, which takes effect at once.
    let late = matches!(found, compiler::Compiler::Nvrtc(_));
    if !late {
        eprintln!("skipped: the edits that only NVRTC compiles to a late `red`");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("edits");
    fs::create_dir_all(&folder).unwrap();
    let v3 = v3::EDITS.iter().map(|edit| ("v3-first-add", edit));
    let others = LEFT.iter().chain(UNSET).chain(ELSEWHERE).chain(FENCE.iter().filter(|_| late));
    let others = others.chain(COPIES).chain(problems::PROBLEMS).chain(FENCES).chain(rare::RARE);
    let clusters = clusters::CLUSTER.iter().map(|edit| ("one-cluster", edit));
    let all: Vec<_> = v3.chain(others.map(|(name, edit)| (*name, edit))).chain(clusters).collect();
    let named = |name: &str| ladder::steps_and_ways().find(|step| step.name == name).unwrap();
    let fault = |(name, edit): &(&str, &Edit)| tried(named(name), edit, &folder);
    // Two threads, because each program that they start uses about one core.
    let faults: Vec<String> = thread::scope(|scope| {
        let halves = all.chunks(all.len().div_ceil(2));
        let halves: Vec<_> = halves
            .map(|half| scope.spawn(|| half.iter().filter_map(fault).collect::<Vec<_>>()))
            .collect();
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// Returns the difference between the expected and the actual output, if there is a difference.
fn tried(step: &common::Step, edit: &Edit, folder: &Path) -> Option<String> {
    let source = step.kernel.source;
    let edited = edit.edits.iter().fold(source.to_owned(), |text, (from, to)| {
        assert_eq!(text.matches(from).count(), 1, "{}: {from}", edit.name);
        text.replace(from, to)
    });
    let path = folder.join(format!("{}.cu", edit.name));
    fs::write(&path, edited).unwrap();
    let output = Command::cargo_bin("ladder")
        .unwrap()
        .args(["compare", step.name, "--device", "simt", "--n", edit.n])
        .arg(path)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    let said = common::testing::unwrapped(&said);
    let code = output.status.code();
    if edit.code == REMOVED && code == Some(0) && said.contains("verified") {
        return None;
    }
    let expected = if edit.code == REMOVED { 2 } else { edit.code };
    let ends = code == Some(expected) || edit.code == HEADER && matches!(code, Some(0 | 2));
    let says = |words: &&str| words.split('|').any(|word| said.contains(word));
    let missing = edit.said.iter().find(|words| !says(words));
    (!ends || missing.is_some() || said.contains("panicked"))
        .then(|| format!("{}: exit {code:?}, missing {missing:?} in:\n{said}", edit.name))
}
