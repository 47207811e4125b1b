//! Runs a small PTX file for each instruction (`tests/ptx/*.ptx`), and compares the results.
//!
//! The head of each file lists the cases: `// case: TYPE VALUE ... -> TYPE VALUE ...`. The values
//! are consecutive in memory, aligned to their sizes. An H200 gave the same results (`on_gpu.py`).

use crate::common::{Device, files, launch, path};
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

/// Tests the comparison itself, which must detect a wrong expected value.
#[test]
fn a_wrong_expectation_is_detected() {
    let text = std::fs::read_to_string(path("tests/ptx/add_s32.ptx")).unwrap();
    let wrong = text.replacen("-> s32 -2", "-> s32 -3", 1);
    assert_ne!(text, wrong);
    assert_eq!(differences("add_s32", &wrong, Schedule::Converged).len(), 1);
}
