//! The options of a step's program.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};

use crate::{
    Element, Error, Result, Step,
    device::{Check, Choice, Settings},
    plan::{Block, Size, Sizes},
    run::{Drawn, Samples},
    sum::Input,
};

/// The options of a step's program.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The number of elements to add: 1048576, 2^20, 3*2^19+77, 1Mi, or a list such as
    /// 1,257,2^10..2^18 (the range doubles each size) [default: 2^20, and on a GPU 2^28 too]
    #[arg(long, value_name = "N", allow_hyphen_values = true, env = "REDUCE_N")]
    pub n: Option<Sizes>,

    /// The number of threads per block: 64, 128, 256, 512 or 1024, or a list [default: 256, or the
    /// size that the step is made for]
    #[arg(long, value_name = "THREADS", value_delimiter = ',', allow_hyphen_values = true)]
    pub threads: Vec<Block>,

    /// The element type: f32, i32 (wraps) or f64, or a list
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', default_value = "f32")]
    pub element: Vec<Element>,

    /// The input: uniform (floats 0 to 1, integers 0 to 255), int (integers -100 to 99), ones,
    /// signed (floats -1 to 1, any integer), or one-hot:INDEX
    #[arg(long, value_name = "INPUT", default_value = "uniform")]
    pub input: Input,

    /// The number of elements to leave out at the start of the memory; with 1, the input is not
    /// aligned to 16 bytes
    #[arg(long, value_name = "ELEMENTS", default_value_t = 0, value_parser = offset, allow_hyphen_values = true)]
    pub offset: u64,

    /// The seed for random elements
    #[arg(long, value_name = "SEED", default_value_t = 42, value_parser = seed, allow_hyphen_values = true)]
    pub seed: u64,

    /// The device: auto (the GPU if there is one, otherwise the interpreter), cuda, cuda:1, simt
    #[arg(long, value_name = "DEVICE", default_value = "auto", env = "REDUCE_DEVICE")]
    pub device: Choice,

    /// The number of times to time the sum; 0 only verifies it, for use with compute-sanitizer and
    /// ncu
    #[arg(long, value_name = "COUNT", default_value = "101", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub samples: u32,

    /// Time with the input already in L2, if it fits
    #[arg(long)]
    pub warm: bool,

    /// The output format: table (for people), json (one object per line), csv
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    pub format: Format,

    /// Print what would be launched, and what this step is for, without running it
    #[arg(long)]
    pub explain: bool,

    /// Predict the time on this GPU, which need not be here, instead of running: h200, h100, a100,
    /// rtx4090, b200, orin, a folder that `ladder probe` has written, or a list of them
    #[arg(long, value_name = "GPU", value_delimiter = ',')]
    pub predict: Vec<String>,

    /// Run this kernel.cu (compiled on the fly) or .ptx instead of the step's own
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,

    /// Compile kernel.cu with this compiler, even if it is unchanged: nvrtc (NVIDIA's), clang
    /// (LLVM's, 16 or later) [default: the committed PTX; for a changed kernel NVRTC, or clang if
    /// there is no NVRTC]
    #[arg(long, value_name = "COMPILER", env = "REDUCE_COMPILER")]
    pub compiler: Option<compiler::Kind>,

    /// The interpreter's order of execution: converged (which defines the counts), min-pc, or
    /// adversarial:SEED (any lane may run ahead as far as the next .sync)
    #[arg(long, value_name = "SCHEDULE", default_value = "converged", value_parser = schedule)]
    pub schedule: simt::Schedule,

    /// The GPU that the interpreter simulates: sm_70, sm_86, sm_90 or sm_120; append :SMS to change
    /// the number of multiprocessors
    #[arg(long, value_name = "GPU", default_value = "sm_90", value_parser = gpu)]
    pub gpu: simt::Arch,

    /// The number of seconds that the interpreter waits for a block to end before it reports an
    /// endless loop; 0 means no limit [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    pub budget: Option<Duration>,

    /// The checks that the interpreter makes: races, memory, sync, a list of them, or none
    /// [default: all of them, up to 2^20 elements]
    #[arg(long, value_name = "CHECKS", value_parser = checks)]
    pub check: Option<Checks>,

    /// Print the kernel with the interpreter's counts in the margin
    #[arg(long)]
    pub lines: bool,

    /// Read the GPU's counters with CUPTI once the sum is verified and timed, and print them beside
    /// the interpreter's counts
    #[arg(long)]
    pub counters: bool,

    /// Print the activities of the GPU and the driver in this run, and their times, with CUPTI;
    /// `=FILE.json` also writes a trace for ui.perfetto.dev
    #[arg(long, value_name = "FILE.json", num_args = 0..=1, require_equals = true, conflicts_with = "counters")]
    pub profile: Option<Option<PathBuf>>,

    /// Write every access by the first block of each launch, as JSON
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// The identifiers of the options that were given on the command line
    #[arg(skip)]
    pub given: Vec<String>,
}

/// The value of `--check`.
#[derive(Clone, Debug)]
pub struct Checks(pub Vec<Check>);

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people.
    Table,
    /// One JSON object per line.
    Json,
    /// A CSV header and rows.
    Csv,
}

