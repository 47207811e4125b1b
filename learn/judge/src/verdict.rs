//! The result of judging: the stages that passed, or the first failure.

use std::fmt;

use crate::task::Task;

/// A verdict.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The exercise.
    pub task: &'static Task,
    /// The seed of the numbers and schedules.
    pub seed: u64,
    /// The stages that passed, each with a description of its tests.
    pub passed: Vec<(Stage, String)>,
    /// The failure, if there is one.
    pub failure: Option<Failure>,
    /// A description of the latest launch that called `printf`, the first lines of the output, and
    /// the number of calls of `printf`.
    pub printed: Option<(String, Vec<String>, u64)>,
}

/// The stages, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The results are correct.
    Right,
    /// The results are correct by construction, not by chance.
    Clean,
    /// The counts are within the budgets.
    Budget,
}

/// The failure to fix first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The stage that found the failure.
    pub stage: Stage,
    /// A description of the failure that names a line, a size or a count.
    pub said: String,
    /// The lines of the source that the description names.
    pub lines: Vec<u32>,
    /// The missing idea, if it is known.
    pub idea: Option<&'static str>,
}

impl Failure {
    pub(crate) fn new(stage: Stage, said: String) -> Failure {
        Failure { stage, said, lines: Vec::new(), idea: None }
    }

    pub(crate) fn at(mut self, lines: impl IntoIterator<Item = u32>) -> Failure {
        self.lines = lines.into_iter().filter(|line| *line > 0).collect();
        self.lines.sort_unstable();
        self.lines.dedup();
        self
    }
}

impl Verdict {
    /// Returns whether all stages passed.
    pub fn passed(&self) -> bool {
        self.failure.is_none()
    }

    /// Formats the verdict in 80 columns, with the lines of the source that it names.
    pub fn page(&self, source: &str) -> String {
        let mut out = format!("exercise {}: {}\n", self.task.number, self.task.name);
        if let Some((launch, lines, calls)) = &self.printed {
            out += &paragraph("  printed   ", &format!("for {launch}, by {calls} calls:"));
            lines.iter().for_each(|line| out += &format!("            {line}\n"));
            if *calls > lines.len() as u64 {
                out += "            …\n";
            }
        }
        for (stage, said) in &self.passed {
            out += &paragraph(&format!("  {:9} ", stage.to_string()), said);
        }
        if let Some(failure) = &self.failure {
            out += &paragraph(&format!("  {:9} ", failure.stage.to_string()), &failure.said);
            for line in &failure.lines {
                let text = source.lines().nth(*line as usize - 1).unwrap_or_default();
                out += &format!("            {line:3} | {}\n", text.trim());
            }
            if let Some(idea) = failure.idea {
                out += &paragraph("            ", idea);
            }
        }
        out
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Right => "correct",
            Stage::Clean => "clean",
            Stage::Budget => "budget",
        })
    }
}

/// Wraps words at 80 columns after a heading; further lines are indented by the width of the
/// heading.
pub fn paragraph(head: &str, words: &str) -> String {
    let (mut out, mut line) = (String::new(), head.to_owned());
    let mut empty = true;
    for word in words.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > 80 {
            out += line.trim_end();
            out.push('\n');
            line = " ".repeat(head.chars().count());
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line += word;
        empty = false;
    }
    out + line.trim_end() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_eighty_columns_wide_and_shows_the_lines() {
        let said = "block 0 ".repeat(30);
        let failure = Failure::new(Stage::Clean, said).at([2, 0, 2, 1]);
        let verdict = Verdict {
            task: &crate::tasks::TASKS[0],
            seed: 1,
            passed: vec![(Stage::Right, "on 16 sizes".into())],
            failure: Some(Failure { idea: Some("Take a barrier."), ..failure }),
            printed: None,
        };
        let page = verdict.page("first\n  second\n");
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
        assert!(page.contains("\n              1 | first\n              2 | second\n"), "{page}");
        assert!(page.ends_with("            Take a barrier.\n"), "{page}");
    }
}
