//! Exact sums against big integers.

#[path = "../bytes/mod.rs"]
mod bytes;
mod device;
mod inputs;
mod reference;

use bytes::Bytes;
use device::{Way, compare, compare_dot};
use half::{bf16, f16};
use inputs::{Drawn, KINDS, draw};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};
use reference::{Wide, check_dot, check_sum};
use samebits::{ExactAccumulator, ExactFloat, ExactProduct, host};
use simt::Schedule;

fn bits<A: ExactFloat>(value: A) -> u64 {
    value.into().to_bits()
}

/// One input: its sum, the same shuffled, and split over several accumulators that travel as bytes.
fn try_one<T: Drawn>(kind: usize, n: usize, seed: u64)
where
    T::Output: Wide,
{
    let input = format!("{} of {n} {}, seed {seed}", KINDS[kind], std::any::type_name::<T>());
    let mut values: Vec<T> = draw(kind, n, seed);
    let sum = host::exact_sum(&values);
    check_sum(&values, sum, &input);

    let rng = &mut ChaCha8Rng::seed_from_u64(seed + 1);
    values.shuffle(rng);
    assert_eq!(bits(host::exact_sum(&values)), bits(sum), "{input}, shuffled");

    let mut parts: Vec<ExactAccumulator<T::Output>> = Vec::new();
    parts.resize_with(rng.random_range(1..=7), ExactAccumulator::new);
    let mut rest = &values[..];
    while !rest.is_empty() {
        let (some, others) = rest.split_at(rng.random_range(1..=rest.len()));
        let part = rng.random_range(0..parts.len());
        parts[part].add(some);
        rest = others;
    }
    let mut whole = ExactAccumulator::<T::Output>::new();
    whole.add(&values);
    parts.shuffle(rng);
    let mut merged = ExactAccumulator::<T::Output>::new();
    for part in &parts {
        merged.merge(&ExactAccumulator::from_bytes(&part.to_bytes()).unwrap());
    }
    assert_eq!(bits(merged.round()), bits(sum), "{input}, in {} parts", parts.len());
    assert_eq!(merged.to_bytes(), whole.to_bytes(), "{input}: equal sums have equal bytes");

    let (a, b) = values.split_at(values.len() / 2);
    let b = &b[..a.len()];
    check_dot(a, b, host::exact_dot(a, b), &format!("dot of {input}"));
    check_dot(a, a, host::exact_sum_of_squares(a), &format!("squares of {input}"));
}

/// Inputs of lengths drawn log-uniformly.
fn try_all(inputs: usize, longest: f64) {
    let rng = &mut ChaCha8Rng::seed_from_u64(34);
    for seed in 0..inputs as u64 {
        let n = longest.powf(rng.random::<f64>()) as usize;
        let kind = seed as usize % KINDS.len();
        // The construction of ill-conditioned data takes n² additions.
        let n = if KINDS[kind] == "ill-conditioned" { n.min(200) } else { n };
        match (seed as usize / KINDS.len()) % 4 {
            0 => try_one::<f32>(kind, n, seed),
            1 => try_one::<f64>(kind, n, seed),
            2 => try_one::<f16>(kind, n, seed),
            _ => try_one::<bf16>(kind, n, seed),
        }
    }
}

#[test]
fn a_thousand_inputs() {
    try_all(960, 1024.0);
}

#[test]
#[ignore = "a sweep: cargo x ci --sweeps"]
fn ten_thousand_inputs() {
    try_all(10_080, 65536.0);
}

/// Kernels on the interpreter, for awkward lengths, cuts, addresses and schedules.
fn kernels<T: Drawn + Bytes>(lengths: &[usize]) {
    let ways = [
        Way { resident: 528, schedule: Schedule::Converged, shift: 0, epoch: 0 },
        Way { resident: 3, schedule: Schedule::Converged, shift: 1, epoch: 7 },
        Way { resident: 2, schedule: Schedule::MinPc, shift: 0, epoch: u32::MAX - 2 },
        Way { resident: 1, schedule: Schedule::Converged, shift: 1, epoch: 0 },
        Way { resident: 5, schedule: Schedule::Adversarial(3), shift: 1, epoch: 0 },
    ];
    for (kind, name) in KINDS.iter().enumerate() {
        // Several chunks take long to interpret.
        let long = if kind % 4 == 3 { &[20_011][..] } else { &[] };
        for (k, &n) in lengths.iter().chain(long).enumerate() {
            let n = if *name == "ill-conditioned" { n.min(200) } else { n };
            let input = format!("{name} of {n} {}", std::any::type_name::<T>());
            let values: Vec<T> = draw(kind, n, n as u64);
            compare(&values, ways[(kind + k) % ways.len()], &input);
        }
    }
}

const AWKWARD: [usize; 8] = [0, 1, 2, 31, 33, 65, 257, 1025];

