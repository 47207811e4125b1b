//! How far a reader is: one text file, for her to read, change or delete.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::exercise::exercises;

/// What is known of each exercise.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    file: PathBuf,
    known: BTreeMap<usize, Known>,
}

/// What is known of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// Whether it was passed once.
    pub(crate) passed: bool,
    /// Hints that were seen.
    pub(crate) hints: usize,
}

const HEAD: &str = "What `cargo x check` has seen of you. Change it or delete it as you like.\n\n";

impl Progress {
    /// What a file says, the usual one where there is no other; nothing, where there is none.
    pub(crate) fn load(other: Option<&Path>) -> Progress {
        let file = other.map_or_else(|| exercises().join("progress.txt"), Path::to_owned);
        let read = Progress::read(&fs::read_to_string(&file).unwrap_or_default());
        Progress { file, ..read }
    }

    fn read(text: &str) -> Progress {
        // Whatever is no such line, a reader has written for herself.
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

    /// What is known of an exercise.
    pub(crate) fn of(&self, number: usize) -> Known {
        self.known.get(&number).copied().unwrap_or_default()
    }

    /// Notes something, and keeps it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn note(&mut self, number: usize, known: Known) -> Result<()> {
        if self.of(number) == known {
            return Ok(());
        }
        self.known.insert(number, known);
        fs::write(&self.file, self.text())
            .with_context(|| format!("writing {}", self.file.display()))
    }

    fn text(&self) -> String {
        let lines = self.known.iter().map(|(number, known)| format!("{number:2} {known}\n"));
        HEAD.to_owned() + &lines.collect::<String>()
    }
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
    fn what_is_written_is_read_and_what_a_reader_adds_does_no_harm() {
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
