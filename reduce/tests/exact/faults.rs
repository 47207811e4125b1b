//! Checks that the inputs of the tests detect faults that are inserted into the kernel for floats.

use std::{fs, path::Path};

use compiler::{Unit, nvrtc};
use samebits::{Accumulator, ExactElement, host};
use simt::Schedule;

use crate::{
    device::{Way, cut, play},
    inputs::{KINDS, draw},
};

/// The source files of the kernel, in order.
const SOURCES: [&str; 8] = [
    "exact_types",
    "vector",
    "answer",
    "exact",
    "exact_columns",
    "exact_floats",
    "exact_flight",
    "exact_entry",
];

/// A name, a line of the source, and its replacement.
const FAULTS: [(&str, &str, &str); 6] = [
    ("a carry that the exchange drops", "digits[tid - 1] >> 32 : 0", "digits[tid - 1] >> 63 : 0"),
    (
        "a carry that the rounding drops",
        "digit[e] = (u32)over;\n        over >>= 32;",
        "digit[e] = (u32)over;\n        over = 0;",
    ),
    ("the upper half of a column's sum", "? sum >> (32 - shift)", "? sum >> 63"),
    ("ties away from even", "(rest > 0 || kept % 2 == 1)", "true"),
    ("a rest that does not break a tie", "(u32)(rest << zeros) | below", "(u32)(rest << zeros)"),
    ("a row too few", "row = bits >> 18 & 0x1f80", "row = bits >> 18 & 0x1f00"),
];

/// Compiles the kernel after a replacement in its source, with the same options as the committed
/// PTX.
fn compiled(from: &str, to: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kernels");
    let read = |name: &&str| fs::read_to_string(folder.join(format!("{name}.cu"))).unwrap();
    let source: String = SOURCES.iter().map(read).collect();
    assert_eq!(
        source.matches(from).count(),
        1,
        "{from:?} does not occur exactly once in the source"
    );
    let source = source.replace(from, to);
    let ptx = f32::KERNEL.ptx(9);
    let stamp = ptx.lines().find(|line| line.contains("--gpu-architecture")).unwrap();
    let options = stamp.split_whitespace().filter(|word| word.starts_with('-'));
    let options = options.filter(|word| !word.starts_with("--gpu")).map(str::to_owned).collect();
    let unit = Unit { source: &source, file: "kernel.cu", architecture: 70, options };
    let library = nvrtc::Library::find().expect("NVRTC is installed: cargo x nvrtc");
    library.compile(&unit).unwrap()
}

/// Returns the number of inputs for which the PTX computes a result other than the host's.
fn caught(ptx: &str, inputs: &[(String, Vec<f32>)]) -> usize {
    let wrong = |(name, values): &&(String, Vec<f32>)| {
        let way = Way { resident: 3, schedule: Schedule::Converged, shift: 0, epoch: 0 };
        let expected = host::exact_sum(values).to_bits64();
        play(ptx, values, cut(values, way.resident), way, 1, name) != [expected]
    };
    inputs.iter().filter(wrong).count()
}

#[test]
#[ignore = "a sweep: cargo x ci --sweeps"]
fn planted_faults_are_caught() {
    let lengths = [3, 33, 257, 1025, 9001];
    let input = |seed: usize| {
        let (kind, n) = (seed % KINDS.len(), lengths[seed / KINDS.len() % lengths.len()]);
        let n = if KINDS[kind] == "ill-conditioned" { n.min(200) } else { n };
        (format!("{} of {n}", KINDS[kind]), draw::<f32>(kind, n, seed as u64))
    };
    let inputs: Vec<_> = (0..240).map(input).collect();
    assert_eq!(caught(&f32::KERNEL.ptx(9), &inputs), 0, "the kernel without a fault");
    for (name, from, to) in FAULTS {
        let wrong = caught(&compiled(from, to), &inputs);
        println!("{name}: {wrong} of {} inputs have other bits", inputs.len());
        assert!(wrong > 0, "{name} is not caught");
    }
}

/// Checks the bound on the number of additions to a word. A word can take 65,535 of the largest
/// elements of a row, because 2^16 × 2^15 is 2^31. A lane adds whole vectors of four elements, so
/// it adds at most 65,532.
#[test]
#[ignore = "a sweep: cargo x ci --sweeps"]
fn a_bound_that_is_off_by_one_is_caught() {
    let largest = f32::from_bits((132 << 23) - 1);
    let way = Way { resident: 1, schedule: Schedule::Converged, shift: 0, epoch: 0 };
    for (each, right) in [(65_532, true), (65_536, false)] {
        // All vectors are in one chunk, and each of the 32 columns gets the same number of
        // elements.
        let values = vec![largest; 32 * each];
        let one_chunk = (1, values.len() as u32 / 4);
        let found = play(&f32::KERNEL.ptx(9), &values, one_chunk, way, 1, "one chunk");
        let equal = found == [host::exact_sum(&values).to_bits64()];
        println!(
            "{each} elements in a column: {}",
            if equal { "the bits of the host" } else { "other bits" }
        );
        assert_eq!(equal, right, "{each} elements in a column");
    }
}
