//! How a command ends.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use crate::error::Error;

/// Why printing stopped.
#[derive(Debug)]
pub enum Stop {
    /// Nobody reads standard output any more, as behind `| head -1`.
    Closed,
    /// Something went wrong.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Stop::Closed,
            _ => Stop::Error(Error::File {
                doing: "writing to standard output".into(),
                source: error,
            }),
        }
    }
}

/// Says how a command went: an error is a sentence, a closed pipe is none.
pub fn exit(result: Result<(), Stop>) -> ExitCode {
    match result {
        Ok(()) | Err(Stop::Closed) => ExitCode::SUCCESS,
        Err(Stop::Error(error)) => {
            let _ = writeln!(anstream::stderr(), "error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
