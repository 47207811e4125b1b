//! A GPU as a table of measured latencies and rates.

use crate::{code::Kind, error::Error};

/// The parameters of a GPU in the model. Cycles are those of the multiprocessor clock.
#[derive(Clone, Debug)]
pub struct Gpu {
    /// The name of the GPU.
    pub name: String,
    /// The source of the table: probes or a data sheet.
    pub source: &'static str,
    /// The number of multiprocessors.
    pub sms: u32,
    /// The clock rate, in MHz (cycles per microsecond).
    pub mhz: f64,
    /// The compute capability, times ten; a kernel for a newer compute capability does not run.
    pub capability: u32,
    /// For each [`Kind`], the cycles until a dependent instruction can issue.
    pub latency: [f64; Kind::COUNT],
    /// For each [`Kind`], the cycles for which a warp instruction occupies its unit.
    pub cycles: [f64; Kind::COUNT],
    /// The latency of a block barrier in cycles: a constant, and the cycles that each warp adds.
    pub barrier: [f64; 2],
    /// The latency, in cycles, of an instruction-cache miss. In each launch, the first execution of
    /// each line of code on a multiprocessor misses.
    pub fetch: f64,
    /// The latency, in cycles, of a multiprocessor's first load from memory in a launch.
    pub first: f64,
    /// The latency, in cycles, of a load that hits in L2, when nothing else is in flight.
    pub l2: f64,
    /// The latency, in cycles, of an atomic that returns a value.
    pub atomic: f64,
    /// The minimum number of cycles between two atomics on one address, regardless of which lanes
    /// on the GPU issue them.
    pub same: f64,
    /// The latency, in cycles, of a fence after a store.
    pub fence: f64,
    /// The minimum number of cycles between the starts of two blocks on a multiprocessor.
    pub block: f64,
    /// Cycles from the end of a block to the start of the block that replaces it.
    pub replace: f64,
    /// The time of the first launch of a sum and of each later launch, in microseconds, measured
    /// with empty kernels.
    pub launch: [f64; 2],
    /// Bytes per cycle that all multiprocessors together can load from memory.
    pub dram: f64,
    /// Bytes per cycle that one multiprocessor can load from L2 (the first value) and from memory
    /// (the second value).
    pub sm_bytes: [f64; 2],
    /// Loaded latency: pairs of a memory throughput, in bytes per cycle, and the latency of a load
    /// at that throughput, in cycles.
    pub load: Vec<[f64; 2]>,
    /// The prediction errors in the validation, as 90th percentiles: in microseconds for small
    /// inputs, as a fraction of the time for larger inputs, and as a fraction of the ratio of two
    /// kernels.
    pub errors: [f64; 3],
    /// The limits of a multiprocessor: threads, blocks, registers, and bytes of shared memory.
    pub limits: Limits,
}

/// The limits of a multiprocessor.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of resident threads.
    pub threads: u32,
    /// The maximum number of resident blocks.
    pub blocks: u32,
    /// The number of 32-bit registers.
    pub registers: u32,
    /// The number of bytes of shared memory.
    pub shared: u32,
    /// The maximum number of bytes of shared memory per block.
    pub shared_block: u32,
    /// The number of blocks in the largest cluster; 1 if clusters are not supported.
    pub cluster: u32,
}

/// Inputs up to this many elements are small: launches and latencies dominate their times.
pub const SMALL: u64 = 1 << 16;

/// The limits of sm_90, from the CUDA programming guide.
const SM_90: Limits = Limits {
    threads: 2048,
    blocks: 32,
    registers: 65536,
    shared: 228 << 10,
    shared_block: 227 << 10,
    cluster: 16,
};

/// The highest throughput in a table of loaded latencies, as a fraction of the memory bandwidth,
/// must be at least this value.
const MOST_OF: f64 = 0.8;

/// The maximum number of multiprocessors in a valid table. No GPU has more.
const MOST_SMS: f64 = 4096.0;

/// The minimum number of cycles between two atomics on one address, for tables that were made
/// before `probe.cu` measured this number. The value is an assumption.
const SAME: f64 = 1.0;

/// The number of cycles to fetch a line of code for the first time. It was fitted, in increments of
/// ten, to the times of the steps at 2^10 elements on the H200.
const FETCH: f64 = 50.0;

impl Gpu {
    /// Returns the range of a predicted time for `n` elements.
    pub fn range(&self, us: f64, n: u64) -> [f64; 2] {
        let [small, large, _] = self.errors;
        let error = if n <= SMALL { small } else { us * large };
        [(us - error).max(0.0), us + error]
    }

