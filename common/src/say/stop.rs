//! Ends a command because of an error, or because standard output is closed.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use crate::error::Error;

/// The reason why printing stopped.
#[derive(Debug)]
pub enum Stop {
    /// Standard output is closed, as in a pipe to `head -1`.
    Closed,
    /// A command failed with an error.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Stop::Closed,
            _ => Stop::Error(Error::File {
                doing: "writing to standard output".into(),
                source: error,
            }),
        }
    }
}

/// Prints an error and returns the exit code. A closed pipe is not an error.
pub fn exit(result: Result<(), Stop>) -> ExitCode {
    match result {
        Ok(()) | Err(Stop::Closed) => ExitCode::SUCCESS,
        Err(Stop::Error(error)) => {
            let text = numbers::wrapped(&format!("error: {error}"), columns());
            let _ = writeln!(anstream::stderr(), "{text}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Returns the width of messages: the number of columns of the terminal, but at most 100. If
/// standard error is not a terminal, the width is 100.
pub fn columns() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stderr());
    terminal.map_or(100, |(terminal_size::Width(columns), _)| usize::from(columns).clamp(40, 100))
}
