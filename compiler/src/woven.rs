//! Inlines the files that a kernel includes, because compilers accept only one source.

use std::path::Path;

use crate::{Error, Result, Unit};

/// Replaces each `#include "NAME"` in a kernel with the file that `find` returns. All other lines
/// stay unchanged, and `#include` lines inside the included files are not replaced. `#line`
/// directives keep the files and line numbers in messages correct.
pub fn woven(source: &str, file: &str, find: impl Fn(&str) -> Option<String>) -> Result<String> {
    if includes(source).next().is_none() {
        return Ok(source.to_owned());
    }
    let mut text = String::new();
    for (number, line) in source.lines().enumerate() {
        match included(line) {
            None => text += &format!("{line}\n"),
            Some(name) => {
                let found = find(name).ok_or_else(|| Error::Include {
                    file: file.to_owned(),
                    name: name.to_owned(),
                })?;
                let (end, next) = (if found.ends_with('\n') { "" } else { "\n" }, number + 2);
                text += &format!("#line 1 \"/{name}\"\n{found}{end}#line {next} \"/kernel.cu\"\n");
            }
        }
    }
    Ok(text)
}

/// Reads a file in the kernel's folder or in the parent folder, because a variant of a kernel
/// includes the same files as the kernel.
pub fn beside(kernel: &Path, name: &str) -> Option<String> {
    let folder = kernel.parent()?;
    let read = |folder: &Path| crate::read(&folder.join(name)).ok();
    read(folder).or_else(|| read(folder.parent()?))
}

/// Returns the names of the files that a kernel includes.
pub fn includes(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(included)
}

fn included(line: &str) -> Option<&str> {
    let name = line.strip_prefix("#include \"")?.trim_end().strip_suffix('"')?;
    // The name must be that of a file in the same folder, not a path.
    (!name.is_empty() && !name.contains(['/', '\\', '"'])).then_some(name)
}

/// Replaces the names of the inlined files in a compiler's messages with their original names.
pub(crate) fn named(log: &str, unit: &Unit<'_>) -> String {
    let names = unit.source.lines().filter_map(|line| line.strip_prefix("#line 1 \"/"));
    let log = names
        .filter_map(|rest| rest.strip_suffix('"'))
        .fold(log.to_owned(), |log, name| log.replace(&format!("/{name}"), name));
    let log = log.replace("/prelude.cuh", "prelude.cuh").replace("/kernel.cu", unit.file);
    log.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beside(name: &str) -> Option<String> {
        (name == "ring.cuh").then(|| "// A ring.\nint ring;".to_owned())
    }

    #[test]
    fn a_file_replaces_its_include() {
        let source = "// What.\n#include \"ring.cuh\"\nint after;\n";
        assert_eq!(
            woven(source, "kernel.cu", beside).unwrap(),
            "// What.\n#line 1 \"/ring.cuh\"\n// A ring.\nint ring;\n#line 3 \"/kernel.cu\"\nint after;\n"
        );
        assert_eq!(includes(source).collect::<Vec<_>>(), ["ring.cuh"]);
    }

    #[test]
    fn sources_without_includes_stay_as_they_are() {
        for source in
            ["", "int a;", "int a;\r\n", "#include <cub/cub.cuh>\n", "#include \"../x\"\n"]
        {
            assert_eq!(woven(source, "kernel.cu", beside).unwrap(), source);
        }
    }

    #[test]
    fn messages_have_the_files_own_names() {
        let source = woven("#include \"ring.cuh\"\nint after;\n", "kernel.cu", beside).unwrap();
        let unit = Unit::of_kernel(&source, "/home/me/my.cu", "float");
        let log = "/ring.cuh:2:1: error: (lambda at /kernel.cu:2:4)\n 2 | a / b\n";
        assert_eq!(
            named(log, &unit),
            "ring.cuh:2:1: error: (lambda at /home/me/my.cu:2:4)\n 2 | a / b"
        );
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = woven("#include \"stage.cuh\"\n", "my.cu", beside).unwrap_err().to_string();
        assert!(
            error.contains("my.cu includes `stage.cuh`, which is not in the same folder"),
            "{error}"
        );
    }
}
