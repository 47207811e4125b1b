//! A parallel map on scoped threads.

use std::{
    num::NonZero,
    panic,
    sync::{Mutex, OnceLock},
    thread,
};

/// Calls `work` for each item on at most `threads` threads (0 for one per core), and returns the
/// results in the order of the items. Each thread has its own state, which `init` returns and which
/// the thread passes to `work`. A WebAssembly module has only one thread.
///
/// # Panics
/// Panics if `work` panics.
pub fn map<T: Send, S, R: Send>(
    threads: usize,
    items: Vec<T>,
    init: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize, T) -> R + Sync,
) -> Vec<R> {
    // Finding the number of cores requires reading several files, so this is done only once.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = || thread::available_parallelism().map_or(1, NonZero::get);
    let threads = if threads > 0 { threads } else { *CORES.get_or_init(cores) };
    let threads = if cfg!(target_family = "wasm") { 1 } else { threads.min(items.len()) };
    let queue = Mutex::new(items.into_iter().enumerate());
    let take = || queue.lock().expect("no thread panics while it holds the lock").next();
    let run = || {
        let mut state = init();
        let mut done = Vec::new();
        while let Some((index, item)) = take() {
            done.push((index, work(&mut state, index, item)));
        }
        done
    };
    if threads < 2 {
        return run().into_iter().map(|(_, result)| result).collect();
    }
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut done = run();
        for other in others {
            done.extend(other.join().unwrap_or_else(|cause| panic::resume_unwind(cause)));
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_on_any_number_of_threads() {
        for threads in 0..5 {
            for items in [0, 1, 2, 1000] {
                let squares = map(threads, (0..items).collect(), || (), |(), _, item| item * item);
                assert_eq!(squares, (0..items).map(|item| item * item).collect::<Vec<u64>>());
            }
        }
    }

    #[test]
    fn each_thread_has_a_state_of_its_own() {
        let seen = map(
            3,
            vec![(); 100],
            || 0,
            |count, index, ()| {
                *count += 1;
                (*count, index)
            },
        );
        assert!(
            seen.iter().enumerate().all(|(place, (count, index))| place == *index && *count > 0)
        );
        assert!(seen.iter().filter(|(count, _)| *count == 1).count() <= 3);
    }

    #[test]
    #[should_panic(expected = "item 7")]
    fn a_panic_is_passed_on() {
        map(2, (0..10).collect(), || (), |(), _, item: u32| assert!(item != 7, "item 7"));
    }
}
