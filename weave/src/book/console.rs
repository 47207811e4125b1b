//! Consoles: commands and what they really print.

use std::fs;

use anyhow::{Context, Result, anyhow};
use sha2::{Digest, Sha256};

use super::{
    highlight::{self, Language},
    sources::Sources,
};
use crate::folders;

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

/// `{{gpu STEP}}`: the same step on a GPU, as the newest of `results/logs` has it.
pub(crate) fn gpu(sources: &Sources, step: &str) -> Result<String> {
    sources.kernel(step)?;
    let file = format!("{step}.txt");
    let folder = folders::newest(&sources.root, "logs", "", &file)?.with_context(|| {
        format!("results/logs has no {file}: `xtask/gpu.sh OUT logs` makes it on the GPU")
    })?;
    let text = fs::read_to_string(folder.join(file))?;
    Ok(block(&format!("$ cargo run -p {step}\n{text}")))
}

pub(crate) fn block(text: &str) -> String {
    format!("\n{}\n", highlight::listing(Language::Console, text))
}
