//! Where NCCL may lie, and how its versions are written.

use std::{
    env,
    path::{Path, PathBuf},
};

/// How NCCL's library is called.
const NAME: &str = "libnccl.so.2";

/// A version as people write it.
pub fn version(code: u32) -> String {
    match code {
        0..10_000 => format!("{}.{}.{}", code / 1000, code / 100 % 10, code % 100),
        _ => format!("{}.{}.{}", code / 10_000, code / 100 % 100, code % 100),
    }
}

/// Where NCCL may lie, the likeliest first: in `.venv`, where `cargo x nccl` puts it, above this folder;
/// where the loader looks (`LD_LIBRARY_PATH`); where distributions and toolkits put it.
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
    fn versions_are_as_people_write_them() {
        assert_eq!([2804, 21_800, 22_809].map(version), ["2.8.4", "2.18.0", "2.28.9"]);
    }
}
