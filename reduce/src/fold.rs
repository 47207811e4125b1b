//! Reductions on the CPU, in the tree that ORDER.md defines.

use std::ops::Range;

use crate::{
    Accumulator, Operation, Shape,
    element::Read,
    operate::{Neutral, Operate},
    operations::operate,
    shape,
    threads::each,
};

/// Returns the result of an operation over elements that are converted as `W` specifies.
pub(crate) fn all<T: Read<W>, W, R: Operate>(slice: &[T]) -> T::Value {
    R::result(value::<T, W, R>(slice), slice.len() as u64).canonical()
}

/// Returns the result of an operation over a slice, which may be empty. Loops over rows and columns
/// call this function, so that they are compiled once for each type, and not once for each
/// operation.
pub(crate) fn result_of<T: Read<W>, W>(slice: &[T], operation: Operation) -> T::Value {
    operate!(operation, R => all::<T, W, R>(slice))
}

/// Returns the value of a slice of a list. The result of the slice and the result of the list are
/// computed from such values.
pub(crate) fn value_of<T: Read<W>, W>(slice: &[T], operation: Operation) -> T::Value {
    operate!(operation, R => match slice.len() {
        0 => T::Value::none(R::DEVICE.neutral),
        _ => value::<T, W, R>(slice),
    })
}

/// Returns the results of slices with these values and lengths, and the result of all slices
/// together.
pub(crate) fn results_of<T: Read<W>, W>(
    values: &[T::Value],
    lengths: &[usize],
    operation: Operation,
) -> (Vec<T::Value>, T::Value) {
    operate!(operation, R => {
        let result = |value: T::Value, n: usize| {
            let value = if n > 0 { value } else { empty::<T, W, R>() };
            R::result(value, n as u64).canonical()
        };
        let each = values.iter().zip(lengths).map(|(value, n)| result(*value, *n)).collect();
        let total = collect::<T::Value, R>(values, if values.len() <= 128 { 32 } else { 512 });
        (each, result(total, lengths.iter().sum()))
    })
}

/// Returns the combined value of all elements, from which the result is computed.
fn value<T: Read<W>, W, R: Operate>(slice: &[T]) -> T::Value {
    if slice.is_empty() {
        return empty::<T, W, R>();
    }
    let of = |chunk: Range<usize>, threads| warps::<T, W, R>(&slice[chunk], threads);
    tree::<T::Value, R>(slice.len(), size_of::<T>(), of)
}

/// Returns the value of `n` elements of `size` bytes. The arguments of `warps` are the range of a
/// chunk's elements and the number of threads in the block; the function returns the values of the
/// block's warps.
pub(crate) fn tree<A: Accumulator, R: Operate>(
    n: usize,
    size: usize,
    warps: impl Fn(Range<usize>, usize) -> Vec<A> + Sync,
) -> A {
    let shape = shape::pick(n as u64, size as u64)
        .expect("a slice in memory is shorter than the maximum length");
    let chunk = shape.vectors() as usize * (16 / size);
    let threads = shape.threads() as usize;
    let of = |index: usize| warps(index * chunk..n.min((index + 1) * chunk), threads);
    match shape {
        Shape::Block { .. } => few::<A, R>(&warps(0..n, threads)),
        Shape::Spread { .. } => collect::<A, R>(&each(shape.chunks() as usize, 1, of).concat(), 32),
        Shape::Chunks { chunks: count, .. } => {
            let values = each(count as usize, 1, |index| few::<A, R>(&of(index)));
            collect::<A, R>(&values, if count <= 128 { 32 } else { threads })
        }
    }
}

/// Returns the value of an empty slice.
pub(crate) fn empty<T: Read<W>, W, R: Operate>() -> T::Value {
    match R::DEVICE.neutral {
        Neutral::Zero | Neutral::ZeroOfNumbers => T::Value::ZERO,
        Neutral::Largest => T::EXTREMES[0],
        Neutral::Smallest => T::EXTREMES[1],
    }
}

/// Returns the value of each warp in a chunk. Thread t adds vectors t, t + threads, …, with a
/// separate sum for each element of a vector. Each round adds one vector to the sums of each
/// thread.
pub(crate) fn warps<T: Read<W>, W, R: Operate>(chunk: &[T], threads: usize) -> Vec<T::Value> {
    let width = 16 / size_of::<T>();
    let mut sums = vec![T::Value::none(R::DEVICE.neutral); threads * width];
    for round in chunk.chunks(sums.len()) {
        T::read(round, |before, values| {
            for (sum, value) in sums[before..].iter_mut().zip(values) {
                *sum = R::join(*sum, R::map(*value));
            }
        });
    }
    warps_of::<T::Value, R>(sums, width)
}

/// Combines the sums of threads, each of which has `width` sums. Returns the value of each warp.
pub(crate) fn warps_of<A: Accumulator, R: Operate>(mut sums: Vec<A>, width: usize) -> Vec<A> {
    let mut values: Vec<_> = sums.chunks_mut(width).map(|sums| halve(sums, R::join)).collect();
    values.chunks_mut(32).map(|warp| halve(warp, R::join)).collect()
}

/// Combines values by halving, as ORDER.md defines it: combines the upper half of the values with
/// the lower half until one value is left, and returns this value.
pub(crate) fn halve<V: Copy>(values: &mut [V], join: impl Fn(V, V) -> V) -> V {
    let mut half = values.len() / 2;
    while half > 0 {
        for i in 0..half {
            values[i] = join(values[i], values[i + half]);
        }
        half /= 2;
    }
    values[0]
}

/// Combines all values whose indices are equal modulo `lanes`, and returns the `lanes` results.
fn rounds<A: Accumulator, R: Operate>(values: &[A], lanes: usize) -> Vec<A> {
    let mut sums = vec![A::none(R::DEVICE.neutral); lanes];
    for round in values.chunks(lanes) {
        for (sum, value) in sums.iter_mut().zip(round) {
            *sum = R::join(*sum, *value);
        }
    }
    sums
}

/// Combines the values of a block's warps in the order in which a thread that reads 16 bytes at a
/// time combines them.
pub(crate) fn few<A: Accumulator, R: Operate>(values: &[A]) -> A {
    halve(&mut rounds::<A, R>(values, 16 / size_of::<A>()), R::join)
}

/// Combines the values that blocks have published, in the order in which `threads` threads of the
/// last block combine them.
pub(crate) fn collect<A: Accumulator, R: Operate>(values: &[A], threads: usize) -> A {
    let mut sums = rounds::<A, R>(values, threads);
    let warps: Vec<_> = sums.chunks_mut(32).map(|warp| halve(warp, R::join)).collect();
    if warps.len() == 1 { warps[0] } else { few::<A, R>(&warps) }
}
