//! Judges a source, for all tests that need a compiler.

use std::path::Path;

use check::exercise::Exercise;
use compiler::Compiler;

/// Returns the compiler of this machine. If the machine has no compiler, prints that the test is
/// skipped.
pub(crate) fn compiler() -> Option<Compiler> {
    Compiler::find(None).map_err(|missing| eprintln!("skipped: {missing}")).ok()
}

/// Returns whether a kernel passes, and its formatted verdict or the compiler's message.
pub(crate) fn said(compiler: &Compiler, number: usize, source: &str, seed: u64) -> (bool, String) {
    let exercise = Exercise::of(number).unwrap();
    match check::judged(&exercise, compiler, source, Path::new("kernel.cu"), seed).unwrap() {
        Ok(verdict) => (verdict.passed(), verdict.page(source)),
        Err(message) => (false, message),
    }
}

/// Returns the reference solution.
pub(crate) fn reference(number: usize) -> String {
    Exercise::of(number).unwrap().solutions().unwrap().remove(0).1
}

/// Returns the reference solution with replacements; each replaced text must occur exactly once.
pub(crate) fn edited(number: usize, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(reference(number), |text, (from, to)| {
        assert_eq!(
            text.matches(from).count(),
            1,
            "exercise {number} does not have exactly one `{from}`:\n{text}"
        );
        text.replace(from, to)
    })
}
