//! Finds compilers and NVIDIA's libraries on a machine.

use std::{
    env,
    env::consts::EXE_SUFFIX,
    path::{Path, PathBuf},
};

/// An NVIDIA library, with the names to look for and the folders to search on this system.
struct Sought {
    /// The beginning of the library's file name, up to the version.
    start: &'static str,
    /// The folders to search inside a wheel's `nvidia` folder.
    wheels: &'static [&'static str],
    /// The folders to search inside a toolkit's folder.
    toolkits: &'static [&'static str],
    /// The names to pass to the loader, which has its own search path (`LD_LIBRARY_PATH`, `PATH`).
    loader: &'static [&'static str],
}

const NVRTC: Sought = if cfg!(windows) {
    Sought {
        start: "nvrtc64_",
        wheels: &["cuda_nvrtc/bin", "cu13/bin/x86_64", "cu13/bin"],
        toolkits: &["bin/x64", "bin"],
        loader: &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"],
    }
} else {
    Sought {
        start: "libnvrtc.so",
        wheels: &["cuda_nvrtc/lib", "cu13/lib"],
        toolkits: &["lib64"],
        loader: &["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"],
    }
};

const CUPTI: Sought = if cfg!(windows) {
    Sought {
        start: "cupti64_",
        wheels: &["cuda_cupti/bin", "cu13/bin/x86_64", "cu13/bin"],
        toolkits: &["extras/CUPTI/lib64"],
        loader: &[],
    }
} else {
    Sought {
        start: "libcupti.so",
        wheels: &["cuda_cupti/lib", "cu13/lib"],
        toolkits: &["extras/CUPTI/lib64", "lib64"],
        loader: &["libcupti.so", "libcupti.so.13", "libcupti.so.12"],
    }
};

/// The beginning of the file name of the library that contains NVRTC's built-in headers.
const BUILTINS: &str = if cfg!(windows) { "nvrtc-builtins64_" } else { "libnvrtc-builtins.so" };

/// The libraries that CUPTI needs to read counters. CUPTI looks these libraries up by name, and
/// finds them if they are already loaded.
pub const COMPANIONS: [&str; 2] = if cfg!(windows) {
    ["nvperf_target.dll", "nvperf_host.dll"]
} else {
    ["libnvperf_target.so", "libnvperf_host.so"]
};

/// The workspace in which this program was built. On another machine, this folder may not exist.
const BUILT_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Returns the places where NVRTC may be.
pub(crate) fn nvrtc() -> impl Iterator<Item = PathBuf> {
    places(&NVRTC)
}

/// Returns the places where CUPTI, the library that reads a GPU's counters, may be.
pub fn cupti() -> impl Iterator<Item = PathBuf> {
    places(&CUPTI)
}

/// Returns the places where a library may be, with the likeliest first: the `.venv` folders in
/// which `cargo x` installs libraries (see [`venvs`]); the folders that the toolkit's variables
/// name; the loader's search path; and the toolkit's usual folder.
fn places(sought: &'static Sought) -> impl Iterator<Item = PathBuf> {
    let working = env::current_dir().unwrap_or_default();
    let in_venvs: Vec<_> = venvs(&working, Path::new(BUILT_IN))
        .iter()
        .flat_map(|venv| in_venv(venv, sought))
        .collect();
    let variables = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"].into_iter().filter_map(env::var_os);
    let toolkits = variables.map(PathBuf::from).flat_map(|root| in_toolkit(&root, sought));
    let by_loader = sought.loader.iter().map(PathBuf::from);
    let usual = in_toolkit(Path::new("/usr/local/cuda"), sought);
    in_venvs.into_iter().chain(toolkits).chain(by_loader).chain(usual)
}

/// Returns the places where `.venv` may be: in a folder or its ancestors, nearest first, and then
/// in the workspace.
fn venvs(working: &Path, workspace: &Path) -> Vec<PathBuf> {
    working.ancestors().chain([workspace]).map(|folder| folder.join(".venv")).collect()
}

/// Returns the places where PyPI's wheel puts NVRTC in an environment that `python -m venv` made.
pub fn nvrtc_in_venv(venv: &Path) -> Vec<PathBuf> {
    in_venv(venv, &NVRTC)
}

/// Returns the places where PyPI's wheel puts CUPTI in an environment that `python -m venv` made.
pub fn cupti_in_venv(venv: &Path) -> Vec<PathBuf> {
    in_venv(venv, &CUPTI)
}

fn in_venv(venv: &Path, sought: &Sought) -> Vec<PathBuf> {
    // Windows has one folder for packages; other systems have one for each version of Python.
    let sites = match cfg!(windows) {
        true => vec![venv.join("Lib/site-packages")],
        false => folder(&venv.join("lib")).map(|python| python.join("site-packages")).collect(),
    };
    let wheels =
        sites.iter().flat_map(|site| sought.wheels.iter().map(|lib| site.join("nvidia").join(lib)));
    wheels.filter_map(|lib| first(&lib, sought.start)).collect()
}

fn in_toolkit(root: &Path, sought: &Sought) -> Vec<PathBuf> {
    sought.toolkits.iter().filter_map(|lib| first(&root.join(lib), sought.start)).collect()
}

