//! Shows consoles, which contain commands with their recorded output.

use std::fs;

use anyhow::{Context, Result, anyhow, bail};
use hmac_sha256::Hash;

use super::highlight::{self, Language};
use crate::book::source::Sources;
use crate::results::folders;

/// Returns the shell command for a directive's words, such as `v3-first-add -- --device simt`.
pub(crate) fn command(words: &str) -> String {
    let words = words.trim();
    let words = words.strip_prefix("cargo run -p ").unwrap_or(words);
    format!("cargo run -p {}", words.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns the path of the file with a command's output, relative to the folder of generated files.
pub(crate) fn file(command: &str) -> String {
    let hash = Hash::hash(command.as_bytes());
    let package = command.split_whitespace().nth(3).unwrap_or("command");
    format!("runs/{package}-{:02x}{:02x}{:02x}.txt", hash[0], hash[1], hash[2])
}

/// Implements `{{run …}}`, which shows the command and its recorded output.
pub(crate) fn run(sources: &Sources, words: &str) -> Result<String> {
    Ok(block(&kept(sources, words)?))
}

/// Implements `{{excerpt "FROM" "TO" COMMAND}}`, which shows the lines of the output from the first
/// that contains FROM to the next that contains TO.
pub(crate) fn excerpt(sources: &Sources, words: &str) -> Result<String> {
    let [from, to, command] = excerpted(words)?;
    let text = kept(sources, command)?;
    let (first, output) = text.split_once('\n').unwrap_or((&text, ""));
    let lines: Vec<&str> = output.lines().collect();
    let start = lines.iter().position(|line| line.contains(from));
    let start = start.with_context(|| format!("`{first}` prints no line with `{from}`"))?;
    let length = lines[start..].iter().position(|line| line.contains(to));
    let length = length.with_context(|| {
        format!("`{first}` prints no line with `{to}` at or after the line with `{from}`")
    })?;
    let end = start + length + 1;
    let more = |is: bool| if is { "…\n" } else { "" };
    Ok(block(&format!(
        "{first}\n{}{}\n{}",
        more(start > 0),
        lines[start..end].join("\n"),
        more(end < lines.len())
    )))
}

/// Splits an excerpt's words into FROM, TO and the command.
pub(crate) fn excerpted(words: &str) -> Result<[&str; 3]> {
    match words.splitn(5, '"').collect::<Vec<_>>()[..] {
        ["", from, _, to, command] => Ok([from, to, command]),
        _ => bail!("write \"FROM\" \"TO\" COMMAND"),
    }
}

fn kept(sources: &Sources, words: &str) -> Result<String> {
    let command = command(words);
    let path = sources.generated().join(file(&command));
    fs::read_to_string(&path)
        .map_err(|_| anyhow!("`{command}` has not been run yet: run `cargo x book --outputs`"))
}

/// Implements `{{gpu STEP}}`, which shows the output of a step on a GPU, from the newest log in
/// `results/logs`.
pub(crate) fn gpu(sources: &Sources, step: &str) -> Result<String> {
    sources.kernel(step)?;
    let file = format!("{step}.txt");
    let folder = folders::newest(&sources.root, "logs", "", &file)?.with_context(|| {
        format!("results/logs has no {file}: `xtask/gpu.sh OUT logs` writes it on the GPU")
    })?;
    let text = fs::read_to_string(folder.join(file))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let date = name.get(..10).unwrap_or_default();
    Ok(format!(
        "{}<p class=\"recorded\">Recorded on {date}. The times of single runs differ by a few percent.</p>\n",
        block(&format!("$ cargo run -p {step}\n{text}"))
    ))
}

pub(crate) fn block(text: &str) -> String {
    format!("\n{}\n", highlight::listing(Language::Console, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_names_two_lines_and_a_command() {
        let words = "\"Two GPUs: from\" \"reduce\" many -- model x.csv";
        assert_eq!(excerpted(words).unwrap(), ["Two GPUs: from", "reduce", " many -- model x.csv"]);
        assert!(excerpted("many -- model").is_err());
        assert!(excerpted("\"from\" many").is_err());
    }
}
