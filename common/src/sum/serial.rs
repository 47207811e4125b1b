//! What is done on all cores elsewhere, one after the other: a page of the book has one thread.

use std::{ops::Range, slice};

/// The words of `rayon` that this room uses, for slices.
pub(super) trait Slices<T> {
    /// Each element.
    fn par_iter(&self) -> slice::Iter<'_, T>;
    /// Each element, to be changed.
    fn par_iter_mut(&mut self) -> slice::IterMut<'_, T>;
    /// So many elements at a time, to be changed.
    fn par_chunks_mut(&mut self, size: usize) -> slice::ChunksMut<'_, T>;
}

impl<T> Slices<T> for [T] {
    fn par_iter(&self) -> slice::Iter<'_, T> {
        self.iter()
    }

    fn par_iter_mut(&mut self) -> slice::IterMut<'_, T> {
        self.iter_mut()
    }

    fn par_chunks_mut(&mut self, size: usize) -> slice::ChunksMut<'_, T> {
        self.chunks_mut(size)
    }
}

/// Likewise, for a range.
pub(super) trait Ranges {
    /// Each number.
    fn into_par_iter(self) -> Range<u64>;
}

impl Ranges for Range<u64> {
    fn into_par_iter(self) -> Range<u64> {
        self
    }
}

/// Likewise, for an iterator.
pub(super) trait Finds: Iterator + Sized {
    /// The first that there is.
    fn find_map_first<R>(mut self, find: impl FnMut(Self::Item) -> Option<R>) -> Option<R> {
        self.find_map(find)
    }
}

impl<I: Iterator> Finds for I {}
