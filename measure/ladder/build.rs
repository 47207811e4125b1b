//! Records the commit from which the program is built, for `env.toml`. A program that was copied to
//! a GPU machine cannot get the commit from git.

use std::{path::Path, process::Command};

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
        let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
        let mark = if changed.is_some_and(|files| !files.is_empty()) { "+" } else { "" };
        println!("cargo::rustc-env=LADDER_COMMIT={commit}{mark}");
    }
    for file in ["HEAD", "index"] {
        let path = git(&["rev-parse", "--git-path", file]);
        // If a named file were missing, Cargo would run this script in every build.
        if let Some(path) = path.filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    println!("cargo::rerun-if-changed=src");
}
