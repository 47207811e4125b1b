//! Tests the program's table and its errors: `cargo test -p row-sum`.

use std::process::{Command, Output};

use common::testing::unwrapped;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_row-sum")).args(args).output().unwrap()
}

#[test]
fn a_row_of_the_table_names_its_file() {
    let output = run(&["--device", "simt", "--n", "2048"]);
    let table = unwrapped(&String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{table}");
    let files = "in studies/row-sum/src: ";
    assert!(table.contains(files) && table.contains("lanes.cu: lanes-a-row"), "{table}");
}

/// All kernels have blocks of 256 threads, so other blocks are refused, not ignored.
#[test]
fn other_blocks_are_refused() {
    let output = run(&["--device", "simt", "--n", "33", "--threads", "64"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    let said = unwrapped(&said);
    assert!(said.contains("blocks of 64 threads: choose a supported size (256)"), "{said}");
}

#[test]
fn the_help_has_no_option_that_is_always_refused() {
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    assert!(help.contains("--n ") && !help.contains("--kernel"), "{help}");
}
