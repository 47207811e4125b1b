//! The definition of an operation: instructions for a device, and functions for the host.

use crate::accumulator::Accumulator;

/// The value of an empty slice, and the neutral value. Combining the neutral value with any value
/// gives that value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neutral {
    /// Both are zero.
    Zero,
    /// Both are the largest value of the type, except that the neutral value of floats is NaN.
    Largest,
    /// Both are the smallest value of the type, except that the neutral value of floats is NaN.
    Smallest,
    /// The value of an empty slice is zero, and the neutral value is NaN.
    ZeroOfNumbers,
}

/// An operation as PTX. `$t` is the type in which a thread or block combines values, such as `f32`,
/// and `$r` is `.rn` for floats.
#[derive(Debug)]
pub(crate) struct Instructions {
    pub(crate) name: &'static str,
    pub(crate) floats: bool,
    pub(crate) neutral: Neutral,
    /// Changes an element `$0`, which has been converted to `$t`. A neutral element must stay
    /// unchanged.
    pub(crate) map: &'static str,
    /// Combines the values `$1` and `$2`, and stores the result in `$0`.
    pub(crate) join: &'static str,
    /// Converts the value `$1` of `$2` elements to the result `$0`.
    pub(crate) result: &'static str,
    /// Combines the 32-bit integers of a warp, on compute capability 8 and newer.
    pub(crate) redux: Option<&'static str>,
    /// Combines two pairs of halves of the type `$t`, on compute capability 8 and newer.
    pub(crate) pairs: Option<&'static str>,
}

/// The parts that most operations share.
pub(crate) const COMMON: Instructions = Instructions {
    name: "",
    floats: false,
    neutral: Neutral::Zero,
    map: "",
    join: "add$r.$t $0, $1, $2;",
    result: "mov.$b $0, $1;",
    redux: None,
    pairs: None,
};

/// An operation, and its functions on the host.
pub(crate) trait Operate: Copy + Send + Sync + 'static {
    const DEVICE: Instructions;

    /// Changes an element before it is combined.
    fn map<A: Accumulator>(value: A) -> A {
        value
    }

    /// Combines two values.
    fn join<A: Accumulator>(a: A, b: A) -> A {
        a.plus(b)
    }

    /// Converts the value of `n` elements to the result.
    fn result<A: Accumulator>(value: A, _n: u64) -> A {
        value
    }
}
