//! `cargo x capi`: builds `samebits` as a C library, with its header and a pkg-config file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::venv;

const FOLDER: &str = "reduce/c";

/// The version of the interface. Programs that were linked with a different version do not load
/// this library.
const SONAME: &str = "libsamebits.so.0";

/// The wheel on PyPI with the headers `crt/…`, which the headers of CUDA's runtime 12.4 include.
const CRT: &str = "nvidia-cuda-nvcc-cu12==12.4.131";

/// Builds the libraries, and copies them to their places below a folder.
pub(crate) fn run(sh: &Shell, prefix: &Path) -> Result<()> {
    ensure!(cfg!(target_os = "linux"), "the C library can be installed only on Linux");
    let soname = format!("-Clink-arg=-Wl,-soname,{SONAME}");
    cmd!(sh, "cargo rustc -p samebits-c --release --crate-type cdylib -- {soname}").run()?;
    cmd!(sh, "cargo rustc -p samebits-c --release --crate-type staticlib").run()?;
    let built = target()?.join("release");
    let prefix = std::path::absolute(prefix)?;
    let lib = prefix.join("lib");
    for folder in [&prefix.join("include"), &lib.join("pkgconfig")] {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    copy(
        &crate::root().join(FOLDER).join("include/samebits.h"),
        &prefix.join("include/samebits.h"),
    )?;
    copy(&built.join("libsamebits_c.so"), &lib.join(SONAME))?;
    copy(&built.join("libsamebits_c.a"), &lib.join("libsamebits.a"))?;
    let link = lib.join("libsamebits.so");
    let _ = fs::remove_file(&link);
    #[cfg(unix)]
    std::os::unix::fs::symlink(SONAME, &link)?;
    fs::write(lib.join("pkgconfig/samebits.pc"), pkg_config())?;
    say!("{} has samebits.h, libsamebits.so, libsamebits.a and samebits.pc", prefix.display());
    Ok(())
}

/// Compiles the examples with the header and a debug build of both libraries, and runs them;
/// without a GPU, they reduce on the host. `cargo x nvrtc` installs the CUDA runtime that they use.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    cmd!(sh, "cargo build -p samebits-c").run()?;
    let (built, to) = (target()?.join("debug"), target()?.join("capi"));
    sh.create_dir(&to)?;
    copy(&built.join("libsamebits_c.so"), &to.join("libsamebits.so"))?;
    let (so, a) = (to.join("libsamebits.so"), built.join("libsamebits_c.a"));
    venv::install(sh, &["--no-deps", CRT])?;
    let cuda = wheel(sh, "cuda_runtime", "lib/libcudart.so.12")?;
    let crt = wheel(sh, "cuda_nvcc", "include/crt/host_defines.h")?.join("include");
    let (header, examples) = (format!("-I{FOLDER}/include"), format!("{FOLDER}/examples"));
    let (cuda_headers, cuda_lib) = (cuda.join("include"), cuda.join("lib"));
    let strict = ["-Wall", "-Wextra", "-Werror", "-O1"];
    for (compiler, standard, source) in [
        ("cc", "-std=c11", "sum.c"),
        ("c++", "-std=c++17", "rows.cpp"),
        ("cc", "-std=c11", "bad.c"),
    ] {
        let source = format!("{examples}/{source}");
        for library in [&so, &a] {
            let program = to.join(Path::new(&source).file_stem().unwrap_or_default());
            cmd!(
                sh,
                "{compiler} {standard} {strict...} {header} -isystem {cuda_headers} -isystem {crt} -o {program} {source} {library} -L{cuda_lib} -l:libcudart.so.12 -lpthread -ldl -lm"
            )
            .run()
            .context("the examples need a C and a C++ compiler, such as Debian's gcc and g++")?;
            let _paths = sh.push_env("LD_LIBRARY_PATH", std::env::join_paths([&to, &cuda_lib])?);
            cmd!(sh, "{program}").run()?;
        }
    }
    Ok(())
}

/// Returns the folder of one of NVIDIA's wheels in `.venv`, if it contains a file.
fn wheel(sh: &Shell, name: &str, file: &str) -> Result<PathBuf> {
    let pythons = sh.read_dir(venv::folder(sh).join("lib")).unwrap_or_default();
    let mut places =
        pythons.into_iter().map(|python| python.join("site-packages/nvidia").join(name));
    let found = places.find(|place| place.join(file).exists());
    found.with_context(|| format!("{name}/{file} is not in .venv: run `cargo x nvrtc`"))
}

/// Returns the folder in which cargo builds, which contains this program.
pub(super) fn target() -> Result<PathBuf> {
    let this = std::env::current_exe()?;
    this.ancestors().nth(2).map(Path::to_owned).context("this program has no target folder")
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)
        .with_context(|| format!("copying {} to {}", from.display(), to.display()))
        .map(drop)
}

/// Returns the pkg-config file. Its paths are relative to itself, so that the folder can be moved.
fn pkg_config() -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\n\
         Name: samebits\nDescription: Sums on NVIDIA GPUs with the same bits on every device and on the host\n\
         Version: {}\nCflags: -I${{includedir}}\nLibs: -L${{libdir}} -lsamebits\n\
         Libs.private: -lpthread -ldl -lm\n",
        env!("CARGO_PKG_VERSION")
    )
}
