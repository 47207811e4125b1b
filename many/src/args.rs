//! Parses the command line.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use many::Launcher;
use numbers::{Size, Sizes};

/// Computes the sum of elements on several GPUs, with the same bits as on one GPU.
#[derive(Debug, Parser)]
#[command(version, about)]
pub(crate) struct Command {
    #[command(subcommand)]
    pub(crate) what: Option<What>,
}

/// The subcommand. Without a subcommand, `many` computes a sum with interpreters in one process.
#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// Computes the sum of elements that are distributed over several GPUs, and compares the result
    /// with the sum on one GPU.
    Sum(Sum),
    /// Times sums on all the GPUs of this machine in one process, with GPU-gated and paired runs.
    Measure(Measure),
    /// Times exact sums on all the GPUs of this machine in one process, and compares the bits of
    /// the sum, for ten splits of the elements, with those of the sum on one GPU.
    Exact(Exact),
    /// Predicts the times on more GPUs, using a model that is fitted to measurements on two GPUs.
    Model(Model),
}

/// The type of device on which the stages run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Device {
    /// GPUs if this machine has any; otherwise, interpreters.
    Auto,
    /// GPUs.
    Cuda,
    /// Interpreters.
    Simt,
}

/// The way in which the ranks exchange their partial sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Exchange {
    /// Messages between the kernels, which require GPUs in one process with peer access.
    Kernel,
    /// NCCL's all-gather.
    Gather,
    /// NCCL's all-reduce of integers, which is the default across hosts.
    Reduce,
}

/// The operation that combines the elements.
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

/// The element type, as named on the command line.
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

/// Calls a function that is generic over the element type, with the chosen type.
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
    /// The number of GPUs or interpreters; the default is all GPUs, or two interpreters
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) gpus: Option<u32>,
    /// Run all ranks in this process, instead of each rank in its own process
    #[arg(long)]
    pub(crate) one_process: bool,
    /// Run all ranks on the first GPU, one after another, for machines with fewer GPUs than ranks
    #[arg(long, requires = "one_process")]
    pub(crate) share: bool,
    /// The devices to run on
    #[arg(long, value_enum, default_value_t = Device::Auto)]
    pub(crate) device: Device,
    /// The way in which partial sums are exchanged. Within one process, the default is the exchange
    /// inside the kernels. Between processes, the default is NCCL's all-gather on one host, and
    /// NCCL's all-reduce across hosts
    #[arg(long, value_enum)]
    pub(crate) exchange: Option<Exchange>,
    /// The total number of elements, for example 1000000, 2^28, 3*2^30+7, 1Mi or 1M
    #[arg(
        long = "elements",
        short,
        default_value = "2^20+13",
        conflicts_with = "lengths",
        allow_hyphen_values = true
    )]
    pub(crate) n: Size,
    /// The element type
    #[arg(long = "type", value_enum, default_value_t = Type::F32)]
    pub(crate) element: Type,
    /// The operation that combines the elements
    #[arg(long, value_enum, default_value_t = Operation::Sum)]
    pub(crate) op: Operation,
    /// The number of calls; the results of all calls must have the same bits
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// The length of each rank's shard, as a list such as 2^20,1000; by default, all shards have
    /// the same length
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) lengths: Option<Sizes>,
    /// Skip the comparison with the result on one GPU
    #[arg(long)]
    pub(crate) unchecked: bool,
    #[command(flatten)]
    pub(crate) meeting: Meeting,
    /// For tests, stop a rank at a given point: before:1, during:1 or after:1
    #[arg(long, hide = true)]
    pub(crate) hold: Option<String>,
}

/// Options for the rendezvous of the ranks.
#[derive(Args, Clone, Debug)]
pub(crate) struct Meeting {
    /// The launcher whose environment variables give the rank, if several launchers have set their
    /// variables
    #[arg(long, value_enum)]
    pub(crate) launcher: Option<Launcher>,
    /// The address on which rank 0 listens; by default, the address that the launcher gives
    #[arg(long)]
    pub(crate) bind: Option<IpAddr>,
    /// The port of rank 0; by default, MASTER_PORT + 1
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    #[command(flatten)]
    pub(crate) engine: Engine,
}

