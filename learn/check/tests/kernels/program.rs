//! Tests the program through its command line.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use assert_cmd::prelude::*;

use crate::said::{compiler, reference};

/// Creates an empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn check(folder: &Path, words: &[&str]) -> Command {
    let mut check = Command::cargo_bin("check").unwrap();
    check.args(words).arg("--progress").arg(folder.join("progress.txt"));
    check
}

fn text(output: &Output) -> String {
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{output:?}");
    String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
}

/// Joins the lines, because a message with a long path is wrapped.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn hints_are_shown_in_order_and_recorded() {
    let folder = folder("hints");
    for hint in ["hint 1 of 3", "hint 2 of 3", "hint 3 of 3", "no more hints: you have seen all 3"]
    {
        let said = text(&check(&folder, &["3", "--hint"]).output().unwrap());
        assert!(said.contains(hint), "{said}");
    }
    let noted = fs::read_to_string(folder.join("progress.txt")).unwrap();
    assert!(noted.ends_with("\n 3 open, 3 hints\n"), "{noted}");
    let said = text(&check(&folder, &["--list"]).output().unwrap());
    assert!(said.contains(" 3  no bank conflicts             open, 3 hints"), "{said}");
    assert_eq!(said.lines().filter(|line| line.contains("open")).count(), 17);
}

