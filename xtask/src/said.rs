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

/// Prints an error. Returns 2 if the error is in the command line, and otherwise 1. A closed pipe is
/// not an error.
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
    let _ = writeln!(io::stderr(), "{}", wrapped(text, columns));
}

/// Breaks long lines between words, and indents the new lines like the old ones.
fn wrapped(text: &str, columns: usize) -> String {
    let mut out = Vec::new();
    for line in text.split('\n') {
        let indent = &line[..line.len() - line.trim_start().len()];
        let mut part = String::new();
        for word in line.trim_start().split(' ') {
            let length = |text: &str| text.chars().count();
            if part.is_empty() {
                part = format!("{indent}{word}");
            } else if length(&part) + 1 + length(word) > columns {
                out.push(std::mem::replace(&mut part, format!("{indent}{word}")));
            } else {
                part += &format!(" {word}");
            }
        }
        out.push(part);
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_between_words_and_short_ones_are_kept() {
        assert_eq!(wrapped("one two three\n\n  four five", 9), "one two\nthree\n\n  four\n  five");
        assert_eq!(wrapped("  a  b\n", 80), "  a  b\n");
        assert_eq!(wrapped("a word-that-is-too-long b", 9), "a\nword-that-is-too-long\nb");
    }
}
