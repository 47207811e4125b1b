//! Equal chunks of an input, whose sums form the same tree on every device.

use super::{holds::Holds, problem::Problem};

/// Even chunks of an input. The chunks depend only on the input's length, not on the device or the
/// launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// The number of chunks.
    pub count: u64,
    /// The number of 16-byte vectors in each chunk; the last chunk has the remainder.
    pub vectors: u64,
    /// The number of elements in a vector.
    width: u64,
}

const KIB: u64 = 1 << 10;

// ANCHOR: table
/// The largest input, in bytes, for each number of chunks. The last entry is for all larger inputs.
///
/// An input with one chunk is no larger than the number of bytes that a block of 512 threads has in
/// flight at once, with eight vectors per thread. With few chunks, few blocks start; many
/// chunks keep all multiprocessors of a large chip busy.
const TABLE: [(u64, u64); 5] =
    [(64 * KIB, 1), (1536 * KIB, 32), (2560 * KIB, 48), (8192 * KIB, 160), (u64::MAX, 256)];
// ANCHOR_END: table

/// Chunks begin at multiples of this number of vectors, which occupy a cache line of 128 bytes.
const LINE: u64 = 8;

impl Chunks {
    /// Returns the chunks for a problem's input.
    pub fn of(problem: &Problem) -> Chunks {
        let bytes = problem.n * problem.element.size();
        let width = 16 / problem.element.size();
        let all = problem.n / width;
        let (_, most) = TABLE.into_iter().find(|(up_to, _)| bytes <= *up_to).unwrap_or_default();
        let vectors = all.div_ceil(most).next_multiple_of(LINE).max(LINE);
        Chunks { count: all.div_ceil(vectors).max(1), vectors, width }
    }

    /// Returns the elements that each chunk holds.
    pub fn holds(&self) -> Holds {
        Holds::Chunks { each: self.vectors * self.width, count: self.count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Element,
        plan::{Block, Chip},
    };

    fn chunks(n: u64, element: Element, sms: u32) -> Chunks {
        let chip = Chip { sms, ..Chip::H200 };
        Chunks::of(&Problem { n, block: Block::new(512).unwrap(), element, chip })
    }

    #[test]
    fn chunks_are_even_and_the_table_gives_their_number() {
        let of = |bits: u32| {
            let Chunks { count, vectors, .. } = chunks(1 << bits, Element::F32, 132);
            (count, vectors)
        };
        assert_eq!([10, 14].map(of), [(1, 256), (1, 4096)]);
        assert_eq!([15, 18].map(of), [(32, 256), (32, 2048)]);
        assert_eq!([19, 20, 21].map(of), [(48, 2736), (160, 1640), (160, 3280)]);
        assert_eq!([24, 28, 32].map(of), [(256, 1 << 14), (256, 1 << 18), (256, 1 << 22)]);
    }

    #[test]
    fn no_chunk_is_empty_or_missing() {
        let edges = TABLE.map(|(up_to, _)| up_to / 4).into_iter().take(4);
        let sizes = edges.flat_map(|n| [n - 3, n, n + 1, n + 13]);
        for n in sizes.chain([0, 1, 3, 5, 16384 + 127, 1_572_941, (1 << 32) + 13, 1 << 48]) {
            for element in Element::ALL {
                let Chunks { count, vectors, width } = chunks(n, element, 132);
                assert!(count <= 256 && vectors.is_multiple_of(LINE), "{n}");
                assert!(count * vectors >= n / width, "{n}");
                assert!(count == 1 || (count - 1) * vectors < n / width, "{n}");
            }
        }
    }

    #[test]
    fn chunks_do_not_depend_on_the_device() {
        for n in [0, 1000, 1 << 15, (1 << 20) + 13, 1 << 28] {
            assert_eq!(chunks(n, Element::F32, 1), chunks(n, Element::F32, 148));
        }
    }
}
