//! The program itself: real processes, ranks that are killed, and launchers that disagree.
#![cfg(unix)]

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

/// The program, by interpreters, with no launcher's variables but these.
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

fn says(output: &Output) -> String {
    assert!(!output.status.success(), "{}", text(&output.stdout));
    text(&output.stderr)
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
        assert!(said.contains(&bits) && said.contains("one alone has the same bits"), "{said}");
    }
}

/// Rank 1 of two, by interpreters, stopped at a point; and its process.
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
    // What is said later is read, so that nobody waits to say it.
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
fn a_rank_that_is_killed_is_named_and_nobody_hangs() {
    for point in ["before", "during", "after"] {
        let (all, pid) = held(point);
        let start = Instant::now();
        signal(pid, "-KILL");
        let output = all.wait_with_output().unwrap();
        let (said, took) = (text(&output.stderr), start.elapsed());
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

/// Whoever started the ranks is killed: they end too.
#[test]
fn nothing_is_left_behind() {
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
fn launchers_that_do_not_fit_have_a_sentence() {
    let says = |environment: &[(&str, &str)]| says(&many(&PLAYED, environment).output().unwrap());
    let error = says(&[("RANK", "0")]);
    assert_eq!(
        error,
        "many: RANK is set and WORLD_SIZE is not: start all ranks with one launcher\n"
    );
    let error = says(&[("RANK", "2"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "127.0.0.1")]);
    assert_eq!(error, "many: RANK is 2, but WORLD_SIZE is 2: ranks are 0 to 1\n");
    let two = [
        ("RANK", "0"),
        ("WORLD_SIZE", "2"),
        ("SLURM_PROCID", "1"),
        ("SLURM_NTASKS", "2"),
        ("MASTER_ADDR", "h"),
    ];
    assert!(says(&two).contains("name one with --launcher"));
    // What the launcher has decided is not asked for otherwise.
    let environment =
        [("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "9")];
    let asked = |extra: &[&str]| {
        crate::says(&many(&[&PLAYED[..], extra].concat(), &environment).output().unwrap())
    };
    assert_eq!(
        asked(&["--gpus", "3"]),
        "many: --gpus asks for 3 ranks, and a launcher has started 2: leave --gpus away, or start 3\n"
    );
    assert_eq!(
        asked(&["--one-process"]),
        "many: --one-process wants all ranks in one process, and a launcher has started 2: start it without the launcher\n"
    );
}

/// What no rank could do is said by the one that would have started them, once.
#[test]
fn a_sentence_is_said_once() {
    let error = says(&run(&[&PLAYED[..], &["--gpus", "3", "--lengths", "1,2"]].concat()));
    assert_eq!(error, "many: --lengths has 2 of them, and there are 3 ranks\n");
}

/// A port that is taken: by whoever listens there, and says nothing of ours.
#[test]
fn a_port_that_is_taken() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let start = Instant::now();
    let (taken, port) = (format!("port {port} is taken: choose --port"), port.to_string());
    let error =
        says(&run(&[&PLAYED[..], &["--port", &port, "-n", "60k", "--timeout", "5"]].concat()));
    assert!(error.contains(&taken), "{error}");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// As torchrun starts them: two processes that find each other by their environment.
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
        let mut command =
            many(&[&PLAYED[..], &["-n", "60k", "--timeout", "20"], extra].concat(), &environment);
        std::thread::spawn(move || command.output().unwrap())
    };
    let (one, zero) = (rank("1", &[]), rank("0", &[]));
    assert!(text(&zero.join().unwrap().stdout).contains("one alone has the same bits"));
    assert!(one.join().unwrap().status.success());
    // The same two, of which one wants something else.
    let (one, zero) = (rank("1", &["--type", "f64"]), rank("0", &[]));
    for output in [one.join().unwrap(), zero.join().unwrap()] {
        assert!(says(&output).contains("rank 0 adds f32, rank 1 f64"));
    }
    let (one, zero) = (rank("1", &["--lengths", "30k,20k"]), rank("0", &[]));
    for output in [one.join().unwrap(), zero.join().unwrap()] {
        let error = says(&output);
        assert!(error.contains("start all ranks with the same --elements or --lengths"), "{error}");
    }
}

#[test]
fn what_cannot_be_has_a_sentence() {
    let cases: [(&[&str], &str); 12] = [
        (
            &["sum", "--device", "simt", "--gpus", "2", "--exchange", "kernel"],
            "--exchange kernel wants all ranks in one process: ask for --one-process too",
        ),
        (&["sum", "--device", "simt", "--port", "0"], "0 is not in 1..=65535"),
        (&["sum", "--device", "simt", "--repeat", "0"], "0 is not in 1.."),
        (
            &["sum", "--device", "simt", "--bind", "192.0.2.1", "-n", "10"],
            "name an address of this machine with --bind",
        ),
        (&["sum", "--device", "simt", "--bind", "here"], "invalid IP address"),
        (
            &["sum", "--device", "simt", "--launcher", "srun"],
            "--launcher names one that has not set SLURM_PROCID",
        ),
        (&["sum", "--device", "simt", "--gpus", "0"], "0 ranks: there are 1 to 1024"),
        (&["sum", "--device", "simt", "--gpus", "2000"], "2000 ranks: there are 1 to 1024"),
        (
            &["sum", "--device", "simt", "--one-process", "--gpus", "2", "--lengths", "1"],
            "--lengths has 1 of them, and there are 2 ranks",
        ),
        (&["sum", "--device", "simt", "-n", "2^63", "--one-process"], "are more than the"),
        (&["model", "/nowhere.csv"], "cannot read /nowhere.csv"),
        (&["model", "/dev/null"], "has no gated times of two GPUs"),
    ];
    for (arguments, expected) in cases {
        let error = says(&run(arguments));
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}
