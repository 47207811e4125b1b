//! The sum of the squares. Each square is rounded, and then added.

use crate::{
    accumulator::Accumulator,
    operate::{COMMON, Instructions, Operate},
};

#[derive(Clone, Copy)]
pub(crate) struct SumOfSquares;

impl Operate for SumOfSquares {
    const DEVICE: Instructions = Instructions {
        name: "sum_of_squares",
        floats: true,
        map: "mul.rn.$t $0, $0, $0;",
        ..COMMON
    };

    fn map<A: Accumulator>(value: A) -> A {
        value.times(value)
    }
}
