//! Tests that a program answers bad input with an error message and a non-zero exit code, never
//! with a panic, a hang or a wrong number.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::{Element, Step, plan::Block};

/// The maximum number of blocks in a grid.
const GRID: u64 = (1 << 31) - 1;

/// A program that runs a step, with the path of the program and the name of the step. A program
/// that runs several steps receives this name.
#[derive(Clone, Copy)]
struct Program<'a> {
    path: &'a str,
    step: &'a str,
}

/// Tests the program of a step with bad input, edited kernels, and closed output. The program
/// receives the step's name in the variable [`STEP`].
pub fn program(step: &Step, path: &str) {
    let program = Program { path, step: step.name };
    let folder = Folder::new(step.name);
    let empty = folder.write("empty.ptx", "");
    let text = folder.write("text.ptx", "this is no PTX");
    let whole = step.kernel.ptx(Element::F32);
    // The PTX is cut off inside the last entry point, so that all entry points have a name.
    let entry = whole.rfind(".visible .entry").expect("an entry point");
    let cut = folder.write("cut.ptx", &whole[..entry + 500]);
    for (args, sentences) in [
        ("--threads 0", &["64, 128, 256, 512 or 1024"][..]),
        ("--threads 48", &["a block of 48 threads"]),
        ("--threads 96", &["a block of 96 threads"]),
        ("--threads 2048", &["a block of 2048 threads"]),
        ("--threads -64", &["-64 is not a number of threads"]),
        ("--type u8", &["`u8` is not an element type"]),
        ("--n 2^99", &["does not fit into 64 bits"]),
        ("--n -1", &["it is negative"]),
        ("--n abc", &["it is not a number"]),
        ("--input one-hot:5 --n 5", &["does not exist, because `--n` is 5"]),
        ("--input zeros", &["`zeros` is not an input"]),
        ("--device gpu", &["`gpu` is not a device"]),
        ("--device cuda:7", &["device simt", "`cuda:7` does not exist"]),
        ("--n 2^45", &["bytes of host memory,", "bytes of device memory,"]),
        ("--samples -1", &["-1 is not in 0..=1000000"]),
        ("--explain --format json", &["`--explain` prints text"]),
        ("--explain --lines", &["`--explain` runs nothing"]),
        ("--kernel nowhere.cu", &["reading nowhere.cu"]),
        ("--kernel .", &["it is a folder"]),
        (&format!("--kernel {empty}"), &["it is empty"]),
        (&format!("--kernel {text}"), &["it has no .version line"]),
        (&format!("--kernel {cut}"), &["cannot be loaded as PTX"]),
    ] {
        refuses(program, args, 2, sentences);
    }
    if let Some(other) = Block::ALL.into_iter().find(|&block| step.check_block(block).is_err()) {
        let args = format!("--threads {}", other.threads());
        refuses(program, &args, 2, &["does not run in blocks of"]);
    }
    if step.aligned > 1 {
        refuses(program, "--n 100 --offset 1", 2, &["loads vectors of 16 bytes"]);
    }
    devices(program, &folder);
    asks_a_gpu(program);
    grids(step, program);
    edited(step, program, &folder);
    closed(program);
}

/// Tests that a device file that never ends and a pipe that has no writer are refused before
/// anything is read.
#[cfg(unix)]
fn devices(program: Program<'_>, folder: &Folder) {
    let pipe = folder.0.join("pipe.cu");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo starts").success());
    for file in ["/dev/zero", "/dev/full", &pipe.display().to_string()] {
        let args = format!("--device simt --n 33 --kernel {file}");
        refuses(program, &args, 2, &["it is not a regular file"]);
    }
}

