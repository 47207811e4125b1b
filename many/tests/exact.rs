//! Tests exact sums over ranks that are interpreters. For any split, any number of ranks and any
//! order, the bits of the result and the accumulator must be those of one call on the host.

use half::{bf16, f16};
use many::{Datum, played};
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use reduce::{Accumulator, ExactAccumulator, ExactElement, host};

/// Returns elements of both signs and of very different sizes, whose floating-point sum depends on
/// the order of the additions.
fn elements<T: Datum>(n: usize, rng: &mut StdRng) -> Vec<T> {
    (0..n).map(|_| T::drawn(rng.random())).collect()
}

/// Cuts elements into shards of random lengths, some of them empty.
fn shards<'e, T>(elements: &'e [T], world: usize, rng: &mut StdRng) -> Vec<&'e [T]> {
    let mut cuts: Vec<usize> = (1..world).map(|_| rng.random_range(0..=elements.len())).collect();
    cuts.sort_unstable();
    let ends = cuts.iter().copied().chain([elements.len()]);
    let begins = [0].into_iter().chain(cuts.iter().copied());
    begins.zip(ends).map(|(begin, end)| &elements[begin..end]).collect()
}

/// Adds the integers of all ranks in a random order, as an all-reduce may do.
fn added(mut rows: Vec<Vec<u64>>, rng: &mut StdRng) -> Vec<u64> {
    rows.shuffle(rng);
    let add = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(b).map(|(a, b)| a.wrapping_add(b)).collect();
    rows.into_iter().reduce(add).unwrap()
}

fn holds<T: Datum + ExactElement>(elements: &[T], world: usize, rng: &mut StdRng) {
    let what = format!("{} {} on {world} ranks", elements.len(), T::NAME);
    let expected = host::exact_sum(elements);
    let mut shards = shards(elements, world, rng);
    shards.shuffle(rng);
    let rows = shards.iter().map(|shard| played::exact_words(shard).unwrap()).collect();
    let sum = ExactAccumulator::<T::Output>::from_words(&added(rows, rng), elements.len() as u64)
        .unwrap();
    assert_eq!(sum.round().to_bits64(), expected.to_bits64(), "{what}");
    let mut whole = ExactAccumulator::new();
    whole.add(elements);
    assert_eq!(sum.to_bytes(), whole.to_bytes(), "{what}: the accumulator");
}

fn check<T: Datum + ExactElement>(special: [T; 4]) {
    let rng = &mut StdRng::seed_from_u64(34);
    for world in [1, 2, 3, 8] {
        for n in [0, 1, 40, 3000] {
            let mut drawn = elements::<T>(n, rng);
            holds(&drawn, world, rng);
            drawn.shuffle(rng);
            holds(&drawn, world, rng);
        }
        // Tests special values on a few of the ranks, and then -0 on all ranks.
        for count in 0..special.len() {
            let mut drawn = elements::<T>(50, rng);
            drawn.extend(&special[..count]);
            drawn.shuffle(rng);
            holds(&drawn, world, rng);
        }
        holds(&[special[3]; 50], world, rng);
    }
    // Each rank needs several blocks.
    holds(&elements::<T>(70_000, rng), 2, rng);
}

#[test]
fn floats_and_halves_on_any_number_of_ranks() {
    let (infinity, nan) = (f32::INFINITY, f32::NAN);
    check::<f32>([infinity, -infinity, nan, -0.0]);
    check::<f16>([infinity, -infinity, nan, -0.0].map(f16::from_f32));
    check::<bf16>([infinity, -infinity, nan, -0.0].map(bf16::from_f32));
}

#[test]
fn doubles_on_any_number_of_ranks() {
    check::<f64>([f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0]);
}

#[test]
fn words_of_another_type_are_refused() {
    let words = played::exact_words(&[1.0f64]).unwrap();
    let error = ExactAccumulator::<f32>::from_words(&words, 1).unwrap_err().to_string();
    assert!(error.contains("69 words instead of 13"), "{error}");
}
