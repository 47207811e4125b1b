//! Errors. Each error message is a sentence that names both sides of the mismatch and the remedy.

use crate::sum::elements;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error that stops a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line or an argument is invalid.
    #[error("{0}")]
    Usage(String),
    /// `libcuda` cannot be loaded, because there is no NVIDIA driver.
    #[error("there is no NVIDIA driver here ({DRIVER} cannot be loaded): {REMEDY}")]
    NoDriver,
    /// The driver's library lacks a function that this program calls.
    #[error(
        "{library} has no `{symbol}`, so this driver is too old: install driver 550 or later, or use `--device simt`, which needs no driver"
    )]
    NoSymbol {
        /// The file name of the library.
        library: String,
        /// The name of the missing function.
        symbol: String,
    },
    /// A wrong kernel has no predicted time.
    #[error("{step} is wrong on {n} elements, so it has no predicted time: {fault}")]
    Unpredicted {
        /// The name of the step.
        step: String,
        /// The number of elements.
        n: u64,
        /// The error or the finding.
        fault: String,
    },
    /// There is a driver but no GPU.
    #[error(
        "the NVIDIA driver finds no GPU (an empty CUDA_VISIBLE_DEVICES hides them all): use `--device simt`, which needs no GPU"
    )]
    NoGpu,
    /// A command that needs a GPU was run with the interpreter as its device.
    #[error(
        "this needs a GPU, but the device is the interpreter: use `--device cuda` on a machine with a GPU"
    )]
    Interpreter,
    /// The requested ordinal is larger than that of the last GPU.
    #[error("`cuda:{asked}` does not exist: the last of {count} GPU(s) here is `cuda:{last}`", last = count - 1)]
    NoSuchGpu {
        /// The ordinal that was given on the command line.
        asked: usize,
        /// The number of GPUs that the driver reports.
        count: usize,
    },
    /// There is not enough memory.
    #[error(
        "{what} needs {needed} bytes of {place} memory, but only {free} are free: use a smaller `--n`"
    )]
    Memory {
        /// The purpose of the memory.
        what: String,
        /// The kind of memory: "device" or "host".
        place: &'static str,
        /// The number of bytes requested.
        needed: u64,
        /// The number of bytes that were free.
        free: u64,
    },
    /// The system refuses to allocate this much host memory for this program.
    #[error(
        "{what} need {needed} bytes of host memory, more than this program may allocate (see `ulimit -v`): use a smaller `--n`"
    )]
    Refused {
        /// The purpose of the memory, as a plural noun.
        what: String,
        /// The number of bytes requested.
        needed: u64,
    },
    /// The driver is too old for the version of the PTX.
    #[error(
        "the kernel's PTX is version {ptx}, but this driver (CUDA {driver}) does not support it: install driver 550 or later"
    )]
    OldDriver {
        /// The version on the PTX's `.version` line.
        ptx: String,
        /// The CUDA version that the driver supports.
        driver: String,
    },
    /// The GPU is older than the kernel's target.
    #[error(
        "the kernel is built for {target}, but this GPU is {gpu}, which is older: run the previous step"
    )]
    OldGpu {
        /// The target on the PTX's `.target` line.
        target: String,
        /// The GPU's architecture.
        gpu: String,
    },
    /// The kernel needs larger clusters than the GPU has.
    #[error(
        "`{entry}` needs clusters of {needs} blocks, but this GPU has {}: use another kernel or another GPU",
        if *most > 1 { format!("clusters of at most {most}") } else { "no clusters".into() }
    )]
    Clusters {
        /// The name of the entry point.
        entry: String,
        /// The number of blocks in a cluster, according to the plan.
        needs: u32,
        /// The number of blocks in the GPU's largest cluster; 1 if the GPU has no clusters.
        most: u32,
    },
    /// None of the requested steps can run.
    #[error("none of these steps runs here: {}", .0.join("; "))]
    NoneRuns(Vec<String>),
    /// A file is truncated, edited, or not PTX.
    #[error("{file} cannot be loaded as PTX: {reason}")]
    BadPtx {
        /// The name of the file.
        file: String,
        /// The reason why the file cannot be loaded.
        reason: String,
    },
    /// The PTX lacks the kernel that the plan launches.
    #[error(
        "{file} has no entry point `{entry}`, which the plan launches: it has {have}",
        have = spelt(entry, entries)
    )]
    NoEntry {
        /// The name of the PTX file.
        file: String,
        /// The name of the missing entry point.
        entry: String,
        /// The names of the entry points in the PTX.
        entries: Vec<String>,
    },
    /// The kernel's parameters differ from the plan's arguments.
    #[error(
        "the host passes {passes} to `{entry}`, but the kernel in {file} takes {takes}: declare the host's parameters, in the same order"
    )]
    Signature {
        /// The name of the kernel's file.
        file: String,
        /// The name of the entry point.
        entry: String,
        /// A description of the plan's arguments.
        passes: String,
        /// A description of the kernel's parameters.
        takes: String,
    },
    /// The PTX was made for another element type.
    #[error(
        "{file} is made for {made}, as its stamp says, but `--type {asked}` was given: use `--type {made}`, or the PTX for {asked}"
    )]
    OtherElement {
        /// The name of the PTX file.
        file: String,
        /// The element type in the stamp.
        made: crate::Element,
        /// The element type that was given on the command line.
        asked: crate::Element,
    },
    /// A `kernel.cu` must be compiled, but there is no compiler.
    #[error("{file} differs from the source of the committed PTX, but {text}")]
    NoCompiler {
        /// The path of the source to be compiled.
        file: String,
        /// A message that names the missing compiler and says how to install a compiler.
        text: String,
    },
    /// `kernel.cu` does not compile.
    #[error("{file} does not compile:\n{log}")]
    Compile {
        /// The path of the source.
        file: String,
        /// The compiler's messages, which include line numbers.
        log: String,
    },
    /// A call to the CUDA driver failed.
    #[error("{doing}: {text}")]
    Cuda {
        /// The operation that failed.
        doing: String,
        /// The driver's message.
        text: String,
    },
    /// The interpreter stopped with an error.
    #[error("{doing}: {text}")]
    Simt {
        /// The operation that failed.
        doing: String,
        /// The place where the interpreter stopped, and the reason.
        text: String,
    },
    /// The interpreter stopped a kernel whose behaviour was undefined.
    #[error("{0}")]
    Trap(String),
    /// The counters or the profile are not available.
    #[cfg(not(target_family = "wasm"))]
    #[error(transparent)]
    Cupti(#[from] crate::device::cupti::Fault),
    /// The sum is wrong.
    #[error("{0}")]
    Wrong(String),
    /// A check in the interpreter, or a check of a measurement, found an error.
    #[error("{0}")]
    Findings(String),
    /// A file cannot be read or written.
    #[error("{doing}: {source}")]
    File {
        /// The operation that failed, with the path.
        doing: String,
        /// The system's message.
        source: std::io::Error,
    },
}

