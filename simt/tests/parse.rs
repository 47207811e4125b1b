//! Tests that all PTX that NVRTC emits for the steps, the corpus and the fixtures can be loaded.

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

/// Lists the files that cannot be loaded, one per line.
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
    // This file must be refused. `messages.rs` and `refused.rs` test the message.
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
    let steps = steps.filter(|step| step.join("kernel.cu").exists());
    let files: Vec<Vec<PathBuf>> = steps.map(|step| ptx(&step)).collect();
    assert!(files.len() >= 10 && files.iter().all(|step| step.len() == 3));
    let files = files.concat();
    assert_eq!(missing(&files), "");
}

/// PTX from every combination of compiler and architecture can be loaded. To test all combinations,
/// run `tests/corpus/make.py DIR --all ...`, then `SIMT_CORPUS=DIR cargo test -p simt`.
#[test]
fn the_whole_matrix_loads() {
    let Some(dir) = std::env::var_os("SIMT_CORPUS") else { return };
    assert_eq!(missing(&ptx(Path::new(&dir))), "");
}

/// For code from another file, the reported line is that of its caller in the first file, at any
/// depth.
#[test]
fn inlined_code_is_reported_at_its_caller() {
    let line = |loc: &str| {
        let text = format!(
            ".version 8.3\n.target sm_70\n.address_size 64\n.file 1 \"kernel.cu\"\n.file 2 \"sum.cuh\"\n\
             .visible .entry test()\n{{\n.reg .b32 %r<2>;\n{loc}\nmov.u32 %r1, 0;\nret;\n}}\n"
        );
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{loc}: {error}"));
        module.kernel("test").unwrap().line(0)
    };
    assert_eq!(line(".loc 1 7 3"), 7);
    assert_eq!(line(".loc 2 7 3"), 0);
    assert_eq!(line(".loc 2 7 3, function_name $L__info_string0, inlined_at 1 12 5"), 12);
    assert_eq!(line(".loc 2 7 3, function_name $L__info_string0+40, inlined_at 1 12 5"), 12);
    // For code in the first file, the reported line is that of the code itself.
    assert_eq!(line(".loc 1 7 3, function_name $L__info_string0, inlined_at 1 12 5"), 7);
    // For code that is inlined twice, the line is that of the nearest caller in the first file.
    let deep = ".loc 2 7 3, function_name $L__info_string0, inlined_at 2 20 1, \
                function_name $L__info_string1, inlined_at 1 30 9";
    assert_eq!(line(deep), 30);
    assert_eq!(line(".loc 2 7 3, function_name $L__info_string0, inlined_at 2 20 1"), 0);
}
