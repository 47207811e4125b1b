//! Tests `foreign/*.cu`, our own implementations of published reductions, scans and histograms.
//!
//! Each kernel is correct, so under every schedule it must give its result without findings, with
//! all checks enabled. The test compiles the kernels, so it runs the output of current compilers.

mod foreign_results;

use std::{fs, path::Path};

use compiler::{Compiler, Unit};
use foreign_results::{FOREIGN, Foreign, Input, Output, value};
use simt::{Arch, Arg, Config, Gpu, Launch, Module, Schedule};

const SCHEDULES: [Schedule; 5] = [
    Schedule::Converged,
    Schedule::MinPc,
    Schedule::Adversarial(1),
    Schedule::Adversarial(2),
    Schedule::Adversarial(3),
];

/// The numbers of elements.
const SIZES: [usize; 6] = [0, 1, 33, 65, 257, 1025];

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("foreign")
}

fn source(name: &str) -> String {
    let path = folder().join(format!("{name}.cu"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compiles a kernel. Prints a line and returns `None` if the kernel uses a function that NVRTC has
/// but the prelude for clang lacks.
fn compiled(compiler: &Compiler, name: &str, source: &str) -> Option<Module> {
    let text = match compiler.compile(&Unit::of_kernel(source, "kernel.cu", "int")) {
        Ok(text) => text,
        Err(error) if error.to_string().contains("undeclared identifier") => {
            eprintln!("skipped: {name} needs NVRTC: {error}");
            return None;
        }
        Err(error) => panic!("{name}: {error}"),
    };
    Some(Module::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// Describes the error of a run, or returns `None` if the run is correct.
fn wrong(foreign: &Foreign, module: &Module, n: usize, schedule: Schedule) -> Option<String> {
    let mut config = Config::default();
    config.play(Arch::that_runs(module.kernel("run").unwrap().target()).unwrap());
    config.schedule = schedule;
    let mut gpu = Gpu::with(config);
    let values: Vec<i32> = (0..n).map(value).collect();
    let expected = (foreign.expected)(&values);
    let mut put = |bytes: &[u8]| {
        let address = gpu.alloc(bytes.len().max(4) as u64).unwrap();
        gpu.write(address, bytes).unwrap();
        address
    };
    let (input, scratch) = (put(&foreign.input.bytes(&values)), put(&[0; 4096]));
    let size = expected.bytes() as u64;
    let output = gpu.alloc(size.max(4)).unwrap();
    if foreign.zeroed {
        gpu.fill(output, 0, size).unwrap();
    }
    let mut args = vec![Arg::U64(input), Arg::U64(output), Arg::U32(n as u32), Arg::U64(scratch)];
    args.truncate(module.kernel("run").unwrap().params().count());
    let launch = Launch {
        entry: "run",
        grid: [foreign.blocks(n), 1, 1],
        block: [foreign.threads, 1, 1],
        cluster: [1, 1, 1],
        shared: 0,
        args,
    };
    let mut watch = simt::checks();
    if let Err(error) = gpu.launch_watched(module, &launch, Some(&mut watch)) {
        return Some(error.to_string());
    }
    if let Some(finding) = simt::findings(&watch).first() {
        return Some(finding.to_string());
    }
    let mut bytes = vec![0; size as usize];
    gpu.read(output, &mut bytes).unwrap();
    expected.differs(&bytes)
}

/// Returns all failures of a kernel.
fn all_wrong(foreign: &Foreign, module: &Module) -> Vec<String> {
    let runs = SIZES.iter().flat_map(|&n| SCHEDULES.map(|schedule| (n, schedule)));
    runs.filter_map(|(n, schedule)| {
        let what = wrong(foreign, module, n, schedule)?;
        Some(format!("{} of {n} under {schedule}: {what}", foreign.name))
    })
    .collect()
}

#[test]
fn none_is_wrong_and_none_is_accused() {
    let compiler = match Compiler::find(None) {
        Ok(compiler) => compiler,
        Err(missing) => return eprintln!("skipped: {missing}"),
    };
    // clang moves `__activemask()` out of the branch whose mask it should return.
    let nvrtc = matches!(compiler, Compiler::Nvrtc(_));
    let moved = |foreign: &Foreign| !nvrtc && foreign.name == "warp-aggregated";
    let compile = |foreign: &&Foreign| compiled(&compiler, foreign.name, &source(foreign.name));
    let tried = FOREIGN.iter().filter(|foreign| !moved(foreign));
    let modules = tried.filter_map(|foreign| Some((foreign, compile(&foreign)?)));
    let modules: Vec<(&Foreign, Module)> = modules.collect();
    let most = FOREIGN.len() - if nvrtc { 0 } else { 4 };
    assert!(modules.len() >= most, "{} of {} compile", modules.len(), FOREIGN.len());
    let runs = simt::parallel::map(
        0,
        modules,
        || (),
        |(), _, (foreign, module)| all_wrong(foreign, &module),
    );
    let all = runs.concat();
    assert!(all.is_empty(), "{} runs:\n{}", all.len(), all.join("\n"));
}

/// Tests the test itself: it must fail for a kernel without a barrier, or with a changed number.
#[test]
fn an_edit_that_breaks_one_is_seen() {
    let compiler = match Compiler::find(None) {
        Ok(compiler) => compiler,
        Err(missing) => return eprintln!("skipped: {missing}"),
    };
    for (name, from, to, said) in [
        ("kogge-stone", "        __syncthreads();\n        row", "        row", "data race"),
        (
            "chained-scan",
            "        __threadfence();\n        flags",
            "        flags",
            "volatile pair",
        ),
        ("spin-lock", "    __threadfence();\n    atomicExch", "    atomicExch", "data race"),
        ("redux", "0xf,", "0x7,", "mask"),
        ("dot", "cache[0]", "cache[1]", "expected"),
    ] {
        let text = source(name);
        assert_eq!(text.matches(from).count(), 1, "{name} does not have exactly one `{from}`");
        let Some(module) = compiled(&compiler, name, &text.replace(from, to)) else { continue };
        let foreign = FOREIGN.iter().find(|foreign| foreign.name == name).unwrap();
        let all = all_wrong(foreign, &module);
        assert!(all.iter().any(|what| what.contains(said)), "{name} passes: {all:?}");
    }
}

#[test]
fn each_is_short_says_whose_idea_it_is_and_is_run() {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 30, "{}", names.len());
    assert_eq!(names, FOREIGN.iter().map(|foreign| foreign.name).collect::<Vec<_>>());
    for name in &names {
        let text = source(name);
        let head = text.lines().next().unwrap();
        assert!(head.starts_with("// ") && head.contains('('), "{name}: {head}");
        assert!(text.lines().count() <= 40, "{name} has {} lines", text.lines().count());
    }
    // An output without values would match any result.
    for foreign in &FOREIGN {
        let expected = (foreign.expected)(&(0..1025).map(value).collect::<Vec<_>>());
        let nothing = vec![0xff; expected.bytes()];
        assert!(expected.differs(&nothing).is_some(), "{}", foreign.name);
        assert!(!matches!(expected, Output::Ints(ref all) if all.is_empty()), "{}", foreign.name);
        assert!(!foreign.input.bytes(&[1]).is_empty() || foreign.input == Input::Ints);
    }
}