/// Returns the library that contains the built-in headers of the NVRTC at this path.
pub(crate) fn builtins(nvrtc: &Path) -> Option<PathBuf> {
    first(nvrtc.parent()?, BUILTINS)
}

/// Returns the folder that contains CUDA's headers, in the same wheel or toolkit as the NVRTC at
/// this path.
pub fn headers(nvrtc: &Path) -> Option<PathBuf> {
    let places = ["include", "cuda_runtime/include"];
    let above = nvrtc.parent()?.ancestors().skip(1).take(3);
    let mut folders = above.flat_map(|folder| places.map(|place| folder.join(place)));
    folders.find(|folder| folder.join("cuda_fp16.h").exists())
}

/// Returns the programs that may be clang, with the likeliest first. They are the programs on
/// `PATH`, and those that Homebrew and LLVM's installer for Windows install. In each folder, the
/// plain name comes first, and then the versions from the newest to the oldest.
pub fn clangs() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    if cfg!(target_os = "macos") {
        folders.extend(
            ["/opt/homebrew", "/usr/local"].map(|brew| format!("{brew}/opt/llvm/bin").into()),
        );
    }
    if cfg!(windows) {
        let installed = env::var_os("ProgramFiles").map(|root| Path::new(&root).join("LLVM/bin"));
        folders.extend(installed);
    }
    folders.into_iter().flat_map(|folder| clangs_in(&folder))
}

fn clangs_in(place: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> =
        folder(place).filter_map(|path| Some((clang_version(&path)?, path))).collect();
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, path)| path).collect()
}

/// Returns the version in a name such as `clang-19`; the plain name counts as the newest.
fn clang_version(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?.strip_suffix(EXE_SUFFIX)?;
    match name.strip_prefix("clang")? {
        "" => Some(u32::MAX),
        version => version.strip_prefix('-')?.parse().ok(),
    }
}

/// Returns the alphabetically first file in a folder whose name has this prefix. Files with `.alt`
/// in their names are ignored, because they are NVIDIA's second build of the same library.
fn first(place: &Path, start: &str) -> Option<PathBuf> {
    let fits = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(start) && !name.contains(".alt.")
    };
    folder(place).filter(fits).min()
}

fn folder(place: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a folder that has these empty files. The name of the folder has a space and an
    /// umlaut.
    fn with_files(name: &str, files: &[&str]) -> PathBuf {
        let root = env::temp_dir().join(format!("Gerät {name} {}", std::process::id()));
        for file in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        root
    }

    #[test]
    fn the_wheel_s_first_build_is_found_in_a_venv() {
        let lib = if cfg!(windows) {
            "Lib/site-packages/nvidia/cuda_nvrtc/bin"
        } else {
            "lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib"
        };
        let names = match cfg!(windows) {
            true => ["nvrtc64_120_0.alt.dll", "nvrtc64_120_0.dll", "nvrtc-builtins64_124.dll"],
            false => ["libnvrtc.alt.so.12", "libnvrtc.so.12", "libnvrtc-builtins.so.12.4"],
        };
        let files = names.map(|name| format!("{lib}/{name}"));
        let venv = with_files("venv", &files.each_ref().map(String::as_str));
        let found = nvrtc_in_venv(&venv);
        assert_eq!(found, [venv.join(&files[1])]);
        assert_eq!(builtins(&found[0]), Some(venv.join(&files[2])));
        std::fs::remove_dir_all(venv).unwrap();
        assert_eq!(nvrtc_in_venv(Path::new("nowhere")), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_venv_is_searched_above_and_where_the_program_was_built() {
        let found = venvs(Path::new("/a/b"), Path::new("/w"));
        assert_eq!(found, ["/a/b/.venv", "/a/.venv", "/.venv", "/w/.venv"].map(PathBuf::from));
        assert!(Path::new(BUILT_IN).join("compiler/Cargo.toml").exists());
    }

    #[test]
    fn headers_are_those_beside_the_library() {
        for (library, header) in [
            ("nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "nvidia/cuda_runtime/include/cuda_fp16.h"),
            ("nvidia/cu13/bin/x86_64/nvrtc64_130_0.dll", "nvidia/cu13/include/cuda_fp16.h"),
            ("cuda/lib64/libnvrtc.so.12", "cuda/include/cuda_fp16.h"),
        ] {
            let root =
                with_files("headers", &[library, header, "nvidia/cuda_nvrtc/include/nvrtc.h"]);
            assert_eq!(headers(&root.join(library)).as_deref(), root.join(header).parent());
            std::fs::remove_file(root.join(header)).unwrap();
            assert_eq!(headers(&root.join(library)), None);
            std::fs::remove_dir_all(root).unwrap();
        }
    }

    #[test]
    fn plain_clang_comes_before_the_newest_version() {
        let names =
            ["clang-9", "clang-19", "clang", "clang-cl", "clang++", "clangd", "clang-tidy-19"];
        let files = names.map(|name| format!("{name}{EXE_SUFFIX}"));
        let root = with_files("clang", &files.each_ref().map(String::as_str));
        let found = clangs_in(&root);
        assert_eq!(found, [2, 1, 0].map(|index: usize| root.join(&files[index])));
        std::fs::remove_dir_all(root).unwrap();
    }
}
