//! The file `results/ladder/history.toml`, which has figures published by other authors.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Result, env::read_toml};

/// The published tables, with the oldest GPU first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// One table for each GPU and source.
    pub table: Vec<Published>,
}

/// One published table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The GPU.
    pub gpu: String,
    /// The year in which the GPU was released.
    pub year: u32,
    /// The peak memory bandwidth in 10⁹ bytes per second, if the source states it or a fraction of
    /// it.
    pub bus_gb_per_s: Option<f64>,
    /// The number of elements.
    pub n: u64,
    /// The size of an element, in bytes.
    pub bytes: u64,
    /// A citation of the source.
    pub source: String,
    /// The faults in the source's units or figures, and how they were corrected.
    #[serde(default)]
    pub mended: String,
    /// The rows, in the source's order.
    pub row: Vec<Row>,
}

/// One row, which has a time, a bandwidth, or both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The corresponding step of the ladder; empty if there is none.
    #[serde(default)]
    pub step: String,
    /// The source's name for the kernel.
    pub name: String,
    /// The time as published, in microseconds.
    pub us: Option<f64>,
    /// The bandwidth as published, in 10⁹ bytes per second, if it is the only figure.
    pub gb_per_s: Option<f64>,
    /// The bandwidth as printed, in 10⁹ bytes per second, if it contradicts the published time.
    pub printed: Option<f64>,
}

impl History {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<History> {
        read_toml(path)
    }

    /// Returns the faults: rows without a figure, and rows whose bandwidth is above the peak of the
    /// memory bus.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for table in &self.table {
            for row in &table.row {
                let name = format!("{}, {}", table.gpu, row.name);
                match (row.us, row.gb_per_s) {
                    (None, None) => faults.push(format!("{name}: there is neither a time nor a bandwidth; add the published one")),
                    (Some(_), Some(_)) => faults.push(format!(
                        "{name}: there are both a time and a bandwidth; keep the time, and move the bandwidth to `printed`"
                    )),
                    _ => {}
                }
                let rate = table.rate(row);
                if let Some(bus) = table.bus_gb_per_s.filter(|bus| rate > 1.005 * bus) {
                    faults.push(format!(
                        "{name}: {rate:.1} GB/s is above the peak of {bus:.1} GB/s of the memory bus"
                    ));
                }
            }
            if !table.row.iter().all(|row| row.printed.is_none()) && table.mended.is_empty() {
                faults.push(format!(
                    "{}: the printed figures disagree, but `mended` is empty",
                    table.gpu
                ));
            }
        }
        faults
    }
}

impl Published {
    /// Returns the bandwidth in a row, in 10⁹ bytes per second; if a time was published, it is
    /// bytes / time.
    pub fn rate(&self, row: &Row) -> f64 {
        let bytes = (self.n * self.bytes) as f64;
        row.us.map_or(row.gb_per_s.unwrap_or(f64::NAN), |us| bytes / us / 1e3)
    }

    /// Returns the row for a step of the ladder.
    pub fn step(&self, step: &str) -> Option<&Row> {
        self.row.iter().find(|row| row.step == step)
    }

    /// Returns the speedup of a row over the first row.
    pub fn speedup(&self, row: &Row) -> f64 {
        self.row.first().map_or(f64::NAN, |first| self.rate(row) / self.rate(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(step: &str, us: Option<f64>, gb_per_s: Option<f64>) -> Row {
        Row { step: step.into(), name: step.into(), us, gb_per_s, printed: None }
    }

    /// Creates a table for a million doubles, which occupy 8 MB.
    fn published(bus: f64, row: Vec<Row>) -> Published {
        Published {
            gpu: "made up".into(),
            year: 2000,
            bus_gb_per_s: Some(bus),
            n: 1_000_000,
            bytes: 8,
            source: "nowhere".into(),
            mended: String::new(),
            row,
        }
    }

    #[test]
    fn a_rate_is_bytes_over_time_and_a_speedup_is_over_the_first() {
        let table = published(
            100.0,
            vec![row("v0-naive", Some(400.0), None), row("v1-divergence", None, Some(50.0))],
        );
        let second = table.step("v1-divergence").unwrap();
        assert_eq!(table.rate(&table.row[0]), 20.0);
        assert_eq!((table.rate(second), table.speedup(second)), (50.0, 2.5));
        assert_eq!(table.step("v2-bank-conflicts"), None);
    }

    #[test]
    fn half_a_percent_above_the_bus_is_rounding_and_more_is_a_fault() {
        let faults = |rate| {
            let table = vec![published(100.0, vec![row("", None, Some(rate))])];
            History { table }.faults().len()
        };
        assert_eq!([100.0, 100.4, 100.8].map(faults), [0, 0, 1]);
    }
}
