//! `cargo x ptx`: every `kernel.cu` to the PTX that is committed beside it.

use std::{fs, path::PathBuf};

use anyhow::{Result, bail};
use compiler::{ELEMENTS, Stamp, Unit, nvrtc};

use crate::{
    kernels::{self, Kernel},
    library,
};

/// A PTX file, and what it is made from.
struct File<'a> {
    /// As it is called in a message.
    name: String,
    path: PathBuf,
    unit: Unit<'a>,
    /// What is kept of the compiler's text.
    keep: fn(&str) -> String,
}

impl File<'_> {
    fn of_library(variant: &library::Variant) -> File<'_> {
        let (name, path) = (variant.path.clone(), crate::root().join(&variant.path));
        File { name, path, unit: variant.unit(), keep: library::lean }
    }

    /// A kernel of the workspace, for each of these element types.
    fn of_kernel<'k>(kernel: &'k Kernel, elements: &[(&str, &str)]) -> Vec<File<'k>> {
        let file = |&(name, element): &(&str, &str)| File {
            name: format!("{}.{name}.ptx", kernel.name),
            path: kernel.folder.join(kernel.ptx(name)),
            unit: Unit::of_kernel(&kernel.woven, "kernel.cu", element),
            keep: str::to_owned,
        };
        elements.iter().map(file).collect()
    }
}

pub(crate) fn run(check: bool) -> Result<()> {
    let (variants, kernels, zoo) = (library::variants()?, kernels::all()?, kernels::zoo()?);
    let page = kernels::page()?;
    let mut files: Vec<File<'_>> = variants.iter().map(File::of_library).collect();
    files.extend(kernels.iter().flat_map(|kernel| File::of_kernel(kernel, &ELEMENTS)));
    files.extend(page.iter().flat_map(|kernel| File::of_kernel(kernel, &ELEMENTS)));
    files.extend(zoo.iter().flat_map(|kernel| File::of_kernel(kernel, &kernels::ZOO)));
    let compiler = crate::nvrtc::bring()?;
    let mut stale = Vec::new();
    for File { name, path, unit, keep } in &files {
        let words = format!("NVRTC {} {}", nvrtc::PINNED, compiler.options(unit).join(" "));
        let text = Stamp::put(&keep(&compiler.compile(unit)?), unit.source, &words);
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
        ([], _) => {
            say!("all {count} PTX files are what NVRTC {} makes of their kernels", nvrtc::PINNED)
        }
        (stale, false) => {
            let more = if stale.len() > 8 { ", …" } else { "" };
            let named = stale.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
            say!("wrote {} of {count} PTX files: {named}{more}", stale.len())
        }
        (stale, true) => bail!(
            "not what NVRTC {} makes of their kernels: {}; run `cargo x ptx`",
            nvrtc::PINNED,
            stale.join(", ")
        ),
    }
    Ok(())
}
