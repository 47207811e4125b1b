//! Every text that NVRTC makes of the steps, the corpus and the fixtures can be loaded.

use std::fs;
use std::path::{Path, PathBuf};

use simt::Module;

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn ptx(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .collect();
    files.sort();
    files
}

/// What cannot be loaded, a line a file.
fn missing(files: &[PathBuf]) -> String {
    let faults = files.iter().filter_map(|file| {
        let text = fs::read_to_string(file).unwrap();
        let faults: Vec<String> = Module::missing(&text).iter().map(ToString::to_string).collect();
        (!faults.is_empty())
            .then(|| format!("{}: {}\n", file.file_name().unwrap().display(), faults.join("; ")))
    });
    faults.collect()
}

#[test]
fn the_corpus_loads() {
    let files = ptx(&folder("tests/corpus/ptx"));
    assert!(files.len() > 70, "the corpus has {} files", files.len());
    assert_eq!(missing(&files), "");
}

#[test]
fn the_fixtures_load() {
    let mut files = ptx(&folder("tests/faults"));
    // What that one asks for is refused, and told so in `messages.rs`.
    files.retain(|file| !file.ends_with("heap.ptx"));
    assert_eq!(missing(&files), "");
}

#[test]
fn the_instructions_load() {
    assert_eq!(missing(&ptx(&folder("tests/ptx"))), "");
}

#[test]
fn the_steps_load() {
    let steps = fs::read_dir(folder("../steps")).unwrap().map(|e| e.unwrap().path().join("src"));
    let files: Vec<Vec<PathBuf>> = steps.map(|step| ptx(&step)).collect();
    assert!(files.len() >= 10 && files.iter().all(|step| step.len() == 3));
    let files = files.concat();
    assert_eq!(missing(&files), "");
}

/// The whole matrix of compilers and architectures, where it has been made:
/// `tests/corpus/make.py DIR --all ...`, then `SIMT_CORPUS=DIR cargo test -p simt`.
#[test]
fn the_whole_matrix_loads() {
    let Some(dir) = std::env::var_os("SIMT_CORPUS") else { return };
    assert_eq!(missing(&ptx(Path::new(&dir))), "");
}
