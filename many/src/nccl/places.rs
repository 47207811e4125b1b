//! Lists the locations where NCCL may be installed, and formats NCCL's version numbers.

use std::{
    env,
    path::{Path, PathBuf},
};

/// The file name of the NCCL library.
const NAME: &str = "libnccl.so.2";

/// Returns a version number in the usual notation.
pub fn version(code: u32) -> String {
    match code {
        0..10_000 => format!("{}.{}.{}", code / 1000, code / 100 % 10, code % 100),
        _ => format!("{}.{}.{}", code / 10_000, code / 100 % 100, code % 100),
    }
}

/// Returns the locations to search, beginning with the most likely one: `.venv` in this folder or
/// in one of its parents, where `cargo x nccl` installs NCCL; the folder in `VIRTUAL_ENV`; the
/// loader's path (`LD_LIBRARY_PATH`); and the folders of distributions and toolkits.
pub fn places() -> Vec<PathBuf> {
    let here = env::current_dir().unwrap_or_default();
    let venvs = here.ancestors().map(|folder| folder.join(".venv"));
    let venvs = venvs.chain(env::var_os("VIRTUAL_ENV").map(PathBuf::from));
    let sites = venvs.flat_map(|venv| {
        let pythons = std::fs::read_dir(venv.join("lib")).into_iter().flatten().flatten();
        pythons.map(|python| python.path().join("site-packages")).collect::<Vec<_>>()
    });
    let wheels = sites.map(|site| site.join("nvidia/nccl/lib").join(NAME));
    let usual =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/local/cuda/lib64"];
    wheels
        .filter(|path| path.exists())
        .chain([PathBuf::from(NAME)])
        .chain(usual.map(|folder| Path::new(folder).join(NAME)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_the_usual_notation() {
        assert_eq!([2804, 21_800, 22_809].map(version), ["2.8.4", "2.18.0", "2.28.9"]);
    }
}
