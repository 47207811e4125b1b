//! Prints errors on standard error, and returns the exit codes.

use std::{
    fmt,
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

/// An error in the command line that clap does not detect, such as the name of an unknown step.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Prints an error about the command line, or the requested help.
pub fn refused(error: &clap::Error) -> ExitCode {
    match error.use_stderr() && !io::stderr().is_terminal() {
        true => note(error.to_string().trim_end()),
        // A terminal shows clap's colours, and wraps the lines.
        false => drop(error.print()),
    }
    ExitCode::from(error.exit_code() as u8)
}

/// Prints an error. Returns 2 if the error is in the command line, and 1 otherwise. A closed pipe
/// is not an error.
pub fn failed(error: &anyhow::Error) -> ExitCode {
    if is_closed(error) {
        return ExitCode::SUCCESS;
    }
    note(&format!("error: {error:#}"));
    ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
}

/// Returns whether the reader of standard output has stopped early, as `head` does.
pub fn is_closed(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

/// Prints a message, wrapped at the width of the terminal or at 100 columns, whichever is smaller.
pub fn note(text: &str) {
    let terminal = terminal_size::terminal_size_of(io::stderr());
    let columns = terminal
        .map_or(100, |(terminal_size::Width(columns), _)| usize::from(columns).clamp(40, 100));
    // If standard error is closed, the message cannot be printed.
    let _ = writeln!(io::stderr(), "{}", numbers::wrapped(text, columns));
}