    /// Parses the outputs of the programs `probe.cu` and `latency.cu`. Each output is given as the
    /// name and the text of a file.
    pub fn parse([probes, load]: [(&str, &str); 2]) -> Result<Gpu, Error> {
        let (table, load) = (Table::whole(probes)?, Table::whole(load)?);
        let get = |key: &str| table.number(key);
        let mhz = get("mhz")?;
        let sms = get("sms")?;
        if sms > MOST_SMS {
            return Err(Error::Number {
                file: table.file.to_owned(),
                key: "sms".to_owned(),
                value: sms.to_string(),
            });
        }
        let pair = |kind: &str| -> Result<[f64; 2], Error> {
            Ok([get(&format!("latency_{kind}"))?, get(&format!("cycles_{kind}"))?])
        };
        let mut latency = [0.0; Kind::COUNT];
        let mut cycles = [1.0; Kind::COUNT];
        for kind in Kind::ALL {
            if let Some(key) = kind.key() {
                [latency[kind as usize], cycles[kind as usize]] = pair(key)?;
            }
        }
        // The probe's additions and masks alternate between two units, but most integer
        // instructions need the unit with 16 lanes. The CUDA programming guide gives 64 results per
        // cycle for the four schedulers together.
        cycles[Kind::Int as usize] = 2.0;
        // No probe measures reads of constants; the model assumes that they have the same latency
        // as reads of special registers.
        latency[Kind::Constant as usize] = latency[Kind::Special as usize];
        latency[Kind::WarpBarrier as usize] = get("latency_warp_barrier")?;
        let (least, most) = (get("barrier_32")?, get("barrier_1024")?);
        let each = (most - least) / 31.0;
        let per_us = |gb: f64| gb * 1000.0 / mhz;
        let dram = per_us(get("dram_gb_per_s")?);
        // Tables that were made before `probe.cu` printed the limits are from GPUs of capability
        // 9.0.
        let limit = |key: &str, other: u32| table.number_or(key, other.into()).map(|n| n as u32);
        let capability = limit("capability", 90)?;
        Ok(Gpu {
            name: table.text("name")?.trim_matches('"').to_owned(),
            source: "probes",
            sms: sms.max(1.0) as u32,
            mhz,
            capability,
            latency,
            cycles,
            barrier: [least - each, each],
            fetch: FETCH,
            first: get("first_load_cold")?,
            l2: get("latency_l2")?,
            atomic: get("latency_atomic")?,
            same: table.number_or("cycles_same", SAME)?,
            fence: get("latency_fence")?,
            block: get("block_256")?,
            replace: get("replace_256")?,
            launch: [get("launches_1")?, (get("launches_4")? - get("launches_1")?) / 3.0],
            dram,
            sm_bytes: [per_us(get("l2_gb_per_s_1")?), per_us(get("dram_gb_per_s_1")?)],
            load: latencies(&load, mhz, dram)?,
            errors: [f64::INFINITY; 3],
            limits: Limits {
                threads: limit("sm_threads", SM_90.threads)?,
                blocks: limit("sm_blocks", SM_90.blocks)?,
                registers: limit("sm_registers", SM_90.registers)?,
                shared: limit("sm_shared", SM_90.shared)?,
                shared_block: limit("block_shared", SM_90.shared_block)?,
                cluster: if capability < 90 { 1 } else { SM_90.cluster },
            },
        })
    }

    /// Returns a GPU like this one, but with the latency of idle memory multiplied by `times`. The
    /// queueing delays of busy memory, which depend on its bandwidth, do not change.
    #[must_use]
    pub fn with_latency(mut self, times: f64) -> Gpu {
        let more = (times - 1.0) * self.load[0][1];
        self.first *= times;
        self.load.iter_mut().for_each(|point| point[1] += more);
        self
    }

    /// Returns a GPU like this one, but with the bandwidth of memory multiplied by `times`.
    #[must_use]
    pub fn with_bandwidth(mut self, times: f64) -> Gpu {
        self.dram *= times;
        self.load.iter_mut().for_each(|point| point[0] *= times);
        self
    }

    /// Returns the latency, in cycles, of a load from memory while all multiprocessors together
    /// load `bytes` bytes per cycle.
    pub fn loaded(&self, bytes: f64) -> f64 {
        let [mut below, mut above] = [self.load[0]; 2];
        for &point in &self.load {
            if point[0] <= bytes {
                below = point;
            }
            above = point;
            if point[0] > bytes {
                break;
            }
        }
        let width = above[0] - below[0];
        let at = if width > 0.0 { ((bytes - below[0]) / width).min(1.0) } else { 0.0 };
        below[1] + at * (above[1] - below[1])
    }
}

