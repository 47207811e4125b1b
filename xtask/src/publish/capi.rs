//! `cargo x capi`: builds `samebits` as a C library, with its header and a pkg-config file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use super::package::LICENCES;
use crate::venv;

const FOLDER: &str = "reduce/c";

/// The name that `build.rs` gives the shared library.
const SONAME: &str = "libsamebits.so.0";

/// The wheel on PyPI with the headers `crt/…`, which the headers of CUDA's runtime 12.4 include.
const CRT: &str = "nvidia-cuda-nvcc-cu12==12.4.131";

/// Builds the libraries, and copies them to their places below a folder.
pub(crate) fn run(sh: &Shell, prefix: &Path) -> Result<()> {
    ensure!(cfg!(target_os = "linux"), "the C library can be installed only on Linux");
    cmd!(sh, "cargo build -p samebits-c --release").run()?;
    let prefix = std::path::absolute(prefix)?;
    install(&target()?.join("release"), &prefix)?;
    say!("{} has samebits.h, libsamebits.so, libsamebits.a and samebits.pc", prefix.display());
    Ok(())
}

/// Copies the header and the libraries that were built, and writes the pkg-config file.
fn install(built: &Path, prefix: &Path) -> Result<()> {
    let (lib, licences) = (prefix.join("lib"), prefix.join("share/licenses/samebits"));
    for folder in [&prefix.join("include"), &lib.join("pkgconfig"), &licences] {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    for licence in LICENCES {
        copy(&crate::root().join(licence), &licences.join(licence))?;
    }
    copy(
        &crate::root().join(FOLDER).join("include/samebits.h"),
        &prefix.join("include/samebits.h"),
    )?;
    copy(&built.join("libsamebits_c.so"), &lib.join(SONAME))?;
    copy(&built.join("libsamebits_c.a"), &lib.join("libsamebits.a"))?;
    link(Path::new(SONAME), &lib.join("libsamebits.so"))?;
    Ok(fs::write(lib.join("pkgconfig/samebits.pc"), pkg_config())?)
}

/// Compiles the README's program and the examples against a debug build, and runs them; without a
/// GPU, the examples reduce on the host. The README's program is compiled with pkg-config, and the
/// examples with CMake and with the static library.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    cmd!(sh, "cargo build -p samebits-c").run()?;
    let (built, prefix) = (target()?.join("debug"), target()?.join("capi"));
    sh.remove_path(&prefix)?;
    install(&built, &prefix)?;
    venv::install(sh, &["--no-deps", CRT, "cmake"])?;
    let (cuda, lib) = (toolkit(sh, &prefix.join("cuda"))?, prefix.join("lib"));
    let (headers, cuda_lib) = (cuda.join("include"), cuda.join("lib64"));
    let _loaded = sh.push_env("LD_LIBRARY_PATH", std::env::join_paths([&lib, &cuda_lib])?);
    let strict = ["-Wall", "-Wextra", "-Werror", "-O1"];

    let source = prefix.join("program.c");
    sh.write_file(&source, program(&sh.read_file(format!("{FOLDER}/README.md"))?)?)?;
    let flags = cmd!(sh, "pkg-config --cflags --libs samebits")
        .env("PKG_CONFIG_PATH", lib.join("pkgconfig"))
        .read()
        .context("the README's program needs pkg-config, such as Debian's pkg-config")?;
    let (flags, program) = (flags.split_whitespace(), prefix.join("program"));
    cmd!(
        sh,
        "cc {strict...} -o {program} {source} {flags...} -isystem {headers} -L{cuda_lib} -lcudart"
    )
    .run()
    .context(COMPILERS)?;
    // Without a GPU, the program prints the library's message and fails.
    let run = cmd!(sh, "{program}").ignore_status().output()?;
    let (sum, message) =
        (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    ensure!(
        sum == "10\n" || message.contains("there is no CUDA driver"),
        "the README's program printed {sum:?} and {message:?}, but the sum is 10"
    );

    let (examples, header) = (format!("{FOLDER}/examples"), prefix.join("include"));
    for (compiler, standard, name) in [
        ("cc", "-std=c11", "sum.c"),
        ("c++", "-std=c++17", "rows.cpp"),
        ("cc", "-std=c11", "bad.c"),
    ] {
        let (source, library) = (format!("{examples}/{name}"), lib.join("libsamebits.a"));
        cmd!(
            sh,
            "{compiler} {standard} {strict...} -I{header} -isystem {headers} -o {program} {source} {library} -L{cuda_lib} -lcudart -lpthread -ldl -lm"
        )
        .run()
        .context(COMPILERS)?;
        cmd!(sh, "{program}").run()?;
    }

    let (cmake, build) = (venv::program(sh, "cmake"), prefix.join("build"));
    let places = [
        format!("-DCMAKE_PREFIX_PATH={}", prefix.display()),
        format!("-DCUDAToolkit_ROOT={}", cuda.display()),
    ];
    cmd!(sh, "{cmake} -S {examples} -B {build} {places...}").ignore_stdout().run()?;
    cmd!(sh, "{cmake} --build {build}").ignore_stdout().run()?;
    for name in ["sum", "rows", "bad"] {
        let program = build.join(name);
        cmd!(sh, "{program}").run()?;
    }
    Ok(())
}

const COMPILERS: &str = "the examples need a C and a C++ compiler, such as Debian's gcc and g++";

/// Returns the program in the README.
fn program(page: &str) -> Result<&str> {
    let block = page.split_once("```c\n").and_then(|(_, rest)| rest.split_once("```"));
    block.map(|(program, _)| program).context("reduce/c/README.md has no program in C")
}

/// Links the headers and the runtime of the wheels in `.venv` into one folder, in the layout of a
/// CUDA toolkit. `cargo x nvrtc` installs the wheel with the runtime.
fn toolkit(sh: &Shell, folder: &Path) -> Result<PathBuf> {
    let runtime = wheel(sh, "cuda_runtime", "lib/libcudart.so.12")?;
    let compiler = wheel(sh, "cuda_nvcc", "include/crt/host_defines.h")?;
    let (include, lib) = (folder.join("include"), folder.join("lib64"));
    for folder in [&include, &lib] {
        sh.create_dir(folder)?;
    }
    for header in sh.read_dir(runtime.join("include"))? {
        link(&header, &include.join(header.file_name().unwrap_or_default()))?;
    }
    link(&compiler.join("include/crt"), &include.join("crt"))?;
    for name in ["libcudart.so", "libcudart.so.12"] {
        link(&runtime.join("lib/libcudart.so.12"), &lib.join(name))?;
    }
    // CMake uses this file to recognize a toolkit without nvcc.
    sh.write_file(folder.join("version.json"), r#"{"cuda": {"version": "12.4.1"}}"#)?;
    Ok(folder.to_owned())
}

/// Returns the folder of one of NVIDIA's wheels in `.venv`. Fails if this folder does not contain
/// the file.
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

/// Creates a symbolic link, and replaces an existing one.
fn link(from: &Path, to: &Path) -> Result<()> {
    let _ = fs::remove_file(to);
    #[cfg(unix)]
    std::os::unix::fs::symlink(from, to)
        .with_context(|| format!("linking {} to {}", to.display(), from.display()))?;
    #[cfg(not(unix))]
    let _ = from;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)
        .with_context(|| format!("copying {} to {}", from.display(), to.display()))
        .map(drop)
}

/// Returns the pkg-config file. The paths in this file are relative to the file itself, so that the
/// folder can be moved.
fn pkg_config() -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\n\
         Name: samebits\nDescription: Sums on NVIDIA GPUs with the same bits on every device and on the host\n\
         Version: {}\nCflags: -I${{includedir}}\nLibs: -L${{libdir}} -lsamebits\n\
         Libs.private: -lpthread -ldl -lm\n",
        env!("CARGO_PKG_VERSION")
    )
}
