//! A program that answers bad input with a sentence and a non-zero exit code, never with a panic, a
//! hang or a wrong number.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::{Element, Step, plan::Block};

/// Blocks that a grid can have.
const GRID: u64 = (1 << 31) - 1;

/// Holds a step's program against bad input, changed kernels, and nobody who reads its output.
pub fn program(step: &Step, program: &str) {
    let folder = Folder::new(step.name);
    let empty = folder.write("empty.ptx", "");
    let text = folder.write("text.ptx", "this is no PTX");
    let whole = step.kernel.ptx(Element::F32);
    // In the last of its entry points, so that all of them have a name.
    let entry = whole.rfind(".visible .entry").expect("an entry point");
    let cut = folder.write("cut.ptx", &whole[..entry + 500]);
    for (args, sentences) in [
        ("--threads 0", &["64, 128, 256, 512 or 1024"][..]),
        ("--threads 48", &["a block of 48 threads"]),
        ("--threads 96", &["a block of 96 threads"]),
        ("--threads 2048", &["a block of 2048 threads"]),
        ("--threads -64", &["-64 is no number of threads"]),
        ("--type u8", &["`u8` is no element type"]),
        ("--n 2^99", &["does not fit 64 bits"]),
        ("--n -1", &["it is negative"]),
        ("--n abc", &["it is not a number"]),
        ("--input one-hot:5 --n 5", &["beyond the last of 5"]),
        ("--input zeros", &["`zeros` is no input"]),
        ("--device gpu", &["`gpu` is no device"]),
        ("--device cuda:7", &["device simt", "`cuda:7` does not exist"]),
        ("--n 2^45", &["bytes of host memory,", "bytes of device memory,"]),
        ("--kernel nowhere.cu", &["reading nowhere.cu"]),
        (&format!("--kernel {empty}"), &["it is empty"]),
        (&format!("--kernel {text}"), &["it has no .version line"]),
        (&format!("--kernel {cut}"), &["is no PTX that can be loaded"]),
    ] {
        refuses(program, args, 2, sentences);
    }
    if let Some(other) = Block::ALL.into_iter().find(|&block| step.takes(block).is_err()) {
        let args = format!("--threads {}", other.threads());
        refuses(program, &args, 2, &["does not run in blocks of"]);
    }
    if step.aligned > 1 {
        refuses(program, "--n 100 --offset 1", 2, &["reads words of 16 bytes"]);
    }
    asks_a_gpu(program);
    grids(step, program);
    edited(step, program, &folder);
    closed(program);
}

/// What only a GPU can say is refused on the interpreter, once the sum is verified.
fn asks_a_gpu(program: &str) {
    let file = std::env::temp_dir().join(format!("trace-{}.json", std::process::id()));
    let traced = format!("--profile={}", file.display());
    for (flag, name) in
        [("--counters", "--counters"), ("--profile", "--profile"), (&traced, "--profile")]
    {
        let args = format!("--device simt --n 33 {flag}");
        let output = run(program, &args);
        let said = ends(&output, &args, 2);
        assert!(said.starts_with(&format!("error: `{name}` asks a GPU")), "{args}: {said}");
        assert_eq!(said.lines().count(), 1, "{args}: {said}");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(printed.contains("verified"), "{args}: {printed}");
        assert!(!file.exists(), "{args} writes a trace of nothing");
    }
    refuses(program, "--counters --format csv", 2, &["take `--format json`"]);
    refuses(program, "--counters --profile", 2, &["cannot be used with"]);
}

/// More blocks than a grid has are refused, and only they. How many a size takes is told by the
/// sizes below it: a grid that has not grown from one to the next never does.
fn grids(step: &Step, program: &str) {
    let smallest = step.blocks.iter().min().expect("a block size");
    let args = |n: &str| format!("--threads {smallest} --explain --n {n}");
    let blocks = |n: &str| first_grid(&succeeds(program, &args(n)));
    let (few, more) = (blocks("2^32"), blocks("2^33"));
    match more == few {
        true => assert_eq!(blocks("2^48"), few, "{program}"),
        false => {
            assert!(few << 16 > GRID, "{program}: {few} blocks for 2^32 elements");
            refuses(program, &args("2^48"), 2, &["2147483647 blocks that a grid can have"]);
        }
    }
}

