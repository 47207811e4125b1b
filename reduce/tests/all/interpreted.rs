//! Runs every kernel on the interpreter. For any device and schedule, the result must be
//! bit-identical to that of `samebits::host`, and there must be no findings.

use std::{any::type_name, ops::RangeInclusive};

use crate::drawn::{self, Drawn, on_the_host, slice};
use crate::play::{Bytes, Way, play};
use half::{bf16, f16};
use samebits::{Family, Operation, Shape, shape::pick};
use simt::Schedule;

const PLAIN: Way =
    Way { major: 9, resident: 264, schedule: Schedule::Converged, shift: 0, epoch: 0 };

/// Returns setups with both PTX modules, and with several numbers of blocks and alignments of the
/// slice.
fn ways() -> [Way; 6] {
    [
        PLAIN,
        Way { major: 7, shift: 1, epoch: 7, ..PLAIN },
        Way { resident: 3, shift: 1, ..PLAIN },
        Way { major: 7, ..PLAIN },
        Way { resident: 1, epoch: u32::MAX - 1, ..PLAIN },
        Way { resident: 5, schedule: Schedule::MinPc, ..PLAIN },
    ]
}

fn bytes<T: Bytes + Copy>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|value| value.bytes()).collect()
}

/// An awkward size for every shape, in bytes.
const SHAPES: [usize; 4] = [5_002, 20_010, 70_026, 200_026];

/// Awkward numbers of elements.
const AWKWARD: [usize; 13] = [0, 1, 2, 31, 32, 33, 63, 65, 255, 257, 1000, 1023, 1025];
/// Sizes around the boundaries between shapes, in bytes.
const BORDERS: [usize; 9] = [
    16 << 10,
    (16 << 10) + 8,
    (48 << 10) - 8,
    48 << 10,
    (48 << 10) + 8,
    100_008,
    192 << 10,
    (192 << 10) + 8,
    300_024,
];

fn holds<T: Drawn + Bytes>(n: usize, operation: Operation, ways: &[Way]) {
    let values = slice::<T>(n, operation);
    let (expected, bytes) = (on_the_host(&values, operation), bytes(&values));
    for way in ways {
        let bits = play::<T>(&bytes, n as u64, operation, *way);
        let what = type_name::<T>();
        assert_eq!(
            bits, expected,
            "{operation:?} of {n} {what}, {way:?}: {bits:#x}, not {expected:#x}"
        );
    }
}

fn check<T: Drawn + Bytes>() {
    let borders = BORDERS.iter().map(|bytes| bytes / size_of::<T>());
    for (operation, turn) in drawn::operations::<T>().into_iter().zip(0..) {
        // All operations share the templates of the shapes, so only the sum needs all setups.
        for (n, i) in AWKWARD.into_iter().zip(turn..) {
            let all = ways();
            let some = if operation == Operation::Sum { &all } else { &all[i % 6..=i % 6] };
            holds::<T>(n, operation, some);
        }
        // The interpretation of a long slice is slow, so each length has only one setup, which
        // differs between operations, and only the sum of `f32` has all lengths: other types have
        // every second one, and other operations every third. The sweeps have them all.
        let step = match operation {
            Operation::Sum if type_name::<T>() == "f32" => 1,
            Operation::Sum => 2,
            _ => 3,
        };
        let skipped = (turn + size_of::<T>().ilog2() as usize) % step;
        for (n, i) in borders.clone().zip(turn..).skip(skipped).step_by(step) {
            holds::<T>(n, operation, &[ways()[i % 6]]);
        }
    }
    schedules::<T>(1..=if type_name::<T>() == "f32" { 3 } else { 1 });
}

/// Tests other schedules, which cycle through the operations, PTX modules, numbers of blocks and
/// alignments of the slice.
fn schedules<T: Drawn + Bytes>(seeds: RangeInclusive<u64>) {
    let schedules = seeds.map(Schedule::Adversarial).chain([Schedule::MinPc]);
    for (schedule, i) in schedules.zip(0..) {
        for bytes in SHAPES {
            let way = Way {
                schedule,
                major: if i % 4 == 1 { 7 } else { 9 },
                resident: [2, 7, 264][i % 3],
                shift: u64::from(i % 5 == 3),
                epoch: 0,
            };
            holds::<T>(bytes / size_of::<T>(), drawn::operations::<T>()[i % 3], &[way]);
        }
    }
}

