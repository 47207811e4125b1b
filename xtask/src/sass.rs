//! `cargo x sass`: the machine code that ptxas makes of every step, kept for the book.
//!
//! The wheels of PyPI have what it takes; neither a GPU nor a CUDA installation is needed.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use crate::kernels;

/// The assembler: that of the driver which the results were measured with.
const PTXAS: &str = "nvidia-cuda-nvcc==13.0.88";
/// The disassembler: it reads all older machine code.
const NVDISASM: &str = "nvidia-cuda-nvdisasm==13.5.37";
/// The architecture: the H200's.
const ARCH: &str = "sm_90";
/// Where the book looks for it.
const FOLDER: &str = "book/generated/sass";

pub(crate) fn run(sh: &Shell, check: bool) -> Result<()> {
    let (ptxas, nvdisasm) = bring(sh)?;
    let folder = crate::root().join(FOLDER);
    fs::create_dir_all(&folder)?;
    let cubin = crate::root().join("target/step.cubin");
    let mut stale = Vec::new();
    for kernel in kernels::all()? {
        let file = kernel.folder.join(kernel.ptx("f32"));
        let text =
            fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        cmd!(sh, "{ptxas} -arch={ARCH} {file} -o {cubin}").quiet().run()?;
        let listing = cmd!(sh, "{nvdisasm} -c {cubin}").quiet().read()?;
        let head = format!(
            "// {} for {ARCH}: {PTXAS}, {NVDISASM}, of kernel.f32.ptx sha256={}\n",
            kernel.name,
            compiler::hash(&text)
        );
        let text = head + &entry(&listing).with_context(|| format!("{}: no entry", kernel.name))?;
        let path = folder.join(format!("{}.sass", kernel.name.replace('/', "-")));
        if fs::read_to_string(&path).is_ok_and(|kept| kept == text) {
            continue;
        }
        stale.push(kernel.name.clone());
        if !check {
            fs::write(&path, text)?;
        }
    }
    match (stale.as_slice(), check) {
        ([], _) => say!("the machine code of all kernels is what {PTXAS} makes of their PTX"),
        (stale, false) => say!("wrote the machine code of {}", stale.join(", ")),
        (stale, true) => {
            bail!("not what {PTXAS} makes of their PTX: {}; run `cargo x sass`", stale.join(", "))
        }
    }
    Ok(())
}

/// The entry that a block of 256 runs, an instruction a line, without addresses and padding.
fn entry(listing: &str) -> Option<String> {
    let sections = || listing.split("\n.text.").skip(1);
    let named = |name: &str| sections().find(|text| text.starts_with(&format!("{name}:\n")));
    let text = named("reduce_256").or_else(|| named("reduce")).or_else(|| sections().next())?;
    let text = text.split("//-----").next()?;
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().skip(1) {
        let bare = match line.split_once("*/") {
            Some((_, code)) => format!("    {}", code.trim()),
            None if line.trim_end().ends_with(':') => line.trim().to_owned(),
            None => continue,
        };
        if bare.trim() == "NOP ;" {
            continue;
        }
        // Behind the last instruction the code jumps to itself, should anything get there.
        let last = lines.last().map(|label| label.trim_end_matches(':').to_owned());
        if last.is_some_and(|label| bare.trim() == format!("BRA `({label}) ;")) {
            lines.pop();
            continue;
        }
        lines.push(bare);
    }
    while lines.last().is_some_and(|line| line.ends_with(':')) {
        lines.pop();
    }
    Some(lines.join("\n") + "\n")
}

/// Installs the two wheels into `.venv`, unless they are there.
fn bring(sh: &Shell) -> Result<(PathBuf, PathBuf)> {
    let found = |name: &str| {
        let pythons = sh.read_dir(".venv/lib").ok()?;
        let inner = format!("site-packages/nvidia/cu13/bin/{name}");
        pythons.into_iter().map(|python| python.join(&inner)).find(|path| path.exists())
    };
    if found("ptxas").is_none() || found("nvdisasm").is_none() {
        say!("installing {PTXAS} and {NVDISASM} from PyPI into .venv (140 MB)");
        // Alone: what they depend on would bring half a gigabyte more.
        crate::venv::install(sh, &["--no-deps", PTXAS, NVDISASM])?;
    }
    let both = found("ptxas").zip(found("nvdisasm"));
    both.context("pip installed the wheels, and ptxas or nvdisasm is not in .venv")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_is_cut_out() {
        let listing = "x\n//-- .text.reduce_64 --\nreduce_64:\n.text.reduce_64:\n        /*0000*/   EXIT ;\n//-----\nreduce_256:\n.text.reduce_256:\n        /*0000*/   LDC R1, c[0x0][0x28] ;\n.L_x_1:\n        /*0010*/   @!P0 BRA `(.L_x_1) ;\n        /*0020*/   EXIT ;\n.L_x_2:\n        /*0030*/   BRA `(.L_x_2) ;\n        /*0040*/   NOP ;\n.L_x_3:\n//-----\n";
        assert_eq!(
            entry(listing).unwrap(),
            "    LDC R1, c[0x0][0x28] ;\n.L_x_1:\n    @!P0 BRA `(.L_x_1) ;\n    EXIT ;\n"
        );
    }
}
