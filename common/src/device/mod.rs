//! Devices that run plans: a GPU or the interpreter. Other crates cannot add a kind of device.

use std::{
    fmt,
    io::{self, Write},
    str::FromStr,
};

use crate::{
    Element, Error, Result,
    plan::{Block, Call, Problem},
};

mod address;
#[cfg(not(target_family = "wasm"))]
mod chosen;
#[cfg(not(target_family = "wasm"))]
pub mod cuda;
#[cfg(not(target_family = "wasm"))]
pub mod cupti;
#[cfg(not(target_family = "wasm"))]
mod driver;
mod facts;
#[cfg(not(target_family = "wasm"))]
pub mod feed;
#[cfg(not(target_family = "wasm"))]
mod gate;
pub mod host;
pub mod interpreter;
#[cfg(not(target_family = "wasm"))]
mod program;
#[cfg(not(target_family = "wasm"))]
pub mod properties;
pub mod ptx;
#[cfg(not(target_family = "wasm"))]
mod stopwatch;

/// Replaces the module `cuda` on systems that have no driver.
#[cfg(target_family = "wasm")]
#[path = "no_driver.rs"]
pub mod cuda;

pub use address::Address;
pub use cuda::Cuda;
#[cfg(target_family = "wasm")]
pub use cuda::Stopwatch;
pub use facts::Facts;
pub use interpreter::{Check, Interpreter, Observed, Settings};
pub use ptx::Ptx;
pub use simt::observe::Finding;
#[cfg(not(target_family = "wasm"))]
pub use stopwatch::Stopwatch;

/// The value of every byte of poisoned memory, on a GPU and in the interpreter.
pub const POISON: u8 = 0xFF;

/// A device that runs PTX.
#[derive(Debug)]
pub enum Device {
    /// A GPU, accessed through the CUDA driver.
    Cuda(Cuda),
    /// The interpreter, which runs on the CPU.
    Simt(Box<Interpreter>),
}

/// The value of the `--device` option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The GPU if there is one, otherwise the interpreter.
    Auto,
    /// The GPU with this ordinal.
    Cuda(usize),
    /// The interpreter.
    Simt,
}

/// Device memory, which is freed when dropped.
#[derive(Debug)]
pub enum Memory {
    /// Memory on a GPU.
    Cuda(cuda::Memory),
    /// Memory in the interpreter.
    Simt(interpreter::Memory),
}

/// A module that a device has loaded from PTX.
#[derive(Debug)]
pub enum Program {
    /// A module on a GPU.
    Cuda(cuda::Program),
    /// A module in the interpreter.
    Simt(interpreter::Program),
}

impl Device {
    /// Opens a device.
    pub fn open(choice: Choice, settings: &Settings) -> Result<Device> {
        match choice {
            Choice::Simt => Ok(Device::Simt(Box::new(Interpreter::new(settings)))),
            Choice::Cuda(ordinal) => Cuda::open(ordinal).map(Device::Cuda),
            Choice::Auto => match Cuda::open(0) {
                Ok(cuda) => Ok(Device::Cuda(cuda)),
                Err(reason) => {
                    if let Some(line) = instead(&reason) {
                        // The line is only a note, so an error while printing it is ignored.
                        let _ = writeln!(io::stderr(), "{line}");
                    }
                    Ok(Device::Simt(Box::new(Interpreter::new(settings))))
                }
            },
        }
    }

    /// Returns the properties that plans and reports use.
    pub fn facts(&self) -> &Facts {
        match self {
            Device::Cuda(cuda) => cuda.facts(),
            Device::Simt(simt) => simt.facts(),
        }
    }

    /// Returns the problem of adding `n` elements of this type on this device.
    pub fn problem(&self, n: u64, block: Block, element: Element) -> Problem {
        Problem { n, block, element, chip: self.facts().chip }
    }

    /// Returns the GPU. Fails on the interpreter.
    pub fn gpu(&self) -> Result<&Cuda> {
        match self {
            Device::Cuda(cuda) => Ok(cuda),
            Device::Simt(_) => Err(Error::Interpreter),
        }
    }

    /// Loads a module from PTX.
    pub fn load(&self, ptx: &Ptx) -> Result<Program> {
        match self {
            Device::Cuda(cuda) => cuda.load(ptx).map(Program::Cuda),
            Device::Simt(simt) => simt.load(ptx).map(Program::Simt),
        }
    }

    /// Allocates `bytes` bytes; `what` describes their purpose in error messages.
    pub fn alloc(&self, what: &str, bytes: u64) -> Result<Memory> {
        match self {
            Device::Cuda(cuda) => cuda.alloc(what, bytes).map(Memory::Cuda),
            Device::Simt(simt) => simt.alloc(what, bytes).map(Memory::Simt),
        }
    }

    /// Copies bytes from the host into `memory`, starting at byte `at`, and waits for the
    /// copy.
    pub fn write(&self, memory: &Memory, at: u64, bytes: &[u8]) -> Result<()> {
        match (self, memory) {
            (Device::Cuda(cuda), Memory::Cuda(memory)) => cuda.write(memory, at, bytes),
            (Device::Simt(simt), Memory::Simt(memory)) => simt.write(memory, at, bytes),
            _ => Err(foreign()),
        }
    }

