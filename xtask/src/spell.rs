//! `cargo x spell`: finds misspelt words, and finds American spelling in the book.

use std::{fs, path::Path};

use anyhow::{Result, bail};
use xshell::{Shell, cmd};

const CODESPELL: &str = "codespell==2.4.1";

/// The kinds of files that are skipped: machine code, recorded output, samples, and compressed
/// files.
const ASIDE: &str =
    "*.ptx,*.sass,*.json,*.csv,*.gz,*.lock,*.wasm.js,*/interpreter.js,*/results/*/raw*,*.svg";

/// The beginnings of words whose spelling differs in British English.
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
    let tracked = cmd!(sh, "git ls-files").quiet().read()?;
    let read = tracked.lines().filter(|path| sh.path_exists(path));
    let output =
        cmd!(sh, "{codespell} --quiet-level 3 --ignore-words-list 2st --skip {ASIDE} {read...}")
            .quiet()
            .ignore_status()
            .output()?;
    let found = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("misspelt words:\n{found}{}", String::from_utf8_lossy(&output.stderr));
    }
    let found = american(&crate::root().join("book/src"))?;
    if !found.is_empty() {
        bail!("American spelling:\n  {}", found.join("\n  "));
    }
    say!("no misspelt words");
    Ok(())
}

/// Returns the American spellings in the text of the chapters, excluding code.
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
            // Text between backticks also counts as code.
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
