//! Tests the program's table and its errors: `cargo test -p row-sum`.

use std::{
    collections::BTreeSet,
    process::{Command, Output},
};

use common::{
    Element,
    device::{Choice, Device, Settings},
    plan::Block,
    testing::unwrapped,
};
use row_sum::PROGRAM;

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

/// Every kernel runs, including the one that adds the chunks of long rows, and every row of the
/// table is verified.
#[test]
fn the_program_launches_every_kernel() {
    let output = run(&["--device", "simt", "--n", "2^16"]);
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{table}");
    assert!(PROGRAM.ways.iter().all(|way| table.contains(way.name)), "{table}");
    let device = Device::open(Choice::Simt, &Settings::default()).unwrap();
    let problem = device.problem(1 << 16, Block::new(256).unwrap(), Element::F32);
    let plans = PROGRAM.ways.iter().map(|way| (way.kernel.path, (way.plan)(&problem)));
    let launched: BTreeSet<(&str, String)> = plans
        .flat_map(|(path, plan)| plan.launches.into_iter().map(move |run| (path, run.entry)))
        .collect();
    for way in PROGRAM.ways {
        let text = way.kernel.ptx(Element::F32);
        for entry in text.lines().filter_map(|line| line.strip_prefix(".visible .entry ")) {
            let kernel = (way.kernel.path, entry.trim_end_matches('(').to_owned());
            assert!(launched.contains(&kernel), "no version launches {kernel:?}");
        }
    }
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
