//! The ladder's commands on a machine without a GPU: a sentence each, and an exit code.

use std::process::{Command, Stdio};

use assert_cmd::prelude::*;

fn ladder(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("ladder").unwrap();
    // An empty list hides every GPU, also where there is one.
    command.args(arguments).env("CUDA_VISIBLE_DEVICES", "").env_remove("REDUCE_DEVICE");
    command
}

#[test]
fn without_a_gpu_it_says_so_in_one_sentence() {
    for command in [&["measure"][..], &["compare", "v2", "v3"], &["sweep"]] {
        let output = ladder(command).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(
            text.starts_with("error: `ladder ") && text.contains("times kernels on a GPU"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn simt_has_no_times() {
    let output = ladder(&["measure", "--device", "simt"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("times kernels on a GPU"));
}

#[test]
fn what_is_no_command_line_is_refused() {
    for arguments in [
        &["measure", "--minutes", "0"][..],
        &["measure", "--n", "2^99"],
        &["measure", "--threads", "100"],
        &["measure", "--type", "f16"],
        &["measure", "--rounds", "0"],
        &["compare", "v2"],
        &["sweep", "--minutes", "x"],
        &["counters", "--read", "x"],
        &["nothing"],
    ] {
        ladder(arguments).assert().code(2);
    }
}

#[test]
fn its_help_begins_with_what_it_is() {
    for help in ["-h", "--help"] {
        let text = String::from_utf8(ladder(&[help]).output().unwrap().stdout).unwrap();
        let first = text.lines().next().unwrap();
        assert!(first.contains("very step"), "{first}");
    }
    let text = String::from_utf8(ladder(&["--version"]).output().unwrap().stdout).unwrap();
    assert!(text.starts_with("ladder "), "{text}");
}

#[test]
fn the_beginning_of_a_step_s_name_is_enough() {
    let output = ladder(&["once", "v3", "--n", "100", "--device", "simt"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("v3-first-add"), "{text}");
}

#[test]
fn what_shows_one_kernel_is_refused_for_many() {
    for option in [&["--lines"][..], &["--trace", "x.json"]] {
        let output =
            ladder(&[option, &["--device", "simt", "--n", "1"]].concat()).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text.contains("`--lines` and `--trace` show one kernel"), "{text}");
    }
}

#[test]
fn counters_prints_a_command_for_each_step() {
    let output = ladder(&["counters", "--n", "2^20"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let all: Vec<_> = ladder::steps_and_ways().collect();
    assert_eq!(text.lines().count(), all.len());
    for (line, step) in text.lines().zip(all) {
        assert!(line.starts_with("ncu --csv ") && line.contains(step.name), "{line}");
    }
}

#[test]
fn counters_names_a_file_that_it_cannot_read() {
    let output = ladder(&["counters", "--read", "nowhere.ncu", "--out", "x.csv"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("nowhere.ncu"));
}

#[test]
fn a_closed_standard_output_is_no_panic() {
    for arguments in [&["counters"][..], &["--help"], &["measure", "--help"]] {
        let mut child =
            ladder(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!text.contains("panicked"), "{text}");
    }
}
