//! Hardware counters: ncu's CSV, and the file `counters.csv` that is made from it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    sample::{read_csv, write_csv},
};

/// One metric for one launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// The step.
    pub variant: String,
    /// The element type.
    #[serde(rename = "type")]
    pub element: String,
    /// The number of threads per block.
    pub threads: u32,
    /// The number of elements.
    pub n: u64,
    /// The number of the launch within the sum, counting from 1.
    pub launch: u32,
    /// The name of the kernel.
    pub kernel: String,
    /// The number of blocks.
    pub grid: u64,
    /// ncu's name for the metric, followed by a colon and the opcode if the metric was counted for
    /// one opcode.
    pub metric: String,
    /// The metric's value, in ncu's base units.
    pub value: f64,
}

/// The prefix of a line that `ladder once` prints for this parser, because ncu's output lacks the
/// facts in that line.
pub const MARK: &str = "==LADDER==";

impl Count {
    /// Reads `counters.csv`.
    pub fn read(path: &Path) -> Result<Vec<Count>> {
        read_csv(path)
    }

    /// Writes `counters.csv`.
    pub fn write(path: &Path, counts: &[Count]) -> Result<()> {
        write_csv(path, counts)
    }
}

/// A metric for one launch, as counted by the interpreter and by the GPU, under CUPTI's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Twice {
    /// The step.
    pub variant: String,
    /// The element type.
    #[serde(rename = "type")]
    pub element: String,
    /// The number of threads per block.
    pub threads: u32,
    /// The number of elements.
    pub n: u64,
    /// The number of the launch within the sum, counting from 1.
    pub launch: u32,
    /// CUPTI's name for the metric.
    pub metric: String,
    /// The interpreter's count.
    pub interpreter: u64,
    /// The GPU's count.
    pub hardware: f64,
}

impl Twice {
    /// Reads `counted.csv`.
    pub fn read(path: &Path) -> Result<Vec<Twice>> {
        read_csv(path)
    }

    /// Writes `counted.csv`.
    pub fn write(path: &Path, counts: &[Twice]) -> Result<()> {
        write_csv(path, counts)
    }

    /// Returns whether the two counts are equal.
    pub fn equal(&self) -> bool {
        self.interpreter as f64 == self.hardware
    }
}

/// Reads the output of `ncu --csv … ladder once STEP`, in which the lines of the two programs may
/// be interleaved in any way. The launches belong to the sums that the marked lines announce, in
/// the same order.
pub fn from_ncu(text: &str, file: &str) -> Result<Vec<Count>> {
    let bad = |line: usize, reason: String| Error::Line {
        path: file.to_owned(),
        line: line as u64,
        reason,
    };
    let number =
        |text: &str| text.parse::<u64>().map_err(|e| bad(0, format!("{MARK} … {text}: {e}")));
    let mut sums = Vec::new();
    for mark in text.lines().filter_map(|line| line.trim().strip_prefix(MARK)) {
        let words: Vec<&str> = mark.split_whitespace().collect();
        let [step, element, n, threads, launches] = words[..] else {
            return Err(bad(
                0,
                format!("`{MARK}{mark}` is not `{MARK} STEP TYPE N THREADS LAUNCHES`"),
            ));
        };
        let sum = (step, element, number(n)?, number(threads)? as u32);
        sums.extend((1..=number(launches)?.min(64) as u32).map(|launch| (sum, launch)));
    }
    if sums.is_empty() {
        return Err(bad(
            0,
            format!(
                "there is no line `{MARK} STEP TYPE N THREADS LAUNCHES`: ncu's output must include this line, which `ladder once` prints"
            ),
        ));
    }
    let start = text.lines().position(|line| line.starts_with("\"ID\"")).ok_or_else(|| {
        bad(0, "there is no table, so ncu has counted nothing or ran without --csv: run the command that `ladder counters` prints".into())
    })?;
    let table: String = text
        .lines()
        .skip(start)
        .filter(|line| line.starts_with('"'))
        .map(|line| line.to_owned() + "\n")
        .collect();
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let header = reader.headers().map_err(|e| bad(start + 1, e.to_string()))?.clone();
    let column = |name: &str| {
        header
            .iter()
            .position(|column| column == name)
            .ok_or_else(|| bad(start + 1, format!("ncu's table has no column `{name}`")))
    };
    let (id, kernel, grid) = (column("ID")?, column("Kernel Name")?, column("Grid Size")?);
    let (metric, value) = (column("Metric Name")?, column("Metric Value")?);
    let mut counts = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    for (index, row) in reader.records().enumerate() {
        let line = start + 2 + index;
        let row = row.map_err(|e| bad(line, e.to_string()))?;
        if ids.last().is_none_or(|last| *last != row[id]) {
            ids.push(row[id].to_owned());
        }
        let Some(&((step, element, n, threads), launch)) = sums.get(ids.len() - 1) else {
            return Err(bad(
                line,
                format!("ncu counted more launches than the {} that were announced", sums.len()),
            ));
        };
        let blocks = row[grid].trim_matches(['(', ')']).split(',').next().unwrap_or_default();
        let base = Count {
            variant: step.to_owned(),
            element: element.to_owned(),
            threads,
            n,
            launch,
            kernel: row[kernel].split('(').next().unwrap_or_default().to_owned(),
            grid: blocks
                .trim()
                .parse()
                .map_err(|_| bad(line, format!("`{blocks}` is not a number of blocks")))?,
            metric: row[metric].to_owned(),
            value: 0.0,
        };
        for (instance, value) in values(&row[value]) {
            let metric = match instance {
                "" => base.metric.clone(),
                instance => format!("{}:{instance}", base.metric),
            };
            // A metric that the chip does not support has the value "n/a", and gets no row.
            if let Ok(value) = value.replace(',', "").parse() {
                counts.push(Count { metric, value, ..base.clone() });
            }
        }
    }
    Ok(counts)
}

