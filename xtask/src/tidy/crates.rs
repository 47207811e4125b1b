//! Checks the rules for the workspace's crates.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use super::{
    circles,
    imports::{self, Files},
};

/// The maximum number of lines in a source file.
const LINES: usize = 500;

/// Folders that are not searched.
const ASIDE: [&str; 4] = ["target", "dist", "node_modules", "corpus"];

/// A crate and its sources.
#[derive(Debug)]
struct Crate {
    /// The crate's folder, relative to the workspace.
    name: String,
    manifest: String,
    files: Files,
}

/// Returns the problems found in the crates under a folder.
pub(crate) fn faults(root: &Path) -> Result<Vec<String>> {
    let mut crates = Vec::new();
    find(root, root, None, &mut crates)?;
    crates.iter().map(of).collect::<Result<Vec<_>>>().map(|faults| faults.concat())
}

fn of(krate: &Crate) -> Result<Vec<String>> {
    let Crate { name, manifest, files } = krate;
    let mut faults = Vec::new();
    // A crate outside the workspace has its own `[workspace]`, and cannot inherit this workspace's
    // lints.
    if !manifest.contains("[workspace]") && !manifest.contains("[lints]\nworkspace = true\n") {
        faults.push(format!(
            "{name}: Cargo.toml must contain `[lints]` and `workspace = true`, which deny unsafe code"
        ));
    }
    for (file, text) in files {
        let count = text.lines().count();
        if count > LINES {
            faults
                .push(format!("{name}/{file} has {count} lines, but at most {LINES} are allowed"));
        }
    }
    let edges = imports::edges(files).with_context(|| format!("reading the sources of {name}"))?;
    faults.extend(circles::faults(name, &edges));
    Ok(faults)
}

/// Finds the crates. Every folder with a `Cargo.toml` is a crate, and a file belongs to the
/// innermost one.
fn find(root: &Path, folder: &Path, within: Option<usize>, crates: &mut Vec<Crate>) -> Result<()> {
    let mut within = within;
    let manifest = folder.join("Cargo.toml");
    let relative = |path: &Path, base: &Path| {
        path.strip_prefix(base).unwrap_or(path).to_string_lossy().replace('\\', "/")
    };
    if folder != root && manifest.exists() {
        let manifest = fs::read_to_string(&manifest)
            .with_context(|| format!("reading {}", manifest.display()))?;
        within = Some(crates.len());
        let name = relative(folder, root);
        crates.push(Crate { name, manifest: manifest.replace("\r\n", "\n"), files: Files::new() });
    }
    let mut entries = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>())
        .with_context(|| format!("reading {}", folder.display()))?;
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !name.starts_with('.') && !ASIDE.contains(&&*name) {
            find(root, &path, within, crates)?;
        } else if let Some(at) = within.filter(|_| name.ends_with(".rs")) {
            let text =
                fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            let base = root.join(&crates[at].name);
            crates[at].files.insert(relative(&path, &base), text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tidy(manifest: &str, sources: &[(&str, &str)]) -> Vec<String> {
        let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        let files = sources.iter().map(owned).collect();
        of(&Crate { name: "crate".into(), manifest: manifest.into(), files }).unwrap()
    }

    const LINTS: &str = "[package]\n\n[lints]\nworkspace = true\n";

    #[test]
    fn crates_below_a_folder_are_looked_at() {
        let root = std::env::temp_dir().join(format!("tidy crates {}", std::process::id()));
        std::fs::create_dir_all(root.join("a/src")).unwrap();
        std::fs::write(root.join("a/Cargo.toml"), "[package]\n").unwrap();
        std::fs::write(root.join("a/src/lib.rs"), "//! Nothing.\n").unwrap();
        let found = faults(&root).unwrap();
        assert!(
            matches!(&found[..], [one] if one.starts_with("a: Cargo.toml must contain")),
            "{found:?}"
        );
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_source_has_five_hundred_lines_at_most() {
        let long = |lines: usize| tidy(LINTS, &[("src/lib.rs", &"// A line.\n".repeat(lines))]);
        assert_eq!(long(500), [""; 0]);
        assert_eq!(long(501), ["crate/src/lib.rs has 501 lines, but at most 500 are allowed"]);
    }

    #[test]
    fn the_lints_of_the_workspace_hold_everywhere() {
        assert_eq!(tidy(LINTS, &[]), [""; 0]);
        assert!(tidy("[package]\n", &[])[0].contains("`[lints]`"));
        assert_eq!(tidy("[package]\n[workspace]\n", &[]), [""; 0]);
    }

    #[test]
    fn a_circle_through_re_exports_is_found() {
        let sources = [
            ("src/lib.rs", "mod a; mod b; mod c; pub use c::C;"),
            ("src/a.rs", "use crate::b::f; pub fn g() { f(crate::C) }"),
            ("src/b.rs", "pub fn f(_: crate::C) {}"),
            ("src/c.rs", "pub struct C; fn f() { super::a::g() }"),
        ];
        assert!(tidy(LINTS, &sources)[0].starts_with("crate: 3 files"));
        let parted = [sources[0], ("src/a.rs", "pub fn g() {}"), sources[2], sources[3]];
        assert_eq!(tidy(LINTS, &parted), [""; 0]);
    }

    #[test]
    fn the_tree_is_read() {
        let mut crates = Vec::new();
        find(&crate::root(), &crate::root(), None, &mut crates).unwrap();
        let names: Vec<&str> = crates.iter().map(|krate| krate.name.as_str()).collect();
        for name in ["compiler", "simt", "simt/fuzz", "steps/v0-naive", "weave", "xtask"] {
            assert!(names.contains(&name), "{names:?}");
        }
        let simt = crates.iter().find(|krate| krate.name == "simt").unwrap();
        assert!(simt.files.contains_key("src/lib.rs"));
        assert!(!simt.files.keys().any(|file| file.starts_with("fuzz/")));
    }
}
