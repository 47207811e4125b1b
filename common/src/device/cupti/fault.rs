//! What can be the matter with CUPTI, each as a sentence with the way out.

/// Why a GPU does not say what it counted or did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The interpreter was the device.
    #[error(
        "`{flag}` asks a GPU, and this ran on the interpreter, whose counts stand above: leave the flag out, or take `--device cuda`"
    )]
    Interpreter {
        /// The flag.
        flag: &'static str,
    },
    /// There is no such library.
    #[error(
        "there is no CUPTI here, which `--counters` and `--profile` ask the GPU through: {BRING}"
    )]
    NoLibrary,
    /// A file of that name cannot be loaded.
    #[error("{library} cannot be loaded ({reason}): {BRING}")]
    Unloadable {
        /// Where it lies.
        library: String,
        /// The loader's words.
        reason: String,
    },
    /// The libraries that it counts with are not beside it.
    #[error(
        "{library} lacks its companion {missing}, without which it counts nothing: `cargo x cupti` brings all three (PyPI's, 13 MB, into .venv)"
    )]
    NoCompanions {
        /// Where it lies.
        library: String,
        /// What is not beside it.
        missing: &'static str,
    },
    /// It is older than a function that is called in it.
    #[error(
        "{library} has no `{symbol}`, which came with CUDA 12.6: `cargo x cupti` brings a younger one (PyPI's, 13 MB, into .venv)"
    )]
    TooOld {
        /// Where it lies.
        library: String,
        /// The function that it lacks.
        symbol: &'static str,
    },
    /// The driver lets only administrators count.
    #[error(
        "this driver lets only administrators read the GPU's counters (RmProfilingAdminOnly in /proc/driver/nvidia/params is 1): run this as root, or load the driver's module with NVreg_RestrictProfilingToAdminUsers=0; `--profile` needs no such right"
    )]
    Permission,
    /// Somebody else counts.
    #[error(
        "another profiler holds this GPU's counters, such as ncu, nsys, compute-sanitizer or DCGM: end it, or run this outside of it ({call} answers {code})"
    )]
    Held {
        /// The function that failed.
        call: &'static str,
        /// CUPTI's number.
        code: u32,
    },
    /// A slice of a GPU.
    #[error(
        "this is a MIG slice, which shares its GPU's counters and cannot read them: take a whole GPU"
    )]
    Mig,
    /// A virtual machine's share of a GPU.
    #[error(
        "this is a virtual GPU, whose host lets it read no counters: ask for a vGPU with profiling enabled, or take a whole GPU"
    )]
    Virtual,
    /// A GPU in confidential mode.
    #[error(
        "this GPU is in confidential mode, in which it shows nobody its counters: take one that is not"
    )]
    Confidential,
    /// CUPTI's word for what it cannot say.
    #[error(
        "CUPTI gives no number for `{metric}` of launch {launch} (NaN), as on a slice of a GPU whose counters are shared: take a whole GPU"
    )]
    NotANumber {
        /// The metric.
        metric: &'static str,
        /// Which launch, from 1.
        launch: usize,
    },
    /// It saw no launch.
    #[error(
        "CUPTI {version} saw none of the launches, as one does that is of an older CUDA than the driver's: `cargo x cupti` brings one that is not (PyPI's, 13 MB, into .venv)"
    )]
    Deaf {
        /// Its version.
        version: String,
    },
    /// What was counted is incomplete.
    #[error(
        "CUPTI counted {counted} launches and dropped {dropped}, and {made} were made: counts that do not say whose they are are not shown"
    )]
    Ranges {
        /// Launches in the counts.
        counted: usize,
        /// Launches that it dropped.
        dropped: usize,
        /// Launches that were made.
        made: usize,
    },
    /// What was recorded is incomplete.
    #[error(
        "CUPTI dropped {dropped} records, so the table would be short of them: take fewer `--samples`, or a smaller `--n`"
    )]
    Dropped {
        /// How many.
        dropped: usize,
    },
    /// The profile has another number of kernels than were launched.
    #[error(
        "the profile has {recorded} kernels, and {made} were launched: it does not show this run"
    )]
    Launches {
        /// Kernels in the profile.
        recorded: usize,
        /// Launches that were made.
        made: u64,
    },
    /// A GPU whose counters CUPTI does not read.
    #[error(
        "this GPU is {gpu}, and CUPTI reads counters from Turing (sm_75) on: `--profile` needs no counters"
    )]
    BeforeTuring {
        /// Its architecture.
        gpu: String,
    },
    /// What else CUPTI says.
    #[error(
        "CUPTI {version} does not go along with this GPU or its driver: {call} answers {code} ({text}); `cargo x cupti` brings another one"
    )]
    Other {
        /// Its version.
        version: String,
        /// The function that failed.
        call: &'static str,
        /// CUPTI's number.
        code: u32,
        /// CUPTI's words.
        text: String,
    },
}

/// The way to a CUPTI.
const BRING: &str = if cfg!(target_os = "macos") {
    "NVIDIA makes none for macOS"
} else {
    "`cargo x cupti` brings it (PyPI's, 13 MB, into .venv), and so does the CUDA toolkit"
};
