//! Computes the layout of shards. The layout is a pure function of the lengths, so all ranks
//! compute the same layout.
//!
//! The shape depends only on the *global* length, and is the shape that a single GPU would use. A
//! rank owns whole chunks, so the sum of a chunk does not depend on which rank adds the chunk. All
//! ranks combine the sums of all chunks in the same order.

use std::ops::Range;

use reduce::{Element, Shape, shape};

use crate::{Error, Result};

/// Returns the range of a rank's elements in an even distribution. The range consists of whole
/// chunks of the global shape, except in a small sum, which has no chunks.
///
/// ```
/// // Three GPUs get 86, 86 and 84 of the 256 chunks.
/// let shards = [0, 1, 2].map(|rank| many::shard::<f32>(1 << 24, 3, rank).unwrap());
/// assert_eq!(shards, [0..5636096, 5636096..11272192, 11272192..16777216]);
/// ```
pub fn shard<T: Element>(n: u64, world: u32, rank: u32) -> Result<Range<u64>> {
    if rank >= world {
        return Err(Error::Rank { rank, world });
    }
    Ok(Layout::even::<T>(n, world)?.elements(rank))
}

/// The shape of a sum, and the chunks that each rank owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The total number of elements.
    pub n: u64,
    /// The shape for one GPU.
    pub shape: Shape,
    /// The number of elements in a chunk or, in a small sum, in an even shard.
    part: u64,
    /// The index of each rank's first chunk, followed by the number of chunks.
    firsts: Vec<u32>,
}

/// Elements that one rank holds and another rank adds, because the other rank owns their chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The rank that holds the elements.
    pub from: u32,
    /// The rank that adds the elements.
    pub to: u32,
    /// The range of the elements' global indices.
    pub elements: Range<u64>,
}

/// The places of the chunk sums in the gathered blocks. If all ranks except the last ones have the
/// same number of chunks, the places are computed; otherwise, they are looked up in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// 2^32 divided by the number of chunks of a rank, rounded up, or 0 if there is a table.
    pub share: u32,
    /// The gap between the sums of two neighbouring ranks, as a number of sums.
    pub gap: u32,
    /// The place of each chunk's sum, or an empty list if the places are computed.
    pub table: Vec<u32>,
}

impl Layout {
    /// Returns the layout in which all ranks have the same number of chunks, or fewer in the last
    /// ranks.
    pub fn even<T: Element>(n: u64, world: u32) -> Result<Layout> {
        let mut layout = Layout::cut::<T>(n, world)?;
        let parts = n.div_ceil(layout.part.max(1)) as u32;
        let each = parts.div_ceil(world);
        layout.firsts = (0..=world).map(|rank| parts.min(rank.saturating_mul(each))).collect();
        Ok(layout)
    }

    /// Returns the layout in which the ranks hold the given numbers of elements, in order. The rank
    /// that holds a chunk's first element owns the chunk, and receives the chunk's other elements.
    pub fn ragged<T: Element>(lengths: &[u64]) -> Result<(Layout, Vec<Move>)> {
        let total = lengths.iter().try_fold(0u64, |sum, length| sum.checked_add(*length));
        let n = total.unwrap_or(u64::MAX);
        let mut layout = Layout::cut::<T>(n, lengths.len() as u32)?;
        let part = layout.part.max(1);
        let begins: Vec<u64> = lengths
            .iter()
            .scan(0, |next, length| Some(std::mem::replace(next, *next + length)))
            .collect();
        let first = |begin: &u64| begin.div_ceil(part).min(n.div_ceil(part)) as u32;
        layout.firsts = begins.iter().chain([&n]).map(first).collect();
        let mut moves = Vec::new();
        for (from, (begin, length)) in (0..).zip(begins.iter().zip(lengths)) {
            let end = (begin + length).min(layout.elements(from).start);
            if *begin < end {
                let owner = |to: &u32| layout.elements(*to).contains(begin);
                let to =
                    (0..from).rev().find(owner).expect("some rank has the chunk's first element");
                moves.push(Move { from, to, elements: *begin..end });
            }
        }
        Ok((layout, moves))
    }

    fn cut<T: Element>(n: u64, world: u32) -> Result<Layout> {
        let size = size_of::<T>() as u64;
        let too_long = || reduce::Error::TooLong { n, size, most: shape::LONGEST };
        let shape = shape::pick(n, size).ok_or_else(too_long)?;
        let lanes = 16 / size;
        let words = match shape {
            Shape::Chunks { vectors, .. } => vectors.into(),
            // In a small sum the elements are gathered, so their distribution does not affect the
            // result.
            _ => n.div_ceil(lanes).div_ceil(world.max(1).into()).max(1),
        };
        Ok(Layout { n, shape, part: words * lanes, firsts: Vec::new() })
    }

