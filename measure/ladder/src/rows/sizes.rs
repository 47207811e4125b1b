//! The shapes to measure: the number of rows, and the number of elements in each row.

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

use super::Options;

/// Returns the shapes as pairs of a number of rows and a number of elements in each row, without
/// duplicates, with the longest rows last.
pub(super) fn cells(options: &Options) -> Vec<(u64, u64)> {
    let totals = options.total.iter().map(|size| size.0).filter(|total| *total > 0);
    let mut cells: Vec<(u64, u64)> = totals.flat_map(|total| of(total, options)).collect();
    cells.sort_by_key(|&(rows, elements)| (elements, rows));
    cells.dedup();
    cells
}

fn of(total: u64, options: &Options) -> Vec<(u64, u64)> {
    if options.map {
        let powers = 0..=total.ilog2();
        let all = powers.clone().flat_map(|rows| powers.clone().map(move |n| (1 << rows, 1 << n)));
        return all.filter(|(rows, n): &(u64, u64)| *n <= total / rows).collect();
    }
    let lengths: Vec<u64> = match options.drawn {
        0 => options.n.iter().map(|size| size.0).collect(),
        count => drawn(count, total, options.seed),
    };
    lengths.into_iter().filter(|n| (1..=total).contains(n)).map(|n| (total / n, n)).collect()
}

/// Draws lengths with uniformly distributed logarithms. Every second length is odd, so that its
/// rows are unaligned.
fn drawn(count: u32, most: u64, seed: u64) -> Vec<u64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let top = (most as f64).log2();
    (0..count)
        .map(|at| ((top * rng.random::<f64>()).exp2() as u64).max(1) | u64::from(at % 2))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_drawn_lengths_are_odd_and_all_fit() {
        let lengths = drawn(100, 1 << 28, 42);
        let odd =
            |first: usize| lengths.iter().skip(first).step_by(2).filter(|n| *n % 2 == 1).count();
        assert!(odd(1) == 50 && (10..=40).contains(&odd(0)), "{lengths:?}");
        assert!(lengths.iter().all(|n| (1..=(1 << 28) + 1).contains(n)));
        let short = lengths.iter().filter(|n| **n < 1 << 14).count();
        assert!((35..=65).contains(&short), "{short}");
    }

    fn asked(args: &str) -> Vec<(u64, u64)> {
        #[derive(clap::Parser)]
        struct Program {
            #[command(flatten)]
            options: Options,
        }
        let words = ["rows"].into_iter().chain(args.split_whitespace());
        cells(&<Program as clap::Parser>::try_parse_from(words).unwrap().options)
    }

    #[test]
    fn each_length_has_as_many_rows_as_fit_once() {
        assert_eq!(asked("--n 1,3,7,8 --total 7"), [(7, 1), (2, 3), (1, 7)]);
        assert_eq!(asked("--n 2,1 --total 4,4,5"), [(4, 1), (5, 1), (2, 2)]);
        assert_eq!(asked("--n 0,9 --total 8"), []);
        assert_eq!([asked("--n 1 --total 0"), asked("--map --total 0")], [[], []]);
        let lengths = asked("--drawn 40 --total 1000 --n 5");
        assert!(lengths.len() > 20 && lengths.iter().all(|&(rows, n)| rows == 1000 / n));
    }

    #[test]
    fn a_map_has_every_power_of_two_that_fits() {
        assert_eq!(asked("--map --total 4"), [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2), (1, 4)]);
        assert_eq!(asked("--map --total 5"), asked("--map --total 4"));
        // Each of the two numbers may be any of 34 powers of two, but a pair is measured only if
        // its product is within the total; 2^33 rows of 2^33 elements would overflow 64 bits.
        let large = asked("--map --total 2^33");
        assert_eq!(large.len(), 34 * 35 / 2);
        assert!(large.iter().all(|&(rows, n)| u128::from(rows) * u128::from(n) <= 1 << 33));
    }
}
