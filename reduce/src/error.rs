//! What can go wrong.

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A call of the CUDA driver that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The driver's answer.
    #[error("{doing}: {source}")]
    Driver {
        /// What was being done.
        doing: &'static str,
        /// The driver's answer.
        source: cudarc::driver::DriverError,
    },
    /// The output has no room.
    #[error("the result needs a slice of one element to go to, and this one has none")]
    NoRoom,
}

/// Says what was being done when the driver failed.
pub(crate) fn doing(doing: &'static str) -> impl FnOnce(cudarc::driver::DriverError) -> Error {
    move |source| Error::Driver { doing, source }
}
