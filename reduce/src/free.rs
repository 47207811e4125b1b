//! The functions without a reducer: each thread keeps one for every stream and type that it has used
//! of late.

use std::{any::TypeId, cell::RefCell, rc::Rc, sync::Arc};

use cudarc::driver::{CudaStream, DevicePtr};

use crate::{Element, Reducer, Result};

/// The sum of a slice, 0 of nothing. Waits for it.
pub fn sum<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<T::Output> {
    of::<T>(stream)?.sum(slice)
}

/// The smallest element of a slice that is a number, as [`Reducer::min`] has it. Waits for it.
pub fn min<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<T::Output> {
    of::<T>(stream)?.min(slice)
}

/// The largest element of a slice that is a number, as [`Reducer::max`] has it. Waits for it.
pub fn max<T: Element>(stream: &Arc<CudaStream>, slice: &impl DevicePtr<T>) -> Result<T::Output> {
    of::<T>(stream)?.max(slice)
}

/// How many reducers a thread keeps for [`sum`], [`min`] and [`max`]; the one that was not used for
/// the longest time goes first. Each holds its stream, up to 512 KiB of its device, and a page of
/// pinned memory.
pub const KEPT: usize = 16;

/// A context, a stream of it (whose handle may be that of another context's default stream), a type.
type Key = (usize, usize, TypeId);

thread_local! {
    /// The last used is the first.
    static REDUCERS: RefCell<Recent<Key, Rc<dyn std::any::Any>>> = const { RefCell::new(Recent(Vec::new())) };
}

/// A reducer holds its stream and context, so that no handle becomes another's while it is kept.
fn of<T: Element>(stream: &Arc<CudaStream>) -> Result<Rc<Reducer<T>>> {
    let (context, handle) = (stream.context().cu_ctx() as usize, stream.cu_stream() as usize);
    let key = (context, handle, TypeId::of::<T>());
    let known = REDUCERS.with_borrow_mut(|reducers| reducers.get(&key).cloned());
    if let Some(reducer) = known.and_then(|any| any.downcast().ok()) {
        return Ok(reducer);
    }
    let reducer = Rc::new(Reducer::<T>::new(stream)?);
    // What goes is dropped out here, as that calls the driver.
    let _gone = REDUCERS.with_borrow_mut(|reducers| reducers.put(key, reducer.clone()));
    Ok(reducer)
}

/// How many reducers this thread keeps.
#[doc(hidden)]
pub fn kept() -> usize {
    REDUCERS.with_borrow(|reducers| reducers.0.len())
}

/// The last used of what there was, at most [`KEPT`].
struct Recent<K, V>(Vec<(K, V)>);

impl<K: PartialEq, V> Recent<K, V> {
    fn get(&mut self, key: &K) -> Option<&V> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        self.0[..=at].rotate_right(1);
        Some(&self.0[0].1)
    }

    /// What had to go for it.
    fn put(&mut self, key: K, value: V) -> Option<V> {
        self.0.insert(0, (key, value));
        if self.0.len() > KEPT { self.0.pop().map(|(_, value)| value) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_the_longest_time_goes() {
        let mut recent = Recent(Vec::new());
        for key in 0..KEPT {
            assert_eq!(recent.put(key, key), None);
        }
        assert_eq!(recent.get(&0), Some(&0));
        assert_eq!(recent.put(100, 100), Some(1));
        let kept = [1, 0, 100].map(|key| recent.get(&key).copied());
        assert_eq!(kept, [None, Some(0), Some(100)]);
        assert_eq!(recent.0.len(), KEPT);
    }
}
