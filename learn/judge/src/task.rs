//! Defines an exercise for the judge.

use std::fmt;

use numbers::{Element, group};

use crate::cost::Cost;

/// An exercise: the launch, the required results, and the budgets.
#[derive(Debug)]
pub struct Task {
    /// The number, from 1.
    pub number: usize,
    /// Its folder in `exercises/`.
    pub folder: &'static str,
    /// A correct solution; a line that it contains is never reported as the cause of an exceeded
    /// budget.
    pub reference: &'static str,
    /// The topic, in a few words.
    pub name: &'static str,
    /// The page of the book that ends with this exercise.
    pub chapter: &'static str,
    /// The operation that the kernel computes.
    pub operation: Operation,
    /// The distribution of the elements over blocks.
    pub shape: Shape,
    /// Threads per block: the first value is tried at every size, the others at some sizes.
    pub blocks: &'static [u32],
    /// Whether the bits must be the same: on every grid or, with a mailbox, in every order of
    /// execution.
    pub same_bits: bool,
    /// Whether a warp works alone in this exercise. In all other exercises, the advice is
    /// `__syncthreads()` even if `__syncwarp()` would be sufficient.
    pub warps: bool,
    /// Whether a loop at run time is forbidden, because the rounds are known at compile time.
    pub unrolled: bool,
    /// Whether volatile accesses keep their meaning; otherwise they are judged as ordinary ones.
    pub volatile: bool,
    /// Whether bulk copies bring the input to shared memory, from which the threads read it.
    pub copies: bool,
    /// The number of schedules under which the kernel is run.
    pub orders: u64,
    /// The numbers of elements and blocks of the launch whose counts are compared with the budgets.
    pub measured: (u64, u32),
    /// The budgets of that launch.
    pub budgets: &'static [Budget],
    /// A size, and the idea that a kernel lacks if it is correct below this size and wrong from
    /// this size on, or if it exceeds a budget that the idea reduces.
    pub idea: (u64, &'static str),
}

/// The maximum of one count in the measured launch.
#[derive(Clone, Copy)]
pub struct Budget {
    /// The count.
    pub cost: Cost,
    /// The maximum.
    pub most: u64,
    /// Whether the idea of the exercise reduces the count. Otherwise, the message gives the advice
    /// for the count.
    pub idea: bool,
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} {}", self.most, self.cost.what)
    }
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The sum.
    Sum,
    /// The largest element; NaN is ignored.
    Max,
    /// The sum and the largest element, each in its own array.
    SumAndMax,
}

/// The distribution of the elements, and the parameters of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `(in, out, n)`: block b reduces a tile of `each` elements per thread, and stores at
    /// `out[b]`.
    Tiles {
        /// Elements per thread.
        each: u64,
    },
    /// `(in, out, n)`: the blocks divide the elements in any way, and each block stores its own
    /// result.
    Shares {
        /// Grids to try.
        grids: &'static [u32],
        /// A large grid, which is tried at some sizes.
        most: u32,
    },
    /// `(in, out, n, partials, tickets)`: one launch gives the result.
    Single {
        /// Grids to try.
        grids: &'static [u32],
        /// The largest grid that the task allows, which is tried at some sizes.
        most: u32,
    },
    /// `(in, out, n, slots)`: one launch gives the result, and the blocks exchange messages. A
    /// message consists of 64-bit words, each with 32 bits of a value and, above them, a flag.
    Mailbox {
        /// Grids to try.
        grids: &'static [u32],
        /// The largest grid that the task allows, tried at some sizes.
        most: u32,
    },
    /// `(in, out, n)`: one block reduces everything.
    Alone,
}

/// Sizes at which kernels often fail, in increasing order.
pub(crate) const SIZES: [u64; 16] =
    [0, 1, 2, 3, 31, 32, 33, 63, 65, 255, 257, 511, 513, 1023, 1025, 4099];

/// The number of partial sums or messages for which a single launch has space.
pub(crate) const PARTIALS: u64 = 1024;

