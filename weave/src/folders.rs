//! Folders of measurements below `results/`; a name begins with its date.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;

/// The folders of measurements of one kind, as `library` or `rows`, oldest first.
pub(crate) fn folders(results: &Path, kind: &str) -> Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(results.join(kind)) else { return Ok(Vec::new()) };
    let folders = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut folders: Vec<_> = folders.into_iter().filter(|path| path.is_dir()).collect();
    folders.sort();
    Ok(folders)
}

/// The newest of them that has something of that name.
pub(crate) fn newest(root: &Path, kind: &str, name: &str) -> Result<Option<PathBuf>> {
    let folders = folders(&root.join("results"), kind)?;
    Ok(folders.into_iter().rfind(|folder| folder.join(name).exists()))
}
