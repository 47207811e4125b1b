//! `cargo x ptx`: every `kernel.cu` to the PTX that is committed beside it.

use std::fs;

use anyhow::{Result, bail};
use common::{Element, nvrtc, ptx::Stamp};
use xshell::Shell;

use crate::{kernels, library};

pub(crate) fn run(sh: &Shell, check: bool) -> Result<()> {
    let library = crate::nvrtc::bring(sh)?;
    let mut stale = Vec::new();
    let mut count = 0;
    for variant in library::variants() {
        let (source, options) = (variant.source()?, variant.options());
        let body = library::Variant::lean(&library.compile_with(&source, "kernel.cu", options)?);
        let text =
            Stamp::put(&body, &source, &format!("NVRTC {} {}", nvrtc::PINNED, options.join(" ")));
        let path = crate::root().join(&variant.path);
        count += 1;
        if fs::read_to_string(&path).is_ok_and(|committed| committed == text) {
            continue;
        }
        stale.push(variant.path);
        if !check {
            fs::write(&path, text)?;
        }
    }
    for kernel in kernels::all()? {
        for element in Element::ALL {
            let body = library.compile(&kernel.source, "kernel.cu", element)?;
            let options = library.options(&kernel.source, element).join(" ");
            let text =
                Stamp::put(&body, &kernel.source, &format!("NVRTC {} {options}", nvrtc::PINNED));
            let path = kernel.folder.join(format!("src/kernel.{element}.ptx"));
            count += 1;
            if fs::read_to_string(&path).is_ok_and(|committed| committed == text) {
                continue;
            }
            stale.push(format!("{}/src/kernel.{element}.ptx", kernel.name));
            if !check {
                fs::write(&path, text)?;
            }
        }
    }
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
