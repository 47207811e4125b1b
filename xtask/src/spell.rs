//! `cargo x spell`: misspelt words, and American spelling in what people read.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

const CODESPELL: &str = "codespell==2.4.1";

/// What is read: text and comments.
const READ: [&str; 17] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "book/DIRECTIVES.md",
    "book/src",
    "book/theme",
    "bench",
    "common",
    "compiler",
    "ladder",
    "measured/src",
    "simt/src",
    "steps",
    "studies",
    "weave",
    "xtask",
];

/// The beginnings of words that are spelt otherwise in British English.
const AMERICAN: [&str; 14] = [
    "behavior", "color", "center", "neighbor", "gray", "labeled", "favor", "analyze", "modeled",
    "canceled", "fulfill ", "honor", "catalog ", "artifact",
];

pub(crate) fn run(sh: &Shell) -> Result<()> {
    let codespell = crate::venv::program(sh, "codespell");
    if !codespell.exists() {
        say!("installing {CODESPELL} from PyPI into .venv");
        crate::venv::install(sh, &[CODESPELL])?;
    }
    let read = READ.iter().filter(|path| sh.path_exists(path));
    cmd!(sh, "{codespell} --quiet-level 3 --skip *.ptx,*.sass,*.json {read...}")
        .quiet()
        .run()
        .context("codespell has found misspelt words")?;
    let found = american(&crate::root().join("book/src"))?;
    if !found.is_empty() {
        bail!("American spelling:\n  {}", found.join("\n  "));
    }
    say!("no misspelt words");
    Ok(())
}

/// American words in the chapters, outside of code.
fn american(src: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(src)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let mut code = false;
        for (number, line) in fs::read_to_string(&path)?.lines().enumerate() {
            code ^= line.trim_start().starts_with("```");
            // What stands between backticks is code too.
            let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
            let words = prose.to_lowercase();
            let starts = |word: &&&str| {
                words
                    .match_indices(**word)
                    .any(|(at, _)| !words[..at].ends_with(char::is_alphabetic))
            };
            if let Some(word) = AMERICAN.iter().find(starts).filter(|_| !code) {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                found.push(format!("book/src/{name}:{}: {word}", number + 1));
            }
        }
    }
    found.sort();
    Ok(found)
}
