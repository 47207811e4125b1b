//! Folders of measurements in `results/`, whose names begin with a date.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;

/// Returns the folders with measurements of one kind, such as `library` or `rows`, with the oldest
/// first.
pub(crate) fn folders(results: &Path, kind: &str) -> Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(results.join(kind)) else { return Ok(Vec::new()) };
    let folders = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut folders: Vec<_> = folders.into_iter().filter(|path| path.is_dir()).collect();
    folders.sort();
    Ok(folders)
}

/// Returns the newest folder that has an entry named `name` and is for a GPU whose name contains
/// `gpu`.
pub(crate) fn newest(root: &Path, kind: &str, gpu: &str, name: &str) -> Result<Option<PathBuf>> {
    let folders = folders(&root.join("results"), kind)?;
    let of =
        |folder: &PathBuf| folder.file_name().is_some_and(|n| n.to_string_lossy().contains(gpu));
    Ok(folders.into_iter().rfind(|folder| of(folder) && folder.join(name).exists()))
}

/// Splits a block's words into its name and its GPU, as in `powers on=h200`. If no GPU is given,
/// every GPU matches.
pub(crate) fn of_gpu<'w>(words: &'w [&'w str]) -> (&'w [&'w str], &'w str) {
    match words.split_last().and_then(|(last, rest)| Some((rest, last.strip_prefix("on=")?))) {
        Some((rest, gpu)) => (rest, gpu),
        None => (words, ""),
    }
}
