//! `cargo x sass`: writes the machine code that ptxas generates for every step, for the book.
//!
//! Wheels from PyPI are sufficient; neither a GPU nor a CUDA installation is needed.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use crate::kernels;

/// The assembler. The CUDA version of the assembler is that of the driver with which the results
/// were measured.
const PTXAS: &str = "nvidia-cuda-nvcc==13.0.88";
/// The disassembler, which reads all older machine code.
const NVDISASM: &str = "nvidia-cuda-nvdisasm==13.5.37";
/// The architecture of the H200.
const ARCH: &str = "sm_90";
/// The folder that the book reads.
const FOLDER: &str = "book/generated/sass";
/// The number of registers per thread for each entry point, which the predictions read.
const REGISTERS: &str = "book/generated/sass/registers.csv";
/// The main loops of the crate reduce, which `ladder operations` reads.
const OPERATIONS: &str = "book/generated/sass/operations.csv";
/// The entry points of a study whose loops a chapter compares: name, PTX module, entry point.
const STUDIED: [(&str, &str, &str); 5] = [
    ("row-sum-1-accumulators", "studies/row-sum/src/accumulators.f32.ptx", "rows_1_0"),
    ("row-sum-2-accumulators", "studies/row-sum/src/accumulators.f32.ptx", "rows_2_0"),
    ("row-sum-3-accumulators", "studies/row-sum/src/accumulators.f32.ptx", "rows_3_0"),
    ("row-sum-5-accumulators", "studies/row-sum/src/accumulators.f32.ptx", "rows_5_0"),
    ("row-sum-10-accumulators", "studies/row-sum/src/accumulators.f32.ptx", "rows_10_0"),
];

pub(crate) fn run(sh: &Shell, check: bool) -> Result<()> {
    let (ptxas, nvdisasm) = install(sh)?;
    let folder = crate::root().join(FOLDER);
    fs::create_dir_all(&folder)?;
    let cubin = crate::root().join("target/step.cubin");
    let mut stale = Vec::new();
    let mut registers = String::from("ptx_sha256,entry,registers\n");
    let kernels = kernels::all()?.into_iter().map(|kernel| {
        let file = kernel.folder.join(kernel.ptx("f32"));
        (kernel.name, file, None)
    });
    let studied =
        STUDIED.map(|(name, file, entry)| (name.to_owned(), crate::root().join(file), Some(entry)));
    for (name, file, entry) in kernels.chain(studied) {
        let text =
            fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        let said = cmd!(sh, "{ptxas} -v -arch={ARCH} {file} -o {cubin}").quiet().read_stderr()?;
        let listing = cmd!(sh, "{nvdisasm} -c {cubin}").quiet().read()?;
        let hash = compiler::Stamp::read(&text, &name)?.body;
        let head =
            format!("// {name} for {ARCH}: {PTXAS}, {NVDISASM}, of PTX with sha256={hash}\n");
        for (entry, count) in registers_of(&said) {
            let line = format!("{hash},{entry},{count}\n");
            // The module of a studied entry point also belongs to a kernel, so the line may exist
            // already.
            if !registers.contains(&line) {
                registers += &line;
            }
        }
        let code = code_of(&listing, entry).with_context(|| format!("{name}: no entry"))?;
        let text = head + &code;
        let path = folder.join(format!("{}.sass", name.replace('/', "-")));
        if fs::read_to_string(&path).is_ok_and(|kept| kept == text) {
            continue;
        }
        stale.push(name);
        if !check {
            fs::write(&path, text)?;
        }
    }
    let path = crate::root().join(REGISTERS);
    if !fs::read_to_string(&path).is_ok_and(|kept| kept == registers) {
        stale.push("the registers".to_owned());
        if !check {
            fs::write(&path, registers)?;
        }
    }
    let operations = operations(sh, &ptxas, &nvdisasm)?;
    let path = crate::root().join(OPERATIONS);
    if !fs::read_to_string(&path).is_ok_and(|kept| kept == operations) {
        stale.push("the main loops of the library".to_owned());
        if !check {
            fs::write(&path, operations)?;
        }
    }
    match (stale.as_slice(), check) {
        ([], _) => {
            say!("the machine code of all kernels matches their PTX, as assembled by {PTXAS}")
        }
        (stale, false) => say!("wrote the machine code of {}", stale.join(", ")),
        (stale, true) => {
            bail!(
                "this machine code does not match its PTX, as assembled by {PTXAS}: {}; run `cargo x sass`",
                stale.join(", ")
            )
        }
    }
    Ok(())
}

