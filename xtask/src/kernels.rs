//! The kernels of the workspace, in lesson order.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};

/// One crate with a `kernel.cu`.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The crate's name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The text of `kernel.cu`.
    pub source: String,
}

impl Kernel {
    /// The kernel without its head: the comment lines that say what it does and costs.
    pub fn body(&self) -> String {
        let lines = self.source.lines().skip_while(|line| line.starts_with("//"));
        lines.map(|line| line.to_owned() + "\n").collect()
    }
}

/// The steps, v0 first.
pub fn steps() -> Result<Vec<Kernel>> {
    within("steps")
}

/// All kernels: the steps, then the studies, then those that the ladder measures its bounds with.
pub fn all() -> Result<Vec<Kernel>> {
    let mut kernels = steps()?;
    kernels.extend(within("studies")?);
    kernels.extend(within(".")?.into_iter().filter(|kernel| kernel.name == "ladder"));
    Ok(kernels)
}

fn within(folder: &str) -> Result<Vec<Kernel>> {
    let folder = crate::root().join(folder);
    let Ok(entries) = fs::read_dir(&folder) else { return Ok(Vec::new()) };
    let mut kernels = Vec::new();
    for entry in entries {
        let folder = entry?.path();
        let file = folder.join("src/kernel.cu");
        if !file.exists() {
            continue;
        }
        let source =
            fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        kernels.push(Kernel { name, folder, source });
    }
    kernels.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(kernels)
}
