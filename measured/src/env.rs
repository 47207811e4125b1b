//! Where and how a run was taken: `env.toml`.

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The environment of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Env {
    /// When, from what, by which command.
    pub run: Taken,
    /// The GPU.
    pub gpu: Gpu,
    /// How it was measured.
    pub method: Method,
    /// What was measured, in the order of every table.
    #[serde(default)]
    pub variant: Vec<Variant>,
    /// What was not, and why.
    #[serde(default)]
    pub absent: Vec<Absent>,
}

/// When, from what, by which command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// UTC, as `2026-11-21`.
    pub date: String,
    /// UTC, as `14:03:07`.
    pub time: String,
    /// The commit that the program was built from; `+` behind it: and changes.
    pub commit: String,
    /// The command line.
    pub command: String,
    /// Seconds from start to end.
    pub seconds: f64,
}

/// A GPU, as it was found: nothing is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Its name.
    pub name: String,
    /// As `sm_90`.
    pub architecture: String,
    /// Multiprocessors.
    pub sms: u32,
    /// Bytes of L2 cache.
    pub l2_bytes: u64,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bits of the memory bus.
    pub bus_bits: u32,
    /// The memory's clock; data moves on both of its edges.
    pub memory_mhz: u32,
    /// Bytes a second that the bus moves at its peak: 2 × memory clock × width. 0: unknown.
    pub bus_bytes_per_second: f64,
    /// The highest SM clock.
    pub sm_mhz_max: u32,
    /// The SM clock at the start, under load; samples below it are thrown away. 0: not readable.
    pub sm_mhz_start: u32,
    /// The driver's version; empty where NVML is not there to say it.
    pub driver: String,
    /// The CUDA version of the driver.
    pub cuda: String,
    /// Degrees Celsius at the start and at the end; empty where they cannot be read.
    #[serde(default)]
    pub celsius: Vec<u32>,
    /// Watts at the start and at the end; empty where they cannot be read.
    #[serde(default)]
    pub watts: Vec<u32>,
    /// Why NVML could not be asked; empty where it could.
    #[serde(default)]
    pub nvml: String,
}

/// How the samples were taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// What the elements are.
    pub input: String,
    /// The seed they come from.
    pub seed: u64,
    /// Whether the stream was held back until all launches of a sample were queued.
    pub gated: bool,
    /// Bytes of copies of the input that cold samples walk through.
    pub pool_bytes: u64,
    /// The width of a paired ratio's interval, relative to it, at which a cell has converged.
    pub target: f64,
    /// The most rounds of a cell.
    pub rounds: u32,
    /// The PTX of the kernels.
    pub ptx: String,
    /// Versions of the peers' libraries.
    pub peers: String,
}

/// One thing that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Its part.
    pub role: Role,
    /// One line on it.
    pub what: String,
    /// How often it moves the input's bytes over the bus: once, or twice for a copy.
    #[serde(default = "once")]
    pub moves: u32,
    /// Bytes of the largest input that it is meant for; 0 for any. Above it, it has no row.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub up_to: u64,
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

fn once() -> u32 {
    1
}

/// What a run of other tools adds: `python.toml`, beside `python.csv`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct More {
    /// What was measured.
    #[serde(default)]
    pub variant: Vec<Variant>,
    /// What was not, and why.
    #[serde(default)]
    pub absent: Vec<Absent>,
}

/// The part that a variant plays, in the order of every table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A step of the ladder.
    Step,
    /// `reduce`, which the ladder ends in.
    #[serde(rename = "library")]
    Reduce,
    /// A kept experiment: a step with another kernel.
    Experiment,
    /// One of several ways to a sum, from a study.
    Study,
    /// Somebody else's sum.
    Peer,
    /// What no kernel goes above: reading and copying alone.
    Ceiling,
    /// What no kernel goes below: an empty one.
    Floor,
}

/// The peer that everything is held against, if it was there.
pub const PEER: &str = "cub";

impl Role {
    /// Whether it computes the sum.
    pub fn sums(self) -> bool {
        matches!(self, Role::Step | Role::Reduce | Role::Experiment | Role::Study | Role::Peer)
    }
}

/// What was not measured, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    /// Its name.
    pub variant: String,
    /// The type; empty for all.
    #[serde(rename = "type", default)]
    pub element: String,
    /// Elements; 0 for all.
    #[serde(default)]
    pub n: u64,
    /// Why.
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
    let text = fs::read_to_string(path).map_err(Error::reading(path))?;
    toml::from_str(&text).map_err(|error| Error::Toml {
        path: path.display().to_string(),
        reason: error.to_string().trim_end().to_owned(),
    })
}
