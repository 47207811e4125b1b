//! Gives the input of each foreign kernel, and its expected output.
#![allow(unreachable_pub, reason = "a module of a file of tests")]

/// A kernel in `foreign/`. The kernel's parameters are input, output, length and, in some cases,
/// zeroed scratch memory.
pub struct Foreign {
    pub name: &'static str,
    pub input: Input,
    /// The number of threads in a block.
    pub threads: u32,
    /// The number of elements per block, or 0 if one block adds all of them.
    pub per: usize,
    /// Whether the host sets the output to zero first.
    pub zeroed: bool,
    pub expected: fn(&[i32]) -> Output,
}

/// The type of the input. All values are integers, small enough for each type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    Ints,
    Floats,
    /// The lowest bit of each value, in half precision, so that sums stay exact.
    Halves,
    Bfloats,
}

/// The output of a kernel.
#[derive(Debug)]
pub enum Output {
    Ints(Vec<i32>),
    /// Integers in any order.
    Set(Vec<i32>),
    Longs(Vec<u64>),
    /// Floats, which are compared with a relative tolerance of 1e-6.
    Floats(Vec<f64>),
    Doubles(Vec<f64>),
}

/// Returns the value at an index, which is between -11 and 19.
pub fn value(i: usize) -> i32 {
    (i * 7919 + 13) as i32 % 31 - 11
}

use Input::{Bfloats, Floats, Halves, Ints};

const fn of(name: &'static str, input: Input, expected: fn(&[i32]) -> Output) -> Foreign {
    Foreign { name, input, threads: 128, per: 128, zeroed: false, expected }
}

impl Foreign {
    const fn adds(self) -> Foreign {
        Foreign { zeroed: true, ..self }
    }

    const fn per(self, per: usize) -> Foreign {
        Foreign { per, ..self }
    }

    /// Returns the number of blocks in a launch.
    pub fn blocks(&self, n: usize) -> u32 {
        if self.per == 0 { 1 } else { n.div_ceil(self.per).max(1) as u32 }
    }
}

/// All foreign kernels.
pub static FOREIGN: [Foreign; 42] = [
    of("arg-max", Ints, arg_max).adds().per(512),
    of("async-copies", Ints, total).adds().per(0),
    of("barrier-votes", Ints, barrier_votes),
    of("bfloat16", Bfloats, rounded).per(0),
    of("bit-planes", Ints, total).adds(),
    of("bitonic", Ints, |v| by_blocks(v, 128, sorted)),
    of("blelloch", Ints, |v| by_blocks(v, 256, exclusive)).per(256),
    of("brent-kung", Ints, |v| by_blocks(v, 128, inclusive)),
    of("butterfly", Ints, |v| by_blocks(v, 32, all_the_sum)),
    of("byte-bins", Ints, bins).adds().per(1024),
    of("bytes", Ints, bytes).adds(),
    of("cas-double", Floats, |v| Output::Doubles(vec![sum(v).into()])).adds(),
    of("cas-guess", Floats, |v| Output::Doubles(vec![sum(v).into()])).adds(),
    of("chained-scan", Ints, |v| Output::Ints(inclusive(v))),
    of("compaction", Ints, |v| Output::Ints(kept(v, |x| x % 3 == 0))).per(0),
    of("dot", Floats, dot).adds().per(512),
    of("double-buffer", Ints, total).adds().per(0),
    of("fixed-point", Floats, |v| Output::Longs(vec![(i64::from(sum(v)) << 29) as u64])).adds(),
    of("float-atomics", Floats, float_total).adds().per(512),
    of("float-order", Floats, float_order).adds(),
    of("half2", Halves, |v| float_total(&v.iter().map(|x| x & 1).collect::<Vec<_>>()))
        .adds()
        .per(512),
    of("hillis-steele", Ints, |v| by_blocks(v, 128, inclusive)),
    of("kahan", Floats, float_total).per(0),
    of("kogge-stone", Ints, |v| by_blocks(v, 128, inclusive)),
    of("local-tree", Floats, float_total).adds().per(0),
    of("look-back", Ints, |v| Output::Ints(inclusive(v))),
    of("match-any", Ints, by_key).adds(),
    of("named-barriers", Ints, total).adds().per(0),
    of("norm", Floats, norm).per(0),
    of("online-softmax", Floats, softmax).per(0),
    of("private-bins", Ints, bins).adds().per(512),
    of("raking", Ints, block_sums),
    of("redux", Ints, block_sums),
    of("row-sums", Floats, row_sums),
    of("segmented-scan", Ints, |v| by_blocks(v, 128, segmented)),
    of("spin-lock", Ints, locked).adds(),
    of("split-barrier", Ints, split_barrier),
    of("ticket", Ints, total),
    of("tiles", Ints, |v| by_blocks(v, 8, all_the_sum)),
    of("warp-aggregated", Ints, |v| Output::Set(kept(v, |x| x > 0))),
    of("welford", Floats, moments).per(0),
    Foreign { threads: 32, ..of("wide-sums", Ints, wide).per(0) },
];

