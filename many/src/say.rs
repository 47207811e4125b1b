//! What the program says, and what only it finds fault with.

use std::io::{self, Write};

use many::Error;

/// Says a line. Where nobody reads it, that is no error.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// A failure that no part of the library has.
pub(crate) fn failed(sentence: String) -> Error {
    Error::Gpus(sentence)
}

/// Says a table: columns are padded to the right, and the first to the left if it has words.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(|at| width(at).max(head[at].chars().count())).collect();
    // Two spaces between, or one where a terminal has no room for two.
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