/// The blocks of the first launch, in the table that `--explain` prints.
fn first_grid(text: &str) -> u64 {
    let mut rows = text.lines().filter(|line| line.starts_with("| reduce"));
    let blocks =
        rows.next().and_then(|row| row.split('|').nth(2)).map(|cell| cell.replace(',', ""));
    let blocks = blocks.and_then(|cell| cell.trim().parse().ok());
    blocks.unwrap_or_else(|| panic!("no blocks of a launch in:\n{text}"))
}

/// A changed kernel is compiled on the fly and gets a verdict of its own.
fn edited(step: &Step, program: &str, folder: &Folder) {
    // A step that adds word by word is made to add one more.
    let wrong = step.kernel.source.replace(".at[e] += ", ".at[e] += 1 + ");
    let wrong = match wrong == step.kernel.source {
        true => wrong.replacen("in[i]", "in[i] + in[i]", 1),
        false => wrong,
    };
    assert_ne!(wrong, step.kernel.source, "{} adds in[i], or words", step.name);
    let with = |name: &str, text: &str| format!("--n 1000 --kernel {}", folder.write(name, text));
    let wrong = with("wrong.cu", &wrong);
    let right = with("right.cu", &format!("{}\n// A line more.\n", step.kernel.source));
    let broken = with("broken.cu", &format!("{}\nthis does not compile\n", step.kernel.source));
    if let Err(missing) = compiler::Compiler::find(None) {
        refuses(program, &wrong, 2, &["clang 16 or later compiles it too"]);
        eprintln!("skipped: {missing}");
        return;
    }
    refuses(program, &wrong, 1, &["block 0 of launch 1, which adds the elements 0 to"]);
    let said = succeeds(program, &right);
    assert!(said.contains("verified") && said.contains("right.cu was changed"), "{said}");
    let line = step.kernel.source.lines().count() + 2;
    let lines = [format!("broken.cu({line})"), format!("broken.cu:{line}:")]; // NVRTC's, clang's.
    refuses(program, &broken, 2, &lines.each_ref().map(String::as_str));
    // A name that has to be quoted, in a checkout with the other line ends.
    let text = format!("{}\n// A line more.\n", step.kernel.source).replace('\n', "\r\n");
    let named = folder.write("Größe und Maß.cu", &text);
    let output = command(program).args(["--n", "1000", "--kernel", &named]).output();
    ends(&output.expect("the program starts"), &named, 0);
}

/// Standard output that nobody reads is no reason to fail.
fn closed(program: &str) {
    let mut child = command(program)
        .args(["--n", "1,2,3,1000", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    ends(&output, "with standard output closed", 0);
}

/// A program of another architecture is started by the emulator that this names, as cargo starts
/// the test itself: `qemu-aarch64 -L /usr/aarch64-linux-gnu`.
fn command(program: &str) -> Command {
    let runner = std::env::var("REDUCE_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace().chain([program]);
    let mut command = Command::new(words.next().expect("at least the program"));
    command.args(words);
    command
}

/// The program ends with this exit code, and one of these sentences is on standard error.
fn refuses(program: &str, args: &str, code: i32, sentences: &[&str]) {
    let said = ends(&run(program, args), args, code);
    let found = sentences.iter().any(|sentence| !sentence.is_empty() && said.contains(sentence));
    assert!(found, "{args}: {said} says none of {sentences:?}");
}

/// The program ends well. What it printed.
fn succeeds(program: &str, args: &str) -> String {
    let output = run(program, args);
    ends(&output, args, 0);
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Without a panic, and with this exit code. What is on standard error.
fn ends(output: &Output, args: &str, code: i32) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("panicked"), "{args}: {said}");
    assert_eq!(output.status.code(), Some(code), "{args}: {said}");
    said
}

fn run(program: &str, args: &str) -> Output {
    command(program).args(args.split(' ')).output().expect("the program starts")
}

/// A folder of this test's own; removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path: &Path = &self.0.join(name);
        fs::write(path, text).expect("a temporary file");
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
