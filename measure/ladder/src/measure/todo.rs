//! The types, sizes and cache states in a run, and their shares of the time limit.

use common::{Element, Error, Result};
use measured::Cache;

use super::Options;
use crate::options::CacheName;

/// The L2 size divided by the size of the largest input that stays in L2 after it is read. The 60
/// MB cache of an H200 consists of two halves, and a line may be in both.
const WARM_SHARE: u64 = 2;

/// A type, a size, and the cache states in which to measure it.
pub(super) struct Todo {
    pub(super) element: Element,
    pub(super) n: u64,
    pub(super) caches: Vec<Cache>,
}

impl Todo {
    /// Returns the cell's weight, which determines its share of the time limit. A round at the
    /// largest size takes as long as thousands of rounds at the smallest.
    pub(super) fn weight(&self) -> u32 {
        ((self.n * self.element.size()) >> 30).clamp(1, 4) as u32
    }

    /// Returns the total weight over all cache states.
    pub(super) fn weights(&self) -> u32 {
        self.weight() * self.caches.len() as u32
    }
}

/// Returns all requested types and sizes; `l2` is the size of the L2 cache in bytes.
pub(super) fn all(options: &Options, l2: u64) -> Result<Vec<Todo>> {
    let sizes: Vec<u64> = match &options.n {
        None => (10..=32).step_by(2).map(|power| 1 << power).collect(),
        Some(sizes) => sizes.iter().map(|size| size.0).collect(),
    };
    if sizes.contains(&0) {
        return Err(Error::Usage(
            "there is nothing to time for zero elements: `--n` must be at least 1 here".into(),
        ));
    }
    let fits = |element: Element, n: u64| n * element.size() <= l2 / WARM_SHARE;
    let one = |element: Element, n: u64| {
        let named = |name: &CacheName| match name {
            CacheName::Cold => Some(Cache::Cold),
            CacheName::Warm => fits(element, n).then_some(Cache::Warm),
        };
        Todo { element, n, caches: options.cache.iter().filter_map(named).collect() }
    };
    let all = options.element.iter().flat_map(|&of| sizes.iter().map(move |&n| one(of, n)));
    Ok(all.filter(|todo| !todo.caches.is_empty()).collect())
}
