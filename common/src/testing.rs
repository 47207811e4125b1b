//! The tests that every step passes: right on every awkward size, in every type and block size,
//! and a program that answers bad input with a sentence.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::{
    Element, Result, Step,
    device::{Choice, Device},
    input::Input,
    interpreter::Settings,
    nvrtc,
    plan::{Block, Problem},
    ptx,
    run::{self, Samples},
    scalar::Scalar,
    workload::Workload,
};

/// Sizes at which kernels are wrong: nothing, one, and both sides of a warp, a block and a tile.
pub const AWKWARD: [u64; 16] =
    [0, 1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1023, 1025, (1 << 16) + 13, (1 << 20) + 13];

/// The largest size that the interpreter is given in a test.
const INTERPRETED: u64 = 1 << 17;

/// Holds a step's plans against its PTX, and its sums against the exact ones: on the
/// interpreter, and on the GPU if there is one.
pub fn check(step: &Step) {
    plans(step);
    sums(
        step,
        &Device::open(Choice::Simt, &Settings::default()).expect("the interpreter needs nothing"),
    );
    match Device::open(Choice::Cuda(0), &Settings::default()) {
        Ok(device) => sums(step, &device),
        // A machine that should have a GPU must not pass by having none.
        Err(reason) if std::env::var("REDUCE_REQUIRE_GPU").is_ok_and(|value| !value.is_empty()) => {
            panic!("{}: {reason}", step.name)
        }
        Err(reason) => eprintln!("skipped on the GPU: {reason}"),
    }
}

/// Every launch that a plan names exists in the PTX, with as many parameters as arguments, and
/// the launches hand their partial sums on without a gap.
fn plans(step: &Step) {
    for element in Element::ALL {
        let text = ptx::of(&step.kernel, element, None).expect("the committed PTX").text;
        for block in Block::ALL {
            for n in AWKWARD.into_iter().chain([1 << 28, (1 << 32) + 13]) {
                let plan = (step.plan)(&Problem { n, block, element, sms: 132 });
                plan.check().unwrap();
                let mut left = n;
                for launch in &plan.launches {
                    let entry = format!(".visible .entry {}(", launch.entry);
                    let parameters = text
                        .split_once(&entry)
                        .unwrap_or_else(|| panic!("no {entry} in the PTX of {}", step.name))
                        .1;
                    let parameters = parameters.split_once(')').expect("a parameter list").0;
                    assert_eq!(
                        parameters.matches(".param").count(),
                        launch.args.len(),
                        "{}",
                        launch.entry
                    );
                    assert_eq!(
                        launch.n, left,
                        "{}: a launch adds what the one before it left",
                        step.name
                    );
                    if let Some(tile) = launch.tile {
                        assert!(
                            u64::from(launch.grid) * tile >= left,
                            "{}: {} blocks of {tile} miss some of {left}",
                            step.name,
                            launch.grid
                        );
                        assert!(
                            u64::from(launch.grid - 1) * tile <= left,
                            "{}: a block has nothing to do",
                            step.name
                        );
                    }
                    left = u64::from(launch.grid);
                }
                assert_eq!(
                    plan.launches.last().map(|launch| launch.output),
                    Some(crate::plan::Buffer::Result)
                );
            }
        }
    }
}

fn sums(step: &Step, device: &Device) {
    let sizes =
        AWKWARD.into_iter().filter(|&n| matches!(device, Device::Cuda(_)) || n < INTERPRETED);
    for n in sizes {
        of_type::<f32>(step, device, n).unwrap_or_else(|error| panic!("{error}"));
        of_type::<i32>(step, device, n).unwrap_or_else(|error| panic!("{error}"));
        of_type::<f64>(step, device, n).unwrap_or_else(|error| panic!("{error}"));
    }
}

fn of_type<T: Scalar>(step: &Step, device: &Device, n: u64) -> Result<()> {
    let text = ptx::of(&step.kernel, T::ELEMENT, None)?;
    let last = n.saturating_sub(1);
    for input in [Input::Signed, Input::OneHot(last)].into_iter().take(1 + usize::from(n > 0)) {
        let workload = Workload::<T>::new(device, input, n, 7)?;
        for block in Block::ALL {
            let samples = Samples { count: 1, warm: true };
            let outcome = run::run(step, &text, device, &workload, block, samples)?;
            if let Some(wrong) = outcome.wrong {
                panic!("{input}: {wrong}");
            }
        }
    }
    Ok(())
}

