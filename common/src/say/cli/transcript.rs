//! Transcripts of whole runs with a correct kernel and with several broken kernels.

use std::fmt::Write as _;

use clap::FromArgMatches;
use expect_test::expect_file;

use super::*;
use crate::{
    Kernel,
    plan::{Phase, Plan},
};

/// The source, as a reader would write it. The interpreter runs [`PTX`] instead.
const SOURCE: &str = "// Lanes that add are neighbours.
extern \"C\" __global__ void reduce(const Element* in, Element* out, unsigned long long n)
{
    extern __shared__ Element shared[];
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    shared[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        unsigned int left = 2 * s * threadIdx.x;
        if (left < blockDim.x) shared[left] += shared[left + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = shared[0];
}
";

/// PTX that does not depend on a compiler, so that a transcript changes only with the output code.
const PTX: &str = "
.version 8.4
.target sm_60
.address_size 64
.extern .shared .align 16 .b8 shared[];
.visible .entry reduce(.param .u64 in, .param .u64 out, .param .u64 n)
{
    .reg .pred %p;
    .reg .b32 %tid, %block, %threads, %x, %y, %s, %two, %left, %at;
    .reg .b64 %i, %n, %from, %to, %byte;
    .loc 1 5 5
    mov.u32 %tid, %tid.x;
    mov.u32 %block, %ctaid.x;
    mov.u32 %threads, %ntid.x;
    mul.wide.u32 %i, %block, %threads;
    cvt.u64.u32 %byte, %tid;
    add.u64 %i, %i, %byte;
    .loc 1 6 5
    ld.param.u64 %n, [n];
    ld.param.u64 %from, [in];
    mov.b32 %x, 0;
    setp.ge.u64 %p, %i, %n;
    @%p bra Put;
    shl.b64 %byte, %i, 2;
    add.u64 %from, %from, %byte;
    ld.global.b32 %x, [%from];
Put:
    shl.b32 %at, %tid, 2;
    mov.u32 %y, shared;
    add.u32 %at, %at, %y;
    st.shared.b32 [%at], %x;
    .loc 1 7 5
    bar.sync 0;
    .loc 1 8 5
    mov.b32 %s, 1;
Round:
    .loc 1 9 9
    shl.b32 %two, %s, 1;
    mul.lo.u32 %left, %two, %tid;
    .loc 1 10 9
    setp.ge.u32 %p, %left, %threads;
    @%p bra Rest;
    shl.b32 %at, %left, 2;
    mov.u32 %y, shared;
    add.u32 %at, %at, %y;
    ld.shared.b32 %x, [%at];
    shl.b32 %left, %s, 2;
    add.u32 %left, %at, %left;
    ld.shared.b32 %y, [%left];
    ADD %x, %x, %y;
    st.shared.b32 [%at], %x;
Rest:
    .loc 1 11 9
    bar.sync 0;
    .loc 1 8 5
    mov.b32 %s, %two;
    setp.lt.u32 %p, %s, %threads;
    @%p bra Round;
    .loc 1 13 5
    setp.ne.u32 %p, %tid, 0;
    @%p bra End;
    ld.param.u64 %to, [out];
    mul.wide.u32 %byte, %block, 4;
    add.u64 %to, %to, %byte;
    ld.shared.b32 %x, [shared];
    st.global.b32 [%to], %x;
End:
    ret;
}
.file 1 \"kernel.cu\"
";

/// Returns a step with this kernel, after one replacement in its PTX.
fn step(name: &'static str, change: Option<(&str, &str)>) -> &'static Step {
    let text = change.map_or(PTX.to_owned(), |(old, new)| {
        assert!(PTX.contains(old), "{name}: there is no {old}");
        PTX.replacen(old, new, 1)
    });
    let ptx = |add: &str| -> &'static str {
        compiler::Stamp::put(&text.replace("ADD", add), SOURCE, "by hand").leak()
    };
    let kernel = Kernel {
        path: "",
        source: SOURCE,
        includes: &[],
        ptx: [ptx("add.f32"), ptx("add.s32"), ptx("add.f32")],
    };
    let plan = |problem: &Problem| {
        let tile = problem.threads();
        let (entry, shared, depth) = ("reduce".into(), tile * 4, problem.block.rounds());
        Plan::until_one(problem, &Phase { entry, tile, shared, depth })
    };
    Box::leak(Box::new(Step {
        name,
        cures: "warps in which half of the lanes work while the other half wait, in every round of the tree",
        costs: "bank conflicts between the lanes of a warp",
        kernel,
        blocks: &[64, 128],
        aligned: 1,
        fixed_order: false,
        plan,
        variants: &[],
    }))
}

/// Returns the same step with clusters that no GPU supports.
fn clustered() -> &'static Step {
    let tree = step("clustered", None);
    let plan = |problem: &Problem| {
        let mut plan = (step("tree", None).plan)(problem);
        plan.launches.iter_mut().for_each(|launch| launch.cluster = 32);
        plan
    };
    Box::leak(Box::new(Step { plan, variants: &[], kernel: Kernel { ..tree.kernel }, ..*tree }))
}

/// Returns the command line, and the output and the error messages of a program with these steps.
fn printed(steps: &[&'static Step], show: Show, args: &str) -> String {
    let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
    let words: Vec<&str> = args.split_whitespace().collect();
    let text = said(steps, show, &words);
    // Records, errors and the reader's own source may be wider than a report.
    let free = |line: &str| line.starts_with("error: ") || line.contains(" | ");
    let wide = |line: &&str| line.chars().count() > 80 && !free(line);
    if !args.contains("--format") {
        assert_eq!(text.lines().find(wide), None, "{args}: more than 80 columns");
    }
    format!("$ {} {args}\n{text}\n", names.join(","))
}

fn said(steps: &[&'static Step], show: Show, words: &[&str]) -> String {
    let options = options(words);
    let (mut text, mut out) = (String::new(), Vec::new());
    let result = print(steps, &options, show, &mut out);
    let out = String::from_utf8(out).expect("it is text");
    text += &anstream::adapter::strip_str(&out).to_string();
    match result {
        Ok(()) => {}
        Err(Stop::Error(error)) => {
            let _ = writeln!(text, "error: {error} [{}]", error.exit_code());
        }
        Err(Stop::Closed) => text += "closed\n",
    }
    text
}

fn options(words: &[&str]) -> Options {
    let words = ["many", "--device", "simt"].iter().chain(words);
    let matches = Program::command().try_get_matches_from(words).expect("they are options");
    Program::from_arg_matches(&matches).expect("they are options").options
}

#[test]
fn an_own_kernel_replaces_the_step_s() {
    let file = std::env::temp_dir().join(format!("own-{}.ptx", std::process::id()));
    std::fs::write(&file, PTX.replace("ADD", "add.s32")).unwrap();
    let tree = step("tree", None);
    let path = file.to_str().unwrap();
    let said = said(&[tree], alone, &["--n", "33", "--type", "i32", "--kernel", path]);
    let joined = |text: &str| text.split_whitespace().collect::<String>();
    assert!(joined(&said).contains(&joined(&format!("kernel {path}, as it is"))), "{said}");
    assert!(said.contains("  sum       4687, verified, exact modulo 2^32\n"), "{said}");
    std::fs::remove_file(file).unwrap();
}

/// `UPDATE_EXPECT=1 cargo test -p common` rewrites the files. Check the difference.
#[test]
fn a_step_alone_prints_its_counts() {
    let tree = step("tree", None);
    let text: String = [
        "--explain --n 2^20,5",
        "--explain --n 2^31*64+1 --threads 64",
        "--n 0 --type i32,f32",
        "--n 1,65 --type i32,f32",
        "--n 2^13 --threads 64,128",
        "--n 130 --threads 64 --lines --gpu sm_86:7",
        "--n 2^10 --type i32 --input one-hot:77 --check none --schedule min-pc",
        "--n 33 --type i32 --input int --seed 7 --check races,sync --schedule adversarial:1",
        "--n 33 --offset 3 --input signed --type i32 --format csv",
        "--n 33 --type i32 --format json",
        "--n 33 --counters --format csv",
        "--n 33 --type i32 --counters",
        "--n 33 --type i32 --profile",
        "--n 33 --threads 256",
    ]
    .into_iter()
    .map(|args| printed(&[tree], alone, args))
    .collect();
    expect_file!["../said/alone.txt"].assert_eq(&text);
}

#[test]
fn a_wrong_sum_is_reported_with_its_reason() {
    let minus = step("minus", Some(("ADD %x, %x, %y;", "sub.s32 %x, %x, %y;")));
    let racy = step("racy", Some(("    .loc 1 11 9\n    bar.sync 0;\n", "")));
    let unsure = step("unsure", Some(("setp.ge.u64 %p, %i, %n;", "setp.gt.u64 %p, %i, %n;")));
    let silent = step("silent", Some(("st.global.b32 [%to], %x;", "")));
    let ones = step("ones", Some(("ld.global.b32 %x, [%from];", "mov.b32 %x, 1;")));
    // Threads that do not add skip the barrier.
    let apart = step(
        "apart",
        Some((
            "Rest:\n    .loc 1 11 9\n    bar.sync 0;\n",
            "    .loc 1 11 9\n    bar.sync 0;\nRest:\n",
        )),
    );
    // The lanes of a warp wait at two barriers instead of one; whole warps are unaffected.
    let parted = step(
        "parted",
        Some((
            "Rest:\n    .loc 1 11 9\n    bar.sync 0;\n",
            "Rest:\n    .loc 1 11 9\n    and.b32 %y, %tid, 1;\n    setp.eq.u32 %p, %y, 0;\n    \
             @%p bra Other;\n    bar.warp.sync 0xffffffff;\n    bra Next;\n\
             Other:\n    bar.warp.sync 0xffffffff;\nNext:\n",
        )),
    );
    let clustered = clustered();
    let mut text = String::new();
    for (step, args) in [
        (minus, "--n 65 --type i32 --input int"),
        (minus, "--n 65 --type i32 --input int --check none"),
        (minus, "--n 1,2,65 --type i32 --input int"),
        (racy, "--n 65 --type i32 --threads 64"),
        (racy, "--n 65 --type i32 --threads 128"),
        (racy, "--n 2^11 --type i32 --threads 128 --schedule adversarial:3"),
        (unsure, "--n 65 --type i32"),
        (unsure, "--n 64 --type i32 --threads 64"),
        (silent, "--n 65 --type i32"),
        (silent, "--n 33 --type i32"),
        (ones, "--n 33 --type i32 --input ones"),
        (apart, "--n 64 --type i32"),
        (parted, "--n 128 --type i32 --threads 128"),
        (clustered, "--n 64 --type i32"),
        (clustered, "--n 64 --explain"),
    ] {
        text += &printed(&[step], alone, args);
    }
    expect_file!["../said/wrong.txt"].assert_eq(&text);
}

#[test]
fn the_ladder_has_one_table_for_each_problem() {
    let [tree, minus] =
        [("tree", None), ("minus", Some(("ADD %x, %x, %y;", "sub.s32 %x, %x, %y;")))]
            .map(|(name, change)| step(name, change));
    let racy = step("racy", Some(("    .loc 1 11 9\n    bar.sync 0;\n", "")));
    let clustered = clustered();
    let show: Show = |outcomes, refusals, _| report::ladder(outcomes, refusals);
    let mut text = String::new();
    for (steps, args) in [
        (&[tree, tree][..], "--n 65,2^12 --type i32"),
        (&[tree, minus, racy], "--n 2^12 --type i32 --input int --threads 64,128"),
        (&[tree, tree], "--n 33 --type i32 --format csv"),
        (&[tree, tree], "--n 33 --explain"),
        (&[tree, clustered], "--n 33 --explain"),
        (&[tree, clustered], "--n 33 --type i32"),
        (&[clustered, clustered], "--n 33 --type i32"),
        (&[tree, tree], "--explain --n 2^31*128+1"),
        (&[tree, tree], "--n 33 --lines"),
        (&[tree, tree], "--n 33 --trace trace.json"),
        (&[tree, tree], "--n 33 --counters"),
        (&[tree, tree], "--n 33 --kernel kernel.cu"),
    ] {
        text += &printed(steps, show, args);
    }
    expect_file!["../said/ladder.txt"].assert_eq(&text);
}

/// A writer whose reader has closed the pipe.
struct Gone(io::ErrorKind);

impl Write for Gone {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_is_no_error_and_a_full_disk_is_one() {
    let options = options(&["--n", "33", "--type", "i32"]);
    let tree = step("tree", None);
    let ended = |kind| print(&[tree], &options, alone, &mut Gone(kind));
    let closed = ended(io::ErrorKind::BrokenPipe);
    assert!(matches!(closed, Err(Stop::Closed)));
    // Exit codes cannot be compared, but their debug output can.
    assert_eq!(format!("{:?}", exit(closed)), format!("{:?}", ExitCode::SUCCESS));
    assert_eq!(format!("{:?}", exit(Ok(()))), format!("{:?}", ExitCode::SUCCESS));
    let full = ended(io::ErrorKind::StorageFull);
    let Err(Stop::Error(error)) = &full else { panic!("{full:?}") };
    assert!(error.to_string().starts_with("writing to standard output"), "{error}");
    assert_eq!(format!("{:?}", exit(full)), format!("{:?}", ExitCode::from(2)));
}