/// Assembles the kernels of the crate reduce that `ladder operations` counts, and returns the
/// registers and the main loop of each.
fn operations(sh: &Shell, ptxas: &Path, nvdisasm: &Path) -> Result<String> {
    let folder = crate::root().join("target/operations");
    sh.remove_path(&folder)?;
    sh.create_dir(&folder)?;
    cmd!(sh, "cargo run --quiet -p ladder -- operations --ptx {folder}").quiet().run()?;
    let mut files = sh.read_dir(&folder)?;
    files.sort();
    let cubin = folder.join("kernel.cubin");
    let mut table = String::from("kernel,ptx_sha256,registers,spilled,instructions,vectors\n");
    for file in files {
        let text = fs::read_to_string(&file)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let said = cmd!(sh, "{ptxas} -v -arch={ARCH} {file} -o {cubin}").quiet().read_stderr()?;
        let listing = cmd!(sh, "{nvdisasm} -c {cubin}").quiet().read()?;
        let [(_, registers)] = registers_of(&said)[..] else { bail!("{name}: not one kernel") };
        let spilled = !said.contains(" 0 bytes spill stores");
        let code = code_of(&listing, None).with_context(|| format!("{name}: no entry"))?;
        let (instructions, vectors) = main_loop(&code).unwrap_or_default();
        let hash = compiler::source_hash(&text);
        table += &format!("{name},{hash},{registers},{spilled},{instructions},{vectors}\n");
    }
    Ok(table)
}

/// Returns the numbers of instructions and of vectorized loads in the loop that has the most such
/// loads. Loops that contain other branches do not count, because their instructions are not all
/// executed in each iteration.
fn main_loop(code: &str) -> Option<(usize, usize)> {
    let mut labels = BTreeMap::new();
    let mut lines: Vec<&str> = Vec::new();
    let mut found = None;
    for line in code.lines() {
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label, lines.len());
            continue;
        }
        lines.push(line);
        let target = line.split_once("BRA ").and_then(|(_, rest)| rest.split(['(', ')']).nth(1));
        let Some(from) = target.and_then(|target| labels.get(target)) else { continue };
        let body = &lines[*from..];
        if body.iter().filter(|line| line.contains("BRA ")).count() > 1 {
            continue;
        }
        let vectors =
            body.iter().filter(|line| line.contains("LDG.") && line.contains(".128")).count();
        found = found.max((vectors > 0).then_some((vectors, body.len())));
    }
    found.map(|(vectors, instructions)| (instructions, vectors))
}

/// Returns the number of registers per thread for each entry point, from the output of ptxas.
fn registers_of(said: &str) -> Vec<(&str, u32)> {
    let mut all = Vec::new();
    let mut entry = None;
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            entry = rest.split('\'').next();
        } else if let (Some((_, rest)), Some(name)) = (line.split_once(": Used "), entry) {
            all.extend(rest.split(' ').next().and_then(|count| Some((name, count.parse().ok()?))));
        }
    }
    all
}

/// Returns the code of an entry point, by default the one for blocks of 256 threads. The code has
/// one instruction per line, without addresses and padding.
fn code_of(listing: &str, entry: Option<&str>) -> Option<String> {
    let sections = || listing.split("\n.text.").skip(1);
    let named = |name: &str| sections().find(|text| text.starts_with(&format!("{name}:\n")));
    let text = match entry {
        Some(entry) => named(entry)?,
        None => named("reduce_256").or_else(|| named("reduce")).or_else(|| sections().next())?,
    };
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
        // An unreachable jump to itself follows the last instruction.
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

/// Installs the two wheels into `.venv` if they are missing.
fn install(sh: &Shell) -> Result<(PathBuf, PathBuf)> {
    let found = |name: &str| {
        let pythons = sh.read_dir(".venv/lib").ok()?;
        let inner = format!("site-packages/nvidia/cu13/bin/{name}");
        pythons.into_iter().map(|python| python.join(&inner)).find(|path| path.exists())
    };
    if found("ptxas").is_none() || found("nvdisasm").is_none() {
        say!("installing {PTXAS} and {NVDISASM} from PyPI into .venv (140 MB)");
        // The wheels are installed without their dependencies, which would take up another half
        // gigabyte.
        crate::venv::install(sh, &["--no-deps", PTXAS, NVDISASM])?;
    }
    let both = found("ptxas").zip(found("nvdisasm"));
    both.context("pip installed the wheels, but ptxas or nvdisasm is not in .venv")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_those_of_the_entry() {
        let said = "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'reduce_64' for 'sm_90'\nptxas info    : Function properties for reduce_64\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 16 registers, used 1 barriers, 384 bytes cmem[0]\nptxas info    : Compiling entry function 'b' for 'sm_90'\nptxas info    : Used 40 registers\n";
        assert_eq!(registers_of(said), [("reduce_64", 16), ("b", 40)]);
    }

    #[test]
    fn the_entry_is_cut_out() {
        let listing = "x\n//-- .text.reduce_64 --\nreduce_64:\n.text.reduce_64:\n        /*0000*/   EXIT ;\n//-----\nreduce_256:\n.text.reduce_256:\n        /*0000*/   LDC R1, c[0x0][0x28] ;\n.L_x_1:\n        /*0010*/   @!P0 BRA `(.L_x_1) ;\n        /*0020*/   EXIT ;\n.L_x_2:\n        /*0030*/   BRA `(.L_x_2) ;\n        /*0040*/   NOP ;\n.L_x_3:\n//-----\n";
        assert_eq!(
            code_of(listing, None).unwrap(),
            "    LDC R1, c[0x0][0x28] ;\n.L_x_1:\n    @!P0 BRA `(.L_x_1) ;\n    EXIT ;\n"
        );
        assert_eq!(code_of(listing, Some("reduce_64")).unwrap(), "    EXIT ;\n");
        assert_eq!(code_of(listing, Some("reduce_32")), None);
    }
}