    /// Copies bytes to the host, and waits for the copy.
    pub fn read(&self, memory: &Memory, bytes: &mut [u8]) -> Result<()> {
        match (self, memory) {
            (Device::Cuda(cuda), Memory::Cuda(memory)) => cuda.read(memory, bytes),
            (Device::Simt(simt), Memory::Simt(memory)) => simt.read(memory, bytes),
            _ => Err(foreign()),
        }
    }

    /// Sets every byte of the memory to `byte`.
    pub fn fill(&self, memory: &Memory, byte: u8) -> Result<()> {
        match (self, memory) {
            (Device::Cuda(cuda), Memory::Cuda(memory)) => cuda.fill(memory, byte),
            (Device::Simt(simt), Memory::Simt(memory)) => simt.fill(memory, byte),
            _ => Err(foreign()),
        }
    }

    /// Overwrites memory with values that no correct sum has: NaN for floats, −1 for integers. The
    /// interpreter then treats the memory as uninitialized.
    pub fn poison(&self, memory: &Memory) -> Result<()> {
        match (self, memory) {
            (Device::Cuda(cuda), Memory::Cuda(memory)) => cuda.fill(memory, POISON),
            (Device::Simt(simt), Memory::Simt(memory)) => simt.forget(memory),
            _ => Err(foreign()),
        }
    }

    /// Launches a kernel. On a GPU, the kernel may still be running when this function returns.
    pub fn launch(&self, program: &Program, call: &Call<'_>) -> Result<()> {
        match (self, program) {
            (Device::Cuda(cuda), Program::Cuda(program)) => cuda.launch(program, call),
            (Device::Simt(simt), Program::Simt(program)) => simt.launch(program, call),
            _ => Err(foreign()),
        }
    }

    /// Runs `work` without the interpreter's observers.
    pub fn unwatched<R>(&self, work: impl FnOnce() -> R) -> R {
        match self {
            Device::Cuda(_) => work(),
            Device::Simt(simt) => simt.unwatched(work),
        }
    }

    /// Finds state that the launches in `work` leave behind for later launches; `n` is the number
    /// of elements. On a GPU, the result is always empty.
    pub fn state_of(&self, n: u64, work: impl FnOnce() -> Result<()>) -> Vec<Finding> {
        match self {
            Device::Cuda(_) => Vec::new(),
            Device::Simt(simt) => simt.state_of(n, work),
        }
    }

    /// Restarts the numbering of launches at 1.
    pub fn restart(&self) {
        if let Device::Simt(simt) = self {
            simt.restart();
        }
    }

    /// Waits until all launches have finished. Fails if any launch failed.
    pub fn finish(&self) -> Result<()> {
        match self {
            Device::Cuda(cuda) => cuda.finish(),
            Device::Simt(_) => Ok(()),
        }
    }
}

/// Returns a note that says why the GPU is not used; `None` if there is no driver or no GPU.
fn instead(reason: &Error) -> Option<String> {
    match reason {
        Error::NoDriver | Error::NoGpu => None,
        other => {
            Some(format!("note: {other}; the interpreter is used instead, as with `--device simt`"))
        }
    }
}

impl Memory {
    /// Returns the address of the entire memory.
    pub fn address(&self) -> Address<'_> {
        match self {
            Memory::Cuda(memory) => memory.address(),
            Memory::Simt(memory) => memory.address(),
        }
    }
}

fn foreign() -> Error {
    Error::Usage("memory or a kernel from one device was passed to another device: allocate memory and load kernels on the launching device".into())
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Auto => f.write_str("auto"),
            Choice::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Choice::Simt => f.write_str("simt"),
        }
    }
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Choice::Auto),
            "cuda" => Ok(Choice::Cuda(0)),
            "simt" => Ok(Choice::Simt),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|n| n.parse().ok())
                .map(Choice::Cuda)
                .ok_or_else(|| {
                    Error::Usage(format!(
                        "`{text}` is not a device: use auto, cuda, cuda:N or simt"
                    ))
                }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusable_gpu_is_reported_and_a_missing_one_is_not() {
        assert_eq!(instead(&Error::NoDriver), None);
        assert_eq!(instead(&Error::NoGpu), None);
        for code in ["CUDA_ERROR_STUB_LIBRARY", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"] {
            let error = Error::Cuda { doing: "starting the CUDA driver".into(), text: code.into() };
            let line = instead(&error).unwrap();
            assert!(line.contains(code) && line.contains("`--device simt`"), "{line}");
            assert_eq!(line.lines().count(), 1);
        }
    }

    #[test]
    fn devices_are_parsed_as_they_are_printed() {
        for choice in [Choice::Auto, Choice::Cuda(0), Choice::Cuda(7), Choice::Simt] {
            assert_eq!(choice.to_string().parse::<Choice>().unwrap(), choice);
        }
        assert_eq!("cuda".parse::<Choice>().unwrap(), Choice::Cuda(0));
        for text in ["gpu", "cuda:", "cuda:-1", "cuda:x", ""] {
            assert!(text.parse::<Choice>().is_err(), "{text}");
        }
    }
}
