//! Tests the program itself, with real processes, killed ranks and contradictory launchers.
#![cfg(unix)]

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

/// Returns a command that runs the program with these launcher variables and no others.
fn many(arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_many"));
    command.args(arguments);
    let launchers = ["RANK", "SLURM_", "OMPI_", "PMI_", "WORLD_SIZE", "LOCAL_", "MASTER_", "MANY_"];
    for (name, _) in std::env::vars() {
        if launchers.iter().any(|start| name.starts_with(start)) {
            command.env_remove(name);
        }
    }
    command.envs(environment.iter().copied()).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    many(arguments, &[]).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the error message of a program that fails without a result, with its line breaks
/// removed.
fn says(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    let wide = said.lines().find(|line| line.chars().count() > 100 && line.trim().contains(' '));
    assert_eq!(wide, None, "more than 100 columns");
    // The library's functions are no help to somebody who types a command.
    assert!(!said.contains("reduce::host"), "{said}");
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

const PLAYED: [&str; 3] = ["sum", "--device", "simt"];

#[test]
fn every_way_to_start_has_the_same_bits() {
    let one =
        text(&run(&[&PLAYED[..], &["--one-process", "--gpus", "1", "-n", "100k"]].concat()).stdout);
    let bits = one.split_once("(bits ").unwrap().1.split(')').next().unwrap().to_owned();
    let ways: [&[&str]; 5] = [
        &["--one-process", "--gpus", "3", "-n", "100k"],
        &["--one-process", "--gpus", "3", "-n", "100k", "--exchange", "kernel", "--repeat", "2"],
        &["--gpus", "3", "-n", "100k", "--repeat", "2"],
        &["--gpus", "3", "--lengths", "10,49990,50k"],
        &["--one-process", "--gpus", "3", "--lengths", "0,99999,1"],
    ];
    for way in ways {
        let output = run(&[&PLAYED[..], way].concat());
        let said = text(&output.stdout);
        assert!(output.status.success(), "{way:?}: {}", text(&output.stderr));
        assert!(
            said.contains(&bits) && said.contains("the sum on one device has the same bits"),
            "{said}"
        );
    }
}

/// Starts two ranks on interpreters, of which rank 1 stops at `point`. Returns the launching
/// process and the process id of rank 1.
fn held(point: &str) -> (Child, u32) {
    let hold = format!("{point}:1");
    let arguments =
        [&PLAYED[..], &["--gpus", "2", "-n", "60k", "--repeat", "3", "--hold", &hold]].concat();
    let mut all =
        many(&arguments, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(all.stdout.take().unwrap()).lines();
    let line = loop {
        let line = lines.next().expect("the rank says that it holds").unwrap();
        if line.starts_with("holding") {
            break line;
        }
    };
    // The rest of the output is read too, so that no rank blocks on a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    (all, line.rsplit(' ').next().unwrap().parse().unwrap())
}

fn signal(pid: u32, name: &str) {
    let done = Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
    assert!(done.success());
}

fn lives(pid: u32) -> bool {
    Command::new("kill")
        .args(["-0", &pid.to_string()])
        .stderr(Stdio::null())
        .status()
        .unwrap()
        .success()
}

#[test]
fn a_killed_rank_is_named_and_no_rank_hangs() {
    for point in ["before", "during", "after"] {
        let (all, pid) = held(point);
        let start = Instant::now();
        signal(pid, "-KILL");
        let output = all.wait_with_output().unwrap();
        let said = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        let took = start.elapsed();
        assert!(!output.status.success(), "{point}");
        if point == "after" {
            assert!(said.contains("rank 1 ended with signal: 9"), "{point}: {said}");
        } else {
            let named = format!("pid {pid}) is gone; the sum was aborted");
            assert!(said.contains("rank 1 (") && said.contains(&named), "{point}: {said}");
        }
        assert!(took < Duration::from_secs(5), "{point}: {took:?}");
    }
}

/// Checks that the ranks end if the process that started them is killed.
#[test]
fn no_rank_is_left_behind() {
    let (mut all, pid) = held("before");
    all.kill().unwrap();
    all.wait().unwrap();
    let start = Instant::now();
    while lives(pid) {
        assert!(start.elapsed() < Duration::from_secs(10), "process {pid} is left");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn contradictory_launchers_are_errors() {
    let says = |environment: &[(&str, &str)]| says(&many(&PLAYED, environment).output().unwrap());
    let error = says(&[("RANK", "0")]);
    assert_eq!(error, "many: RANK is set and WORLD_SIZE is not: start all ranks with one launcher");
    let error = says(&[("RANK", "2"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "127.0.0.1")]);
    assert_eq!(error, "many: RANK is 2, but WORLD_SIZE is 2: ranks are 0 to 1");
    let error = says(&[("RANK", "0"), ("WORLD_SIZE", "0")]);
    assert_eq!(error, "many: WORLD_SIZE is 0: the number of ranks must be at least 1");
    let two = [
        ("RANK", "0"),
        ("WORLD_SIZE", "2"),
        ("SLURM_PROCID", "1"),
        ("SLURM_NTASKS", "2"),
        ("MASTER_ADDR", "h"),
    ];
    assert!(says(&two).contains("choose one with --launcher"));
    // Options that contradict the launcher are rejected.
    let environment =
        [("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "9")];
    let asked = |extra: &[&str]| {
        crate::says(&many(&[&PLAYED[..], extra].concat(), &environment).output().unwrap())
    };
    assert_eq!(
        asked(&["--gpus", "3"]),
        "many: --gpus asks for 3 ranks, but a launcher has started 2: omit --gpus, or start 3"
    );
    assert_eq!(
        asked(&["--one-process"]),
        "many: --one-process needs all ranks in one process, but a launcher has started 2: start the program without the launcher"
    );
}

/// Checks that an error that every rank would report is reported once, by the process that would
/// have started the ranks.
#[test]
fn a_common_error_is_reported_once() {
    let error = says(&run(&[&PLAYED[..], &["--gpus", "3", "--lengths", "1,2"]].concat()));
    assert_eq!(
        error,
        "many: --lengths has 2 lengths, but there are 3 ranks: give one length for each rank, or use --gpus 2"
    );
}

/// Checks that the reason is printed once if all ranks fail for the same reason.
#[test]
fn a_common_message_of_all_ranks_is_printed_once() {
    let arguments = ["--gpus", "20", "-n", "60k", "--timeout", "2", "--bind", "192.0.2.1"];
    let error = says(&run(&[&PLAYED[..], &arguments].concat()));
    let lines = error.matches("many: ").count();
    assert!(lines < 8, "{lines} messages: {error}");
}

/// Checks that a long run is announced before it begins. The test does not wait for its end.
#[test]
fn a_long_run_is_announced() {
    let arguments = ["sum", "--device", "simt", "-n", "2^27", "--one-process"];
    let mut child = many(&arguments, &[]).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with("note: interpreters need about 34 seconds and "), "{line}");
}

/// Checks that lengths have the same notation as for the steps.
#[test]
fn a_length_is_a_sum_of_products() {
    let said = |n| text(&run(&[&PLAYED[..], &["--one-process", "-n", n]].concat()).stdout);
    assert_eq!(said("3*2^10+7"), said("3079"));
    assert!(said("3*2^10+7").contains("3079 f32"));
}

/// Checks the error if the port is in use by another program, which sends nothing.
#[test]
fn a_port_in_use() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let start = Instant::now();
    let (taken, port) =
        (format!("port {port} is in use: choose another with --port"), port.to_string());
    let error =
        says(&run(&[&PLAYED[..], &["--port", &port, "-n", "60k", "--timeout", "2"]].concat()));
    assert!(error.contains(&taken), "{error}");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// Checks that two processes that are started in the same way as by torchrun find each other
/// through their environment.
#[test]
fn ranks_of_a_launcher() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let master = (port - 1).to_string();
    let rank = |rank: &'static str, extra: &'static [&'static str]| {
        let environment = [
            ("RANK", rank),
            ("WORLD_SIZE", "2"),
            ("LOCAL_RANK", rank),
            ("MASTER_ADDR", "127.0.0.1"),
            ("MASTER_PORT", &master),
            ("TORCHELASTIC_RUN_ID", "none"),
        ];
        // If `--lengths` is passed, no total is passed.
        let total: &[&str] = if extra.contains(&"--lengths") { &[] } else { &["-n", "60k"] };
        let arguments = [&PLAYED[..], total, &["--timeout", "20"], extra].concat();
        let mut command = many(&arguments, &environment);
        std::thread::spawn(move || command.output().unwrap())
    };
    let (one, zero) = (rank("1", &[]), rank("0", &[]));
    assert!(text(&zero.join().unwrap().stdout).contains("the sum on one device has the same bits"));
    assert!(one.join().unwrap().status.success());
    // Starts ranks whose element types differ.
    let (one, zero) = (rank("1", &["--type", "f64"]), rank("0", &[]));
    for output in [one.join().unwrap(), zero.join().unwrap()] {
        assert!(says(&output).contains("rank 0 has elements of type f32, but rank 1 has f64"));
    }
    let (one, zero) = (rank("1", &["--lengths", "30k,20k"]), rank("0", &[]));
    for output in [one.join().unwrap(), zero.join().unwrap()] {
        let error = says(&output);
        assert!(error.contains("start all ranks with the same --elements or --lengths"), "{error}");
    }
}

#[test]
fn impossible_options_are_errors() {
    let cases: [(&[&str], &str); 19] = [
        (
            &["sum", "--device", "simt", "--gpus", "2", "--exchange", "kernel"],
            "--exchange kernel needs all ranks in one process: add --one-process",
        ),
        (&["sum", "--device", "simt", "--port", "0"], "0 is not in 1..=65535"),
        (&["sum", "--device", "simt", "--repeat", "0"], "0 is not in 1.."),
        (
            &["sum", "--device", "simt", "--bind", "192.0.2.1", "-n", "10", "--timeout", "2"],
            "name an address of this machine with --bind",
        ),
        (&["sum", "--device", "simt", "--bind", "here"], "invalid IP address"),
        (
            &["sum", "--device", "simt", "--launcher", "srun"],
            "--launcher names a launcher that has not set SLURM_PROCID",
        ),
        (&["sum", "--device", "simt", "--gpus", "0"], "0 ranks: use 1 to 1024"),
        (&["sum", "--device", "simt", "--gpus", "2000"], "2000 ranks: use 1 to 1024"),
        (
            &["sum", "--device", "simt", "--one-process", "--gpus", "2", "--lengths", "1"],
            "--lengths has 1 length, but there are 2 ranks",
        ),
        (&["sum", "--device", "simt", "-n", "2^63", "--one-process"], "the maximum is 2^48"),
        (&["sum", "--device", "simt", "-n", "2^44"], "bytes of memory, but"),
        (&["sum", "--device", "simt", "-n", "2^44", "--one-process"], "bytes of memory, but"),
        (&["sum", "--device", "simt", "--gpus", "1000"], "use --one-process"),
        (&["sum", "--lengths", "5,6", "-n", "1000"], "cannot be used with"),
        (&["sum", "--gpus", "-1"], "invalid value '-1'"),
        (&["measure", "-n", "5", "--csv", "/dev/null/x.csv"], "making the folder /dev/null"),
        (&["model", "/nowhere.csv"], "reading /nowhere.csv"),
        (&["model", "/dev/null"], "is not a regular file"),
        (&["model", "/dev/zero"], "is not a regular file"),
    ];
    for (arguments, expected) in cases {
        let error = says(&run(arguments));
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}
