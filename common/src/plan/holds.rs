//! The elements that each partial sum holds, so that every partial sum can be verified.

use std::ops::Range;

/// The assignment of elements to partial sums. Each element belongs to exactly one partial sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Sum i holds the elements from i × each to (i + 1) × each − 1. The last sum holds all
    /// remaining elements, which may be more or fewer than `each`.
    Chunks {
        /// The number of elements in each sum except the last.
        each: u64,
        /// The number of sums.
        count: u64,
    },
    /// Sum i holds the tiles i, i + count, i + 2 × count, and so on. Elements after the last whole
    /// vector belong to sum 0.
    Strides {
        /// The number of elements in a tile.
        tile: u64,
        /// The number of sums.
        count: u64,
        /// The number of elements in a vector.
        width: u64,
    },
    /// Matrices of [`ENTRIES`](Holds::ENTRIES) elements, divided into `count` equal parts. Each
    /// part has a matrix of sums in the same order as the input, and each sum holds one entry from
    /// every matrix in its part. The last matrix may be incomplete.
    Matrices {
        /// The order of the elements and of the sums.
        order: Order,
        /// The number of matrices in each part except the last.
        tile: u64,
        /// The number of parts.
        count: u64,
    },
}

/// The order in which the elements of many matrices are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Row-major order, in which each matrix is contiguous.
    Row,
    /// Column-major order, in which the first elements of all matrices precede their second
    /// elements, and so on.
    Column,
}

impl Holds {
    /// One sum that holds all elements.
    pub const ALL: Holds = Holds::Chunks { each: u64::MAX, count: 1 };

    /// The number of elements in a matrix.
    pub const ENTRIES: u64 = 4;

    /// Returns the number of sums.
    pub fn count(&self) -> u64 {
        match *self {
            Holds::Chunks { count, .. } | Holds::Strides { count, .. } => count,
            Holds::Matrices { count, .. } => Holds::ENTRIES * count,
        }
    }

    /// Returns the sum that holds an element; `None` for matrices, whose entries differ.
    pub fn owner(&self, element: u64) -> Option<u64> {
        match *self {
            Holds::Chunks { each, count } => Some((element / each).min(count - 1)),
            Holds::Strides { tile, count, .. } => Some(element / tile % count),
            Holds::Matrices { .. } => None,
        }
    }

