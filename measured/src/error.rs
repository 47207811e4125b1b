//! What can be wrong with a file of results, as a sentence that names the file and the line.

use std::{io, path::Path};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A file that cannot be read or written, or that is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused.
    #[error("{doing} {path}: {source}")]
    File {
        /// "reading" or "writing".
        doing: &'static str,
        /// The file.
        path: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A line that is no row of this kind of file.
    #[error("{path}, line {line}: {reason}")]
    Line {
        /// The file.
        path: String,
        /// The line, from 1; 0 where none can be named.
        line: u64,
        /// What was found, and what belongs there.
        reason: String,
    },
    /// A folder with figures, and nothing that says where they were taken.
    #[error(
        "{folder} has figures and no env.toml, which says what they were taken on: bring it back, or move the folder out of results/"
    )]
    NoMachine {
        /// The folder.
        folder: String,
    },
    /// A file that is no TOML of this kind.
    #[error("{path}: {reason}")]
    Toml {
        /// The file.
        path: String,
        /// The parser's words, with the line.
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
