//! The minimum, which is IEEE 754-2019's minimumNumber.

use crate::{
    accumulator::Accumulator,
    operate::{COMMON, Instructions, Neutral, Operate},
};

#[derive(Clone, Copy)]
pub(crate) struct Min;

impl Operate for Min {
    const DEVICE: Instructions = Instructions {
        name: "min",
        neutral: Neutral::Largest,
        join: "min.$t $0, $1, $2;",
        redux: Some("redux.sync.min.$t $0, $1, -1;"),
        pairs: Some("min.$tx2 $0, $1, $2;"),
        ..COMMON
    };

    fn join<A: Accumulator>(a: A, b: A) -> A {
        a.least(b)
    }
}
