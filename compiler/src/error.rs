//! Errors that compilers return, and errors in committed PTX.

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why there is no PTX.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The compiler cannot be loaded or called.
    #[error("{doing}: {text}")]
    Library {
        /// The operation that failed.
        doing: String,
        /// The message from the loader or the library.
        text: String,
    },
    /// There is no compiler of the requested kind.
    #[error("{0}")]
    Missing(String),
    /// The source does not compile.
    #[error("{file} does not compile:\n{log}")]
    Compile {
        /// The path of the source.
        file: String,
        /// The compiler's messages, which include line numbers.
        log: String,
    },
    /// A kernel includes a file that does not exist.
    #[error(
        "{file} includes `{name}`, which is not in the same folder: put a file with that name into the folder, or remove the line"
    )]
    Include {
        /// The path of the source.
        file: String,
        /// The name in the `#include` line.
        name: String,
    },
    /// A PTX file that is truncated, edited, or without a stamp.
    #[error("{file} cannot be loaded as PTX: {reason}")]
    Stamp {
        /// The name of the file.
        file: String,
        /// The reason why the file cannot be loaded.
        reason: String,
    },
}
