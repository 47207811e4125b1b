//! The file `exact.csv.gz`, which has the time of each call of an exact sum, and of a plain sum of
//! the same bytes.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    pair::{Ratio, there_and_back},
    sample::{read_csv, write_csv},
    stats::Summary,
    table::{Table, micros},
};

/// The function that is the baseline of every ratio.
pub const PLAIN: &str = "sum";

/// The time of one call on the GPU, with the input outside L2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The element type.
    #[serde(rename = "type")]
    pub element: String,
    /// The kind of data.
    pub data: String,
    /// The number of elements.
    pub n: u64,
    /// The function.
    pub way: String,
    /// The round. The calls in a round were made one after another.
    pub round: u32,
    /// Nanoseconds.
    pub ns: u64,
}

impl Taken {
    /// Reads a file of calls.
    pub fn read(path: &Path) -> Result<Vec<Taken>> {
        read_csv(path)
    }

    /// Writes a file of calls.
    pub fn write(path: &Path, taken: &[Taken]) -> Result<()> {
        write_csv(path, taken)
    }
}

/// The times of each function for one kind of data and one number of elements.
type Cell = BTreeMap<String, Vec<(u32, u64)>>;

/// The times of one element type.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The element type.
    pub element: String,
    /// The functions, the plain sum first.
    pub ways: Vec<String>,
    /// The kinds of data and the sizes, in the order in which they were measured.
    pub cells: Vec<((String, u64), Cell)>,
}

/// Returns the times of each type, in the order in which they were measured.
pub fn series(taken: &[Taken]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for call in taken {
        let at = all.iter().position(|series| series.element == call.element);
        let at = at.unwrap_or_else(|| {
            all.push(Series { element: call.element.clone(), ..Series::default() });
            all.len() - 1
        });
        let series = &mut all[at];
        if !series.ways.contains(&call.way) {
            series.ways.push(call.way.clone());
        }
        let key = (call.data.clone(), call.n);
        let at = series.cells.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            series.cells.push((key, Cell::new()));
            series.cells.len() - 1
        });
        let times = series.cells[at].1.entry(call.way.clone()).or_default();
        times.push((call.round, call.ns));
    }
    for (_, cell) in all.iter_mut().flat_map(|series| &mut series.cells) {
        cell.values_mut().for_each(|times| times.sort_unstable());
    }
    all
}

impl Series {
    /// The median of a function's times, in nanoseconds, with its interval.
    pub fn time(cell: &Cell, way: &str) -> Option<Summary> {
        let pairs = there_and_back(cell.get(way)?).into_iter().map(|(_, ns)| ns);
        Summary::batched(&pairs.collect::<Vec<f64>>())
    }

    /// The speed of a function as a fraction of the speed of the plain sum, over paired rounds.
    pub fn speed(cell: &Cell, way: &str) -> Option<Ratio> {
        Ratio::of(cell.get(PLAIN)?, cell.get(way)?)
    }

    /// Returns a table with a row for each kind and number of elements: times in microseconds, and
    /// speeds relative to the plain sum.
    pub fn table(&self) -> String {
        let exact: Vec<&String> = self.ways.iter().filter(|way| *way != PLAIN).collect();
        let heads = self.ways.iter().map(|way| format!("{way}, µs"));
        let heads = heads.chain(exact.iter().map(|way| format!("{PLAIN} / {way}")));
        let mut table = Table::new(["data".to_owned(), "n".to_owned()].into_iter().chain(heads));
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
        for ((data, n), cell) in &self.cells {
            let time = |way: &String| Series::time(cell, way).map(|time| micros(time.median));
            let speed = |way: &String| Series::speed(cell, way).map(|ratio| ratio.to_string());
            let figures = self.ways.iter().map(time).chain(exact.iter().map(|way| speed(way)));
            table.row([data.clone(), numbers::size(*n)].into_iter().chain(figures.map(or_dash)));
        }
        table.to_string()
    }

