//! A table of several sizes, types or block sizes, which follows the reports on the runs.

use anstyle::{AnsiColor, Style};
use comfy_table::Table;
use numbers::size;

use super::report::{columns, lines, right, scaled};
use crate::run::Outcome;

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// The rows of the table. The table has columns for times and rates only if there are any.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    rows: Vec<[String; 8]>,
    timed: bool,
}

impl Sizes {
    /// Adds a row for a run.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        let right = outcome.fault().is_none();
        let median = outcome.timing.as_ref().map(|timing| timing.median());
        self.timed |= median.is_some();
        let rate = |count: u64| {
            median.map_or("-".into(), |median| format!("{:.2}", count as f64 / median / 1e9))
        };
        self.rows.push([
            size(outcome.n),
            outcome.element.to_string(),
            outcome.threads.to_string(),
            outcome.verdict.sum.to_string(),
            if right { format!("{GOOD}right{GOOD:#}") } else { format!("{BAD}WRONG{BAD:#}") },
            median.map_or("-".into(), |median| scaled(median, "s")),
            rate(outcome.n),
            rate(outcome.bytes()),
        ]);
    }

    /// Formats the table; empty if there is only one run.
    pub(crate) fn table(self) -> String {
        if self.rows.len() < 2 {
            return String::new();
        }
        let heads = ["elements", "type", "block", "sum", "", "time", "GElements/s", "GB/s"];
        let shown = if self.timed { heads.len() } else { 5 };
        let mut table: Table = columns(&heads[..shown]);
        for row in self.rows {
            table.add_row(row.into_iter().take(shown));
        }
        let indices = 0..shown;
        let table = indices
            .filter(|index| ![1, 4].contains(index))
            .fold(table, |mut table, index| right(&mut table, index..index + 1));
        format!("\n{}", lines(&table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: &str) -> [String; 8] {
        [n, "i32", "256", "-5", "right", "2.00 µs", "0.50", "2.00"].map(str::to_owned)
    }

    #[test]
    fn one_run_needs_no_table_and_an_interpreter_has_no_time() {
        let table = |count: usize, timed| Sizes { rows: vec![row("2^20"); count], timed }.table();
        assert_eq!(table(0, true) + &table(1, true), "");
        assert!(table(2, true).contains("GElements/s") && table(2, true).contains("2.00 µs"));
        assert!(!table(2, false).contains("GB/s") && !table(2, false).contains("µs"));
        assert_eq!(table(3, false).lines().filter(|line| line.contains("right")).count(), 3);
        assert!(table(2, true).lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn one_time_among_the_runs_has_its_column() {
        let timed = Outcome::made_up("v0-naive", 1_000_000, &[10e-6]);
        let mut wrong = timed.clone();
        wrong.timing = None;
        let mut sizes = Sizes::default();
        [&wrong, &timed, &wrong].into_iter().for_each(|outcome| sizes.add(outcome));
        let table = anstream::adapter::strip_str(&sizes.table()).to_string();
        let rows: Vec<Vec<&str>> =
            table.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        let untimed = ["1000000", "f64", "64", "1000000", "right", "-", "-", "-"];
        let timed = ["1000000", "f64", "64", "1000000", "right", "10.00", "µs", "100.00", "800.00"];
        assert_eq!(rows, [&untimed[..], &timed, &untimed], "{table}");
    }
}
