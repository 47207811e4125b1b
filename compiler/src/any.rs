//! A type that covers both compilers, NVRTC and clang.

use std::{
    env::{self, consts},
    fmt,
    str::FromStr,
};

use crate::{Clang, Error, Result, Unit, clang, nvrtc};

/// The kind of a compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// NVIDIA's run-time compiler, which is a library.
    Nvrtc,
    /// LLVM's compiler, which is a program.
    Clang,
}

/// A compiler that was found on this machine.
#[derive(Debug)]
pub enum Compiler {
    /// NVIDIA's compiler.
    Nvrtc(nvrtc::Library),
    /// LLVM's compiler.
    Clang(Clang),
}

/// The environment variable that restricts which compilers may be used: `none`, `nvrtc`, `clang`,
/// or the name of a program such as `clang-19`.
pub const ONLY: &str = "REDUCE_ONLY_COMPILER";

impl Compiler {
    /// Finds a compiler of this kind. The default is NVRTC, which made the committed PTX, or clang
    /// if there is no NVRTC. The variable [`ONLY`] restricts the choice.
    ///
    /// # Errors
    /// Returns [`Error::Missing`] if there is no such compiler; the error says how to install one.
    pub fn find(kind: Option<Kind>) -> Result<Compiler> {
        let only = env::var(ONLY).unwrap_or_default();
        let seen = |this| match (only.as_str(), this) {
            ("", _) | ("nvrtc", Kind::Nvrtc) => true,
            ("none" | "nvrtc", _) | (_, Kind::Nvrtc) => false,
            (_, Kind::Clang) => true,
        };
        let wanted = |this| kind.is_none_or(|kind| kind == this) && seen(this);
        if let Some(library) = wanted(Kind::Nvrtc).then(nvrtc::Library::find).flatten() {
            return Ok(Compiler::Nvrtc(library));
        }
        let mut unfit = Vec::new();
        if wanted(Kind::Clang) {
            match Clang::find(&only) {
                Ok(clang) => return Ok(Compiler::Clang(clang)),
                Err(found) => unfit = found,
            }
        }
        Err(Error::Missing(missing(kind, &unfit, consts::OS, consts::ARCH)))
    }

    /// Compiles a unit to PTX.
    pub fn compile(&self, unit: &Unit<'_>) -> Result<String> {
        match self {
            Compiler::Nvrtc(library) => library.compile(unit),
            Compiler::Clang(clang) => clang.compile(unit),
        }
    }
}

/// Checks that NVIDIA provides NVRTC for this system. The error names the alternative.
pub fn nvrtc_exists() -> Result<(), String> {
    exists(consts::OS, consts::ARCH)
        .map_err(|none| format!("{none}, but {}", clang_for(consts::OS)))
}

/// Checks that NVIDIA provides NVRTC, and therefore a wheel on PyPI, for a system.
fn exists(os: &str, arch: &str) -> Result<(), String> {
    match (os, arch) {
        ("linux", "x86_64" | "aarch64") | ("windows", "x86_64") => Ok(()),
        _ => Err(format!("NVIDIA provides no NVRTC for {os} on {arch}")),
    }
}

/// Describes how to install a clang that writes PTX.
fn clang_for(os: &str) -> String {
    let installer = match os {
        "macos" => "`brew install llvm`: Apple's own clang cannot write PTX",
        "windows" => "`winget install LLVM.LLVM`",
        _ => {
            "on Debian and Ubuntu `apt install clang-19`, or another version from `apt search clang`"
        }
    };
    format!("clang {} or later can compile it too ({installer})", clang::OLDEST)
}

/// Names the compilers that are missing on a system, and describes how to install them.
fn missing(kind: Option<Kind>, unfit: &[String], os: &str, arch: &str) -> String {
    let wheel = "`cargo x nvrtc` installs NVRTC from PyPI (60 MB, into .venv)";
    let nvrtc = exists(os, arch).map(|()| wheel.to_owned());
    let clang = clang_for(os);
    let (what, ways) = match (kind, nvrtc) {
        (Some(Kind::Nvrtc), Ok(way)) => ("no NVRTC", way),
        (Some(Kind::Nvrtc), Err(none)) => {
            ("no NVRTC", format!("{none}; use `--compiler clang`: {clang}"))
        }
        (Some(Kind::Clang), _) => ("no clang that writes PTX", clang),
        (None, Ok(way)) => ("no compiler", format!("{way}, and {clang}")),
        (None, Err(none)) => ("no compiler", format!("{none}, but {clang}")),
    };
    let unfit = match unfit {
        [] => String::new(),
        some => format!(" ({})", some.join("; ")),
    };
    format!("there is {what} here{unfit}: {ways}")
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compiler::Nvrtc(library) => write!(f, "NVRTC {}", library.version()),
            Compiler::Clang(clang) => clang.fmt(f),
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        match text {
            "nvrtc" => Ok(Kind::Nvrtc),
            "clang" => Ok(Kind::Clang),
            _ => Err(format!("`{text}` is not a compiler: use nvrtc or clang")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_compilers_are_offered_if_both_exist() {
        for (os, arch) in [("linux", "x86_64"), ("linux", "aarch64"), ("windows", "x86_64")] {
            let text = missing(None, &[], os, arch);
            assert!(text.contains("`cargo x nvrtc`") && text.contains("clang 16"), "{text}");
        }
        assert!(missing(None, &[], "linux", "x86_64").contains("apt install clang-19"));
        assert!(missing(None, &[], "windows", "x86_64").contains("winget install LLVM.LLVM"));
    }

    #[test]
    fn nvrtc_is_not_offered_where_it_does_not_exist() {
        for (os, arch) in [("macos", "aarch64"), ("macos", "x86_64"), ("windows", "aarch64")] {
            for kind in [None, Some(Kind::Nvrtc)] {
                let text = missing(kind, &[], os, arch);
                assert!(!text.contains("cargo x nvrtc"), "{text}");
                assert!(text.contains(&format!("no NVRTC for {os} on {arch}")), "{text}");
            }
        }
        assert!(missing(None, &[], "macos", "aarch64").contains("`brew install llvm`"));
    }

    #[test]
    fn unusable_compilers_are_named_with_the_reason() {
        let unfit = ["/usr/bin/clang: Apple's clang 17.0.0 cannot write PTX".to_owned()];
        let text = missing(None, &unfit, "macos", "aarch64");
        assert!(text.starts_with("there is no compiler here (/usr/bin/clang: Apple's"), "{text}");
    }

    #[test]
    fn a_compiler_is_parsed_by_its_name() {
        assert_eq!("nvrtc".parse(), Ok(Kind::Nvrtc));
        assert_eq!("clang".parse(), Ok(Kind::Clang));
        assert!("gcc".parse::<Kind>().unwrap_err().contains("use nvrtc or clang"));
    }
}
