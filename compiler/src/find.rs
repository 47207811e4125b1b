//! Where NVRTC may lie on a machine.

use std::path::{Path, PathBuf};

/// Its possible places, the likeliest first: in `.venv` (where `cargo x nvrtc` puts the pinned one),
/// where the toolkit's variables point, by the loader (`LD_LIBRARY_PATH`), in the toolkit's usual place.
pub(crate) fn nvrtc() -> impl Iterator<Item = PathBuf> {
    let candidates = in_venv().into_iter().chain(in_toolkits()).filter(|path| path.exists());
    let by_loader = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"].map(PathBuf::from);
    let usual = libraries_in(Path::new("/usr/local/cuda/lib64"));
    candidates.chain(by_loader).chain(usual)
}

/// The wheel's library, in a `.venv` of this folder or one above it.
fn in_venv() -> Vec<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    let venvs = here.ancestors().map(|folder| folder.join(".venv/lib"));
    let pythons = venvs.filter_map(|lib| std::fs::read_dir(lib).ok()).flatten().flatten();
    let packages = pythons.map(|python| python.path().join("site-packages/nvidia"));
    packages
        .flat_map(|nvidia| ["cuda_nvrtc/lib", "cu13/lib"].map(|lib| nvidia.join(lib)))
        .flat_map(|lib| libraries_in(&lib))
        .collect()
}

/// The library of a toolkit that a variable points to.
fn in_toolkits() -> Vec<PathBuf> {
    let roots = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"].into_iter().filter_map(std::env::var_os);
    roots.flat_map(|root| libraries_in(&PathBuf::from(root).join("lib64"))).collect()
}

fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    first(folder, "libnvrtc.so").into_iter().collect()
}

/// The first file of a folder, by name, that starts so.
pub(crate) fn first(folder: &Path, start: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
        })
        .min()
}
