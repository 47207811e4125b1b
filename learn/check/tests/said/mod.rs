//! Judges a source, for all tests that need a compiler.
#![allow(
    unreachable_pub,
    dead_code,
    reason = "each test file includes this module, and none uses all of it"
)]

use std::path::Path;

use check::exercise::Exercise;
use compiler::Compiler;

/// Returns the compiler of this machine. If the machine has no compiler, prints that the test is
/// skipped.
pub fn compiler() -> Option<Compiler> {
    Compiler::find(None).map_err(|missing| eprintln!("skipped: {missing}")).ok()
}

/// Returns whether a kernel passes, and its formatted verdict or the compiler's message.
pub fn said(compiler: &Compiler, number: usize, source: &str, seed: u64) -> (bool, String) {
    let exercise = Exercise::of(number).unwrap();
    match check::judged(&exercise, compiler, source, Path::new("kernel.cu"), seed).unwrap() {
        Ok(verdict) => (verdict.passed(), verdict.page(source)),
        Err(message) => (false, message),
    }
}

/// Returns the reference solution.
pub fn reference(number: usize) -> String {
    Exercise::of(number).unwrap().solutions().unwrap().remove(0).1
}

/// Returns the reference solution with replacements; each replaced text must occur exactly once.
pub fn edited(number: usize, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(reference(number), |text, (from, to)| {
        assert_eq!(
            text.matches(from).count(),
            1,
            "exercise {number} does not have exactly one `{from}`:\n{text}"
        );
        text.replace(from, to)
    })
}
