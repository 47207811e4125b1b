//! A file's text, or a sentence that names it.

use std::{fs, path::Path};

use anyhow::{Context, Result};

/// A file's text.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}
