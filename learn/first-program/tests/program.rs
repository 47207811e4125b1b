//! Tests the program on the page: its kernel is v0's and compiles without a GPU, it prints a sum or
//! an error message, and the C++ version compiles.

use std::{fs, path::Path, process::Command};

use assert_cmd::cargo::cargo_bin_cmd;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the code without comments and empty lines.
fn code(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with("//")).collect()
}

/// The tests of the steps run v0's kernel in the interpreter with every check, so this kernel needs
/// no further test.
#[test]
fn its_kernel_is_v0s() {
    let v0 = read("../../steps/v0-naive/src/kernel.cu").replace("Element", "float");
    assert_eq!(code(&read("src/sum.cu")), code(&v0));
}

#[test]
fn without_a_gpu_it_ends_with_a_sentence() {
    let output = cargo_bin_cmd!("first-program").output().expect("the program starts");
    let (said, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!error.contains("panicked"), "{error}");
    match output.status.code() {
        Some(0) => assert!(said.contains("sum 4718580, expected 4718580"), "{said}"),
        code => {
            assert_eq!(code, Some(1), "{error}");
            assert!(error.starts_with("Error: "), "{error}");
        }
    }
}

/// Needs the NVRTC that `cargo x nvrtc` installs.
#[test]
fn without_a_gpu_it_compiles_the_kernel() {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/lib");
    let library = fs::read_dir(venv)
        .into_iter()
        .flatten()
        .flatten()
        .map(|python| python.path().join("site-packages/nvidia/cuda_nvrtc/lib"))
        .find(|folder| folder.join("libnvrtc.so.12").exists());
    let Some(library) = library else {
        eprintln!("SKIPPED: compiling sum.cu takes NVRTC: run `cargo x nvrtc`");
        return;
    };
    let output = cargo_bin_cmd!("first-program")
        .env("LD_LIBRARY_PATH", library)
        .output()
        .expect("the program starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || error.contains("the kernel compiles, but"), "{error}");
}

/// Checks only the syntax and types; `runtime.h` declares the parts of the CUDA runtime that the
/// program uses.
#[test]
fn the_program_in_cuda_cpp_compiles() {
    let names = ["clang++", "clang++-19", "clang++-18", "clang++-16", "clang-19", "clang-16"];
    let there = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success())
    };
    let Some(clang) = names.into_iter().find(there) else {
        eprintln!("SKIPPED: compiling first.cu takes clang");
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for side in ["--cuda-host-only", "--cuda-device-only"] {
        let output = Command::new(clang)
            .args(["-x", "cuda", side, "-std=c++17", "-fsyntax-only", "-Wall", "-Werror"])
            .args([
                "-nocudainc",
                "-nocudalib",
                "--cuda-gpu-arch=sm_70",
                "-Wno-unknown-cuda-version",
            ])
            .arg("-include")
            .arg(folder.join("tests/runtime.h"))
            .arg(folder.join("src/first.cu"))
            .output()
            .expect("clang runs");
        assert!(output.status.success(), "{side}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
