//! Calls clang, LLVM's compiler, if this machine has a clang that can write PTX.
//!
//! clang needs nothing from NVIDIA, because `prelude.cuh` replaces the toolkit's headers.

use std::{
    fmt,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{Error, Result, Unit, find, newer, woven::named};

/// The declarations that are built into NVRTC but missing from clang.
const PRELUDE: &str = include_str!("prelude.cuh");

/// The oldest version that supports everything that the kernels use.
pub const OLDEST: u32 = 16;

/// A clang that can write PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clang {
    path: PathBuf,
    version: String,
}

impl Clang {
    /// Searches the usual places for a clang that can write PTX, and returns the first. If `name`
    /// is not `clang`, only programs with this name are considered.
    ///
    /// # Errors
    /// If no clang can write PTX, returns the reason for each clang that was found.
    pub fn find(name: &str) -> Result<Clang, Vec<String>> {
        let mut unfit = Vec::new();
        let named = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == name);
        for path in find::clangs().filter(|path| matches!(name, "" | "clang") || named(path)) {
            match Clang::open(&path) {
                Ok(clang) => return Ok(clang),
                Err(error) => unfit.push(error.to_string()),
            }
        }
        Err(unfit)
    }

    /// Checks that the program at a path can write PTX.
    pub fn open(path: &Path) -> Result<Clang> {
        let ask = |question: &str| -> Result<String> {
            let output = Command::new(path).arg(question).stdin(Stdio::null()).output();
            let output = output.map_err(|error| failed(path, "starting", error))?;
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let version = fit(&ask("--version")?, &ask("--print-targets")?);
        let version =
            version.map_err(|text| Error::Library { doing: path.display().to_string(), text })?;
        Ok(Clang { path: path.to_owned(), version })
    }

    /// Returns the version, such as `19.1.7`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the path of the program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns clang's options for a unit.
    pub fn options(&self, unit: &Unit<'_>) -> Vec<String> {
        // Bulk copies need PTX 8.0. Drivers from version 550 on support PTX 8.4, which NVRTC writes
        // too.
        let ptx = match major(&self.version) {
            ..=16 => 78,
            17 => 80,
            18 => 82,
            _ => 84,
        };
        let mut words: Vec<String> = [
            // The target for the host code, which is not compiled, is fixed, so that the PTX is the
            // same on every system.
            "--target=x86_64-unknown-linux-gnu",
            "--no-default-config",
            "-x",
            "cuda",
            "--cuda-device-only",
            "-nocudainc",
            "-nocudalib",
            "-nostdinc",
            // Endless loops are kept, so that the interpreter can report them.
            "-fno-finite-loops",
            "-O3",
            // Functions are inlined as aggressively as NVRTC inlines them, because a call costs
            // more on a GPU than the code that it saves.
            "-mllvm",
            "-inline-threshold=100000",
            "-S",
        ]
        .map(String::from)
        .to_vec();
        words.push(format!("--cuda-gpu-arch=sm_{}", unit.architecture));
        words.push(format!("--cuda-feature=+ptx{ptx}"));
        words.extend(unit.options.iter().map(|word| translated(word)));
        words
    }

    /// Compiles a unit to PTX.
    pub fn compile(&self, unit: &Unit<'_>) -> Result<String> {
        let failed = |doing: &str, error| failed(&self.path, doing, error);
        let mut child = Command::new(&self.path)
            .args(self.options(unit))
            .args(["-o", "-", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed("starting", error))?;
        // The source is passed through a pipe, because paths may have spaces and special
        // characters. A thread writes the source, because clang may write output before it has read
        // all of the input.
        let text = text(unit.source);
        let input = child.stdin.take();
        let writer = std::thread::spawn(move || {
            // If clang stops reading, standard error contains the reason.
            input.map(|mut input| input.write_all(text.as_bytes()))
        });
        let output = child.wait_with_output().map_err(|error| failed("waiting for", error))?;
        let _ = writer.join();
        if output.status.success() {
            let ptx = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
            return Ok(placed(&ptx).replace("\"/", "\""));
        }
        let log = String::from_utf8_lossy(&output.stderr).replace("\r\n", "\n");
        Err(Error::Compile { file: unit.file.to_owned(), log: readable(&log, unit) })
    }
}

impl fmt::Display for Clang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "clang {}", self.version)
    }
}

fn failed(path: &Path, doing: &str, error: std::io::Error) -> Error {
    Error::Library { doing: format!("{doing} {}", path.display()), text: error.to_string() }
}

/// Returns the input for clang: the prelude as a system header, followed by the kernel under its
/// own name.
fn text(source: &str) -> String {
    format!("# 1 \"/prelude.cuh\" 3\n{PRELUDE}\n# 1 \"/kernel.cu\"\n{source}")
}

/// Translates an option from NVRTC's form to clang's.
fn translated(word: &str) -> String {
    match word.split_once('=') {
        Some(("--define-macro", macro_)) => format!("-D{macro_}"),
        Some(("--std", standard)) => format!("-std={standard}"),
        _ if word == "--generate-line-info" => "-gline-tables-only".into(),
        _ => word.to_owned(),
    }
}

