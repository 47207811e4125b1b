//! `cargo x compilers`: every step as two compilers make it, kept for the book.

use std::{fs, path::PathBuf};

use anyhow::{Result, bail};
use compiler::{Clang, find};
use xshell::{Shell, cmd};

use crate::programs::{self, Which};

/// The clang of the kept table: Debian's and Ubuntu's, and neither its oldest nor its newest.
const CLANG: &str = "19.";
/// Where the book looks for it.
const FILE: &str = "book/generated/compilers.txt";

pub(crate) fn run(sh: &Shell, check: bool, which: Which) -> Result<()> {
    let Some(clang) = pinned() else {
        let text = format!("{FILE} is of clang {CLANG}x, and there is none here");
        return match check {
            true => {
                println!("not checked: {text}");
                Ok(())
            }
            false => bail!("{text}: on Debian and Ubuntu `apt install clang-19` brings it"),
        };
    };
    crate::nvrtc::bring()?;
    programs::build(sh, which)?;
    let ladder = programs::path("ladder")?;
    let table = cmd!(sh, "{ladder} compilers --clang {clang}").read()? + "\n";
    let path = crate::root().join(FILE);
    if fs::read_to_string(&path).is_ok_and(|kept| unversioned(&kept) == unversioned(&table)) {
        println!("{FILE} is what both compilers make of the kernels");
    } else if check {
        bail!("{FILE} is not what both compilers make of the kernels; run `cargo x compilers`");
    } else {
        fs::write(path, table)?;
        println!("wrote {FILE}");
    }
    Ok(())
}

/// The first clang of that version.
fn pinned() -> Option<PathBuf> {
    let fit = find::clangs().filter_map(|path| Clang::open(&path).ok());
    fit.into_iter().find(|clang| clang.version().starts_with(CLANG)).map(|c| c.path().to_owned())
}

/// The table without the line that names the compilers: 19.1.1 and 19.1.7 may agree.
fn unversioned(table: &str) -> String {
    table
        .replace("\r\n", "\n")
        .split_once('\n')
        .map(|(_, rest)| rest.to_owned())
        .unwrap_or_default()
}
