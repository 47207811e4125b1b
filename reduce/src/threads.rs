//! Runs work on rayon's threads, even in a forked process.

use std::{
    ops::Range,
    process,
    sync::{Mutex, OnceLock, PoisonError},
};

use rayon::{ThreadPool, prelude::*};

use crate::{Result, Rows};

/// Runs work on rayon's threads. A forked process has none of its parent's threads and would wait
/// for them forever, so it gets its own thread pool.
#[doc(hidden)]
pub fn on_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    static FIRST: OnceLock<u32> = OnceLock::new();
    static FORKED: Mutex<Option<(u32, ThreadPool)>> = Mutex::new(None);
    let this = process::id();
    if *FIRST.get_or_init(|| this) == this {
        return work();
    }
    let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    if forked.as_ref().is_none_or(|(process, _)| *process != this) {
        // The parent's pool is not dropped, because its threads do not exist in this process.
        std::mem::forget(forked.take());
        *forked = rayon::ThreadPoolBuilder::new().build().ok().map(|pool| (this, pool));
    }
    match &*forked {
        Some((_, pool)) => pool.install(work),
        None => work(),
    }
}

/// Returns the value for each index in `0..count`, computed on all cores. A core computes at least
/// `least` values at a time.
pub(crate) fn each<V: Send + Sync>(
    count: usize,
    least: usize,
    value: impl Fn(usize) -> V + Sync,
) -> Vec<V> {
    let parts = in_parts(count, least, &|part| part.map(&value).collect::<Vec<_>>());
    parts.into_iter().flatten().collect()
}

/// Returns the value of each row of a slice, computed on all cores. A core computes at least `least`
/// values at a time.
///
/// # Errors
/// There are no rows, or the rows overlap, extend beyond the slice, or have no elements or too many.
pub(crate) fn each_row<T: Sync, V: Send + Sync>(
    slice: &[T],
    rows: Rows,
    least: usize,
    value: impl Fn(&[T]) -> V + Sync,
) -> Result<Vec<V>> {
    rows.check(slice.len() as u64, u64::MAX)?;
    let (count, elements, pitch) = rows.numbers();
    let row = |row: usize| value(&slice[row * pitch as usize..][..elements as usize]);
    Ok(each(count as usize, least, row))
}

/// Divides `0..count` into parts, and returns the value of each part, in order. Every part except
/// the last has at least `least` indices. The function is a trait object, so that this code is
/// compiled once for each type of value, and not for each operation.
pub(crate) fn in_parts<V: Send + Sync>(
    count: usize,
    least: usize,
    value: &(dyn Fn(Range<usize>) -> V + Sync),
) -> Vec<V> {
    let each = least.max(count.div_ceil(8 * rayon::current_num_threads()));
    let values: Vec<OnceLock<V>> = (0..count.div_ceil(each)).map(|_| OnceLock::new()).collect();
    run(values.len(), &|part| {
        // Each part is computed once, so its cell is still empty.
        let _ = values[part].set(value(part * each..count.min((part + 1) * each)));
    });
    values.into_iter().filter_map(OnceLock::into_inner).collect()
}

/// Runs tasks on all cores. Rayon's code takes much longer to compile than ours, so it is compiled
/// once, and not for each type.
fn run(tasks: usize, task: &(dyn Fn(usize) + Sync)) {
    (0..tasks).into_par_iter().with_max_len(1).for_each(task);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_order_and_none_is_lost() {
        for (count, least) in
            [(0, 1), (1, 1), (1, 64), (63, 64), (65, 64), (1023, 1), (100_003, 16)]
        {
            assert_eq!(
                each(count, least, |i| 3 * i),
                (0..count).map(|i| 3 * i).collect::<Vec<_>>()
            );
            let parts = in_parts(count, least, &|part| part);
            assert!(parts.iter().rev().skip(1).all(|part| part.len() >= least));
            assert!(parts.into_iter().flatten().eq(0..count));
        }
    }
}