fn sum(values: &[i32]) -> i32 {
    values.iter().sum()
}

fn total(values: &[i32]) -> Output {
    Output::Ints(vec![sum(values)])
}

fn float_total(values: &[i32]) -> Output {
    Output::Floats(vec![sum(values).into()])
}

fn rounded(values: &[i32]) -> Output {
    let (sum, bits) = (sum(values), (sum(values) as f32).to_bits());
    // Rounds to the nearest value with 8 bits, ties to even.
    let near = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000;
    Output::Floats(vec![sum.into(), f32::from_bits(near).into()])
}

/// Applies a function to each block's values; no block is empty.
fn by_blocks(values: &[i32], block: usize, f: fn(&[i32]) -> Vec<i32>) -> Output {
    Output::Ints(values.chunks(block).flat_map(f).collect())
}

/// Returns a sum for each block or, if there are no elements, one sum of 0.
fn block_sums(values: &[i32]) -> Output {
    let sums: Vec<i32> = values.chunks(128).map(sum).collect();
    Output::Ints(if sums.is_empty() { vec![0] } else { sums })
}

fn inclusive(values: &[i32]) -> Vec<i32> {
    values
        .iter()
        .scan(0, |sum, v| {
            *sum += v;
            Some(*sum)
        })
        .collect()
}

fn exclusive(values: &[i32]) -> Vec<i32> {
    inclusive(values).iter().zip(values).map(|(sum, v)| sum - v).collect()
}

fn segmented(values: &[i32]) -> Vec<i32> {
    values
        .iter()
        .scan(0, |sum, &v| {
            *sum = if v < -8 { v } else { *sum + v };
            Some(*sum)
        })
        .collect()
}

fn sorted(values: &[i32]) -> Vec<i32> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted
}

fn all_the_sum(values: &[i32]) -> Vec<i32> {
    vec![sum(values); values.len()]
}

fn kept(values: &[i32], keep: fn(i32) -> bool) -> Vec<i32> {
    values.iter().copied().filter(|&v| keep(v)).collect()
}

fn bins(values: &[i32]) -> Output {
    Output::Ints((0..32).map(|b| values.iter().filter(|&&v| v + 11 == b).count() as i32).collect())
}

fn by_key(values: &[i32]) -> Output {
    Output::Ints((0..8).map(|k| values.iter().filter(|&&v| v & 7 == k).sum()).collect())
}

fn bytes(values: &[i32]) -> Output {
    let signed = values.iter().flat_map(|v| v.to_le_bytes()).map(|byte| i32::from(byte as i8));
    Output::Ints(vec![signed.sum()])
}

fn arg_max(values: &[i32]) -> Output {
    let words = values.iter().zip(0u32..);
    let words = words.map(|(&v, i)| u64::from(v as u32 ^ 1 << 31) << 32 | u64::from(!i));
    Output::Longs(vec![words.max().unwrap_or(0)])
}

fn float_order(values: &[i32]) -> Output {
    let flipped = |v: &i32| {
        let bits = (*v as f32).to_bits();
        if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
    };
    let most = |f: &dyn Fn(&i32) -> u32| values.iter().map(f).max().unwrap_or(0) as i32;
    Output::Ints(vec![most(&flipped), most(&|v| !flipped(v))])
}

fn barrier_votes(values: &[i32]) -> Output {
    let said = |block: &[i32]| {
        let count = block.iter().filter(|&&v| v > 0).count() as i32;
        let (some, all) = (block.contains(&7), block.iter().all(|&v| v > -11));
        count << 2 | i32::from(some) << 1 | i32::from(all)
    };
    Output::Ints(if values.is_empty() { vec![1] } else { values.chunks(128).map(said).collect() })
}