fn checks(text: &str) -> Result<Checks> {
    match text {
        "none" => Ok(Checks(Vec::new())),
        list if list.split(',').any(|check| check == "none") => Err(Error::Usage(format!(
            "`--check {list}` combines checks with `none`: use `none` alone, or omit it"
        ))),
        list => list.split(',').map(str::parse).collect::<Result<_>>().map(Checks),
    }
}

fn offset(text: &str) -> Result<u64, String> {
    match text.parse::<Size>() {
        Ok(Size(offset @ ..4096)) => Ok(offset),
        _ => Err(format!("`--offset {text}` is not a number of elements from 0 to 4095")),
    }
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`--seed {text}` must be an integer from 0 to 2^64 - 1"))
}

fn gpu(text: &str) -> Result<simt::Arch, String> {
    text.parse()
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=1e9).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!(
            "`--budget {text}` is not a number of seconds: use one from 0 (no limit) to 10^9, such as 2.5"
        )),
    }
}

fn schedule(text: &str) -> Result<simt::Schedule, String> {
    text.parse()
}

/// The default sizes. The second size is large enough to time, and needs a GPU.
const SIZES: [u64; 2] = [1 << 20, 1 << 28];

impl Options {
    /// Returns the sizes in `--n`, or the first `usual` default sizes.
    pub(super) fn sizes(&self, usual: usize) -> Vec<u64> {
        match &self.n {
            None => SIZES[..usual].to_vec(),
            Some(sizes) => sizes.iter().map(|&Size(n)| n).collect(),
        }
    }

    /// Returns the block sizes in `--threads`, or `None` for the step's own size.
    pub(super) fn blocks(&self) -> Vec<Option<Block>> {
        match self.threads.as_slice() {
            [] => vec![None],
            some => some.iter().copied().map(Some).collect(),
        }
    }

    /// Returns the block size for a step in a run of `steps` steps. A single step rejects a size
    /// that it does not support. If there are several steps, a step that does not support the size
    /// uses its own size instead.
    pub(super) fn block(&self, step: &Step, asked: Option<Block>, steps: usize) -> Result<Block> {
        if let (Some(asked), 1) = (asked, steps) {
            step.check_block(asked)?;
        }
        Ok(step.block(asked))
    }

    /// Returns the settings of the interpreter.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            schedule: self.schedule,
            gpu: self.gpu,
            patience: self.budget,
            budget: None,
            checks: self.check.clone().map(|Checks(checks)| checks),
            traced: u64::from(self.trace.is_some()),
        }
    }

    /// Returns the kind of input and its seed.
    pub(super) fn drawn(&self) -> Drawn {
        Drawn { input: self.input, seed: self.seed, offset: self.offset }
    }

    /// Returns the number and kind of samples.
    pub(super) fn samples(&self) -> Samples {
        Samples { count: self.samples as usize, warm: self.warm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_number_of_seconds() {
        assert_eq!(seconds("0"), Ok(Duration::ZERO));
        assert_eq!(seconds("2.5"), Ok(Duration::from_millis(2500)));
        assert_eq!(seconds("1e9"), Ok(Duration::from_secs(1_000_000_000)));
        for text in ["-1", "1e10", "NaN", "inf", "ten", ""] {
            assert!(seconds(text).unwrap_err().contains(&format!("`--budget {text}`")), "{text}");
        }
    }

    #[test]
    fn checks_are_a_list_or_none() {
        let read =
            |text| checks(text).map(|Checks(checks)| checks).map_err(|error| error.to_string());
        assert_eq!(read("none"), Ok(vec![]));
        assert_eq!(read("sync,races"), Ok(vec![Check::Sync, Check::Races]));
        for text in ["races,none", "none,none"] {
            assert!(read(text).unwrap_err().contains("combines checks with `none`"), "{text}");
        }
        assert!(read("races,").unwrap_err().contains("`` is not a check"));
    }

    #[test]
    fn an_offset_and_a_seed_are_whole_numbers() {
        assert_eq!(
            (offset("0"), offset("2^12-1"), seed("18446744073709551615")),
            (Ok(0), Ok(4095), Ok(u64::MAX))
        );
        for text in ["4096", "-1", "1.5", ""] {
            assert!(offset(text).unwrap_err().contains(&format!("`--offset {text}`")), "{text}");
        }
        for text in ["-1", "18446744073709551616", "x"] {
            assert!(seed(text).unwrap_err().contains(&format!("`--seed {text}`")), "{text}");
        }
    }

    #[test]
    fn without_sizes_the_default_ones_are_used() {
        #[derive(clap::Parser)]
        struct Program {
            #[command(flatten)]
            options: Options,
        }
        let sizes = |args: &[&str], usual| {
            let words = ["v0"].iter().chain(args);
            <Program as clap::Parser>::try_parse_from(words).unwrap().options.sizes(usual)
        };
        assert_eq!(sizes(&[], 1), [1 << 20]);
        assert_eq!(sizes(&[], 2), [1 << 20, 1 << 28]);
        assert_eq!(sizes(&["--n", "0,257"], 2), [0, 257]);
    }
}
