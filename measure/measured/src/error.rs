//! Errors in files of results, as sentences that name the file and the line.

use std::{io, path::Path};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A file that cannot be read or written, or that is malformed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system call failed.
    #[error("{doing} {path}: {source}")]
    File {
        /// "reading" or "writing".
        doing: &'static str,
        /// The file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// A line that is not a row of this kind of file.
    #[error("{path}, line {line}: {reason}")]
    Line {
        /// The file.
        path: String,
        /// The line, from 1; 0 if no line can be named.
        line: u64,
        /// The content that was found, and the content that was expected.
        reason: String,
    },
    /// A folder with figures but without an environment.
    #[error(
        "{folder} has figures but no env.toml, which describes where they were taken: restore it, or move the folder out of results/"
    )]
    NoMachine {
        /// The folder.
        folder: String,
    },
    /// A file that is not TOML of this kind.
    #[error("{path}: {reason}")]
    Toml {
        /// The file.
        path: String,
        /// The parser's message, with the line.
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
