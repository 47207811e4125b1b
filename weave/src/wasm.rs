//! Implements `cargo x wasm`, which compiles the interpreter to WebAssembly, in a script that a
//! page can load from any location, even from a local file.
//!
//! Like PTX, the modules are committed with a stamp of their sources, so that building the book
//! needs no second target. The modules are compressed here, because a page in a local file has no
//! server to compress them.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use hmac_sha256::Hash;
use xshell::{Shell, cmd};

const TARGET: &str = "wasm32-unknown-unknown";

/// A crate that is compiled to a script.
pub(crate) struct Module {
    /// The name of the crate.
    package: &'static str,
    /// The path of the script, relative to the workspace.
    pub(crate) file: &'static str,
    /// The function that the script calls.
    handed: &'static str,
    /// The folders that have the module's sources.
    sources: &'static [&'static str],
}

/// The modules for the figures, for the exercises and for timelines. Pages load the modules at the
/// first click.
pub(crate) const MODULES: [Module; 3] = [
    Module {
        package: "page",
        file: "book/live/interpreter.js",
        handed: "live.interpreter",
        sources: &[
            "learn/page/src",
            "simt/src",
            "numbers/src",
            "common/src/plan",
            "common/src/run",
            "common/src/sum",
            "common/src/device",
            "common/src/error.rs",
            "steps",
            "rust-toolchain.toml",
        ],
    },
    Module {
        package: "page-judge",
        file: "book/live/judge.wasm.js",
        handed: "live.judges",
        sources: &[
            "learn/page-judge/src",
            "learn/page/src/export.rs",
            "learn/judge/src",
            "simt/src",
            "numbers/src",
            "rust-toolchain.toml",
        ],
    },
    Module {
        package: "page-time",
        file: "book/live/time.wasm.js",
        handed: "live.times",
        sources: &[
            "learn/page-time/src",
            "learn/page/src/export.rs",
            "predict/src",
            "results/probes",
            "results/predictions",
            "simt/src",
            "numbers/src",
            "common/src/plan",
            "common/src/run",
            "common/src/device",
            "common/src/error.rs",
            "steps",
            "rust-toolchain.toml",
        ],
    },
];

/// The sources in `common` and `simt` that pages do not use.
const ASIDE: [&str; 12] = [
    "simt/src/cli",
    "common/src/device/chosen.rs",
    "common/src/device/cuda.rs",
    "common/src/device/cupti/",
    "common/src/device/driver.rs",
    "common/src/device/gate.rs",
    "common/src/device/program.rs",
    "common/src/device/stopwatch.rs",
    "common/src/run/counted.rs",
    "/src/main.rs",
    "/tests/",
    "/benches/",
];

/// Compiler flags that make the code small: a function is inlined only where this makes the code
/// smaller, padded numbers are shrunk, and memory is limited to a gigabyte.
const FLAGS: [&str; 3] = [
    "-Cllvm-args=--inline-threshold=0",
    "-Clink-arg=--compress-relocations",
    "-Clink-arg=--max-memory=1073741824",
];

pub(crate) fn run(sh: &Shell, check: bool) -> Result<()> {
    let root = xtask::root();
    if check {
        for Module { file, sources, .. } in &MODULES {
            let kept = fs::read_to_string(root.join(file)).unwrap_or_default();
            let stamp = format!("// sources sha256 {}", stamp(&root, sources)?);
            ensure!(
                kept.lines().any(|line| line == stamp),
                "{file} is older than its sources; run `cargo x wasm`"
            );
        }
    }
    let installed = cmd!(sh, "rustup target list --installed").quiet().ignore_stderr().read();
    let has_target = installed.is_ok_and(|targets| targets.lines().any(|line| line == TARGET));
    if !has_target && cmd!(sh, "rustup target add {TARGET}").quiet().ignore_stderr().run().is_err()
    {
        match check {
            true => println!(
                "SKIPPED: the page's modules are not checked: the target {TARGET} is not installed"
            ),
            false => bail!("the target {TARGET} is not installed, and rustup cannot install it"),
        }
        return Ok(());
    }
    MODULES.iter().try_for_each(|module| make(sh, &root, module, check))
}

/// Makes a module, or compares the committed module with its sources.
fn make(sh: &Shell, root: &Path, module: &Module, check: bool) -> Result<()> {
    let Module { package, file, sources, .. } = module;
    let kept = fs::read_to_string(root.join(file)).unwrap_or_default();
    let wasm = compile(sh, root, package)?;
    let text = script(module, &wasm, &stamp(root, sources)?)?;
    let bytes = format!("{} bytes, {} compressed", wasm.len(), compressed(&wasm)?.len());
    match (text == kept, check) {
        (true, _) => println!("{file} matches its sources: {bytes}"),
        (false, false) => {
            fs::write(root.join(file), text)?;
            println!("wrote {file}: {bytes}");
        }
        (false, true) => {
            bail!("{file} does not match its sources ({bytes}); run `cargo x wasm`")
        }
    }
    Ok(())
}

