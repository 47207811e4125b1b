//! `cargo x bundle`: collects in `dist/` everything that a GPU machine without Rust needs.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde_json::Value;
use xshell::{Shell, cmd};

pub(crate) fn run(sh: &Shell) -> Result<()> {
    let dist = crate::root().join("dist");
    for folder in ["bin", "bench", "test"] {
        sh.remove_path(dist.join(folder))?;
        sh.create_dir(dist.join(folder))?;
    }
    let json = "--message-format=json-render-diagnostics";
    let built = cmd!(sh, "cargo build --profile device --bins {json}").quiet().read()?;
    collect(&built, "bin", &dist.join("bin"))?;
    let kernels = packages(&["studies"])?;
    let tested = of(kernels.iter().map(String::as_str).chain(["steps", "samebits"]));
    let built = cmd!(sh, "cargo test --profile device --no-run {tested...} --test * {json}")
        .quiet()
        .read()?;
    collect(&built, "test", &dist.join("test"))?;
    let benched = of(packages(&["steps"])?.iter().map(String::as_str));
    let built = cmd!(sh, "cargo bench --profile device --no-run {benched...} --bench * {json}")
        .quiet()
        .read()?;
    collect(&built, "bench", &dist.join("bench"))?;
    sh.copy_file("xtask/gpu.sh", dist.join("gpu.sh"))?;
    // `ladder` looks for the libraries of the peers in its own folder.
    let libraries = ["libpeers.so", "libpeers-toolkit.so", "librows.so"];
    let scripts = ["python.py", "rows.py", "row_sum.py"];
    let libraries = libraries.map(|file| format!("target/peers/{file}"));
    for file in
        libraries.into_iter().chain(scripts.map(|file| format!("measure/ladder/peers/{file}")))
    {
        if sh.path_exists(&file) {
            sh.copy_file(&file, dist.join("bin"))?;
        }
    }
    // row_sum.py times these kernels.
    sh.create_dir(dist.join("bin/row-sum-ptx"))?;
    for file in sh.read_dir("studies/row-sum/src")? {
        if file.extension().is_some_and(|extension| extension == "ptx") {
            sh.copy_file(&file, dist.join("bin/row-sum-ptx"))?;
        }
    }
    for folder in ["bin", "bench", "test"] {
        let files: Vec<_> = fs::read_dir(dist.join(folder))?.flatten().collect();
        let bytes: u64 =
            files.iter().filter_map(|file| file.metadata().ok()).map(|data| data.len()).sum();
        say!("dist/{folder:<6} {:3} files {:6.1} MB", files.len(), bytes as f64 / 1e6);
    }
    say!(
        "copy dist/ to the GPU machine and run `bash dist/gpu.sh FOLDER` there: it writes the logs to FOLDER"
    );
    Ok(())
}

/// Returns the names of the packages in these folders. Only the tests of these packages depend on a
/// GPU.
fn packages(folders: &[&str]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(crate::root().join(folder))? {
            let path = entry?.path();
            if path.join("Cargo.toml").exists() {
                let name = path.file_name().context("a package has a folder")?;
                names.push(name.to_string_lossy().into_owned());
            }
        }
    }
    names.sort();
    Ok(names)
}

/// Selects packages on cargo's command line: `-p NAME` for each.
fn of<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    names.flat_map(|name| ["-p".to_owned(), name.to_owned()]).collect()
}

/// Copies the programs of one kind that cargo built, each named after its package.
fn collect(messages: &str, kind: &str, to: &Path) -> Result<()> {
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).context("reading cargo's messages")?;
        let target = &message["target"];
        let is_kind =
            target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|k| k == kind));
        let Some(executable) = message["executable"].as_str().filter(|_| is_kind) else { continue };
        let package = message["manifest_path"]
            .as_str()
            .and_then(|path| Path::new(path).parent()?.file_name());
        let package = package.context("a package has a folder")?.to_string_lossy();
        let target = target["name"].as_str().unwrap_or_default();
        let name = if kind == "bin" { target.to_owned() } else { format!("{package}.{target}") };
        fs::copy(executable, to.join(&name)).with_context(|| format!("copying {executable}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packages_that_use_a_gpu_are_bundled() {
        let names = packages(&["steps", "studies"]).unwrap();
        assert!(names.contains(&"v0-naive".to_owned()) && names.contains(&"small-sum".to_owned()));
        assert_eq!(of(["a", "b"].into_iter()), ["-p", "a", "-p", "b"]);
        // Every package whose tests open a GPU is in one of these folders, or is `samebits`.
        for folder in ["simt", "measure/measured", "measure/ladder", "common"] {
            let Ok(tests) = fs::read_dir(crate::root().join(folder).join("tests")) else {
                continue;
            };
            for test in tests.flatten().filter(|test| test.path().is_file()) {
                let text = fs::read_to_string(test.path()).unwrap_or_default();
                let asks = text.contains("Cuda::open") || text.contains("Choice::Cuda");
                assert!(!asks, "{} asks a GPU", test.path().display());
            }
        }
    }
}
