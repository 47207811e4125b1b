//! A sample, and the file of all samples, `raw.csv.gz`. A line holds the times from consecutive
//! rounds, so that a million samples take only a megabyte. Files with one sample per line can be
//! read too.

use std::{
    fmt, fs,
    io::Write,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Error, Result, file::is_packed};

/// The time of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The variant, which is a step, a peer, a floor or a ceiling.
    pub variant: String,
    /// The element type.
    pub element: String,
    /// The number of threads per block; 0 if the variant has its own block size.
    pub threads: u32,
    /// The number of elements.
    pub n: u64,
    /// The cache state when the call began.
    pub cache: Cache,
    /// The timer.
    pub clock: Clock,
    /// The round. The samples in a round were taken one after another, and are compared as pairs.
    pub round: u32,
    /// The time in nanoseconds.
    pub ns: u64,
}

/// The cache state when a call begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// The input is in memory. Since this copy was last read, at least a gigabyte of other memory
    /// has been read.
    Cold,
    /// The input is in L2, because it has just been read.
    Warm,
}

/// The timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Events on the GPU; all launches were queued before the first one began.
    Gpu,
    /// Wall time, from the call until the sum is in host memory.
    Host,
    /// Events on the GPU around a call on an ungated, idle stream. The time includes the host's
    /// launch latency. Most published times are of this kind.
    Ungated,
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cache::Cold => "cold",
            Cache::Warm => "warm",
        })
    }
}

impl Sample {
    /// Returns the path of the file with a run's samples: `raw.csv.gz`, or `raw.csv` if it was
    /// unpacked.
    pub fn path(folder: &Path) -> PathBuf {
        let packed = folder.join("raw.csv.gz");
        if packed.exists() { packed } else { folder.join("raw.csv") }
    }

    /// Reads a file of samples. A line without a time, or with zero elements, is an error.
    pub fn read(path: &Path) -> Result<Vec<Sample>> {
        let mut samples = Vec::new();
        for (index, line) in read_csv::<Line>(path)?.iter().enumerate() {
            line.samples(&mut samples).map_err(|reason| Error::Line {
                path: path.display().to_string(),
                line: index as u64 + 2,
                reason,
            })?;
        }
        Ok(samples)
    }

    /// Writes a file of samples, compressed if its name ends in `.gz`.
    pub fn write(path: &Path, samples: &[Sample]) -> Result<()> {
        let next = |a: &Sample, b: &Sample| {
            let here = |s: &Sample| Sample { round: 0, ns: 0, ..s.clone() };
            here(a) == here(b) && b.round == a.round + 1
        };
        write_csv(path, &samples.chunk_by(next).map(Line::of).collect::<Vec<_>>())
    }
}

/// A line in a file of samples, with the times from consecutive rounds, starting with `round`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    variant: String,
    #[serde(rename = "type")]
    element: String,
    threads: u32,
    n: u64,
    cache: Cache,
    clock: Clock,
    round: u32,
    /// The times in nanoseconds, separated by spaces.
    ns: String,
}

impl Line {
    /// Returns the line for samples that differ only in their rounds and times.
    fn of(samples: &[Sample]) -> Line {
        let Sample { variant, element, threads, n, cache, clock, round, .. } = samples[0].clone();
        let times: Vec<String> = samples.iter().map(|sample| sample.ns.to_string()).collect();
        Line { variant, element, threads, n, cache, clock, round, ns: times.join(" ") }
    }

    fn samples(&self, samples: &mut Vec<Sample>) -> Result<(), String> {
        let Line { variant, element, threads, n, cache, clock, round, ns } = self;
        for (at, time) in (0..).zip(ns.split(' ')) {
            let ns: u64 =
                time.parse().map_err(|_| format!("`{time}` is not a number of nanoseconds"))?;
            if ns == 0 || *n == 0 || variant.is_empty() {
                return Err(
                    "a sample must have a variant, at least one element and a time of at least one nanosecond"
                        .into(),
                );
            }
            let round =
                round.checked_add(at).ok_or("the number of a round does not fit into 32 bits")?;
            samples.push(Sample {
                variant: variant.clone(),
                element: element.clone(),
                threads: *threads,
                n: *n,
                cache: *cache,
                clock: *clock,
                round,
                ns,
            });
        }
        Ok(())
    }
}

/// Reads the rows after a header.
pub(crate) fn read_csv<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = crate::file::read(path)?;
    let mut reader = csv::Reader::from_reader(text.as_slice());
    let rows = reader.deserialize().map(|row| {
        row.map_err(|error: csv::Error| Error::Line {
            path: path.display().to_string(),
            line: error.position().map_or(0, csv::Position::line),
            reason: reason(&error),
        })
    });
    rows.collect()
}

/// Returns the parser's message without the location, which the error already names.
fn reason(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => err.to_string(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("the line has {len} fields, but the header has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "it is not UTF-8".into(),
        _ => error.to_string(),
    }
}

/// Writes the header and the rows.
pub(crate) fn write_csv<T: Serialize>(path: &Path, rows: &[T]) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let text = rows
        .iter()
        .try_for_each(|row| writer.serialize(row))
        .map_err(|error| std::io::Error::other(error.to_string()))
        .and_then(|()| writer.into_inner().map_err(|error| error.into_error()));
    let packed = text.and_then(|text| {
        if !is_packed(path) {
            return Ok(text);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&text)?;
        encoder.finish()
    });
    packed.and_then(|bytes| fs::write(path, bytes)).map_err(Error::writing(path))
}
