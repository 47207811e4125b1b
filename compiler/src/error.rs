//! Why there is no PTX.

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that keeps a compiler from giving PTX, and a reader from taking it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The compiler's library cannot be loaded or called.
    #[error("{doing}: {text}")]
    Library {
        /// What was being done.
        doing: String,
        /// The loader's or the library's words.
        text: String,
    },
    /// The source does not compile.
    #[error("{file} does not compile:\n{log}")]
    Compile {
        /// The source.
        file: String,
        /// The compiler's messages, with line numbers.
        log: String,
    },
    /// A kernel includes a file that is not there.
    #[error(
        "{file} includes `{name}`, which is not beside it: put a file of that name into its folder, or take the line out"
    )]
    Include {
        /// The source.
        file: String,
        /// The name.
        name: String,
    },
    /// PTX that is cut, edited, or without a stamp.
    #[error("{file} is no PTX that can be loaded: {reason}")]
    Stamp {
        /// The file's name.
        file: String,
        /// What was found in it.
        reason: String,
    },
}