/// Holds a step's program against bad input: each is one sentence and a non-zero exit code,
/// never a panic, a hang or a wrong number.
pub fn program(step: &Step, program: &str) {
    let folder = Folder::new(step.name);
    let empty = folder.write("empty.ptx", "");
    let text = folder.write("text.ptx", "this is no PTX");
    let cut = folder.write("cut.ptx", &step.kernel.ptx(Element::F32)[..1500]);
    for (args, code, sentence) in [
        ("--threads 0", 2, "64, 128, 256, 512 or 1024"),
        ("--threads 48", 2, "a block of 48 threads"),
        ("--threads 96", 2, "a block of 96 threads"),
        ("--threads 2048", 2, "a block of 2048 threads"),
        ("--threads -64", 2, "-64 is no number of threads"),
        ("--type u8", 2, "`u8` is no element type"),
        ("--n 2^99", 2, "does not fit 64 bits"),
        ("--n -1", 2, "it is negative"),
        ("--n abc", 2, "it is not a number"),
        ("--input one-hot:5 --n 5", 2, "beyond the last of 5"),
        ("--input zeros", 2, "`zeros` is no input"),
        ("--device gpu", 2, "`gpu` is no device"),
        ("--device cuda:7", 2, "device simt|`cuda:7` does not exist"),
        ("--n 2^45", 2, "bytes of host memory,|bytes of device memory,"),
        ("--n 2^48 --threads 64 --explain", 2, "blocks that a grid can have"),
        ("--kernel nowhere.cu", 2, "reading nowhere.cu"),
        (&format!("--kernel {empty}"), 2, "it is empty"),
        (&format!("--kernel {text}"), 2, "it has no .version line"),
        (&format!("--kernel {cut}"), 2, "is no PTX that can be loaded"),
    ] {
        let output = run_program(program, args);
        answers(&output, args, code, sentence);
    }
    edited(step, program, &folder);
    closed(program);
}

/// A changed kernel is compiled on the fly and gets a verdict of its own.
fn edited(step: &Step, program: &str, folder: &Folder) {
    let wrong = step.kernel.source.replacen("in[i]", "in[i] + in[i]", 1);
    assert_ne!(wrong, step.kernel.source, "{} loads in[i]", step.name);
    let wrong = folder.write("wrong.cu", &wrong);
    let right = folder.write("right.cu", &format!("{}\n// A line more.\n", step.kernel.source));
    let broken =
        folder.write("broken.cu", &format!("{}\nthis does not compile\n", step.kernel.source));
    let (wrong, right, broken) = (
        format!("--n 1000 --kernel {wrong}"),
        format!("--n 1000 --kernel {right}"),
        format!("--n 1000 --kernel {broken}"),
    );
    if nvrtc::Library::find().is_none() {
        answers(&run_program(program, &wrong), &wrong, 2, "`cargo x nvrtc` brings one");
        eprintln!(
            "skipped: there is no NVRTC to compile an edited kernel with; `cargo x nvrtc` brings one"
        );
        return;
    }
    answers(
        &run_program(program, &wrong),
        &wrong,
        1,
        "the first wrong partial sum is that of block 0 in launch 1",
    );
    answers(&run_program(program, &right), &right, 0, "");
    let line = step.kernel.source.lines().count() + 2;
    answers(&run_program(program, &broken), &broken, 2, &format!("broken.cu({line})"));
}

/// Standard output that nobody reads is no reason to fail.
fn closed(program: &str) {
    let mut child = Command::new(program)
        .args(["--n", "1,2,3,1000", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    answers(&output, "with standard output closed", 0, "");
}

fn run_program(program: &str, args: &str) -> Output {
    Command::new(program).args(args.split(' ')).output().expect("the program starts")
}

/// The exit code is this, and one of these sentences (set apart by `|`) is on standard error.
fn answers(output: &Output, args: &str, code: i32, sentences: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    let found = sentences.split('|').any(|sentence| said.contains(sentence));
    assert!(found, "{args}: {said} does not say {sentences}");
    assert!(!said.contains("panicked"), "{args}: {said}");
    assert_eq!(output.status.code(), Some(code), "{args}: {said}");
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
