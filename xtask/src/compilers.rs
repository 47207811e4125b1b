//! `cargo x compilers`: compares the counts of two compilers for every step, for the book.

use std::{fs, path::PathBuf};

use anyhow::{Result, bail};
use compiler::{Clang, find};
use xshell::{Shell, cmd};

use crate::programs::{self, Which};

/// The version of clang for the committed table. This version is available on Debian and Ubuntu,
/// and is neither the oldest nor the newest version.
const CLANG: &str = "19.";
/// The file that the book reads.
const FILE: &str = "book/generated/compilers.txt";

pub(crate) fn run(sh: &Shell, check: bool, which: Which) -> Result<()> {
    let Some(clang) = pinned() else {
        let text = format!("{FILE} needs clang {CLANG}x, which is not installed here");
        return match check {
            true => {
                println!("not checked: {text}");
                Ok(())
            }
            false => bail!("{text}: on Debian and Ubuntu, run `apt install clang-19`"),
        };
    };
    crate::nvrtc::install()?;
    programs::build(sh, which)?;
    let ladder = programs::path("ladder")?;
    let table = cmd!(sh, "{ladder} compilers --clang {clang}").read()? + "\n";
    let path = crate::root().join(FILE);
    if fs::read_to_string(&path).is_ok_and(|kept| unversioned(&kept) == unversioned(&table)) {
        println!("{FILE} is up to date with both compilers");
    } else if check {
        bail!("{FILE} is stale; run `cargo x compilers`");
    } else {
        fs::write(path, table)?;
        println!("wrote {FILE}");
    }
    Ok(())
}

/// Returns the first installed clang whose version is [`CLANG`].
fn pinned() -> Option<PathBuf> {
    let fit = find::clangs().filter_map(|path| Clang::open(&path).ok());
    fit.into_iter().find(|clang| clang.version().starts_with(CLANG)).map(|c| c.path().to_owned())
}

/// Returns the table without the line that names the compilers, so that tables from 19.1.1 and
/// 19.1.7 can be compared.
fn unversioned(table: &str) -> String {
    table
        .replace("\r\n", "\n")
        .split_once('\n')
        .map(|(_, rest)| rest.to_owned())
        .unwrap_or_default()
}
