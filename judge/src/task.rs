//! An exercise, as the judge knows it.

use std::fmt;

use numbers::{Element, group};

use crate::cost::Cost;

/// An exercise: what is launched, what it has to give, and what it may spend.
#[derive(Debug)]
pub struct Task {
    /// From 1.
    pub number: usize,
    /// Its folder in `exercises/`.
    pub folder: &'static str,
    /// A right solution: what stands in it is not what makes another one dear.
    pub reference: &'static str,
    /// What it is about, in a few words.
    pub name: &'static str,
    /// The page of the book that ends with it.
    pub chapter: &'static str,
    /// What is computed.
    pub operation: Operation,
    /// How the elements are shared out among blocks.
    pub shape: Shape,
    /// Threads of a block: the first everywhere, the others at some sizes.
    pub blocks: &'static [u32],
    /// Whether every grid has to give the same bits.
    pub same_bits: bool,
    /// Whether a warp works alone in it: else what a `__syncwarp()` would order, the whole block has to wait
    /// for.
    pub warps: bool,
    /// Whether `volatile` is allowed.
    pub volatile: bool,
    /// Orders of execution that it is run under.
    pub orders: u64,
    /// Elements and blocks of the launch whose counts are held against the budgets.
    pub measured: (u64, u32),
    /// What it may spend on that launch.
    pub budgets: &'static [Budget],
    /// What a kernel lacks that is wrong from this size on, but not before, or over a budget of its own.
    pub idea: (u64, &'static str),
}

/// The most that a kernel may spend of something on the launch that is measured.
#[derive(Clone, Copy)]
pub struct Budget {
    /// Of what.
    pub cost: Cost,
    /// How much.
    pub most: u64,
    /// Whether the idea of the exercise is what saves it: else the advice of the cost is given.
    pub idea: bool,
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} {}", self.most, self.cost.what)
    }
}

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The sum.
    Sum,
    /// The largest element; NaN is passed over.
    Max,
    /// The sum and the largest element, into an array each.
    SumAndMax,
}

/// How the elements are shared out, and what a kernel is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `(in, out, n)`: block b takes a tile of so many elements a thread, and stores at `out[b]`.
    Tiles {
        /// Elements of a thread.
        each: u64,
    },
    /// `(in, out, n)`: the blocks share the elements as they like, and each stores its own.
    Shares {
        /// Grids that it is tried with.
        grids: &'static [u32],
    },
    /// `(in, out, n, partials, tickets)`: one launch gives the result.
    Single {
        /// Grids that it is tried with.
        grids: &'static [u32],
    },
    /// `(in, out, n)`: one block does all.
    Alone,
}

/// Sizes at which kernels go wrong, those below a warp first.
pub(crate) const SIZES: [u64; 16] =
    [0, 1, 2, 3, 31, 32, 33, 63, 65, 255, 257, 511, 513, 1023, 1025, 4099];

/// Places of the partial sums that a single launch is given.
pub(crate) const PARTIALS: u64 = 1024;

impl Shape {
    /// The grids that n elements are tried with.
    pub(crate) fn grids(self, n: u64, threads: u32) -> Vec<u32> {
        match self {
            Shape::Tiles { each } => {
                vec![n.div_ceil(each * u64::from(threads)).max(1) as u32]
            }
            Shape::Shares { grids } | Shape::Single { grids } => grids.to_vec(),
            Shape::Alone => vec![1],
        }
    }

    /// Whether the output has a place for each block.
    pub(crate) fn by_block(self) -> bool {
        matches!(self, Shape::Tiles { .. } | Shape::Shares { .. })
    }
}

impl Operation {
    /// Arrays of results.
    pub(crate) fn outputs(self) -> usize {
        if self == Operation::SumAndMax { 2 } else { 1 }
    }
}

impl Task {
    /// The parameters that a kernel is given, as its source declares them.
    pub fn parameters(&self) -> &'static str {
        match (self.shape, self.operation) {
            (Shape::Single { .. }, _) => {
                "const Element* in, Element* out, unsigned long long n, Element* partials, unsigned int* tickets"
            }
            (_, Operation::SumAndMax) => {
                "const Element* in, Element* sums, Element* maxima, unsigned long long n"
            }
            _ => "const Element* in, Element* out, unsigned long long n",
        }
    }

    /// What is asked of a kernel, in sentences.
    pub fn asked(&self) -> String {
        let blocks: Vec<String> = self.blocks.iter().map(ToString::to_string).collect();
        let mut said = format!(
            "It is to be right on {} sizes from 0 to {}, for float, int and double, in blocks of {} threads",
            SIZES.len(),
            group(SIZES[SIZES.len() - 1]),
            list(&blocks)
        );
        if matches!(self.shape, Shape::Tiles { .. }) {
            said += ", and beyond 2^32 elements";
        }
        if self.same_bits {
            said += ", with the same bits on every grid";
        }
        said += &format!(", and clean under {} orders of execution.", self.orders);
        let budgets: Vec<String> =
            self.budgets.iter().map(|b| format!("{} {}", group(b.most), b.cost.what)).collect();
        let (n, blocks) = self.measured;
        let on = if blocks == 1 { "one block".into() } else { format!("{blocks} blocks") };
        said + &format!(
            " For {} floats in {on} it may take at most {}.",
            numbers::size(n),
            list(&budgets)
        )
    }

    /// What a block's shared memory is launched with, in bytes.
    pub(crate) fn shared(&self, threads: u32, element: Element) -> u32 {
        threads * element.size() as u32 * self.operation.outputs() as u32
    }
}

/// `1, 2 and 3`
fn list(parts: &[String]) -> String {
    match parts {
        [head @ .., last] if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        _ => parts.concat(),
    }
}
