//! The state that a reducer keeps for rows between calls.

use std::cell::{OnceCell, RefCell};

use super::kernels::Family;
use crate::{cuda::State, modules::Loaded};

/// The kernels and the memory for rows.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(super) loaded: [OnceCell<Loaded>; Family::ALL.len()],
    /// Whether the device supports asynchronous copies to shared memory.
    pub(super) copies: OnceCell<bool>,
    /// The message slots, at least as many as the largest call has used. They are zero between launches.
    pub(super) state: RefCell<Option<State>>,
}
