//! Errors. Each message is a sentence.

use cudarc::driver::DriverError;

/// The result of a fallible function in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error in this crate: either there is no result, or the result is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The rank is greater than the last rank.
    #[error("RANK is {rank}, but WORLD_SIZE is {world}: ranks are 0 to {}", i64::from(*world) - 1)]
    Rank {
        /// The rank that does not exist.
        rank: u32,
        /// The number of ranks.
        world: u32,
    },
    /// The launchers' environment variables contradict each other.
    #[error("{0}")]
    Launcher(String),
    /// The rendezvous of the ranks failed, or the ranks request different sums.
    #[error("{0}")]
    Meeting(String),
    /// A rank is lost or has given up.
    #[error("{0}")]
    Gone(String),
    /// NCCL is missing, or has failed.
    #[error("{0}")]
    Nccl(String),
    /// The bits of a result differ from those on one GPU, or from those of an earlier call.
    #[error("{0}")]
    Bits(String),
    /// The GPUs cannot perform the requested sum.
    #[error("{0}")]
    Gpus(String),
    /// A shard has the wrong length, or the total length of the shards is too large.
    #[error("{0}")]
    Shard(String),
    /// A call to the CUDA driver failed.
    #[error("{doing}: {source}")]
    Driver {
        /// The operation that failed.
        doing: &'static str,
        /// The driver's error.
        source: DriverError,
    },
    /// The sum on one GPU failed.
    #[error(transparent)]
    Reduce(#[from] reduce::Error),
    /// The interpreter failed.
    #[error("{0}")]
    Played(String),
}

impl Error {
    /// Returns the exit code of a program that stops with this error: 1 if the result is wrong, and
    /// 2 if there is no result.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Bits(_) => 1,
            _ => 2,
        }
    }
}

/// Returns a function that adds the name of the failed operation to a driver error.
pub(crate) fn doing(doing: &'static str) -> impl FnOnce(DriverError) -> Error {
    move |source| Error::Driver { doing, source }
}
