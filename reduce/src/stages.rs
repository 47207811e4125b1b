//! The two stages of a sum whose elements are on several GPUs. The first computes the sums of a
//! range of chunks on each GPU, and the second combines the sums of all chunks in the tree. Between
//! the stages, the caller gathers the sums.
//!
//! If [`finish`] combines the [`partials`] of all shards, in order, the result is bit-identical to
//! that of one launch over all elements:
//!
//! ```
//! use samebits::{Operation, host, shape, stages};
//!
//! let slice: Vec<f32> = (0..100_000).map(|i| 1.0 / (i + 1) as f32).collect();
//! let shape = shape::pick(slice.len() as u64, 4).unwrap();
//! let (front, back) = slice.split_at(7 * shape.vectors() as usize * 4);
//! let mut sums = stages::partials(front, shape, Operation::Sum);
//! sums.extend(stages::partials(back, shape, Operation::Sum));
//! assert_eq!(stages::finish::<f32>(&sums, Operation::Sum), host::sum(&slice));
//! ```

pub use crate::stage::Stage;
use crate::{
    Accumulator, Element, Error, Kernel, Operation, Result, Shape,
    element::{Itself, Read},
    fold::{collect, empty, few, warps},
    operate::Operate,
    operations::operate,
    threads::each,
};

/// Checks that an operation can be divided into stages. The mean cannot be divided, because no
/// stage receives the total number of elements. Operations on integers narrower than 32 bits cannot
/// be divided either, because there are no kernels for them.
///
/// # Errors
/// The operation cannot be divided into stages, or is not defined for the elements.
pub fn check<T: Element>(operation: Operation) -> Result<()> {
    operation.check::<T>()?;
    let types = <T as Read<Itself>>::TYPES;
    if operation == Operation::Mean || types.texts.stages[0].is_empty() {
        let (operation, elements) = (operation.name(), types.name);
        return Err(Error::NoStages { operation, elements });
    }
    Ok(())
}

/// Returns the kernel of a stage. It has PTX only if [`check`] succeeds.
#[doc(hidden)]
pub fn kernel<T: Element>(operation: Operation, stage: Stage) -> Kernel {
    let of = (operation.instructions(), <T as Read<Itself>>::TYPES);
    Kernel::joined(stage.name(), of, |texts| texts.stages[stage as usize])
}

/// Computes the sums of a shard's chunks on the host. The shard must begin at the start of a chunk
/// of the shape.
pub fn partials<T: Element>(shard: &[T], shape: Shape, operation: Operation) -> Vec<T::Output> {
    fn all<T: Element, R: Operate>(shard: &[T], shape: Shape) -> Vec<T::Output> {
        let chunk = shape.vectors() as usize * (16 / size_of::<T>());
        let threads = shape.threads() as usize;
        each(shard.len().div_ceil(chunk), 1, |index| {
            let chunk = &shard[index * chunk..shard.len().min((index + 1) * chunk)];
            few::<T::Output, R>(&warps::<T, Itself, R>(chunk, threads))
        })
    }
    operate!(operation, R => all::<T, R>(shard, shape))
}

/// Combines the sums of all chunks on the host, in the order of the tree.
pub fn finish<T: Element>(partials: &[T::Output], operation: Operation) -> T::Output {
    fn all<T: Element, R: Operate>(partials: &[T::Output]) -> T::Output {
        if partials.is_empty() {
            return empty::<T, Itself, R>();
        }
        let threads = if partials.len() <= 128 { 32 } else { Stage::THREADS as usize };
        R::result(collect::<T::Output, R>(partials, threads), 0).canonical()
    }
    operate!(operation, R => all::<T, R>(partials))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{host, shape};

    /// Checks that a slice that is cut between two chunks and added in two shards has the same bits
    /// as the whole slice.
    #[test]
    fn the_stages_on_the_host_give_the_bits_of_the_whole() {
        // The lengths have 32, 160 and 192 chunks. A warp collects 32 sums, and a block collects
        // 160 or 192.
        for n in [60_000, 1_400_003, 5_000_001] {
            let values: Vec<f32> = (0..n).map(|i| (i % 1013) as f32 * 0.1 - 31.0).collect();
            let shape = shape::pick(n as u64, 4).unwrap();
            let chunk = shape.vectors() as usize * 4;
            let (head, tail) = values.split_at(3 * chunk);
            for (operation, whole) in [
                (Operation::Sum, host::sum(&values)),
                (Operation::Min, host::min(&values)),
                (Operation::Max, host::max(&values)),
            ] {
                let mut sums = partials(head, shape, operation);
                assert_eq!(sums.len(), 3);
                sums.extend(partials(tail, shape, operation));
                assert_eq!(sums.len(), shape.chunks() as usize);
                let finished = finish::<f32>(&sums, operation);
                assert_eq!(finished.to_bits(), whole.to_bits(), "{operation:?} of {n}");
            }
        }
        assert_eq!(finish::<f32>(&[], Operation::Min), f32::INFINITY);
    }
}
