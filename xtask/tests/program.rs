//! Tests the errors of `cargo x`.

use std::process::Command;

/// Returns the exit code and the text on standard error, which is a pipe.
fn run(words: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(words).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn usage_errors_exit_with_2_and_have_at_most_100_columns() {
    let long = "a name of many words ".repeat(12);
    for words in [
        &["nosuch"][..],
        &[&long],
        &["ci", &long],
        &["ptx", "--chek"],
        &["diff", "v99"],
        &["diff", &long],
        &["beside", &long],
    ] {
        let (code, said) = run(words);
        assert_eq!(code, Some(2), "{words:?}: {said}");
        assert!(said.starts_with("error: "), "{said}");
        assert!(said.lines().all(|line| line.chars().count() <= 100), "{words:?}:\n{said}");
    }
}

#[test]
fn the_help_is_not_an_error() {
    assert_eq!(run(&["--help"]), (Some(0), String::new()));
}
