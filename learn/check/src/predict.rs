//! Predicts the time of a reader's kernel on a GPU, with the program of the exercise's chapter.

use std::{
    ffi::OsString,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use judge::Task;

use crate::ended::Ended;

/// The last exercise whose kernel is launched in the same way as the kernel of its chapter.
const LAST: usize = 7;

/// Returns the arguments for a cargo command that predicts the time of a kernel that replaces the
/// chapter's kernel.
fn arguments(task: &Task, path: &Path, gpu: &str) -> Result<Vec<OsString>> {
    if task.number > LAST {
        bail!(
            "the kernel of exercise {} is launched differently from that of {}, so its time cannot be predicted: choose an exercise from 1 to {LAST}",
            task.number,
            task.chapter
        );
    }
    let words = ["run", "--quiet", "--package", task.chapter, "--", "--predict", gpu, "--kernel"];
    Ok(words.map(OsString::from).into_iter().chain([path.as_os_str().to_owned()]).collect())
}

/// Prints the predicted time of a kernel.
pub(crate) fn print(task: &Task, path: &Path, gpu: &str) -> Result<Ended> {
    let arguments = arguments(task, path, gpu)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ran = Command::new(&cargo)
        .args(arguments)
        .current_dir(xtask::root())
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("running {}", cargo.display()))?;
    Ok(if ran.success() { Ended::Well } else { Ended::Failed })
}

#[cfg(test)]
mod tests {
    use judge::TASKS;

    use super::*;

    #[test]
    fn the_chapter_s_program_predicts_the_reader_s_kernel() {
        let path = Path::new("/tmp/kernel.cu");
        let words = |number: usize| arguments(&TASKS[number - 1], path, "h200");
        let command: Vec<String> =
            words(3).unwrap().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(
            command.join(" "),
            "run --quiet --package v2-bank-conflicts -- --predict h200 --kernel /tmp/kernel.cu"
        );
        let refused = words(8).unwrap_err().to_string();
        assert!(
            refused.contains("the kernel of exercise 8 is launched differently from that of"),
            "{refused}"
        );
    }
}
