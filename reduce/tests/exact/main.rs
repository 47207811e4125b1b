//! Tests exact sums against sums of big integers.

#[path = "../all/bytes.rs"]
mod bytes;
mod device;
mod faults;
mod inputs;
mod reference;
mod rows;

use bytes::Bytes;
use device::{Way, compare, compare_dot, compare_once};
use half::{bf16, f16};
use inputs::{Drawn, KINDS, draw};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};
use reference::{Wide, check_dot, check_norm, check_sum};
use samebits::{ExactAccumulator, ExactElement, ExactFloat, Kernel, Rows, host, launch};
use simt::Schedule;

fn bits<A: ExactFloat>(value: A) -> u64 {
    value.into().to_bits()
}

/// Checks the sum of one input, the sum of its shuffled elements, and the sum of several
/// accumulators, which are converted to bytes and back.
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
        merged.merge(&ExactAccumulator::from_bytes(&part.to_bytes()).unwrap()).unwrap();
    }
    assert_eq!(bits(merged.round()), bits(sum), "{input}, in {} parts", parts.len());
    assert_eq!(merged.to_bytes(), whole.to_bytes(), "{input}: equal sums have equal bytes");

    let (a, b) = values.split_at(values.len() / 2);
    let b = &b[..a.len()];
    check_dot(a, b, host::exact_dot(a, b).unwrap(), &format!("dot of {input}"));
    check_dot(a, a, host::exact_sum_of_squares(a), &format!("squares of {input}"));
    check_norm(a, host::exact_norm(a), &format!("norm of {input}"));
}

/// Calls a function with the kinds, lengths and seeds of inputs. Lengths are drawn log-uniformly.
fn inputs(count: u64, longest: f64, mut each: impl FnMut(usize, usize, u64)) {
    let rng = &mut ChaCha8Rng::seed_from_u64(34);
    for seed in 0..count {
        let n = longest.powf(rng.random::<f64>()) as usize;
        let kind = seed as usize % KINDS.len();
        // The construction of ill-conditioned data takes n² additions.
        each(kind, if KINDS[kind] == "ill-conditioned" { n.min(200) } else { n }, seed);
    }
}

/// Calls a function for one of the four types, which the seed selects.
macro_rules! by_type {
    ($seed:expr, $function:ident($($argument:expr),*)) => {
        match $seed / KINDS.len() as u64 % 4 {
            0 => $function::<f32>($($argument),*),
            1 => $function::<f64>($($argument),*),
            2 => $function::<f16>($($argument),*),
            _ => $function::<bf16>($($argument),*),
        }
    };
}

#[test]
fn a_thousand_inputs() {
    inputs(960, 1024.0, |kind, n, seed| by_type!(seed, try_one(kind, n, seed)));
}

#[test]
#[ignore = "a sweep: cargo x ci --sweeps"]
fn ten_thousand_inputs_on_the_host() {
    inputs(sweep(), 65536.0, |kind, n, seed| by_type!(seed, try_one(kind, n, seed)));
}

#[test]
#[ignore = "a sweep: cargo x ci --sweeps"]
fn ten_thousand_inputs_on_the_interpreter() {
    inputs(sweep(), 65536.0, |kind, n, seed| by_type!(seed, interpret_one(kind, n, seed)));
}

/// Checks inputs that repeat a drawn input until one block adds more elements than a word or a
/// register can take before it is emptied.
#[test]
#[ignore = "a sweep: cargo x ci --sweeps"]
fn five_hundred_inputs_beyond_the_bound_of_a_column() {
    fn long<T: Drawn + Bytes>(kind: usize, n: usize, seed: u64) {
        let few: Vec<T> = draw(kind, n.max(1), seed);
        // The input has an eighth more elements than the longest chunk.
        let chunk =
            T::CUT.chunks(1 << 40, size_of::<T>() as u64, 1).1 as usize * 16 / size_of::<T>();
        let many: Vec<T> = few.into_iter().cycle().take(chunk + chunk / 8 + 259).collect();
        let one = Way { resident: 1, schedule: Schedule::Converged, shift: 1, epoch: 0 };
        let name = std::any::type_name::<T>();
        compare_once(&many, one, &format!("{} of {n} {name}, repeated, seed {seed}", KINDS[kind]));
    }
    inputs(sweep() / 20, 4096.0, |kind, n, seed| by_type!(seed, long(kind, n, seed)));
}

/// The number of inputs in a sweep. `EXACT_INPUTS` changes it.
fn sweep() -> u64 {
    std::env::var("EXACT_INPUTS").map_or(10_080, |count| count.parse().unwrap())
}

/// Checks in the interpreter that one input has the host's result and accumulator.
fn interpret_one<T: Drawn + Bytes>(kind: usize, n: usize, seed: u64) {
    let way = Way {
        resident: [528, 1, 3, 2][seed as usize % 4],
        // Other schedules take longer, and find nothing further on long inputs.
        schedule: if n < 2048 && seed.is_multiple_of(5) {
            Schedule::MinPc
        } else {
            Schedule::Converged
        },
        shift: seed % 3 % 2,
        epoch: (seed % 2 * 7) as u32,
    };
    let input = format!("{} of {n} {}, seed {seed}", KINDS[kind], std::any::type_name::<T>());
    compare(&draw::<T>(kind, n, seed), way, &input);
}

