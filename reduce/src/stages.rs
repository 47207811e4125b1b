//! The stages of a sum whose elements lie on several GPUs: the sums of a range of parts, and the tree
//! over all of them. The crate `many` carries what lies between.
//!
//! [`partials`] of every shard, one behind the other, and [`finish`] of these, have the bits of one
//! launch over all elements:
//!
//! ```
//! use reduce::{Operation, host, shape, stages};
//!
//! let slice: Vec<f32> = (0..100_000).map(|i| 1.0 / (i + 1) as f32).collect();
//! let shape = shape::pick(slice.len() as u64, 4).unwrap();
//! let (front, back) = slice.split_at(7 * shape.words() as usize * 4);
//! let mut sums = stages::partials(front, shape, Operation::Sum);
//! sums.extend(stages::partials(back, shape, Operation::Sum));
//! assert_eq!(stages::finish::<f32>(&sums, Operation::Sum), host::sum(&slice));
//! ```

use rayon::prelude::*;

pub use crate::stage::Stage;
use crate::{
    Accumulator, Element, Kernel, Operation, Shape,
    element::Sealed,
    host::{Join, collect, few, warps},
};

/// The kernel of a stage.
#[doc(hidden)]
pub fn kernel<T: Element>(operation: Operation, stage: Stage) -> Kernel {
    <T as Sealed>::STAGES[operation as usize][stage as usize]
}

/// The sums of a shard's parts on the host. A shard begins where a part of the shape does.
pub fn partials<T: Element>(shard: &[T], shape: Shape, operation: Operation) -> Vec<T::Output> {
    fn all<T: Element>(
        shard: &[T],
        shape: Shape,
        operation: Operation,
        join: impl Join<T::Output>,
    ) -> Vec<T::Output> {
        let none = T::Output::none(operation);
        let part = shape.words() as usize * (16 / size_of::<T>());
        let threads = shape.threads() as usize;
        let sum = |part| few(&warps::<T>(part, threads, none, join), none, join);
        shard.par_chunks(part).map(sum).collect()
    }
    match operation {
        Operation::Sum => all(shard, shape, operation, T::Output::plus),
        Operation::Min => all(shard, shape, operation, T::Output::least),
        Operation::Max => all(shard, shape, operation, T::Output::most),
    }
}

/// The tree over the sums of all parts on the host, in their order.
pub fn finish<T: Element>(partials: &[T::Output], operation: Operation) -> T::Output {
    if partials.is_empty() {
        return T::Output::empty(operation);
    }
    let none = T::Output::none(operation);
    let threads = if partials.len() <= 128 { 32 } else { Stage::THREADS as usize };
    match operation {
        Operation::Sum => collect(partials, threads, none, T::Output::plus),
        Operation::Min => collect(partials, threads, none, T::Output::least),
        Operation::Max => collect(partials, threads, none, T::Output::most),
    }
    .canonical()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{host, shape};

    /// Shards cut between parts, added apart, and finished: the bits of one slice.
    #[test]
    fn the_stages_on_the_host_have_the_bits_of_the_whole() {
        // 32, 160 and 192 parts: a warp collects them, or a block.
        for n in [60_000, 1_400_003, 5_000_001] {
            let values: Vec<f32> = (0..n).map(|i| (i % 1013) as f32 * 0.1 - 31.0).collect();
            let shape = shape::pick(n as u64, 4).unwrap();
            let part = shape.words() as usize * 4;
            let (head, tail) = values.split_at(3 * part);
            for (operation, whole) in [
                (Operation::Sum, host::sum(&values)),
                (Operation::Min, host::min(&values)),
                (Operation::Max, host::max(&values)),
            ] {
                let mut sums = partials(head, shape, operation);
                assert_eq!(sums.len(), 3);
                sums.extend(partials(tail, shape, operation));
                assert_eq!(sums.len(), shape.parts() as usize);
                let finished = finish::<f32>(&sums, operation);
                assert_eq!(finished.to_bits(), whole.to_bits(), "{operation:?} of {n}");
            }
        }
        assert_eq!(finish::<f32>(&[], Operation::Min), f32::INFINITY);
    }
}