#[test]
fn the_task_ends_with_the_budget() {
    let folder = folder("task");
    let said = text(&check(&folder, &["3", "--task"]).output().unwrap());
    assert!(said.contains("Add the elements so that no two lanes"), "{said}");
    let words = joined(&said);
    let budget =
        "it may have no shared conflicts, at most 60 shared accesses and at most 72 barriers.";
    assert!(words.ends_with(budget), "{said}");
    assert!(!said.contains("Hint"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let said = text(&check(&folder, &["--list"]).output().unwrap());
    assert!(said.contains(" 8  sixteen bytes per load"), "{said}");
}

#[test]
fn a_solution_is_shown_after_confirmation() {
    let folder = folder("show");
    for (answer, shown) in [("y\n", true), ("n\n", false), ("", false)] {
        let mut child = check(&folder, &["1", "--show"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
        let said = text(&child.wait_with_output().unwrap());
        assert!(said.starts_with("Show a solution to exercise 1"), "{said}");
        assert_eq!(said.contains("__syncthreads()"), shown, "{said}");
    }
}

#[test]
fn an_error_is_a_sentence_and_exit_code_2() {
    let folder = folder("refused");
    for (words, sentence) in [
        (&["18"][..], "error: there is no exercise 18: choose 1 to 17"),
        (&["0"], "error: there is no exercise 0"),
        (&["1", "--kernel", "nowhere.cu"], "error: nowhere.cu does not exist"),
        (&["1", "--compiler", "gcc"], "`gcc` is not a compiler: use nvrtc or clang"),
        (&["--list", "--show"], "cannot be used with"),
    ] {
        let output = check(&folder, words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output).contains(sentence), "{}", text(&output));
    }
}

#[test]
fn a_kernel_is_judged_and_an_endless_one_is_stopped() {
    let Some(_) = compiler() else { return };
    let folder = folder("judged");
    let file = folder.join("mine.cu");
    let judged = |source: &str| {
        fs::write(&file, source).unwrap();
        let started = Instant::now();
        let output =
            check(&folder, &["1", "--seed", "5"]).arg("--kernel").arg(&file).output().unwrap();
        (output.status.code(), text(&output), started.elapsed())
    };
    let (code, said, _) = judged(&reference(1));
    assert_eq!(code, Some(0), "{said}");
    // This is not the exercise's own file, so no progress is recorded, and no next exercise is
    // named.
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("passed (seed 5). Not recorded: "), "{said}");
    assert!(last.contains("exercises/01-tree/kernel.cu") && !said.contains("Next"), "{said}");
    assert!(!folder.join("progress.txt").exists());
    let (code, said, took) = judged(&reference(1).replace("s *= 2", "s *= 1"));
    assert_eq!(code, Some(1), "{said}");
    let words = joined(&said);
    assert!(words.contains("budget exhausted at line") && !words.contains("raise"), "{said}");
    assert!(took < Duration::from_secs(10), "{took:?}, but it takes 2 s on an idle machine");
    let (code, said, _) = judged("this is no kernel\n");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("mine.cu") && said.matches("error").count() == 1, "{said}");
    let (code, said, _) = judged("");
    assert!(code == Some(1) && said.contains("there is no kernel `reduce`"), "{said}");
}

#[test]
fn a_file_saved_by_rename_is_judged_again() {
    let Some(_) = compiler() else { return };
    let folder = folder("watch");
    let (file, other) = (folder.join("mine.cu"), folder.join("mine.cu~"));
    fs::write(&file, reference(1).replace("s *= 2", "s *= 4")).unwrap();
    let mut child = check(&folder, &["1", "--watch"])
        .arg("--kernel")
        .arg(&file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut until = |word: &str| lines.find(|line| line.contains(word));
    let first = until("not passed yet");
    // In vim and many other editors, a new file replaces the old one.
    fs::write(&other, reference(1)).unwrap();
    fs::rename(&other, &file).unwrap();
    let second = until("passed (seed");
    // Other editors remove the old file first.
    fs::rename(&file, &other).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    fs::write(&file, reference(1).replace("__syncthreads();\n    }", "}")).unwrap();
    let third = until("not passed yet");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        first.is_some() && second.is_some() && third.is_some(),
        "{first:?} {second:?} {third:?}"
    );
}

#[test]
fn a_negative_number_is_rejected_as_a_number() {
    let folder = folder("negative");
    for words in [&["-1"][..], &["1", "--seed", "-1"], &["--mutants", "-1"]] {
        let output = check(&folder, words).output().unwrap();
        let said = text(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("'-1'") && !said.contains("unexpected argument"), "{said}");
    }
}

#[test]
fn a_long_progress_is_not_read() {
    let path = folder("long").join("long.txt");
    fs::File::create(&path).unwrap().set_len((1 << 20) + 1).unwrap();
    let mut command = Command::cargo_bin("check").unwrap();
    let output = command.args(["--list", "--progress"]).arg(&path).output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(joined(&said).contains("larger than 1 MiB"), "{said}");
}

/// Reading a pipe would block, and reading a device would never end.
#[cfg(unix)]
#[test]
fn pipes_and_devices_are_refused() {
    let folder = folder("pipes");
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pipe = pipe.to_str().unwrap();
    let refused = |words: &[&str]| {
        let output = Command::cargo_bin("check").unwrap().args(words).output().unwrap();
        let said = text(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(joined(&said).contains("it is not a regular file"), "{said}");
    };
    for file in [pipe, "/dev/zero"] {
        refused(&["--list", "--progress", file]);
        if compiler().is_some() {
            refused(&["1", "--kernel", file]);
        }
    }
}

#[test]
fn every_0th_mutant_is_no_mutant() {
    let output = Command::cargo_bin("check").unwrap().args(["--mutants", "0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("give a whole number from 1"), "{output:?}");
}

#[test]
fn an_invalid_byte_loses_one_line_of_the_progress() {
    let folder = folder("bytes");
    fs::write(folder.join("progress.txt"), b"mine: \xff\n 3 passed, 2 hints\n 4 pas\xffsed\n")
        .unwrap();
    let said = text(&check(&folder, &["--list"]).output().unwrap());
    assert!(said.contains(" 3  no bank conflicts             passed, 2 hints"), "{said}");
    assert_eq!(said.matches("passed").count(), 1, "{said}");
}

/// The messages contain the arguments, so long arguments make long messages.
#[test]
fn usage_errors_exit_with_2_and_have_at_most_100_columns() {
    let folder = folder("usage");
    let long = "a file of many words ".repeat(12);
    for words in [
        &["99"][..],
        &["--seed", &long],
        &["--nosuch"],
        &[&long],
        &["3", "--kernel", &long],
        &["3", "--compiler", &long],
    ] {
        let output = check(&folder, words).output().unwrap();
        let said = text(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.lines().all(|line| line.chars().count() <= 100), "{words:?}:\n{said}");
    }
}
