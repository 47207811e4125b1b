//! What can be asked for.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use many::Launcher;

/// The sum of elements on several GPUs, with the bits that one would have given.
#[derive(Debug, Parser)]
#[command(version, about)]
pub(crate) struct Command {
    #[command(subcommand)]
    pub(crate) what: Option<What>,
}

/// What is done; without it, a sum by interpreters in one process.
#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// Adds elements that lie on several GPUs, and holds the result against one GPU's.
    Sum(Sum),
    /// Times sums on all GPUs of this machine, in one process, gated and paired.
    Measure(Measure),
    /// What more GPUs would take: a model, from what was measured on two.
    Model(Model),
}

/// Where stages run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Device {
    /// GPUs if there are any, or else interpreters.
    Auto,
    /// GPUs.
    Cuda,
    /// Interpreters.
    Simt,
}

/// How what ranks have comes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Exchange {
    /// Inside the kernels: GPUs of one process with peer access.
    Kernel,
    /// NCCL's all-gather.
    Gather,
    /// NCCL's all-reduce of integers, as between hosts.
    Reduce,
}

/// What is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Operation {
    Sum,
    Min,
    Max,
}

impl From<Operation> for reduce::Operation {
    fn from(operation: Operation) -> reduce::Operation {
        match operation {
            Operation::Sum => reduce::Operation::Sum,
            Operation::Min => reduce::Operation::Min,
            Operation::Max => reduce::Operation::Max,
        }
    }
}

/// How elements are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum Type {
    F32,
    F64,
    I32,
    U32,
    I64,
    U64,
    F16,
    Bf16,
}

/// Calls a function for elements of the type that is asked for.
macro_rules! of_type {
    ($type:expr, $function:ident ( $($argument:expr),* )) => {
        match $type {
            $crate::args::Type::F32 => $function::<f32>($($argument),*),
            $crate::args::Type::F64 => $function::<f64>($($argument),*),
            $crate::args::Type::I32 => $function::<i32>($($argument),*),
            $crate::args::Type::U32 => $function::<u32>($($argument),*),
            $crate::args::Type::I64 => $function::<i64>($($argument),*),
            $crate::args::Type::U64 => $function::<u64>($($argument),*),
            $crate::args::Type::F16 => $function::<half::f16>($($argument),*),
            $crate::args::Type::Bf16 => $function::<half::bf16>($($argument),*),
        }
    };
}
pub(crate) use of_type;

#[derive(Args, Clone, Debug)]
pub(crate) struct Sum {
    /// How many GPUs, or interpreters; all that there are if not given, or two interpreters
    #[arg(long)]
    pub(crate) gpus: Option<u32>,
    /// All ranks in this process, instead of one process each
    #[arg(long)]
    pub(crate) one_process: bool,
    /// Ranks that share the first GPU, one after the other: for machines that have no more
    #[arg(long, requires = "one_process")]
    pub(crate) share: bool,
    /// Where the stages run
    #[arg(long, value_enum, default_value_t = Device::Auto)]
    pub(crate) device: Device,
    /// How results come together; in one process inside the kernels, between processes by NCCL's
    /// all-gather on one host and its all-reduce across hosts
    #[arg(long, value_enum)]
    pub(crate) exchange: Option<Exchange>,
    /// How many elements in all; 2^28 or 1k can be written too
    #[arg(long = "elements", short, default_value = "1048589", value_parser = length)]
    pub(crate) n: u64,
    /// What is added
    #[arg(long = "type", value_enum, default_value_t = Type::F32)]
    pub(crate) element: Type,
    /// The sum, the minimum or the maximum
    #[arg(long, value_enum, default_value_t = Operation::Sum)]
    pub(crate) op: Operation,
    /// Calls, which all must have the same bits
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Shards of these lengths instead of even ones: as many as ranks, with commas
    #[arg(long, value_delimiter = ',', value_parser = length)]
    pub(crate) lengths: Vec<u64>,
    /// Does not hold the result against one GPU's
    #[arg(long)]
    pub(crate) unchecked: bool,
    #[command(flatten)]
    pub(crate) meeting: Meeting,
    /// Stops a rank at a point, for tests: before:1, during:1 or after:1
    #[arg(long, hide = true)]
    pub(crate) hold: Option<String>,
}

/// How ranks meet.
#[derive(Args, Clone, Debug)]
pub(crate) struct Meeting {
    /// Whose variables say which rank this is, where several have set some
    #[arg(long, value_enum)]
    pub(crate) launcher: Option<Launcher>,
    /// The address of rank 0, where it listens; the launcher's if not given
    #[arg(long)]
    pub(crate) bind: Option<IpAddr>,
    /// The port of rank 0; the one after MASTER_PORT if not given
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    #[command(flatten)]
    pub(crate) engine: Engine,
}

/// What carries between GPUs.
#[derive(Args, Clone, Debug)]
pub(crate) struct Engine {
    /// Seconds that anything may take which needs all ranks
    #[arg(long, default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,
    /// NCCL's library
    #[arg(long)]
    pub(crate) nccl: Option<PathBuf>,
    /// Lets NCCL use NVLink's multicast
    #[arg(long)]
    pub(crate) multicast: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Measure {
    /// How many GPUs; all that there are if not given
    #[arg(long)]
    pub(crate) gpus: Option<u32>,
    /// Lengths in all, with commas
    #[arg(long = "elements", short, value_delimiter = ',', value_parser = length, required = true)]
    pub(crate) n: Vec<u64>,
    /// Rounds of each length; in a round every contender runs once there and once back
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Seconds that all of it may take: then no further length is begun
    #[arg(long, default_value = "120", value_parser = seconds)]
    pub(crate) within: Duration,
    /// Every sample goes to this file, as CSV
    #[arg(long)]
    pub(crate) csv: Option<PathBuf>,
    /// Without NCCL
    #[arg(long)]
    pub(crate) without_nccl: bool,
    #[command(flatten)]
    pub(crate) engine: Engine,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Model {
    /// The samples of `many measure` on two GPUs; packed, if the name ends in .gz
    pub(crate) csv: PathBuf,
}

/// 1000, 1k, 3M, 2^28, 2^20+13.
pub(crate) fn length(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no length: write 1000, 2^20 or 2^20+13");
    let (main, more) = text.split_once('+').unwrap_or((text, "0"));
    let base = match main.split_once('^') {
        Some(("2", power)) => {
            let power: u32 = power.parse().map_err(|_| wrong())?;
            1u64.checked_shl(power).ok_or_else(wrong)?
        }
        Some(_) => return Err(wrong()),
        None => {
            let (digits, scale) = match main.chars().last() {
                Some('k') => (&main[..main.len() - 1], 1000),
                Some('M') => (&main[..main.len() - 1], 1_000_000),
                _ => (main, 1),
            };
            digits.parse::<u64>().ok().and_then(|n| n.checked_mul(scale)).ok_or_else(wrong)?
        }
    };
    let more: u64 = more.parse().map_err(|_| wrong())?;
    base.checked_add(more).ok_or_else(wrong)
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no number of seconds between 0.1 and 100000");
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if !(0.1..=1e5).contains(&seconds) {
        return Err(wrong());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        let read = ["0", "7", "1k", "3M", "2^28", "2^20+13"].map(|text| length(text).unwrap());
        assert_eq!(read, [0, 7, 1000, 3_000_000, 1 << 28, (1 << 20) + 13]);
        for text in ["", "k", "2^64", "3^2", "-1", "2^20+x", "99999999999999999999"] {
            assert!(length(text).is_err(), "{text}");
        }
        for text in ["0", "-1", "NaN", "inf", "x", "1e9"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
