//! The mean. The sum is divided by the number of elements, and the quotient is rounded once.

use crate::{
    accumulator::Accumulator,
    operate::{COMMON, Instructions, Operate},
};

#[derive(Clone, Copy)]
pub(crate) struct Mean;

impl Operate for Mean {
    const DEVICE: Instructions =
        Instructions { name: "mean", floats: true, result: "OVER $0, $1, $2;", ..COMMON };

    fn result<A: Accumulator>(value: A, n: u64) -> A {
        value.over(n)
    }
}
