//! `cargo x package`: packs `samebits` for crates.io, and checks the package.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Result, ensure};
use xshell::{Shell, cmd};

use super::{capi, python};

/// The licences that every package contains.
pub(super) const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The name of the crate, and its folder.
const NAME: &str = "samebits";
const FOLDER: &str = "reduce";

/// Packs the crate, builds the packed files, and checks that no page links to a file outside the
/// package. Nothing is uploaded.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    let listed = cmd!(sh, "cargo package --list --allow-dirty -p {NAME}").quiet().read()?;
    let files: BTreeSet<&str> = listed.lines().collect();
    let folder = crate::root().join(FOLDER);
    for page in files.iter().filter(|file| file.ends_with(".md")) {
        let dead = dead(&fs::read_to_string(folder.join(page))?, &files);
        ensure!(
            dead.is_empty(),
            "{FOLDER}/{page} links to files outside the package: {}",
            dead.join(", ")
        );
    }
    for licence in LICENCES {
        ensure!(files.contains(licence), "{FOLDER}/{licence} is not packed: add it to `include`");
        for folder in [FOLDER, python::FOLDER] {
            let copy = crate::root().join(folder).join(licence);
            ensure!(
                fs::read(copy).ok() == fs::read(crate::root().join(licence)).ok(),
                "{folder}/{licence} differs from the file at the root: copy the file from the root"
            );
        }
    }
    cmd!(sh, "cargo publish --dry-run --allow-dirty -p {NAME}").run()?;
    // The dry run does not keep the package.
    cmd!(sh, "cargo package --quiet --no-verify --allow-dirty -p {NAME}")
        .quiet()
        .ignore_stderr()
        .run()?;
    let package =
        capi::target()?.join(format!("package/{NAME}-{}.crate", env!("CARGO_PKG_VERSION")));
    say!("{} is the package", package.display());
    Ok(())
}

/// Returns the links on a page to files that are not in the package.
fn dead(page: &str, files: &BTreeSet<&str>) -> Vec<String> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let leads_out = |target: &&str| {
        !target.is_empty()
            && !target.starts_with("https://")
            && !files.contains(Path::new(target).to_str().unwrap_or_default())
    };
    targets.filter(leads_out).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_in_the_package_or_go_to_the_web() {
        let files = BTreeSet::from(["README.md", "ORDER.md"]);
        let page = "[a](ORDER.md) [b](https://docs.rs) [c](#here) [d](ORDER.md#rows) [e](../book/x.md) [f](LICENSE)";
        assert_eq!(dead(page, &files), ["../book/x.md", "LICENSE"]);
    }
}
