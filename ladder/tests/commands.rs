//! The ladder's commands on a machine without a GPU: a sentence each, and an exit code.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use assert_cmd::prelude::*;

fn ladder(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("ladder").unwrap();
    // An empty list hides every GPU, also where there is one.
    command.args(arguments).env("CUDA_VISIBLE_DEVICES", "").env_remove("REDUCE_DEVICE");
    command
}

#[test]
fn without_a_gpu_it_says_so_in_one_sentence() {
    for command in [
        &["measure"][..],
        &["compare", "v2", "v3", "--device", "cuda"],
        &["sweep"],
        &["--baseline", "x", "--device", "cuda", "--type", "i32"],
    ] {
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
    for option in [&["--lines"][..], &["--counters"], &["--trace", "x.json"]] {
        let output =
            ladder(&[option, &["--device", "simt", "--n", "1"]].concat()).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
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

/// What a command prints that ends well.
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
fn two_steps_are_counted_beside_each_other_without_a_gpu() {
    let text = prints(&["compare", "v1", "v2", "--n", "1025", "--type", "i32"]);
    let of = |text: &str, row: &str| -> Vec<u64> {
        let row = text.lines().find(|line| line.trim_start().starts_with(row)).expect(row);
        row.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok()).collect()
    };
    let table = prints(&["--n", "1025", "--type", "i32", "--device", "simt"]);
    let [v1, v2] = ["v1-divergence", "v2-bank-conflicts"].map(|name| of(&table, name));
    assert_eq!(of(&text, "instructions"), [v1[0], v2[0]]);
    assert_eq!(of(&text, "bank conflicts"), [v1[2], v2[2]]);
    assert!(v1[2] > 0 && text.contains("verified") && !text.contains("shuffles"), "{text}");
    let refused = ladder(&["compare", "v3", "v3-first", "--device", "simt"]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("are both v3-first-add: name two"), "{said}");
}

#[test]
fn a_baseline_is_compared_with_what_has_changed_since() {
    let name = format!("test-{}", std::process::id());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/baselines").join(&name);
    let few = ["--n", "1000", "--device", "simt"];
    prints(&[&["--save-baseline", &name], &few[..]].concat());
    let again = [&["--baseline", &name], &few[..]].concat();
    assert_eq!(prints(&again), "", "nothing has changed");
    let told = |args: &[&str]| String::from_utf8(ladder(args).output().unwrap().stderr).unwrap();
    let same = told(&again);
    assert!(same.contains(&format!("13 of 13 kernels for f32 are those of {name}")), "{same}");
    // Yesterday's v3 is v2 today: the plans pass the same arguments.
    let [v2, v3] = ["v2-bank-conflicts.f32.ptx", "v3-first-add.f32.ptx"].map(|f| folder.join(f));
    let comment = format!("{}\n// Another day's.\n", std::fs::read_to_string(&v3).unwrap());
    std::fs::write(&v3, comment).unwrap();
    let text = prints(&again);
    let but_one = told(&again);
    assert!(
        but_one.contains(&format!("12 of 13 kernels for f32 are those of {name}")),
        "{but_one}"
    );
    assert!(text.contains(&format!("v3-first-add@{name}")) && text.contains("1.00x"), "{text}");
    // A kernel that is wrong today, or was, has no counts that anyone should compare.
    std::fs::copy(v2, v3).unwrap();
    let wrong = ladder(&again).output().unwrap();
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert_eq!(wrong.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("v3-first-add@{name} is wrong")), "{said}");
    let other = ladder(&[&again[..], &["--type", "f64"]].concat()).output().unwrap();
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(said.contains("has no kernel of v0-naive for f64"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}