/// Compiles a module. The flags make the module's bytes the same on every machine, and remove this
/// machine's paths from them.
fn compile(sh: &Shell, root: &Path, package: &str) -> Result<Vec<u8>> {
    let home = |name: &str, folder: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .or_else(|| Some(std::env::home_dir()?.join(folder)))
    };
    let cargo = home("CARGO_HOME", ".cargo").context("finding cargo's folder")?;
    let sysroot = cmd!(sh, "rustc --print sysroot").quiet().read()?;
    let paths = [
        (root.to_owned(), "."),
        (cargo.join("registry/src"), "registry"),
        (PathBuf::from(sysroot), "rust"),
    ];
    let paths = paths.map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    let flags = [&paths[..], &FLAGS.map(str::to_owned)[..]].concat();
    let _flags = sh.push_env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    cmd!(sh, "cargo build --quiet --package {package} --lib --profile page --target {TARGET}")
        .run()?;
    let file = format!("page/{}.wasm", package.replace('-', "_"));
    let path = root.join("target").join(TARGET).join(file);
    fs::read(&path).with_context(|| format!("reading {}", path.display()))
}

/// Returns a script that contains the module, compressed with gzip and encoded as base64. The
/// script passes the module to the page that loads it.
fn script(module: &Module, wasm: &[u8], sources: &str) -> Result<String> {
    let wasm_hash = hex(&Hash::hash(wasm));
    Ok(format!(
        "// The crate `{}`, generated by `cargo x wasm`; do not edit.\n\
         // sources sha256 {sources}\n// wasm sha256 {wasm_hash}\n{}(\"{}\");\n",
        module.package,
        module.handed,
        base64(&compressed(wasm)?)
    ))
}

fn compressed(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    zopfli::compress(zopfli::Options::default(), zopfli::Format::Gzip, bytes, &mut out)?;
    out.flush()?;
    Ok(out)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let part = |at: usize| u32::from(three.get(at).copied().unwrap_or(0)) << (16 - 8 * at);
        let bits = part(0) | part(1) | part(2);
        for digit in 0..4 {
            match digit <= three.len() {
                true => text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize])),
                false => text.push('='),
            }
        }
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the stamp of the sources, which is a hash of their names and contents. The stamp is the
/// same for both kinds of line endings.
fn stamp(root: &Path, sources: &[&str]) -> Result<String> {
    let mut files = Vec::new();
    for source in sources {
        find(&root.join(source), &mut files);
    }
    let mut hash = Hash::new();
    let name = |path: &PathBuf| {
        path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
    };
    let mut names: Vec<String> = files.iter().map(name).collect();
    names.retain(|name| !ASIDE.iter().any(|aside| name.contains(aside)));
    names.sort();
    for name in names {
        let text =
            fs::read_to_string(root.join(&name)).with_context(|| format!("reading {name}"))?;
        hash.update(format!("{name}\n{}\n", text.replace("\r\n", "\n")));
    }
    Ok(hex(&hash.finalize()))
}

fn find(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            find(&entry.path(), files);
        }
    } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "toml")
        && !path.ends_with("Cargo.toml")
    {
        files.push(path.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_follows_rfc_4648() {
        for (text, code) in [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abcdef", "YWJjZGVm")] {
            assert_eq!(base64(text.as_bytes()), code);
        }
    }

    #[test]
    fn each_module_stamps_its_own_sources() {
        let root = xtask::root();
        let stamps: Vec<String> =
            MODULES.iter().map(|module| stamp(&root, module.sources).unwrap()).collect();
        assert!(
            stamps.iter().all(|stamp| stamp.len() == 64) && stamps[0] != stamps[1],
            "{stamps:?}"
        );
        assert_eq!(stamps[0], stamp(&root, MODULES[0].sources).unwrap());
        for source in MODULES.iter().flat_map(|module| module.sources) {
            assert!(root.join(source).exists(), "there is no {source}");
        }
    }

    #[test]
    fn a_script_has_its_stamp_and_no_path() {
        let text = script(&MODULES[0], b"\0asm", "abc").unwrap();
        assert!(text.contains("\n// sources sha256 abc\n") && text.ends_with("\");\n"), "{text}");
    }
}
