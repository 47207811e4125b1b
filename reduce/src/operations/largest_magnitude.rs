//! The largest magnitude, which is the maximum norm. NaNs are ignored, as in the maximum. The
//! result of an empty slice is 0.

use crate::{
    accumulator::Accumulator,
    operate::{COMMON, Instructions, Neutral, Operate},
};

#[derive(Clone, Copy)]
pub(crate) struct LargestMagnitude;

impl Operate for LargestMagnitude {
    const DEVICE: Instructions = Instructions {
        name: "largest_magnitude",
        floats: true,
        neutral: Neutral::ZeroOfNumbers,
        map: "abs.$t $0, $0;",
        join: "max.$t $0, $1, $2;",
        ..COMMON
    };

    fn map<A: Accumulator>(value: A) -> A {
        value.magnitude()
    }

    fn join<A: Accumulator>(a: A, b: A) -> A {
        a.most(b)
    }
}
