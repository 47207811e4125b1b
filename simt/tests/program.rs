//! The program, as a reader calls it.

use std::process::Command;

/// A program of another architecture is started by the emulator that this names.
fn program() -> Command {
    let runner = std::env::var("REDUCE_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace().chain([env!("CARGO_BIN_EXE_simt")]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    command
}

/// What it prints, on standard output and error, and whether it succeeds.
fn simt(args: &[&str]) -> (String, String, bool) {
    let out = program().args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&out.stdout), text(&out.stderr), out.status.success())
}

fn fixture(name: &str) -> String {
    format!("{}/tests/faults/{name}.ptx", env!("CARGO_MANIFEST_DIR"))
}

const ARGS: [&str; 6] =
    ["--arg", "buf:f32:256:ones", "--arg", "out:f32:256:zeros", "--arg", "u64:32"];

fn run(name: &str, more: &[&str]) -> (String, String, bool) {
    let file = fixture(name);
    let room = if more.contains(&"--shared") { &[][..] } else { &["--shared", "1024"] };
    let args = [&["run", &file][..], &ARGS, room, more].concat();
    simt(&args)
}

/// A wrong result has its hint, unasked; asked for, it is a failure.
#[test]
fn a_shuffle_from_nowhere_is_hinted_at() {
    let (out, error, fine) = run("absent_lane", &[]);
    assert!(fine && out.starts_with("out: "), "{out}{error}");
    assert!(error.starts_with("hint: thread 15 at line 6: a shuffle from a lane"), "{error}");
    let (out, error, fine) = run("absent_lane", &["--check", "sync"]);
    assert!(!fine && error.is_empty(), "{error}");
    assert!(out.starts_with("thread 15 at line 6: a shuffle from a lane"), "{out}");
}

#[test]
fn what_threads_print_comes_first() {
    let (out, error, fine) = run("says", &["--block", "2"]);
    assert!(fine, "{error}");
    assert!(out.starts_with("block 0, thread 0: 0: in = 1.000000 of 32 in all\n"), "{out}");
}

#[test]
fn a_loop_without_end_is_stopped_when_asked() {
    let (_, error, fine) = run("endless", &["--patience", "0.2", "--block", "64"]);
    assert!(!fine && error.contains("no block has ended for 200 ms"), "{error}");
    let (_, error, fine) = run("endless", &["--patience", "-1"]);
    assert!(!fine && error.contains("give a number of seconds"), "{error}");
}

#[test]
fn a_gpu_is_played() {
    let (_, error, fine) = run("two_arrays", &["--gpu", "sm_86", "--shared", "200000"]);
    assert!(!fine && error.contains("and sm_86 allows 101376"), "{error}");
    let (_, error, fine) = run("two_arrays", &["--gpu", "sm_5"]);
    assert!(!fine && error.contains("no GPU `sm_5` can be played: choose sm_70"), "{error}");
    // Text for a newer GPU plays that one.
    let file = format!("{}/tests/corpus/ptx/wide.int.13.5.120.ptx", env!("CARGO_MANIFEST_DIR"));
    let (_, error, _) = simt(&["run", &file]);
    assert!(error.contains("parameter"), "{error}");
}

#[test]
fn what_cannot_be_run_is_listed_entry_by_entry() {
    let (out, _, fine) = simt(&["check", &fixture("heap")]);
    assert!(!fine);
    assert!(out.starts_with("fine: can be run; "), "{out}");
    assert!(out.contains("heap.ptx:46:2: the call of `malloc` at source line 3"), "{out}");
    let (_, error, fine) = simt(&["run", &fixture("heap"), "--entry", "reduce"]);
    assert!(!fine && error.contains("entry `reduce` cannot be run"), "{error}");
}

/// Nowhere to write to is a failure, and a file that never ends is none to read whole.
#[cfg(target_os = "linux")]
#[test]
fn files_without_end_or_room_are_refused() {
    let full = std::fs::File::create("/dev/full").unwrap();
    let out = program().args(["check", &fixture("says")]).stdout(full).output().unwrap();
    assert!(!out.status.success());
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(error.starts_with("error: writing the result: "), "{error}");
    let (_, error, fine) = simt(&["run", &fixture("says"), "--arg", "buf:f32:10:/dev/zero"]);
    assert!(!fine && error.contains("/dev/zero has more bytes than the buffer"), "{error}");
}
