//! GPUs that are described by their data sheets alone.
//!
//! A data sheet gives the number of multiprocessors, the clock rate and the bandwidth. Limits and
//! throughputs follow from the compute capability (CUDA C++ Programming Guide, *Technical
//! Specifications* and *Throughput of Native Arithmetic Instructions*). The latency of memory is a
//! published figure. No document states how long it takes to start blocks and kernels, or how much
//! fences and atomics cost, so these numbers are taken from an H200.

use crate::{
    code::Kind,
    gpu::{Gpu, Limits},
};

/// A data sheet.
#[derive(Clone, Copy, Debug)]
pub struct Sheet {
    /// The name for `--predict`.
    pub key: &'static str,
    /// The name of the GPU.
    pub name: &'static str,
    /// The number of multiprocessors.
    pub sms: u32,
    /// The highest clock rate, in MHz. If the sheet does not give it, it is computed from the peak
    /// rate of `float` arithmetic.
    pub mhz: f64,
    /// The peak bandwidth of memory, in GB/s.
    pub bus: f64,
    /// The compute capability, times ten.
    pub capability: u32,
    /// The documents that state these numbers.
    pub source: &'static str,
}

/// The data sheets.
pub const SHEETS: [Sheet; 6] = [
    Sheet {
        key: "a100",
        name: "NVIDIA A100 40 GB",
        sms: 108,
        mhz: 1410.0,
        bus: 1555.0,
        capability: 80,
        source: "NVIDIA A100 Tensor Core GPU Architecture, 2020: 108 SMs, 1410 MHz, 1555 GB/s",
    },
    Sheet {
        key: "rtx4090",
        name: "NVIDIA GeForce RTX 4090",
        sms: 128,
        mhz: 2520.0,
        bus: 1008.0,
        capability: 89,
        source: "NVIDIA Ada GPU Architecture, 2022: 128 SMs, 2520 MHz, 1008 GB/s",
    },
    Sheet {
        key: "b200",
        name: "NVIDIA B200",
        sms: 148,
        mhz: 1980.0,
        bus: 8000.0,
        capability: 100,
        source: "NVIDIA HGX B200 data sheet, 2025: 8 TB/s, 75 Tflop/s of float, which 148 SMs reach at 1980 MHz",
    },
    Sheet {
        key: "orin",
        name: "NVIDIA Jetson AGX Orin 64 GB",
        sms: 16,
        mhz: 1300.0,
        bus: 204.8,
        capability: 87,
        source: "NVIDIA Jetson AGX Orin Series Technical Brief, 2022: 16 SMs, 1.3 GHz, 204.8 GB/s",
    },
    Sheet {
        key: "h100-sheet",
        name: "NVIDIA H100 80GB HBM3",
        sms: 132,
        mhz: 1980.0,
        bus: 3350.0,
        capability: 90,
        source: "NVIDIA H100 data sheet: 3.35 TB/s, 67 Tflop/s of float, which 132 SMs reach at 1980 MHz",
    },
    Sheet {
        key: "h200-sheet",
        name: "NVIDIA H200",
        sms: 132,
        mhz: 1980.0,
        bus: 4800.0,
        capability: 90,
        source: "NVIDIA H200 data sheet: 4.8 TB/s, 67 Tflop/s of float, which 132 SMs reach at 1980 MHz",
    },
];

/// The latency of a load when the memory is idle, in cycles. It is similar on a V100, an A100 and
/// an H100 (table 3 of <https://pmc.ncbi.nlm.nih.gov/articles/PMC10448217/>).
const LATENCY: f64 = 400.0;

/// The fraction of the peak bandwidth that a kernel is assumed to reach. In published copy
/// benchmarks on GPUs of several generations, it is about nine tenths.
const REACHED: f64 = 0.9;

/// The highest bandwidth utilization in the table of loaded latencies. As in a queue, the latency
/// at a utilization `u` is the idle latency plus a term proportional to `u / (1 - u)`.
const FULL: f64 = 0.96;

impl Sheet {
    /// Returns the sheet with this name.
    pub(crate) fn named(key: &str) -> Option<&'static Sheet> {
        SHEETS.iter().find(|sheet| sheet.key == key)
    }

    /// Returns the table of the GPU. `other` is the table of an H200, from which numbers are taken
    /// if no document states them.
    pub(crate) fn gpu(&self, other: Gpu) -> Gpu {
        let per_cycle = |gb: f64| gb * 1000.0 / self.mhz;
        let dram = per_cycle(REACHED * self.bus);
        let steps = (0..=24).map(|step| FULL * f64::from(step) / 24.0);
        let load = steps.map(|used| [used * dram, LATENCY * (1.0 + 0.1 * used / (1.0 - used))]);
        let mut cycles = other.cycles;
        let (float, double) = self.lanes();
        cycles[Kind::Float as usize] = 32.0 / float;
        cycles[Kind::Double as usize] = 32.0 / double;
        Gpu {
            name: self.name.to_owned(),
            source: "its data sheet",
            sms: self.sms,
            mhz: self.mhz,
            capability: self.capability,
            cycles,
            first: 1.2 * LATENCY,
            dram,
            // A multiprocessor alone can load 64 bytes per cycle from L2, and half of that from
            // memory.
            sm_bytes: [64.0, 32.0],
            load: load.collect(),
            limits: self.limits(),
            ..other
        }
    }

    /// Returns the number of lanes of one scheduler for `float` and for `double` arithmetic.
    fn lanes(&self) -> (f64, f64) {
        match self.capability {
            80 => (16.0, 8.0),
            90 | 100 => (32.0, 16.0),
            _ => (32.0, 0.5),
        }
    }

    fn limits(&self) -> Limits {
        let (threads, blocks, kib, block_kib, cluster) = match self.capability {
            80 => (2048, 32, 164, 163, 1),
            87 => (1536, 16, 164, 163, 1),
            89 => (1536, 24, 100, 99, 1),
            _ => (2048, 32, 228, 227, 16),
        };
        let (shared, shared_block) = (kib << 10, block_kib << 10);
        Limits { threads, blocks, registers: 65536, shared, shared_block, cluster }
    }
}