/// A thread adds more than 2^14 of the largest elements of a bin, and more than 2^12 to a register, if a chunk is
/// too long.
#[test]
#[ignore = "a sweep: cargo x ci --sweeps"]
fn kernels_beyond_the_bound_of_a_bin() {
    let one = Way { resident: 1, schedule: Schedule::Converged, shift: 0, epoch: 0 };
    let [smallest, largest] = [128 << 23 | 1, (144 << 23) - 1].map(f32::from_bits);
    let mut values = vec![largest; (1 << 22) + (1 << 20)];
    values.extend([smallest; 4096]);
    compare(&values, one, "the largest of a bin, then the smallest");
    compare(&vec![1.0f64.next_down(); (1 << 21) + 5], one, "f64 below 1");
}

#[test]
fn kernels_of_f32() {
    kernels::<f32>(&AWKWARD);
}

/// Dot products on the interpreter: the second slice in line with the first, and beside it.
fn dots<T: Drawn + ExactProduct + Bytes>() {
    let width = 16 / size_of::<T>() as u64;
    let ways = [
        Way { resident: 528, schedule: Schedule::Converged, shift: 0, epoch: 0 },
        Way { resident: 3, schedule: Schedule::MinPc, shift: 1, epoch: 7 },
        Way { resident: 1, schedule: Schedule::Converged, shift: width, epoch: 0 },
    ];
    for (kind, name) in KINDS.iter().enumerate() {
        let long = if kind % 5 == 3 { &[20_011][..] } else { &[] };
        for (k, &n) in [0, 1, 7, 257, 1025].iter().chain(long).enumerate() {
            let n = if *name == "ill-conditioned" { n.min(200) } else { n };
            let input = format!("{name} of {n} {}", std::any::type_name::<T>());
            let (a, b) = (draw::<T>(kind, n, 1), draw::<T>(kind, n, 2));
            let both = a.len().min(b.len());
            let way = ways[(kind + k) % ways.len()];
            compare_dot(&a[..both], &b[..both], way, &input);
            compare_dot(&a, &a, way, &format!("squares of {input}"));
        }
    }
}

#[test]
fn dot_products_of_floats_and_halves() {
    dots::<f32>();
    dots::<f16>();
    dots::<bf16>();
}

#[test]
fn kernels_of_f64() {
    kernels::<f64>(&AWKWARD);
}

#[test]
fn kernels_of_f16() {
    kernels::<f16>(&AWKWARD);
}

#[test]
fn kernels_of_bf16() {
    kernels::<bf16>(&AWKWARD);
}

#[test]
fn many_of_the_largest_cancel_without_overflow() {
    let n = 100_000;
    let mut values = vec![f32::MAX; n];
    values.extend(vec![-f32::MAX; n - 1]);
    assert_eq!(host::exact_sum(&values), f32::MAX);
    values.push(f32::from_bits(0x7300_0000)); // 2^103: half of the largest number's last place.
    assert_eq!(host::exact_sum(&values), f32::INFINITY, "a tie beyond the largest number");
    values.push(-f32::from_bits(1));
    assert_eq!(host::exact_sum(&values), f32::MAX, "just below the tie");
}

#[test]
fn signs_of_zero() {
    let zero = |values: &[f64]| host::exact_sum(values).to_bits() >> 63;
    assert_eq!([zero(&[]), zero(&[-0.0]), zero(&[-0.0, 0.0]), zero(&[1.0, -1.0])], [0, 1, 0, 0]);
    assert_eq!(zero(&[-0.0; 200_000]), 1);
    let dot = |a: f32, b: f32| host::exact_dot(&[a], &[b]).to_bits();
    assert_eq!([dot(-0.0, 5.0), dot(0.0, 5.0)], [0x8000_0000, 0]);
    assert_eq!(dot(0.0, f32::INFINITY), 0x7fff_ffff);
}

#[test]
fn rows_are_sums() {
    let values: Vec<f32> = draw(3, 6000, 1);
    let rows = host::exact_sum_rows(&values, 60);
    assert_eq!(rows.len(), 100);
    for (row, sum) in values.chunks(60).zip(rows) {
        assert_eq!(sum.to_bits(), host::exact_sum(row).to_bits());
    }
}

#[test]
fn bytes_that_are_no_accumulator_are_refused() {
    let mut sum = ExactAccumulator::<f32>::new();
    sum.add(&[1.5f32, -f32::INFINITY]);
    let bytes = sum.to_bytes();
    assert_eq!(bytes.len(), 96);
    assert_eq!(ExactAccumulator::<f64>::new().to_bytes().len(), 552);
    assert_eq!(ExactAccumulator::<f32>::from_bytes(&bytes).unwrap(), sum);
    let refused =
        |bytes: &[u8]| ExactAccumulator::<f32>::from_bytes(bytes).unwrap_err().to_string();
    let changed = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        refused(&bytes)
    };
    for (error, reason) in [
        (refused(&bytes[..3]), "3 bytes instead of 96"),
        (refused(&bytes[..95]), "95 bytes instead of 96"),
        (changed(0, 0), "begin with"),
        (changed(4, 9), "version 9; this crate reads 1"),
        (changed(5, 64), "64 bits instead of 32"),
        (changed(6, 64), "flags of a newer version"),
        (changed(15, 128), "the most are"),
    ] {
        assert!(error.contains(reason), "{error}");
    }
}
