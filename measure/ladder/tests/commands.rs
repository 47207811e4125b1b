//! Tests the ladder's commands on a machine without a GPU: each prints one error and returns an
//! exit code.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use assert_cmd::prelude::*;
use common::testing::unwrapped;

fn ladder(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("ladder").unwrap();
    // An empty list hides every GPU, even on a machine that has one.
    command.args(arguments).env("CUDA_VISIBLE_DEVICES", "").env_remove("REDUCE_DEVICE");
    command
}

#[test]
fn without_a_gpu_the_error_is_one_sentence() {
    for command in [
        &["measure"][..],
        &["compare", "v2", "v3", "--device", "cuda"],
        &["sweep"],
        &["--baseline", "x", "--device", "cuda", "--type", "i32"],
    ] {
        let output = ladder(command).output().unwrap();
        let text = unwrapped(&String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(
            text.starts_with("error: `ladder ") && text.contains("times kernels on a GPU"),
            "{text}"
        );
        assert_eq!(text.matches("error:").count(), 1, "{text}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn simt_has_no_times() {
    let output = ladder(&["measure", "--device", "simt"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = unwrapped(&String::from_utf8(output.stderr).unwrap());
    assert!(text.contains("the interpreter is the device that was requested"), "{text}");
}

/// Runs a command that must fail with exit code 2, and returns its error in one line.
fn refused(arguments: &[&str]) -> String {
    let output = ladder(arguments).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert!(!text.contains("panicked"), "{text}");
    let wide = text.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None, "{arguments:?}");
    unwrapped(&text)
}

/// The folder of `--out` is created before a GPU is opened or anything is measured.
#[test]
fn a_folder_that_cannot_be_created_is_rejected_first() {
    for command in ["measure", "sweep", "library", "exact", "rows"] {
        let text = refused(&[command, "--out", "/dev/null/folder"]);
        assert!(text.contains("making the folder /dev/null/folder"), "{command}: {text}");
    }
    for how in [&["--from", "cupti"][..], &["--read", "x.ncu"]] {
        let text = refused(&[&["counters", "--out", "/dev/null/folder/x.csv"], how].concat());
        assert!(text.contains("making the folder /dev/null/folder"), "{text}");
    }
}

#[test]
fn a_negative_number_is_rejected_as_a_number() {
    for arguments in [
        &["--samples", "-1"][..],
        &["measure", "--rounds", "-1"],
        &["measure", "--minutes", "-1"],
        &["measure", "--percent", "-1"],
        &["sweep", "--minutes", "-1"],
        &["sweep", "--n", "-1"],
        &["compare", "v2", "v3", "--seconds", "-1"],
        &["compare", "v2", "v3", "--n", "-1"],
        &["library", "--drawn", "-1"],
        &["exact", "--n", "-1"],
        &["rows", "--n", "-1"],
        &["rows", "--total", "-1"],
        &["rows", "--drawn", "-1"],
        &["zoo", "--runs", "-1"],
        &["accuracy", "--n", "-1"],
        &["compilers", "--n", "-1"],
        &["once", "v3", "--threads", "-64"],
    ] {
        let text = refused(arguments);
        assert!(!text.contains("unexpected argument"), "{arguments:?}: {text}");
    }
}

/// An option that would have no effect is rejected, or a note says that it has no effect.
#[test]
fn no_option_is_ignored() {
    let text = refused(&["--device", "simt", "--explain", "--n", "33", "--format", "json"]);
    assert!(text.contains("`--explain` prints text"), "{text}");
    let text = refused(&["--explain", "--n", "33", "--counters"]);
    assert!(text.contains("`--explain` runs nothing, but `--counters` shows a run"), "{text}");
    let small = ["--device", "simt", "--n", "33", "--check", "none"];
    let output = ladder(&[&small[..], &["--samples", "5"]].concat()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        text.trim(),
        "note: `--samples` has no effect in the interpreter, which measures no times"
    );
    let table = prints(&[&small[..], &["--threads", "64"]].concat());
    assert!(table.contains("v10-fixed-tree in 512"), "{table}");
    let help = prints(&["--help"]);
    for refused in ["--kernel", "--lines", "--trace", "--counters"] {
        assert!(!help.contains(&format!("      {refused}")), "{refused}: {help}");
    }
}

#[test]
fn only_regular_files_are_read() {
    for file in ["/dev/zero", "."] {
        let text = refused(&["counters", "--read", file, "--out", "target/x.csv"]);
        assert!(text.contains("regular file"), "{text}");
    }
    let text = refused(&["compare", "v3", "/dev/zero.cu", "--device", "simt", "--n", "33"]);
    assert!(text.contains("reading /dev/zero.cu"), "{text}");
}

/// The note is printed before the run. The test does not wait until the run ends.
#[test]
fn a_long_run_is_announced() {
    use std::io::{BufRead, BufReader};
    for arguments in [&["once", "v0", "--n", "2^26"][..], &["--n", "2^26"]] {
        let mut child = ladder(&[arguments, &["--device", "simt"]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(line.starts_with("note: 2^26 f32 in "), "{line}");
    }
}

#[test]
fn wrong_command_lines_are_rejected() {
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
fn help_begins_with_a_description() {
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
fn options_for_one_kernel_are_rejected_for_many() {
    for option in [&["--lines"][..], &["--counters"], &["--trace", "x.json"]] {
        let output =
            ladder(&[option, &["--device", "simt", "--n", "1"]].concat()).output().unwrap();
        let text = unwrapped(&String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(2));
        assert!(text.contains("`--lines`, `--counters` and `--trace` show one kernel"), "{text}");
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
fn a_closed_standard_output_does_not_panic() {
    for arguments in [&["counters"][..], &["--help"], &["measure", "--help"]] {
        let mut child =
            ladder(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!text.contains("panicked"), "{text}");
    }
}

/// Returns the output of a command that succeeds.
fn prints(arguments: &[&str]) -> String {
    let output = ladder(arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn tables_have_eighty_columns_at_most() {
    for arguments in [&["--n", "2^20", "--check", "none"][..], &["--help"], &["compare", "--help"]]
    {
        let text = prints(&[arguments, &["--device", "simt"][..]].concat());
        let wide = text.lines().find(|line| line.trim_end().chars().count() > 80);
        assert_eq!(wide, None, "{arguments:?}");
    }
}

#[test]
fn two_steps_are_counted_side_by_side_without_a_gpu() {
    let text = prints(&["compare", "v1", "v2", "--n", "1025", "--type", "i32"]);
    let of = |text: &str, row: &str| -> Vec<u64> {
        let row = text.lines().find(|line| line.trim_start().starts_with(row)).expect(row);
        row.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok()).collect()
    };
    let table = prints(&["--n", "1025", "--type", "i32", "--device", "simt"]);
    let [v1, v2] = ["v1-divergence", "v2-bank-conflicts"].map(|name| of(&table, name));
    assert_eq!(of(&text, "warp instructions"), [v1[0], v2[0]]);
    assert_eq!(of(&text, "bank conflicts"), [v1[2], v2[2]]);
    assert!(v1[2] > 0 && text.contains("verified") && !text.contains("shuffles"), "{text}");
    let refused = ladder(&["compare", "v3", "v3-first", "--device", "simt"]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("are both v3-first-add: name two"), "{said}");
}

#[test]
fn a_baseline_is_compared_with_changed_kernels() {
    let name = format!("test-{}", std::process::id());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/baselines").join(&name);
    let few = ["--n", "1000", "--device", "simt"];
    prints(&[&["--save-baseline", &name], &few[..]].concat());
    let again = [&["--baseline", &name], &few[..]].concat();
    assert_eq!(prints(&again), "", "nothing has changed");
    let told = |args: &[&str]| String::from_utf8(ladder(args).output().unwrap().stderr).unwrap();
    let same = told(&again);
    assert!(
        same.contains(&format!("14 of 14 kernels for f32 are the same as in {name}")),
        "{same}"
    );
    // The saved v3 is replaced with the current v2, which works because both plans pass the same
    // arguments.
    let [v2, v3] = ["v2-bank-conflicts.f32.ptx", "v3-first-add.f32.ptx"].map(|f| folder.join(f));
    let comment = format!("{}\n// Another day's.\n", std::fs::read_to_string(&v3).unwrap());
    std::fs::write(&v3, comment).unwrap();
    let text = prints(&again);
    let but_one = told(&again);
    assert!(
        but_one.contains(&format!("13 of 14 kernels for f32 are the same as in {name}")),
        "{but_one}"
    );
    assert!(text.contains(&format!("v3-first-add@{name}")) && text.contains("1.00x"), "{text}");
    // If either kernel is wrong, no counts are compared.
    std::fs::copy(v2, v3).unwrap();
    let wrong = ladder(&again).output().unwrap();
    let said = unwrapped(&String::from_utf8(wrong.stderr).unwrap());
    assert_eq!(wrong.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("v3-first-add@{name} is wrong")), "{said}");
    let other = ladder(&[&again[..], &["--type", "f64"]].concat()).output().unwrap();
    let said = unwrapped(&String::from_utf8(other.stderr).unwrap());
    assert!(said.contains("has no kernel of v0-naive for f64"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// The interpreter verifies and counts exact sums, which it cannot time.
#[test]
fn exact_sums_are_counted_without_a_gpu() {
    let small = ["exact", "--device", "simt", "--n", "33", "--data", "uniform,wide"];
    let table = prints(&[&small[..], &["--type", "f32,f64"]].concat());
    assert!(table.contains("f32, warp instructions") && table.contains("| wide"), "{table}");
    let text = refused(&[&small[..], &["--out", "folder"]].concat());
    assert!(text.contains("the interpreter measures no times to write"), "{text}");
    let text = refused(&["exact", "--device", "simt", "--n", "0"]);
    assert!(text.contains("nothing to add for zero elements"), "{text}");
}
