//! The reducers that each thread keeps for recently used streams and types, so that the functions
//! that take no reducer are as fast as the methods of a reducer.

use std::{
    any::{Any, TypeId},
    cell::RefCell,
    rc::Rc,
};

use crate::{
    Element, Result,
    cuda::{Queue, Stream},
    engine::Engine,
};

/// The maximum number of reducers that a thread keeps for the functions that take no reducer; the
/// least recently used one is dropped first. Each reducer holds up to 512 KiB of device memory and
/// a page of pinned memory.
pub const KEPT: usize = 16;

/// The identity of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The context and the handle. The reducer keeps the context and the stream alive, so neither
    /// value is reused for another stream.
    Owned(usize, usize),
    /// The id that the driver gave the stream.
    Numbered(u64),
}

thread_local! {
    /// The kept reducers, most recently used first.
    static KEEPS: RefCell<Recent<(Which, TypeId), Rc<dyn Any>>> = const { RefCell::new(Recent(Vec::new())) };
}

/// Returns the reducer that this thread keeps for a stream. If there is none, creates one.
pub(crate) fn or_make<V: 'static, E>(
    which: Which,
    make: impl FnOnce() -> Result<V, E>,
) -> std::result::Result<Rc<V>, E> {
    let key = (which, TypeId::of::<V>());
    let known = KEEPS.with_borrow_mut(|keeps| keeps.get(&key).cloned());
    if let Some(value) = known.and_then(|any| any.downcast().ok()) {
        return Ok(value);
    }
    let value = Rc::new(make()?);
    // An evicted reducer is dropped outside the borrow, because dropping it calls the driver.
    let _gone = KEEPS.with_borrow_mut(|keeps| keeps.put(key, value.clone()));
    Ok(value)
}

/// Returns the thread's reducer for a stream. While the stream is being captured, returns a new
/// reducer, because the graph owns the memory of captured work.
pub(crate) fn of<T: Element>(stream: Stream) -> Result<Rc<Engine<T>>> {
    if stream.is_capturing()? {
        return Ok(Rc::new(Engine::new(Queue { stream, owner: None })));
    }
    numbered(stream)
}

/// Returns the reducer that this thread keeps for a stream that is not being captured.
pub(crate) fn numbered<T: Element>(stream: Stream) -> Result<Rc<Engine<T>>> {
    let _bound = stream.bind()?;
    let which = Which::Numbered(stream.id()?);
    or_make(which, || Ok(Engine::new(Queue { stream, owner: None })))
}

/// Frees the reducers that the calling thread keeps for the functions without a
/// [`Reducer`](crate::Reducer). Later calls create new ones. When a thread ends, its reducers are
/// freed as well.
pub fn close() {
    let _gone = KEEPS.with_borrow_mut(|keeps| std::mem::take(&mut keeps.0));
}

/// Returns the number of reducers that this thread keeps.
#[doc(hidden)]
pub fn kept() -> usize {
    KEEPS.with_borrow(|keeps| keeps.0.len())
}

/// The most recently used values, at most [`KEPT`].
struct Recent<K, V>(Vec<(K, V)>);

impl<K: PartialEq, V> Recent<K, V> {
    fn get(&mut self, key: &K) -> Option<&V> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        self.0[..=at].rotate_right(1);
        Some(&self.0[0].1)
    }

    /// Inserts a value, and returns the value that was evicted to make room, if any.
    fn put(&mut self, key: K, value: V) -> Option<V> {
        self.0.insert(0, (key, value));
        if self.0.len() > KEPT { self.0.pop().map(|(_, value)| value) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_value_is_evicted() {
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

    #[test]
    fn a_stream_and_a_type_have_one_value_until_it_is_closed() {
        let made = |which, value: u32| or_make(which, || Ok::<_, ()>(value)).unwrap();
        close();
        assert_eq!(
            [made(Which::Numbered(7), 1), made(Which::Numbered(7), 2)].map(|rc| *rc),
            [1, 1]
        );
        assert_eq!(*made(Which::Owned(7, 7), 3), 3);
        assert_eq!(or_make(Which::Numbered(7), || Ok::<u64, ()>(4)).map(|rc| *rc), Ok(4));
        assert_eq!(kept(), 3);
        close();
        assert_eq!((kept(), *made(Which::Numbered(7), 5)), (0, 5));
        assert_eq!(or_make(Which::Numbered(8), || Err::<u8, _>("no")).map(|rc| *rc), Err("no"));
    }
}
