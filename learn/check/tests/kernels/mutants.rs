//! Judges a sample of all mutants; `cargo x check --mutants` judges every one.

use check::mutants::{self, tally};
use compiler::Compiler;

use crate::said::{compiler, reference};

#[test]
fn a_broken_solution_is_rejected_or_known_to_be_harmless() {
    let Some(compiler) = compiler() else { return };
    let tally = tally(None, 149, &compiler).unwrap();
    let rejected: usize = tally.rejected.iter().sum();
    assert!(tally.unknown.is_empty(), "passed, but not in learn/check/harmless.txt: {tally:#?}");
    // Compilers compute some indices differently, so the list is exact for NVRTC only.
    let exact = matches!(compiler, Compiler::Nvrtc(_));
    assert!(
        !exact || tally.stale.is_empty(),
        "in learn/check/harmless.txt, but rejected: {tally:#?}"
    );
    assert!(rejected > 18, "{tally:?}");
}

#[test]
fn mutants_change_the_code_that_matters() {
    let all = mutants::of("a.cu", &reference(1));
    let has = |name: &str| all.iter().any(|mutant| mutant.name == name);
    for name in [
        "a.cu:10 `__syncthreads();` to ``",
        "a.cu:9 `<` to `<=`",
        "a.cu:13 `1` to `2`",
        "a.cu:6 `unsigned long long` to `int`",
        "a.cu:14 `if (tid % (2 * s) == 0)` to `if (true)`",
    ] {
        assert!(has(name), "{name} is not in {all:#?}");
    }
    for mutant in &all {
        assert_ne!(mutant.source, reference(1), "{}", mutant.name);
    }
}
