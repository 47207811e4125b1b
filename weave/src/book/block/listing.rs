//! Shows listings of kernels, drivers, diffs, PTX, machine code and included files.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use similar::TextDiff;

use super::highlight::{self, Language};
use crate::book::source::{Sources, file::read};

/// Formats a listing with the name of its file as its caption.
fn named(name: &str, language: Language, code: &str) -> String {
    format!(
        "\n<figure class=\"listing\">\n<figcaption>{}</figcaption>\n\n{}\n\n</figure>\n\n",
        highlight::escape(name),
        highlight::listing(language, code)
    )
}

/// Formats a whole CUDA file.
pub(crate) fn cuda(file: &str, source: &str) -> String {
    named(file, Language::Cuda, source)
}

/// Implements `{{kernel STEP}}`, which shows a whole kernel.
pub(crate) fn kernel(sources: &Sources, step: &str) -> Result<String> {
    let kernel = sources.kernel(step)?;
    Ok(named(&path(sources, step, "kernel.cu")?, Language::Cuda, &kernel.source))
}

/// Implements `{{driver STEP}}`, which shows the plan function, or a function that it calls: the
/// comment, and the code up to the closing brace at the margin.
pub(crate) fn driver(sources: &Sources, step: &str, function: &str) -> Result<String> {
    let file = path(sources, step, "lib.rs")?;
    let text = read(&sources.root.join(&file))?;
    let lines: Vec<&str> = text.lines().collect();
    let start = lines
        .iter()
        .position(|line| line.trim_start_matches("pub ").starts_with(&format!("fn {function}(")))
        .with_context(|| format!("{file} has no `fn {function}(`"))?;
    let comment = lines[..start].iter().rev().take_while(|line| line.starts_with("///")).count();
    let end = lines[start..].iter().position(|line| *line == "}").context("a function ends")?;
    let code = lines[start - comment..=start + end].join("\n");
    Ok(named(&file, Language::Rust, &code))
}

/// Implements `{{diff STEP}}`, which shows the difference from the kernel of the previous step, or
/// of another step.
pub(crate) fn diff(sources: &Sources, step: &str, other: Option<&str>) -> Result<String> {
    let old = match other {
        Some(other) => sources.kernel(other)?,
        None => sources.before(step)?.with_context(|| format!("no step comes before {step}"))?,
    };
    let new = sources.kernel(step)?;
    let diff = TextDiff::from_lines(&old.source, &new.source);
    let text = diff.unified_diff().context_radius(2).to_string();
    let lines = xtask::diff::changed(old, new);
    let name = format!("{} to {step}: {lines} changed lines of code", old.name);
    Ok(named(&name, Language::Diff, &text))
}

/// Implements `{{ptx STEP "FROM" "TO"}}`.
pub(crate) fn ptx(sources: &Sources, step: &str, from: &str, to: &str) -> Result<String> {
    let file = path(sources, step, "kernel.f32.ptx")?;
    let text = read(&sources.root.join(&file))?;
    Ok(named(&file, Language::Ptx, &between(&text, from, to, &file)?))
}

/// Implements `{{machine STEP "FROM" "TO"}}`.
pub(crate) fn machine(sources: &Sources, step: &str, from: &str, to: &str) -> Result<String> {
    let text = &sources.sass.get(step)?.text;
    let name = format!("{step}, machine code for sm_90");
    Ok(named(&name, Language::Sass, &between(text, from, to, &name)?))
}

/// Returns the lines from the first that contains `from` to the next that contains `to`.
fn between(text: &str, from: &str, to: &str, file: &str) -> Result<String> {
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| line.contains(from));
    let start = start.with_context(|| format!("{file} has no line with `{from}`"))?;
    let end = lines[start..].iter().position(|line| line.contains(to));
    let end = start + end.with_context(|| format!("{file} has no `{to}` after `{from}`"))?;
    // Source positions are left out.
    let lines = lines[start..=end].iter().filter(|line| !line.trim_start().starts_with(".loc"));
    Ok(dedent(lines.map(|line| line.replace('\t', "    "))))
}

fn dedent(lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.collect();
    let indent = |line: &String| line.len() - line.trim_start().len();
    let least = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    lines.iter().map(|line| line.get(least..).unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Returns the path of a file in a step's `src`, relative to the workspace.
fn path(sources: &Sources, step: &str, file: &str) -> Result<String> {
    let folder = &sources.kernel(step)?.folder;
    let folder = folder.strip_prefix(&sources.root).unwrap_or(folder);
    Ok(format!("{}/src/{file}", folder.display()))
}

/// Formats a fenced block in a chapter, with its includes, highlighted if the language is
/// supported.
pub(crate) fn fence(info: &str, body: &str, chapter: &Path) -> Result<String> {
    let mut code = String::new();
    for line in body.split_inclusive('\n') {
        match line.trim().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) {
            Some(what) => code += &include(what.trim(), chapter)?,
            None => code += line,
        }
    }
    ensure!(!code.trim().is_empty(), "the code block is empty");
    ensure!(
        !code.contains("{{#"),
        "`{{{{#` may begin only an `{{{{#include PATH}}}}` on a line of its own"
    );
    Ok(match Language::of(info) {
        Some(language) => format!("\n{}\n", highlight::listing(language, &code)),
        None => bail!("```{info}: use cpp, rust, ptx, sass, diff, console or text"),
    })
}

/// Reads `{{#include path:anchor}}`, relative to the chapter, without the lines that mark the
/// anchor.
fn include(what: &str, chapter: &Path) -> Result<String> {
    let (file, anchor) = what.split_once(':').map_or((what, None), |(f, a)| (f, Some(a)));
    let text = read(&chapter.parent().context("a chapter has a folder")?.join(file))?;
    let marks = |line: &&str| !line.contains("ANCHOR");
    let Some(anchor) = anchor else {
        return Ok(text.lines().filter(marks).map(|line| line.to_owned() + "\n").collect());
    };
    let is = |line: &str, mark: &str| {
        line.split_once(mark).is_some_and(|(_, name)| name.trim() == anchor)
    };
    let inner: Vec<&str> = text
        .lines()
        .skip_while(|line| !is(line, "ANCHOR:"))
        .skip(1)
        .take_while(|line| !is(line, "ANCHOR_END:"))
        .filter(marks)
        .collect();
    ensure!(!inner.is_empty(), "{file} has nothing between ANCHOR: {anchor} and its end");
    Ok(dedent(inner.into_iter().map(str::to_owned)) + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_between_two_texts() {
        let text = "a\n\tb one\n\t.loc 1\n\t  c\n\td two\n";
        assert_eq!(between(text, "one", "two", "f").unwrap(), "b one\n  c\nd two");
        assert!(between(text, "three", "two", "f").is_err());
        assert!(between(text, "two", "one", "f").is_err());
    }

    #[test]
    fn empty_and_unknown_blocks_are_refused() {
        let here = Path::new("book/src/x.md");
        assert!(fence("cpp", "\n", here).is_err());
        assert!(fence("brainfuck", "+\n", here).is_err());
        assert!(fence("rust", "{{#include nowhere.rs}}\n", here).is_err());
        assert!(fence("rust", "fn a() {}\n", here).unwrap().contains("hljs-keyword"));
    }
}