impl Shape {
    /// Returns the grids to try with n elements.
    pub(crate) fn grids(self, n: u64, threads: u32) -> Vec<u32> {
        match self {
            Shape::Tiles { each } => {
                vec![n.div_ceil(each * u64::from(threads)).max(1) as u32]
            }
            Shape::Shares { grids, .. }
            | Shape::Single { grids, .. }
            | Shape::Mailbox { grids, .. } => grids.to_vec(),
            Shape::Alone => vec![1],
        }
    }

    /// Returns the largest grid to try, if the host chooses the grid.
    pub(crate) fn most(self) -> Option<u32> {
        match self {
            Shape::Shares { most, .. }
            | Shape::Single { most, .. }
            | Shape::Mailbox { most, .. } => Some(most),
            _ => None,
        }
    }

    /// Returns whether the output has an element for each block.
    pub(crate) fn by_block(self) -> bool {
        matches!(self, Shape::Tiles { .. } | Shape::Shares { .. })
    }
}

impl Operation {
    /// Returns the number of result arrays.
    pub(crate) fn outputs(self) -> usize {
        if self == Operation::SumAndMax { 2 } else { 1 }
    }
}

impl Task {
    /// Returns the parameters of the kernel, as its source declares them.
    pub fn parameters(&self) -> &'static str {
        match (self.shape, self.operation) {
            (Shape::Single { .. }, _) => {
                "const Element* in, Element* out, unsigned long long n, Element* partials, unsigned int* tickets"
            }
            (Shape::Mailbox { .. }, _) => {
                "const Element* in, Element* out, unsigned long long n, unsigned long long* slots"
            }
            (_, Operation::SumAndMax) => {
                "const Element* in, Element* sums, Element* maxima, unsigned long long n"
            }
            _ => "const Element* in, Element* out, unsigned long long n",
        }
    }

    /// Returns the requirements on a kernel as sentences.
    pub fn asked(&self) -> String {
        let mut blocks = self.blocks.to_vec();
        blocks.sort_unstable();
        let blocks: Vec<String> = blocks.iter().map(ToString::to_string).collect();
        let mut said = format!(
            "The kernel must be correct for {} sizes from 0 to {}, for float, int and double, in blocks of {} threads",
            SIZES.len(),
            group(SIZES[SIZES.len() - 1]),
            list(&blocks)
        );
        if matches!(self.shape, Shape::Tiles { .. }) {
            said += ", beyond 2^32 elements, and in a grid with one block more than needed";
        }
        if self.same_bits {
            said += match self.shape {
                Shape::Mailbox { .. } => ", with the same bits in every order of execution",
                _ => ", with the same bits on every grid",
            };
        }
        said += &format!(", without findings under {} orders of execution.", self.orders);
        said += match self.shape {
            Shape::Tiles { .. } => {
                " The kernel must reduce in a tree, in every type and block size: no atomics, no lane that adds many values one after another, and no warp that does all the work."
            }
            Shape::Alone => " The warps must share the elements.",
            _ => " The blocks and their lanes must share the elements.",
        };
        if self.operation != Operation::Sum {
            said += " The results of the warps, too, must be combined in a tree.";
        }
        if self.operation == Operation::Sum && !self.copies {
            said += " Neighbouring lanes must load neighbouring elements.";
        }
        if self.copies {
            said += " Bulk copies must bring in all elements except the last few, and while a block adds one stage, the next one must be in flight.";
        }
        if self.unrolled {
            said += " The kernel must have no loop at run time.";
        }
        let budgets: Vec<String> = self
            .budgets
            .iter()
            .map(|b| match b.most {
                0 => format!("no {}", b.cost.what),
                most => format!("at most {} {}", group(most), b.cost.what),
            })
            .collect();
        let (n, blocks) = self.measured;
        let on = if blocks == 1 { "one block".into() } else { format!("{blocks} blocks") };
        said + &format!(" For {} floats in {on}, it may have {}.", numbers::size(n), list(&budgets))
    }

    /// Returns the size of a launch's dynamic shared memory, in bytes.
    pub(crate) fn shared(&self, threads: u32, element: Element) -> u32 {
        threads * element.size() as u32 * self.operation.outputs() as u32
    }
}

/// Joins parts in the form `1, 2 and 3`.
fn list(parts: &[String]) -> String {
    match parts {
        [head @ .., last] if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        _ => parts.concat(),
    }
}
