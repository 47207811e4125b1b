//! A program that is given a time, and no longer.

use std::{
    io::{self, Read, Write},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The most that is read of what it says.
const MOST: u64 = 1 << 24;
/// The most memory that it is given, in kB.
const MEMORY: u64 = 1 << 22;

/// What a program says to its input; nothing, if it has not ended in time.
pub(super) fn run(
    command: &mut Command,
    input: Vec<u8>,
    limit: Duration,
) -> io::Result<Option<Vec<u8>>> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    // Who ends before it has read all says so by what it answers.
    thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
    let said = thread::spawn(move || {
        let mut said = Vec::new();
        stdout.map_or(Ok(0), |stdout| stdout.take(MOST).read_to_end(&mut said)).map(|_| said)
    });
    let end = Instant::now() + limit;
    // What it says ends when it does.
    while !said.is_finished() && Instant::now() < end {
        thread::sleep(Duration::from_millis(2));
    }
    let in_time = said.is_finished();
    // One that has ended cannot be, and nobody minds.
    let _ = child.kill();
    child.wait()?;
    if !in_time {
        return Ok(None);
    }
    said.join().unwrap_or_else(|_| Ok(Vec::new())).map(Some)
}

/// A program that also gives up by itself: whoever it has started in its turn is out of reach when it is
/// ended, and has the same limit of seconds on a processor. Where the system can, memory is limited too.
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
    fn what_ends_is_heard_and_what_does_not_is_ended() {
        assert_eq!(shell("cat; echo .", 20_000).as_deref(), Some("there and back.\n"));
        assert_eq!(shell("exit 1", 20_000).as_deref(), Some(""));
        let began = Instant::now();
        assert_eq!(shell("while :; do :; done", 300), None);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn a_limit_is_handed_on() {
        let mut program = program("sh".as_ref(), "-c", Duration::from_secs(7));
        let said = run(program.arg("sh -c 'ulimit -t'"), Vec::new(), Duration::from_secs(20));
        assert_eq!(said.unwrap().unwrap(), b"7\n");
    }
}
