//! Stores the reader's progress in a text file, which the reader may read, change or delete.

use std::{
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::exercise::exercises;

/// The progress in all exercises.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    file: PathBuf,
    known: BTreeMap<usize, Known>,
}

/// The progress in one exercise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// Whether the exercise has been passed.
    pub(crate) passed: bool,
    /// The number of hints that the reader has seen.
    pub(crate) hints: usize,
}

const HEAD: &str = "Your progress in `cargo x check`. You may change or delete this file.\n\n";

impl Progress {
    /// Loads the progress from `other`, or from the default file if `other` is `None`. If the file
    /// does not exist, the progress is empty.
    ///
    /// # Errors
    /// The path refers to a folder, a pipe or a device, or the file cannot be read.
    pub(crate) fn load(other: Option<&Path>) -> Result<Progress> {
        let file = other.map_or_else(|| exercises().join("progress.txt"), Path::to_owned);
        // An invalid byte affects only its own line.
        let read = Progress::read(&String::from_utf8_lossy(&bytes(&file)?));
        Ok(Progress { file, ..read })
    }

    fn read(text: &str) -> Progress {
        // The reader may have added other lines, which are ignored.
        let line = |line: &str| {
            let mut words = line.split([' ', ',']).filter(|word| !word.is_empty());
            let number = words.next()?.parse().ok()?;
            let words: Vec<&str> = words.collect();
            let hints = words.iter().position(|word| word.starts_with("hint"));
            let hints = hints.and_then(|at| words.get(at.checked_sub(1)?)?.parse().ok());
            Some((number, Known { passed: words.contains(&"passed"), hints: hints.unwrap_or(0) }))
        };
        Progress { known: text.lines().filter_map(line).collect(), file: PathBuf::new() }
    }

    /// Returns the progress in one exercise.
    pub(crate) fn of(&self, number: usize) -> Known {
        self.known.get(&number).copied().unwrap_or_default()
    }

    /// Records progress and saves it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn note(&mut self, number: usize, known: Known) -> Result<()> {
        if self.of(number) == known {
            return Ok(());
        }
        self.known.insert(number, known);
        let old = bytes(&self.file)?;
        fs::write(&self.file, self.noted(&old, number))
            .with_context(|| format!("writing {}", self.file.display()))
    }

    /// Returns the bytes of a file in which the line of one exercise has been replaced or added.
    /// All other lines stay the same.
    fn noted(&self, old: &[u8], number: usize) -> Vec<u8> {
        if old.is_empty() {
            return self.text().into_bytes();
        }
        let new = format!("{number:2} {}", self.of(number));
        let is_its = |line: &[u8]| {
            let line = String::from_utf8_lossy(line);
            line.split([' ', ',']).find(|word| !word.is_empty()) == Some(&number.to_string())
        };
        let mut lines: Vec<&[u8]> = old.split(|b| *b == b'\n').collect();
        if lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        // If an exercise has several lines, the last one counts.
        match lines.iter().rposition(|line| is_its(line)) {
            Some(at) => lines[at] = new.as_bytes(),
            None => lines.push(new.as_bytes()),
        }
        let mut out = lines.join(&b'\n');
        out.push(b'\n');
        out
    }

    fn text(&self) -> String {
        let lines = self.known.iter().map(|(number, known)| format!("{number:2} {known}\n"));
        HEAD.to_owned() + &lines.collect::<String>()
    }
}

/// The maximum size of a progress file that is read, in bytes.
const MOST: u64 = 1 << 20;

/// Returns the bytes of a regular file, or no bytes if there is no file. A pipe is not opened,
/// because opening it could block forever.
fn bytes(path: &Path) -> Result<Vec<u8>> {
    let reading = || format!("reading your progress from {}", path.display());
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(reading),
        Ok(facts) if !facts.is_file() => {
            bail!("{}: it is not a regular file: name another with `--progress`", reading())
        }
        Ok(facts) if facts.len() > MOST => {
            bail!("{}: it is larger than 1 MiB: name another with `--progress`", reading())
        }
        Ok(_) => {}
    }
    fs::read(path).with_context(reading)
}

impl std::fmt::Display for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.passed { "passed" } else { "open" })?;
        match self.hints {
            0 => Ok(()),
            1 => f.write_str(", 1 hint"),
            hints => write!(f, ", {hints} hints"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_changes_one_line_and_keeps_the_rest() {
        let mut progress = Progress::default();
        progress.known.insert(3, Known { passed: true, hints: 1 });
        let old = b"mine: \xff\n 3 open\n12 passed\nno newline";
        let noted = progress.noted(old, 3);
        assert_eq!(noted, b"mine: \xff\n 3 passed, 1 hint\n12 passed\nno newline\n");
        let read = Progress::read(&String::from_utf8_lossy(&noted));
        assert!(read.of(3).passed && read.of(12).passed);
        progress.known.insert(7, Known { passed: true, hints: 0 });
        assert!(progress.noted(&noted, 7).ends_with(b"no newline\n 7 passed\n"));
    }

    #[test]
    fn saved_progress_is_read_and_other_lines_are_ignored() {
        let mut progress = Progress::default();
        progress.known.insert(3, Known { passed: true, hints: 0 });
        progress.known.insert(11, Known { passed: false, hints: 2 });
        let text = progress.text() + "\nnote to self: 12 is hard\n5\n";
        assert_eq!(progress.text(), format!("{HEAD} 3 passed\n11 open, 2 hints\n"));
        let read = Progress::read(&text);
        assert_eq!((read.of(3), read.of(11)), (progress.of(3), progress.of(11)));
        assert_eq!(read.of(5), Known::default());
        assert_eq!(Progress::read("").of(1), Known::default());
    }
}
