//! A kernel with the files that it includes: one text, as every compiler is given it.

use std::path::Path;

use crate::{Error, Result, Unit};

/// Puts the text of each file that a kernel includes in the place of its `#include "NAME"`. `find`
/// looks for a name beside the kernel. What is no such line, and what an included file includes,
/// stays as it is; `#line` tells messages and line numbers where they are.
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

/// The text of a file of that name in the kernel's folder, or in the one above it: a variant of a
/// kernel includes what the kernel includes.
pub fn beside(kernel: &Path, name: &str) -> Option<String> {
    let folder = kernel.parent()?;
    let read = |folder: &Path| std::fs::read_to_string(folder.join(name)).ok();
    read(folder).or_else(|| read(folder.parent()?))
}

/// The names of the files that a kernel includes.
pub fn includes(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(included)
}

fn included(line: &str) -> Option<&str> {
    let name = line.strip_prefix("#include \"")?.trim_end().strip_suffix('"')?;
    // Beside the kernel, and nowhere else.
    (!name.is_empty() && !name.contains(['/', '\\', '"'])).then_some(name)
}

/// A compiler's messages about such a text, with the names that its files have for people.
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
    fn a_file_takes_the_place_of_its_include() {
        let source = "// What.\n#include \"ring.cuh\"\nint after;\n";
        assert_eq!(
            woven(source, "kernel.cu", beside).unwrap(),
            "// What.\n#line 1 \"/ring.cuh\"\n// A ring.\nint ring;\n#line 3 \"/kernel.cu\"\nint after;\n"
        );
        assert_eq!(includes(source).collect::<Vec<_>>(), ["ring.cuh"]);
    }

    #[test]
    fn what_includes_nothing_stays_as_it_is() {
        for source in
            ["", "int a;", "int a;\r\n", "#include <cub/cub.cuh>\n", "#include \"../x\"\n"]
        {
            assert_eq!(woven(source, "kernel.cu", beside).unwrap(), source);
        }
    }

    #[test]
    fn messages_call_files_as_people_do() {
        let source = woven("#include \"ring.cuh\"\nint after;\n", "kernel.cu", beside).unwrap();
        let unit = Unit::of_kernel(&source, "/home/me/my.cu", "float");
        let log = "/ring.cuh:2:1: error: (lambda at /kernel.cu:2:4)\n 2 | a / b\n";
        assert_eq!(
            named(log, &unit),
            "ring.cuh:2:1: error: (lambda at /home/me/my.cu:2:4)\n 2 | a / b"
        );
    }

    #[test]
    fn what_is_not_there_is_named() {
        let error = woven("#include \"stage.cuh\"\n", "my.cu", beside).unwrap_err().to_string();
        assert!(error.contains("my.cu includes `stage.cuh`, which is not beside it"), "{error}");
    }
}
