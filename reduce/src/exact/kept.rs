//! The kernels and the memory that an engine keeps for exact sums.

use std::cell::OnceCell;

use crate::{cuda::State, modules::Loaded};

/// The kernels of exact sums, and the words that their blocks exchange.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(super) sum: OnceCell<Loaded>,
    pub(super) dot: OnceCell<Loaded>,
    pub(super) rows: OnceCell<Loaded>,
    /// The words that blocks exchange, which are zero between launches.
    pub(super) state: OnceCell<State>,
    /// The flags and digits that a launch stores for the host.
    pub(super) words: OnceCell<State>,
}