#[cfg(not(unix))]
fn devices(_: Program<'_>, _: &Folder) {}

/// Tests that the interpreter refuses flags that need a GPU, but only after the sum is verified.
fn asks_a_gpu(program: Program<'_>) {
    let file = std::env::temp_dir().join(format!("trace-{}.json", std::process::id()));
    let traced = format!("--profile={}", file.display());
    for (flag, name) in
        [("--counters", "--counters"), ("--profile", "--profile"), (&traced, "--profile")]
    {
        let args = format!("--device simt --n 33 {flag}");
        let output = run(program, &args);
        let said = ends(&output, &args, 2);
        assert!(said.starts_with(&format!("error: `{name}` needs a GPU")), "{args}: {said}");
        assert_eq!(said.matches("error:").count(), 1, "{args}: {said}");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(printed.contains("verified"), "{args}: {printed}");
        assert!(!file.exists(), "{args} writes an empty trace");
    }
    refuses(program, "--counters --format csv", 2, &["use `--format json`"]);
    refuses(program, "--counters --profile", 2, &["cannot be used with"]);
}

/// Tests that only grids with too many blocks are refused. The number of blocks for a size follows
/// from smaller sizes: if two sizes have the same grid, larger sizes have that grid too.
fn grids(step: &Step, program: Program<'_>) {
    let smallest = step.blocks.iter().min().expect("a block size");
    let args = |n: &str| format!("--threads {smallest} --explain --n {n}");
    let blocks = |n: &str| first_grid(&succeeds(program, &args(n)));
    let (few, more) = (blocks("2^32"), blocks("2^33"));
    match more == few {
        true => assert_eq!(blocks("2^48"), few, "{}", step.name),
        false => {
            assert!(few << 16 > GRID, "{}: {few} blocks for 2^32 elements", step.name);
            refuses(program, &args("2^48"), 2, &["2147483647 blocks that a grid can have"]);
        }
    }
}

/// Returns the number of blocks in the first launch, from the table that `--explain` prints.
fn first_grid(text: &str) -> u64 {
    let mut rows = text.lines().filter(|line| line.starts_with("| reduce"));
    let blocks =
        rows.next().and_then(|row| row.split('|').nth(2)).map(|cell| cell.replace(',', ""));
    let blocks = blocks.and_then(|cell| cell.trim().parse().ok());
    blocks.unwrap_or_else(|| panic!("no number of blocks for a launch in:\n{text}"))
}

/// Tests that a changed kernel is compiled on the fly and verified.
fn edited(step: &Step, program: Program<'_>, folder: &Folder) {
    // In a step that adds vectors, the change adds 1 to each vector; in a step that bins elements,
    // it adds 1 to each element.
    let source = step.kernel.source;
    let changes = [
        (".data[e] += ", ".data[e] += 1 + "),
        ("bin(next[k].data[e])", "bin(next[k].data[e] + 1)"),
        ("in[i]", "in[i] + in[i]"),
    ];
    let change = changes.into_iter().find(|(right, _)| source.contains(right));
    let (right, wrong) =
        change.unwrap_or_else(|| panic!("{} adds in[i], vectors or elements", step.name));
    let wrong = source.replace(right, wrong);
    let with = |name: &str, text: &str| format!("--n 1000 --kernel {}", folder.write(name, text));
    let wrong = with("wrong.cu", &wrong);
    let right = with("right.cu", &format!("{}\n// A line more.\n", step.kernel.source));
    let broken = with("broken.cu", &format!("{}\nthis does not compile\n", step.kernel.source));
    if let Err(missing) = compiler::Compiler::find(None) {
        refuses(program, &wrong, 2, &["clang 16 or later can compile it too"]);
        eprintln!("skipped: {missing}");
        return;
    }
    refuses(program, &wrong, 1, &["block 0 of launch 1, which adds the elements 0 to"]);
    let said = succeeds(program, &right);
    assert!(said.contains("verified") && said.contains("right.cu was changed"), "{said}");
    let line = step.kernel.source.lines().count() + 2;
    let lines = [format!("broken.cu({line})"), format!("broken.cu:{line}:")]; // NVRTC's, clang's.
    refuses(program, &broken, 2, &lines.each_ref().map(String::as_str));
    // The file name has to be quoted, and the file has Windows line endings and a byte order mark.
    let text = format!("\u{feff}{}\n// A line more.\n", step.kernel.source).replace('\n', "\r\n");
    let named = folder.write("Größe und Maß.cu", &text);
    let output = command(program).args(["--n", "1000", "--kernel", &named]).output();
    ends(&output.expect("the program starts"), &named, 0);
}

/// Tests that a closed standard output is not an error.
fn closed(program: Program<'_>) {
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

/// The variable that names the step, for a program with all steps.
pub const STEP: &str = "REDUCE_STEP";

/// Returns the command that starts a program. A program for another architecture is started through
/// the emulator with which cargo starts the test itself: `qemu-aarch64 -L /usr/aarch64-linux-gnu`.
fn command(program: Program<'_>) -> Command {
    let runner = std::env::var("REDUCE_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace().chain([program.path]);
    let mut command = Command::new(words.next().expect("words include the program"));
    command.args(words).env(STEP, program.step);
    command
}

/// Tests that the program ends with this exit code, and prints one of these sentences to standard
/// error.
fn refuses(program: Program<'_>, args: &str, code: i32, sentences: &[&str]) {
    let said = ends(&run(program, args), args, code);
    let found = sentences.iter().any(|sentence| !sentence.is_empty() && said.contains(sentence));
    assert!(found, "{args}: {said} contains none of {sentences:?}");
}

/// Tests that the program succeeds, and returns its output.
fn succeeds(program: Program<'_>, args: &str) -> String {
    let output = run(program, args);
    ends(&output, args, 0);
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Tests the exit code and that there was no panic, and returns standard error.
fn ends(output: &Output, args: &str, code: i32) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("panicked"), "{args}: {said}");
    assert_eq!(output.status.code(), Some(code), "{args}: {said}");
    let wide = |line: &&str| line.chars().count() > 100 && line.trim().contains(' ');
    assert_eq!(said.lines().find(wide), None, "{args}: more than 100 columns");
    unwrapped(&said)
}

/// Returns a message on one line, with its wrapping removed.
pub fn unwrapped(said: &str) -> String {
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn run(program: Program<'_>, args: &str) -> Output {
    command(program).args(args.split(' ')).output().expect("the program starts")
}

/// A folder for this test, which is removed when dropped.
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
