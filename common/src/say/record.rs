//! An outcome as a flat record, which is a row of JSON or CSV.

use std::io;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};

use crate::{
    device::cupti::counters::{METRICS, Values},
    run::{Counted, Outcome, Timing},
    sum::Value,
};

/// One line of `--format json`.
#[derive(Debug, Serialize)]
pub struct Record {
    step: String,
    device: String,
    n: u64,
    r#type: &'static str,
    threads: u32,
    launches: usize,
    sum: Value,
    expected: Value,
    verified: bool,
    error: f64,
    bound: f64,
    timing: Option<Times>,
    #[serde(serialize_with = "nested")]
    counts: Option<simt::Counters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<Hardware>,
}

/// The GPU's counts, under CUPTI's names.
#[derive(Debug, Serialize)]
pub struct Hardware {
    cupti: String,
    passes: usize,
    equal: usize,
    differ: usize,
    launches: Vec<Map<String, Json>>,
}

/// Times in microseconds, and their statistics.
#[derive(Debug, Serialize)]
pub struct Times {
    median_us: f64,
    q1_us: f64,
    q3_us: f64,
    samples: usize,
    cold: bool,
    gb_per_s: f64,
    bus_share: Option<f64>,
    elements_per_s: f64,
    copy_us: Option<f64>,
}

/// A cell in a CSV file.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Cell {
    Text(String),
    Count(u64),
    Time(f64),
    Flag(bool),
    /// An empty cell, for a value that was not measured.
    Empty,
}