    /// Returns the ranges of the `n` elements that sum `index` holds, in order.
    pub fn ranges(&self, n: u64, index: u64) -> impl Iterator<Item = Range<u64>> + use<> {
        // `first` is the start of the first range, `tile` is the length of each range, `stride` is
        // the distance between the starts of neighbouring ranges, `end` is the end of the last
        // range, and `rest` is one extra range after it.
        let (first, tile, stride, end, rest) = match *self {
            Holds::Chunks { each, count } => {
                let first = index.saturating_mul(each).min(n);
                let last = index + 1 == count;
                (first, if last { n - first } else { each }, u64::MAX, n, 0..0)
            }
            Holds::Strides { tile, count, width } => {
                let end = n - n % width;
                (index * tile, tile, tile * count, end, if index == 0 { end..n } else { 0..0 })
            }
            Holds::Matrices { order: Order::Row, tile, .. } => {
                let (part, entry) = (index / Holds::ENTRIES, index % Holds::ENTRIES);
                let first = Holds::ENTRIES.saturating_mul(part.saturating_mul(tile));
                let end = first.saturating_add(Holds::ENTRIES.saturating_mul(tile)).min(n);
                (first + entry, 1, Holds::ENTRIES, end, 0..0)
            }
            Holds::Matrices { order: Order::Column, tile, count } => {
                let (entry, part) = (index / count, index % count);
                let matrices = n.div_ceil(Holds::ENTRIES);
                let end = ((entry + 1) * matrices).min(n);
                let first = (entry * matrices).saturating_add(part.saturating_mul(tile)).min(end);
                (first, tile, u64::MAX, end, 0..0)
            }
        };
        std::iter::successors(Some(first), move |at| at.checked_add(stride))
            .take_while(move |at| *at < end)
            .map(move |at| at..at.saturating_add(tile).min(end))
            .chain([rest])
            .filter(|range| !range.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AWKWARD: [u64; 14] =
        [0, 1, 31, 32, 33, 63, 65, 255, 257, 1023, 1025, 4096, 1_572_941, (1 << 16) + 13];

    /// Returns the sum that holds each element.
    fn owners(holds: Holds, n: u64) -> Vec<u64> {
        let mut owner = vec![u64::MAX; n as usize];
        for index in 0..holds.count() {
            for at in holds.ranges(n, index).flatten() {
                assert_eq!(owner[at as usize], u64::MAX, "{holds:?}: {at} of {n} is in two sums");
                let rest = matches!(holds, Holds::Strides { width, .. } if at >= n - n % width);
                let known = holds.owner(at).filter(|_| !rest);
                assert!(known.is_none_or(|owner| owner == index), "{holds:?}: {at} is in {index}");
                owner[at as usize] = index;
            }
        }
        assert!(!owner.contains(&u64::MAX), "{holds:?}: one of {n} is in no sum");
        owner
    }

    #[test]
    fn every_element_is_in_one_sum() {
        for n in AWKWARD {
            owners(Holds::ALL, n);
            for each in [1, 3, 64, 1000] {
                let count = n.div_ceil(each).max(1);
                let owner = owners(Holds::Chunks { each, count }, n);
                assert!(owner.is_sorted());
                // The last part includes a remainder that is too small for a part of its own.
                let fewer = count.saturating_sub(1).max(1);
                owners(Holds::Chunks { each, count: fewer }, n);
            }
            for (tile, count, width) in
                [(2, 1, 2), (64, 7, 1), (64, 7, 4), (512, 132, 4), (8, 3, 2)]
            {
                let owner = owners(Holds::Strides { tile, count, width }, n);
                for (at, owner) in owner.iter().enumerate() {
                    let whole = (at as u64) < n - n % width;
                    let expected = if whole { at as u64 / tile % count } else { 0 };
                    assert_eq!(*owner, expected, "{at} of {n}");
                }
            }
        }
    }

    #[test]
    fn a_sum_of_matrices_holds_one_entry_of_a_part_of_them() {
        for n in AWKWARD.into_iter().chain([2, 3, 5, 6, 7, 4 * 257]) {
            let matrices = n.div_ceil(4);
            for tile in [1, 3, 64, 1000, u64::MAX] {
                let count = matrices.div_ceil(tile).max(1);
                for order in [Order::Row, Order::Column] {
                    let owner = owners(Holds::Matrices { order, tile, count }, n);
                    for (at, owner) in owner.into_iter().enumerate() {
                        let (matrix, entry) = match order {
                            Order::Row => (at as u64 / 4, at as u64 % 4),
                            Order::Column => (at as u64 % matrices, at as u64 / matrices),
                        };
                        let place = match order {
                            Order::Row => 4 * (matrix / tile) + entry,
                            Order::Column => entry * count + matrix / tile,
                        };
                        assert_eq!(owner, place, "{at} of {n}, {order:?}, {tile}");
                    }
                }
            }
        }
        let parts = |order| Holds::Matrices { order, tile: 2, count: 3 };
        assert_eq!(parts(Order::Row).ranges(18, 5).collect::<Vec<_>>(), [9..10, 13..14]);
        assert_eq!(
            parts(Order::Column).ranges(18, 4).collect::<Vec<_>>(),
            std::iter::once(7..9).collect::<Vec<_>>()
        );
    }

    #[test]
    fn ranges_are_in_order_and_not_empty() {
        let strides = Holds::Strides { tile: 8, count: 2, width: 4 };
        assert_eq!(strides.ranges(35, 0).collect::<Vec<_>>(), [0..8, 16..24, 32..35]);
        assert_eq!(strides.ranges(35, 1).collect::<Vec<_>>(), [8..16, 24..32]);
        assert_eq!(strides.ranges(3, 1).count(), 0);
        let parts = Holds::Chunks { each: 16, count: 2 };
        assert!(parts.ranges(35, 0).eq(std::iter::once(0..16)));
        assert!(parts.ranges(35, 1).eq(std::iter::once(16..35)));
        assert_eq!(parts.ranges(7, 1).count(), 0);
        assert!(Holds::ALL.ranges(5, 0).eq(std::iter::once(0..5)));
    }
}
