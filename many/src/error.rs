//! What can go wrong, each in a sentence.

use cudarc::driver::DriverError;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no sum.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A rank beyond the last one.
    #[error("RANK is {rank}, but WORLD_SIZE is {world}: ranks are 0 to {}", i64::from(*world) - 1)]
    Rank {
        /// The rank that there is not.
        rank: u32,
        /// How many there are.
        world: u32,
    },
    /// What launchers say does not fit together.
    #[error("{0}")]
    Launcher(String),
    /// Ranks did not meet, or do not agree.
    #[error("{0}")]
    Meeting(String),
    /// A rank is gone, or has given up.
    #[error("{0}")]
    Gone(String),
    /// NCCL is not there, or not well.
    #[error("{0}")]
    Nccl(String),
    /// GPUs that cannot do what was asked.
    #[error("{0}")]
    Gpus(String),
    /// A shard that does not fit the others.
    #[error("{0}")]
    Shard(String),
    /// A call of the CUDA driver that failed.
    #[error("{doing}: {source}")]
    Driver {
        /// What was being done.
        doing: &'static str,
        /// The driver's answer.
        source: DriverError,
    },
    /// One GPU's part of it.
    #[error(transparent)]
    Reduce(#[from] reduce::Error),
    /// The interpreter's answer.
    #[error("{0}")]
    Played(String),
}

/// Says what was being done when the driver failed.
pub(crate) fn doing(doing: &'static str) -> impl FnOnce(DriverError) -> Error {
    move |source| Error::Driver { doing, source }
}
