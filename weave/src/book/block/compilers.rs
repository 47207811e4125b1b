//! Implements `{{compilers STEP…}}`, which shows how many of a kernel's counts are the same for
//! both compilers.

use anyhow::{Context, Result};

use super::{
    highlight::escape,
    table::{link, table},
};
use crate::book::source::{Sources, compilers};

/// Returns a table with a row for each step or variant, compiled for `sm_90`.
pub(crate) fn html(sources: &Sources, names: &[&str]) -> Result<String> {
    let text = compilers::text(sources)?;
    let steps: Vec<&str> = sources.ladder().iter().map(|kernel| kernel.name.as_str()).collect();
    let row = |name: &&str| -> Result<Vec<String>> {
        let line = text.lines().find(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some(*name) && words.next() == Some("sm_90")
        });
        let line = line.with_context(|| {
            format!("compilers.txt has no {name} for sm_90: run `cargo x compilers`")
        })?;
        let (equal, differ) = differences(line);
        let [ours, theirs] = ["warp_insts", ""].map(|count| of(&differ, count));
        let name = if steps.contains(name) { link(name, "") } else { escape(name) };
        Ok(vec![name, equal, ours, theirs])
    };
    let rows = names.iter().map(row).collect::<Result<Vec<_>>>()?;
    let head = ["kernel", "counts that agree", "warp instructions", "other differences"]
        .map(str::to_owned);
    let caption = format!(
        "The interpreter's counts for sm_90, in the form NVRTC / clang. The number of thread instructions also differs; it is not shown. {}",
        escape(text.lines().next().unwrap_or_default()).replace(" | ", " / ")
    );
    Ok(table(&caption, &head, &rows).replace("class=\"figures\"", "class=\"figures opcodes\""))
}

/// Returns the number of equal counts, the total number of counts, and each count that differs,
/// with both values.
fn differences(line: &str) -> (String, Vec<(String, String)>) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words
        .iter()
        .position(|word| word.contains('/') && word.starts_with(|c: char| c.is_ascii_digit()));
    let Some(at) = at else { return ("–".into(), Vec::new()) };
    let rest = words[at + 1..].join(" ");
    let pairs = rest.split(", ").filter_map(|part| part.split_once(' '));
    (
        words[at].replace('/', " of "),
        pairs.map(|(name, values)| (name.to_owned(), values.to_owned())).collect(),
    )
}

/// Returns both values of the named count or, if the name is empty, both values of every count
/// except the numbers of instructions.
fn of(differ: &[(String, String)], count: &str) -> String {
    let wanted = |name: &str| match count {
        "" => !["warp_insts", "thread_insts"].contains(&name),
        count => name == count,
    };
    let found: Vec<String> = differ
        .iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, values)| (name, escape(values).replace(" | ", " / ")))
        .map(|(name, values)| match count {
            "" => format!("<code>{}</code> {values}", escape(name)),
            _ => values,
        })
        .collect();
    if found.is_empty() { "–".into() } else { found.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_lists_its_differences() {
        let line = "v12 sm_90  verified verified 13/18  warp_insts 79,915 | 84,061, thread_insts 2 | 3, shared_ld 569 | 2,177";
        let (equal, differ) = differences(line);
        assert_eq!((equal.as_str(), differ.len()), ("13 of 18", 3));
        assert_eq!(of(&differ, "warp_insts"), "79,915 / 84,061");
        assert_eq!(of(&differ, ""), "<code>shared_ld</code> 569 / 2,177");
        assert_eq!(differences("v12 sm_90 verified no (1)"), ("–".into(), Vec::new()));
    }
}
