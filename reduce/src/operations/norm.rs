//! The L2 norm, which is the square root of the sum of the squares. The sum and the root are
//! rounded.

use super::sum_of_squares::SumOfSquares;
use crate::{
    accumulator::Accumulator,
    operate::{Instructions, Operate},
};

#[derive(Clone, Copy)]
pub(crate) struct Norm;

impl Operate for Norm {
    const DEVICE: Instructions = Instructions {
        name: "norm",
        result: "sqrt.rn.$t $0, $1;",
        ..<SumOfSquares as Operate>::DEVICE
    };

    fn map<A: Accumulator>(value: A) -> A {
        value.times(value)
    }

    fn result<A: Accumulator>(value: A, _n: u64) -> A {
        value.root()
    }
}
