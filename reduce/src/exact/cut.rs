//! The chunks of an exact sum.

/// The parameters by which a kernel divides its input into chunks. The length of a chunk is
/// bounded, because a word or a register can take only a limited number of additions before it is
/// emptied.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// The number of threads in a block.
    pub threads: u32,
    /// The number of blocks for which a multiprocessor has registers.
    pub resident: u32,
    /// The maximum number of vectors that a thread adds in a chunk. In the first chunk, a thread
    /// adds up to two further elements.
    longest: u32,
    /// The minimum number of vectors that a thread adds in a chunk, unless there is only one chunk.
    shortest: u32,
}

impl Cut {
    /// A word of a column has 31 bits and a sign, and a float or bfloat16 adds at most 2^15 to it,
    /// so the word can take 65,535 elements. All warps of a block share a column.
    pub(super) const FLOATS: Cut = Cut { threads: 512, resident: 2, longest: 1 << 9, shortest: 4 };
    pub(super) const BFLOATS: Cut = Cut { threads: 256, resident: 5, longest: 1 << 9, shortest: 2 };
    /// A double or a product adds less than 2^16 to a word, so the word can take 32,767 elements or
    /// products.
    pub(super) const DOUBLES: Cut =
        Cut { threads: 1024, resident: 1, longest: 1 << 8, shortest: 2 };
    pub(super) const PRODUCTS: Cut =
        Cut { threads: 512, resident: 2, longest: 1 << 7, shortest: 2 };
    pub(super) const WIDE: Cut = Cut { threads: 512, resident: 2, longest: 1 << 8, shortest: 4 };
    /// A register can take 2^13 halves. A vector has 8 halves, and a thread has two registers, so
    /// each register takes 4 halves of a vector.
    pub(super) const HALVES: Cut = Cut { threads: 256, resident: 4, longest: 1 << 10, shortest: 4 };
    /// A register can take 2^12 products of halves.
    pub(super) const PRODUCTS_OF_HALVES: Cut =
        Cut { threads: 256, resident: 4, longest: 1 << 9, shortest: 2 };
    /// The number of threads per block in the kernels for rows, for all types.
    pub const ROW_THREADS: u32 = 256;

    /// Returns the number of chunks, which is at least one, and the number of vectors in each, for
    /// `n` elements of `size` bytes and a device that can run `resident` blocks at the same time.
    /// If possible, all blocks have the same number of chunks. The sum does not depend on the
    /// chunks.
    pub fn chunks(self, n: u64, size: u64, resident: u32) -> (u32, u32) {
        let (all, resident) = (n.div_ceil(16 / size), u64::from(resident));
        let [shortest, longest] = [self.shortest * self.threads, self.longest()].map(u64::from);
        let rounds = all.div_ceil(resident * longest).max(1);
        let each = all.div_ceil(resident * rounds).max(shortest).next_multiple_of(8);
        (all.div_ceil(each).max(1) as u32, each as u32)
    }

    /// Returns the maximum number of vectors in a chunk.
    pub(super) fn longest(self) -> u32 {
        self.longest * self.threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape;

    /// The number of additions that a word or a register can take. All warps share a word.
    #[derive(Clone, Copy)]
    enum Takes {
        Word(u64),
        Register(u64),
    }
    use Takes::{Register, Word};

    impl Takes {
        fn of_a_thread(self, threads: u32) -> u64 {
            match self {
                Word(most) => most / u64::from(threads / 32),
                Register(most) => most,
            }
        }
    }

    #[test]
    fn chunks_cover_all_elements_and_fit_the_columns() {
        // The size of an element, the number of additions that a word or register can take, and the
        // numbers of additions for a vector and for an element.
        for (cut, size, most, of_vector, of_one) in [
            (Cut::FLOATS, 4, Word(65_535), 4, 1),
            (Cut::BFLOATS, 2, Word(65_535), 8, 1),
            (Cut::DOUBLES, 8, Word(32_767), 2, 1),
            (Cut::PRODUCTS, 4, Word(32_767), 4, 1),
            (Cut::PRODUCTS, 2, Word(32_767), 8, 1),
            (Cut::WIDE, 8, Word(32_767), 2, 1),
            (Cut::HALVES, 2, Register(1 << 13), 4, 1),
            (Cut::PRODUCTS_OF_HALVES, 2, Register(1 << 12), 4, 1),
        ] {
            // The kernel for rows has a different number of threads, and chunks of the maximum
            // length.
            let of_row =
                u64::from(cut.longest().div_ceil(Cut::ROW_THREADS)) * of_vector + 2 * of_one;
            assert!(of_row <= most.of_a_thread(Cut::ROW_THREADS), "{cut:?}, rows: {of_row}");
            let most = most.of_a_thread(cut.threads);
            for resident in [1, 7, 528, 1056] {
                for n in [0, 1, 1000, 1 << 20, (1 << 32) + 13, shape::LONGEST / size] {
                    let (chunks, vectors) = cut.chunks(n, size, resident);
                    let (chunks, vectors) = (u64::from(chunks), u64::from(vectors));
                    let all = n.div_ceil(16 / size);
                    assert!(chunks * vectors >= all, "{cut:?} {n} {resident}");
                    assert!((chunks - 1) * vectors < all.max(1), "{cut:?} {n} {resident}");
                    // The block with the most chunks has only slightly more than an equal share.
                    let most_vectors = chunks.div_ceil(resident.into()) * vectors;
                    let equal = all.div_ceil(resident.into()).max(vectors);
                    assert!(most_vectors <= equal + equal / 100, "{cut:?} {n} {resident}");
                    // One element before the vectors, one after them, and the elements of the
                    // vectors.
                    let vectors = vectors.div_ceil(cut.threads.into());
                    let added = vectors * of_vector + 2 * of_one;
                    assert!(added <= most, "{cut:?} {n} {resident}: {added} of {most}");
                }
            }
        }
    }
}