/// A table of lines of the form `key = value # comment`.
pub(crate) struct Table<'t> {
    pub(crate) file: &'t str,
    pub(crate) text: &'t str,
}

impl<'t> Table<'t> {
    /// Creates a table after checking that its last line is complete.
    fn whole((file, text): (&'t str, &'t str)) -> Result<Table<'t>, Error> {
        if text.ends_with('\n') {
            return Ok(Table { file, text });
        }
        let last = text.lines().last().unwrap_or_default().to_owned();
        Err(Error::Cut { file: file.to_owned(), last })
    }

    fn text(&self, key: &str) -> Result<&str, Error> {
        let entries = self.text.lines().filter_map(|line| line.split('#').next()?.split_once('='));
        let found = entries.into_iter().find(|(name, _)| name.trim() == key);
        let missing = || Error::Table { file: self.file.to_owned(), key: key.to_owned() };
        found.map(|(_, value)| value.trim()).ok_or_else(missing)
    }

    /// Returns the value of an entry, or `other` if the table is too old to have this entry.
    fn number_or(&self, key: &str, other: f64) -> Result<f64, Error> {
        if self.text(key).is_ok() { self.number(key) } else { Ok(other) }
    }

    pub(crate) fn number(&self, key: &str) -> Result<f64, Error> {
        let value = self.text(key)?;
        // Each entry is a time or a rate, so zero is invalid too.
        let positive = |number: &f64| number.is_finite() && *number > 0.0;
        value.parse().ok().filter(positive).ok_or_else(|| Error::Number {
            file: self.file.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        })
    }
}

/// Parses the loaded latencies into pairs of a throughput, in bytes per cycle, and a latency, in
/// cycles. The rows are sorted by throughput; a row is omitted if its latency is not higher than
/// that of the previous row. The highest throughput must exceed [`MOST_OF`] times the bandwidth
/// `dram`.
fn latencies(table: &Table<'_>, mhz: f64, dram: f64) -> Result<Vec<[f64; 2]>, Error> {
    let missing = |key: &str| Error::Table { file: table.file.to_owned(), key: key.to_owned() };
    let mut lines = table.text.lines().filter(|line| !line.starts_with('#'));
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name| head.iter().position(|&at| at == name).ok_or_else(|| missing(name));
    let (gb, cycles) = (column("gb_per_s")?, column("cycles")?);
    let mut points: Vec<[f64; 2]> = Vec::new();
    for line in lines {
        let cells: Vec<f64> = line.split(',').filter_map(|cell| cell.parse().ok()).collect();
        let sound = |cycles: &&f64| cycles.is_finite() && **cycles > 0.0;
        let rate = |gb: &&f64| gb.is_finite() && **gb >= 0.0;
        let (Some(gb), Some(cycles)) =
            (cells.get(gb).filter(rate), cells.get(cycles).filter(sound))
        else {
            return Err(missing("a row of latency against load"));
        };
        points.push([gb * 1000.0 / mhz, *cycles]);
    }
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let mut rising: Vec<[f64; 2]> = Vec::new();
    for point in points {
        if rising.last().is_none_or(|last| point[1] > last[1]) {
            rising.push(point);
        }
    }
    match rising.last() {
        Some(last) if last[0] > MOST_OF * dram => Ok(rising),
        _ => Err(missing("row with a throughput near the memory bandwidth")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loaded_memory_answers_later() {
        let gpu = Gpu::named("h200").unwrap();
        let [first, .., last] = gpu.load[..] else { panic!("a table with several rows") };
        assert_eq!(gpu.loaded(0.0), first[1]);
        assert_eq!(gpu.loaded(1e9), last[1]);
        let [a, b] = [gpu.load[1], gpu.load[2]];
        let middle = gpu.loaded((a[0] + b[0]) / 2.0);
        assert!((middle - (a[1] + b[1]) / 2.0).abs() < 1e-6, "{middle}");
    }

    #[test]
    fn a_longer_latency_does_not_change_the_waits_in_the_queue() {
        let gpu = Gpu::named("h200").unwrap();
        let slow = gpu.clone().with_latency(4.0);
        assert!((slow.loaded(0.0) - 4.0 * gpu.loaded(0.0)).abs() < 1e-6);
        let wait = |gpu: &Gpu| gpu.loaded(gpu.dram) - gpu.loaded(0.0);
        assert!((wait(&slow) - wait(&gpu)).abs() < 1e-6, "{} {}", wait(&slow), wait(&gpu));
    }
}
