//! The file `env.toml`, which records where and how a run was made.

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The environment of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Env {
    /// The date, the commit and the command.
    pub run: Taken,
    /// The GPU on which the run was made.
    pub gpu: Gpu,
    /// The measurement method.
    pub method: Method,
    /// The measured variants, in the order of the tables.
    #[serde(default)]
    pub variant: Vec<Variant>,
    /// The variants that were not measured, with the reasons.
    #[serde(default)]
    pub absent: Vec<Absent>,
}

/// The date, the commit and the command of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The date in UTC, such as `2026-11-21`.
    pub date: String,
    /// The time in UTC, such as `14:03:07`.
    pub time: String,
    /// The commit that the program was built from, followed by `+` if there were uncommitted
    /// changes.
    pub commit: String,
    /// The command line.
    pub command: String,
    /// The duration of the run, in seconds.
    pub seconds: f64,
}

/// A GPU, in the state in which the program found it. The program changes none of the GPU's
/// settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// The GPU's name.
    pub name: String,
    /// The architecture, such as `sm_90`.
    pub architecture: String,
    /// The number of multiprocessors.
    pub sms: u32,
    /// The size of the L2 cache, in bytes.
    pub l2_bytes: u64,
    /// The size of the device memory, in bytes.
    pub memory_bytes: u64,
    /// The width of the memory bus, in bits.
    pub bus_bits: u32,
    /// The memory clock rate, in MHz; data is transferred on both edges.
    pub memory_mhz: u32,
    /// The peak bandwidth of the memory bus, in bytes per second: 2 × memory clock × width; 0 if
    /// unknown.
    pub bus_bytes_per_second: f64,
    /// The highest SM clock rate, in MHz.
    pub sm_mhz_max: u32,
    /// The SM clock rate at the start, under load, in MHz; 0 if it cannot be read. Samples taken
    /// below this rate are discarded.
    pub sm_mhz_start: u32,
    /// The driver's version; empty if NVML is not available.
    pub driver: String,
    /// The CUDA version that the driver supports.
    pub cuda: String,
    /// The temperatures at the start and at the end, in degrees Celsius; empty if they cannot be
    /// read.
    #[serde(default)]
    pub celsius: Vec<u32>,
    /// The power at the start and at the end, in watts; empty if it cannot be read.
    #[serde(default)]
    pub watts: Vec<u32>,
    /// The reason why NVML is not available; empty if it is available.
    #[serde(default)]
    pub nvml: String,
}

/// The method by which the samples were taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// The distribution of the elements.
    pub input: String,
    /// The seed for the elements.
    pub seed: u64,
    /// Whether the stream was held back until all launches of a sample were queued (GPU-gated).
    pub gated: bool,
    /// The total size of the input's copies, in bytes. Cold samples read the copies in
    /// rotation.
    pub pool_bytes: u64,
    /// The width of a paired ratio's interval, relative to the ratio, at which a cell has
    /// converged.
    pub target: f64,
    /// The maximum number of rounds for a cell.
    pub rounds: u32,
    /// A description of the kernels' PTX.
    pub ptx: String,
    /// The versions of the peers' libraries.
    pub peers: String,
}

/// A measured variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// The variant's name.
    pub name: String,
    /// The variant's role.
    pub role: Role,
    /// A description in one line.
    pub what: String,
    /// The number of times that the variant transfers the input's bytes over the bus: one, or two
    /// for a copy.
    #[serde(default = "once")]
    pub moves: u32,
    /// The size of the largest input that the variant supports, in bytes; 0 if any size is
    /// supported. Larger sizes have no row.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub up_to: u64,
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

fn once() -> u32 {
    1
}

/// The file `python.toml`, which another program adds to a run together with `python.csv`.
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
    /// The library, which is the crate `reduce`.
    #[serde(rename = "library")]
    Reduce,
    /// A variant of a step: the step with another kernel.
    Experiment,
    /// A kernel of a study.
    Study,
    /// A sum from another library.
    Peer,
    /// A kernel that only reads, or a copy, whose bandwidth is an upper bound.
    Ceiling,
    /// An empty kernel, whose time is a lower bound.
    Floor,
}

/// The name of the peer that is the baseline if it was measured.
pub const PEER: &str = "cub";

impl Role {
    /// Returns whether a variant in this role computes the sum.
    pub fn sums(self) -> bool {
        matches!(self, Role::Step | Role::Reduce | Role::Experiment | Role::Study | Role::Peer)
    }
}

/// A variant that was not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    /// The variant's name.
    pub variant: String,
    /// The element type; empty means all types.
    #[serde(rename = "type", default)]
    pub element: String,
    /// The number of elements; 0 means all sizes.
    #[serde(default)]
    pub n: u64,
    /// The reason why the variant was not measured.
    pub reason: String,
}

impl Env {
    /// Reads an `env.toml` file.
    pub fn read(path: &Path) -> Result<Env> {
        read_toml(path)
    }

    /// Writes an `env.toml` file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = toml::to_string_pretty(self).map_err(|error| Error::Toml {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
        fs::write(path, text).map_err(Error::writing(path))
    }

    /// Returns the variants that have a role, in the order of the file.
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
