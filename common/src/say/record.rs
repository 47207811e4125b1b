//! An outcome as one flat record: the row of JSON and CSV.

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::{
    run::{Outcome, Timing},
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
    counts: Option<Json>,
}

/// Times, in microseconds, and what follows from them.
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

impl Record {
    /// The record of an outcome.
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
            verified: verdict.verified(),
            error: verdict.error,
            bound: verdict.bound,
            timing: outcome.timing.as_ref().map(|timing| Times::of(outcome, timing)),
            counts: outcome.observed.as_ref().map(|observed| counts(&observed.counters)),
        }
    }

    /// The header of CSV.
    pub fn csv_header() -> String {
        let fixed = "step,device,n,type,threads,launches,sum,expected,verified,error,bound,\
                     median_us,q1_us,q3_us,samples,cold,gb_per_s,bus_share,elements_per_s,copy_us";
        let counts = simt::Counts::default();
        counts.fields().fold(fixed.to_owned(), |header, (name, _)| header + "," + name)
    }

    /// The row of CSV; what was not measured is empty.
    pub fn csv(&self) -> String {
        let Record {
            step,
            device,
            n,
            r#type,
            threads,
            launches,
            sum,
            expected,
            verified,
            error,
            bound,
            ..
        } = self;
        let mut row = format!(
            "{step},{device},{n},{type},{threads},{launches},{sum},{expected},{verified},{error},{bound}"
        );
        let times = self.timing.as_ref().map(|times| json!(times));
        let time = |name: &str| {
            times.as_ref().map(|times| times[name].clone()).filter(|value| !value.is_null())
        };
        let names = [
            "median_us",
            "q1_us",
            "q3_us",
            "samples",
            "cold",
            "gb_per_s",
            "bus_share",
            "elements_per_s",
            "copy_us",
        ];
        let count = |name: &str| self.counts.as_ref().map(|counts| counts[name].clone());
        let counts = simt::Counts::default();
        let cells = names.into_iter().map(time).chain(counts.fields().map(|(name, _)| count(name)));
        for cell in cells {
            row.push(',');
            row.push_str(&cell.map_or(String::new(), |value| value.to_string()));
        }
        row
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

/// Counts summed over the launches, with those of each launch under `launches`.
fn counts(counters: &simt::Counters) -> Json {
    let mut total = object(&counters.total);
    let launches =
        counters.launches.iter().map(|launch| Json::Object(object(&launch.counts))).collect();
    total.insert("launches".into(), Json::Array(launches));
    Json::Object(total)
}

fn object(counts: &simt::Counts) -> Map<String, Json> {
    counts.fields().map(|(name, value)| (name.to_owned(), value.into())).collect()
}