/// Options for the transport between GPUs.
#[derive(Args, Clone, Debug)]
pub(crate) struct Engine {
    /// The timeout, in seconds, of each operation that needs all ranks
    #[arg(long, default_value = "60", value_parser = seconds, allow_hyphen_values = true)]
    pub(crate) timeout: Duration,
    /// The path of the NCCL library
    #[arg(long)]
    pub(crate) nccl: Option<PathBuf>,
    /// Let NCCL use NVLink multicast
    #[arg(long)]
    pub(crate) multicast: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Measure {
    /// The number of GPUs; the default is all GPUs
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) gpus: Option<u32>,
    /// The total numbers of elements, as a list such as 2^20,3*2^30+7, or as a range such as
    /// 2^10..2^28, in which each number is twice the previous one
    #[arg(long = "elements", short, required = true, allow_hyphen_values = true)]
    pub(crate) n: Sizes,
    /// The number of rounds for each length; in a round, all competitors run in order and then in
    /// reverse order
    #[arg(long, default_value_t = 40, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// The time budget in seconds; once it is used up, no further length is started
    #[arg(long, default_value = "120", value_parser = seconds, allow_hyphen_values = true)]
    pub(crate) within: Duration,
    /// Write every sample to this file, as CSV
    #[arg(long)]
    pub(crate) csv: Option<PathBuf>,
    /// Measure without NCCL
    #[arg(long)]
    pub(crate) without_nccl: bool,
    #[command(flatten)]
    pub(crate) engine: Engine,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Exact {
    /// The number of GPUs; the default is all GPUs
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) gpus: Option<u32>,
    /// The total numbers of elements, as a list such as 2^20,3*2^30+7, or as a range such as
    /// 2^10..2^28, in which each number is twice the previous one
    #[arg(
        long = "elements",
        short,
        default_value = "2^10,2^20,2^24,2^28",
        allow_hyphen_values = true
    )]
    pub(crate) n: Sizes,
    /// The element types with exact sums, as a list
    #[arg(long = "type", value_enum, value_delimiter = ',', default_value = "f32,f64,f16,bf16")]
    pub(crate) element: Vec<Type>,
    /// The number of rounds for each length; in a round, the sum on one GPU and the sum on all GPUs
    /// run in this order and then in reverse order
    #[arg(long, default_value_t = 40, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    #[command(flatten)]
    pub(crate) engine: Engine,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Model {
    /// The samples of `many measure` on two GPUs; gzip-compressed if the name ends in .gz
    pub(crate) csv: PathBuf,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a number of seconds between 0.1 and 100000");
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if !(0.1..=1e5).contains(&seconds) {
        return Err(wrong());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Command, String> {
        let all = ["many"].iter().chain(arguments);
        Command::try_parse_from(all).map_err(|error| error.to_string())
    }

    #[test]
    fn lengths_have_the_usual_notation() {
        for (text, n) in [("3*2^30+7", 3 << 30 | 7), ("1k", 1000), ("1Mi", 1 << 20), ("0", 0)] {
            let Ok(Command { what: Some(What::Sum(sum)) }) = parsed(&["sum", "-n", text]) else {
                panic!("{text}")
            };
            assert_eq!(sum.n, Size(n), "{text}");
        }
        let Ok(Command { what: Some(What::Sum(sum)) }) = parsed(&["sum", "--lengths", "3*2^4,5"])
        else {
            panic!()
        };
        assert_eq!(sum.lengths.unwrap().0, [Size(48), Size(5)]);
        for (text, why) in [("-1", "negative"), ("2^64", "64 bits"), ("x", "not a number")] {
            let error = parsed(&["sum", "-n", text]).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn lengths_exclude_their_total() {
        let error = parsed(&["sum", "--lengths", "5,6", "-n", "1000"]).unwrap_err();
        assert!(error.contains("cannot be used with"), "{error}");
    }

    #[test]
    fn a_negative_number_is_rejected_as_a_number() {
        for arguments in [
            &["sum", "--gpus", "-1"][..],
            &["sum", "--repeat", "-1"],
            &["sum", "--port", "-1"],
            &["sum", "--timeout", "-1"],
            &["measure", "-n", "1", "--rounds", "-1"],
            &["measure", "-n", "1", "--within", "-1"],
            &["measure", "-n", "-1"],
            &["exact", "--gpus", "-1"],
            &["exact", "--rounds", "-1"],
        ] {
            let error = parsed(arguments).unwrap_err();
            assert!(error.contains("'-1'") && !error.contains("unexpected"), "{error}");
        }
    }

    #[test]
    fn a_time_is_a_number_of_seconds() {
        for text in ["0", "-1", "NaN", "inf", "x", "1e9"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