#[cfg(not(target_family = "wasm"))]
impl From<compiler::Error> for Error {
    fn from(error: compiler::Error) -> Error {
        match error {
            compiler::Error::Library { doing, text } => Error::Cuda { doing, text },
            compiler::Error::Missing(text) => Error::Usage(text),
            compiler::Error::Compile { file, log } => Error::Compile { file, log },
            compiler::Error::Stamp { file, reason } => Error::BadPtx { file, reason },
            missing @ compiler::Error::Include { .. } => Error::Usage(missing.to_string()),
        }
    }
}

/// Formats the names of entry points, with a remedy if a name is mangled.
fn spelt(entry: &str, entries: &[String]) -> String {
    let mangled = format!("_Z{}{entry}", entry.len());
    if let Some(name) = entries.iter().find(|name| name.starts_with(&mangled)) {
        return format!(
            "no such name, but `{name}` is the mangled name of `{entry}`: write `extern \"C\"` before its `__global__`"
        );
    }
    match entries {
        [] => "none".into(),
        [one] => format!("`{one}`: call it `{entry}`"),
        some => some.iter().map(|entry| format!("`{entry}`")).collect::<Vec<_>>().join(", "),
    }
}

/// The file name of the driver's library, which the loader looks for.
pub const DRIVER: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// The remedy if there is no driver. There is no driver for macOS.
const REMEDY: &str = if cfg!(target_os = "macos") {
    "NVIDIA provides no driver for macOS; use `--device simt`, which needs no driver"
} else {
    "install a driver, or use `--device simt`, which needs no driver"
};

