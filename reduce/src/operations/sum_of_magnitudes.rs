//! The sum of the magnitudes, which is the L1 norm.

use crate::{
    accumulator::Accumulator,
    operate::{COMMON, Instructions, Operate},
};

#[derive(Clone, Copy)]
pub(crate) struct SumOfMagnitudes;

impl Operate for SumOfMagnitudes {
    const DEVICE: Instructions =
        Instructions { name: "sum_of_magnitudes", floats: true, map: "abs.$t $0, $0;", ..COMMON };

    fn map<A: Accumulator>(value: A) -> A {
        value.magnitude()
    }
}
