//! Finds phrases that the style in CONTRIBUTING.md rules out, in prose, comments and messages.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

/// The phrases that have a plain equivalent, in lower case. No phrase is a single common word.
const PHRASES: [(&str, &str); 43] = [
    ("whoever", "name the subject: the caller, the reader, a thread"),
    ("whosoever", "name the subject"),
    ("who waits", "a thread that waits"),
    ("who asks", "the caller"),
    ("who has no", "name the subject"),
    ("who does not", "name the subject"),
    ("is not to be had", "is not available"),
    ("are not to be had", "are not available"),
    ("is to be had", "is available"),
    ("nothing is to be had", "nothing is available"),
    ("between two words", "unaligned"),
    ("with a lane on", "with at least one active lane"),
    ("lanes that are on", "active lanes"),
    ("places for warps", "warp slots, occupancy"),
    ("foretold", "predicted"),
    ("first answer", "time to first result"),
    ("the clock of the caller", "wall time"),
    ("the caller's clock", "wall time"),
    ("contender", "competitor"),
    ("wide load", "vectorized load"),
    ("a turn of the loop", "an iteration"),
    ("turns of the loop", "iterations"),
    ("turn of its loop", "iteration of its loop"),
    ("takes its mail", "consumes its message"),
    ("waits for mail", "polls a flag"),
    ("mail that", "a message that"),
    ("its mailbox", "its message slot"),
    ("is nobody's", "belongs to no one; name the owner"),
    ("nobody's affair", "say what holds"),
    ("the clock's affair", "depends on timing"),
    ("of its own accord", "by itself"),
    ("asks again", "polls, retries"),
    ("let alone what", "say what holds"),
    ("by luck", "by chance"),
    ("has it that", "state the fact"),
    ("not a whole", "not entirely"),
    ("is said so", "say what is printed"),
    ("owes nobody", "makes no promise"),
    ("hearsay", "unmeasured"),
    ("lumps", "quantized samples"),
    ("what it owes", "what it must do"),
    ("rubbish", "garbage values, unused values"),
    ("wherefore", "why"),
];

/// The words that begin a statement without a subject. A question may begin with these words.
const OPENINGS: [&str; 5] = ["Who ", "What ", "Whoever ", "Whatever ", "Nobody "];

/// The files that may use such a phrase, with the reasons.
const ALLOWED: [(&str, &str); 4] = [
    ("xtask/src/tidy/phrases.rs", "lists the phrases"),
    ("CONTRIBUTING.md", "shows each phrase beside its replacement"),
    ("xtask/fixtures/", "kept as they were recorded"),
    (
        "results/",
        "samples and consoles, kept as they were recorded; only their READMEs are checked",
    ),
];

/// The kinds of files that contain prose.
const READ: [&str; 10] = [".md", ".rs", ".cu", ".cuh", ".toml", ".py", ".js", ".css", ".c", ".h"];

/// The length of lines that are not read.
const ENCODED: usize = 1 << 14;

/// Returns the violations in the tracked files, each with its place and its remedy.
pub(crate) fn faults(sh: &Shell, root: &Path) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for path in cmd!(sh, "git ls-files").quiet().read()?.lines() {
        let allowed = ALLOWED.iter().any(|(start, _)| path.starts_with(start));
        let readme = path.ends_with("README.md");
        let file = root.join(path);
        if allowed && !readme || !READ.iter().any(|end| path.ends_with(end)) || !file.exists() {
            continue;
        }
        let text = fs::read_to_string(&file).with_context(|| format!("reading {path}"))?;
        let found = of(&text, path.ends_with(".md"));
        faults.extend(found.iter().map(|(line, fault)| format!("{path}:{line}: {fault}")));
    }
    Ok(faults)
}

/// Returns the lines in a text that break the rules, with the reason. In Markdown, all text is
/// prose; in other files, only comments are.
fn of(text: &str, markdown: bool) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let mut code = false;
    let mut statement: Option<(usize, String)> = None;
    // A longer line is not text: the scripts that contain the page's modules are one line each.
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| line.len() < ENCODED) {
        code ^= markdown && line.trim_start().starts_with("```");
        let lower = line.to_lowercase();
        for (phrase, plain) in PHRASES.iter().filter(|(phrase, _)| lower.contains(phrase)) {
            faults.push((number, format!("\"{phrase}\": write \"{plain}\"")));
        }
        let prose = if markdown { (!code).then_some(line.trim()) } else { comment(line) };
        // A statement ends with its comment or paragraph.
        let Some(prose) = prose.filter(|prose| !prose.is_empty()) else {
            statement = None;
            continue;
        };
        for sentence in sentences(prose) {
            let (at, whole) = match statement.take() {
                Some((at, begun)) => (at, format!("{begun} {sentence}")),
                None => (number, sentence.to_owned()),
            };
            match whole.chars().last() {
                Some('.') if OPENINGS.iter().any(|opening| whole.starts_with(opening)) => {
                    faults.push((at, format!("\"{}…\" has no subject", head(&whole))));
                }
                Some('.' | '?' | '!' | ':') => (),
                _ => statement = Some((at, whole)),
            }
        }
    }
    faults
}

/// Returns the text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ["//!", "///", "//", "# ", "* "].iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim)
}

/// Splits a line of prose after the marks that end a sentence.
fn sentences(prose: &str) -> impl Iterator<Item = &str> {
    let mut rest = prose.trim_start_matches(['*', '-', '>', '#', ' ']);
    std::iter::from_fn(move || {
        let ends = [". ", "? ", "! ", ": "].iter().filter_map(|mark| rest.find(mark)).min();
        let (sentence, more) = rest.split_at(ends.map_or(rest.len(), |at| at + 1));
        rest = more.trim_start();
        (!sentence.is_empty()).then_some(sentence)
    })
}

fn head(sentence: &str) -> String {
    sentence.split(' ').take(4).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_and_statements_without_a_subject_are_named() {
        for (text, markdown, lines) in [
            ("Whoever reads this.", true, vec![1, 1]),
            ("A chapter.\nWhat is left is added.\n", true, vec![2]),
            ("What is left?\nA few elements.\n", true, vec![]),
            ("## What it promises\n\nThe same bits.\n", true, vec![]),
            ("```\n// What is code is left alone.\n```\n", true, vec![]),
            ("/// What is left\n/// is added.\nlet x = 1;\n", false, vec![1]),
            ("/// Adds. Who waits\n/// is served?\n", false, vec![1]),
            ("let x = \"it is not to be had\";\n", false, vec![1]),
            ("// It adds.\n// Nobody reads it.\n", false, vec![2]),
            ("let What = 1. + 2.;\n", false, vec![]),
        ] {
            let found: Vec<usize> = of(text, markdown).iter().map(|(line, _)| *line).collect();
            assert_eq!(found, lines, "{text:?}");
        }
    }

    #[test]
    fn lines_of_encoded_bytes_are_not_read() {
        let encoded = |count| format!("live(\"{}lumps\")", "A".repeat(count));
        assert_eq!(of(&encoded(ENCODED), false), []);
        assert_eq!(of(&encoded(80), false).len(), 1);
    }

    #[test]
    fn every_phrase_is_found_and_every_allowance_has_a_reason() {
        for (phrase, plain) in PHRASES {
            assert!(!of(&format!("It {phrase} it."), true).is_empty(), "{phrase}");
            assert_ne!(plain, "", "{phrase}");
        }
        assert!(ALLOWED.iter().all(|(_, why)| !why.is_empty()));
    }
}
