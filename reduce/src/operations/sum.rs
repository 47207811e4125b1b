//! The sum.

use crate::operate::{COMMON, Instructions, Operate};

#[derive(Clone, Copy)]
pub(crate) struct Sum;

impl Operate for Sum {
    const DEVICE: Instructions =
        Instructions { name: "sum", redux: Some("redux.sync.add.s32 $0, $1, -1;"), ..COMMON };
}
