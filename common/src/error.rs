//! What can go wrong, each as a sentence with both sides of the mismatch and the way out.

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that stops a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line or an argument asks for something that does not exist.
    #[error("{0}")]
    Usage(String),
    /// `libcuda` cannot be loaded: there is no NVIDIA driver.
    #[error("there is no NVIDIA driver here ({DRIVER} cannot be loaded): {REMEDY}")]
    NoDriver,
    /// The driver's library is older than a function that is called in it.
    #[error(
        "{library} has no `{symbol}`: this driver is too old, it takes one from 550 on, or `--device simt`, which needs none"
    )]
    NoSymbol {
        /// The library.
        library: String,
        /// The function that it lacks.
        symbol: String,
    },
    /// The driver is there, but no GPU is.
    #[error(
        "the NVIDIA driver finds no GPU (CUDA_VISIBLE_DEVICES hides them when it is empty): take `--device simt`, which needs none"
    )]
    NoGpu,
    /// The ordinal asked for is beyond the last GPU.
    #[error("`cuda:{asked}` does not exist: the last of {count} GPU(s) here is `cuda:{last}`", last = count - 1)]
    NoSuchGpu {
        /// The ordinal on the command line.
        asked: usize,
        /// How many GPUs the driver shows.
        count: usize,
    },
    /// The sum needs more memory than there is.
    #[error("{what} needs {needed} bytes of {place} memory, {free} are free: take a smaller `--n`")]
    Memory {
        /// What was to be allocated.
        what: String,
        /// "device" or "host".
        place: &'static str,
        /// Bytes asked for.
        needed: u64,
        /// Bytes that were free.
        free: u64,
    },
    /// The system gives this program no more host memory.
    #[error(
        "{what} need {needed} bytes of host memory, which the system does not give this program (`ulimit -v` limits it): take a smaller `--n`"
    )]
    Refused {
        /// What was to be allocated.
        what: String,
        /// Bytes asked for.
        needed: u64,
    },
    /// The driver is older than the PTX.
    #[error(
        "the kernel's PTX is version {ptx}, and this driver (CUDA {driver}) does not know it: it takes a driver from 550 on"
    )]
    OldDriver {
        /// The version on the PTX's `.version` line.
        ptx: String,
        /// The CUDA version of the driver.
        driver: String,
    },
    /// The GPU is older than the kernel's target.
    #[error(
        "the kernel is built for {target}, and this GPU is {gpu}, which is older: the step before it is the end of the ladder here"
    )]
    OldGpu {
        /// The PTX's `.target`.
        target: String,
        /// The GPU's architecture.
        gpu: String,
    },
    /// A kernel that needs larger clusters than the GPU has.
    #[error(
        "`{entry}` needs clusters of {needs} blocks, and this GPU has {}: take another way, or another GPU",
        if *most > 1 { format!("clusters of {most} at the most") } else { "no clusters".into() }
    )]
    Clusters {
        /// The entry point.
        entry: String,
        /// Blocks of a cluster, as the plan has them.
        needs: u32,
        /// Blocks of the GPU's largest cluster; 1 where it has none.
        most: u32,
    },
    /// None of many steps can run.
    #[error("nothing of this runs here: {}", .0.join("; "))]
    NoneRuns(Vec<String>),
    /// PTX that is cut, edited, or not PTX.
    #[error("{file} is no PTX that can be loaded: {reason}")]
    BadPtx {
        /// The file's name.
        file: String,
        /// What was found in it.
        reason: String,
    },
    /// The PTX has no kernel of the name that the plan launches.
    #[error(
        "{file} has no entry point `{entry}`, which the plan launches: it has {have}",
        have = spelt(entry, entries)
    )]
    NoEntry {
        /// The PTX's name.
        file: String,
        /// The entry point that is missing.
        entry: String,
        /// Those that are there.
        entries: Vec<String>,
    },
    /// A kernel takes other things than the host passes.
    #[error(
        "the host passes `{entry}` {passes}, and the one in {file} takes {takes}: let it take what is passed, in this order"
    )]
    Signature {
        /// The kernel's file.
        file: String,
        /// The entry point.
        entry: String,
        /// What the plan hands over.
        passes: String,
        /// What the kernel declares.
        takes: String,
    },
    /// PTX that was made for another element type.
    #[error(
        "{file} is made for {made}, as its stamp says, and `--type {asked}` asks for another: take `--type {made}`, or the PTX for {asked}"
    )]
    OtherElement {
        /// The file.
        file: String,
        /// The type on its stamp.
        made: crate::Element,
        /// The type on the command line.
        asked: crate::Element,
    },
    /// There is nothing to compile a `kernel.cu` with.
    #[error("{file} is not what the committed PTX was made from, and {text}")]
    NoCompiler {
        /// The source to be compiled.
        file: String,
        /// What is missing, and how it comes here.
        text: String,
    },
    /// `kernel.cu` does not compile.
    #[error("{file} does not compile:\n{log}")]
    Compile {
        /// The source.
        file: String,
        /// What the compiler said, with line numbers.
        log: String,
    },
    /// A call of the CUDA driver failed.
    #[error("{doing}: {text}")]
    Cuda {
        /// What was being done.
        doing: String,
        /// The driver's words.
        text: String,
    },
    /// The interpreter stopped.
    #[error("{doing}: {text}")]
    Simt {
        /// What was being done.
        doing: String,
        /// Where it stopped, and why.
        text: String,
    },
    /// The kernel did something that has no defined result, and the interpreter stopped it.
    #[error("{0}")]
    Trap(String),
    /// CUPTI does not say what the GPU counted or did.
    #[cfg(not(target_family = "wasm"))]
    #[error(transparent)]
    Cupti(#[from] crate::device::cupti::Fault),
    /// The sum is wrong.
    #[error("{0}")]
    Wrong(String),
    /// A check found something: of the interpreter, or of a measurement.
    #[error("{0}")]
    Findings(String),
    /// A file cannot be read or written.
    #[error("{doing}: {source}")]
    File {
        /// What was being done, with the path.
        doing: String,
        /// The system's answer.
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

/// Names of entry points, as a sentence has them, with the cure where one is only mangled.
fn spelt(entry: &str, entries: &[String]) -> String {
    let mangled = format!("_Z{}{entry}", entry.len());
    if let Some(name) = entries.iter().find(|name| name.starts_with(&mangled)) {
        return format!(
            "none of that name, but `{name}` is `{entry}` as C++ mangles it: write `extern \"C\"` in front of its `__global__`"
        );
    }
    match entries {
        [] => "none".into(),
        [one] => format!("`{one}`: call it `{entry}`"),
        some => some.iter().map(|entry| format!("`{entry}`")).collect::<Vec<_>>().join(", "),
    }
}

/// The driver's library, by the name that the loader looks for.
pub const DRIVER: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// What stands behind the sentence that there is no driver. A Mac is sent for none.
const REMEDY: &str = if cfg!(target_os = "macos") {
    "there is none for macOS; take `--device simt`, which needs none"
} else {
    "install one, or take `--device simt`, which needs none"
};

impl Error {
    /// The error, of a run on the memory that another one left.
    pub(crate) fn in_second_run(self) -> Error {
        let text = |text: String| {
            format!(
                "{text} (in a second run, over the memory that the first one left: it leaves behind what the next one trips over)"
            )
        };
        match self {
            Error::Trap(trap) => Error::Trap(text(trap)),
            Error::Cuda { doing, text: words } => Error::Cuda { doing, text: text(words) },
            other => other,
        }
    }

    /// The error, of a launch that is described so.
    pub(crate) fn of_launch(self, described: &str) -> Error {
        match self {
            Error::Trap(text) => Error::Trap(format!("{described}: {text}")),
            other => other,
        }
    }

    /// The exit code of a program that stops with this: 1 for a wrong answer, 2 for none.
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
    fn a_wrong_answer_exits_with_1_and_none_with_2() {
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