fn dot(values: &[i32]) -> Output {
    Output::Floats(vec![
        values.iter().zip(values.iter().rev()).map(|(a, b)| f64::from(a * b)).sum(),
    ])
}

fn norm(values: &[i32]) -> Output {
    Output::Floats(vec![values.iter().map(|&v| f64::from(v * v)).sum::<f64>().sqrt()])
}

fn softmax(values: &[i32]) -> Output {
    let most = values.iter().max().copied().unwrap_or(0);
    let each: Vec<f64> = values.iter().map(|v| f64::from(v - most).exp()).collect();
    let sum: f64 = each.iter().sum();
    Output::Floats(each.iter().map(|e| e / sum).collect())
}

fn row_sums(values: &[i32]) -> Output {
    Output::Floats(values.chunks(33).map(|row| sum(row).into()).collect())
}

fn moments(values: &[i32]) -> Output {
    let n = values.len() as f64;
    let mean = if n == 0.0 { 0.0 } else { f64::from(sum(values)) / n };
    let square = values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum();
    Output::Floats(vec![n, mean, square])
}

/// Returns the sum, and the number of warps that entered the lock.
fn locked(values: &[i32]) -> Output {
    let warps = values.len().div_ceil(128).max(1) * 4;
    Output::Longs(vec![i64::from(sum(values)) as u64, warps as u64])
}

fn split_barrier(values: &[i32]) -> Output {
    let next = |block: &[i32]| -> Vec<i32> {
        let at = |i: usize| block.get(i % 128).copied().unwrap_or(0);
        (0..block.len()).map(|i| 2 * at(i) + at(i + 1)).collect()
    };
    Output::Ints(values.chunks(128).flat_map(next).collect())
}

fn wide(values: &[i32]) -> Output {
    let sum: u128 = values.iter().map(|&v| u128::from((v + 11) as u64) << 59).sum();
    Output::Longs(vec![sum as u64, (sum >> 64) as u64])
}

impl Input {
    pub fn bytes(self, values: &[i32]) -> Vec<u8> {
        let word = |v: &i32| match self {
            Ints => v.to_le_bytes().to_vec(),
            Floats => (*v as f32).to_le_bytes().to_vec(),
            Halves => (if v & 1 == 1 { 0x3c00u16 } else { 0 }).to_le_bytes().to_vec(),
            Bfloats => (((*v as f32).to_bits() >> 16) as u16).to_le_bytes().to_vec(),
        };
        values.iter().flat_map(word).collect()
    }
}

impl Output {
    /// Returns the number of bytes in the output.
    pub fn bytes(&self) -> usize {
        match self {
            Output::Ints(all) | Output::Set(all) => 4 * all.len(),
            Output::Floats(all) => 4 * all.len(),
            Output::Longs(all) => 8 * all.len(),
            Output::Doubles(all) => 8 * all.len(),
        }
    }

    /// Describes the first difference between the outputs.
    pub fn differs(&self, bytes: &[u8]) -> Option<String> {
        let words = || bytes.chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().unwrap()));
        let longs = || bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap()));
        let floats = || words().map(|w| f64::from(f32::from_bits(w as u32)));
        let doubles = || longs().map(f64::from_bits);
        let near = |(a, b): (f64, &f64)| (a - b).abs() <= 1e-6 * b.abs().max(1e-3);
        match self {
            Output::Ints(all) => first(words(), all, |(a, b)| a == *b),
            Output::Longs(all) => first(longs(), all, |(a, b)| a == *b),
            Output::Floats(all) => first(floats(), all, near),
            Output::Doubles(all) => first(doubles(), all, near),
            Output::Set(all) => {
                let found = sorted(&words().collect::<Vec<_>>());
                first(found.into_iter(), &sorted(all), |(a, b)| a == *b)
            }
        }
    }
}

fn first<T: std::fmt::Debug + Copy>(
    found: impl Iterator<Item = T>,
    expected: &[T],
    same: impl Fn((T, &T)) -> bool,
) -> Option<String> {
    let (i, (found, expected)) =
        found.zip(expected).enumerate().find(|(_, (a, b))| !same((*a, b)))?;
    Some(format!("out[{i}] is {found:?}, expected {expected:?}"))
}
