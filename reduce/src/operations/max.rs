//! The maximum, which is IEEE 754-2019's maximumNumber.

use crate::{
    accumulator::Accumulator,
    operate::{COMMON, Instructions, Neutral, Operate},
};

#[derive(Clone, Copy)]
pub(crate) struct Max;

impl Operate for Max {
    const DEVICE: Instructions = Instructions {
        name: "max",
        neutral: Neutral::Smallest,
        join: "max.$t $0, $1, $2;",
        redux: Some("redux.sync.max.$t $0, $1, -1;"),
        pairs: Some("max.$tx2 $0, $1, $2;"),
        ..COMMON
    };

    fn join<A: Accumulator>(a: A, b: A) -> A {
        a.most(b)
    }
}
