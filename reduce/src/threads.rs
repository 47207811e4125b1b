//! Runs work on rayon's threads, even in a forked process.

use std::{
    process,
    sync::{Mutex, OnceLock, PoisonError},
};

use rayon::ThreadPool;

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
