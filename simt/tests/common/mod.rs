//! Code that the tests share: a device with all checks on, the steps as data, and typed memory.
#![allow(dead_code, unreachable_pub)] // Each test uses only a part of this module.

use std::fs;
use std::path::{Path, PathBuf};

use simt::observe::{Finding, Memory, Sync};
use simt::{Arg, Config, Error, Gpu, Launch, Module, Schedule, Watch};

/// The usual orders of execution, and four random ones, which include each way to start blocks.
pub const SCHEDULES: [Schedule; 6] = [
    Schedule::Converged,
    Schedule::MinPc,
    Schedule::Adversarial(1),
    Schedule::Adversarial(2),
    Schedule::Adversarial(3),
    Schedule::Adversarial(4),
];

/// A device and its observers. All tests use the type [`Watch`], because each further type of
/// observer would compile the interpreter again.
pub struct Device {
    pub gpu: Gpu,
    pub checks: Watch,
}

impl Device {
    pub fn new(schedule: Schedule) -> Device {
        Device::with(|c| c.schedule = schedule)
    }

    pub fn with(change: impl FnOnce(&mut Config)) -> Device {
        let mut config = Config::default();
        change(&mut config);
        Device { gpu: Gpu::with(config), checks: simt::checks() }
    }

    /// Allocates memory with these bytes.
    pub fn put(&mut self, bytes: &[u8]) -> u64 {
        let address = self.room(bytes.len());
        self.gpu.write(address, bytes).unwrap();
        address
    }

    /// Allocates uninitialized memory.
    pub fn room(&mut self, bytes: usize) -> u64 {
        // An empty allocation has no address, so at least 16 bytes are allocated.
        self.gpu.alloc(bytes.max(16) as u64).unwrap()
    }

    pub fn get(&mut self, address: u64, bytes: usize) -> Vec<u8> {
        let mut out = vec![0; bytes];
        self.gpu.read(address, &mut out).unwrap();
        out
    }

    pub fn launch(&mut self, module: &Module, launch: &Launch<'_>) -> Result<(), Error> {
        self.gpu.launch_watched(module, launch, Some(&mut self.checks))
    }

    /// Returns the findings of all checks.
    pub fn findings(&self) -> Vec<Finding> {
        simt::findings(&self.checks)
    }

    /// Returns the check of memory.
    pub fn memory(&self) -> &Memory {
        self.checks.2.as_ref().unwrap()
    }

    /// Returns the check of synchronization.
    pub fn sync(&self) -> &Sync {
        self.checks.3.as_ref().unwrap()
    }

    /// Returns the findings as text, one per line.
    pub fn said(&self) -> String {
        self.findings().iter().map(|f| format!("{f}\n")).collect()
    }
}

/// Returns a launch in one dimension.
pub fn launch(entry: &str, grid: u32, block: u32, shared: u32, args: Vec<Arg>) -> Launch<'_> {
    Launch { entry, grid: [grid, 1, 1], block: [block, 1, 1], cluster: [1, 1, 1], shared, args }
}

/// Returns the path of a file in the crate.
pub fn path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub fn text(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

pub fn module(file: &str) -> Module {
    Module::parse(&text(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// Returns the files in a folder with the given extension, sorted.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == ending));
    files.sort();
    files
}

/// The element types of the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    F32,
    I32,
    F64,
}

pub const ELEMENTS: [Element; 3] = [Element::F32, Element::I32, Element::F64];

impl Element {
    pub fn name(self) -> &'static str {
        match self {
            Element::F32 => "f32",
            Element::I32 => "i32",
            Element::F64 => "f64",
        }
    }

    /// Returns the type for a name that the corpus uses.
    pub fn of_c(name: &str) -> Element {
        match name {
            "float" => Element::F32,
            "int" => Element::I32,
            "double" => Element::F64,
            _ => panic!("no type `{name}`"),
        }
    }

    pub fn size(self) -> usize {
        if self == Element::F64 { 8 } else { 4 }
    }

    pub fn bytes(self, value: i64) -> Vec<u8> {
        match self {
            Element::F32 => (value as f32).to_le_bytes().to_vec(),
            Element::I32 => (value as i32).to_le_bytes().to_vec(),
            Element::F64 => (value as f64).to_le_bytes().to_vec(),
        }
    }

    /// Generates integers of moderate size, whose sums are exact in any order.
    pub fn input(self, n: usize) -> (Vec<u8>, Vec<i64>) {
        let values: Vec<i64> = (0..n as i64).map(|i| (i * 7919 + 13) % 31 - 11).collect();
        (values.iter().flat_map(|&v| self.bytes(v)).collect(), values)
    }

    /// Returns a result, which must be an integer.
    pub fn whole(self, bytes: &[u8]) -> f64 {
        match self {
            Element::F32 => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
            Element::I32 => i32::from_le_bytes(bytes.try_into().unwrap()).into(),
            Element::F64 => f64::from_le_bytes(bytes.try_into().unwrap()),
        }
    }
}

/// A step of the ladder, with the data needed to launch it.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub name: &'static str,
    /// Elements that a thread loads.
    pub loads: usize,
    /// Whether there is an entry for each block size.
    pub per_block: bool,
    /// Whether shared memory holds one element per warp rather than one per thread.
    pub per_warp: bool,
}

pub const STEPS: [Step; 7] = [
    Step { name: "v0-naive", loads: 1, per_block: false, per_warp: false },
    Step { name: "v1-divergence", loads: 1, per_block: false, per_warp: false },
    Step { name: "v2-bank-conflicts", loads: 1, per_block: false, per_warp: false },
    Step { name: "v3-first-add", loads: 2, per_block: false, per_warp: false },
    Step { name: "v4-unroll-warp", loads: 2, per_block: false, per_warp: false },
    Step { name: "v5-template-unroll", loads: 2, per_block: true, per_warp: false },
    Step { name: "v6-shuffle", loads: 2, per_block: true, per_warp: true },
];

impl Step {
    pub fn ptx(&self, element: Element) -> String {
        text(&format!("../steps/{}/src/kernel.{}.ptx", self.name, element.name()))
    }

    pub fn entry(&self, block: u32) -> String {
        if self.per_block { format!("reduce_{block}") } else { "reduce".into() }
    }

    /// Adds `n` elements at `input` by repeated launches, until one value is left.
    pub fn sum(
        &self,
        device: &mut Device,
        module: &Module,
        element: Element,
        block: u32,
        input: u64,
        n: usize,
    ) -> Result<f64, Error> {
        let (mut from, mut n) = (input, n);
        loop {
            let blocks = n.div_ceil(block as usize * self.loads).max(1);
            let to = device.room(blocks * element.size());
            let shared = element.size() as u32 * if self.per_warp { 32 } else { block };
            let args = vec![Arg::U64(from), Arg::U64(to), Arg::U64(n as u64)];
            device
                .launch(module, &launch(&self.entry(block), blocks as u32, block, shared, args))?;
            if from != input {
                device.gpu.free(from).unwrap();
            }
            (from, n) = (to, blocks);
            if n == 1 {
                let bytes = device.get(from, element.size());
                device.gpu.free(from).unwrap();
                return Ok(element.whole(&bytes));
            }
        }
    }
}
