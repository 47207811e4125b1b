//! How an input is cut into even parts, so that a sum is the same tree on every device.

use super::{holds::Holds, problem::Problem};

/// Even parts of an input. They depend on its length alone, not on the device nor on the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// How many there are.
    pub count: u64,
    /// Words of 16 bytes in each; the last one has what is left.
    pub words: u64,
    /// Elements of a word.
    lanes: u64,
}

const KIB: u64 = 1 << 10;

/// Bytes up to which an input is cut into so many parts; the last line is for all that are larger.
///
/// What a block of 512 threads has in flight at once, eight words each, is one part. Few parts have
/// their sums together soonest; many use all of a large chip.
const TABLE: [(u64, u64); 5] =
    [(64 * KIB, 1), (1536 * KIB, 32), (2560 * KIB, 48), (8192 * KIB, 160), (u64::MAX, 256)];

/// Parts begin at multiples of so many words: 128 bytes, a line of the caches.
const LINE: u64 = 8;

impl Parts {
    /// The parts of a problem's input.
    pub fn of(problem: &Problem) -> Parts {
        let bytes = problem.n * problem.element.size();
        let lanes = 16 / problem.element.size();
        let all = problem.n / lanes;
        let (_, most) = TABLE.into_iter().find(|(up_to, _)| bytes <= *up_to).unwrap_or_default();
        let words = all.div_ceil(most).next_multiple_of(LINE).max(LINE);
        Parts { count: all.div_ceil(words).max(1), words, lanes }
    }

    /// Which elements each of them holds.
    pub fn holds(&self) -> Holds {
        Holds::Parts { each: self.words * self.lanes, count: self.count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Element,
        plan::{Block, Chip},
    };

    fn parts(n: u64, element: Element, sms: u32) -> Parts {
        let chip = Chip { sms, ..Chip::H200 };
        Parts::of(&Problem { n, block: Block::new(512).unwrap(), element, chip })
    }

    #[test]
    fn parts_are_even_and_as_many_as_the_table_says() {
        let of = |bits: u32| {
            let Parts { count, words, .. } = parts(1 << bits, Element::F32, 132);
            (count, words)
        };
        assert_eq!([10, 14].map(of), [(1, 256), (1, 4096)]);
        assert_eq!([15, 18].map(of), [(32, 256), (32, 2048)]);
        assert_eq!([19, 20, 21].map(of), [(48, 2736), (160, 1640), (160, 3280)]);
        assert_eq!([24, 28, 32].map(of), [(256, 1 << 14), (256, 1 << 18), (256, 1 << 22)]);
    }

    #[test]
    fn no_part_is_empty_and_none_is_missing() {
        let edges = TABLE.map(|(up_to, _)| up_to / 4).into_iter().take(4);
        let sizes = edges.flat_map(|n| [n - 3, n, n + 1, n + 13]);
        for n in sizes.chain([0, 1, 3, 5, 16384 + 127, 1_572_941, (1 << 32) + 13, 1 << 48]) {
            for element in Element::ALL {
                let Parts { count, words, lanes } = parts(n, element, 132);
                assert!(count <= 256 && words.is_multiple_of(LINE), "{n}");
                assert!(count * words >= n / lanes, "{n}");
                assert!(count == 1 || (count - 1) * words < n / lanes, "{n}");
            }
        }
    }

    #[test]
    fn the_device_has_no_say() {
        for n in [0, 1000, 1 << 15, (1 << 20) + 13, 1 << 28] {
            assert_eq!(parts(n, Element::F32, 1), parts(n, Element::F32, 148));
        }
    }
}