    /// Returns a layout with any number of chunks, of eight vectors each. This layout is for tests
    /// in which a real slice would take too long to interpret.
    #[cfg(test)]
    pub(crate) fn of_parts<T: Element>(parts: u32, world: u32) -> Layout {
        let part = 8 * 16 / size_of::<T>() as u64;
        let each = parts.div_ceil(world);
        let firsts = (0..=world).map(|rank| parts.min(rank * each)).collect();
        let shape = Shape::Chunks { chunks: parts, vectors: 8 };
        Layout { n: u64::from(parts) * part, shape, part, firsts }
    }

    /// Returns the number of ranks.
    pub fn world(&self) -> u32 {
        self.firsts.len() as u32 - 1
    }

    /// Returns whether there are too few elements for partial sums, so that the elements themselves
    /// are gathered.
    pub fn is_small(&self) -> bool {
        !matches!(self.shape, Shape::Chunks { .. })
    }

    /// Returns the number of chunks.
    pub fn parts(&self) -> u32 {
        self.firsts[self.world() as usize]
    }

    /// Returns the chunks of a rank.
    pub fn of(&self, rank: u32) -> Range<u32> {
        self.firsts[rank as usize]..self.firsts[rank as usize + 1]
    }

    /// Returns the elements of a rank's chunks.
    pub fn elements(&self, rank: u32) -> Range<u64> {
        let Range { start, end } = self.of(rank);
        let at = |part: u32| (u64::from(part) * self.part).min(self.n);
        at(start)..at(end)
    }

    /// Returns the number of elements on each rank.
    pub fn lengths(&self) -> Vec<u64> {
        (0..self.world()).map(|rank| self.elements(rank)).map(|of| of.end - of.start).collect()
    }

    /// Returns the number of elements in a chunk; the last chunk may have fewer.
    pub fn part(&self) -> u64 {
        self.part
    }

    /// Returns the index of each rank's first chunk, followed by the number of chunks.
    pub fn firsts(&self) -> &[u32] {
        &self.firsts
    }

    /// Returns the place of each chunk's sum in the consecutive blocks of all ranks, counted in
    /// sums of `bytes` bytes each.
    pub fn places(&self, bytes: usize) -> Places {
        let each = self.of(0).len() as u32;
        let even = (0..=self.world()).map(|rank| self.parts().min(rank.saturating_mul(each)));
        let stride = self.stride(bytes) as u32 * 8 / bytes as u32;
        if each > 1 && even.eq(self.firsts.iter().copied()) {
            let share = (1u64 << 32).div_ceil(each.into()) as u32;
            return Places { share, gap: stride - each, table: Vec::new() };
        }
        let head = 16 / bytes as u32;
        let of = |rank| (0..self.of(rank).len() as u32).map(move |i| rank * stride + head + i);
        Places { share: 0, gap: 0, table: (0..self.world()).flat_map(of).collect() }
    }

