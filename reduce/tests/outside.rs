//! A program of somebody else's, which depends on the crate by its path, compiles without a warning.

use std::{fs, path::Path, process::Command};

#[test]
fn a_program_outside_of_the_workspace_compiles() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cargo = Path::new(env!("CARGO"));
    if !cargo.exists() || !here.join("Cargo.toml").exists() {
        return eprintln!("skipped: there is no cargo here, or no source");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"outside\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
         [dependencies]\nreduce = {{ path = {:?} }}\n\
         cudarc = {{ version = \"0.19\", default-features = false, features = [\"std\", \"driver\", \"dynamic-loading\", \"cuda-12000\"] }}\n\n\
         [workspace]\n",
        here
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(here.join("examples/sum.rs"), folder.join("src/main.rs")).unwrap();
    // The versions that are here already.
    fs::copy(here.join("../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let checked = Command::new(cargo)
        .args(["check", "--offline", "--color", "never", "--target-dir"])
        .arg(folder.join("target"))
        .current_dir(&folder)
        // Its warnings are to be said again, though nothing has changed since.
        .env("CARGO_INCREMENTAL", "0")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}");
    assert!(!said.contains("warning"), "{said}");
}
