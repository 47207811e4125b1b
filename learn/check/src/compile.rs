//! Compiles the reader's file for the judge.

use std::path::Path;

use anyhow::{Context, Result};
use compiler::{Compiler, ELEMENTS, Error, Kind, Unit, beside, woven};

use crate::exercise::shown;

/// Returns the requested compiler or, if none is requested, any available compiler. If no compiler
/// is available, downloads NVRTC.
///
/// # Errors
/// No compiler is available, and NVRTC cannot be downloaded.
pub fn compiler(asked: Option<Kind>) -> Result<Compiler> {
    match Compiler::find(asked) {
        Err(Error::Missing(_)) if asked != Some(Kind::Clang) => {}
        found => return Ok(found?),
    }
    let missing = "no compiler for your kernel is available: run `cargo x nvrtc` to download NVRTC, \
                   or install clang, for example by `apt install clang-19`";
    xtask::install_nvrtc().context(missing)?;
    Ok(Compiler::find(asked)?)
}

/// Compiles a kernel for each element type. If the compiler rejects the kernel, the inner error is
/// the compiler's first message.
///
/// # Errors
/// A file is missing, or the compiler cannot be called.
pub fn compile(
    compiler: &Compiler,
    source: &str,
    path: &Path,
) -> Result<std::result::Result<[String; 3], String>> {
    let file = shown(path);
    let whole = woven(source, &file, |name| beside(path, name))?;
    let mut made = [const { String::new() }; 3];
    for (ptx, (_, element)) in made.iter_mut().zip(ELEMENTS) {
        let unit = Unit::of_kernel(&whole, &file, element);
        match compiler.compile(&unit) {
            Ok(text) => *ptx = text,
            Err(Error::Compile { log, .. }) => return Ok(Err(first(&log, unit.architecture))),
            Err(other) => return Err(other.into()),
        }
    }
    Ok(Ok(made))
}

/// Returns the first error in a compiler's log for an architecture, with the lines that belong to
/// it.
pub fn first(log: &str, architecture: u32) -> String {
    let is_error = |line: &str| line.contains("error:") || line.contains("error #");
    let starts =
        |line: &str| is_error(line) || line.contains(": warning") || line.contains(" generated");
    let mut lines = log.lines().skip_while(|line| !is_error(line));
    let head = lines.next().unwrap_or(log);
    let rest: Vec<&str> =
        lines.take_while(|line| !starts(line) && !line.trim().is_empty()).take(3).collect();
    let mut said = [&[head][..], &rest].concat().join("\n");
    if let Some(old) = judge::OLD.iter().find(|old| names(head, old)) {
        said += &format!(
            "\n`{old}_sync` replaced `{old}` in CUDA 9: its first argument is a mask of the lanes that \
             take part, 0xffffffff for a whole warp"
        );
    }
    if let Some(why) = compiler::newer(&said, architecture) {
        said += &format!("\n{why}");
    }
    said
}

/// Returns whether a message contains an identifier.
fn names(message: &str, identifier: &str) -> bool {
    message.contains(&format!("\"{identifier}\"")) || message.contains(&format!("'{identifier}'"))
}

#[cfg(test)]
mod tests {
    fn first(log: &str) -> String {
        super::first(log, 60)
    }

    #[test]
    fn only_the_first_error_is_reported() {
        let nvrtc = "k.cu(3): warning #177-D: unused\n  int a;\n      ^\n\nk.cu(12): error: expected a \";\"\n      }\n      ^\n\nk.cu(20): error: identifier \"x\" is undefined\n\n2 errors";
        assert_eq!(first(nvrtc), "k.cu(12): error: expected a \";\"\n      }\n      ^");
        let clang = "k.cu:4:2: error: use of undeclared identifier 'x'\n    4 | x\n      | ^\nk.cu:9:2: error: other\n2 errors generated.";
        assert_eq!(
            first(clang),
            "k.cu:4:2: error: use of undeclared identifier 'x'\n    4 | x\n      | ^"
        );
        assert_eq!(first("something else"), "something else");
        let old = first("k.cu(3): error: identifier \"__shfl_down\" is undefined");
        assert!(old.ends_with("0xffffffff for a whole warp") && old.contains("`__shfl_down_sync`"));
        let newer = first("k.cu(3): error: identifier \"__nanosleep\" is undefined");
        assert!(newer.contains("from compute_70 on"), "{newer}");
        let old = first(
            "k.cu:3:2: error: use of undeclared identifier '__any'; did you mean '__any_sync'?",
        );
        assert!(old.contains("`__any_sync` replaced `__any`"), "{old}");
    }
}
