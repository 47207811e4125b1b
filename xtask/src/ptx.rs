//! `cargo x ptx`: every `kernel.cu` to the PTX that is committed beside it.

use std::{fs, path::PathBuf};

use anyhow::{Result, bail};
use compiler::{ELEMENTS, Stamp, Unit, nvrtc};
use xshell::Shell;

use crate::{kernels, library};

/// A PTX file, and what it is made from.
struct File<'a> {
    /// As it is called in a message.
    name: String,
    path: PathBuf,
    unit: Unit<'a>,
}

pub(crate) fn run(sh: &Shell, check: bool) -> Result<()> {
    let source = fs::read_to_string(crate::root().join(library::SOURCE))?;
    let kernels = kernels::all()?;
    let mut files: Vec<File<'_>> = library::files(&source)
        .into_iter()
        .map(|(name, unit)| File { path: crate::root().join(&name), name, unit })
        .collect();
    for kernel in &kernels {
        files.extend(ELEMENTS.map(|(name, element)| File {
            name: format!("{}.{name}.ptx", kernel.name),
            path: kernel.folder.join(kernel.ptx(name)),
            unit: Unit::of_kernel(&kernel.woven, "kernel.cu", element),
        }));
    }
    let compiler = crate::nvrtc::bring(sh)?;
    let mut stale = Vec::new();
    for File { name, path, unit } in &files {
        let words = format!("NVRTC {} {}", nvrtc::PINNED, compiler.options(unit).join(" "));
        let text = Stamp::put(&compiler.compile(unit)?, unit.source, &words);
        if fs::read_to_string(path).is_ok_and(|committed| committed == text) {
            continue;
        }
        stale.push(name.as_str());
        if !check {
            fs::write(path, text)?;
        }
    }
    let count = files.len();
    match (stale.as_slice(), check) {
        ([], _) => println!(
            "all {count} PTX files are what NVRTC {} makes of their kernels",
            nvrtc::PINNED
        ),
        (stale, false) => {
            println!("wrote {} of {count} PTX files: {}", stale.len(), stale.join(", "))
        }
        (stale, true) => bail!(
            "not what NVRTC {} makes of their kernels: {}; run `cargo x ptx`",
            nvrtc::PINNED,
            stale.join(", ")
        ),
    }
    Ok(())
}