    /// Names the data on which each exact function is slowest relative to the plain sum.
    pub fn slowest(&self) -> String {
        let mut text = String::new();
        for way in self.ways.iter().filter(|way| *way != PLAIN) {
            let speeds = self
                .cells
                .iter()
                .filter_map(|(key, cell)| Some((Series::speed(cell, way)?.0.median, key)));
            if let Some((speed, (data, n))) = speeds.min_by(|a, b| a.0.total_cmp(&b.0)) {
                text += &format!(
                    "{way} takes at most {:.2} times as long as the plain sum, on {data} data with {} elements.\n",
                    1.0 / speed,
                    numbers::size(*n)
                );
            }
        }
        text
    }
}

/// Returns a table with a row for each type and number of elements: the times of the plain sum and
/// the exact sum in microseconds, on the first kind of data, and the plain sum's time divided by
/// the exact sum's on each kind of data. Returns `None` if a kind of data was not measured.
pub fn by_data(all: &[Series], kinds: &[&str]) -> Option<Table> {
    let exact = "exact sum";
    let ratios = kinds.iter().map(|kind| format!("{PLAIN} / {exact}, {kind}"));
    let heads = ["type", "elements", "sum, µs", "exact sum, µs"].map(str::to_owned);
    let mut table = Table::new(heads.into_iter().chain(ratios));
    for series in all {
        let of = |kind: &str, n: u64| {
            let mut cells = series.cells.iter();
            cells.find(|((data, size), _)| data == kind && *size == n).map(|(_, cell)| cell)
        };
        for (_, n) in series.cells.iter().map(|(key, _)| key).filter(|(data, _)| data == kinds[0]) {
            let first = of(kinds[0], *n)?;
            let time = |way| Some(micros(Series::time(first, way)?.median));
            let mut row =
                vec![series.element.clone(), numbers::size(*n), time(PLAIN)?, time(exact)?];
            for kind in kinds {
                row.push(format!("{:.3}", Series::speed(of(kind, *n)?, exact)?.0.median));
            }
            table.row(row);
        }
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(data: &str, way: &str, ns: u64) -> Vec<Taken> {
        let call = |round| Taken {
            element: "f32".into(),
            data: data.into(),
            n: 1 << 20,
            way: way.into(),
            round,
            ns: ns + u64::from(round % 7),
        };
        (0..40).map(call).collect()
    }

    fn all() -> Vec<Taken> {
        [
            taken("uniform", PLAIN, 9_000),
            taken("uniform", "exact sum", 10_000),
            taken("wide", PLAIN, 9_000),
            taken("wide", "exact sum", 36_000),
        ]
        .concat()
    }

    #[test]
    fn a_table_has_times_and_speeds_of_every_kind() {
        let series = &series(&all())[0];
        let text = series.table();
        let cells = |line: &str| -> Vec<String> {
            line.split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        let lines: Vec<_> = text.lines().map(cells).collect();
        assert_eq!(lines[0][1..6], ["data", "n", "sum, µs", "exact sum, µs", "sum / exact sum"]);
        assert_eq!(lines[2][1..5], ["uniform", "2^20", "9.00", "10.00"], "{text}");
        assert!(lines[2][5].starts_with("0.900 [") && lines[3][5].starts_with("0.25"), "{text}");
        let slowest = series.slowest();
        assert!(slowest.contains("at most 4.00 times") && slowest.contains("wide"), "{slowest}");
    }

    #[test]
    fn a_table_by_data_has_a_speed_for_each_kind() {
        let all = series(&all());
        let text = by_data(&all, &["uniform", "wide"]).unwrap().to_string();
        let last: Vec<&str> = text.lines().last().unwrap().split('|').map(str::trim).collect();
        assert_eq!(last[1..7], ["f32", "2^20", "9.00", "10.00", "0.900", "0.250"], "{text}");
        assert!(by_data(&all, &["uniform", "normal"]).is_none(), "normal was not measured");
    }

    #[test]
    fn calls_are_read_back() {
        let path = std::env::temp_dir().join(format!("exact-{}.csv", std::process::id()));
        Taken::write(&path, &all()).unwrap();
        assert_eq!(Taken::read(&path).unwrap(), all());
        std::fs::remove_file(path).unwrap();
    }
}
