//! Errors of compilers and of committed PTX.

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why there is no PTX.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The compiler cannot be loaded or called.
    #[error("{doing}: {text}")]
    Library {
        /// The operation that failed.
        doing: String,
        /// The loader's or the library's message.
        text: String,
    },
    /// There is no compiler of the requested kind.
    #[error("{0}")]
    Missing(String),
    /// The source does not compile.
    #[error("{file} does not compile:\n{log}")]
    Compile {
        /// The source.
        file: String,
        /// The compiler's messages, with line numbers.
        log: String,
    },
    /// A kernel includes a file that does not exist.
    #[error(
        "{file} includes `{name}`, which is not beside it: put a file of that name into its folder, or remove the line"
    )]
    Include {
        /// The source.
        file: String,
        /// The name.
        name: String,
    },
    /// PTX that is cut, edited, or without a stamp.
    #[error("{file} cannot be loaded as PTX: {reason}")]
    Stamp {
        /// The file's name.
        file: String,
        /// The reason.
        reason: String,
    },
}