/// Tests the kernels in the interpreter, for awkward lengths, chunks, addresses and schedules.
fn kernels<T: Drawn + Bytes>(lengths: &[usize]) {
    let ways = [
        Way { resident: 528, schedule: Schedule::Converged, shift: 0, epoch: 0 },
        Way { resident: 3, schedule: Schedule::Converged, shift: 1, epoch: 7 },
        Way { resident: 2, schedule: Schedule::MinPc, shift: 0, epoch: u32::MAX - 2 },
        Way { resident: 1, schedule: Schedule::Converged, shift: 1, epoch: 0 },
        Way { resident: 5, schedule: Schedule::Adversarial(3), shift: 1, epoch: 0 },
    ];
    for (kind, name) in KINDS.iter().enumerate() {
        // Lengths with several chunks take long to interpret, so only a few inputs have one.
        let long = if kind % 4 == 3 { &[20_011][..] } else { &[] };
        // In an unaligned slice, the second chunk begins after the last vector.
        let edge =
            [T::CUT.chunks(1, size_of::<T>() as u64, 1).1 as usize * (16 / size_of::<T>()) + 1];
        let edge = if kind % 4 == 1 { &edge[..] } else { &[] };
        for (k, &n) in lengths.iter().chain(long).chain(edge).enumerate() {
            let n = if *name == "ill-conditioned" { n.min(200) } else { n };
            let input = format!("{name} of {n} {}", std::any::type_name::<T>());
            let values: Vec<T> = draw(kind, n, n as u64);
            compare(&values, ways[(kind + k) % ways.len()], &input);
        }
    }
}

const AWKWARD: [usize; 8] = [0, 1, 2, 31, 33, 65, 257, 1025];

/// Checks chunks of the maximum length that have the largest elements of a row. If the maximum were
/// too large, a word or a register would overflow.
#[test]
#[ignore = "a sweep: cargo x ci --sweeps"]
fn kernels_beyond_the_bound_of_a_column() {
    let one = Way { resident: 1, schedule: Schedule::Converged, shift: 0, epoch: 0 };
    let [smallest, largest] = [128 << 23 | 1, (132 << 23) - 1].map(f32::from_bits);
    let mut values = vec![largest; (1 << 21) + (1 << 19)];
    values.extend([smallest; 4096]);
    compare_once(&values, one, "the largest of a row, then the smallest");
    compare_once(&vec![16.0f64.next_down(); (1 << 20) + (1 << 18)], one, "f64 below 16");
    let ones = vec![1.0; values.len()];
    compare_dot(&values, &ones, one, "the largest of a row of products, then the smallest");
    compare_dot(&vec![-f64::MAX; 300_000], &vec![f64::MAX; 300_000], one, "the largest products");
    let [smallest, largest] = [128 << 7 | 1, (136 << 7) - 1].map(bf16::from_bits);
    let mut values = vec![largest; (1 << 21) + (1 << 19)];
    values.extend([smallest; 4096]);
    compare_once(&values, one, "bf16: the largest of a row, then the smallest");
    let mut values = vec![f16::MAX; (1 << 22) + (1 << 20)];
    values.extend([f16::from_bits(1); 4096]);
    compare_once(&values, one, "f16: the largest, then the smallest");
}

/// Checks the numbers of threads and of resident blocks. If a cut and its kernel disagree about
/// these numbers, a launch fails or is slower.
#[test]
fn kernels_are_compiled_for_the_blocks_of_their_cuts() {
    fn check(kernel: Kernel, threads: u32, resident: u32) {
        let bounds = [format!(".maxntid {threads},"), format!(".minnctapersm {resident}")];
        for bound in bounds {
            assert!(
                kernel.ptx(9).lines().any(|line| line.starts_with(&bound)),
                "{}",
                kernel.name()
            );
        }
    }
    fn both<T: ExactElement>() {
        check(T::KERNEL, T::CUT.threads, T::CUT.resident);
        check(T::DOT, T::DOT_CUT.threads, T::DOT_CUT.resident);
        check(T::EXACT_ROWS, launch::Cut::ROW_THREADS, 4);
    }
    both::<f32>();
    both::<f64>();
    both::<f16>();
    both::<bf16>();
}

#[test]
fn kernels_of_f32() {
    kernels::<f32>(&AWKWARD);
}

