//! Runs a small PTX file for each instruction (`tests/ptx/*.ptx`), and compares the results.
//!
//! The head of each file lists the cases: `// case: TYPE VALUE ... -> TYPE VALUE ...`. The values
//! are consecutive in memory, aligned to their sizes. An H200 gave the same results (`on_gpu.py`).

use std::collections::BTreeSet;

use crate::common::{Device, files, launch, path, text};
use simt::{Arg, Module, Schedule};

const ROOM: usize = 4096;

/// Converts a value to bytes.
fn number(ty: &str, value: &str) -> Vec<u8> {
    let (kind, bits) = ty.split_at(ty.find(|c: char| c.is_ascii_digit()).unwrap());
    let bytes = bits.parse::<usize>().unwrap() / 8;
    let bits = match (kind, value.strip_prefix("0x")) {
        (_, Some(hex)) => u64::from_str_radix(hex, 16).unwrap(),
        ("f", None) if value == "nan" => {
            if bytes == 4 {
                0x7fff_ffff
            } else {
                i64::MAX as u64
            }
        }
        ("f", None) if bytes == 4 => value.parse::<f32>().unwrap().to_bits().into(),
        ("f", None) if bytes == 8 => value.parse::<f64>().unwrap().to_bits(),
        _ => value.parse::<i128>().unwrap() as u64,
    };
    bits.to_le_bytes()[..bytes].to_vec()
}

fn values(text: &str) -> Vec<u8> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.chunks(2).fold(Vec::new(), |mut out, pair| {
        let bytes = number(pair[0], pair[1]);
        out.resize(out.len().next_multiple_of(bytes.len()), 0);
        out.extend(bytes);
        out
    })
}

/// Returns the values of a key in the head of a file.
fn head<'a>(text: &'a str, key: &str) -> impl Iterator<Item = &'a str> {
    let key = format!("// {key}: ");
    text.lines().filter_map(move |line| line.strip_prefix(&key))
}

/// Runs all cases of a file, and describes the differences.
fn differences(name: &str, text: &str, schedule: Schedule) -> Vec<String> {
    let number = |key: &str| head(text, key).next().map_or(1, |v| v.parse::<u32>().unwrap());
    let module = match Module::parse(text) {
        Ok(module) => module,
        Err(e) => return vec![format!("{name}: {e}")],
    };
    let mut out = Vec::new();
    for case in head(text, "case") {
        let (given, wanted) = case.split_once(" -> ").unwrap();
        let wanted = values(wanted);
        let mut device = Device::new(schedule);
        let mut input = values(given);
        input.resize(ROOM, 0);
        let (from, to) = (device.put(&input), device.put(&[0; ROOM]));
        let args = vec![Arg::U64(from), Arg::U64(to)];
        let mut launch = launch("test", number("blocks"), number("threads"), 0, args);
        launch.cluster[0] = number("cluster");
        if let Err(e) = device.launch(&module, &launch) {
            out.push(format!("{name}: {case}: {e}"));
            continue;
        }
        let got = device.get(to, wanted.len());
        if got != wanted {
            out.push(format!("{name}: {case}: got {got:02x?}, expected {wanted:02x?}"));
        }
        if !device.findings().is_empty() {
            out.push(format!("{name}: {case}: {}", device.said()));
        }
    }
    out
}

fn all(schedule: Schedule) {
    let table = files(&path("tests/ptx"), "ptx");
    assert!(table.len() > 230, "only {} files", table.len());
    let out: Vec<String> = table
        .iter()
        // The active lanes depend on the schedule.
        .filter(|file| {
            let of_active = ["activemask.ptx", "vote_ballot.ptx"].iter().any(|f| file.ends_with(f));
            !matches!(schedule, Schedule::Adversarial(_)) || !of_active
        })
        .flat_map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            assert!(text.contains("// case: "), "{}: no case", file.display());
            differences(&file.file_stem().unwrap().to_string_lossy(), &text, schedule)
        })
        .collect();
    assert!(out.is_empty(), "{}", out.join("\n"));
}

#[test]
fn instructions_yield_the_expected_results() {
    all(Schedule::Converged);
}

#[test]
fn instructions_yield_the_same_by_the_lowest_counter() {
    all(Schedule::MinPc);
}

#[test]
fn instructions_yield_the_same_in_any_order() {
    for seed in 0..8 {
        all(Schedule::Adversarial(seed));
    }
}

/// The opcodes of PTX 8.8.
const OPCODES: &str = "
    abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev \
    brkpt brx call clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard \
    div dp2a dp4a elect ex2 exit fence fma fns getctarank griddepcontrol isspacep istypep ld \
    ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier membar min mma mov movmatrix mul \
    mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red redux rem \
    ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore \
    stacksave stmatrix sub subc suld suq sured sust szext tanh tcgen05 tensormap testp tex tld4 \
    trap txq vabsdiff vadd vmad vmax vmin vote vset vshl vshr vsub wgmma wmma xor";

