//! clang, LLVM's compiler, if this machine has one that can write PTX.
//!
//! It needs nothing of NVIDIA's: what the toolkit's headers would tell it stands in `prelude.cuh`.

use std::{
    fmt,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{Error, Result, Unit, find, woven::named};

/// What NVRTC knows before it reads a kernel, and clang does not.
const PRELUDE: &str = include_str!("prelude.cuh");

/// The oldest version that knows all that the kernels ask for.
pub const OLDEST: u32 = 16;

/// A clang that can write PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clang {
    path: PathBuf,
    version: String,
}

impl Clang {
    /// The first clang that can write PTX, of those in all usual places; else what is wrong with
    /// those that are there.
    pub fn find() -> Result<Clang, Vec<String>> {
        let mut unfit = Vec::new();
        for path in find::clangs() {
            match Clang::open(&path) {
                Ok(clang) => return Ok(clang),
                Err(error) => unfit.push(error.to_string()),
            }
        }
        Err(unfit)
    }

    /// Asks the program at a path whether it can.
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

    /// Its version, as `19.1.7`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Where it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The words that clang is given for a unit.
    pub fn options(&self, unit: &Unit<'_>) -> Vec<String> {
        // Bulk copies are in PTX 8.0; a driver from 550 on knows 8.4, which is also NVRTC's.
        let ptx = match major(&self.version) {
            ..=16 => 78,
            17 => 80,
            18 => 82,
            _ => 84,
        };
        let mut words: Vec<String> = [
            // One target for the host's part, which is left out: the same PTX on every system.
            "--target=x86_64-unknown-linux-gnu",
            "--no-default-config",
            "-x",
            "cuda",
            "--cuda-device-only",
            "-nocudainc",
            "-nocudalib",
            "-nostdinc",
            // An endless loop is a mistake to be shown, and not one to be optimised away.
            "-fno-finite-loops",
            "-O3",
            // As NVRTC does: a call costs more on a GPU than the code that it saves.
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
        // Over a pipe, so that no folder, its spaces or its letters are anyone's concern. By a
        // thread of its own, because clang answers before it has read all.
        let text = text(unit.source);
        let input = child.stdin.take();
        let writer = std::thread::spawn(move || {
            // Who does not read to the end says why on standard error.
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

/// What clang reads: the prelude, as a header of the system, and the kernel by its own name.
fn text(source: &str) -> String {
    format!("# 1 \"/prelude.cuh\" 3\n{PRELUDE}\n# 1 \"/kernel.cu\"\n{source}")
}

/// A word of NVRTC's, in clang's spelling.
fn translated(word: &str) -> String {
    match word.split_once('=') {
        Some(("--define-macro", macro_)) => format!("-D{macro_}"),
        Some(("--std", standard)) => format!("-std={standard}"),
        _ if word == "--generate-line-info" => "-gline-tables-only".into(),
        _ => word.to_owned(),
    }
}

/// PTX in which what was inlined from an included file has its caller's line of the kernel, as NVRTC
/// says it in words that clang puts into a comment: `.loc 2 7 5 // /a.cuh:7:5 @[ /kernel.cu:3:1 ]`.
/// Clang 19 and older say nothing of callers.
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

/// clang's messages with the files' own names, and the reason for the likeliest surprises.
fn readable(log: &str, unit: &Unit<'_>) -> String {
    let mut log = named(log, unit);
    for (said, why) in REASONS {
        if log.contains(said) {
            log += &format!("\n({why})");
        }
    }
    log
}

/// What clang says where NVRTC says nothing, and the reason.
const REASONS: [(&str, &str); 2] = [
    (
        "file not found",
        "clang is given no headers, NVIDIA's or C++'s: `cargo x nvrtc` brings NVRTC with CUDA's, such as cuda_fp16.h and cooperative_groups.h, and `--compiler nvrtc` takes it; a file of your own is found beside the kernel: `#include \"my.cuh\"`",
    ),
    (
        "an attribute list cannot appear here",
        "this clang takes `alignas(…) __shared__`, and not the other way round",
    ),
];

/// The version of a clang that can write PTX, from what it says of itself; else why it cannot.
fn fit(version: &str, targets: &str) -> Result<String, String> {
    let words = version.split_whitespace().skip_while(|&word| word != "version").nth(1);
    let number = words.filter(|_| version.contains("clang version")).ok_or("it is no clang")?;
    // Debian's says `19.1.7 (3~deb12u1)`, Ubuntu's `18.1.3-1ubuntu1`, a build of one's own `22.0.0git`.
    let end = number.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(number.len());
    let number = &number[..end];
    if version.starts_with("Apple") {
        return Err(format!("Apple's clang {number} writes no PTX"));
    }
    if major(number) < OLDEST {
        return Err(format!("clang {number} is too old, it takes {OLDEST} or later"));
    }
    match targets.contains("nvptx64") {
        true => Ok(number.to_owned()),
        false => Err(format!("this clang {number} was built without NVPTX, so it writes no PTX")),
    }
}

fn major(version: &str) -> u32 {
    version.split('.').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clang_that_cannot_write_ptx_says_why() {
        let all = "  nvptx64     - NVIDIA PTX 64-bit\n  x86-64      - 64-bit X86";
        let debian = "Debian clang version 19.1.7 (3~deb12u1)\nTarget: x86_64-pc-linux-gnu";
        assert_eq!(fit(debian, all).unwrap(), "19.1.7");
        assert_eq!(fit("Ubuntu clang version 18.1.3 (1ubuntu1)", all).unwrap(), "18.1.3");
        assert_eq!(fit("clang version 22.0.0git (https://…)", all).unwrap(), "22.0.0");
        let why = |version, targets| fit(version, targets).unwrap_err();
        assert!(why("Debian clang version 14.0.6", all).contains("14.0.6 is too old"));
        assert!(why("Apple clang version 17.0.0 (clang-1700.0.13)", all).contains("Apple's"));
        assert!(why(debian, "  x86-64 - 64-bit X86").contains("without NVPTX"));
        assert_eq!(why("gcc (Debian 12.2.0) 12.2.0", all), "it is no clang");
        assert_eq!(why("", ""), "it is no clang");
    }

    #[test]
    fn nvrtc_s_words_are_clang_s() {
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
    fn what_was_inlined_from_another_file_is_where_its_caller_is() {
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
