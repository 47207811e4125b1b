//! The tests that every step passes: right on every awkward size, in every type and block size,
//! and a program that answers bad input with a sentence.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    rc::Rc,
};

use crate::{
    Element, Error, Result, Step,
    device::{Choice, Device, Settings},
    plan::{Block, Problem},
    ptx,
    run::{self, Checked, Job, Samples},
    sum::{Input, Scalar, Workload},
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
        Ok(device) if runs(step, &device) => sums(step, &device),
        Ok(device) => eprintln!("skipped on {}: it is too old", device.facts().name),
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

/// Whether a GPU is young enough for a step.
fn runs(step: &Step, device: &Device) -> bool {
    let text = ptx::of(&step.kernel, Element::F32, None).expect("the committed PTX");
    !matches!(device.load(&text), Err(Error::OldGpu { .. }))
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
    let last = Input::OneHot(n.saturating_sub(1));
    // The last element alone; and a slice that begins between two words of 16 bytes.
    let inputs = [(Input::Signed, 0), (Input::Signed, 1), (last, 0), (last, 3)];
    for (input, offset) in inputs.into_iter().take(if n > 0 { 4 } else { 2 }) {
        let workload = Workload::<T>::shifted(device, input, n, 7, offset)?;
        let mut last = None;
        for block in Block::ALL {
            let plan = (step.plan)(&device.problem(n, block, T::ELEMENT));
            // A step may ask for a block size of its own.
            if last.replace(plan.clone()) == Some(plan) {
                continue;
            }
            let samples = Samples { count: 1, warm: true };
            let outcome = run::run(step, &text, device, &workload, block, samples)?;
            if let Some(wrong) = outcome.wrong {
                panic!("{input}, {offset} elements left out: {wrong}");
            }
            if let Some(finding) = outcome.observed.iter().find_map(|seen| seen.findings.first()) {
                panic!("{} on {n} {}: {finding}", step.name, T::ELEMENT);
            }
        }
    }
    Ok(())
}

/// Sizes at which a step has one chunk, a few, and one that is not whole.
const SIZES: [u64; 4] = [1000, (1 << 14) + 1, 3 << 13, 77_777];

/// Holds a step's sums against each other: the same bits in every run, for every block size, grid,
/// number of multiprocessors, order of execution, and wherever the slice begins.
pub fn same_bits(step: &Step) {
    let schedules = (0..4).map(simt::Schedule::Adversarial).chain([simt::Schedule::MinPc]);
    for schedule in schedules.chain([simt::Schedule::Converged]) {
        let settings = Settings { schedule, ..Settings::default() };
        let device = Device::open(Choice::Simt, &settings).expect("the interpreter needs nothing");
        bits(step, &device, &SIZES, if schedule == simt::Schedule::Converged { 20 } else { 1 });
    }
    match Device::open(Choice::Cuda(0), &Settings::default()) {
        // Ten thousand runs: 5 block sizes, 2 offsets, and as many grids at 5 sizes.
        Ok(device) if runs(step, &device) => {
            bits(step, &device, &[&SIZES[..], &[(1 << 24) + 13]].concat(), 200)
        }
        Ok(device) => eprintln!("skipped on {}: it is too old", device.facts().name),
        Err(reason) => eprintln!("skipped on the GPU: {reason}"),
    }
}

/// The bits of a sum on `grids` grids for each size, block size and offset: one pattern a size.
fn bits(step: &Step, device: &Device, sizes: &[u64], grids: u32) {
    let text = ptx::of(&step.kernel, Element::F32, None).expect("the committed PTX");
    let program = Rc::new(device.load(&text).unwrap_or_else(|error| panic!("{error}")));
    for &n in sizes {
        let mut first = None;
        for offset in [0, 1] {
            let workload = Workload::<f32>::shifted(device, Input::Signed, n, 7, offset).unwrap();
            let (mut last, mut same) = (None, 0);
            for block in Block::ALL {
                for sms in 1..=grids {
                    let problem = Problem { n, block, element: Element::F32, sms };
                    let plan = (step.plan)(&problem);
                    // A step may ask for a shape of its own: it need not run that often.
                    same = if last.as_ref() == Some(&plan) { same + 1 } else { 0 };
                    if same >= grids {
                        continue;
                    }
                    last = Some(plan.clone());
                    let job = Job::with(device, step, &program, problem).unwrap();
                    let sum = job.verify(&workload).and_then(Checked::right);
                    let sum = sum.unwrap_or_else(|error| panic!("{error}")).sum.as_f64();
                    let expected = *first.get_or_insert(sum);
                    assert_eq!(
                        sum.to_bits(),
                        expected.to_bits(),
                        "{}: {n} elements, {offset} left out, blocks of {}, {sms} multiprocessors: {sum}, was {expected}",
                        step.name,
                        block.threads()
                    );
                }
            }
        }
    }
}

/// Holds a step's program against bad input: each is one sentence and a non-zero exit code,
/// never a panic, a hang or a wrong number.
pub fn program(step: &Step, program: &str) {
    let folder = Folder::new(step.name);
    let empty = folder.write("empty.ptx", "");
    let text = folder.write("text.ptx", "this is no PTX");
    let block = Block::new(64).expect("a block size");
    let huge = Problem { n: 1 << 48, block, element: Element::F32, sms: 132 };
    let too_many = if (step.plan)(&huge).check().is_err() { 2 } else { 0 };
    let whole = step.kernel.ptx(Element::F32);
    let entry = whole.find(".visible .entry").expect("an entry point");
    let cut = folder.write("cut.ptx", &whole[..entry + 500]);
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
        // The grid of a step that strides through its input never grows that large.
        ("--n 2^48 --threads 64 --explain", too_many, "blocks that a grid can have|"),
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
    // A step that adds word by word is made to add one more.
    let wrong = step.kernel.source.replace(".at[e] += ", ".at[e] += 1 + ");
    let wrong = match wrong == step.kernel.source {
        true => wrong.replacen("in[i]", "in[i] + in[i]", 1),
        false => wrong,
    };
    assert_ne!(wrong, step.kernel.source, "{} adds in[i], or words", step.name);
    let wrong = folder.write("wrong.cu", &wrong);
    let right = folder.write("right.cu", &format!("{}\n// A line more.\n", step.kernel.source));
    let broken =
        folder.write("broken.cu", &format!("{}\nthis does not compile\n", step.kernel.source));
    let (wrong, right, broken) = (
        format!("--n 1000 --kernel {wrong}"),
        format!("--n 1000 --kernel {right}"),
        format!("--n 1000 --kernel {broken}"),
    );
    if compiler::nvrtc::Library::find().is_none() {
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