/// Splits a cell into its value and the values of its instances, which are in parentheses, as in
/// `12 (BAR: 4; SHFL: 8)`.
fn values(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let (total, instances) = text.split_once('(').unwrap_or((text, ""));
    let instances = instances.trim_end_matches(')').split(';').filter_map(|instance| {
        let (name, value) = instance.rsplit_once(':')?;
        Some((name.trim(), value.trim()))
    });
    [("", total.trim())].into_iter().chain(instances)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NCU: &str = r#"==PROF== Connected to process 77 (ladder)
==PROF== Profiling "reduce" - 0: 0%....50%....100% - 3 passes
==LADDER== v0-naive f32 4194304 256 2
==PROF== Disconnected from process 77
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","77","ladder","127.0.0.1","reduce","1","13","(256, 1, 1)","(16384, 1, 1)","0","9.0","Command line profiler metrics","smsp__inst_executed.sum","inst","32,505,856"
"0","77","ladder","127.0.0.1","reduce","1","13","(256, 1, 1)","(16384, 1, 1)","0","9.0","Command line profiler metrics","no__such.sum","","n/a"
"0","77","ladder","127.0.0.1","reduce","1","13","(256, 1, 1)","(16384, 1, 1)","0","9.0","Command line profiler metrics","sass__inst_executed_per_opcode","inst","32,505,856 (BAR: 1,179,648; IADD3: 5)"
"1","77","ladder","127.0.0.1","reduce","1","13","(256, 1, 1)","(64, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","byte","65536.5"
"#;

    #[test]
    fn ncus_table_is_read_with_its_instances() {
        let counts = from_ncu(NCU, "v0.csv").unwrap();
        let found: Vec<(u32, u64, &str, f64)> =
            counts.iter().map(|c| (c.launch, c.grid, c.metric.as_str(), c.value)).collect();
        assert_eq!(
            found,
            [
                (1, 16384, "smsp__inst_executed.sum", 32_505_856.0),
                (1, 16384, "sass__inst_executed_per_opcode", 32_505_856.0),
                (1, 16384, "sass__inst_executed_per_opcode:BAR", 1_179_648.0),
                (1, 16384, "sass__inst_executed_per_opcode:IADD3", 5.0),
                (2, 64, "dram__bytes_read.sum", 65536.5),
            ]
        );
        assert_eq!(
            (counts[0].variant.as_str(), counts[0].n, counts[0].threads),
            ("v0-naive", 1 << 22, 256)
        );
    }

    #[test]
    fn double_counts_are_read_back_and_compared() {
        let twice = |hardware| Twice {
            variant: "v0-naive".into(),
            element: "f32".into(),
            threads: 256,
            n: 1 << 20,
            launch: 1,
            metric: "smsp__inst_executed.sum".into(),
            interpreter: 1_000_001,
            hardware,
        };
        let counts = [twice(1_000_001.0), twice(1_000_000.0)];
        assert_eq!(counts.each_ref().map(Twice::equal), [true, false]);
        let path = std::env::temp_dir().join(format!("counted-{}.csv", std::process::id()));
        Twice::write(&path, &counts).unwrap();
        assert_eq!(Twice::read(&path).unwrap(), counts);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_fault_in_the_table_names_its_line() {
        for (broken, line) in [
            (NCU.replace("Grid Size", "Grid"), 5),
            (NCU.replace("(64, 1, 1)", "(many)"), 9),
            (NCU.replace("\"byte\",\"65536.5\"", "\"byte\""), 9),
        ] {
            let message = from_ncu(&broken, "v0.csv").unwrap_err().to_string();
            assert!(message.contains(&format!("line {line}")), "{message}");
        }
    }

    #[test]
    fn missing_columns_and_lines_are_named() {
        for (broken, why) in [
            ("", "no line"),
            (&NCU.replace("==LADDER==", "=="), "no line"),
            (&NCU.replace("\"ID\"", "\"Id\""), "no table"),
            (&NCU.replace("Grid Size", "Grid"), "no column `Grid Size`"),
            (&NCU.replace("(16384, 1, 1)", "(many)"), "number of blocks"),
            (&NCU.replace("4194304 256", "x 256"), "invalid digit"),
            (&NCU.replace("256 2", "256"), "is not"),
            (&NCU.replace("256 2", "256 1"), "more launches than the 1"),
        ] {
            let message = from_ncu(broken, "v0.csv").unwrap_err().to_string();
            assert!(message.contains(why) && message.starts_with("v0.csv"), "{message}");
        }
    }
}
