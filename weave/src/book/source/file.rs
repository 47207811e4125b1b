//! Reads files, with errors that name the file.

use std::{fs, path::Path};

use anyhow::{Context, Result};

/// Reads a file as text.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}
