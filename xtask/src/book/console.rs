//! Consoles: commands and what they really print.

use std::{fs, path::Path};

use anyhow::{Context, Result, anyhow};
use sha2::{Digest, Sha256};

use super::{
    highlight::{self, Language},
    sources::{Sources, size},
};

/// A command of the book, in the words of its directive: `v3-first-add -- --device simt`.
pub(crate) fn command(words: &str) -> String {
    let words = words.trim();
    let words = words.strip_prefix("cargo run -p ").unwrap_or(words);
    format!("cargo run -p {}", words.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The file that keeps a command's output, below the generated ones.
pub(crate) fn file(command: &str) -> String {
    let hash = Sha256::digest(command.as_bytes());
    let package = command.split_whitespace().nth(3).unwrap_or("command");
    format!("runs/{package}-{:02x}{:02x}{:02x}.txt", hash[0], hash[1], hash[2])
}

/// `{{run …}}`: the command and the output that is kept.
pub(crate) fn run(sources: &Sources, words: &str) -> Result<String> {
    let command = command(words);
    let path = sources.generated().join(file(&command));
    let text = fs::read_to_string(&path)
        .map_err(|_| anyhow!("`{command}` has not been run yet: run `cargo x book --outputs`"))?;
    Ok(block(&text))
}

/// `{{gpu STEP N}}`: the same step on a GPU, as its log in `results/` has it.
pub(crate) fn gpu(sources: &Sources, step: &str, n: Option<&str>) -> Result<String> {
    sources.kernel(step)?;
    let run = sources.run(None)?;
    let home = if sources.placeholder { "book/test/placeholder" } else { "results" };
    let folder = sources.root.join(home).join(&run.name).join("logs");
    let name = match n {
        Some(n) => format!("{step}-{}", size(n)?),
        None => step.to_owned(),
    };
    let text = log(&folder, &name).with_context(|| {
        format!("{home}/{}/logs has no {name}.txt: it is made on the GPU machine", run.name)
    })?;
    Ok(block(&text))
}

fn log(folder: &Path, name: &str) -> Result<String> {
    Ok(fs::read_to_string(folder.join(format!("{name}.txt")))?)
}

fn block(text: &str) -> String {
    format!("\n{}\n", highlight::listing(Language::Console, text))
}
