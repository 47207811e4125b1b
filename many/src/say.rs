//! Prints the program's output, and the errors that come from the program rather than from the
//! library.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use many::Error;

/// Prints a line. A closed output is not an error.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Prints a message on standard error, wrapped at the width of the terminal or at 100 columns,
/// whichever is smaller.
pub(crate) fn note(text: &str) {
    // If standard error is closed, the message cannot be printed.
    let _ = writeln!(io::stderr(), "{}", numbers::wrapped(text, columns()));
}

/// Prints an error about the command line, or the requested help.
pub(crate) fn refused(error: &clap::Error) -> ExitCode {
    match error.use_stderr() {
        true => note(error.to_string().trim_end()),
        false => drop(error.print()),
    }
    ExitCode::from(error.exit_code() as u8)
}

fn columns() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stderr());
    terminal.map_or(100, |(terminal_size::Width(columns), _)| usize::from(columns).clamp(40, 100))
}

/// Returns an error that comes from the program itself.
pub(crate) fn failed(sentence: String) -> Error {
    Error::Gpus(sentence)
}

/// Prints a table. Columns are right-aligned; the first column is left-aligned if it contains
/// words.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(|at| width(at).max(head[at].chars().count())).collect();
    // There are two spaces between columns, or one if a terminal is too narrow for two.
    let between = if widths.iter().sum::<usize>() + 2 * N > 80 { 1 } else { 2 };
    let words = rows.iter().any(|row| row[0].starts_with(char::is_alphabetic));
    let line = |cells: [&str; N]| {
        let mut line = String::new();
        for (at, (cell, width)) in cells.into_iter().zip(&widths).enumerate() {
            line.extend(std::iter::repeat_n(' ', if at == 0 { 0 } else { between }));
            line += &match at == 0 && words {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            };
        }
        say(&line);
    };
    line(head);
    for row in rows {
        line(std::array::from_fn(|at| row[at].as_str()));
    }
}
