//! One sample: the row of `raw.csv.gz`.

use std::{
    fmt, fs,
    io::{Read, Write},
    path::{Path, PathBuf},
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Error, Result};

/// The time of one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// What was run: a step, a peer, a floor or a ceiling.
    pub variant: String,
    /// The type of an element.
    #[serde(rename = "type")]
    pub element: String,
    /// Threads of a block; 0 where the variant has its own.
    pub threads: u32,
    /// Elements.
    pub n: u64,
    /// Where the elements were when the call began.
    pub cache: Cache,
    /// Whose clock it was.
    pub clock: Clock,
    /// The round: samples of one round were taken one after the other, and are compared as pairs.
    pub round: u32,
    /// Nanoseconds.
    pub ns: u64,
}

/// Where the input is when a call begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// In memory: this copy has not been read for at least a gigabyte of other reads.
    Cold,
    /// In L2: it has just been read.
    Warm,
}

/// Whose clock took a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Events on the GPU, all launches queued before the first began.
    Gpu,
    /// The host's: from the call until the sum is in host memory.
    Host,
    /// Events on the GPU around a call on an idle stream, with nothing held back: what the host
    /// takes to launch is in it. Most published times are of this kind.
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
    /// Where a run's folder has its samples: `raw.csv.gz`, or `raw.csv` if somebody unpacked it.
    pub fn path(folder: &Path) -> PathBuf {
        let packed = folder.join("raw.csv.gz");
        if packed.exists() { packed } else { folder.join("raw.csv") }
    }

    /// Reads a file of samples. An empty time or size is refused: nothing takes no time.
    pub fn read(path: &Path) -> Result<Vec<Sample>> {
        let samples: Vec<Sample> = read_csv(path)?;
        match samples.iter().position(|s| s.ns == 0 || s.n == 0 || s.variant.is_empty()) {
            None => Ok(samples),
            Some(index) => Err(Error::Line {
                path: path.display().to_string(),
                line: index as u64 + 2,
                reason: "a sample has a variant, at least one element and at least one nanosecond"
                    .into(),
            }),
        }
    }

    /// Writes a file of samples; packed if its name ends in `.gz`.
    pub fn write(path: &Path, samples: &[Sample]) -> Result<()> {
        write_csv(path, samples)
    }
}

fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// Reads rows below a header.
pub(crate) fn read_csv<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let mut text = fs::read(path).map_err(Error::reading(path))?;
    if is_packed(path) {
        let packed = std::mem::take(&mut text);
        GzDecoder::new(packed.as_slice()).read_to_end(&mut text).map_err(Error::reading(path))?;
    }
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

/// The parser's words without the place, which is named already.
fn reason(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => err.to_string(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} fields, where the header has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "it is no UTF-8".into(),
        _ => error.to_string(),
    }
}

/// Writes rows below a header.
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
