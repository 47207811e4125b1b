//! Implements `{{probe FILE COLUMN…}}` and `{{num probe FILE ROW COLUMN}}`, which show output from
//! the probe programs. Each of these programs answers one question about a GPU. The output is in
//! the newest folder of `results/probes/` that is from the GPU of the ladder's run.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, ensure};

use super::{highlight::escape, table};
use crate::book::source::{
    Sources,
    file::read,
    quantity::{Quantity, Unit},
};

/// The contents of a file: its first line after `#`, its columns, and its rows.
#[derive(Debug, PartialEq)]
struct Probe {
    about: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Probe {
    fn of(text: &str) -> Result<Probe> {
        let about = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default();
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
        let columns = reader.headers()?.iter().map(str::to_owned).collect();
        let rows = reader.records().map(|row| Ok(row?.iter().map(str::to_owned).collect()));
        Ok(Probe { about: about.to_owned(), columns, rows: rows.collect::<Result<_>>()? })
    }

    fn column(&self, name: &str) -> Result<usize> {
        let found = self.columns.iter().position(|column| column == name);
        found.with_context(|| format!("there is no column `{name}`: use one of {:?}", self.columns))
    }
}

/// Returns the folders of probes, from the oldest to the newest.
fn folders(sources: &Sources) -> Result<Vec<PathBuf>> {
    let probes = sources.root.join("results/probes");
    let entries = fs::read_dir(&probes).with_context(|| probes.display().to_string())?;
    let mut folders = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    folders.sort();
    Ok(folders)
}

/// Returns the name of the newest folder that has this file and is from the GPU of the ladder's
/// run `on`, and the file's contents.
fn newest(sources: &Sources, on: Option<&str>, file: &str) -> Result<(String, Probe)> {
    let gpu = sources.run(on)?.env.gpu.name.to_ascii_lowercase().replace(' ', "-");
    let of = |folder: &PathBuf| folder.to_string_lossy().ends_with(&format!("-{gpu}"));
    let folders = folders(sources)?.into_iter().filter(of);
    let path = folders.rev().map(|folder| folder.join(format!("{file}.csv")));
    let path = path.into_iter().find(|path| path.exists());
    let path = path.with_context(|| format!("results/probes has no {file}.csv of the {gpu}"))?;
    let probe = Probe::of(&read(&path)?).with_context(|| path.display().to_string())?;
    let name = path.strip_prefix(&sources.root).unwrap_or(&path).to_string_lossy().into_owned();
    Ok((name, probe))
}

/// The latency of a load on a GPU, at several levels of memory traffic.
pub(super) struct Loaded {
    /// The name of the GPU.
    pub(super) name: String,
    /// The points, in the order of the bytes in flight.
    pub(super) points: Vec<Load>,
}

/// A level of memory traffic.
pub(super) struct Load {
    /// The maximum number of KiB in flight on each SM.
    pub(super) kib: f64,
    /// The throughput of the memory.
    pub(super) gb_per_s: f64,
    /// The latency of a load.
    pub(super) ns: f64,
}

impl Loaded {
    pub(super) fn of(text: &str) -> Result<Loaded> {
        let probe = Probe::of(text)?;
        let columns = ["kib_in_flight", "gb_per_s", "ns"].map(|name| probe.column(name));
        let [kib, gb_per_s, ns] = columns;
        let (kib, gb_per_s, ns) = (kib?, gb_per_s?, ns?);
        let point = |row: &Vec<String>| {
            let cell = |at: usize| row[at].parse::<f64>().with_context(|| format!("{row:?}"));
            Ok(Load { kib: cell(kib)?, gb_per_s: cell(gb_per_s)?, ns: cell(ns)? })
        };
        let mut points = probe.rows.iter().map(point).collect::<Result<Vec<_>>>()?;
        points.sort_by(|a, b| a.kib.total_cmp(&b.kib));
        let name = probe.about.split(',').next().unwrap_or_default().to_owned();
        Ok(Loaded { name, points })
    }
}

/// Returns the contents of each `latency.csv` in `results/probes/`.
pub(super) fn loaded(sources: &Sources) -> Result<Vec<Loaded>> {
    let paths = folders(sources)?.into_iter().map(|folder| folder.join("latency.csv"));
    let read =
        |path: PathBuf| Loaded::of(&read(&path)?).with_context(|| path.display().to_string());
    paths.filter(|path| path.exists()).map(read).collect()
}

/// Implements `{{probe …}}`: returns a table of some columns in a file, in this order;
/// `column=head` renames a column.
pub(crate) fn html(sources: &Sources, file: &str, columns: &[&str]) -> Result<String> {
    let (name, probe) = newest(sources, None, file)?;
    let mut chosen = Vec::new();
    for column in columns {
        let (column, head) = column.split_once('=').unwrap_or((column, column));
        chosen.push((probe.column(column)?, head.replace('_', " ")));
    }
    ensure!(
        !chosen.is_empty(),
        "`probe {file}`: name at least one of the columns {:?}",
        probe.columns
    );
    let rows: Vec<Vec<String>> = probe
        .rows
        .iter()
        .map(|row| chosen.iter().map(|(at, _)| escape(&row[*at])).collect())
        .collect();
    let head: Vec<String> = chosen.into_iter().map(|(_, head)| head).collect();
    let caption = format!("{}: {}", escape(&probe.about), escape(&name));
    Ok(table::table(&caption, &head, &rows))
}

/// Returns a cell, given its row (numbered from 1) and its column, whose name includes the unit.
pub(crate) fn number(
    sources: &Sources,
    on: Option<&str>,
    [file, row, column]: [&str; 3],
) -> Result<Quantity> {
    let (name, probe) = newest(sources, on, file)?;
    let at = probe.column(column)?;
    let row: usize = row.parse().context("the row must be a number; the first row is 1")?;
    let cells = row.checked_sub(1).and_then(|row| probe.rows.get(row));
    let cells = cells.with_context(|| format!("{name} has {} rows", probe.rows.len()))?;
    let value: f64 = cells[at].parse().with_context(|| format!("{name}, row {row}: {column}"))?;
    let (value, unit) = unit(column, value);
    Ok(Quantity { value, unit, origin: format!("{name}: {column} of {}", cells[0]) })
}

fn unit(column: &str, value: f64) -> (f64, Unit) {
    match column.rsplit_once('_').map_or(column, |(_, end)| end) {
        "ns" => (value * 1e-9, Unit::Time),
        "us" => (value * 1e-6, Unit::Time),
        _ if column == "gb_per_s" => (value * 1e9, Unit::Rate),
        _ => (value, Unit::Count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_has_a_head_and_rows() {
        let probe = Probe::of("# H200\nkind,median_us\n\"a, b\",1.5\n").unwrap();
        assert_eq!((probe.about.as_str(), probe.rows.len()), ("H200", 1));
        assert_eq!(probe.rows[0], ["a, b", "1.5"]);
        assert!(probe.column("q9").unwrap_err().to_string().contains("median_us"));
        assert_eq!(unit("median_us", 1.5), (1.5e-6, Unit::Time));
        assert_eq!(unit("gb_per_s", 2.0), (2e9, Unit::Rate));
        assert_eq!(unit("cycles", 2.0), (2.0, Unit::Count));
    }
}
