//! A step's first launch in a separate interpreter, on an input of any length whose pages repeat a
//! word, so that it needs little memory.

use simt::{Gpu, Watch};

use super::extra::Asked;
use crate::{
    Error, Result,
    device::interpreter::Program,
    plan::{Arg, Buffer, Launch, Plan, Scratch},
    sum::Scalar,
};

/// A step's first launch, and the interpreter that runs it.
pub(super) struct First<'a> {
    pub gpu: Gpu,
    launch: &'a Launch,
    n: u64,
    input: u64,
    scratch: Vec<u64>,
    result: u64,
}

impl<'a> First<'a> {
    /// Allocates the memory of the first launch on `n` elements. `word` returns the word that a page
    /// of the input repeats.
    pub(super) fn new<T: Scalar>(
        asked: Asked<'_, T>,
        plan: &'a Plan,
        n: u64,
        word: impl Fn(u64) -> u32,
    ) -> Result<First<'a>> {
        let mut config = simt::Config::default();
        config.play(asked.settings.gpu);
        config.schedule = asked.settings.schedule;
        let mut gpu = Gpu::with(config);
        let size = T::ELEMENT.size();
        let input = gpu.alloc_sparse(n * size, word).map_err(|error| failed(n, error))?;
        let mut scratch = Vec::new();
        for (index, kind) in plan.scratch.iter().enumerate() {
            let fill = if matches!(kind, Scratch::Partials(_)) { u32::MAX } else { 0 };
            let bytes = plan.scratch_bytes(index, T::ELEMENT);
            scratch.push(gpu.alloc_sparse(bytes, |_| fill).map_err(|error| failed(n, error))?);
        }
        let result = gpu.alloc(size).map_err(|error| failed(n, error))?;
        Ok(First { gpu, launch: &plan.launches[0], n, input, scratch, result })
    }

    fn address(&self, buffer: Buffer) -> u64 {
        match buffer {
            Buffer::Input => self.input,
            Buffer::Scratch(index) => self.scratch[index],
            Buffer::Result => self.result,
        }
    }

    /// Runs the launch.
    pub(super) fn launch(
        &mut self,
        program: &Program,
        watch: Option<&mut Watch>,
    ) -> std::result::Result<(), simt::Error> {
        let args = self.launch.args.iter().map(|arg| match *arg {
            Arg::Address(buffer) => simt::Arg::U64(self.address(buffer)),
            Arg::U64(value) => simt::Arg::U64(value),
            Arg::U32(value) => simt::Arg::U32(value),
        });
        let call = simt::Launch {
            entry: &self.launch.entry,
            grid: [self.launch.grid, 1, 1],
            block: [self.launch.block, 1, 1],
            cluster: [self.launch.cluster, 1, 1],
            shared: self.launch.shared,
            args: args.collect(),
        };
        program.launch(&mut self.gpu, &call, watch)
    }

    /// Copies bytes of a buffer, starting at byte `at`.
    pub(super) fn read(&mut self, buffer: Buffer, at: u64, bytes: &mut [u8]) -> Result<()> {
        let address = self.address(buffer) + at;
        self.gpu.read(address, bytes).map_err(|error| self.failed(error))
    }

    /// Returns the error of the program for an error of the interpreter.
    pub(super) fn failed(&self, error: simt::Error) -> Error {
        failed(self.n, error)
    }
}

fn failed(n: u64, error: simt::Error) -> Error {
    Error::Simt { doing: format!("interpreting a launch on {n} elements"), text: error.to_string() }
}
