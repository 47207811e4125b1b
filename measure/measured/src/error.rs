//! Errors in files of results. Each error is a sentence that names the file and the line.

use std::{io, path::Path};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure to read or write a file, or a malformed file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system call failed.
    #[error("{doing} {path}: {source}")]
    File {
        /// The operation: "reading" or "writing".
        doing: &'static str,
        /// The path of the file.
        path: String,
        /// The error that the system returned.
        source: io::Error,
    },
    /// A line that is not a row of this kind of file.
    #[error("{path}, line {line}: {reason}")]
    Line {
        /// The path of the file.
        path: String,
        /// The number of the line, counting from 1; 0 if no line can be named.
        line: u64,
        /// A description of the actual content and the expected content.
        reason: String,
    },
    /// A folder that has figures but no `env.toml`.
    #[error(
        "{folder} has figures but no env.toml, which describes where they were taken: restore it, or move the folder out of results/"
    )]
    NoMachine {
        /// The path of the folder.
        folder: String,
    },
    /// A file that is not valid TOML for its kind.
    #[error("{path}: {reason}")]
    Toml {
        /// The path of the file.
        path: String,
        /// The parser's message, which includes the line.
        reason: String,
    },
}

impl Error {
    pub(crate) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.display().to_string();
        move |source| Error::File { doing: "reading", path, source }
    }

    pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.display().to_string();
        move |source| Error::File { doing: "writing", path, source }
    }
}
