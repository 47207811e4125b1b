//! Finds the parts of an exercise in `exercises/`: the reader's file, the task, the hints and the
//! solutions.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use judge::{TASKS, Task};

/// An exercise in its folder.
#[derive(Clone, Debug)]
pub struct Exercise {
    /// The task.
    pub task: &'static Task,
    /// Its folder.
    pub folder: PathBuf,
}

impl Exercise {
    /// Finds an exercise by its number.
    ///
    /// # Errors
    /// There is no such exercise.
    pub fn of(number: usize) -> Result<Exercise> {
        match TASKS.iter().find(|task| task.number == number) {
            Some(task) => Ok(Exercise { task, folder: exercises().join(task.folder) }),
            None => bail!("there is no exercise {number}: choose 1 to {}", TASKS.len()),
        }
    }

    /// Returns the path of the file that the reader writes.
    pub fn kernel(&self) -> PathBuf {
        self.folder.join("kernel.cu")
    }

    /// Returns whether a path, in any spelling, refers to the reader's file.
    pub fn is_own(&self, path: &Path) -> bool {
        let whole = |path: &Path| fs::canonicalize(path).ok();
        whole(path).is_some_and(|path| Some(path) == whole(&self.kernel()))
    }

    /// Returns the task in Markdown, and its hints.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn text(&self) -> Result<(String, Vec<String>)> {
        let text = read(&self.folder.join("task.md"))?;
        let mut parts = text.split("## Hint\n").map(|part| part.trim().to_owned());
        let asked = parts.next().unwrap_or_default();
        Ok((asked, parts.collect()))
    }

    /// Returns the name and source of each solution, starting with the reference.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn solutions(&self) -> Result<Vec<(String, String)>> {
        let folder = self.folder.join("solutions");
        let files =
            fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
        let mut paths: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
        let ours = |path: &Path| path.file_stem().is_some_and(|stem| stem == "reference");
        paths.sort_by_key(|path| (!ours(path), path.clone()));
        let named = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok((name, read(path)?))
        };
        paths.iter().map(named).collect()
    }
}

/// Returns the folder of all exercises.
pub fn exercises() -> PathBuf {
    xtask::root().join("exercises")
}

/// Reads a text file.
pub(crate) fn read(path: &Path) -> Result<String> {
    compiler::read(path).with_context(|| format!("reading {}", path.display()))
}

/// Returns a path in the form in which messages show it: relative to the current folder, if the
/// path lies below that folder.
pub(crate) fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}
