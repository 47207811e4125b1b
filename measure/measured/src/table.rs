//! Markdown tables, and the formats of quantities in them.

use std::fmt;

pub use numbers::size;

/// A table of figures, with the first column left-aligned and the others right-aligned, or a table
/// of words.
#[derive(Clone, Debug)]
pub struct Table {
    words: bool,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table of figures with these columns.
    pub fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Table {
        let head = head.into_iter().map(Into::into).collect();
        Table { words: false, head, rows: Vec::new() }
    }

    /// Creates a table of words with these columns.
    pub fn of_words<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Table {
        Table { words: true, ..Table::new(head) }
    }

    /// Adds a row. Missing cells at the end of the row stay empty.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let mut row: Vec<String> =
            cells.into_iter().map(|c| c.into().replace('|', "\\|")).collect();
        row.resize(self.head.len(), String::new());
        self.rows.push(row);
    }

    /// Returns whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl fmt::Display for Table {
    /// Formats the table with padding, so that the Markdown source is readable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&self.head]).map(|row| row[column].chars().count());
            cells.max().unwrap_or(0).max(3)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |f: &mut fmt::Formatter<'_>, row: &[String]| {
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                match column == 0 || self.words {
                    true => write!(f, "| {cell:<width$} ")?,
                    false => write!(f, "| {cell:>width$} ")?,
                }
            }
            writeln!(f, "|")
        };
        line(f, &self.head)?;
        for (column, width) in widths.iter().enumerate() {
            match column == 0 || self.words {
                true => write!(f, "|:{}", "-".repeat(width + 1))?,
                false => write!(f, "|{}:", "-".repeat(width + 1))?,
            }
        }
        writeln!(f, "|")?;
        self.rows.iter().try_for_each(|row| line(f, row))
    }
}

/// Formats nanoseconds as microseconds, with about four digits.
pub fn micros(ns: f64) -> String {
    let us = ns / 1e3;
    match us {
        _ if us < 100.0 => format!("{us:.2}"),
        _ if us < 1000.0 => format!("{us:.1}"),
        _ => format!("{us:.0}"),
    }
}

/// Formats bytes per second as 10⁹ bytes per second, with at least three digits.
pub fn gigabytes(bytes_per_second: f64) -> String {
    let rate = bytes_per_second / 1e9;
    match rate {
        _ if rate < 10.0 => format!("{rate:.2}"),
        _ if rate < 1000.0 => format!("{rate:.1}"),
        _ => format!("{rate:.0}"),
    }
}

/// Formats a small fraction in units of 10⁻⁹.
pub fn billionths(share: f64) -> String {
    format!("{:.1}", share * 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_line_up() {
        let mut table = Table::new(["step", "µs"]);
        table.row(["v0-naive", "21.28"]);
        table.row(["a|b"]);
        assert_eq!(
            table.to_string(),
            "| step     |    µs |\n|:---------|------:|\n| v0-naive | 21.28 |\n| a\\|b     |       |\n"
        );
    }

    #[test]
    fn quantities_keep_their_digits() {
        assert_eq!([4032.0, 243_650.0, 3_780_300.0].map(micros), ["4.03", "243.7", "3780"]);
        assert_eq!([99_990.0, 100_000.0, 1e6].map(micros), ["99.99", "100.0", "1000"]);
        assert_eq!([9.99e9, 10e9, 1e12].map(gigabytes), ["9.99", "10.0", "1000"]);
        assert_eq!([1.0166e9, 416e9, 4622e9].map(gigabytes), ["1.02", "416.0", "4622"]);
    }
}
