//! CUPTI's errors. The message for each fault is a sentence that includes the remedy.

/// The reason why counts or a profile are not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The device was the interpreter.
    #[error(
        "`{flag}` needs a GPU, but this run used the interpreter, whose counts are above: omit the flag, or use `--device cuda`"
    )]
    Interpreter {
        /// The flag that was given.
        flag: &'static str,
    },
    /// CUPTI is not installed.
    #[error("CUPTI, which `--counters` and `--profile` need, is not installed: {BRING}")]
    NoLibrary,
    /// The library exists but cannot be loaded.
    #[error("{library} cannot be loaded ({reason}): {BRING}")]
    Unloadable {
        /// The library's path.
        library: String,
        /// The loader's message.
        reason: String,
    },
    /// A library that CUPTI needs to count events is not in the same folder.
    #[error(
        "{library} lacks its companion {missing}, which it needs to count: `cargo x cupti` installs all three from PyPI (13 MB, into .venv)"
    )]
    NoCompanions {
        /// The path of the CUPTI library.
        library: String,
        /// The name of the missing file.
        missing: &'static str,
    },
    /// The library is too old, because it lacks a function that this program calls.
    #[error(
        "{library} lacks `{symbol}`, which CUDA 12.6 introduced: `cargo x cupti` installs a newer one from PyPI (13 MB, into .venv)"
    )]
    TooOld {
        /// The library's path.
        library: String,
        /// The name of the missing function.
        symbol: &'static str,
    },
    /// The driver lets only administrators read counters.
    #[error(
        "this driver lets only administrators read the GPU's counters (RmProfilingAdminOnly in /proc/driver/nvidia/params is 1): run this as root, or load the driver's module with NVreg_RestrictProfilingToAdminUsers=0; `--profile` needs no such privilege"
    )]
    Permission,
    /// Another profiler holds the counters.
    #[error(
        "another profiler holds this GPU's counters, such as ncu, nsys, compute-sanitizer or DCGM: stop that profiler, or run this program without it ({call} returned {code})"
    )]
    Held {
        /// The name of the function that failed.
        call: &'static str,
        /// CUPTI's error code.
        code: u32,
    },
    /// The device is a MIG slice of a GPU.
    #[error(
        "this is a MIG slice, which shares its GPU's counters and cannot read them: use a whole GPU"
    )]
    Mig,
    /// The device is a virtual GPU.
    #[error(
        "this is a virtual GPU, whose host does not allow counters: use a vGPU with profiling enabled, or a whole GPU"
    )]
    Virtual,
    /// The GPU is in confidential mode.
    #[error(
        "this GPU is in confidential mode, which hides its counters: use a GPU that is not in this mode"
    )]
    Confidential,
    /// CUPTI returned NaN for a metric.
    #[error(
        "CUPTI returned no value (NaN) for `{metric}` of launch {launch}, as happens on a MIG slice, which shares its GPU's counters: use a whole GPU"
    )]
    NotANumber {
        /// The name of the metric.
        metric: &'static str,
        /// The number of the launch, counting from 1.
        launch: usize,
    },
    /// CUPTI recorded none of the launches.
    #[error(
        "CUPTI {version} recorded none of the launches, which happens if it is older than the driver's CUDA: `cargo x cupti` installs a matching version from PyPI (13 MB, into .venv)"
    )]
    Deaf {
        /// CUPTI's version.
        version: String,
    },
    /// The counts are incomplete.
    #[error(
        "CUPTI counted {counted} of {made} launches and dropped {dropped}: the counts are not shown, because they cannot be assigned to launches"
    )]
    Ranges {
        /// The number of launches that CUPTI counted.
        counted: usize,
        /// The number of launches that CUPTI dropped.
        dropped: usize,
        /// The number of launches that were made.
        made: usize,
    },
    /// The recording is incomplete.
    #[error(
        "CUPTI dropped {dropped} records, so the table would be incomplete: use fewer `--samples` or a smaller `--n`"
    )]
    Dropped {
        /// The number of dropped records.
        dropped: usize,
    },
    /// The number of kernels in the profile differs from the number of launches.
    #[error(
        "the profile contains {recorded} kernels, but {made} were launched, so it does not describe this run"
    )]
    Launches {
        /// The number of kernels in the profile.
        recorded: usize,
        /// The number of launches that were made.
        made: u64,
    },
    /// The GPU is too old for CUPTI to read its counters.
    #[error(
        "this GPU is {gpu}, but CUPTI reads counters only on Turing (sm_75) and newer: use `--profile`, which needs no counters"
    )]
    BeforeTuring {
        /// The GPU's architecture.
        gpu: String,
    },
    /// Any other CUPTI error.
    #[error(
        "CUPTI {version} does not work with this GPU or its driver: {call} returned {code} ({text}); `cargo x cupti` installs another version"
    )]
    Other {
        /// CUPTI's version.
        version: String,
        /// The name of the function that failed.
        call: &'static str,
        /// CUPTI's error code.
        code: u32,
        /// CUPTI's message.
        text: String,
    },
}

/// Instructions for installing CUPTI.
const BRING: &str = if cfg!(target_os = "macos") {
    "NVIDIA does not provide CUPTI for macOS"
} else {
    "`cargo x cupti` installs it from PyPI (13 MB, into .venv), and the CUDA toolkit includes it"
};
