//! Runs a program with a time limit.

use std::{
    io::{self, Read, Write},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The maximum size of the output that is read, in bytes.
const MOST: u64 = 1 << 24;
/// The memory limit, in units of 1024 bytes.
const MEMORY: u64 = 1 << 22;

/// Returns the program's output for its input; `None` if the program has not ended in time.
pub(super) fn run(
    command: &mut Command,
    input: Vec<u8>,
    limit: Duration,
) -> io::Result<Option<Vec<u8>>> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    // If the program stops reading early, its output contains the reason.
    thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
    let said = thread::spawn(move || {
        let mut said = Vec::new();
        stdout.map_or(Ok(0), |stdout| stdout.take(MOST).read_to_end(&mut said)).map(|_| said)
    });
    let end = Instant::now() + limit;
    // The output ends when the program ends.
    while !said.is_finished() && Instant::now() < end {
        thread::sleep(Duration::from_millis(2));
    }
    let in_time = said.is_finished();
    // Killing a program that has already ended fails, which is harmless.
    let _ = child.kill();
    child.wait()?;
    if !in_time {
        return Ok(None);
    }
    said.join().unwrap_or_else(|_| Ok(Vec::new())).map(Some)
}

/// Returns a command with resource limits. If the command is killed, its child processes survive,
/// but have the same limit on CPU seconds. Memory is limited too, if the system supports it.
pub(super) fn program(path: &std::path::Path, word: &str, limit: Duration) -> Command {
    if cfg!(unix) {
        let mut shell = Command::new("sh");
        let limit = format!(
            "ulimit -t {}; ulimit -v {MEMORY} 2>/dev/null; exec \"$0\" \"$@\"",
            limit.as_secs().max(1)
        );
        shell.args(["-c", &limit]).arg(path).arg(word);
        shell
    } else {
        let mut program = Command::new(path);
        program.arg(word);
        program
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limit: u64) -> Option<String> {
        let mut command = Command::new("sh");
        let said = run(
            command.args(["-c", script]),
            b"there and back".to_vec(),
            Duration::from_millis(limit),
        );
        said.unwrap().map(|said| String::from_utf8(said).unwrap())
    }

    #[test]
    fn a_program_without_an_end_is_killed() {
        assert_eq!(shell("cat; echo .", 20_000).as_deref(), Some("there and back.\n"));
        assert_eq!(shell("exit 1", 20_000).as_deref(), Some(""));
        let began = Instant::now();
        assert_eq!(shell("while :; do :; done", 300), None);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn a_limit_is_inherited() {
        let mut program = program("sh".as_ref(), "-c", Duration::from_secs(7));
        let said = run(program.arg("sh -c 'ulimit -t'"), Vec::new(), Duration::from_secs(20));
        assert_eq!(said.unwrap().unwrap(), b"7\n");
    }
}
