//! What the program says, and what only it finds fault with.

use std::io::{self, Write};

use many::Error;

/// Says a line. Where nobody reads it, that is no error.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// A failure that no part of the library has.
pub(crate) fn failed(sentence: String) -> Error {
    Error::Gpus(sentence)
}
