//! Compiles the reader's file for the judge.

use std::path::Path;

use anyhow::{Context, Result};
use compiler::{Compiler, ELEMENTS, Error, Kind, Unit, beside, woven};

use crate::exercise::shown;

/// The compiler that was chosen, or any; without one, NVRTC is downloaded.
///
/// # Errors
/// No compiler is available, and NVRTC cannot be downloaded.
pub fn compiler(asked: Option<Kind>) -> Result<Compiler> {
    match Compiler::find(asked) {
        Err(Error::Missing(_)) if asked != Some(Kind::Clang) => {}
        found => return Ok(found?),
    }
    let missing = "there is no compiler for your kernel: `cargo x nvrtc` downloads NVRTC when \
                   there is a network; `apt install clang-19` or another clang works too";
    xtask::install_nvrtc().context(missing)?;
    Ok(Compiler::find(asked)?)
}

/// Compiles a kernel for each element type. A compiler's message about the kernel is no error of the
/// program: its first message is returned.
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
        match compiler.compile(&Unit::of_kernel(&whole, &file, element)) {
            Ok(text) => *ptx = text,
            Err(Error::Compile { log, .. }) => return Ok(Err(first(&log))),
            Err(other) => return Err(other.into()),
        }
    }
    Ok(Ok(made))
}

/// The first error in a compiler's log, with the lines that belong to it.
pub fn first(log: &str) -> String {
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
            "\n`{old}` is `{old}_sync` since CUDA 9: its first argument names the lanes that take part, \
             0xffffffff for all of a warp"
        );
    }
    said
}

/// Whether a message names an identifier.
fn names(message: &str, identifier: &str) -> bool {
    message.contains(&format!("\"{identifier}\"")) || message.contains(&format!("'{identifier}'"))
}

#[cfg(test)]
mod tests {
    use super::first;

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
        assert!(
            old.ends_with("0xffffffff for all of a warp") && old.contains("`__shfl_down_sync`")
        );
        let old = first(
            "k.cu:3:2: error: use of undeclared identifier '__any'; did you mean '__any_sync'?",
        );
        assert!(old.contains("`__any` is `__any_sync`"), "{old}");
    }
}
