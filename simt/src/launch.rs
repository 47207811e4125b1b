//! The description of a launch: its entry, shape, arguments, schedule and limits.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use crate::arch::Arch;

/// One kernel argument, by value. A pointer is the `u64` that `Gpu::alloc` returned.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// An unsigned 8-bit integer.
    U8(u8),
    /// An unsigned 16-bit integer.
    U16(u16),
    /// An unsigned 32-bit integer.
    U32(u32),
    /// A signed 32-bit integer.
    I32(i32),
    /// An unsigned 64-bit integer, or a device pointer.
    U64(u64),
    /// A signed 64-bit integer.
    I64(i64),
    /// A single-precision float.
    F32(f32),
    /// A double-precision float.
    F64(f64),
    /// A structure passed by value.
    Bytes(Vec<u8>),
}

impl Arg {
    /// Returns the bytes of the argument in parameter space.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Arg::U8(v) => vec![*v],
            Arg::U16(v) => v.to_le_bytes().to_vec(),
            Arg::U32(v) => v.to_le_bytes().to_vec(),
            Arg::I32(v) => v.to_le_bytes().to_vec(),
            Arg::U64(v) => v.to_le_bytes().to_vec(),
            Arg::I64(v) => v.to_le_bytes().to_vec(),
            Arg::F32(v) => v.to_le_bytes().to_vec(),
            Arg::F64(v) => v.to_le_bytes().to_vec(),
            Arg::Bytes(v) => v.clone(),
        }
    }
}

/// The description of a launch. All fields are public, so you can write a launch as a struct
/// literal.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch<'a> {
    /// Name of the entry in the module.
    pub entry: &'a str,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads per block in x, y, z, of which there may be at most 1024 in total.
    pub block: [u32; 3],
    /// Blocks per cluster in x, y, z; `[1, 1, 1]` for no clusters.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory per block.
    pub shared: u32,
    /// The arguments, in the order of the parameters.
    pub args: Vec<Arg>,
}

/// The order of execution, which is one of the many orders that the ISA allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// Diverged lanes reconverge at the immediate post-dominator. Counts are defined for this
    /// schedule.
    #[default]
    Converged,
    /// The lanes with the lowest program counter run first, if they can run.
    MinPc,
    /// Lanes, warps and blocks run ahead of each other at random, but only up to the next `.sync`.
    /// In global memory, reductions and relaxed or volatile stores may take effect late, and relaxed
    /// or volatile loads may return older values. The number is the seed.
    Adversarial(u64),
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Converged => f.write_str("converged"),
            Schedule::MinPc => f.write_str("min-pc"),
            Schedule::Adversarial(seed) => write!(f, "adversarial:{seed}"),
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "converged" => Ok(Schedule::Converged),
            None if text == "min-pc" => Ok(Schedule::MinPc),
            None if text == "adversarial" => Ok(Schedule::Adversarial(0)),
            Some(("adversarial", seed)) => match seed.parse() {
                Ok(seed) => Ok(Schedule::Adversarial(seed)),
                Err(_) => Err(format!("`{seed}` is not a seed: give an integer from 0 to 2^64-1")),
            },
            _ => Err(format!(
                "`{text}` is not a schedule: choose converged, min-pc or adversarial:SEED"
            )),
        }
    }
}

/// The simulated device, and the limits of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// The order of execution.
    pub schedule: Schedule,
    /// The limits of a launch; see [`Config::play`].
    pub arch: Arch,
    /// Number of multiprocessors that the device reports; also `%nsmid`.
    pub sm_count: u32,
    /// The longest time that may pass in a launch without any block finishing. After that time, and
    /// at least a million warp instructions for each second of it, the launch counts as an endless
    /// loop. `None` sets no limit.
    pub patience: Option<Duration>,
    /// Number of warp instructions that a launch may execute.
    pub budget: u64,
    /// Number of warp instructions that one block (or cluster) may execute.
    pub block_budget: u64,
    /// Number of worker threads; 0 for one per core. Results do not depend on this number.
    pub threads: usize,
    /// Size of global memory, in bytes.
    pub memory: u64,
    /// The linear indices of the blocks to run; `None` for all blocks. Choose a range if the whole
    /// grid would take too long. A cluster runs completely or not at all.
    pub blocks: Option<Range<u64>>,
    /// Whether a random schedule delays blocks before atomics and before volatile or relaxed stores
    /// to global memory, while other blocks continue. An update that consists of a load and a store
    /// then overwrites the updates of other blocks.
    pub stalls: bool,
}

impl Config {
    /// Simulates another GPU, including its number of multiprocessors.
    pub fn play(&mut self, arch: Arch) {
        (self.arch, self.sm_count) = (arch, arch.sms);
    }
}

impl Default for Config {
    fn default() -> Self {
        let arch = Arch::default();
        Config {
            schedule: Schedule::Converged,
            arch,
            sm_count: arch.sms,
            patience: Some(Duration::from_secs(10)),
            budget: 1 << 36,
            block_budget: 1 << 28,
            threads: 0,
            memory: 16 << 30,
            blocks: None,
            stalls: false,
        }
    }
}