/// Opcodes that no result shows: hints, waits that end at once, and the ends of a launch.
const WITHOUT_RESULTS: &str = "applypriority brkpt createpolicy discard griddepcontrol nanosleep \
                               prefetch prefetchu setmaxnreg trap";

/// Opcodes whose operation does not depend on the type, or that have only one.
const UNTYPED: &str = "activemask bar barrier bra call cvta elect fence getctarank isspacep ld \
                       ldu mapa match mbarrier membar redux shfl st vote";

/// Types that the decoder accepts, although PTX lacks them.
const LENIENT: &str = "mad.bf16 mad.bf16x2 mad.f16 mad.f16x2 mov.bf16 mov.bf16x2 mov.f16 \
                       mov.f16x2 selp.bf16 selp.bf16x2 selp.f16 selp.f16x2 shl.s16 shl.s32 \
                       shl.s64 shl.u16 shl.u32 shl.u64";

/// Returns the opcodes that the decoder knows, each alone and with each type that it knows, such as
/// `add` and `add.u32`. An instruction without operands has another error if it is known.
fn known() -> BTreeSet<String> {
    const TYPES: &str = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f16 bf16 f16x2 bf16x2 f32 f64 pred";
    const MODIFIERS: [&str; 10] =
        ["", ".lo", ".hi", ".wide", ".approx", ".clamp", ".l.wrap", ".eq", ".finite", ".sync"];
    let mut probes = Vec::new();
    for opcode in OPCODES.split_whitespace() {
        for ending in ["", ".async.commit_group", ".u32.s32", ".eq.u32.s32", ".lo.u32.s32"] {
            probes.push((opcode.to_string(), format!("{opcode}{ending}")));
        }
        for ty in TYPES.split_whitespace() {
            for modifier in MODIFIERS {
                probes.push((format!("{opcode}.{ty}"), format!("{opcode}{modifier}.{ty}")));
            }
        }
    }
    let head = ".version 8.3\n.target sm_90\n.address_size 64\n.entry test() {\n";
    let body: String = probes.iter().map(|(_, text)| format!("{text};\n")).collect();
    let refused: BTreeSet<u32> = Module::missing(&format!("{head}{body}}}\n"))
        .into_iter()
        .filter(|e| ["supported subset", "supports only"].iter().any(|s| e.message.contains(s)))
        .map(|e| e.line)
        .collect();
    let lines = probes.into_iter().zip(5..).filter(|(_, line)| !refused.contains(line));
    lines
        .flat_map(|((name, _), _)| [name.split('.').next().unwrap().to_string(), name.clone()])
        .collect()
}

/// Each opcode that the decoder knows is in `tests/ptx` or in a table of a GPU's results. So is each
/// type of an arithmetic opcode.
#[test]
fn every_instruction_is_in_a_table() {
    let words = |text: &'static str| text.split_whitespace().collect::<BTreeSet<&str>>();
    let rows = text("tests/differential.tsv") + &text("tests/approximate.tsv");
    let rows = rows.lines().filter_map(|row| row.split('\t').nth(2));
    let files = files(&path("tests/ptx"), "ptx");
    let files: String = files.iter().map(|f| std::fs::read_to_string(f).unwrap() + ";").collect();
    let code = rows.map(str::to_string).chain(files.lines().map(str::to_string));
    let mut tested = BTreeSet::new();
    for text in code {
        for inst in text.split(';') {
            let opcode = inst.split_whitespace().find(|word| !word.starts_with('@'));
            let mut parts = opcode.unwrap_or_default().split('.');
            let opcode = parts.next().unwrap_or_default();
            tested.insert(opcode.to_string());
            tested.extend(parts.map(|part| format!("{opcode}.{part}")));
        }
    }
    let known = known();
    let opcodes = known.iter().filter(|name| !name.contains('.')).count();
    assert!(opcodes > 85, "{opcodes}: {known:?}");
    let (without, untyped, lenient) = (words(WITHOUT_RESULTS), words(UNTYPED), words(LENIENT));
    let missing: Vec<&String> = known
        .iter()
        .filter(|name| !tested.contains(*name) && !lenient.contains(name.as_str()))
        .filter(|name| match name.split_once('.') {
            None => !without.contains(name.as_str()),
            Some((opcode, _)) => !untyped.contains(opcode) && !without.contains(opcode),
        })
        .collect();
    assert!(missing.is_empty(), "no test runs {missing:?}");
    let idle: Vec<&&str> = without.iter().filter(|name| !known.contains(**name)).collect();
    assert!(idle.is_empty(), "the decoder does not know {idle:?}");
}

/// Tests the comparison itself, which must detect a wrong expected value.
#[test]
fn a_wrong_expectation_is_detected() {
    let text = std::fs::read_to_string(path("tests/ptx/add_s32.ptx")).unwrap();
    let wrong = text.replacen("-> s32 -2", "-> s32 -3", 1);
    assert_ne!(text, wrong);
    assert_eq!(differences("add_s32", &wrong, Schedule::Converged).len(), 1);
}
