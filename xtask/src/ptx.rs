//! `cargo x ptx`: compiles every `kernel.cu` to the PTX that is committed beside it.

use std::{fs, path::PathBuf};

use anyhow::{Result, bail};
use compiler::{ELEMENTS, Stamp, Unit, nvrtc};

use crate::{
    kernels::{self, Kernel},
    reduce_kernels,
};

/// A PTX file and its source.
struct File<'a> {
    /// The file's name in messages.
    name: String,
    path: PathBuf,
    unit: Unit<'a>,
    /// The function that filters the compiler's output.
    keep: fn(&str) -> String,
}

impl File<'_> {
    fn of_library(variant: &reduce_kernels::Variant) -> File<'_> {
        let (name, path) = (variant.path.clone(), crate::root().join(&variant.path));
        File { name, path, unit: variant.unit(), keep: reduce_kernels::lean }
    }

    /// Returns the PTX files of a kernel in the workspace, one for each of these element types.
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
    let (variants, kernels, zoo) = (reduce_kernels::variants()?, kernels::all()?, kernels::zoo()?);
    let page = kernels::page()?;
    let mut files: Vec<File<'_>> = variants.iter().map(File::of_library).collect();
    files.extend(kernels.iter().flat_map(|kernel| File::of_kernel(kernel, &ELEMENTS)));
    files.extend(page.iter().flat_map(|kernel| File::of_kernel(kernel, &ELEMENTS)));
    files.extend(zoo.iter().flat_map(|kernel| File::of_kernel(kernel, &kernels::ZOO)));
    let compiler = crate::nvrtc::install()?;
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
            say!(
                "all {count} PTX files match their kernels, as compiled by NVRTC {}",
                nvrtc::PINNED
            )
        }
        (stale, false) => {
            let more = if stale.len() > 8 { ", …" } else { "" };
            let named = stale.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
            say!("wrote {} of {count} PTX files: {named}{more}", stale.len())
        }
        (stale, true) => bail!(
            "these PTX files do not match their kernels, as compiled by NVRTC {}: {}; run `cargo x ptx`",
            nvrtc::PINNED,
            stale.join(", ")
        ),
    }
    Ok(())
}
