//! Checks, without a second toolchain, that no dependency requires a newer Rust version than the
//! workspace.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use xshell::{Shell, cmd};

pub(crate) fn run(sh: &Shell) -> Result<()> {
    let read = cmd!(sh, "cargo metadata --locked --format-version 1").quiet().read()?;
    let metadata: Value = serde_json::from_str(&read).context("reading cargo's metadata")?;
    let faults = faults(&metadata);
    if !faults.is_empty() {
        bail!("dependencies that need a newer Rust:\n  {}", faults.join("\n  "));
    }
    Ok(())
}

fn faults(metadata: &Value) -> Vec<String> {
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let ours = packages().filter(|package| package["source"].is_null());
    let Some((promised, _)) = ours.map(version).min() else {
        return vec!["`cargo metadata` lists no package of this workspace".into()];
    };
    let newer = packages().filter(|package| version(package).0 > promised);
    newer
        .map(|package| {
            let (_, needs) = version(package);
            let name = package["name"].as_str().unwrap_or_default();
            format!("{name} needs Rust {needs}: pin an older version, or raise rust-version in Cargo.toml")
        })
        .collect()
}

/// Returns the `rust-version` of a package, as numbers and as text.
fn version(package: &Value) -> ([u32; 3], &str) {
    let text = package["rust_version"].as_str().unwrap_or("0");
    let mut numbers = [0; 3];
    for (number, part) in numbers.iter_mut().zip(text.split('.')) {
        *number = part.parse().unwrap_or(0);
    }
    (numbers, text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dependency_that_needs_a_newer_rust_is_named() {
        let metadata = |needs: &str| {
            json!({ "packages": [
                { "name": "ours", "source": null, "rust_version": "1.88" },
                { "name": "theirs", "source": "registry", "rust_version": needs },
                { "name": "old", "source": "registry", "rust_version": null },
            ] })
        };
        for fine in ["1.88", "1.88.0", "1.9", "1"] {
            assert_eq!(faults(&metadata(fine)), [""; 0], "{fine}");
        }
        for newer in ["1.88.1", "1.89", "2"] {
            let found = faults(&metadata(newer));
            assert!(found.len() == 1 && found[0].contains(&format!("theirs needs Rust {newer}")));
        }
        assert_eq!(faults(&json!({})).len(), 1);
    }
}
