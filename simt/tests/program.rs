//! Tests the program through its command line.

use std::process::Command;

/// Returns a command for the program. If the program is built for another architecture, the
/// variable `REDUCE_RUNNER` names the emulator that runs it.
fn program() -> Command {
    let runner = std::env::var("REDUCE_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace().chain([env!("CARGO_BIN_EXE_simt")]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    command
}

/// Returns standard output, standard error, and whether the program succeeded.
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

/// A wrong result comes with a hint. If the check is on, the run fails.
#[test]
fn a_shuffle_from_an_inactive_lane_gets_a_hint() {
    let (out, error, fine) = run("absent_lane", &[]);
    assert!(fine && out.starts_with("out: "), "{out}{error}");
    let words = "thread 15 stores at line 6 a value of the shuffle at the same line, but the source \
                 lane does not take part";
    assert!(error.starts_with(&format!("hint: {words}")), "{error}");
    let (out, error, fine) = run("absent_lane", &["--check", "sync"]);
    assert!(!fine && error.is_empty(), "{error}");
    assert!(out.starts_with(words), "{out}");
}

#[test]
fn the_output_of_threads_comes_first() {
    let (out, error, fine) = run("says", &["--block", "2"]);
    assert!(fine, "{error}");
    assert!(out.starts_with("block 0, thread 0: 0: in = 1.000000 of 32 in all\n"), "{out}");
}

#[test]
fn an_endless_loop_is_stopped_on_request() {
    let (_, error, fine) = run("endless", &["--patience", "0.2", "--block", "64"]);
    assert!(!fine && error.contains("no block has finished in the last 200 ms"), "{error}");
    let (_, error, fine) = run("endless", &["--patience", "-1"]);
    assert!(!fine && error.contains("the number of seconds must be"), "{error}");
}

#[test]
fn a_gpu_is_simulated() {
    let (_, error, fine) = run("two_arrays", &["--gpu", "sm_86", "--shared", "200000"]);
    assert!(!fine && error.contains("but sm_86 allows 101376"), "{error}");
    let (_, error, fine) = run("two_arrays", &["--gpu", "sm_5"]);
    assert!(!fine && error.contains("cannot simulate the GPU `sm_5`: choose sm_70"), "{error}");
    // PTX for a newer GPU selects that GPU.
    let file = format!("{}/tests/corpus/ptx/wide.int.13.5.120.ptx", env!("CARGO_MANIFEST_DIR"));
    let (_, error, _) = simt(&["run", &file]);
    assert!(error.contains("parameter"), "{error}");
}

#[test]
fn unsupported_features_are_listed_by_entry() {
    let (out, _, fine) = simt(&["check", &fixture("heap")]);
    assert!(!fine);
    assert!(out.starts_with("fine: can be run; "), "{out}");
    assert!(out.contains("heap.ptx:46:2: the call to `malloc` at source line 3"), "{out}");
    let (_, error, fine) = simt(&["run", &fixture("heap"), "--entry", "reduce"]);
    assert!(!fine && error.contains("entry `reduce` cannot be run"), "{error}");
}

/// A write to a full output device is a failure.
#[cfg(target_os = "linux")]
#[test]
fn full_outputs_are_a_failure() {
    let full = std::fs::File::create("/dev/full").unwrap();
    let out = program().args(["check", &fixture("says")]).stdout(full).output().unwrap();
    assert!(!out.status.success());
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(error.starts_with("error: cannot write the result: "), "{error}");
}

/// Pipes and devices are refused, because a read from a pipe may block, and a device may have no
/// end.
#[cfg(unix)]
#[test]
fn pipes_and_devices_are_refused() {
    let pipe = std::env::temp_dir().join(format!("simt-pipe-{}", std::process::id()));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for file in [pipe.to_str().unwrap(), "/dev/zero"] {
        let (_, error, fine) = simt(&["check", file]);
        assert!(!fine && error.contains("it is not a regular file"), "{error}");
        let arg = format!("buf:f32:4:{file}");
        let (_, error, fine) = simt(&["run", &fixture("says"), "--arg", &arg]);
        assert!(!fine && error.contains("it is not a regular file"), "{error}");
    }
    std::fs::remove_file(pipe).unwrap();
}

#[test]
fn errors_have_at_most_100_columns() {
    for words in [&["--shared", "4294967295"][..], &["--schedule", "x"], &["--cluster", "3"]] {
        let (_, error, fine) = simt(&[&["run", &fixture("says")], words].concat());
        assert!(!fine && error.lines().all(|line| line.chars().count() <= 100), "{error}");
        assert!(error.lines().count() > 1, "{error}");
    }
}

#[test]
fn a_negative_number_is_rejected_as_a_number() {
    for option in ["--grid", "--block", "--cluster", "--shared"] {
        let (_, error, fine) = simt(&["run", &fixture("says"), option, "-1"]);
        assert!(!fine && error.contains("'-1'") && error.contains(option), "{error}");
        assert!(!error.contains("unexpected argument"), "{error}");
    }
}