impl Error {
    /// Marks an error that occurred in a second run. `fresh` tells whether the same elements cause an
    /// error in memory that no earlier run has used.
    pub(crate) fn in_second_run(self, fresh: bool) -> Error {
        self.with(match fresh {
            true => {
                "in a second run, on values whose sums are exact and may be 0 or negative; a first run on these values fails too"
            }
            false => "in a second run, so the first run leaves state that affects the second",
        })
    }

    /// Marks an error that occurred in a later run on fewer elements.
    pub(crate) fn in_smaller_run(self, n: u64) -> Error {
        self.with(&format!("in a later run, on {}", elements(n)))
    }

    /// Marks an error that occurred in an extra run, which differs from the requested run in `how`
    /// and can be repeated as in `repeat`.
    pub(crate) fn in_extra_run(self, how: Option<String>, repeat: &str) -> Error {
        let how = how.map_or(String::new(), |how| format!(" in which {how}"));
        self.with(&format!("in an extra run{how}; {repeat}"))
    }

    /// Adds to an error that stopped a kernel what the checks found before it.
    pub(crate) fn after(self, found: &str) -> Error {
        match self {
            Error::Trap(text) => {
                Error::Trap(format!("{text}; before that, the checks found: {found}"))
            }
            other => other,
        }
    }

    fn with(self, note: &str) -> Error {
        let text = |text: String| format!("{text} ({note})");
        match self {
            Error::Trap(trap) => Error::Trap(text(trap)),
            Error::Simt { doing, text: words } => Error::Simt { doing, text: text(words) },
            Error::Cuda { doing, text: words } => Error::Cuda { doing, text: text(words) },
            other => other,
        }
    }

    /// Prefixes an error with a description of the launch.
    pub(crate) fn of_launch(self, described: &str) -> Error {
        match self {
            Error::Trap(text) => Error::Trap(format!("{described}: {text}")),
            other => other,
        }
    }

    /// Returns the exit code of a program that stops with this error: 1 for a wrong sum, 2 if there
    /// is no sum.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Wrong(_) | Error::Findings(_) | Error::Trap(_) => 1,
            _ => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_sum_exits_with_1_and_no_sum_with_2() {
        let text = String::new;
        for wrong in [Error::Wrong(text()), Error::Findings(text()), Error::Trap(text())] {
            assert_eq!(wrong.exit_code(), 1, "{wrong:?}");
        }
        assert_eq!(Error::Usage(text()).exit_code(), 2);
        assert_eq!(Error::NoGpu.exit_code(), 2);
    }

    #[test]
    fn a_missing_entry_point_is_named_with_those_that_are_there() {
        let missing = |entries: &[&str]| {
            let entries = entries.iter().map(|entry| (*entry).to_owned()).collect();
            Error::NoEntry { file: "kernel.ptx".into(), entry: "reduce".into(), entries }
        };
        assert_eq!(
            missing(&["sum", "sum_256"]).to_string(),
            "kernel.ptx has no entry point `reduce`, which the plan launches: it has `sum`, `sum_256`"
        );
        assert!(missing(&[]).to_string().ends_with("it has none"));
    }
}
