//! The file `env.toml`: where and how a run was taken.

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The environment of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Env {
    /// Date, commit and command.
    pub run: Taken,
    /// The GPU.
    pub gpu: Gpu,
    /// The method.
    pub method: Method,
    /// The measured variants, in the order of the tables.
    #[serde(default)]
    pub variant: Vec<Variant>,
    /// The variants that were not measured, with the reasons.
    #[serde(default)]
    pub absent: Vec<Absent>,
}

/// Date, commit and command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The date in UTC, such as `2026-11-21`.
    pub date: String,
    /// The time in UTC, such as `14:03:07`.
    pub time: String,
    /// The commit that the program was built from; followed by `+` if there were uncommitted changes.
    pub commit: String,
    /// The command line.
    pub command: String,
    /// Seconds from start to end.
    pub seconds: f64,
}

/// A GPU as it was found. The program changes none of its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Its name.
    pub name: String,
    /// The architecture, such as `sm_90`.
    pub architecture: String,
    /// The number of multiprocessors.
    pub sms: u32,
    /// Bytes of L2 cache.
    pub l2_bytes: u64,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bits of the memory bus.
    pub bus_bits: u32,
    /// The memory clock; data is transferred on both edges.
    pub memory_mhz: u32,
    /// The memory bus's peak in bytes per second: 2 × memory clock × width; 0 if unknown.
    pub bus_bytes_per_second: f64,
    /// The highest SM clock.
    pub sm_mhz_max: u32,
    /// The SM clock at the start, under load; samples below it are discarded. 0 if it cannot be read.
    pub sm_mhz_start: u32,
    /// The driver's version; empty if NVML is not available.
    pub driver: String,
    /// The CUDA version of the driver.
    pub cuda: String,
    /// Degrees Celsius at the start and at the end; empty if they cannot be read.
    #[serde(default)]
    pub celsius: Vec<u32>,
    /// Watts at the start and at the end; empty if they cannot be read.
    #[serde(default)]
    pub watts: Vec<u32>,
    /// The reason that NVML is not available; empty if it is.
    #[serde(default)]
    pub nvml: String,
}

/// How the samples were taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// The distribution of the elements.
    pub input: String,
    /// The seed of the elements.
    pub seed: u64,
    /// Whether the stream was held back until all launches of a sample were queued (GPU-gated).
    pub gated: bool,
    /// Bytes of the copies of the input, which cold samples read in rotation.
    pub pool_bytes: u64,
    /// The width of a paired ratio's interval, relative to the ratio, at which a cell has converged.
    pub target: f64,
    /// The maximum number of rounds of a cell.
    pub rounds: u32,
    /// The PTX of the kernels.
    pub ptx: String,
    /// Versions of the peers' libraries.
    pub peers: String,
}

/// A measured variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// A description in one line.
    pub what: String,
    /// How often it transfers the input's bytes over the bus: once, but twice for a copy.
    #[serde(default = "once")]
    pub moves: u32,
    /// Bytes of the largest input that it supports; 0 if any size is supported. Larger sizes have no row.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub up_to: u64,
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

fn once() -> u32 {
    1
}

/// The additions of another program to a run: `python.toml`, beside `python.csv`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct More {
    /// The measured variants.
    #[serde(default)]
    pub variant: Vec<Variant>,
    /// The variants that were not measured, with the reasons.
    #[serde(default)]
    pub absent: Vec<Absent>,
}

/// The role of a variant, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A step of the ladder.
    Step,
    /// The crate `reduce`.
    #[serde(rename = "library")]
    Reduce,
    /// A variant of a step: the step with another kernel.
    Experiment,
    /// A kernel of a study.
    Study,
    /// A sum of another library.
    Peer,
    /// An upper bound for bandwidths: a kernel that only reads, and a copy.
    Ceiling,
    /// A lower bound for times: an empty kernel.
    Floor,
}

/// The peer that is the baseline, if it was measured.
pub const PEER: &str = "cub";

impl Role {
    /// Whether it computes the sum.
    pub fn sums(self) -> bool {
        matches!(self, Role::Step | Role::Reduce | Role::Experiment | Role::Study | Role::Peer)
    }
}

/// A variant that was not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    /// Its name.
    pub variant: String,
    /// The element type; empty for all types.
    #[serde(rename = "type", default)]
    pub element: String,
    /// The number of elements; 0 for all sizes.
    #[serde(default)]
    pub n: u64,
    /// The reason.
    pub reason: String,
}

impl Env {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Env> {
        read_toml(path)
    }

    /// Writes a file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = toml::to_string_pretty(self).map_err(|error| Error::Toml {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
        fs::write(path, text).map_err(Error::writing(path))
    }

    /// The variants of a role, in order.
    pub fn of(&self, role: Role) -> impl Iterator<Item = &Variant> {
        self.variant.iter().filter(move |variant| variant.role == role)
    }
}

pub(crate) fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = crate::file::read(path)?;
    toml::from_str(&String::from_utf8_lossy(&text)).map_err(|error| Error::Toml {
        path: path.display().to_string(),
        reason: error.to_string().trim_end().to_owned(),
    })
}