/// Checks dot products in the interpreter, both with equal and with different alignments of the two
/// slices.
fn dots<T: Drawn + Bytes>() {
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
fn dot_products_of_doubles() {
    dots::<f64>();
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
    values.push(f32::from_bits(0x7300_0000)); // This is 2^103, half a unit in the last place of the largest number.
    assert_eq!(host::exact_sum(&values), f32::INFINITY, "a tie beyond the largest number");
    values.push(-f32::from_bits(1));
    assert_eq!(host::exact_sum(&values), f32::MAX, "just below the tie");
}

#[test]
fn signs_of_zero() {
    let zero = |values: &[f64]| host::exact_sum(values).to_bits() >> 63;
    assert_eq!([zero(&[]), zero(&[-0.0]), zero(&[-0.0, 0.0]), zero(&[1.0, -1.0])], [0, 1, 0, 0]);
    assert_eq!(zero(&[-0.0; 200_000]), 1);
    let dot = |a: f32, b: f32| host::exact_dot(&[a], &[b]).unwrap().to_bits();
    assert_eq!([dot(-0.0, 5.0), dot(0.0, 5.0)], [0x8000_0000, 0]);
    assert_eq!(dot(0.0, f32::INFINITY), 0x7fff_ffff);
}

#[test]
fn slices_of_two_lengths_have_no_dot_product() {
    let refused = |a: usize, b: usize| {
        let (a, b) = (vec![1.0f64; a], vec![1.0f64; b]);
        let mut sum = ExactAccumulator::<f64>::new();
        let error = sum.add_products(&a, &b).unwrap_err().to_string();
        assert_eq!(sum, ExactAccumulator::new(), "a refused call changes nothing");
        assert_eq!(error, host::exact_dot(&a, &b).unwrap_err().to_string());
        error
    };
    for (a, b) in [(3, 4), (4, 3), (0, 1), (1 << 17, 1)] {
        let both = format!("the first has {a} elements, but the second has {b}");
        assert!(refused(a, b).contains(&both), "{}", refused(a, b));
    }
}

#[test]
fn rows_are_sums() {
    let values: Vec<f32> = draw(3, 6000, 1);
    for rows in [Rows::new(100, 60), Rows::new(60, 97).pitch(100), Rows::new(1, 6000)] {
        let sums = host::exact_sum_rows(&values, rows).unwrap();
        let (count, elements, pitch) = rows.numbers();
        assert_eq!(sums.len() as u64, count);
        for (row, sum) in values.chunks(pitch as usize).zip(sums) {
            assert_eq!(bits(sum), bits(host::exact_sum(&row[..elements as usize])), "{rows:?}");
        }
    }
    for (rows, reason) in [
        (Rows::new(0, 4), "0 rows of 4"),
        (Rows::new(4, 0), "4 rows of 0"),
        (Rows::new(2, 3001), "end at element 6002"),
        (Rows::new(3, 4).pitch(3), "at least 4"),
    ] {
        let error = host::exact_sum_rows(&values, rows).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn roots_of_sums_have_the_sign_and_the_special_values_of_a_root() {
    let root = |values: &[f32]| {
        let mut sum = ExactAccumulator::<f32>::new();
        sum.add(values);
        sum.round_sqrt().to_bits()
    };
    let of = |value: f32| value.to_bits();
    assert_eq!(root(&[]), 0);
    assert_eq!(root(&[-0.0]), of(-0.0));
    assert_eq!(root(&[4.0, 5.0]), of(3.0));
    for nan in
        [&[-1.0][..], &[f32::NAN, 1.0], &[f32::NEG_INFINITY], &[f32::INFINITY, -f32::INFINITY]]
    {
        assert_eq!(root(nan), 0x7fff_ffff, "{nan:?}");
    }
    assert_eq!(root(&[f32::INFINITY, -1.0]), of(f32::INFINITY));
    assert_eq!(host::exact_norm(&[f32::MAX; 2]), f32::INFINITY);
    assert_eq!(host::exact_norm(&[f32::MAX, 1.0]), f32::MAX);
    assert_eq!(host::exact_norm(&[f32::from_bits(1); 4]).to_bits(), 2);
    assert_eq!(host::exact_norm(&[f64::from_bits(3); 1]).to_bits(), 3);
}

#[test]
fn an_accumulator_that_is_merged_with_itself_is_full_at_last() {
    let mut sum = ExactAccumulator::<f32>::new();
    sum.add(&[-f32::MAX]);
    for doubled in 0..62 {
        assert_eq!(sum.count(), 1 << doubled);
        sum.merge(&sum.clone()).unwrap();
    }
    assert_eq!(sum.round(), f32::NEG_INFINITY);
    let error = sum.merge(&sum.clone()).unwrap_err().to_string();
    assert!(error.contains("of 4611686018427387904 elements was merged"), "{error}");
    assert_eq!((sum.count(), sum.round()), (1 << 62, f32::NEG_INFINITY));
    assert_eq!(ExactAccumulator::from_bytes(&sum.to_bytes()).unwrap(), sum);
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
        (changed(4, 9), "version 9, but this crate reads version 1"),
        (changed(5, 64), "64 bits instead of 32"),
        (changed(6, 64), "flags that only a newer version defines"),
        (changed(15, 128), "but the maximum is"),
    ] {
        assert!(error.contains(reason), "{error}");
    }
}