/// Replaces the position of code that is inlined from an included file with the position of its
/// caller in the kernel. NVRTC's PTX has both positions. clang writes the caller's position in a
/// comment, `.loc 2 7 5 // /a.cuh:7:5 @[ /kernel.cu:3:1 ]`; clang 19 and older versions omit it.
fn placed(ptx: &str) -> String {
    let moved = |line: &str| -> Option<String> {
        let (place, comment) = line.split_once("//")?;
        let own = place.trim_start().strip_prefix(".loc")?.trim_start().starts_with("1 ");
        let (_, caller) = comment.split_once("@[ /kernel.cu:").filter(|_| !own)?;
        let mut numbers = caller.split([':', ' ']);
        let (line, column) = (numbers.next()?, numbers.next()?);
        Some(format!("\t.loc\t1 {line} {column} //{comment}\n"))
    };
    ptx.lines().map(|line| moved(line).unwrap_or_else(|| format!("{line}\n"))).collect()
}

/// Returns clang's messages with the names of the files, and with explanations of the likeliest
/// errors.
fn readable(log: &str, unit: &Unit<'_>) -> String {
    let mut log = named(log, unit);
    for (said, why) in REASONS {
        if log.contains(said) {
            log += &format!("\n({why})");
        }
    }
    if let Some(why) = newer(&log, unit.architecture) {
        log += &format!("\n({why})");
    }
    log
}

/// Errors that only clang reports, and their explanations.
const REASONS: [(&str, &str); 2] = [
    (
        "file not found",
        "clang is given no headers, neither NVIDIA's nor C++'s: `cargo x nvrtc` installs NVRTC with CUDA's headers, such as cuda_fp16.h and cooperative_groups.h, and `--compiler nvrtc` uses them; a file of your own must be beside the kernel: `#include \"my.cuh\"`",
    ),
    (
        "an attribute list cannot appear here",
        "this clang accepts only `alignas(…) __shared__`, in this order",
    ),
];

/// Parses the version of a clang that can write PTX. The error states why a program cannot write
/// PTX.
fn fit(version: &str, targets: &str) -> Result<String, String> {
    let words = version.split_whitespace().skip_while(|&word| word != "version").nth(1);
    let number = words.filter(|_| version.contains("clang version")).ok_or("it is not clang")?;
    // Debian writes `19.1.7 (3~deb12u1)`, Ubuntu writes `18.1.3-1ubuntu1`, and a clang that you
    // built writes `22.0.0git`.
    let end = number.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(number.len());
    let number = &number[..end];
    if version.starts_with("Apple") {
        return Err(format!("Apple's clang {number} cannot write PTX"));
    }
    if major(number) < OLDEST {
        return Err(format!("clang {number} is too old: version {OLDEST} or later is needed"));
    }
    match targets.contains("nvptx64") {
        true => Ok(number.to_owned()),
        false => Err(format!(
            "this clang {number} was built without the NVPTX target, so it cannot write PTX"
        )),
    }
}

fn major(version: &str) -> u32 {
    version.split('.').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clang_that_cannot_write_ptx_has_a_reason() {
        let all = "  nvptx64     - NVIDIA PTX 64-bit\n  x86-64      - 64-bit X86";
        let debian = "Debian clang version 19.1.7 (3~deb12u1)\nTarget: x86_64-pc-linux-gnu";
        assert_eq!(fit(debian, all).unwrap(), "19.1.7");
        assert_eq!(fit("Ubuntu clang version 18.1.3 (1ubuntu1)", all).unwrap(), "18.1.3");
        assert_eq!(fit("clang version 22.0.0git (https://…)", all).unwrap(), "22.0.0");
        let why = |version, targets| fit(version, targets).unwrap_err();
        assert!(why("Debian clang version 14.0.6", all).contains("14.0.6 is too old"));
        assert!(why("Apple clang version 17.0.0 (clang-1700.0.13)", all).contains("Apple's"));
        assert!(why(debian, "  x86-64 - 64-bit X86").contains("without the NVPTX target"));
        assert_eq!(why("gcc (Debian 12.2.0) 12.2.0", all), "it is not clang");
        assert_eq!(why("", ""), "it is not clang");
    }

    #[test]
    fn nvrtc_s_options_are_translated() {
        let unit = Unit::of_kernel("// Needs compute_90: why.\n", "kernel.cu", "double");
        let clang = |version: &str| Clang { path: PathBuf::new(), version: version.into() };
        let words = clang("19.1.7").options(&unit);
        for word in ["-DElement=double", "-std=c++17", "-gline-tables-only"] {
            assert!(words.iter().any(|w| w == word), "{word} in {words:?}");
        }
        assert!(words.contains(&"--cuda-gpu-arch=sm_90".into()), "{words:?}");
        assert!(words.contains(&"--cuda-feature=+ptx84".into()), "{words:?}");
        assert!(clang("16.0.6").options(&unit).contains(&"--cuda-feature=+ptx78".into()));
    }

    #[test]
    fn inlined_code_of_another_file_is_at_its_caller() {
        let ptx = "\t.loc\t1 18 28  // /kernel.cu:18:28 @[ /kernel.cu:88:20 ]\n\tret;\n\
                   \t.loc\t2 7 26 // /a.cuh:7:26 @[ /a.cuh:21:25 @[ /kernel.cu:27:13 @[ /kernel.cu:8:2 ] ] ]\n\
                   \t.loc\t2 3 1 // /a.cuh:3:1\n";
        let lines = placed(ptx);
        let lines: Vec<_> = lines.lines().map(|line| line.split(" //").next().unwrap()).collect();
        assert_eq!(lines, ["\t.loc\t1 18 28 ", "\tret;", "\t.loc\t1 27 13", "\t.loc\t2 3 1"]);
    }

    #[test]
    fn lines_are_those_of_the_kernel() {
        let text = text("first\nsecond\n");
        let (_, kernel) = text.split_once("# 1 \"/kernel.cu\"\n").unwrap();
        assert_eq!(kernel, "first\nsecond\n");
    }
}