/// Tests all setups at the boundaries between shapes, and twenty adversarial schedules.
fn sweep<T: Drawn + Bytes>() {
    for operation in drawn::operations::<T>() {
        for bytes in BORDERS {
            holds::<T>(bytes / size_of::<T>(), operation, &ways());
        }
    }
    schedules::<T>(1..=20);
}

macro_rules! types {
    ($($test:ident $type:ty;)+) => {
        $(
            #[test]
            fn $test() {
                check::<$type>();
            }
        )+

        mod sweeps {
            use super::*;
            $(
                #[test]
                #[ignore = "a sweep: cargo x ci --sweeps"]
                fn $test() {
                    sweep::<$type>();
                }
            )+
        }
    };
}
types! {
    f32s f32; f64s f64; i32s i32; u32s u32; i64s i64; u64s u64; f16s f16; bf16s bf16;
    i8s i8; u8s u8; i16s i16; u16s u16; bools bool;
}

/// Tests lengths far from powers of two, with more vectors per thread than are in flight, and with
/// more chunks than one warp collects. If few blocks are resident, the blocks draw tickets for
/// their chunks.
#[test]
fn many_chunks_of_many_vectors() {
    for (n, parts) in [(390_001, 32), (650_001, 48), (670_003, 160)] {
        let Some(Shape::Chunks { chunks: picked, .. }) = pick(n, 4) else { panic!("chunks") };
        assert_eq!(picked, parts, "of {n}");
        let ways = [PLAIN, Way { resident: 28, shift: 1, ..PLAIN }];
        holds::<f32>(n as usize, Operation::Sum, &ways);
    }
}

#[test]
fn only_nans_give_the_canonical_nan() {
    for n in [1, 3, 5000, 20_000, 140_000] {
        let values = vec![-f32::NAN; n];
        for &operation in Operation::ALL {
            let bits = play::<f32>(&bytes(&values), n as u64, operation, PLAIN);
            assert_eq!(bits, 0x7fff_ffff, "{operation:?} of {n}");
        }
        let halves = vec![f16::from_bits(0xfe01); n];
        for major in [7, 9] {
            let way = Way { major, ..PLAIN };
            let bits = play::<f16>(&bytes(&halves), n as u64, Operation::Min, way);
            assert_eq!(bits, 0x7fff_ffff, "of {n} halves, compute capability {major}");
        }
    }
    let values = vec![-f64::NAN; 5000];
    assert_eq!(play::<f64>(&bytes(&values), 5000, Operation::Max, PLAIN), 0x7fff_ffff_ffff_ffff);
}

/// Checks that a kernel is launched with the number of threads that its PTX declares.
#[test]
fn threads_match_the_ptx() {
    for family in Family::ALL {
        for operation in Operation::ALL {
            let kernel = samebits::kernel::<f32>(*operation, family);
            let threads = format!(".maxntid {}, 1, 1", family.threads());
            assert!(kernel.ptx(9).contains(&threads), "{}", kernel.name());
        }
    }
}

/// Checks the length of each PTX module, because the first sum in a program compiles one kernel,
/// and the compile time grows with this length.
#[test]
fn ptx_modules_are_short() {
    for family in Family::ALL {
        for kernel in [
            samebits::kernel::<f32>(Operation::Sum, family),
            samebits::kernel::<f64>(Operation::Sum, family),
            samebits::kernel::<i64>(Operation::Min, family),
            samebits::kernel::<f16>(Operation::Sum, family),
            samebits::kernel::<bf16>(Operation::Sum, family),
        ] {
            let length = kernel.ptx(9).len();
            assert!(length <= 40_000, "{}: {length} bytes", kernel.name());
        }
    }
}

/// Checks the total size of the templates, because every program that uses the crate contains all
/// of them. Exact sums have about 1 MB of PTX of their own.
#[test]
fn all_texts_together_are_small() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ptx");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let sizes: Vec<u64> = files
        .filter(|file| !file.file_name().to_string_lossy().contains("exact"))
        .map(|file| file.metadata().unwrap().len())
        .collect();
    let (files, bytes) = (sizes.len(), sizes.iter().sum::<u64>());
    assert!(files <= 500 && bytes <= 4_000_000, "{bytes} bytes of PTX in {files} files");
}