    /// Returns the size of a rank's block in words of 8 bytes: a stamp of two words, followed by
    /// room for the sums of the rank with the most chunks.
    pub fn stride(&self, bytes: usize) -> u64 {
        let most = (0..self.world()).map(|rank| self.of(rank).len()).max().unwrap_or(0);
        // NCCL is fastest at copying blocks whose size is a multiple of 16 bytes.
        (2 + (most * bytes).div_ceil(8) as u64).next_multiple_of(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: [u64; 16] = [
        0,
        1,
        31,
        32,
        33,
        63,
        65,
        255,
        257,
        1023,
        1025,
        49_152,
        49_153,
        1_048_589,
        1_572_941,
        1 << 33,
    ];

    #[test]
    fn shards_cover_the_slice_and_are_whole_chunks() {
        for n in LENGTHS {
            for world in [1, 2, 3, 5, 8, 64, 1024] {
                let layout = Layout::even::<f32>(n, world).unwrap();
                let mut next = 0;
                for rank in 0..world {
                    let shard = shard::<f32>(n, world, rank).unwrap();
                    assert_eq!(shard.start, next, "{n} over {world}, rank {rank}");
                    assert!(shard.start.is_multiple_of(layout.part()) || shard.is_empty());
                    next = shard.end;
                }
                assert_eq!(next, n, "over {world}");
                if let Shape::Chunks { chunks: parts, .. } = layout.shape {
                    assert_eq!(layout.parts(), parts);
                }
            }
        }
    }

    #[test]
    fn chunk_counts_differ_by_one_at_most() {
        for world in [2, 3, 5, 8, 64] {
            let layout = Layout::even::<f32>(1 << 28, world).unwrap();
            let most = (0..world).map(|rank| layout.of(rank).len()).max();
            assert_eq!(most, Some(256usize.div_ceil(world as usize)));
        }
    }

    /// Checks that the kernel's arithmetic and the table give the same places.
    #[test]
    fn every_sum_has_one_place() {
        let check = |layout: &Layout, bytes: usize, computed: bool| {
            let Places { share, gap, table } = layout.places(bytes);
            assert_eq!(table.is_empty(), computed, "{layout:?}");
            let (head, stride) =
                (16 / bytes as u32, layout.stride(bytes) as u32 * 8 / bytes as u32);
            for rank in 0..layout.world() {
                for (at, part) in (rank * stride + head..).zip(layout.of(rank)) {
                    let of = (u64::from(part) * u64::from(share)) >> 32;
                    let place = match computed {
                        true => part + of as u32 * gap + head,
                        false => table[part as usize],
                    };
                    assert_eq!(place, at, "chunk {part} of {layout:?}");
                }
            }
        };
        for parts in [2, 3, 65, 129, 9001, 16_383, 16_384] {
            for world in [1, 2, 3, 5, 7, 8, 64, 1000, 1024] {
                let computed = parts > world;
                check(&Layout::of_parts::<f32>(parts, world), 4, computed);
                check(&Layout::of_parts::<f64>(parts, world), 8, computed);
            }
        }
        let (ragged, _) = Layout::ragged::<f32>(&[10, 10_000, 0, 1_038_579]).unwrap();
        check(&ragged, 4, false);
    }

    #[test]
    fn a_rank_beyond_the_world_is_an_error() {
        let error = shard::<f32>(10, 2, 2).unwrap_err().to_string();
        assert_eq!(error, "RANK is 2, but WORLD_SIZE is 2: ranks are 0 to 1");
    }

    #[test]
    fn too_many_elements_are_an_error() {
        assert!(shard::<f64>(u64::MAX, 2, 0).unwrap_err().to_string().contains("exceed the"));
        assert!(Layout::ragged::<f64>(&[u64::MAX, 2]).is_err());
    }

    #[test]
    fn ragged_elements_go_to_the_owner_of_their_chunk() {
        // There are 160 chunks of 6560 elements. Rank 0 ends within the first chunk, and rank 1
        // within the second.
        let n = 1_048_589;
        let (layout, moves) = Layout::ragged::<f32>(&[10, 10_000, 0, n - 10_010]).unwrap();
        assert_eq!(layout.part(), 6560);
        assert_eq!(layout.firsts(), [0, 1, 2, 2, 160]);
        let to = |from, to, elements| Move { from, to, elements };
        assert_eq!(moves, [to(1, 0, 10..6560), to(3, 1, 10_010..13_120)]);
    }

    #[test]
    fn every_element_has_one_owner_for_any_lengths() {
        let mut seed = 1u64;
        let mut draw = |below: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..2000 {
            let lengths: Vec<u64> = (0..1 + draw(7)).map(|_| draw(3) * draw(100_000)).collect();
            let (layout, moves) = Layout::ragged::<f64>(&lengths).unwrap();
            let mut had = 0;
            for (rank, length) in (0..).zip(&lengths) {
                let own = layout.elements(rank);
                let (has, end) = (had, had + length);
                had = end;
                let sent: u64 = moves
                    .iter()
                    .filter(|m| m.from == rank)
                    .map(|m| m.elements.end - m.elements.start)
                    .sum();
                let came: u64 = moves
                    .iter()
                    .filter(|m| m.to == rank)
                    .map(|m| m.elements.end - m.elements.start)
                    .sum();
                assert_eq!(length - sent + came, own.end - own.start, "{lengths:?}, rank {rank}");
                assert!(own.is_empty() || own.start >= has, "{lengths:?}, rank {rank}");
            }
        }
    }

    #[test]
    fn lengths_that_are_shards_move_nothing() {
        for n in LENGTHS {
            for world in [1, 2, 3, 5, 8, 64] {
                let shards: Vec<u64> = (0..world)
                    .map(|rank| shard::<f32>(n, world, rank).unwrap())
                    .map(|shard| shard.end - shard.start)
                    .collect();
                let (layout, moves) = Layout::ragged::<f32>(&shards).unwrap();
                assert_eq!(
                    (moves, layout.parts()),
                    (vec![], Layout::even::<f32>(n, world).unwrap().parts())
                );
            }
        }
    }
}