/// The name of a column, and the function that returns its cell.
type Column = (&'static str, fn(&Record) -> Cell);

/// The columns of a CSV file. The columns for the counts follow these columns.
const COLUMNS: [Column; 20] = [
    ("step", |r| Cell::Text(r.step.clone())),
    ("device", |r| Cell::Text(r.device.clone())),
    ("n", |r| Cell::Count(r.n)),
    ("type", |r| Cell::Text(r.r#type.into())),
    ("threads", |r| Cell::Count(r.threads.into())),
    ("launches", |r| Cell::Count(r.launches as u64)),
    ("sum", |r| Cell::Text(r.sum.to_string())),
    ("expected", |r| Cell::Text(r.expected.to_string())),
    ("verified", |r| Cell::Flag(r.verified)),
    ("error", |r| Cell::Text(r.error.to_string())),
    ("bound", |r| Cell::Text(r.bound.to_string())),
    ("median_us", |r| r.time(|t| Some(t.median_us))),
    ("q1_us", |r| r.time(|t| Some(t.q1_us))),
    ("q3_us", |r| r.time(|t| Some(t.q3_us))),
    ("samples", |r| r.timing.as_ref().map_or(Cell::Empty, |t| Cell::Count(t.samples as u64))),
    ("cold", |r| r.timing.as_ref().map_or(Cell::Empty, |t| Cell::Flag(t.cold))),
    ("gb_per_s", |r| r.time(|t| Some(t.gb_per_s))),
    ("bus_share", |r| r.time(|t| t.bus_share)),
    ("elements_per_s", |r| r.time(|t| Some(t.elements_per_s))),
    ("copy_us", |r| r.time(|t| t.copy_us)),
];

impl Record {
    /// Creates the record for an outcome.
    pub fn of(outcome: &Outcome) -> Record {
        let verdict = &outcome.verdict;
        Record {
            step: outcome.step.to_owned(),
            device: outcome.device.name.clone(),
            n: outcome.n,
            r#type: outcome.element.name(),
            threads: outcome.threads,
            launches: outcome.plan.launches.len(),
            sum: verdict.sum,
            expected: verdict.expected,
            verified: outcome.wrong.is_none(),
            error: verdict.error,
            bound: verdict.bound,
            timing: outcome.timing.as_ref().map(|timing| Times::of(outcome, timing)),
            counts: outcome.observed.as_ref().map(|observed| observed.counters.clone()),
            counted: outcome.counted.as_ref().map(Hardware::of),
        }
    }

    /// Formats the record as a line of JSON.
    pub fn json(&self) -> io::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }

    /// Formats the header of a CSV file.
    pub fn csv_header() -> io::Result<String> {
        let fixed = COLUMNS.iter().map(|(name, _)| *name);
        let counts = simt::Counts::default();
        line(fixed.chain(counts.fields().map(|(name, _)| name)).collect())
    }

    /// Formats the record as a row of a CSV file.
    pub fn csv(&self) -> io::Result<String> {
        let fixed = COLUMNS.iter().map(|(_, cell)| cell(self));
        let none = simt::Counts::default();
        let counts = self.counts.as_ref().map_or(&none, |counters| &counters.total);
        let count = |value| self.counts.as_ref().map_or(Cell::Empty, |_| Cell::Count(value));
        line(fixed.chain(counts.fields().map(|(_, value)| count(value))).collect())
    }

    /// Returns a cell with a statistic of the times.
    fn time(&self, figure: impl FnOnce(&Times) -> Option<f64>) -> Cell {
        let figure = self.timing.as_ref().and_then(figure).filter(|figure| figure.is_finite());
        figure.map_or(Cell::Empty, Cell::Time)
    }
}

/// Formats cells as a line of a CSV file, with quotation marks where they are necessary.
fn line<C: Serialize>(cells: Vec<C>) -> io::Result<String> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    writer.serialize(cells)?;
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

impl Hardware {
    fn of(counted: &Counted) -> Hardware {
        let named =
            |values: &Values| METRICS.map(str::to_owned).into_iter().zip(values.map(Json::from));
        let (all, differ) = counted.compared();
        Hardware {
            cupti: counted.version.clone(),
            passes: counted.passes,
            equal: all - differ,
            differ,
            launches: counted.hardware.iter().map(|values| named(values).collect()).collect(),
        }
    }
}

impl Times {
    fn of(outcome: &Outcome, timing: &Timing) -> Times {
        let (q1, q3) = timing.quartiles();
        let bandwidth = timing.bandwidth(outcome.bytes());
        Times {
            median_us: timing.median() * 1e6,
            q1_us: q1 * 1e6,
            q3_us: q3 * 1e6,
            samples: timing.samples.len(),
            cold: timing.cold,
            gb_per_s: bandwidth / 1e9,
            bus_share: outcome.device.bus.map(|bus| bandwidth / bus),
            elements_per_s: outcome.n as f64 / timing.median(),
            copy_us: outcome.copy.map(|seconds| seconds * 1e6),
        }
    }
}

/// Serializes the counts summed over the launches, and the counts for each launch under `launches`.
fn nested<S: Serializer>(counters: &Option<simt::Counters>, to: S) -> Result<S::Ok, S::Error> {
    let object = |counts: &simt::Counts| -> Map<String, Json> {
        counts.fields().map(|(name, value)| (name.to_owned(), value.into())).collect()
    };
    let nested = counters.as_ref().map(|counters| {
        let launches = counters.launches.iter().map(|launch| object(&launch.counts).into());
        let mut total = object(&counters.total);
        total.insert("launches".into(), Json::Array(launches.collect()));
        total
    });
    nested.serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            step: "v0-naive".into(),
            device: "GPU, the \"first\"".into(),
            n: 33,
            r#type: "f32",
            threads: 64,
            launches: 1,
            sum: Value::Float(2.5e-7),
            expected: Value::Float(33.0),
            verified: false,
            error: 0.0,
            bound: 1e-7,
            timing: None,
            counts: None,
            counted: None,
        }
    }

    #[test]
    fn times_are_in_microseconds_and_rates_are_those_of_the_median() {
        // A million doubles occupy 8 MB. At a median of 10 µs, the rate is 800 GB/s, and the peak
        // is 1000 GB/s.
        let mut outcome = Outcome::made_up("v0-naive", 1_000_000, &[8e-6, 10e-6, 16e-6]);
        outcome.copy = Some(0.25);
        let record = Record::of(&outcome);
        let times = record.timing.unwrap();
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
        for (found, expected) in [
            (times.median_us, 10.0),
            (times.q1_us, 9.0),
            (times.q3_us, 13.0),
            (times.gb_per_s, 800.0),
            (times.bus_share.unwrap(), 0.8),
            (times.elements_per_s, 1e11),
            (times.copy_us.unwrap(), 250_000.0),
        ] {
            near(found, expected);
        }
        assert_eq!((times.samples, times.cold, record.verified), (3, true, true));
    }

    #[test]
    fn a_comma_in_a_name_stays_in_its_cell() {
        let text = Record::csv_header().unwrap() + &record().csv().unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let names = reader.headers().unwrap().clone();
        let row = reader.records().next().unwrap().unwrap();
        assert_eq!(row.len(), names.len());
        assert_eq!(&row[1], "GPU, the \"first\"");
        assert_eq!((&row[6], &row[7], &row[10]), ("0.00000025", "33", "0.0000001"));
        assert_eq!(&row[11], "", "no time was taken");
    }

    #[test]
    fn a_line_of_json_is_one_object() {
        let line = record().json().unwrap();
        let read: Json = serde_json::from_str(&line).unwrap();
        assert_eq!((line.lines().count(), &line[line.len() - 1..]), (1, "\n"));
        assert_eq!(read["device"], "GPU, the \"first\"");
        assert_eq!((&read["sum"], &read["timing"]), (&Json::from(2.5e-7), &Json::Null));
        assert!(read.get("counted").is_none(), "the GPU did not count");
    }

    #[test]
    fn the_gpu_s_counts_have_cupti_s_names() {
        let mut outcome = Outcome::made_up("v0-naive", 1000, &[1e-6]);
        let mut values = [0.0; METRICS.len()];
        values.iter_mut().enumerate().for_each(|(index, value)| *value = index as f64);
        let counts = simt::Counts { shared_ld: 7, ..Default::default() };
        outcome.counted = Some(Counted {
            version: "13.0".into(),
            passes: 4,
            hardware: vec![values],
            interpreter: Ok(vec![counts]),
        });
        let read: Json = serde_json::from_str(&Record::of(&outcome).json().unwrap()).unwrap();
        let counted = &read["counted"];
        assert_eq!((&counted["cupti"], &counted["passes"]), (&Json::from("13.0"), &Json::from(4)));
        // No count agrees: the interpreter's first count is 7 and its others are 0, whereas the
        // hardware's counts are 0 to 7.
        assert_eq!((&counted["equal"], &counted["differ"]), (&Json::from(0), &Json::from(8)));
        for (index, name) in METRICS.iter().enumerate() {
            assert_eq!(counted["launches"][0][*name], index as f64, "{name}");
        }
    }
}
