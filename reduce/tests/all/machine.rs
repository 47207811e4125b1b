//! An interpreted device, with all checks, for the launches of forms other than slices and rows.

pub(crate) use crate::bytes::Bytes;
use samebits::Kernel;
use simt::{Arg, Config, Gpu, Launch, Module, Schedule};

/// A device whose allocations end where their data ends, so that reads past the end are found.
pub(crate) struct Machine {
    gpu: Gpu,
    /// The major compute capability, which selects the PTX.
    pub(crate) major: i32,
}

impl Machine {
    pub(crate) fn new(schedule: Schedule, major: i32) -> Machine {
        let mut config = Config::default();
        config.schedule = schedule;
        Machine { gpu: Gpu::with(config), major }
    }

    /// Copies elements to the device, and returns their address, which is `shift` elements after an
    /// aligned one.
    pub(crate) fn elements<T: Bytes + Copy>(&mut self, values: &[T], shift: usize) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
        let before = (shift * size_of::<T>()) as u64;
        let at = self.gpu.alloc(before + bytes.len() as u64).unwrap() + before;
        self.gpu.write(at, &bytes).unwrap();
        at
    }

    /// Allocates `bytes` bytes, sets each of them to `fill`, and returns their address.
    pub(crate) fn room(&mut self, bytes: u64, fill: u8) -> u64 {
        let at = self.gpu.alloc(bytes).unwrap();
        self.gpu.fill(at, fill, bytes).unwrap();
        at
    }

    /// Returns `count` words of `size` bytes, zero-extended.
    pub(crate) fn words(&mut self, at: u64, count: usize, size: usize) -> Vec<u64> {
        let mut bytes = vec![0; count * size];
        self.gpu.read(at, &mut bytes).unwrap();
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        bytes.chunks_exact(size).map(word).collect()
    }

    /// Runs a kernel, and panics if there is a finding.
    pub(crate) fn run(&mut self, kernel: Kernel, grid: u32, threads: u32, args: Vec<Arg>) {
        let name = kernel.name();
        let module =
            Module::parse(&kernel.ptx(self.major)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let launch = Launch {
            entry: &name,
            grid: [grid, 1, 1],
            block: [threads, 1, 1],
            cluster: [1, 1, 1],
            shared: 0,
            args,
        };
        let mut watch = simt::checks();
        self.gpu
            .launch_watched(&module, &launch, Some(&mut watch))
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let findings = simt::findings(&watch);
        assert!(findings.is_empty(), "{name}: {}", findings[0]);
    }

    /// Panics unless all bytes at an address are zero, as a launch must leave its state.
    pub(crate) fn is_zero(&mut self, at: u64, bytes: u64) {
        assert!(
            self.words(at, bytes as usize, 1).iter().all(|byte| *byte == 0),
            "the state changed"
        );
    }
}
